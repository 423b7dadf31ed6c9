/* annotate.c - --annotate FUNC: instructions of a function with their shares of its samples, the
 * source between them, as perf annotate --stdio prints it. */
#include "base/source_text.h"
#include "base/strtab.h"
#include "base/sum.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "report/disassemble.h"
#include "report/function_name.h"
#include "report/machine_code.h"
#include "report/report.h"
#include "symbolize/symbolize.h"

enum { SOURCE_SHOWN = 160, SHARE_HOT = 5, CANDIDATES_BYTES = 300 };

/* A function of that name, and what was sampled in it. */
struct target {
	uint32_t location; /* one of them */
	uint64_t weight, count;
};

struct annotation {
	const struct loaded *l;
	const struct profile *p;
	const struct annotate_options *opt;
	bool *has_event;
	uint32_t event;
	VEC(struct target) targets;
	struct machine_code code;
	uint64_t *weights; /* by byte of the code */
	VEC(struct insn_text) insns;
	bool *is_target;	   /* by byte: a jump of the function leads here */
	struct sym_query *queries; /* by instruction, then what it calls */
	struct sym_result *results;
	struct source_text source;
	uint32_t file, line, function; /* shown last: string ids of the symbolizer */
	struct text text, name;
	enum name_typed least; /* of a name; what is less is another one */
};

/* ---- which functions ------------------------------------------------------------------------- */

static bool is_named(struct annotation *a, const char *name)
{
	return name_typed(&a->name, name, a->opt->function) >= a->least;
}

static const struct profile_location *leaf_of(const struct annotation *a, size_t sample)
{
	const struct profile_sample *s = &a->p->samples.v[sample];

	return s->node && a->has_event[s->event]
		       ? &a->p->locations.v[a->p->nodes.v[s->node].location]
		       : NULL;
}

static const char *symbol_of(const struct annotation *a, const struct profile_location *l)
{
	return strtab_get(&a->p->strings, l->symbol);
}

static uint64_t weight_of(const struct annotation *a, const struct profile_sample *s)
{
	return a->opt->count_samples || !s->period ? s->count : s->period;
}

static bool is_same(const struct annotation *a, const struct profile_location *x,
		    const struct profile_location *y)
{
	const struct profile_mapping *m = a->p->mappings.v;

	return x->symbol == y->symbol && m[x->mapping].dso == m[y->mapping].dso &&
	       x->off - x->symbol_offset == y->off - y->symbol_offset && x->made_ns == y->made_ns;
}

static int add_sample(struct annotation *a, size_t sample)
{
	const struct profile_sample *s = &a->p->samples.v[sample];
	const struct profile_location *leaf = leaf_of(a, sample);
	struct target new = {.location = (uint32_t)(leaf - a->p->locations.v)};
	size_t i;

	for (i = 0; i < a->targets.n; i++)
		if (is_same(a, &a->p->locations.v[a->targets.v[i].location], leaf))
			break;
	if (i == a->targets.n && vec_push(&a->targets, new))
		return -1;
	a->targets.v[i].weight = add_saturated(a->targets.v[i].weight, weight_of(a, s));
	a->targets.v[i].count = add_saturated(a->targets.v[i].count, s->count);
	return 0;
}

static int compare_targets(const void *pa, const void *pb)
{
	const struct target *a = pa, *b = pb;

	return (a->weight < b->weight) - (a->weight > b->weight);
}

/* Functions of whose names this much was typed. */
static int find_targets(struct annotation *a, enum name_typed how)
{
	/* By string id: 1 + enum name_typed. */
	uint8_t *known = calloc(strtab_count(&a->p->strings) + 1, 1);

	if (!known)
		return -1;
	for (size_t i = 0; i < a->p->samples.n; i++) {
		const struct profile_location *leaf = leaf_of(a, i);

		if (!leaf || !leaf->symbol)
			continue;
		if (!known[leaf->symbol])
			known[leaf->symbol] = (uint8_t)(1 + name_typed(&a->name, symbol_of(a, leaf),
								       a->opt->function));
		if (known[leaf->symbol] == 1 + how && add_sample(a, i)) {
			free(known);
			return -1;
		}
	}
	free(known);
	if (a->targets.n)
		qsort(a->targets.v, a->targets.n, sizeof *a->targets.v, compare_targets);
	return 0;
}

/* The function that one of that name was inlined into; 0: none. */
static uint32_t inlined_into(struct annotation *a)
{
	const struct profile *p = a->p;

	for (size_t i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];

		for (uint32_t k = 0; l->symbol && k + 1 < l->n_lines; k++) {
			const uint32_t function = p->lines.v[l->first_line + k].function;

			if (is_named(a, strtab_get(&p->strings, p->functions.v[function].name)))
				return l->symbol;
		}
	}
	return 0;
}

/* Does any stack go through it? */
static bool is_in_stacks(struct annotation *a)
{
	for (size_t i = 0; i < a->p->locations.n; i++) {
		const uint32_t symbol = a->p->locations.v[i].symbol;

		if (symbol && is_named(a, strtab_get(&a->p->strings, symbol)))
			return true;
	}
	return false;
}

static int no_function(struct annotation *a, struct err *err)
{
	const uint32_t into = inlined_into(a);

	if (into)
		return err_set(err, ERR_NOT_FOUND, NULL,
			       "--annotate: %s is inlined: --annotate '%s' shows its code",
			       a->opt->function, strtab_get(&a->p->strings, into));
	if (is_in_stacks(a))
		return err_set(err, ERR_NOT_FOUND, NULL,
			       "--annotate: no sample is in %s itself: all are in what it calls",
			       a->opt->function);
	return err_set(err, ERR_NOT_FOUND, NULL,
		       "--annotate: no sample is in a function %s; `resolve -f top --no-children` "
		       "lists those that have some",
		       a->opt->function);
}

static const char *name_of(const struct annotation *a, size_t target)
{
	return symbol_of(a, &a->p->locations.v[a->targets.v[target].location]);
}

/* The last part of a name may be that of several functions, which do not differ in arguments only.
 */
static int check_is_one(struct annotation *a, struct err *err)
{
	struct strtab names = {0};
	struct text list = {0};
	size_t n = 0;

	for (size_t i = 0; i < a->targets.n; i++) {
		a->name.n = 0;
		fold_function(&a->name, name_of(a, i), strlen(name_of(a, i)));
		strtab_add(&names, a->name.n ? a->name.s : "", a->name.n);
		if (strtab_count(&names) == n + 1) /* counting "" */
			continue;
		if (list.n < CANDIDATES_BYTES)
			text_str(&list, n ? ", '" : "'");
		if (list.n < CANDIDATES_BYTES) {
			text_add(&list, a->name.s, a->name.n);
			text_char(&list, '\'');
		}
		n++;
	}
	if (n > 1)
		err_set(err, ERR_NOT_FOUND, NULL, "--annotate: %s may be one of %zu: %.*s",
			a->opt->function, n, (int)list.n, list.n ? list.s : "");
	text_done(&list);
	strtab_done(&names);
	return n > 1 ? -ERR_NOT_FOUND : 0;
}

/* What was typed may be a part of the name, if it is the name of none. */
static int choose(struct annotation *a, struct err *err)
{
	int rc = find_targets(a, NAME_TYPED);

	a->least = NAME_PART_TYPED;
	if (!rc && !a->targets.n)
		rc = find_targets(a, NAME_PART_TYPED);
	if (rc || a->targets.n)
		return rc ? err_nomem(err) : 0;
	if (inlined_into(a) || is_in_stacks(a))
		return no_function(a, err);
	a->least = NAME_LAST_TYPED;
	if (find_targets(a, NAME_LAST_TYPED))
		return err_nomem(err);
	return a->targets.n ? check_is_one(a, err) : no_function(a, err);
}

/* ---- one function --------------------------------------------------------------------------- */

static int add_insn(void *arg, const struct insn_text *insn)
{
	struct annotation *a = arg;

	if (insn->kind == INSN_JUMP && insn->has_target && insn->target >= a->code.start &&
	    insn->target - a->code.start < a->code.n)
		a->is_target[insn->target - a->code.start] = true;
	return vec_push(&a->insns, *insn) ? -ERR_NOMEM : 0;
}

/* Names and lines of all instructions, and of what they jump to. */
static int ask(struct annotation *a, struct err *err)
{
	const size_t n = a->insns.n;

	a->queries = calloc(2 * n + 1, sizeof *a->queries);
	a->results = calloc(2 * n + 1, sizeof *a->results);
	if (!a->queries || !a->results)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct insn_text *insn = &a->insns.v[i];

		a->queries[i] = machine_code_query(&a->code, insn->vaddr);
		if (insn->has_target)
			a->queries[n + i] = machine_code_query(&a->code, insn->target);
	}
	return symbolizer_run(a->l->symbolizer, a->queries, 2 * n, a->results, err);
}

static void add_weights(struct annotation *a, const struct profile_location *target)
{
	for (size_t i = 0; i < a->p->samples.n; i++) {
		const struct profile_location *leaf = leaf_of(a, i);
		uint64_t *w;

		if (!leaf || !is_same(a, leaf, target) || leaf->symbol_offset >= a->code.n)
			continue;
		w = &a->weights[leaf->symbol_offset];
		*w = add_saturated(*w, weight_of(a, &a->p->samples.v[i]));
	}
}

static void release(struct annotation *a)
{
	free(a->weights);
	free(a->is_target);
	free(a->queries);
	free(a->results);
	vec_done(&a->insns);
	a->weights = NULL;
	a->is_target = NULL;
	a->queries = NULL;
	a->results = NULL;
}

/* ---- text ----------------------------------------------------------------------------------- */

static const char *symbolizer_string(const struct annotation *a, uint32_t id)
{
	return strtab_get(symbolizer_strings(a->l->symbolizer), id);
}

static void add_margin(struct annotation *a)
{
	text_str(&a->text, "         :      ");
}

/* The function, and the line with its text, where they differ from the last ones. */
static void add_line(struct annotation *a, const struct sym_result *r)
{
	const struct sym_line *line = r->n_lines ? &r->lines[0] : NULL;
	const char *file, *s;
	size_t n;

	if (!line)
		return;
	if (line->name && line->name != a->function) {
		add_margin(a);
		text_str(&a->text, symbolizer_string(a, line->name));
		text_str(&a->text, ":\n");
		a->function = line->name;
	}
	if (!line->file || !line->line || (line->file == a->file && line->line == a->line))
		return;
	a->file = line->file;
	a->line = line->line;
	file = symbolizer_string(a, line->file);
	add_margin(a);
	text_clean(&a->text, a->opt->full_paths ? file : base_name(file),
		   strlen(a->opt->full_paths ? file : base_name(file)));
	text_char(&a->text, ':');
	text_dec(&a->text, line->line, 0);
	s = source_line(&a->source, file, line->line, &n);
	if (s) {
		text_str(&a->text, "    ");
		text_clean(&a->text, s, n < SOURCE_SHOWN ? n : SOURCE_SHOWN);
	}
	text_char(&a->text, '\n');
}

/* "1160 <leaf+0x10>" */
static void add_target(struct annotation *a, const struct insn_text *insn,
		       const struct sym_result *r)
{
	text_hex(&a->text, insn->target, 0);
	if (!r->symbol)
		return;
	text_str(&a->text, " <");
	text_str(&a->text, symbolizer_string(a, r->symbol));
	if (r->offset) {
		text_str(&a->text, "+0x");
		text_hex(&a->text, r->offset, 0);
	}
	text_char(&a->text, '>');
}

static void add_share(struct annotation *a, uint64_t weight, uint64_t whole)
{
	const double share = whole ? 100.0 * (double)weight / (double)whole : 0;
	const char *colour = !a->opt->colours || share < 0.5 ? ""
			     : share >= SHARE_HOT	     ? "\033[31m"
							     : "\033[32m";
	char buf[64];

	snprintf(buf, sizeof buf, "%s%8.2f%s :", colour, share, *colour ? "\033[m" : "");
	text_str(&a->text, buf);
}

static void add_code(struct annotation *a, size_t i, uint64_t whole)
{
	const struct insn_text *insn = &a->insns.v[i];
	const uint64_t at = insn->vaddr - a->code.start;
	uint64_t weight = 0;

	for (uint64_t k = at; k < at + insn->size && k < a->code.n; k++)
		weight = add_saturated(weight, a->weights[k]);
	add_share(a, weight, whole);
	text_str(&a->text, a->is_target[at] ? " > " : "   ");
	text_hex(&a->text, insn->vaddr, 0);
	text_str(&a->text, ":  ");
	text_str(&a->text, insn->mnemonic);
	if (*insn->operands) {
		text_pad(&a->text, strlen(insn->mnemonic), 6);
		text_char(&a->text, ' ');
		if (!insn->has_target || !strchr("0#", insn->operands[0]))
			text_str(&a->text, insn->operands);
		if (insn->has_target && !strchr("0#", insn->operands[0]))
			text_str(&a->text, "  // ");
		if (insn->has_target)
			add_target(a, insn, &a->results[a->insns.n + i]);
	}
	text_char(&a->text, '\n');
}

static void add_head(struct annotation *a, const struct target *t)
{
	const struct profile_location *l = &a->p->locations.v[t->location];
	const char *path = strtab_get(&a->p->strings, a->p->mappings.v[l->mapping].path);
	const size_t begin = a->text.n;
	size_t n;

	text_str(&a->text, " Percent |\tSource code & Disassembly of ");
	text_clean(&a->text, base_name(path), strlen(base_name(path)));
	text_str(&a->text, " for ");
	text_string(&a->text, a->p, a->p->events.v[a->event].name);
	text_str(&a->text, " (");
	text_dec(&a->text, t->count, 0);
	text_str(&a->text, a->opt->count_samples ? " samples, percent: local hits)\n"
						 : " samples, percent: local period)\n");
	n = a->text.n - begin;
	while (n--)
		text_char(&a->text, '-');
	text_str(&a->text, "\n         :\n");
	add_margin(a);
	text_hex_digits(&a->text, a->code.start, 16);
	text_str(&a->text, " <");
	text_string(&a->text, a->p, l->symbol);
	text_str(&a->text, ">:\n");
}

static int annotate(struct annotation *a, const struct target *t, FILE *out, struct err *err)
{
	const struct profile_location *l = &a->p->locations.v[t->location];
	int rc = machine_code_find(a->l, l, &a->code, err);

	if (rc)
		return rc;
	a->weights = calloc(a->code.n + 1, sizeof *a->weights);
	a->is_target = calloc(a->code.n + 1, sizeof *a->is_target);
	if (!a->weights || !a->is_target)
		return err_nomem(err);
	add_weights(a, l);
	rc = disassemble(a->code.e_machine, a->code.is_64, a->code.bytes, a->code.n, a->code.start,
			 add_insn, a, err);
	if (rc)
		return rc == -ERR_NOMEM ? err_nomem(err) : rc;
	rc = ask(a, err);
	if (rc)
		return rc;
	a->file = a->line = a->function = 0;
	add_head(a, t);
	for (size_t i = 0; i < a->insns.n; i++) {
		add_line(a, &a->results[i]);
		add_code(a, i, t->weight);
		if (a->text.n > 1 << 16)
			text_flush(&a->text, out);
	}
	text_flush(&a->text, out);
	return a->text.failed || a->source.failed ? err_nomem(err) : 0;
}

int report_annotate(const struct loaded *l, const struct annotate_options *opt, FILE *out,
		    struct err *err)
{
	struct annotation a = {.l = l, .p = l->profile, .opt = opt};
	struct event_set events;
	int rc = event_set_make(&events, l->profile, opt->event, err);

	a.source = (struct source_text){.root = opt->source_root, .dir = opt->source_dir};
	if (!rc) {
		event_set_reduce(&events, l->profile);
		a.event = events.ids[0];
		a.has_event = events.has;
		rc = choose(&a, err);
	}
	/* Parts of a function that a compiler has split have its name, too. */
	for (size_t i = 0; !rc && i < a.targets.n; i++) {
		if (i)
			fputc('\n', out);
		rc = annotate(&a, &a.targets.v[i], out, err);
		release(&a);
	}
	event_set_done(&events);
	source_text_done(&a.source);
	vec_done(&a.targets);
	text_done(&a.text);
	text_done(&a.name);
	return rc;
}
