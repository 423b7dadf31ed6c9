/* otlp_dictionary.c - the tables that all profiles of an OTLP file share. What is long is encoded
 * twice, once for its length, which stands before it: it need not be held. */
#include "base/strtab.h"
#include "base/vec.h"
#include "output/otlp.h"
#include "profile/profile.h"
#include "reader/reader.h"

/* Fields of ProfilesDictionary. */
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_ATTRIBUTES };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

uint32_t otlp_string(struct otlp *o, const char *s, size_t n)
{
	struct text clean = {0};
	uint32_t id;

	if (!n)
		return 0;
	text_clean(&clean, s, n);
	id = clean.failed ? STRTAB_FAILED : strtab_add(&o->strings, clean.s, clean.n);
	text_done(&clean);
	o->failed |= id == STRTAB_FAILED;
	return id == STRTAB_FAILED ? 0 : id;
}

static uint32_t our_string(struct otlp *o, uint32_t id)
{
	return otlp_string(o, strtab_get(&o->pp.p->strings, id), strtab_len(&o->pp.p->strings, id));
}

/* ---- stacks --------------------------------------------------------------------------------- */

static int fill_tree(struct otlp *o)
{
	const struct profile *p = o->pp.p;
	struct tree_symbols s = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i <= p->locations.n; i++)
		rc = vec_push(&s.first, (uint32_t)i);
	for (size_t i = 0; !rc && i < p->locations.n; i++)
		rc = vec_push(&s.ids, o->pp.locations.of[i]);
	for (size_t i = 0; !rc && i < p->samples.n; i++)
		rc = vec_push(&s.roots, TREE_NO_ROOT);
	if (!rc)
		rc = tree_fill(&o->tree, p, o->pp.events->has, &s, NULL);
	tree_symbols_done(&s);
	return rc;
}

/* The node of the tree for a stack of the profile. */
static uint32_t tree_node_of(const struct otlp *o, uint32_t node)
{
	return node ? o->tree.seen[node].node : 0;
}

/* Marks the nodes at which samples end. */
static void mark_stacks(struct otlp *o)
{
	const struct profile *p = o->pp.p;

	for (size_t i = 0; i < p->samples.n; i++)
		if (o->pp.events->has[p->samples.v[i].event])
			o->stack_of[tree_node_of(o, p->samples.v[i].node)] = 1;
	o->stack_of[0] = 0;
}

int otlp_number_stacks(struct otlp *o)
{
	struct tree_order order = {0};
	VEC(uint32_t) todo = {0};
	int rc = fill_tree(o);

	o->stack_of = rc ? NULL : calloc(o->tree.nodes.n, sizeof *o->stack_of);
	o->stacks = rc ? NULL : calloc(o->tree.nodes.n, sizeof *o->stacks);
	if (!o->stack_of || !o->stacks ||
	    tree_order_make(&order, &o->tree, NULL, o->pp.locations.n, NULL)) {
		tree_order_done(&order);
		return -1;
	}
	mark_stacks(o);
	o->n_stacks = 1;
	rc = vec_push(&todo, 0);
	while (!rc && todo.n) {
		const uint32_t node = todo.v[--todo.n];

		if (o->stack_of[node]) {
			o->stacks[o->n_stacks] = node;
			o->stack_of[node] = o->n_stacks++;
		}
		for (uint32_t i = order.first[node + 1]; !rc && i > order.first[node]; i--)
			rc = vec_push(&todo, order.ids[i - 1]);
	}
	vec_done(&todo);
	tree_order_done(&order);
	return rc;
}

/* ---- samples -------------------------------------------------------------------------------- */

static int compare_cells(const void *pa, const void *pb)
{
	const struct otlp_cell *a = pa, *b = pb;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->labels > b->labels) - (a->labels < b->labels);
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int otlp_cells(struct otlp *o, uint32_t event, struct otlp_cells *ret)
{
	const struct profile *p = o->pp.p;
	size_t n = 0;

	for (size_t i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		struct otlp_cell c = {
			.labels = o->pp.labels.of[i], .count = s->count, .period = s->period};

		if (s->event != event)
			continue;
		c.stack = o->stack_of[tree_node_of(o, s->node)];
		if (vec_push(ret, c))
			return -1;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof *ret->v, compare_cells);
	for (size_t i = 0; i < ret->n; i++) {
		if (n && !compare_cells(&ret->v[n - 1], &ret->v[i])) {
			ret->v[n - 1].count = sum_of(ret->v[n - 1].count, ret->v[i].count);
			ret->v[n - 1].period = sum_of(ret->v[n - 1].period, ret->v[i].period);
		} else {
			ret->v[n++] = ret->v[i];
		}
	}
	ret->n = n;
	return 0;
}

/* ---- entries -------------------------------------------------------------------------------- */

static void add_mapping(struct otlp *o, size_t rank)
{
	const struct profile_mapping *m = &o->pp.p->mappings.v[o->pp.mappings.ids[rank]];
	struct text id = {0};

	if (m->map.end) {
		pb_uint(&o->entry, MAPPING_START, m->map.start);
		pb_uint(&o->entry, MAPPING_LIMIT, m->map.end);
		pb_uint(&o->entry, MAPPING_OFFSET, m->map.pgoff);
	}
	pb_uint(&o->entry, MAPPING_FILE, our_string(o, m->name));
	if (!m->build_id.size)
		return;
	text_build_id(&id, &m->build_id);
	text_char(&id, '\0');
	if (!id.failed) {
		pb_varint(&o->part,
			  otlp_text_attribute(o, "process.executable.build_id.gnu", id.s));
		pb_message(&o->entry, MAPPING_ATTRIBUTES, &o->part);
	}
	o->failed |= id.failed;
	text_done(&id);
}

static const struct profile_line *lines_of(const struct otlp *o, const struct profile_location *l,
					   size_t *n)
{
	const struct profile_line *lines = profile_lines(o->pp.p, l, o->pp.opt->style.no_inline, n);

	/* Lines without a function's name are of no use. */
	if (*n && !o->pp.p->functions.v[lines[*n - 1].function].name)
		*n = 0;
	return lines;
}

static void add_location(struct otlp *o, size_t rank)
{
	const struct pprof *pp = &o->pp;
	const struct profile_location *l = &pp->p->locations.v[pp->locations.ids[rank]];
	const uint32_t mapping = pp->mappings.of[l->mapping];
	const enum dso_kind kind = pp->p->mappings.v[l->mapping].kind;
	size_t n;
	const struct profile_line *lines = lines_of(o, l, &n);

	pb_uint(&o->entry, LOCATION_MAPPING, mapping + 1ull);
	pb_uint(&o->entry, LOCATION_ADDRESS, pprof_address(l));
	for (size_t i = 0; i < n; i++) {
		pb_uint(&o->part, LINE_FUNCTION, pp->functions.of[lines[i].function] + 1ull);
		pb_uint(&o->part, LINE_LINE, lines[i].line);
		pb_message(&o->entry, LOCATION_LINES, &o->part);
	}
	if (!n) {
		pb_uint(&o->part, LINE_FUNCTION, o->nameless[mapping]);
		pb_message(&o->entry, LOCATION_LINES, &o->part);
	}
	/* Which runtime has made code without a file is not known. */
	if (l->is_kernel || kind == DSO_FILE || kind == DSO_VDSO) {
		pb_varint(&o->part, otlp_text_attribute(o, "profile.frame.type",
							l->is_kernel ? "kernel" : "native"));
		pb_message(&o->entry, LOCATION_ATTRIBUTES, &o->part);
	}
}

static void add_function(struct otlp *o, size_t rank)
{
	const struct profile_function *f = &o->pp.p->functions.v[o->pp.functions.ids[rank]];

	pb_uint(&o->entry, FUNCTION_NAME,
		f->name ? our_string(o, f->name) : otlp_string(o, "[unknown]", 9));
	pb_uint(&o->entry, FUNCTION_SYSTEM_NAME, our_string(o, f->system_name));
	pb_uint(&o->entry, FUNCTION_FILE, our_string(o, f->file));
	pb_uint(&o->entry, FUNCTION_LINE, f->start_line);
}

/* The function that stands for all code without a name in a mapping: "[libfoo.so]". */
static void add_nameless(struct otlp *o, size_t rank)
{
	const char *name = profile_mapping_short_name(o->pp.p, o->pp.mappings.ids[rank]);
	struct text t = {0};

	text_char(&t, '[');
	text_str(&t, name);
	text_char(&t, ']');
	if (!t.failed)
		pb_uint(&o->entry, FUNCTION_NAME, otlp_string(o, t.s, t.n));
	o->failed |= t.failed;
	text_done(&t);
}

static void add_stack(struct otlp *o, size_t i)
{
	const struct tree_node *nodes = o->tree.nodes.v;

	for (uint32_t node = o->stacks[i]; node; node = nodes[node].parent)
		pb_varint(&o->part, nodes[node].symbol + 1ull);
	pb_message(&o->entry, 1, &o->part);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Appends an entry of a table: the i-th. */
typedef void add_entry(struct otlp *o, size_t i);

/* Ends an entry. Returns its length with what stands before it. */
static uint64_t end_entry(struct otlp *o, unsigned field, FILE *out)
{
	uint64_t n;

	pb_message(&o->msg, field, &o->entry);
	o->failed |= o->msg.failed;
	n = o->msg.n;
	if (out)
		text_flush(&o->msg, out);
	o->msg.n = 0;
	return n;
}

static uint64_t add_table(struct otlp *o, unsigned field, size_t n, add_entry *add, FILE *out)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		add(o, i);
		bytes += end_entry(o, field, out);
	}
	return bytes;
}

static uint64_t add_nothing(struct otlp *o, unsigned field, FILE *out)
{
	return end_entry(o, field, out);
}

static uint64_t add_strings(struct otlp *o, unsigned field, const struct strtab *t, FILE *out)
{
	uint64_t bytes = 0;

	/* An empty table has entry 0, too. */
	if (strtab_count(t) == 0)
		return end_entry(o, field, out);
	for (uint32_t i = 0; i < strtab_count(t); i++) {
		text_add(&o->entry, strtab_get(t, i), strtab_len(t, i));
		bytes += end_entry(o, field, out);
	}
	return bytes;
}

/* Numbers the functions for code without names: after all others, in the order of the mappings. */
static void number_nameless(struct otlp *o)
{
	const struct pprof *pp = &o->pp;
	uint32_t id = (uint32_t)pp->functions.n;
	size_t n;

	o->nameless = calloc(pp->mappings.n + 1, sizeof *o->nameless);
	o->failed |= !o->nameless;
	for (size_t i = 0; o->nameless && i < pp->locations.n; i++) {
		const struct profile_location *l = &pp->p->locations.v[pp->locations.ids[i]];

		lines_of(o, l, &n);
		if (!n)
			o->nameless[pp->mappings.of[l->mapping]] = 1;
	}
	for (size_t i = 0; o->nameless && i < pp->mappings.n; i++)
		if (o->nameless[i])
			o->nameless[i] = ++id;
}

static uint64_t add_functions(struct otlp *o, FILE *out)
{
	uint64_t bytes = add_table(o, FUNCTIONS, o->pp.functions.n, add_function, out);

	for (size_t i = 0; i < o->pp.mappings.n; i++)
		if (o->nameless[i]) {
			add_nameless(o, i);
			bytes += end_entry(o, FUNCTIONS, out);
		}
	return bytes;
}

/* The first stack is the empty one. */
static uint64_t add_stacks(struct otlp *o, FILE *out)
{
	uint64_t bytes = add_nothing(o, STACKS, out);

	for (size_t i = 1; i < o->n_stacks; i++) {
		add_stack(o, i);
		bytes += end_entry(o, STACKS, out);
	}
	return bytes;
}

static uint64_t add_link(struct otlp *o, FILE *out)
{
	static const char zeros[16];

	/* Readers want ids of their length. */
	pb_bytes(&o->entry, 1, zeros, 16);
	pb_bytes(&o->entry, 2, zeros, 8);
	return end_entry(o, LINKS, out);
}

uint64_t otlp_dictionary(struct otlp *o, FILE *out)
{
	uint64_t n;

	if (!o->nameless)
		number_nameless(o);
	if (o->failed)
		return 0;
	n = add_nothing(o, MAPPINGS, out);
	n += add_table(o, MAPPINGS, o->pp.mappings.n, add_mapping, out);
	n += add_nothing(o, LOCATIONS, out);
	n += add_table(o, LOCATIONS, o->pp.locations.n, add_location, out);
	n += add_nothing(o, FUNCTIONS, out);
	n += add_functions(o, out);
	n += add_link(o, out);
	n += add_stacks(o, out);
	/* Last: now they are complete. */
	n += add_strings(o, ATTRIBUTES, &o->attributes, out);
	return n + add_strings(o, STRINGS, &o->strings, out);
}

void otlp_done(struct otlp *o)
{
	pprof_done(&o->pp);
	strtab_done(&o->strings);
	strtab_done(&o->attributes);
	text_done(&o->label_lists);
	free(o->first_label);
	tree_done(&o->tree);
	free(o->stack_of);
	free(o->stacks);
	free(o->nameless);
	text_done(&o->scope);
	text_done(&o->msg);
	text_done(&o->part);
	text_done(&o->sub);
	text_done(&o->value);
	text_done(&o->name);
	text_done(&o->entry);
}
