/* collect.c - which code was on the stacks of a recording.
 *
 * Every word of a stack copy that points into code may be a return address: which of them are is
 * known only by unwinding, which this does not depend on. The same words come again in most
 * samples, so that nearly all of them are found in a small table of what they are. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/pages.h"
#include "base/processor.h"
#include "cut/cut.h"
#include "functions/functions.h"
#include "reader/reader.h"

enum {
	WORDS_KNOWN = 1 << 16, /* rows of the table */
	/* Words above a return address into the kernel's way back from signal handlers: there the
	 * registers of the interrupted function are. */
	SIGNAL_WORDS = 64,
	/* Words from the stack pointer on that unwinding takes for the return address of code
	 * without a file. */
	TOP_WORDS = 6,
	CALL_BYTES = 5, /* x86: call rel32 */
};

enum { IS_CODE = 1, IS_SIGNAL = 2 };

struct known_word {
	uint64_t word, layout;
	uint32_t dso; /* index of by_dso + 1; 0: no code */
	uint8_t flags;
};

struct cut_hits {
	VEC(struct cut_dso) dsos;
	VEC(uint32_t) by_id;	/* dso id -> index + 1 */
	struct hash_table seen; /* of (dso, off, frame): what is in the lists */
	struct known_word *words;
	struct modules *modules;
	uint64_t sample; /* number of the one that is looked at */
	bool nomem;
};

static struct cut_dso *dso_of(struct cut_hits *h, const struct dso *dso, uint32_t *index)
{
	while (h->by_id.n <= dso->id)
		if (vec_push(&h->by_id, 0))
			return NULL;
	if (!h->by_id.v[dso->id]) {
		if (vec_push(&h->dsos, (struct cut_dso){.dso = dso, .last = UINT64_MAX}))
			return NULL;
		h->by_id.v[dso->id] = (uint32_t)h->dsos.n;
	}
	*index = h->by_id.v[dso->id];
	return &h->dsos.v[*index - 1];
}

enum list { LIST_CODE, LIST_FRAMES, LIST_PROBED, LIST_TEXTS };

static void add_to(struct cut_hits *h, const struct dso *dso, uint64_t off, enum list list)
{
	const uint64_t key = hash_mix((uint64_t)dso->id << 2 | list, off);
	uint32_t index;
	struct cut_dso *d;
	struct cut_addrs *to;

	if (hash_get(&h->seen, key) != HASH_NONE)
		return;
	d = dso_of(h, dso, &index);
	to = d ? (struct cut_addrs *const[]){&d->code, &d->frames, &d->probed, &d->texts}[list]
	       : NULL;
	if (!to || hash_put(&h->seen, key, 1) || vec_push(to, off))
		h->nomem = true;
}

static void add(struct cut_hits *h, const struct dso *dso, uint64_t off, bool is_frame)
{
	add_to(h, dso, off, is_frame ? LIST_FRAMES : LIST_CODE);
}

static void count(struct cut_hits *h, uint32_t index)
{
	struct cut_dso *d = &h->dsos.v[index - 1];

	d->samples += d->last != h->sample;
	d->last = h->sample;
}

static uint64_t key_of(const struct map *m, uint64_t ip)
{
	const enum dso_kind kind = m->dso->kind;

	return kind == DSO_FILE || kind == DSO_VDSO ? map_ip_to_off(m, ip) : ip;
}

static bool has_code(const struct map *m)
{
	return m && m->prot & PROT_EXEC &&
	       (m->dso->kind == DSO_FILE || m->dso->kind == DSO_VDSO || m->dso->kind == DSO_ANON);
}

/* An address that is in a function that was running. */
static void add_frame(struct cut_hits *h, const struct map *m, uint64_t ip)
{
	uint32_t index;

	if (!m || !dso_of(h, m->dso, &index)) {
		h->nomem |= m != NULL;
		return;
	}
	add(h, m->dso, key_of(m, ip), false);
	add(h, m->dso, key_of(m, ip), true);
	count(h, index);
}

/* x86-64: mov $__NR_rt_sigreturn, %rax; syscall. */
static bool returns_from_signal(const struct elf_image *img, uint64_t vaddr)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	size_t left;
	const uint8_t *p = elf_image_at_vaddr(img, vaddr, &left);

	return p && left >= sizeof code && !memcmp(p, code, sizeof code);
}

/* Where goroutines end: runtime.newproc1() puts the address behind the nop on their stacks with
 * which runtime.goexit begins, as if it had been called from there (runtime/asm_amd64.s). */
static bool is_go_end(const struct elf_image *img, uint64_t vaddr)
{
	size_t left;
	const uint8_t *p;
	uint32_t insn[2];

	switch (processor_insn_set(elf_image_machine(img))) {
	case INSN_SET_X86:
		p = elf_image_at_vaddr(img, vaddr - 1, &left);
		return p && left >= 2 && p[0] == 0x90 && p[1] == 0xe8;
	case INSN_SET_A64: /* nop; bl */
		p = elf_image_at_vaddr(img, vaddr - sizeof *insn, &left);
		if (!p || left < sizeof insn)
			return false;
		memcpy(insn, p, sizeof insn);
		return insn[0] == 0xd503201f && insn[1] >> 26 == 0x25;
	default:
		return false;
	}
}

/* Looks a word up that is not in the table. */
static struct known_word look_up(struct cut_hits *h, const struct address_space *space,
				 uint64_t word)
{
	struct known_word k = {.word = word, .layout = address_space_layout(space)};
	const struct map *m = address_space_find(space, word);
	struct module *mod;
	uint64_t vaddr;

	if (!has_code(m))
		return k;
	add(h, m->dso, key_of(m, word), false);
	if (h->nomem || !dso_of(h, m->dso, &k.dso))
		return k;
	k.flags = IS_CODE;
	if (m->dso->kind == DSO_ANON) {
		add(h, m->dso, word - 1, true);
		return k;
	}
	mod = modules_get(h->modules, m->dso);
	if (!mod) {
		h->nomem = true;
		return k;
	}
	if (!mod->image || !module_ip_to_vaddr(mod, m, word, &vaddr))
		return k;
	/* The call may be the last instruction of its function. */
	if (cut_is_behind_call(mod->image, vaddr) || is_go_end(mod->image, vaddr)) {
		add(h, m->dso, key_of(m, word) - 1, false);
		add(h, m->dso, key_of(m, word) - 1, true);
	}
	if (returns_from_signal(mod->image, vaddr)) {
		k.flags |= IS_SIGNAL;
		add(h, m->dso, key_of(m, word), true);
		add(h, m->dso, key_of(m, word) - 1, true);
	}
	return k;
}

static struct known_word word_at(struct cut_hits *h, const struct address_space *space,
				 uint64_t layout, uint64_t word)
{
	struct known_word *k = &h->words[hash_u64(word ^ layout << 48) % WORDS_KNOWN];

	if (k->word != word || k->layout != layout)
		*k = look_up(h, space, word);
	return *k;
}

static void see_stack(struct cut_hits *h, const struct perf_sample *s)
{
	const unsigned size = s->user_regs.abi == PERF_REGS_ABI_32_ ? 4 : 8;
	const uint64_t layout = address_space_layout(s->space);
	unsigned in_signal = 0, i;

	for (i = 0; i + size <= s->user_stack_bytes && !h->nomem; i += size) {
		uint64_t word = 0;
		struct known_word k;

		memcpy(&word, s->user_stack + i, size);
		/* No code is in the lowest page; the kernel's half is not the process's. */
		if (word < 4096 || (size == 8 && word >> 56))
			continue;
		k = word_at(h, s->space, layout, word);
		in_signal = k.flags & IS_SIGNAL ? SIGNAL_WORDS : in_signal ? in_signal - 1 : 0;
		if (!(k.flags & IS_CODE))
			continue;
		count(h, k.dso);
		if (in_signal)
			add_frame(h, address_space_find(s->space, word), word);
	}
}

static void see_chain(struct cut_hits *h, const struct perf_sample *s)
{
	const struct address_space *as = s->cpumode == PERF_CPUMODE_USER ? s->space : s->kernel;
	bool first = true;
	uint32_t i;

	for (i = 0; i < s->n_ips; i++) {
		const uint64_t ip = s->ips[i];

		if (ip >= PERF_CHAIN_CONTEXT_MAX) {
			as = ip == PERF_CHAIN_USER ? s->space : s->kernel;
			first = true;
			continue;
		}
		add_frame(h, address_space_find(as, ip), ip);
		if (!first && ip)
			add_frame(h, address_space_find(as, ip - 1), ip - 1);
		first = false;
	}
}

/* The link register of other processors holds the first return address. */
static void see_registers(struct cut_hits *h, const struct perf_sample *s)
{
	uint64_t word;
	unsigned i;

	for (i = 0; i < 64; i++)
		if (perf_regs_get(&s->user_regs, i, &word) && word >= 4096 && !(word >> 56))
			word_at(h, s->space, address_space_layout(s->space), word);
}

/* The function that the call before `ra` leads to. Unwinding looks whether it has call frame
 * information. */
static void add_called(struct cut_hits *h, const struct address_space *space, uint64_t ra)
{
	const struct map *m = address_space_find(space, ra - 1);
	struct module *mod =
		has_code(m) && m->dso->kind == DSO_FILE ? modules_get(h->modules, m->dso) : NULL;
	const uint8_t *code;
	size_t left, off = 0;
	uint64_t vaddr;
	int64_t to;

	if (!mod || !mod->image ||
	    processor_insn_set(elf_image_machine(mod->image)) != INSN_SET_X86 ||
	    !module_ip_to_vaddr(mod, m, ra - CALL_BYTES, &vaddr))
		return;
	code = elf_image_at_vaddr(mod->image, vaddr, &left);
	if (!code || left < CALL_BYTES || !next_call(INSN_SET_X86, code, CALL_BYTES, &off, &to) ||
	    off != 1)
		return;
	ra += (uint64_t)to - CALL_BYTES;
	m = address_space_find(space, ra);
	if (has_code(m) && m->dso->kind == DSO_FILE)
		add(h, m->dso, key_of(m, ra), false);
}

/* What called code without a file, if that has no frame yet. */
static void see_callers(struct cut_hits *h, const struct perf_sample *s)
{
	const unsigned size = s->user_regs.abi == PERF_REGS_ABI_32_ ? 4 : 8;
	unsigned i;

	for (i = 0; i < TOP_WORDS && (i + 1) * size <= s->user_stack_bytes; i++) {
		uint64_t word = 0;

		memcpy(&word, s->user_stack + (size_t)i * size, size);
		if (word >= 4096)
			add_called(h, s->space, word);
	}
}

/* Of a probe in a program: parameters are told of the function that it was in. */
static bool is_of_probe(const struct perf_sample *s)
{
	return s->event->attr.type == PERF_TYPE_TRACEPOINT && s->cpumode == PERF_CPUMODE_USER;
}

/* Constants beside the code of a file, whose own maps are not kept: those of the code lead there.
 */
static void see_constant(struct cut_hits *h, const struct map *m, uint64_t word)
{
	struct module *mod = m->dso->kind == DSO_FILE ? modules_get(h->modules, m->dso) : NULL;
	uint64_t vaddr;

	if (!mod || !mod->image || !module_ip_to_vaddr(mod, m, m->start, &vaddr))
		return;
	vaddr += word - m->start;
	if (cut_is_constant(mod->image, vaddr))
		add_to(h, m->dso, vaddr, LIST_TEXTS);
}

/* The last code below it, and the first above. */
static void see_pointer(struct cut_hits *h, const struct address_space *space, uint64_t word)
{
	size_t lo = 0, hi = address_space_count(space);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (address_space_at(space, mid)->start <= word)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo)
		see_constant(h, address_space_at(space, lo - 1), word);
	if (lo < address_space_count(space))
		see_constant(h, address_space_at(space, lo), word);
}

static void see_probed(struct cut_hits *h, const struct perf_sample *s, const struct map *m,
		       uint64_t ip)
{
	uint64_t word;
	unsigned i;

	add_to(h, m->dso, key_of(m, ip), LIST_PROBED);
	for (i = 0; i < 64; i++)
		if (perf_regs_get(&s->user_regs, i, &word) && word >= 4096 && !(word >> 56) &&
		    word != ip)
			see_pointer(h, s->space, word);
}

static void see(struct cut_hits *h, const struct perf_sample *s)
{
	const struct map *m;
	const struct address_space *as = s->cpumode == PERF_CPUMODE_USER ? s->space : s->kernel;
	const struct processor *cpu = processor_here();
	uint64_t ip;

	h->sample++;
	add_frame(h, address_space_find(as, s->ip), s->ip);
	see_chain(h, s);
	if (!s->user_regs.abi)
		return;
	if (cpu && perf_regs_get(&s->user_regs, cpu->perf_ip, &ip)) {
		m = address_space_find(s->space, ip);
		add_frame(h, m, ip);
		if (m && m->dso->kind == DSO_FILE && is_of_probe(s))
			see_probed(h, s, m, ip);
		if (m && m->dso->kind == DSO_ANON)
			see_callers(h, s);
	}
	see_registers(h, s);
	see_stack(h, s);
}

int cut_collect(struct cut_hits **ret, struct perf_file *f, struct modules *ms, struct err *err)
{
	struct cut_hits *h = calloc(1, sizeof *h);
	struct perf_batch *b;
	size_t i;
	int rc = 0;

	*ret = h;
	if (h)
		h->words = pages_calloc(WORDS_KNOWN, sizeof *h->words);
	if (!h || !h->words)
		return err_nomem(err);
	h->modules = ms;
	while (!h->nomem && (rc = perf_file_read(f, &b, err)) > 0) {
		for (i = 0; i < b->n; i++)
			see(h, &b->samples[i]);
		perf_batch_release(f, b);
	}
	return h->nomem ? err_nomem(err) : rc;
}

int cut_add_frame(struct cut_hits *h, const struct dso *dso, uint64_t off)
{
	uint32_t index;

	if (!dso_of(h, dso, &index))
		return -ERR_NOMEM;
	add(h, dso, off, false);
	add(h, dso, off, true);
	return h->nomem ? -ERR_NOMEM : 0;
}

void cut_only_known(struct cut_hits *h)
{
	size_t i;

	for (i = 0; i < h->dsos.n; i++)
		h->dsos.v[i].frames.n = 0;
	hash_done(&h->seen);
	h->seen = (struct hash_table){0};
}

void cut_hits_free(struct cut_hits *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < h->dsos.n; i++) {
		vec_done(&h->dsos.v[i].code);
		vec_done(&h->dsos.v[i].frames);
		vec_done(&h->dsos.v[i].probed);
		vec_done(&h->dsos.v[i].texts);
	}
	vec_done(&h->dsos);
	vec_done(&h->by_id);
	hash_done(&h->seen);
	free(h->words);
	free(h);
}

size_t cut_hits_count(const struct cut_hits *h)
{
	return h->dsos.n;
}

struct cut_dso *cut_hits_at(struct cut_hits *h, size_t i)
{
	return &h->dsos.v[i];
}
