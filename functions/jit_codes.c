/* jit_codes.c - the jitdump files of a recording. Each is read when it is first needed. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/rooted.h"
#include "base/write_all.h"
#include "bundle/bundle.h"
#include "functions/jitdump.h"
#include "reader/reader.h"

struct dump {
	struct jitdump *codes; /* NULL: cannot be read, or has no functions */
	bool is_foreign;       /* owned by another user, and so not read */
};

struct jit_codes {
	char *symfs; /* "": none */
	bool trusts_all;
	const struct bundle *bundle; /* NULL: none */
	pthread_mutex_t lock;
	VEC(struct dump) dumps;
	VEC(struct jit_cut) cuts;
	struct hash_table by_dso; /* dso id -> index in dumps */
	struct hash_table users;  /* set of pid << 32 | dso id */
	struct jit_recorded recorded;
};

int jit_codes_new(struct jit_codes **ret, const char *symfs, bool trusts_all, struct err *err)
{
	struct jit_codes *j = calloc(1, sizeof *j);

	if (!j)
		return err_nomem(err);
	pthread_mutex_init(&j->lock, NULL);
	j->trusts_all = trusts_all;
	j->symfs = strdup(symfs ? symfs : "");
	if (!j->symfs) {
		jit_codes_free(j);
		return err_nomem(err);
	}
	*ret = j;
	return 0;
}

void jit_codes_use_bundle(struct jit_codes *j, const struct bundle *bundle)
{
	j->bundle = bundle;
}

void jit_codes_free(struct jit_codes *j)
{
	size_t i;

	if (!j)
		return;
	for (i = 0; i < j->dumps.n; i++) {
		if (j->dumps.v[i].codes)
			jitdump_done(j->dumps.v[i].codes);
		free(j->dumps.v[i].codes);
	}
	vec_done(&j->dumps);
	hash_done(&j->by_dso);
	vec_done(&j->cuts);
	hash_done(&j->users);
	jit_recorded_done(&j->recorded);
	pthread_mutex_destroy(&j->lock);
	free(j->symfs);
	free(j);
}

/* A file of another user is trusted only if it is the very file that the process had mapped. */
static bool is_trusted(const struct dso *dso, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (rooted_is_trusted(&st) ||
				   (dso->ino && st.st_ino == dso->ino &&
				    major(st.st_dev) == dso->maj && minor(st.st_dev) == dso->min));
}

static int read_at(const struct jit_codes *j, const struct dso *dso, const char *path,
		   struct dump *d)
{
	int fd = rooted_open(j->symfs, path, true), rc;
	struct err err;

	if (fd < 0)
		return rooted_error(&err, errno, path);
	d->is_foreign = !j->trusts_all && !is_trusted(dso, fd);
	rc = d->is_foreign ? -ERR_PERMISSION : jitdump_read_fd(d->codes, fd, path, NULL);
	close(fd);
	return rc;
}

/* Reads what the recording carries, as a file. */
static int read_recorded(const struct bundle_entry *e, struct dump *d)
{
	struct bundle_bytes bytes;
	int fd, rc = bundle_contents(e, &bytes, NULL);

	if (rc)
		return rc;
	fd = memfd_create("jitdump", MFD_CLOEXEC);
	rc = fd < 0 || write_all(fd, bytes.v, bytes.n)
		     ? -ERR_IO
		     : jitdump_read_fd(d->codes, fd, e->path, NULL);
	if (fd >= 0)
		close(fd);
	bundle_bytes_done(&bytes);
	return rc;
}

/* Reads the file at its path, or else as a process in a container that is still running sees it. */
static int read_somewhere(const struct jit_codes *j, const struct dso *dso, uint32_t pid,
			  struct dump *d)
{
	const struct bundle_entry *e = bundle_find_path(j->bundle, BUNDLE_FILE, dso->path);
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s%s", j->symfs, dso->path), rc = -ERR_NOT_FOUND;

	if (e)
		return read_recorded(e, d);

	if (n > 0 && n < (int)sizeof path)
		rc = read_at(j, dso, path, d);
	if ((rc != -ERR_NOT_FOUND && rc != -ERR_PERMISSION) || *j->symfs)
		return rc;
	n = snprintf(path, sizeof path, "/proc/%" PRIu32 "/root%s", pid, dso->path);
	return n > 0 && n < (int)sizeof path ? read_at(j, dso, path, d) : rc;
}

static int read_dump(struct jit_codes *j, const struct dso *dso, uint32_t pid, uint32_t *ret)
{
	struct jitdump *d = calloc(1, sizeof *d);
	struct dump dump = {.codes = d};
	int rc = d && !vec_reserve(&j->dumps, j->dumps.n + 1) ? read_somewhere(j, dso, pid, &dump)
							      : -ERR_NOMEM;

	*ret = (uint32_t)j->dumps.n;
	if (d && !rc && d->cut_off && vec_push(&j->cuts, (struct jit_cut){dso, d->cut_off}))
		rc = -ERR_NOMEM;
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
	dump.codes = d;
	j->dumps.v[j->dumps.n++] = dump;
	return 0;
}

size_t jit_codes_damaged(const struct jit_codes *j)
{
	return j->recorded.n_damaged;
}

size_t jit_codes_left_out(const struct jit_codes *j)
{
	return j->recorded.n_left_out;
}

bool jit_codes_cut(const struct jit_codes *j, size_t i, struct jit_cut *ret)
{
	if (i >= j->cuts.n)
		return false;
	*ret = j->cuts.v[i];
	return true;
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
	*ret = rc ? NULL : j->dumps.v[i].codes;
	pthread_mutex_unlock(&j->lock);
	return rc ? err_nomem(err) : 0;
}

bool jit_codes_distrusts(struct jit_codes *j, const struct dso *dump)
{
	bool foreign;
	uint32_t i;

	pthread_mutex_lock(&j->lock);
	i = hash_get(&j->by_dso, dump->id);
	foreign = i != HASH_NONE && j->dumps.v[i].is_foreign;
	pthread_mutex_unlock(&j->lock);
	return foreign;
}

bool jit_codes_used_by(struct jit_codes *j, const struct dso *dump, uint32_t pid)
{
	bool used;

	pthread_mutex_lock(&j->lock);
	used = hash_get(&j->users, (uint64_t)pid << 32 | dump->id) != HASH_NONE;
	pthread_mutex_unlock(&j->lock);
	return used;
}

int jit_codes_give(struct jit_codes *j, const uint8_t *data, size_t n, struct err *err)
{
	return jit_recorded_open(&j->recorded, data, n, err);
}

int jit_codes_recorded(struct jit_codes *j, uint32_t pid, const struct jitdump **ret,
		       struct err *err)
{
	int rc;

	pthread_mutex_lock(&j->lock);
	rc = jit_recorded_get(&j->recorded, pid, ret, err);
	pthread_mutex_unlock(&j->lock);
	return rc;
}

struct jit_names jit_codes_names(const struct jit_codes *j)
{
	struct jit_names sum = {0};

	for (size_t i = 0; i < j->recorded.dumps.n; i++) {
		const struct jitdump *d = j->recorded.dumps.v[i].dump;

		if (!d)
			continue;
		sum.named += d->names.named;
		sum.torn += d->names.torn;
		sum.changed += d->names.changed;
	}
	return sum;
}

static bool is_recorded(const struct jit_codes *j, uint32_t pid)
{
	return j->recorded.dumps.n && hash_get(&j->recorded.by_pid, pid) != HASH_NONE;
}

bool jit_codes_describe(const struct jit_codes *j, const struct perf_sample *s)
{
	return address_space_jitdump(s->space) || is_recorded(j, s->pid);
}

/* What the process itself has written is more exact than what was seen of it. */
int jit_cursor_seek(struct jit_cursor *c, const struct perf_sample *s, const struct jitdump **ret,
		    struct err *err)
{
	const struct dso *dso = c->codes ? address_space_jitdump(s->space) : NULL;
	int rc;

	*ret = NULL;
	if (!dso && (!c->codes || !is_recorded(c->codes, s->pid)))
		return 0;
	if (!c->is_known || dso != c->dso || s->pid != c->pid) {
		rc = dso ? jit_codes_open(c->codes, dso, s->pid, &c->dump, err)
			 : jit_codes_recorded(c->codes, s->pid, &c->dump, err);
		if (rc)
			return -ERR_NOMEM;
		c->is_known = true;
		c->dso = dso;
		c->pid = s->pid;
	}
	*ret = c->dump;
	return 0;
}

int jit_cursor_memory(struct jit_cursor *c, const struct perf_sample *s, const struct jitdump **ret,
		      struct err *err)
{
	*ret = NULL;
	if (!c->codes || !is_recorded(c->codes, s->pid))
		return 0;
	if (!c->memory_is_known || s->pid != c->memory_pid) {
		if (jit_codes_recorded(c->codes, s->pid, &c->memory, err))
			return -ERR_NOMEM;
		c->memory_is_known = true;
		c->memory_pid = s->pid;
	}
	*ret = c->memory;
	return 0;
}

/* Timestamps of jitdumps are of CLOCK_MONOTONIC, as those of `perf record -k mono`. */
uint64_t jit_sample_time(const struct perf_sample *s)
{
	const struct perf_attr *a = &s->event->attr;

	return a->flags & PERF_ATTR_USE_CLOCKID && a->clockid == CLOCK_MONOTONIC ? s->time_ns : 0;
}
