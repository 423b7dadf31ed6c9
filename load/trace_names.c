/* trace_names.c - names of kernel functions in the fields of tracepoints (%pS of their print
 * formats).
 *
 * Fields are printed while the recording is still read, when nothing else has names yet. So there
 * is a symbolizer for them, made at the first such field. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "load/pipeline.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"

/* An address that was looked up. Later there may be other code, of another dso: BPF programs,
 * modules, a guest's kernel. */
struct function_at {
	const struct dso *dso;
	uint64_t ip, start;
	uint32_t name; /* 0: none */
};

struct trace_names {
	struct loaded *p;
	struct symbolizer_options opt;
	struct symbolizer *symbolizer;
	struct hash_index by_place; /* of functions */
	uint64_t seed;
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
	struct function_at f = {.dso = m->dso, .ip = ip, .start = ip};
	struct sym_query q = {.dso = m->dso, .off = map_ip_to_off(m, ip), .ip = ip};
	struct sym_result r = {0};
	struct err err = {0};

	if (!symbolizer_run(t->symbolizer, &q, 1, &r, &err) && r.symbol) {
		f.start = ip - r.offset;
		f.name = r.symbol;
	}
	return f;
}

/* NULL when out of memory. */
static const struct function_at *find(struct trace_names *t, const struct map *m, uint64_t ip)
{
	const uint32_t hash = (uint32_t)hash_mix(hash_mix(t->seed, (uintptr_t)m->dso), ip);
	struct hash_probe probe = hash_index_probe(&t->by_place, hash);
	uint32_t i;

	while ((i = hash_index_next(&t->by_place, &probe)) != HASH_NONE)
		if (t->functions.v[i].ip == ip && t->functions.v[i].dso == m->dso)
			return &t->functions.v[i];
	i = (uint32_t)t->functions.n;
	if (vec_push(&t->functions, look_up(t, m, ip)) || hash_index_put(&t->by_place, hash, i))
		return NULL;
	return &t->functions.v[i];
}

static const char *name_function(void *arg, const struct address_space *kernel, uint64_t ip,
				 uint64_t *start)
{
	struct trace_names *t = arg;
	const struct map *m = address_space_find(kernel, ip);
	const struct function_at *f = m && open_symbolizer(t) ? find(t, m, ip) : NULL;

	if (!f || !f->name)
		return NULL;
	*start = f->start;
	return strtab_get(symbolizer_strings(t->symbolizer), f->name);
}

struct trace_names *trace_names_new(struct loaded *p, const struct load_options *opt)
{
	struct trace_names *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->p = p;
	t->seed = hash_secret();
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
	hash_index_done(&t->by_place);
	vec_done(&t->functions);
	free(t);
}
