/* regress_load.c - reads the runs of both sides, and earlier runs of the base. */
#include "cmd/regress_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

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

int regress_read_run(struct regress_command *c, const char *path, struct loaded *in,
		     struct run_facts *facts, struct err *err)
{
	int rc = load_profile(&c->load, path, in, err);

	fetch_watch_sum(&c->watch);
	if (!rc)
		rc = loaded_detach(in, c->load.keep, err);
	*facts = (struct run_facts){.cpu = ""};
	if (rc)
		return rc;
	memcpy(facts->cpu, in->facts.cpu, sizeof facts->cpu);
	memcpy(facts->kernel, in->facts.kernel, sizeof facts->kernel);
	memcpy(facts->arch, in->facts.arch, sizeof facts->arch);
	memcpy(facts->host, in->facts.host, sizeof facts->host);
	facts->cpus = (unsigned)in->facts.cpus;
	facts->frequency = in->facts.frequency;
	facts->damaged = in->damaged;
	facts->lost = in->lost;
	facts->arguments = in->facts.arguments;
	facts->began_ns = in->facts.began_ns;
	facts->made_code = in->facts.made_code;
	facts->has_modules = in->facts.modules.n > 0;
	return 0;
}

static int load_run(struct regress_command *c, struct regress_bench *b, enum side side,
		    const char *path, struct err *err)
{
	struct regress *g = b->g;
	struct run_facts facts;
	struct loaded in;
	int rc = regress_read_run(c, path, &in, &facts, err);
	size_t i;

	if (!rc)
		rc = regress_add_run(g, side, path, in.profile, &facts, err);
	for (i = 0; !rc && i < in.facts.modules.n; i++)
		rc = regress_add_module(g, side, in.facts.modules.v[i].path,
					&in.facts.modules.v[i].id, err);
	if (!rc && b->page.both)
		rc = regress_page_add(&b->page, in.profile, side, c->opt.event, err);
	loaded_done(&in);
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
static int load_history(struct regress_command *c, struct regress *g, struct err *err)
{
	size_t n = c->past.paths[0].n, i = n > HISTORY_MAX ? n - HISTORY_MAX : 0;
	int rc = 0;

	for (; !rc && i < n; i++) {
		const char *path = c->past.paths[0].v[i];
		struct run_facts facts;
		struct loaded in;

		rc = regress_read_run(c, path, &in, &facts, err);
		if (!rc)
			rc = regress_add_history(g, session_of(c->history, path), path, in.profile,
						 &facts, err);
		loaded_done(&in);
	}
	return rc;
}

int regress_load(struct regress_command *c, struct regress_bench *b, struct err *err)
{
	int side, rc = 0;
	size_t i;

	/* Sums of doubles depend on their order; a report must not depend on the order of the
	 * arguments. */
	for (side = 0; side < SIDE_N; side++)
		paths_sort(&b->sides.paths[side], 0);
	for (side = 0; side < SIDE_N; side++)
		for (i = 0; !rc && i < b->sides.paths[side].n; i++)
			rc = load_run(c, b, side, b->sides.paths[side].v[i], err);
	return rc ? rc : load_history(c, b->g, err);
}
