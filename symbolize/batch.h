/* batch.h - the state of one symbolizer_run(). Private to symbolize/. */
#ifndef SYMBOLIZE_BATCH_H
#define SYMBOLIZE_BATCH_H

#include "base/arena.h"
#include "base/strtab.h"
#include "demangle/demangle.h"
#include "symbolize/symbol_source.h"

/* What is kept from batch to batch. */
struct symbolizer {
	struct source_env env;
	struct jit_codes *own_jit; /* NULL: the caller's are used */
	struct lines_cache lines_cache;
	char *cache_dir;
	VEC(struct symbol_source *) sources; /* by dso id; NULL for a dso without queries */
	struct strtab strings;
	struct arena lines; /* struct sym_line of all answers */
	struct symbolize_stats stats;
	struct name_style style;
	unsigned n_threads;
};

int batch_run(struct symbolizer *s, const struct sym_query *queries, size_t n,
	      struct sym_result *results, struct err *err);

#endif
