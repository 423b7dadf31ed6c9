/* regress_bench.h - what is compared: one pair of commands, or the benchmarks of a suite file. */
#ifndef CMD_REGRESS_BENCH_H
#define CMD_REGRESS_BENCH_H

#include "base/err.h"
#include "base/vec.h"
#include "cmd/regress_confirm.h"
#include "cmd/regress_html.h"
#include "cmd/sides.h"
#include "regress/regress.h"

struct regress_bench {
	char *name;		 /* owned; NULL: it is the only one and has none */
	char *shell[SIDE_N];	 /* owned: what sh -c runs; NULL: not by a shell */
	char *words[SIDE_N][4];	 /* argv of it */
	char **commands[SIDE_N]; /* argv; NULL: nothing is recorded */
	struct sides sides;	 /* the runs */
	struct earlier earlier;
	struct regress_recipe recipe;
	struct regress_page page;
	struct regress *g;
};

typedef VEC(struct regress_bench) bench_list;

/* Adds the benchmarks of a suite file, one a line: NAME: COMMAND. Empty lines and lines that begin
 * with # are passed over. Returns 0, or negative with *err, which names the line. */
int regress_suite_read(bench_list *all, const char *path, struct err *err);
void regress_benches_done(bench_list *all);

#endif
