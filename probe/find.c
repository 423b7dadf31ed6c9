/* find.c - the functions of a file that a pattern means, and where they start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "probe/code.h"
#include "probe/locate.h"
#include "probe/match.h"
#include "probe/places.h"
#include "probe/search.h"

/* What the C library's start files and the linker add to each program: people do not mean it by
 * `*`, and a probe on some of it ends the program. */
static const char *const added_names[] = {
	"_init",
	"_fini",
	"_start",
	"frame_dummy",
	"call_weak_fn",
	"_dl_relocate_static_pie",
	"register_tm_clones",
	"deregister_tm_clones",
	"__do_global_dtors_aux",
	"__libc_csu_init",
	"__libc_csu_fini",
	"__x86.get_pc_thunk.bx",
	"__x86.get_pc_thunk.ax",
};

static bool is_added(const char *name)
{
	for (size_t i = 0; i < sizeof added_names / sizeof *added_names; i++)
		if (!strcmp(name, added_names[i]))
			return true;
	return false;
}

/* ---- functions by name ---------------------------------------------------------------------- */

bool has_symtab(struct elf_image *img)
{
	struct elf_section s;

	return img && elf_image_section(img, ".symtab", &s, NULL) && s.data && s.size;
}

int functions_read(const struct module *m, struct functab *tab)
{
	struct elf_image *full = has_symtab(m->debug) ? m->debug : m->image;
	struct go_table go;
	size_t n;

	if (symtab_read(tab, full, ".symtab", NULL, &n) ||
	    symtab_read(tab, m->image, ".dynsym", NULL, &n) ||
	    (m->mini && symtab_read(tab, m->mini, ".symtab", NULL, &n)))
		return -1;
	if (!has_symtab(full) && go_table_open(&go, m->image) && go_table_functions(&go, tab))
		return -1;
	return functab_finish(tab);
}

static struct function_code code_of(const struct search *s, const struct func *f)
{
	struct function_code code = {.set = processor_insn_set(elf_image_machine(s->mod->image)),
				     .vaddr = f->start};
	size_t left = 0;

	code.bytes = elf_image_at_vaddr(s->mod->image, f->start, &left);
	if (code.bytes)
		code.n = left < f->end - f->start ? left : (size_t)(f->end - f->start);
	return code;
}

static int add_place(struct search *s, const struct func *f, uint64_t vaddr, uint64_t plus)
{
	const char *name = pattern_display_name(&s->pattern, f->name);
	char with_plus[1024];
	uint64_t off;

	if (!elf_image_vaddr_to_off(s->mod->image, vaddr, &off))
		return 0;
	if (plus) {
		snprintf(with_plus, sizeof with_plus, "%s+0x%llx", name, (unsigned long long)plus);
		name = with_plus;
	}
	return places_add(s->ret, off, 0, name) ||
	       vec_push(&s->symbols, ((struct symbol){off, f->name}));
}

/* Functions "f" and "f.cold", "f.part.0.cold.2" are one. */
static bool is_half(const char *whole, const char *name)
{
	const char *cold = strstr(name, ".cold");
	const size_t n = cold ? (size_t)(cold - name) : 0;

	return cold && strlen(whole) >= n && !strncmp(whole, name, n) &&
	       (!whole[n] || !strncmp(whole + n, ".cold", 5));
}

struct halves {
	struct search *s;
	const struct func *f;
};

static bool is_same_function(void *arg, uint64_t vaddr)
{
	const struct halves *h = arg;
	struct func_cursor cursor = {0};
	const struct func *to = functab_find(&h->s->tab, vaddr, &cursor);

	return to && (is_half(h->f->name, to->name) || is_half(to->name, h->f->name));
}

static int add_exit(struct search *s, const struct func *f, uint64_t vaddr, bool is_jump)
{
	char name[1024];
	uint64_t off;

	if (!elf_image_vaddr_to_off(s->mod->image, vaddr, &off))
		return 0;
	snprintf(name, sizeof name, "%s+0x%llx", pattern_display_name(&s->pattern, f->name),
		 (unsigned long long)(vaddr - f->start));
	if (places_add(s->ret, off, 0, name))
		return -1;
	s->ret->places.v[s->ret->places.n - 1].is_jump = is_jump;
	return 0;
}

static int add_exits(struct search *s, const struct func *f)
{
	const struct function_code code = code_of(s, f);
	struct halves halves = {s, f};
	struct code_exits exits = {0};
	int rc = code.n ? code_exits_find(&code, is_same_function, &halves, &exits) : 0;

	s->ret->n_unread += !rc;
	s->ret->n_conditional += exits.n_conditional;
	for (size_t i = 0; rc > 0 && i < exits.vaddrs.n; i++)
		rc = add_exit(s, f, exits.vaddrs.v[i], exits.is_jump.v[i]) ? -1 : 1;
	if (rc > 0 && !exits.vaddrs.n && !exits.n_conditional)
		rc = vec_push(&s->endless, f) ? -1 : 1;
	else if (rc > 0 && strstr(f->name, ".cold"))
		rc = vec_push(&s->leaving_halves, f) ? -1 : 1;
	code_exits_done(&exits);
	return rc < 0 ? -1 : 0;
}

/* Go's functions begin again once their stack has grown, which is no loop. */
static int note_loop(struct search *s, const struct func *f, size_t n_before)
{
	const struct function_code code = code_of(s, f);
	const char *name = pattern_display_name(&s->pattern, f->name);

	if (s->ret->places.n == n_before || !code.n || s->ret->is_go || !code_loops_at_start(&code))
		return 0;
	s->ret->places.v[n_before].is_loop = true;
	s->ret->n_looping++;
	if (!s->ret->looping)
		s->ret->looping = arena_strndup(&s->ret->names, name, strlen(name));
	return s->ret->looping ? 0 : -1;
}

static int add_function(struct search *s, const struct func *f, uint64_t plus)
{
	const bool checks = s->kind == PROBE_CALL && s->ret->is_go;
	const size_t n = s->ret->places.n;
	struct function_code code;

	if (s->kind == PROBE_LEAVE)
		return add_exits(s, f);
	if (plus || checks)
		code = code_of(s, f);
	if (plus && code_place_at(&code, plus) == CODE_PLACE_INSIDE) {
		s->within = f;
		s->ret->n_left_out++;
		return 0;
	}
	if (add_place(s, f, f->start + (checks ? code_go_stack_check(&code) : plus), plus))
		return -1;
	return !plus && (s->kind == PROBE_CALL || s->kind == PROBE_ENTRY) ? note_loop(s, f, n) : 0;
}

/* Functions that call exit() or abort(), or loop for ever. */
static void count_endless(struct search *s)
{
	for (size_t i = 0; i < s->endless.n; i++) {
		const struct func *f = s->endless.v[i];
		bool ends = strstr(f->name, ".cold") && !pattern_is_literal(&s->pattern, f->name);

		for (size_t k = 0; k < s->leaving_halves.n && !ends; k++)
			ends = is_half(f->name, s->leaving_halves.v[k]->name);
		s->ret->n_endless += !ends;
	}
}

/* Is it the cold half of a function that is meant? */
static bool is_matching_half(struct search *s, const char *name)
{
	const char *cold = strstr(name, ".cold");
	char whole[512];

	if (s->kind != PROBE_LEAVE || !cold || (size_t)(cold - name) >= sizeof whole)
		return false;
	memcpy(whole, name, (size_t)(cold - name));
	whole[cold - name] = 0;
	return pattern_matches(&s->pattern, whole);
}

static int add_matching(struct search *s, uint64_t plus)
{
	for (size_t i = 0; i < s->tab.funcs.n; i++) {
		const struct func *f = &s->tab.funcs.v[i];

		if (is_matching_half(s, f->name)) {
			if (add_exits(s, f))
				return -1;
			continue;
		}
		if ((match_is_part(f->name) && !pattern_is_literal(&s->pattern, f->name)) ||
		    (s->pattern.is_wild && (is_added(f->name) || f->flags & FUNC_SIZELESS)) ||
		    !pattern_matches(&s->pattern, f->name))
			continue;
		if (f->flags & FUNC_CHOOSES) {
			s->chooser = f;
			continue;
		}
		if (f->start + plus >= f->end && plus) {
			s->too_short = f;
			s->ret->n_left_out++;
			continue;
		}
		if (add_function(s, f, plus))
			return -1;
	}
	return 0;
}

/* As glibc calls those among which it chooses: __memcpy_avx_unaligned .. */
static bool is_glibc_choice(const char *chooser, const char *name)
{
	const size_t n = strcspn(chooser, "@");

	return !strncmp(name, "__", 2) && !strncmp(name + 2, chooser, n) && name[2 + n] == '_' &&
	       !str_starts_with(name + 3 + n, "chk");
}

/* For which glibc takes the kernel's code on x86 (sysdeps/unix/sysv/linux/time.c, gettimeofday.c).
 */
static bool is_vdso_function(const char *name)
{
	const size_t n = strcspn(name, "@");

	return (n == 4 && !memcmp(name, "time", n)) ||
	       (n == 12 && !memcmp(name, "gettimeofday", n));
}

static int add_choice(struct search *s, const struct func *f, uint64_t plus)
{
	if (match_is_part(f->name) || f->flags & FUNC_CHOOSES ||
	    (plus && f->start + plus >= f->end))
		return 0;
	return add_function(s, f, plus);
}

/* Of a chooser of the program's own, and of one that compilers make (target_clones): the functions
 * whose addresses its code has. */
static int add_returned(struct search *s, uint64_t plus)
{
	const struct function_code code = code_of(s, s->chooser);
	struct code_addresses found = {0};
	int rc = code.n ? code_addresses_find(&code, &found) : 0;

	for (size_t i = 0; i < found.vaddrs.n && !rc; i++) {
		struct func_cursor cursor = {0};
		const struct func *f = functab_find(&s->tab, found.vaddrs.v[i], &cursor);

		if (f && f->start == found.vaddrs.v[i])
			rc = add_choice(s, f, plus);
	}
	vec_done(&found.vaddrs);
	return rc;
}

/* The functions that a name which is chosen at the start of a program (STT_GNU_IFUNC) may stand
 * for. */
static int add_choices(struct search *s, uint64_t plus)
{
	const size_t before = s->ret->places.n;

	for (size_t i = 0; i < s->tab.funcs.n; i++)
		if (is_glibc_choice(s->chooser->name, s->tab.funcs.v[i].name) &&
		    add_choice(s, &s->tab.funcs.v[i], plus))
			return -1;
	if (s->ret->places.n == before && add_returned(s, plus))
		return -1;
	/* An older version of the function alone is not what programs call. */
	if (s->ret->places.n == before)
		s->ret->places.n = 0;
	s->ret->is_chosen = s->ret->places.n;
	s->ret->may_be_vdso = is_vdso_function(s->chooser->name);
	return 0;
}

static bool is_found(const struct search *s)
{
	return s->ret->places.n || s->endless.n || s->chooser;
}

static int add_meant(struct search *s, uint64_t plus)
{
	int rc = add_matching(s, plus);

	if (!rc && !is_found(s) && s->pattern.normal_len) {
		s->pattern.is_lax = true;
		s->ret->n_left_out = 0;
		rc = add_matching(s, plus);
		s->ret->by_last_part = is_found(s);
	}
	if (!rc && !is_found(s) && !s->pattern.is_wild) {
		s->pattern.last_part = s->ret->by_last_part = true;
		s->ret->n_left_out = 0;
		rc = add_matching(s, plus);
		s->pattern.last_part = false;
	}
	return rc;
}

static int by_place_name(const void *a, const void *b)
{
	const struct probe_place *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static const char *symbol_at(const struct search *s, uint64_t off)
{
	for (size_t i = 0; i < s->symbols.n; i++)
		if (s->symbols.v[i].off == off)
			return s->symbols.v[i].name;
	return NULL;
}

/* Rust's instances of a function read the same: what was listed names one of them. */
static int tell_apart(struct search *s)
{
	VEC(struct probe_place *) sorted = {0};
	struct probe_places *ret = s->ret;
	int rc = 0;

	for (size_t i = 0; i < ret->places.n && !rc; i++)
		rc = vec_push(&sorted, &ret->places.v[i]);
	if (sorted.n && !rc)
		qsort(sorted.v, sorted.n, sizeof *sorted.v, by_place_name);
	for (size_t i = 0, end; i < sorted.n && !rc; i = end) {
		for (end = i + 1;
		     end < sorted.n && !strcmp(sorted.v[i]->name, sorted.v[end]->name);)
			end++;
		for (size_t k = i; end - i > 1 && k < end; k++) {
			const char *name = symbol_at(s, sorted.v[k]->off);

			if (name)
				sorted.v[k]->name = arena_strndup(&ret->names, name, strlen(name));
			rc |= !sorted.v[k]->name;
		}
	}
	vec_done(&sorted);
	return rc ? -1 : 0;
}

/* Where a name was given, its inlined copies are meant, too: as perf probe has it. */
static int find_inlined(struct search *s, const struct probe_spec *spec, struct err *err)
{
	const bool is_taken = spec->kind == PROBE_ENTRY && !spec->plus;
	const bool was_found = is_found(s);
	int rc;

	if (was_found && (s->pattern.is_wild || spec->kind == PROBE_LEAVE || spec->plus))
		return 0;
	s->pattern.last_part = was_found && s->ret->by_last_part;
	rc = inlined_find(s->mod, &s->pattern, is_taken, s->ret, s->inlined_at, err);
	if (was_found || rc || s->pattern.is_wild)
		return rc;
	s->ret->by_last_part = s->pattern.last_part = !s->ret->n_inlined;
	if (!s->ret->n_inlined)
		rc = inlined_find(s->mod, &s->pattern, is_taken, s->ret, s->inlined_at, err);
	s->pattern.last_part = false;
	return rc;
}

static int find_functions(struct search *s, const struct probe_spec *spec, struct err *err)
{
	struct go_table go;
	int rc;

	s->kind = spec->kind;
	s->ret->is_go = go_table_open(&go, s->mod->image);
	pattern_init(&s->pattern, spec->what, spec->what_len);
	rc = functions_read(s->mod, &s->tab);
	if (!rc && s->pattern.may_be_literal) {
		pattern_take_literally(&s->pattern, true);
		rc = add_meant(s, spec->plus);
		if (!rc && !is_found(s))
			pattern_take_literally(&s->pattern, false);
	}
	if (!rc && !is_found(s))
		rc = add_meant(s, spec->plus);
	/* Also beside another function of the name, as of an older version. */
	if (!rc && s->chooser && !s->pattern.is_wild)
		rc = add_choices(s, spec->plus);
	count_endless(s);
	rc = rc ? err_nomem(err) : find_inlined(s, spec, err);
	places_finish(s->ret);
	if (!rc && !spec->plus && tell_apart(s))
		rc = err_nomem(err);
	if (!rc && !s->ret->places.n && !s->ret->n_endless)
		rc = search_not_found(s, spec, err);
	pattern_done(&s->pattern);
	functab_done(&s->tab);
	vec_done(&s->endless);
	vec_done(&s->leaving_halves);
	vec_done(&s->symbols);
	return rc;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static bool is_code(struct elf_image *img, uint64_t vaddr)
{
	const struct elf_segment *s;
	size_t n = elf_image_segments(img, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].flags & PF_X && vaddr >= s[i].vaddr && vaddr - s[i].vaddr < s[i].filesz)
			return true;
	return false;
}

/* Is an address within an instruction of the function that its symbol, else its call frame
 * information, says? */
static bool is_within_insn(const struct search *s, const struct func *symbol, uint64_t vaddr)
{
	struct func f = symbol ? *symbol : (struct func){0};
	struct cfi_index ix = {0};
	struct function_code code;
	struct cfi_fde fde;

	if (!symbol) {
		cfi_index_open_eh(&ix, s->mod->image);
		if (cfi_index_find(&ix, vaddr, &fde) == 1) {
			f.start = fde.start;
			f.end = fde.end;
		}
		cfi_index_done(&ix);
	}
	if (vaddr <= f.start || vaddr >= f.end)
		return false;
	code = code_of(s, &f);
	return code.n && code_place_at(&code, vaddr - f.start) == CODE_PLACE_INSIDE;
}

static int find_address(struct search *s, uint64_t vaddr, struct err *err)
{
	struct func_cursor cursor = {0};
	const struct func *at;
	struct go_table go;
	char name[32];
	uint64_t off;
	bool is_within;
	int rc;

	s->ret->is_go = go_table_open(&go, s->mod->image);

	snprintf(name, sizeof name, "0x%llx", (unsigned long long)vaddr);
	if (!is_code(s->mod->image, vaddr) || !elf_image_vaddr_to_off(s->mod->image, vaddr, &off))
		return err_set(err, ERR_NOT_FOUND, s->ret->path, "%s is no address of its code",
			       name);
	rc = functions_read(s->mod, &s->tab);
	at = rc ? NULL : functab_find(&s->tab, vaddr, &cursor);
	s->ret->is_start = at && at->start == vaddr && !match_is_part(at->name);
	is_within = !rc && is_within_insn(s, at, vaddr);
	functab_done(&s->tab);
	if (rc)
		return err_nomem(err);
	if (is_within)
		return err_set(err, ERR_NOT_FOUND, s->ret->path,
			       "%s: no instruction begins there, and a probe within one would end "
			       "the program; `objdump -d` shows where they begin",
			       name);
	return places_add(s->ret, off, 0, name) ? err_nomem(err) : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int find_in_module(struct search *s, const struct probe_spec *spec, struct err *err)
{
	if (spec->kind == PROBE_USDT)
		return usdt_find(s->mod->image, spec, s->ret, err);
	if (spec->line)
		return lines_find(s->mod, spec, s->ret, err);
	if (spec->has_address)
		return find_address(s, spec->plus, err);
	return find_functions(s, spec, err);
}

int probe_find(const struct probe_spec *spec, pid_t pid, struct probe_places *ret, struct err *err)
{
	struct search s = {.ret = ret};
	struct probe_file f;
	int rc;

	memset(ret, 0, sizeof *ret);
	rc = locate_file(spec->file, spec->file_len, pid, ret->path, err);
	if (!rc)
		rc = probe_file_open(&f, ret->path, err);
	if (rc)
		return rc;
	s.mod = f.mod;
	rc = find_in_module(&s, spec, err);
	places_finish(ret);
	places_drop_vector(ret, f.mod->image);
	if (!rc && !ret->places.n && ret->n_vector)
		rc = err_set(
			err, ERR_UNSUPPORTED, ret->path,
			"no probe can be there: it begins with a vector instruction (AVX, BMI) "
			"or a far call, which the kernel executes wrongly below a probe; "
			"FUNCTION+OFFSET of a "
			"later one can be probed");
	probe_file_close(&f);
	return rc;
}
