/* jitcodes.c - the jitdump files of a recording, each read once, whoever asks first. */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "symbolize/jitdump.h"
#include "symbolize/symbolize.h"

struct jit_codes {
	char *symfs; /* "": none */
	pthread_mutex_t lock;
	VEC(struct jitdump *) dumps; /* NULL: cannot be read, or names nothing */
	struct hash_table by_dso;    /* dso id -> dumps */
	struct hash_table users;     /* pid << 32 | dso id -> 0 */
};

int jit_codes_new(struct jit_codes **ret, const char *symfs, struct err *err)
{
	struct jit_codes *j = calloc(1, sizeof *j);

	if (!j)
		return err_nomem(err);
	pthread_mutex_init(&j->lock, NULL);
	j->symfs = strdup(symfs ? symfs : "");
	if (!j->symfs) {
		jit_codes_free(j);
		return err_nomem(err);
	}
	*ret = j;
	return 0;
}

void jit_codes_free(struct jit_codes *j)
{
	size_t i;

	if (!j)
		return;
	for (i = 0; i < j->dumps.n; i++) {
		if (j->dumps.v[i])
			jitdump_done(j->dumps.v[i]);
		free(j->dumps.v[i]);
	}
	vec_done(&j->dumps);
	hash_done(&j->by_dso);
	hash_done(&j->users);
	pthread_mutex_destroy(&j->lock);
	free(j->symfs);
	free(j);
}

/* At its path, else as a process in a container that still runs sees it. */
static int read_somewhere(const struct jit_codes *j, const struct dso *dso, uint32_t pid,
			  struct jitdump *d)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s%s", j->symfs, dso->path), rc = -ERR_NOT_FOUND;

	if (n > 0 && n < (int)sizeof path)
		rc = jitdump_read(d, path, NULL);
	if (rc != -ERR_NOT_FOUND || *j->symfs)
		return rc;
	n = snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%s", pid, dso->path);
	return n > 0 && n < (int)sizeof path ? jitdump_read(d, path, NULL) : rc;
}

static int read_dump(struct jit_codes *j, const struct dso *dso, uint32_t pid, uint32_t *ret)
{
	struct jitdump *d = calloc(1, sizeof *d);
	int rc = d && !vec_reserve(&j->dumps, j->dumps.n + 1) ? read_somewhere(j, dso, pid, d)
							      : -ERR_NOMEM;

	*ret = (uint32_t)j->dumps.n;
	if (d && (rc || !d->tab.funcs.n)) {
		jitdump_done(d);
		free(d);
		d = NULL;
	}
	if (rc == -ERR_NOMEM || hash_put(&j->by_dso, dso->id, *ret)) {
		if (d)
			jitdump_done(d);
		free(d);
		return -ERR_NOMEM;
	}
	j->dumps.v[j->dumps.n++] = d;
	return 0;
}

int jit_codes_open(struct jit_codes *j, const struct dso *dump, uint32_t pid,
		   const struct jitdump **ret, struct err *err)
{
	uint32_t i;
	int rc = 0;

	pthread_mutex_lock(&j->lock);
	i = hash_get(&j->by_dso, dump->id);
	if (i == HASH_NONE)
		rc = read_dump(j, dump, pid, &i);
	if (!rc && hash_put(&j->users, (uint64_t)pid << 32 | dump->id, 0))
		rc = -ERR_NOMEM;
	*ret = rc ? NULL : j->dumps.v[i];
	pthread_mutex_unlock(&j->lock);
	return rc ? err_nomem(err) : 0;
}

bool jit_codes_used_by(struct jit_codes *j, const struct dso *dump, uint32_t pid)
{
	bool used;

	pthread_mutex_lock(&j->lock);
	used = hash_get(&j->users, (uint64_t)pid << 32 | dump->id) != HASH_NONE;
	pthread_mutex_unlock(&j->lock);
	return used;
}
