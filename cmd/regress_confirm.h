/* regress_confirm.h - the functions that an earlier comparison flagged, from its JSON report. */
#ifndef CMD_REGRESS_CONFIRM_H
#define CMD_REGRESS_CONFIRM_H

#include "base/err.h"
#include "base/vec.h"
#include "cmd/regress_run.h"
#include "regress/regress.h"

struct flagged {
	enum finding_kind kind;
	char *key; /* owned */
};

/* A run that the earlier comparison has seen. */
struct seen_run {
	char *file, *host, *began; /* owned; NULL: not known */
	double samples, weight;
};

struct earlier {
	VEC(struct flagged) flagged; /* REGRESSED and so on, and suspects */
	VEC(struct seen_run) seen;
	/* argv with a NULL behind it; none if it was not `regress run` */
	path_list commands[SIDE_N];
	unsigned runs, frequency, count, warmup; /* 0: as before */
	char *prepare, *event;			 /* owned; NULL */
	bool ignore_status;
};

/* Fills a zeroed *e from a report of `regress --json`. The caller releases it in all cases. Returns
 * 0 or negative. */
int earlier_read(struct earlier *e, const char *path, struct err *err);
/* The same from a comparison in this process, without the commands. */
int earlier_take(struct earlier *e, const struct regress *g, struct err *err);
/* Restricts what g judges to these functions. Returns 0 or negative. */
int earlier_restrict(const struct earlier *e, struct regress *g, struct err *err);
/* Fails if a run of g is one that flagged them: it would confirm itself. Returns 0 or negative. */
int earlier_check_fresh(const struct earlier *e, const struct regress *g, struct err *err);
void earlier_done(struct earlier *e);

/* Returns the whole text of a file, which the caller frees; NULL with *err. */
char *regress_read_text(const char *path, struct err *err);

#endif
