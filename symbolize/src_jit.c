/* src_jit.c - code without a file: the process's perf-PID.map. */
#include <stdlib.h>

#include "symbolize/perfmap.h"
#include "symbolize/slurp.h"
#include "symbolize/source.h"

enum { PERFMAP_MAX_BYTES = 512 << 20 };

struct jit_state {
	struct functab map;
	char *text; /* names of map point into it */
};

static int open_map(struct source *s, struct jit_state *j, struct err *err)
{
	const char *path = s->dso->path;
	size_t size;
	int rc = slurp(path, PERFMAP_MAX_BYTES, &j->text, &size, NULL, NULL);

	if (rc == -ERR_NOMEM)
		return err_nomem(err);
	if (rc || perfmap_parse(&j->map, j->text, size)) {
		s->miss = SYM_MISS_NO_JIT_MAP;
		return rc ? 0 : err_nomem(err);
	}
	return source_says(s, err, "%s", path);
}

static int jit_symbols(struct source *s, struct lookup *v, size_t n, struct err *err)
{
	struct func_cursor cursor = {0};
	struct jit_state *j = s->state;
	size_t i;
	int rc;

	if (!j) {
		s->state = j = calloc(1, sizeof *j);
		rc = j ? open_map(s, j, err) : err_nomem(err);
		if (rc)
			return rc;
	}
	for (i = 0; i < n; i++) {
		lookup_set(&v[i], s->env, &j->map, functab_find(&j->map, v[i].key, &cursor),
			   v[i].key);
		if (!v[i].symbol && s->miss != SYM_MISS_FOUND)
			v[i].miss = (uint8_t)s->miss;
	}
	return 0;
}

static void jit_done(struct source *s)
{
	struct jit_state *j = s->state;

	if (!j)
		return;
	functab_done(&j->map);
	free(j->text);
	free(j);
}

const struct source_ops jit_source_ops = {.by_ip = true, .symbols = jit_symbols, .done = jit_done};
