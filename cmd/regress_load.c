/* regress_load.c - reads the runs of both sides, and earlier runs of the base. */
#include "cmd/regress_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cmd/profiles.h"
#include "cmd/resolve_options.h"

int regress_find_history(struct regress_command *c, struct err *err)
{
	char *dir = (char *)(uintptr_t)c->history;
	size_t i;
	int rc;

	if (access(dir, F_OK)) {
		if (!c->quiet)
			fprintf(stderr, "regress: %s: no earlier runs yet\n", dir);
		return 0;
	}
	rc = sides_add(&c->sessions, 0, dir, err);
	for (i = 0; !rc && i < c->sessions.paths[0].n; i++)
		rc = sides_add(&c->past, 0, c->sessions.paths[0].v[i], err);
	return rc;
}

/* Returns the profile of a run, which the caller frees, and its facts. */
static int read_run(const char *path, struct resolve *r, struct profile **ret,
		    struct run_facts *facts, struct err *err)
{
	struct input_facts in;
	int rc = profiles_load_one(r, path, ret, &in, err);

	*facts = (struct run_facts){.cpu = ""};
	if (rc)
		return rc;
	memcpy(facts->cpu, in.cpu, sizeof facts->cpu);
	memcpy(facts->kernel, in.kernel, sizeof facts->kernel);
	memcpy(facts->arch, in.arch, sizeof facts->arch);
	memcpy(facts->host, in.host, sizeof facts->host);
	facts->cpus = (unsigned)in.cpus;
	facts->frequency = in.frequency;
	facts->damaged = in.damaged;
	facts->lost = in.lost;
	facts->arguments = in.arguments;
	return 0;
}

static int load_run(struct regress_command *c, struct regress *g, enum side side, const char *path,
		    struct resolve *r, struct err *err)
{
	struct run_facts facts;
	struct profile *p = NULL;
	int rc = read_run(path, r, &p, &facts, err);

	if (!rc)
		rc = regress_add_run(g, side, path, p, &facts, err);
	if (!rc && c->page.both)
		rc = regress_page_add(&c->page, p, side, c->opt.event, err);
	profile_free(p);
	return rc;
}

/* Each folder is a session; files in DIR itself are one session more. */
static unsigned session_of(const char *history, const char *path)
{
	const char *rest = path + strlen(history), *slash;

	rest += strspn(rest, "/");
	slash = strchr(rest, '/');
	return slash ? (unsigned)hash_bytes(rest, (size_t)(slash - rest)) | 1 : 0;
}

/* Reads the last runs by name, up to the limit. */
static int load_history(const struct regress_command *c, struct regress *g, struct resolve *r,
			struct err *err)
{
	size_t n = c->past.paths[0].n, i = n > HISTORY_MAX ? n - HISTORY_MAX : 0;
	int rc = 0;

	for (; !rc && i < n; i++) {
		struct run_facts facts;
		struct profile *p = NULL;

		rc = read_run(c->past.paths[0].v[i], r, &p, &facts, err);
		if (!rc)
			rc = regress_add_history(g, session_of(c->history, c->past.paths[0].v[i]),
						 c->past.paths[0].v[i], p, &facts, err);
		profile_free(p);
	}
	return rc;
}

int regress_load(struct regress_command *c, struct regress *g, struct err *err)
{
	char name[] = "regress", quiet[] = "-q", *argv[] = {name, quiet, NULL};
	struct resolve r = {0};
	int side, rc = resolve_options(&r, 2, argv, err);
	size_t i;

	r.pipeline.symbolizer.foreign_jit_maps = c->opt.force;
	/* Sums of doubles depend on their order; a report must not depend on the order of the
	 * arguments. */
	for (side = 0; side < SIDE_N; side++)
		paths_sort(&c->sides.paths[side], 0);
	for (side = 0; side < SIDE_N; side++)
		for (i = 0; !rc && i < c->sides.paths[side].n; i++)
			rc = load_run(c, g, side, c->sides.paths[side].v[i], &r, err);
	if (!rc)
		rc = load_history(c, g, &r, err);
	resolve_options_done(&r);
	return rc;
}
