/* values.c - goes through the frames of samples. */
#include "values/values.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"
#include "values/frame_view.h"

/* Operations of expressions for one sample: real ones take some dozens for a frame. */
enum { STEPS_MIN = 1 << 14, STEPS_PER_FRAME = 256 };

int values_new(struct values **ret, struct modules *modules, const struct unwinder *u,
	       const struct values_options *opt, struct err *err)
{
	struct values *v = calloc(1, sizeof *v);

	if (!v)
		return err_nomem(err);
	v->modules = modules;
	v->unwinder = u;
	v->opt = opt;
	*ret = v;
	return 0;
}

static void free_module(struct known_module *k)
{
	dwarf_params_free(k->params);
	if (k->symbols)
		functab_done(k->symbols);
	free(k->symbols);
}

void values_free(struct values *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->known.n; i++)
		free_module(&v->known.v[i]);
	for (size_t i = 0; i < UNWIND_BATCH; i++) {
		text_done(&v->texts[i]);
		text_done(&v->labels[i]);
	}
	vec_done(&v->known);
	vec_done(&v->views);
	hash_done(&v->by_dso);
	free(v);
}

/* ---- frames --------------------------------------------------------------------------------- */

static void find_constants(struct known_module *k)
{
	struct elf_image *img = k->mod->image;
	struct elf_section s;

	k->is_part = img && elf_image_section(img, MODULE_PART_SECTION, &s, NULL);
	if (!k->is_part || !elf_image_section(img, MODULE_CONSTANTS_SECTION, &s, NULL) || !s.data)
		return;
	k->constants = s.data;
	k->n_constants = (size_t)s.size / (2 * sizeof(uint64_t));
}

static const struct known_module *known_module(struct values *v, const struct dso *dso)
{
	struct known_module k = {.dso = dso};
	uint32_t at = hash_get(&v->by_dso, (uintptr_t)dso);
	struct module *mod;

	if (at != HASH_NONE)
		return &v->known.v[at];
	mod = modules_get(v->modules, dso);
	if (!mod || !module_debug(v->modules, mod)) {
		v->failed = true;
		return NULL;
	}
	k.mod = mod;
	find_constants(&k);
	if (dwarf_params_open(&k.params, mod, NULL) || vec_push(&v->known, k)) {
		dwarf_params_free(k.params);
		v->failed = true;
		return NULL;
	}
	at = (uint32_t)v->known.n - 1;
	v->failed |= hash_put(&v->by_dso, (uintptr_t)dso, at) != 0;
	return &v->known.v[at];
}

static void open_view(struct values *v, struct frame_view *f)
{
	const struct known_module *k;
	const uint64_t ip = frame_lookup_ip(f->frame);

	if (!f->frame->map || f->frame->is_kernel || f->frame->map->dso->kind != DSO_FILE)
		return;
	k = known_module(v, f->frame->map->dso);
	if (!k || !k->mod->image || !module_ip_to_vaddr(k->mod, f->frame->map, ip, &f->vaddr))
		return;
	f->bias = ip - f->vaddr;
	f->image = k->mod->image;
	f->machine = elf_image_machine(k->mod->image);
	f->params = k->params;
	f->is_part = k->is_part;
	f->constants = k->constants;
	f->n_constants = k->n_constants;
	if (k->params)
		v->failed |= dwarf_params_at(k->params, f->vaddr, &f->site) != 0;
}

static void open_views(struct values *v, const struct stack_trace *t)
{
	uint64_t sp, fp;

	v->views.n = 0;
	if (vec_reserve(&v->views, t->n + 1)) {
		v->failed = true;
		return;
	}
	for (size_t i = t->n_kernel; i < t->n; i++) {
		const size_t k = i - t->n_kernel;
		struct frame_view *f = &v->views.v[v->views.n++];

		*f = (struct frame_view){.frame = &t->frames[i]};
		f->regs = k < t->n_registers ? &t->registers[k] : NULL;
		open_view(v, f);
	}
	for (size_t i = 0; i + 1 < v->views.n; i++) {
		struct frame_view *f = &v->views.v[i];

		if (!f[1].frame->is_return_address || !f[1].regs ||
		    !view_special_registers(f, &sp, &fp) || !(f[1].regs->known >> sp & 1))
			continue;
		f->cfa = f[1].regs->v[sp];
		f->has_cfa = true;
	}
}

bool view_special_registers(const struct frame_view *f, uint64_t *sp, uint64_t *fp)
{
	const bool x86_64 = f->machine == EM_X86_64;

	*sp = x86_64 ? 7 : 31;
	*fp = x86_64 ? 6 : 29;
	return x86_64 || f->machine == EM_AARCH64;
}

/* Registers that a called function may overwrite (psABI AMD64 3.2.1, AAPCS64 6.1.1). */
static bool is_overwritten_by_calls(uint16_t machine, uint64_t reg)
{
	const uint64_t x86_64 = 0xf37, aarch64 = 0x7ffff; /* bits by DWARF number */

	return reg >= 32 || ((machine == EM_X86_64 ? x86_64 : aarch64) >> reg & 1);
}

bool view_register(const struct frame_view *f, uint64_t reg, bool is_kept, uint64_t *ret)
{
	if (!f->regs || reg >= UNWIND_REGISTERS_MAX || !(f->regs->known >> reg & 1) ||
	    (f->machine != EM_X86_64 && f->machine != EM_AARCH64))
		return false;
	if (f->frame->is_return_address && !is_kept && is_overwritten_by_calls(f->machine, reg))
		return false;
	*ret = f->regs->v[reg];
	return true;
}

bool view_is_at_entry(const struct frame_view *f)
{
	return !f->frame->is_return_address && f->site && f->vaddr == f->site->entry;
}

/* Is it none of the holes of a file? */
static bool is_there(const struct frame_view *f, uint64_t vaddr, size_t n)
{
	size_t lo = 0, hi = f->n_constants;
	uint64_t at[2];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		memcpy(at, f->constants + mid * sizeof at, sizeof at);
		if (at[0] <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return !f->is_part;
	/* The one that begins last before it: those that overlap end together, at the NUL. */
	memcpy(at, f->constants + (lo - 1) * sizeof at, sizeof at);
	return vaddr - at[0] < at[1] && n <= at[1] - (vaddr - at[0]);
}

/* Constants of a binary: no writable segment has them, so they are as in the file. */
static bool constant(const struct values *v, uint64_t addr, void *to, size_t n)
{
	const struct elf_segment *segments;

	for (size_t i = 0; i < v->views.n; i++) {
		const struct frame_view *f = &v->views.v[i];
		const uint64_t vaddr = addr - f->bias;

		if (!f->image || (i && f[-1].image == f->image))
			continue;
		for (size_t k = elf_image_segments(f->image, &segments); k-- > 0;) {
			const struct elf_segment *s = &segments[k];
			const uint8_t *bytes;
			size_t left;

			if (vaddr < s->vaddr || vaddr - s->vaddr >= s->filesz || s->flags & PF_W)
				continue;
			bytes = elf_image_at_vaddr(f->image, vaddr, &left);
			if (!bytes || left < n || !is_there(f, vaddr, n))
				continue;
			memcpy(to, bytes, n);
			return true;
		}
	}
	return false;
}

bool view_memory(struct values *v, uint64_t addr, void *to, size_t n)
{
	const uint8_t *bytes = unwind_memory(v->unwinder, v->sample, addr, (unsigned)n);

	if (!bytes)
		return constant(v, addr, to, n);
	memcpy(to, bytes, n);
	return true;
}

/* ---- what is told --------------------------------------------------------------------------- */

static bool is_any_known(const struct value_bytes *b)
{
	return b->n && memchr(b->known, true, b->n);
}

/* Results that are not there yet are no parameters. */
static void add_params(struct values *v, struct text *t, size_t view, size_t level)
{
	const struct dwarf_params_of *params = &v->views.v[view].site->levels[level];
	const size_t start = t->n;
	struct value_bytes b;
	bool is_entry;

	for (size_t i = 0; i < params->n; i++) {
		const char *name = params->v[i].name ? params->v[i].name : "";

		param_value(v, view, level, i, &b, &is_entry);
		if (params->v[i].is_result && !is_any_known(&b))
			continue;
		text_str(t, t->n > start ? ", " : "");
		text_clean(t, name, strlen(name));
		text_str(t, is_entry ? "@entry=" : "=");
		value_print(v, t, params->v[i].type, &b, false);
	}
}

/* Which of its parameters are texts, where only their addresses are known. */
static void add_text_names(struct text *t, const struct dwarf_site *site)
{
	const struct dwarf_params_of *own = site && site->n ? &site->levels[site->n - 1] : NULL;

	if (!own)
		return;
	text_str(t, "\v ");
	for (size_t i = 0; i < own->n; i++) {
		const struct dwarf_type *type = own->v[i].type;

		if (!own->v[i].name || !type || type->kind != DWARF_TYPE_POINTER || !type->to_text)
			continue;
		text_clean(t, own->v[i].name, strlen(own->v[i].name));
		text_char(t, ' ');
	}
}

static void add_all(struct values *v, struct text *t, const struct stack_trace *trace)
{
	const bool params = v->opt->all || v->opt->innermost;
	const size_t n = v->opt->all && !v->opt->shallow ? v->views.n : v->views.n > 0;

	for (size_t i = 0; i < trace->n_kernel; i++)
		text_char(t, '\n');
	for (size_t i = 0; i < n; i++) {
		const struct dwarf_site *site = v->views.v[i].site;

		for (size_t level = 0; params && site && level < site->n; level++) {
			text_str(t, level ? "\t" : "");
			add_params(v, t, i, level);
		}
		if ((v->opt->results || v->opt->innermost) && !i) {
			result_add(v, t, &v->views.v[i]);
			add_text_names(t, site);
		}
		text_char(t, '\n');
	}
}

struct found {
	const struct dwarf_type *type;
	struct value_bytes b;
};

/* Is all of it known that is compared or shown? */
static bool is_known(const struct dwarf_type *t, const struct value_bytes *b)
{
	return t->kind != DWARF_TYPE_OTHER && t->bytes && b->n == t->bytes &&
	       value_is_known(b, 0, b->n);
}

/* The innermost parameter of this name whose value is known. *is_there: there is one of the name.
 */
static bool find_named(struct values *v, const char *name, size_t n, struct found *ret,
		       bool *is_there)
{
	bool is_entry;

	*is_there = false;
	for (size_t i = 0; i < v->views.n; i++) {
		const struct dwarf_site *site = v->views.v[i].site;

		for (size_t level = 0; site && level < site->n; level++)
			for (size_t k = 0; k < site->levels[level].n; k++) {
				const struct dwarf_param *p = &site->levels[level].v[k];

				if (!p->name || strncmp(p->name, name, n) || p->name[n])
					continue;
				*is_there = true;
				if (!p->type)
					continue;
				param_value(v, i, level, k, &ret->b, &is_entry);
				ret->type = p->type;
				if (is_known(ret->type, &ret->b))
					return true;
			}
	}
	return false;
}

enum truth { IS_FALSE, IS_TRUE, IS_UNKNOWN };

static bool order_holds(enum value_test test, int order)
{
	switch (test) {
	case VALUE_EQUAL:
		return !order;
	case VALUE_DIFFERENT:
		return order;
	case VALUE_LESS:
		return order < 0;
	case VALUE_LESS_OR_EQUAL:
		return order <= 0;
	case VALUE_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}

static bool float_of(const struct found *f, double *ret)
{
	float single;

	if (f->type->kind != DWARF_TYPE_FLOAT || !value_is_known(&f->b, 0, (size_t)f->type->bytes))
		return false;
	if (f->type->bytes == sizeof *ret)
		memcpy(ret, f->b.v, sizeof *ret);
	else if (f->type->bytes == sizeof single)
		memcpy(&single, f->b.v, sizeof single);
	else
		return false;
	*ret = f->type->bytes == sizeof single ? (double)single : *ret;
	return true;
}

static enum truth number_holds(const struct value_condition *c, const struct found *f)
{
	const double limit = c->is_negative ? (double)(int64_t)c->number : (double)c->number;
	bool negative;
	uint64_t n;
	double d;

	if (float_of(f, &d)) /* what is not a number differs from all numbers */
		return d != d ? c->test == VALUE_DIFFERENT
			      : order_holds(c->test, (d > limit) - (d < limit));
	if (!value_integer(f->type, &f->b, &n))
		return IS_UNKNOWN;
	negative = f->type->is_signed && n >> 63;
	if (negative != c->is_negative)
		return order_holds(c->test, negative ? -1 : 1);
	return order_holds(c->test, negative ? ((int64_t)n > (int64_t)c->number) -
						       ((int64_t)n < (int64_t)c->number)
					     : (n > c->number) - (n < c->number));
}

/* A text is compared with what a pointer to characters points to, a letter with a character, else
 * how a value is spelled (the name of an enumerator, "true"). */
static enum truth text_holds(struct values *v, const struct value_condition *c,
			     const struct found *f)
{
	struct text spelled = {0};
	char s[VALUE_BYTES_MAX];
	uint64_t word;
	size_t n;
	bool cut, equal;

	if (f->type->kind == DWARF_TYPE_POINTER && f->type->to_text) {
		if (!value_integer(f->type, &f->b, &word) ||
		    !value_text(v, word, s, sizeof s, &n, &cut))
			return IS_UNKNOWN;
		equal = n == c->text_len && !cut && !memcmp(s, c->text, n);
		if (cut && c->text_len > n && !memcmp(s, c->text, n))
			return IS_UNKNOWN;
		return equal == (c->test == VALUE_EQUAL);
	}
	if (f->type->kind == DWARF_TYPE_CHARACTER && value_integer(f->type, &f->b, &word)) {
		equal = c->text_len == 1 && (uint8_t)word == (uint8_t)*c->text;
		return equal == (c->test == VALUE_EQUAL);
	}
	if (f->type->kind == DWARF_TYPE_STRUCT)
		return IS_UNKNOWN;
	value_print(v, &spelled, f->type, &f->b, true);
	equal = spelled.n == c->text_len && !memcmp(spelled.s, c->text, spelled.n);
	v->failed |= spelled.failed;
	text_done(&spelled);
	return equal == (c->test == VALUE_EQUAL);
}

/* Sets what the conditions say about a sample. */
static void decide(struct values *v, struct stack_trace *t)
{
	bool is_there, is_unknown = false, is_false = false;
	enum truth truth;
	struct found f;

	t->names_seen = 0;
	for (size_t i = 0; i < v->opt->where.n; i++) {
		const struct value_condition *c = &v->opt->where.v[i];

		truth = find_named(v, c->name, c->name_len, &f, &is_there) ? IS_TRUE
			: is_there					   ? IS_UNKNOWN
									   : IS_FALSE;
		if (truth == IS_TRUE)
			truth = c->is_number ? number_holds(c, &f) : text_holds(v, c, &f);
		t->names_seen |= (uint32_t)is_there << i;
		is_unknown |= truth == IS_UNKNOWN;
		is_false |= truth == IS_FALSE;
	}
	t->is_left_out = is_unknown || is_false;
	t->is_undecided = is_unknown && !is_false;
}

/* As profile_label_add() writes it: the key, 't' and the text, each with a NUL behind it. */
static void add_label(struct values *v, struct text *t)
{
	struct found f;
	const char *name = v->opt->by;
	bool is_there;

	if (!find_named(v, name, strlen(name), &f, &is_there))
		return;
	text_str(t, "arg:");
	text_add(t, name, strlen(name) + 1);
	text_char(t, 't');
	value_print(v, t, f.type, &f.b, true);
	text_char(t, 0);
}

int values_find(struct values *v, const struct perf_sample *const *samples,
		struct stack_trace *traces, size_t n, struct err *err)
{
	for (size_t i = 0; i < n && !v->failed; i++) {
		struct text *t = &v->texts[i], *label = &v->labels[i];

		t->n = label->n = 0;
		v->sample = samples[i];
		v->steps = STEPS_MIN + STEPS_PER_FRAME * traces[i].n;
		v->depth = 0;
		open_views(v, &traces[i]);
		decide(v, &traces[i]);
		if (v->opt->by && !traces[i].is_left_out)
			add_label(v, label);
		if ((v->opt->all || v->opt->innermost || v->opt->results) && !traces[i].is_left_out)
			add_all(v, t, &traces[i]);
		v->failed |= t->failed || label->failed;
		traces[i].values = t->n ? t->s : NULL;
		traces[i].values_len = (uint32_t)t->n;
		traces[i].labels = label->n ? label->s : NULL;
		traces[i].labels_len = (uint32_t)label->n;
	}
	return v->failed ? err_nomem(err) : 0;
}
