/* sample_pack.c - removes the unwritten part of the stack dump from sample records. */
#include "capture/sample_pack.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/processor.h"
#include "base/buf.h"
#include "capture/secrets.h"

uint64_t sample_id(const uint8_t *rec, size_t n)
{
	struct buf b = buf_make(rec, n, 0, false);

	buf_skip(&b, sizeof(struct perf_event_header));
	return buf_u64(&b);
}

/* A register of perf among those at b; 0 if it was not recorded. */
static uint64_t register_at(const struct sample_fields *l, struct buf b, unsigned bit)
{
	if (!(l->user_regs >> bit & 1))
		return 0;
	buf_skip(&b, 8 * (uint64_t)__builtin_popcountll(l->user_regs & ((1ull << bit) - 1)));
	return buf_u64(&b);
}

/* asm/perf_regs.h: PERF_REG_X86_BX, in which HotSpot has the method that it enters; and
 * PERF_REG_X86_BP, the frame pointer. */
enum { PERF_BX = 1, PERF_BP = 6 };

static uint64_t x86_register(const struct sample_fields *l, struct buf b, unsigned bit)
{
	const struct processor *here = processor_here();

	return here && here->insn_set == INSN_SET_X86 ? register_at(l, b, bit) : 0;
}

/* perf_event.h, PERF_RECORD_SAMPLE: the fields in the order in which the kernel writes them, as far
 * as this program asks for them. Leaves the cursor at STACK_USER's size word. */
static void skip_to_stack(const struct sample_fields *l, struct buf *b, struct sample_facts *f)
{
	buf_skip(b, sizeof(struct perf_event_header));
	f->id = buf_u64(b); /* IDENTIFIER, IP, TID, TIME: always there */
	if (l->sample_type & PERF_SAMPLE_IP)
		buf_skip(b, 8);
	f->pid = buf_u32(b);
	f->tid = buf_u32(b);
	f->time_ns = buf_u64(b);
	if (l->sample_type & PERF_SAMPLE_ADDR)
		buf_skip(b, 8);
	buf_skip(b, 8); /* CPU */
	if (l->sample_type & PERF_SAMPLE_PERIOD)
		f->period = buf_u64(b);
	if (l->sample_type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t nr = buf_u64(b);

		buf_skip(b, nr <= buf_left(b) / 8 ? nr * 8 : UINT64_MAX);
	}
	if (l->sample_type & PERF_SAMPLE_RAW)
		buf_skip(b,
			 buf_u32(b)); /* padded so that size word and data end at a multiple of 8 */
	f->abi = l->sample_type & PERF_SAMPLE_REGS_USER ? buf_u64(b) : PERF_SAMPLE_REGS_ABI_NONE;
	if (f->abi != PERF_SAMPLE_REGS_ABI_NONE) {
		const struct processor *here = processor_here();

		f->sp = register_at(l, *b, here ? here->perf_sp : 63);
		f->ip = register_at(l, *b, here ? here->perf_ip : 63);
		f->bx = x86_register(l, *b, PERF_BX);
		f->bp = x86_register(l, *b, PERF_BP);
		buf_skip(b, 8 * (uint64_t)__builtin_popcountll(l->user_regs));
	}
}

/* The fields behind the stack, a word each. */
static const uint64_t tail_bits = PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP;

static size_t tail_bytes(const struct sample_fields *l)
{
	return 8 * (size_t)__builtin_popcountll(l->sample_type & tail_bits);
}

/* What comes behind the stack. Returns the new length. */
static size_t put_tail(const struct sample_fields *l, uint8_t *dst, size_t len, const uint8_t *tail)
{
	memcpy(dst + len, tail, tail_bytes(l));
	return len + tail_bytes(l);
}

static void put_u64(uint8_t *dst, uint64_t v)
{
	memcpy(dst, &v, sizeof v);
}

static void put_size(uint8_t *rec, size_t n)
{
	struct perf_event_header h;

	memcpy(&h, rec, sizeof h);
	h.size = (uint16_t)n;
	memcpy(rec, &h, sizeof h);
}

void sample_set_id(uint8_t *rec, uint64_t id)
{
	put_u64(rec + sizeof(struct perf_event_header), id);
}

static void find_strings(struct sample_facts *f)
{
	const struct secrets s = secrets_find(f->stack, f->stack_bytes, f->sp,
					      f->abi == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8);

	f->strings_at = s.at;
	f->strings_whole = s.is_whole;
}

size_t sample_pack(const struct sample_fields *l, const uint8_t *rec, size_t n, uint8_t *dst,
		   struct sample_facts *ret)
{
	struct buf b = buf_make(rec, n, 0, false);
	struct perf_event_header h = {0};
	uint64_t size, dyn, keep, room, tail = tail_bytes(l);
	const uint64_t page = 4096; /* the smallest there is */
	const uint8_t *stack;
	size_t at, len;

	*ret = (struct sample_facts){0};
	memcpy(&h, rec, n < sizeof h ? 0 : sizeof h);
	ret->in_kernel = (h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	skip_to_stack(l, &b, ret);
	at = (size_t)(b.p - rec);
	size = l->sample_type & PERF_SAMPLE_STACK_USER ? buf_u64(&b) : 0;
	if (!buf_ok(&b) || (!size && buf_left(&b) < tail))
		goto verbatim;
	if (!size) { /* not asked for; or a kernel thread: no dump and no dyn_size word */
		len = (size_t)(b.p - rec);
		memcpy(dst, rec, len);
		len = put_tail(l, dst, len, b.p);
		put_size(dst, len);
		return len;
	}
	stack = buf_take(&b, size);
	dyn = buf_u64(&b);
	room = (size + 7) & ~7ull;
	if (!buf_ok(&b) || buf_left(&b) < tail || dyn > size || n + room - size > UINT16_MAX)
		goto verbatim;
	ret->has_user_stack = true;
	ret->stack = stack;
	ret->stack_bytes = ret->strings_at = dyn;
	ret->stack_full = dyn == room;
	if (ret->sp && dyn < size && (ret->sp + dyn) % page == 0) {
		ret->short_at = ret->sp + dyn;
		ret->short_bytes = size - dyn;
	}

	keep = dyn == room ? room : dyn ? ((dyn + 7) & ~7ull) + 8 : 0;
	if (keep > room)
		keep = room;
	memcpy(dst, rec, at);
	put_u64(dst + at, keep);
	len = at + 8;
	if (keep) {
		memcpy(dst + len, stack, dyn);
		/* Only the first thread of a process has these on its stack. */
		if (l->hides_env && ret->sp && ret->pid == ret->tid)
			find_strings(ret);
		memset(dst + len + ret->strings_at, 0, keep - ret->strings_at);
		put_u64(dst + len + keep, dyn);
		len += keep + 8;
	}
	len = put_tail(l, dst, len, b.p);
	put_size(dst, len);
	return len;
verbatim:
	memcpy(dst, rec, n);
	return n;
}
