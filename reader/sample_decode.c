/* sample_decode.c - the fields of a sample, in the order in which the kernel writes them.
 *
 * Source of truth: perf_event.h, the comment at PERF_RECORD_SAMPLE; where that is incomplete,
 * perf_output_sample() of kernel/events/core.c. The order is not that of the bits: ID comes after
 * ADDR, CGROUP after PHYS_ADDR, AUX is last. */
#include "reader/sample_decode.h"

#include "reader/format.h"

/* Inlined, so that the state of the decoder stays in registers. */
#define INLINE static inline __attribute__((always_inline))

struct decoder {
	struct perf_sample *s;
	struct perf_sample_extra *extra; /* NULL unless layout->has_extra */
	struct sample_read *read;
	const struct perf_attr *attr;
	const struct sample_layout *layout;
	struct scratch *scratch;
	struct buf b;
	bool bad_count; /* a count or size was larger than what is left */
};

static bool is_aligned(const uint8_t *p)
{
	return !((uintptr_t)p & 7);
}

/* A copy of n words in native order. NULL when out of memory. */
static __attribute__((noinline)) const uint64_t *copy_words(const uint8_t *p, uint64_t n, bool swap,
							    struct scratch *sc)
{
	struct buf words = buf_make(p, n * 8, 0, swap);
	uint64_t *copy = scratch_alloc(sc, n * 8);

	for (uint64_t i = 0; copy && i < n; i++)
		copy[i] = buf_u64(&words);
	return copy;
}

/* Returns n words in native order, in place if possible. NULL if the record is too short. */
INLINE const uint64_t *take_words(struct decoder *d, uint64_t n)
{
	const uint8_t *p;

	if (n > buf_left(&d->b) / 8) {
		d->bad_count = true;
		return NULL;
	}
	p = buf_take(&d->b, n * 8);
	return !d->b.swap && is_aligned(p) ? (const uint64_t *)(const void *)p
					   : copy_words(p, n, d->b.swap, d->scratch);
}

/* Returns `size` bytes without byte order. */
INLINE const uint8_t *take_bytes(struct decoder *d, uint64_t size)
{
	if (size > buf_left(&d->b)) {
		d->bad_count = true;
		return NULL;
	}
	return buf_take(&d->b, size);
}

/* The next word; the caller has checked that it is inside the record. */
INLINE uint64_t next_word(const uint8_t **p, bool swap)
{
	uint64_t v;

	memcpy(&v, *p, sizeof v);
	*p += sizeof v;
	return swap ? __builtin_bswap64(v) : v;
}

/* Two fields of 32 bits, in the order of their addresses whatever the byte order is. */
INLINE void next_pair(const uint8_t **p, bool swap, uint32_t *first, uint32_t *second)
{
	uint32_t v[2];

	memcpy(v, *p, sizeof v);
	*p += sizeof v;
	*first = swap ? __builtin_bswap32(v[0]) : v[0];
	*second = swap ? __builtin_bswap32(v[1]) : v[1];
}

/* Decodes the leading fields of one word each. In small records they are most of the work. */
INLINE void decode_words(struct decoder *d, uint64_t type, const uint8_t *p, bool swap)
{
	struct perf_sample *s = d->s;
	uint32_t reserved;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = next_word(&p, swap);
	if (type & PERF_SAMPLE_IP)
		s->ip = next_word(&p, swap);
	if (type & PERF_SAMPLE_TID)
		next_pair(&p, swap, &s->pid, &s->tid);
	if (type & PERF_SAMPLE_TIME)
		s->time_ns = next_word(&p, swap);
	if (type & PERF_SAMPLE_ADDR)
		d->extra->addr = next_word(&p, swap);
	if (type & PERF_SAMPLE_ID)
		s->id = next_word(&p, swap);
	if (type & PERF_SAMPLE_STREAM_ID)
		d->extra->stream_id = next_word(&p, swap);
	if (type & PERF_SAMPLE_CPU)
		next_pair(&p, swap, &s->cpu, &reserved);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = next_word(&p, swap);
}

/* Of a group: n, times, then for each {value, id, lost}; of a single event: value, times, id, lost.
 */
INLINE void decode_read(struct decoder *d)
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

INLINE void decode_callchain(struct decoder *d)
{
	uint64_t n = buf_u64(&d->b);

	d->s->ips = take_words(d, n);
	d->s->n_ips = d->s->ips ? n : 0;
}

/* u32 size and bytes, padded together to a multiple of 8. */
INLINE void decode_raw(struct decoder *d)
{
	uint32_t size = buf_u32(&d->b);
	size_t padding = -(4 + (size_t)size) & 7;

	d->extra->raw = take_bytes(d, size);
	d->extra->raw_size = d->extra->raw ? size : 0;
	buf_skip(&d->b, padding < buf_left(&d->b) ? padding : buf_left(&d->b));
}

/* Widths of the bit fields of struct perf_branch_entry, in order: mispred, predicted, in_tx, abort,
 * cycles, type, spec, new_type, priv, reserved. */
static const uint8_t branch_fields[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};

/* A big-endian writer packs the fields from the highest bit down; the result has them from the
 * lowest bit up. */
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

INLINE void decode_branches(struct decoder *d)
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
	d->extra->branches = (const struct perf_branch *)(const void *)words;
	d->extra->n_branches = n;
	if (!d->b.swap)
		return;
	/* The words are already a copy of the record. */
	for (struct perf_branch *br = (void *)(uintptr_t)words; n--; br++)
		br->flags = branch_flags_from_big_endian(br->flags);
}

INLINE void decode_regs(struct decoder *d, uint64_t mask, unsigned n, struct perf_regs *r)
{
	r->abi = buf_u64(&d->b);
	if (!r->abi)
		return;
	r->mask = mask;
	r->regs = take_words(d, n);
}

INLINE void decode_regs_user(struct decoder *d)
{
	decode_regs(d, d->attr->sample_regs_user, d->layout->n_user_regs, &d->s->user_regs);
}

INLINE void decode_regs_intr(struct decoder *d)
{
	decode_regs(d, d->attr->sample_regs_intr, d->layout->n_intr_regs, &d->extra->intr_regs);
}

/* u64 size and bytes; if size is not 0, then the number of valid bytes. */
INLINE void decode_stack_user(struct decoder *d)
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

INLINE void decode_weight(struct decoder *d)
{
	d->extra->weight = buf_u64(&d->b);
}

INLINE void decode_data_src(struct decoder *d)
{
	d->extra->data_src = buf_u64(&d->b);
}

INLINE void decode_transaction(struct decoder *d)
{
	d->extra->transaction = buf_u64(&d->b);
}

INLINE void decode_phys_addr(struct decoder *d)
{
	d->extra->phys_addr = buf_u64(&d->b);
}

INLINE void decode_cgroup(struct decoder *d)
{
	d->extra->cgroup = buf_u64(&d->b);
}

INLINE void decode_data_page_size(struct decoder *d)
{
	d->extra->data_page_size = buf_u64(&d->b);
}

INLINE void decode_code_page_size(struct decoder *d)
{
	d->extra->code_page_size = buf_u64(&d->b);
}

INLINE void decode_aux(struct decoder *d)
{
	take_bytes(d, buf_u64(&d->b));
}

static const uint64_t word_bits = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				  PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

/* The fields after those: X(bits of which any is set, function that decodes them). */
#define FIELDS(X)                                            \
	X(PERF_SAMPLE_READ, decode_read)                     \
	X(PERF_SAMPLE_CALLCHAIN, decode_callchain)           \
	X(PERF_SAMPLE_RAW, decode_raw)                       \
	X(PERF_SAMPLE_BRANCH_STACK, decode_branches)         \
	X(PERF_SAMPLE_REGS_USER, decode_regs_user)           \
	X(PERF_SAMPLE_STACK_USER, decode_stack_user)         \
	X(PERF_SAMPLE_WEIGHT_TYPE, decode_weight)            \
	X(PERF_SAMPLE_DATA_SRC, decode_data_src)             \
	X(PERF_SAMPLE_TRANSACTION, decode_transaction)       \
	X(PERF_SAMPLE_REGS_INTR, decode_regs_intr)           \
	X(PERF_SAMPLE_PHYS_ADDR, decode_phys_addr)           \
	X(PERF_SAMPLE_CGROUP, decode_cgroup)                 \
	X(PERF_SAMPLE_DATA_PAGE_SIZE, decode_data_page_size) \
	X(PERF_SAMPLE_CODE_PAGE_SIZE, decode_code_page_size) \
	X(PERF_SAMPLE_AUX, decode_aux)

/* Fields that are stored in struct perf_sample_extra. */
static const uint64_t extra_bits =
	PERF_SAMPLE_ADDR | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
	PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
	PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
	PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;

#define X(bits, decode) FIELD_##decode,
enum { FIELDS(X) N_FIELDS };
#undef X

struct sample_layout sample_layout(const struct perf_attr *attr)
{
#define X(bits, decode) bits,
	static const uint64_t bits[] = {FIELDS(X)};
#undef X
	struct sample_layout l = {
		.all_known = !(attr->sample_type & ~SAMPLE_KNOWN_BITS),
		.n_user_regs = (uint8_t)__builtin_popcountll(attr->sample_regs_user),
		.n_intr_regs = (uint8_t)__builtin_popcountll(attr->sample_regs_intr),
	};
	uint64_t type = attr->sample_type;

	l.is_exact = l.all_known && !event_is_shared(attr->type, attr->config);
	_Static_assert(N_FIELDS <= sizeof l.fields, "all of them fit");
	/* New kernels add fields at the end or before AUX, so the fields before AUX are certain. */
	if (!l.all_known)
		type &= SAMPLE_KNOWN_BITS & ~(uint64_t)PERF_SAMPLE_AUX;
	l.has_extra = type & extra_bits;
	l.words = type & word_bits;
	l.n_words = (uint16_t)__builtin_popcountll(l.words);
	for (uint8_t i = 0; i < N_FIELDS; i++)
		if (type & bits[i])
			l.fields[l.n_fields++] = i;
	return l;
}

/* In pieces: for a single memset gcc uses one slow instruction (rep stos), which takes as long as
 * everything else that a small sample needs. */
static void clear(struct perf_sample *s)
{
	enum { PIECE = 32 };
	uint8_t *p = (uint8_t *)s;

#pragma GCC unroll 16
	for (size_t i = 0; i < sizeof *s - PIECE; i += PIECE)
		memset(p + i, 0, PIECE);
	memset(p + sizeof *s - PIECE, 0, PIECE);
}

static const struct perf_sample_extra no_extra;

enum perf_skip sample_decode(struct perf_sample *s, struct sample_read *read,
			     const struct event *ev, const uint8_t *data, size_t n, bool swap,
			     struct scratch *sc)
{
	const struct sample_layout *l = &ev->layout;
	struct decoder d = {s, NULL, read, &ev->pub.attr, l, sc, buf_make(data, n, 0, swap), false};
	const uint8_t *words = buf_take(&d.b, 8ull * l->n_words);

	read->n = 0;
	if (!words)
		return l->all_known ? PERF_SKIP_TOO_SHORT : PERF_SKIP_UNKNOWN_FIELD;
	clear(s);
	s->extra = &no_extra;
	if (l->has_extra) {
		d.extra = scratch_alloc(sc, sizeof *d.extra);
		if (!d.extra)
			return PERF_SKIP_N;
		*d.extra = no_extra;
		s->extra = d.extra;
	}
	s->cpu = UINT32_MAX;
	s->event = &ev->pub;
	s->has_callchain = d.attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	s->period = d.attr->sample_period;
	if (swap)
		decode_words(&d, l->words, words, true);
	else
		decode_words(&d, l->words, words, false);
	for (unsigned i = 0; i < l->n_fields; i++)
		switch (l->fields[i]) {
#define X(bits, decode)      \
	case FIELD_##decode: \
		decode(&d);  \
		break;
			FIELDS(X)
#undef X
		}
	if (d.bad_count)
		return l->all_known ? PERF_SKIP_BAD_COUNT : PERF_SKIP_UNKNOWN_FIELD;
	if (!buf_ok(&d.b))
		return l->all_known ? PERF_SKIP_TOO_SHORT : PERF_SKIP_UNKNOWN_FIELD;
	return l->is_exact && buf_left(&d.b) ? PERF_SKIP_LEFTOVER : PERF_SKIP_N;
}
