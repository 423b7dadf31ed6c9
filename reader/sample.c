/* sample.c - the fields of a sample, in the order in which the kernel writes them.
 *
 * Law: perf_event.h, the comment at PERF_RECORD_SAMPLE; where it is behind, perf_output_sample() of
 * kernel/events/core.c. The order is not that of the bits: ID stands behind ADDR, CGROUP behind
 * PHYS_ADDR, AUX last. */
#include "reader/sample.h"

#include "reader/format.h"

struct decoder {
	struct perf_sample *s;
	struct sample_read *read;
	const struct perf_attr *attr;
	struct scratch *scratch;
	struct buf b;
	bool bad_count; /* a count or size was larger than what is left */
};

static bool is_aligned(const uint8_t *p)
{
	return !((uintptr_t)p & 7);
}

/* n words in native order, where they are if possible. NULL when they are not all there. */
static inline const uint64_t *take_words(struct decoder *d, uint64_t n)
{
	const uint8_t *p;
	uint64_t *copy;
	struct buf words;

	if (n > buf_left(&d->b) / 8) {
		d->bad_count = true;
		return NULL;
	}
	p = buf_take(&d->b, n * 8);
	if (!d->b.swap && is_aligned(p))
		return (const uint64_t *)(const void *)p;
	copy = scratch_alloc(d->scratch, n * 8);
	if (!copy)
		return NULL;
	words = buf_make(p, n * 8, 0, d->b.swap);
	for (uint64_t i = 0; i < n; i++)
		copy[i] = buf_u64(&words);
	return copy;
}

/* `size` bytes that mean nothing to us. */
static const uint8_t *take_bytes(struct decoder *d, uint64_t size)
{
	if (size > buf_left(&d->b)) {
		d->bad_count = true;
		return NULL;
	}
	return buf_take(&d->b, size);
}

/* The fields of fixed size that stand first, in one piece: of small records they are most of what
 * is to be done. */
static void decode_fixed(struct decoder *d, uint64_t type)
{
	struct perf_sample *s = d->s;
	struct buf b = d->b;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = buf_u64(&b);
	if (type & PERF_SAMPLE_IP)
		s->ip = buf_u64(&b);
	if (type & PERF_SAMPLE_TID) {
		s->pid = buf_u32(&b);
		s->tid = buf_u32(&b);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time_ns = buf_u64(&b);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = buf_u64(&b);
	if (type & PERF_SAMPLE_ID)
		s->id = buf_u64(&b);
	if (type & PERF_SAMPLE_STREAM_ID)
		s->stream_id = buf_u64(&b);
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = buf_u32(&b);
		buf_skip(&b, 4);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = buf_u64(&b);
	d->b = b;
}

/* A group: n, times, then {value, id, lost} each; a lone event: value, times, id, lost. */
static void decode_read(struct decoder *d)
{
	const uint64_t format = d->attr->read_format;
	const bool group = format & PERF_FORMAT_GROUP;
	const unsigned n_times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
				 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	const unsigned before_id = group ? 1 : 1 + n_times, has_id = !!(format & PERF_FORMAT_ID);
	struct sample_read *r = d->read;

	r->n_words = before_id + has_id + !!(format & READ_FORMAT_LOST);
	r->id_word = has_id ? before_id : 0;
	r->n = group ? buf_u64(&d->b) : 1;
	if (group)
		buf_skip(&d->b, 8ull * n_times);
	if (r->n > buf_left(&d->b) / 8 / r->n_words) {
		d->bad_count = true;
		return;
	}
	r->values = buf_sub(&d->b, 8ull * r->n_words * r->n);
}

uint64_t sample_read_next(struct sample_read *r, uint64_t *id)
{
	struct buf b = buf_sub(&r->values, 8ull * r->n_words);
	uint64_t value = buf_u64(&b);

	*id = 0;
	if (r->id_word) {
		buf_seek(&b, 8ull * r->id_word);
		*id = buf_u64(&b);
	}
	return value;
}

static void decode_callchain(struct decoder *d)
{
	uint64_t n = buf_u64(&d->b);

	d->s->ips = take_words(d, n);
	d->s->n_ips = d->s->ips ? n : 0;
}

/* u32 size and bytes, padded together to whole words. */
static void decode_raw(struct decoder *d)
{
	uint32_t size = buf_u32(&d->b);
	size_t padding = -(4 + (size_t)size) & 7;

	d->s->raw = take_bytes(d, size);
	d->s->raw_size = d->s->raw ? size : 0;
	buf_skip(&d->b, padding < buf_left(&d->b) ? padding : buf_left(&d->b));
}

/* Widths of the bit fields of struct perf_branch_entry, in order: mispred, predicted, in_tx, abort,
 * cycles, type, spec, new_type, priv, and what is reserved. */
static const uint8_t branch_fields[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};

/* A big-endian writer packs them from the highest bit down; we give them from the lowest up. */
static uint64_t branch_flags_from_big_endian(uint64_t flags)
{
	uint64_t ret = 0;
	unsigned from = 64, to = 0;

	for (size_t i = 0; i < sizeof branch_fields; i++) {
		unsigned width = branch_fields[i];

		from -= width;
		ret |= (flags >> from & ((1ull << width) - 1)) << to;
		to += width;
	}
	return ret;
}

_Static_assert(sizeof(struct perf_branch) == 24, "as in struct perf_branch_entry");

static void decode_branches(struct decoder *d)
{
	const uint64_t format = d->attr->branch_sample_type;
	uint64_t n = buf_u64(&d->b);
	const uint64_t *words;

	if (format & BRANCH_HW_INDEX)
		buf_skip(&d->b, 8);
	if (n > buf_left(&d->b) / sizeof(struct perf_branch)) {
		d->bad_count = true;
		return;
	}
	words = take_words(d, 3 * n);
	if (format & BRANCH_COUNTERS)
		buf_skip(&d->b, 8 * n);
	if (!words)
		return;
	d->s->branches = (const struct perf_branch *)(const void *)words;
	d->s->n_branches = n;
	if (!d->b.swap)
		return;
	/* The words are a copy of ours. */
	for (struct perf_branch *br = (void *)(uintptr_t)words; n--; br++)
		br->flags = branch_flags_from_big_endian(br->flags);
}

static void decode_regs(struct decoder *d, uint64_t mask, struct perf_regs *r)
{
	r->abi = buf_u64(&d->b);
	if (!r->abi)
		return;
	r->mask = mask;
	r->regs = take_words(d, (unsigned)__builtin_popcountll(mask));
}

static void decode_regs_user(struct decoder *d)
{
	decode_regs(d, d->attr->sample_regs_user, &d->s->user_regs);
}

static void decode_regs_intr(struct decoder *d)
{
	decode_regs(d, d->attr->sample_regs_intr, &d->s->intr_regs);
}

/* u64 size, bytes, and if there are any the number of those that mean something. */
static void decode_stack_user(struct decoder *d)
{
	uint64_t size = buf_u64(&d->b), valid;
	const uint8_t *stack;

	if (!size)
		return;
	stack = take_bytes(d, size);
	valid = buf_u64(&d->b);
	if (!stack || valid > size) {
		d->bad_count = true;
		return;
	}
	d->s->user_stack = stack;
	d->s->user_stack_bytes = (uint32_t)valid;
	d->s->user_stack_asked = (uint32_t)size;
}

static void decode_weight(struct decoder *d)
{
	d->s->weight = buf_u64(&d->b);
}

static void decode_data_src(struct decoder *d)
{
	d->s->data_src = buf_u64(&d->b);
}

static void decode_transaction(struct decoder *d)
{
	d->s->transaction = buf_u64(&d->b);
}

static void decode_phys_addr(struct decoder *d)
{
	d->s->phys_addr = buf_u64(&d->b);
}

static void decode_cgroup(struct decoder *d)
{
	d->s->cgroup = buf_u64(&d->b);
}

static void decode_data_page_size(struct decoder *d)
{
	d->s->data_page_size = buf_u64(&d->b);
}

static void decode_code_page_size(struct decoder *d)
{
	d->s->code_page_size = buf_u64(&d->b);
}

static void decode_aux(struct decoder *d)
{
	take_bytes(d, buf_u64(&d->b));
}

static const uint64_t fixed_bits = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				   PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

/* Those behind them. */
static const struct {
	uint64_t bits; /* any of them */
	void (*decode)(struct decoder *d);
} fields[] = {
	{PERF_SAMPLE_READ, decode_read},
	{PERF_SAMPLE_CALLCHAIN, decode_callchain},
	{PERF_SAMPLE_RAW, decode_raw},
	{PERF_SAMPLE_BRANCH_STACK, decode_branches},
	{PERF_SAMPLE_REGS_USER, decode_regs_user},
	{PERF_SAMPLE_STACK_USER, decode_stack_user},
	{PERF_SAMPLE_WEIGHT_TYPE, decode_weight},
	{PERF_SAMPLE_DATA_SRC, decode_data_src},
	{PERF_SAMPLE_TRANSACTION, decode_transaction},
	{PERF_SAMPLE_REGS_INTR, decode_regs_intr},
	{PERF_SAMPLE_PHYS_ADDR, decode_phys_addr},
	{PERF_SAMPLE_CGROUP, decode_cgroup},
	{PERF_SAMPLE_DATA_PAGE_SIZE, decode_data_page_size},
	{PERF_SAMPLE_CODE_PAGE_SIZE, decode_code_page_size},
	{PERF_SAMPLE_AUX, decode_aux},
};

/* In pieces: for the whole gcc has one slow instruction (rep stos), which takes as long as all else
 * that a small sample needs. */
static void clear(struct perf_sample *s)
{
	enum { PIECE = 32 };
	uint8_t *p = (uint8_t *)s;

	for (size_t i = 0; i < sizeof *s - PIECE; i += PIECE)
		memset(p + i, 0, PIECE);
	memset(p + sizeof *s - PIECE, 0, PIECE);
}

enum perf_skip sample_decode(struct perf_sample *s, struct sample_read *read,
			     const struct event *ev, struct buf rec, struct scratch *sc)
{
	const struct perf_attr *attr = &ev->pub.attr;
	/* Kernels add new fields at the end or before AUX, so what stands before AUX is sure. */
	const bool all_known = !(attr->sample_type & ~SAMPLE_KNOWN_BITS);
	const uint64_t known =
		all_known ? attr->sample_type
			  : attr->sample_type & SAMPLE_KNOWN_BITS & ~(uint64_t)PERF_SAMPLE_AUX;
	struct decoder d = {s, read, attr, sc, rec, false};
	uint64_t rest;

	clear(s);
	s->cpu = UINT32_MAX;
	s->event = &ev->pub;
	s->has_callchain = attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	s->period = attr->sample_period;
	read->n = 0;
	decode_fixed(&d, known);
	rest = known & ~fixed_bits;
	for (size_t i = 0; rest && i < sizeof fields / sizeof *fields; rest &= ~fields[i++].bits)
		if (rest & fields[i].bits)
			fields[i].decode(&d);
	if (d.bad_count)
		return all_known ? PERF_SKIP_BAD_COUNT : PERF_SKIP_UNKNOWN_FIELD;
	if (!buf_ok(&d.b))
		return all_known ? PERF_SKIP_TOO_SHORT : PERF_SKIP_UNKNOWN_FIELD;
	return all_known && buf_left(&d.b) ? PERF_SKIP_LEFTOVER : PERF_SKIP_N;
}
