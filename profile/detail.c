/* detail.c - what few samples have and few outputs show, as the bytes of a string: the same things
 * of several samples are there once. */
#include "base/strtab.h"
#include "base/text.h"
#include "profile/intern.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <string.h>

/* Behind it: registers of user and intr, then branches. */
struct head {
	uint64_t weight, data_src;
	uint64_t phys_addr, data_page_size, code_page_size;
	uint64_t user_abi, user_mask, intr_abi, intr_mask;
};

static size_t bytes_of(uint64_t mask)
{
	return (size_t)__builtin_popcountll(mask) * sizeof(uint64_t);
}

static void take_registers(struct head *h, const struct perf_sample *s)
{
	const struct perf_sample_extra *x = s->extra;

	h->phys_addr = x->phys_addr;
	h->data_page_size = x->data_page_size;
	h->code_page_size = x->code_page_size;
	if (s->user_regs.abi) {
		h->user_abi = s->user_regs.abi;
		h->user_mask = s->user_regs.mask;
	}
	if (x->intr_regs.abi) {
		h->intr_abi = x->intr_regs.abi;
		h->intr_mask = x->intr_regs.mask;
	}
}

uint32_t profile_add_detail(struct profile *p, const struct perf_sample *s)
{
	static const struct head nothing;
	const struct perf_sample_extra *x = s->extra;
	struct head h = {0};
	struct text bytes = {0};
	uint32_t id;

	if (!(p->index_->keep & (PROFILE_KEEP_DETAILS | PROFILE_KEEP_REGISTERS)) || !x)
		return 0;
	h.weight = x->weight;
	h.data_src = x->data_src;
	if (p->index_->keep & PROFILE_KEEP_REGISTERS)
		take_registers(&h, s);
	if (!memcmp(&h, &nothing, sizeof h) && !x->n_branches)
		return 0;
	text_add(&bytes, (const char *)&h, sizeof h);
	text_add(&bytes, (const char *)s->user_regs.regs, bytes_of(h.user_mask));
	text_add(&bytes, (const char *)x->intr_regs.regs, bytes_of(h.intr_mask));
	text_add(&bytes, (const char *)x->branches, x->n_branches * sizeof *x->branches);
	id = bytes.failed ? STRTAB_FAILED : strtab_add(&p->strings, bytes.s, bytes.n);
	text_done(&bytes);
	return id;
}

struct profile_detail profile_detail(const struct profile *p, const struct profile_log_entry *e)
{
	const char *s = strtab_get(&p->strings, e->detail);
	struct profile_detail d = {0};
	struct head h;

	if (!e->detail)
		return d;
	memcpy(&h, s, sizeof h);
	d = (struct profile_detail){
		.weight = h.weight,
		.data_src = h.data_src,
		.phys_addr = h.phys_addr,
		.data_page_size = h.data_page_size,
		.code_page_size = h.code_page_size,
		.user = {h.user_abi, h.user_mask, s + sizeof h},
		.intr = {h.intr_abi, h.intr_mask, s + sizeof h + bytes_of(h.user_mask)},
	};
	d.branches = d.intr.values + bytes_of(h.intr_mask);
	d.n_branches = (strtab_len(&p->strings, e->detail) - (size_t)(d.branches - s)) /
		       sizeof(struct perf_branch);
	return d;
}
