/* fp_owner.c - which frame does the frame record at the frame pointer belong to?
 *
 * Code that keeps no frame pointer leaves the register to its callers (psABI AMD64 3.2.1: rbp
 * belongs to the caller). The record is then that of the nearest caller that keeps one, and a walk
 * that continues from the record skips this caller. Where it is not known which kind of code it is,
 * the words up to the record show it: that caller has left its return address among them, and its
 * call frame information says that its CFA is just above this very record. A stale return address
 * may seem to show the same. But the machine code of its function shows how far below the record
 * the stack pointer was at the call, and so at which stack address the word must be. */
#include <sys/mman.h>

#include "base/hash.h"
#include "base/text.h"
#include "reader/reader.h"
#include "unwind/return_check.h"

/* log2 of the size of the parts of the address space that the filter tells apart. */
#define FILTER_SHIFT 20

static unsigned filter_bit(uint64_t addr)
{
	return (unsigned)((addr >> FILTER_SHIFT) * 0x9e3779b97f4a7c15u >> (64 - CODE_FILTER_BITS));
}

static bool may_be_code(const struct code_filter *f, uint64_t addr)
{
	unsigned bit = filter_bit(addr);

	return f->bits[bit / 64] >> bit % 64 & 1;
}

static bool is_named(const struct map *m, const char *name)
{
	return !strcmp(base_name(m->dso->path), name);
}

/* The filter for words that can be addresses in code of files: one bit for each part of the address
 * space. Nearly all words of a frame are not such addresses. */
static const struct code_filter *code_filter(struct walk *w)
{
	struct code_filter *f = &w->worker->code_filter;
	const struct address_space *space = w->s->space;
	size_t n = address_space_count(space), i;
	bool has_anon = false;
	uint64_t at;

	if (f->layout == address_space_layout(space) && f->n_maps == n)
		return f;
	*f = (struct code_filter){.layout = address_space_layout(space), .n_maps = n};
	for (i = 0; i < n; i++) {
		const struct map *m = address_space_at(space, i);

		f->is_hotspot |= is_named(m, "libjvm.so");
		f->is_v8 |= is_named_as_v8(m);
		has_anon |= m->dso->kind == DSO_ANON && m->prot & PROT_EXEC;
		f->is_erlang |= is_named(m, "beam.smp");
		if (!(m->prot & PROT_EXEC) || m->dso->kind == DSO_ANON || m->end <= m->start)
			continue;
		if ((m->end - m->start) >> FILTER_SHIFT >> CODE_FILTER_BITS) {
			memset(f->bits, 0xff, sizeof f->bits);
			continue;
		}
		for (at = m->start >> FILTER_SHIFT; at <= (m->end - 1) >> FILTER_SHIFT; at++) {
			unsigned bit = filter_bit(at << FILTER_SHIFT);

			f->bits[bit / 64] |= 1ull << bit % 64;
		}
	}
	/* Files are opened only where there is code that one of them may have made. */
	for (i = 0; has_anon && !f->is_hotspot && !f->is_v8 && i < n; i++)
		f->is_v8 = has_v8(w, address_space_at(space, i));
	return f;
}

bool runs_hotspot(struct walk *w)
{
	return code_filter(w)->is_hotspot;
}

bool runs_v8(struct walk *w)
{
	return code_filter(w)->is_v8;
}

bool runs_erlang(struct walk *w)
{
	return code_filter(w)->is_erlang;
}

/* The frame of the function that `ra` returns to, by its machine code. NULL: not known. */
static const struct code_frame *code_frame_at(struct walk *w, uint64_t ra)
{
	struct known_frame *k = &w->worker->frames[hash_u64(ra) % FRAMES_KNOWN];
	const struct map *map = address_space_find(w->s->space, ra - 1);
	struct code_function fn;
	struct cfi_module *cm;
	uint64_t vaddr;

	if (!map)
		return NULL;
	if (k->map != map->id || k->ra != ra) {
		cm = walk_module(w, map, ra - 1, &vaddr);
		*k = (struct known_frame){.map = map->id, .ra = ra};
		k->is_known = cm && (cfi_module_fde_frame(cm, vaddr, &k->frame) ||
				     cfi_module_code_frame(cm, vaddr, &fn, &k->frame));
	}
	return k->is_known ? &k->frame : NULL;
}

bool fp_by_code(struct walk *w, uint64_t ra, uint64_t sp, uint64_t *ret)
{
	const struct code_frame *f = code_frame_at(w, ra);

	if (!f || f->fp_holds != CODE_FP_FRAME || f->sp < 0 || f->is_realigned)
		return false;
	*ret = sp + (uint32_t)f->sp - (uint32_t)f->fp;
	return true;
}

/* What is known of a word between the stack pointer and the record, taken as a return address, and
 * of the callers that follow from it. All of them would have left the frame pointer alone. */
enum link {
	LINK_NONE, /* it is none, or the callers do not lead to the owner of the record */
	LINK_OWNER,
	LINK_UNSURE,
};

/* From one of these callers to the next. */
struct hop {
	enum link known; /* if `at` is 0 */
	uint64_t at;	 /* where the next return address is */
	uint64_t ip;	 /* in the function that has that return address */
};

static struct hop hop_end(enum link known, uint64_t ip)
{
	return (struct hop){.known = known, .ip = ip};
}

static enum link owner_of(const struct walk *w, const struct cursor *c, const struct code_frame *f,
			  uint64_t sp)
{
	const int32_t record = 2 * w->arch->word_bytes;

	if (f->fp_holds != CODE_FP_FRAME || f->sp < 0 || f->is_realigned || f->fp != record)
		return LINK_UNSURE;
	return c->fp + (uint32_t)record - (uint32_t)f->sp == sp ? LINK_OWNER : LINK_NONE;
}

/* The hop from a frame with its CFA at `cfa`, which saves the frame pointer at `saved` (0: it does
 * not). A function may save it and not use it yet: then the saved value is that of the register. */
static struct hop hop_to(struct walk *w, const struct cursor *c, uint64_t ip, uint64_t sp,
			 uint64_t cfa, uint64_t saved)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t fp = c->fp;

	if (saved && saved == c->fp)
		return hop_end(cfa - saved == 2 * word ? LINK_OWNER : LINK_UNSURE, ip);
	if (saved && !walk_word(w, saved, word, &fp))
		return hop_end(LINK_UNSURE, ip);
	if (cfa <= sp || cfa > c->fp || cfa % word || fp != c->fp)
		return hop_end(LINK_NONE, ip);
	return (struct hop){.at = cfa - word, .ip = ip};
}

/* hop() for a frame without a rule. */
static struct hop hop_by_code(struct walk *w, const struct cursor *c, uint64_t ip, uint64_t sp)
{
	const struct code_frame *f = code_frame_at(w, ip + 1);
	uint64_t cfa;

	if (!f || f->ra_lost || f->sp < 0 || f->is_realigned ||
	    f->saved_ra != w->arch->word_bytes || (f->fp_holds == CODE_FP_OTHER && !f->saved_fp))
		return hop_end(LINK_UNSURE, ip);
	if (f->fp_holds == CODE_FP_FRAME)
		return hop_end(owner_of(w, c, f, sp), ip);
	cfa = sp + (uint32_t)f->sp;
	return hop_to(w, c, ip, sp, cfa, f->saved_fp ? cfa - (uint32_t)f->saved_fp : 0);
}

/* hop() where the rule's CFA is relative to the frame pointer. The machine code of the function
 * shows where its stack pointer is at a call. */
static struct hop hop_by_fp(struct walk *w, const struct cursor *c, uint64_t ip, bool has_called,
			    uint64_t sp, const struct rule *r)
{
	const int32_t record = 2 * w->arch->word_bytes;
	const struct code_frame *f;

	if (r->cfa_off != record || r->fp_off != -record)
		return hop_end(LINK_UNSURE, ip);
	if (!has_called)
		return hop_end(c->fp + (uint32_t)record > sp ? LINK_OWNER : LINK_UNSURE, ip);
	f = code_frame_at(w, ip + 1);
	return hop_end(f ? owner_of(w, c, f, sp) : LINK_UNSURE, ip);
}

/* The hop from a frame at `ip`, the last byte of a call if has_called, with stack pointer `sp`. */
static struct hop hop(struct walk *w, const struct cursor *c, uint64_t ip, bool has_called,
		      uint64_t sp)
{
	struct rule_entry own;
	const struct rule r = walk_rule(w, ip, &own)->rule;
	uint64_t cfa = sp + (uint64_t)(int64_t)r.cfa_off;

	if (rule_is_missing((enum rule_kind)r.kind))
		return hop_by_code(w, c, ip, sp);
	switch ((enum rule_kind)r.kind) {
	case RULE_SP:
		return hop_to(w, c, ip, sp, cfa, r.fp_off ? cfa + (uint64_t)(int64_t)r.fp_off : 0);
	case RULE_FP:
		return hop_by_fp(w, c, ip, has_called, sp, &r);
	case RULE_END:
		return hop_end(LINK_NONE, ip);
	default:
		return hop_end(LINK_UNSURE, ip);
	}
}

/* The hop from the frame that the kernel made for a signal handler, at sp: to what it has
 * interrupted, which had the frame pointer that the kernel saved. */
static struct hop hop_over_signal(struct walk *w, const struct cursor *c, uint64_t sp,
				  const struct rule *r)
{
	const unsigned word = w->arch->word_bytes;
	const unsigned flags = RULE_DEREF | RULE_RA_AT_BASE | RULE_FP_AT_BASE;
	uint64_t ip, fp, interrupted;

	if (r->kind != RULE_SHAPED || r->reg != w->arch->sp || (r->flags & flags) != flags ||
	    !walk_word(w, sp + (uint64_t)(int64_t)r->cfa_off, word, &interrupted) ||
	    !walk_word(w, sp + (uint64_t)(int64_t)r->ra_off, word, &ip) ||
	    !walk_word(w, sp + (uint64_t)(int64_t)r->fp_off, word, &fp))
		return hop_end(LINK_UNSURE, 0);
	interrupted += (uint64_t)(int64_t)r->cfa_add;
	if (fp != c->fp)
		return hop_end(LINK_NONE, ip);
	if (interrupted <= sp || interrupted > c->fp)
		return hop_end(LINK_UNSURE, ip);
	return hop(w, c, ip, false, interrupted);
}

/* The hop from the caller to which the word `ra` at `at` returns. */
static struct hop hop_from(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at)
{
	const uint64_t sp = at + w->arch->word_bytes;
	struct rule_entry own;
	struct rule r;

	switch (return_check(w, ra)) {
	case RETURN_CALL:
		return hop(w, c, ra - 1, true, sp);
	case RETURN_MAP:
		return hop_end(LINK_UNSURE, ra - 1);
	default:
		r = ra ? walk_rule(w, ra - 1, &own)->rule : (struct rule){0};
		return r.flags & RULE_SIGNAL ? hop_over_signal(w, c, sp, &r)
					     : hop_end(LINK_NONE, ra);
	}
}

/* True if the call before `ra` can have led to the code at `ip`, in `map`. */
static bool may_lead_to(struct walk *w, uint64_t ra, const struct map *map, uint64_t ip)
{
	return call_may_reach(w, called_function(w, ra), map, ip);
}

static bool may_have_called(struct walk *w, uint64_t ra, uint64_t ip)
{
	return may_lead_to(w, ra, address_space_find(w->s->space, ip), ip);
}

/* What is known of the word `ra` at `at`. The words above it have been looked at: their links are
 * known, from links[0] for the word at c->sp on. */
static enum link link_of(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at)
{
	const unsigned word = w->arch->word_bytes;
	struct hop h = hop_from(w, c, ra, at);
	enum link next;
	uint64_t up;

	if (!h.at)
		return h.known;
	next = (enum link)w->worker->links[(h.at - c->sp) / word];
	if (!walk_word(w, h.at, word, &up))
		return LINK_UNSURE;
	if (next == LINK_NONE) /* the filter does not know code without a file */
		return return_check(w, up) == RETURN_MAP ? LINK_UNSURE : LINK_NONE;
	return may_have_called(w, up, h.ip) ? next : LINK_NONE;
}

/* An address in the owner of the record, to which the callers from `ra` at `at` on lead. */
static uint64_t owner_ip(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at)
{
	struct hop h = hop_from(w, c, ra, at);

	while (h.at && walk_word(w, h.at, w->arch->word_bytes, &ra))
		h = hop_from(w, c, ra, h.at);
	return h.ip;
}

/* True if the frame record can be that of the function at `ip`, in `map`: its return address
 * follows a call that can have led there. *is_told: the call says where it leads. */
static bool record_may_be_of(struct walk *w, const struct cursor *c, const struct map *map,
			     uint64_t ip, bool *is_told)
{
	uint64_t ra;

	*is_told = false;
	if (!walk_word(w, c->fp + w->arch->word_bytes, w->arch->word_bytes, &ra))
		return true;
	ra &= w->code_mask;
	*is_told = return_check(w, ra) == RETURN_CALL && called_function(w, ra);
	return !*is_told || may_lead_to(w, ra, map, ip);
}

/* Fills links[] for the words from c->sp to the record. Returns false if not all can be read. */
static bool links_find(struct walk *w, const struct cursor *c, const struct code_filter *filter,
		       size_t n)
{
	uint8_t *links = w->worker->links;
	uint64_t at, ra;

	if (n > LINKS_MAX)
		return false;
	while (n--) {
		at = c->sp + n * w->arch->word_bytes;
		if (!walk_word(w, at, w->arch->word_bytes, &ra))
			return false;
		links[n] = LINK_NONE;
		if (may_be_code(filter, ra))
			links[n] = (uint8_t)link_of(w, c, ra, at);
	}
	return true;
}

/* The words below the record that can be return addresses to the caller of the code. */
struct candidates {
	unsigned owners; /* words from which callers lead to the owner */
	unsigned found;	 /* those of them that can be the return address of the code */
	unsigned unsure, jit;
	uint64_t ra, at; /* of the last one found */
};

static void candidates_find(struct walk *w, const struct cursor *c, const struct map *map, size_t n,
			    struct candidates *ret)
{
	bool is_leaf = !c->is_return_address && map && map->dso->kind != DSO_ANON;
	uint64_t at = c->sp, ra;
	size_t i;

	*ret = (struct candidates){0};
	for (i = 0; i < n; i++, at += w->arch->word_bytes) {
		enum link known = (enum link)w->worker->links[i];

		if (known == LINK_NONE && !is_leaf)
			continue;
		if (!walk_word(w, at, w->arch->word_bytes, &ra))
			return;
		if (known == LINK_NONE) {
			ret->jit += return_check(w, ra) == RETURN_MAP;
			continue;
		}
		ret->owners += known == LINK_OWNER;
		if (!may_lead_to(w, ra, map, c->ip))
			continue;
		if (known == LINK_UNSURE) {
			ret->unsure++;
			continue;
		}
		ret->found++;
		ret->ra = ra;
		ret->at = at;
	}
}

/* Searches the words up to the record for callers in files. */
static enum fp_owner find_in_files(struct walk *w, const struct cursor *c, const struct map *map,
				   const struct code_filter *filter, struct cursor *caller)
{
	size_t n = (c->fp - c->sp) / w->arch->word_bytes;
	bool may_be_own, is_told, names_owner = false;
	struct candidates found;
	uint64_t ip;

	if (!links_find(w, c, filter, n))
		return FP_OWNER_SELF; /* nor can the record be read */
	candidates_find(w, c, map, n, &found);
	may_be_own = record_may_be_of(w, c, map, c->ip, &is_told);
	/* Of two candidates one is stale. */
	if (found.found == 1 && !found.unsure && !may_be_own) {
		ip = owner_ip(w, c, found.ra, found.at);
		names_owner =
			record_may_be_of(w, c, address_space_find(w->s->space, ip), ip, &is_told);
	}
	if (names_owner) {
		*caller = *c;
		caller->ip = found.ra;
		caller->sp = found.at + w->arch->word_bytes;
		caller->how = FRAME_FP_OWNER;
		return FP_OWNER_CALLER;
	}
	if (!may_be_own && map && map->dso->kind == DSO_ANON)
		return FP_OWNER_UNKNOWN;
	return found.owners || found.unsure || found.jit ? FP_OWNER_UNKNOWN : FP_OWNER_SELF;
}

enum fp_owner fp_owner_find(struct walk *w, const struct cursor *c, const struct map *map,
			    struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	const struct code_filter *filter;
	enum fp_owner owner;

	/* With a link register, functions save the caller's registers at varying places. */
	if (w->arch->ra != w->arch->pc || !w->arch->code_step || !c->fp_known || !c->sp_known ||
	    c->fp % word || c->sp % word || c->fp <= c->sp)
		return FP_OWNER_SELF;
	filter = code_filter(w);
	if (map && map->dso->kind == DSO_ANON) {
		owner = jit_owner_find(w, c, filter->is_hotspot, caller);
		/* Code of V8 that has called has its frame. */
		if (owner != FP_OWNER_SELF || filter->is_hotspot ||
		    (filter->is_v8 && c->is_return_address))
			return owner;
	}
	return find_in_files(w, c, map, filter, caller);
}
