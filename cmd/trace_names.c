/* trace_names.c - the kernel's functions in the fields of tracepoints (%pS of their print formats).
 *
 * Fields are put into words while the recording is read, when nothing else has names yet: so by a
 * symbolizer of its own, which is made when there is the first such field. */
#include <stdlib.h>

#include "base/hash.h"
#include "cmd/pipeline.h"

struct function_at {
	uint64_t start;
	uint32_t name; /* 0: none */
};

struct trace_names {
	struct pipeline *p;
	struct symbolizer_options opt;
	struct symbolizer *symbolizer;
	struct hash_table by_ip;
	VEC(struct function_at) functions;
	bool failed;
};

static bool open_symbolizer(struct trace_names *t)
{
	struct err err = {0};

	if (t->symbolizer || t->failed)
		return !t->failed;
	t->opt.kallsyms_data = perf_file_kallsyms(t->p->file, &t->opt.kallsyms_size);
	t->failed = symbolizer_new(&t->symbolizer, t->p->modules, perf_file_info(t->p->file),
				   &t->opt, &err) != 0;
	return !t->failed;
}

static struct function_at look_up(struct trace_names *t, const struct map *m, uint64_t ip)
{
	struct sym_query q = {.dso = m->dso, .off = map_ip_to_off(m, ip), .ip = ip};
	struct sym_result r = {0};
	struct err err = {0};

	if (symbolizer_run(t->symbolizer, &q, 1, &r, &err) || !r.symbol)
		return (struct function_at){ip, 0};
	return (struct function_at){ip - r.offset, r.symbol};
}

static const char *name_function(void *arg, const struct address_space *kernel, uint64_t ip,
				 uint64_t *start)
{
	struct trace_names *t = arg;
	const struct map *m = address_space_find(kernel, ip);
	uint32_t i = hash_get(&t->by_ip, ip);

	if (!m || !open_symbolizer(t))
		return NULL;
	if (i == HASH_NONE) {
		i = (uint32_t)t->functions.n;
		if (vec_push(&t->functions, look_up(t, m, ip)) || hash_put(&t->by_ip, ip, i))
			return NULL;
	}
	*start = t->functions.v[i].start;
	return t->functions.v[i].name
		       ? strtab_get(symbolizer_strings(t->symbolizer), t->functions.v[i].name)
		       : NULL;
}

struct trace_names *trace_names_new(struct pipeline *p, const struct pipeline_options *opt)
{
	struct trace_names *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->p = p;
	t->opt = opt->symbolizer;
	t->opt.no_inline = true;
	t->opt.file = p->file;
	perf_file_name_functions(p->file, name_function, t);
	return t;
}

void trace_names_free(struct trace_names *t)
{
	if (!t)
		return;
	if (t->symbolizer)
		symbolizer_free(t->symbolizer);
	hash_done(&t->by_ip);
	vec_done(&t->functions);
	free(t);
}
