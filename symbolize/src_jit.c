/* src_jit.c - the source for code without a file: the process's jitdump files and its perf-PID.map.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rooted.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "symbolize/perfmap.h"
#include "symbolize/read_file.h"
#include "symbolize/symbol_source.h"

enum {
	PERFMAP_MAX_BYTES = 512 << 20,
	STATUS_MAX_BYTES = 64 << 10,
	DUMPS_MAX = 64,
	LEVELS_MAX = 256
};

struct jit_state {
	VEC(const struct jitdump *) dumps;
	struct functab map;
	char *text; /* names of map point into it */
};

/* The path of the perf map of a process in a container that still runs: in the container's /tmp,
 * under the PID that the process has there (the last one in the NSpid line of /proc/PID/status).
 * Empty if there is none. */
static void path_in_container(uint32_t pid, char *path, size_t size)
{
	char *status, *line, *end, *inner = NULL, name[64];
	size_t n;

	*path = 0;
	snprintf(name, sizeof name, "/proc/%" PRIu32 "/status", pid);
	if (read_file(name, STATUS_MAX_BYTES, &status, &n, NULL, NULL))
		return;
	line = strstr(status, "\nNSpid:");
	end = line ? strchr(line + 1, '\n') : NULL;
	if (end) {
		*end = 0;
		inner = strrchr(line, '\t');
	}
	if (inner)
		snprintf(path, size, "/proc/%" PRIu32 "/root/tmp/perf-%lu.map", pid,
			 strtoul(inner, NULL, 10));
	free(status);
}

/* Opens a file that this user or root owns. Any user can put a file into /tmp under the name of
 * another user's process, so, as perf does (dso__load(), tools/perf/util/symbol.c), only files of
 * this user and of root are trusted, and of links those that they made. The owner is that of the
 * opened descriptor, so exchanging the file has no effect. A link must be checked by its name: in a
 * sticky folder such as /tmp no other user can remove it if this user or root owns it. Returns
 * -ERR_PERMISSION, or 0 with *ret, which is -1 if there is no file. */
static int open_trusted(const char *root, const char *path, int *ret)
{
	int fd = rooted_open(root, path, false), e = errno;
	struct stat st;
	bool known = !(fd < 0 ? rooted_stat(root, path, false, &st) : fstat(fd, &st));

	if (known && !rooted_is_trusted(&st)) {
		if (fd >= 0)
			close(fd);
		return -ERR_PERMISSION;
	}
	if (known && fd < 0 && e == ELOOP)
		fd = rooted_open(root, path, true);
	*ret = fd;
	return 0;
}

/* Any process of this number writes a map at its path, and leaves it there. What is below a root of
 * the user's is a copy, which can have any time. */
static bool is_stale(const struct symbol_source *s, int fd)
{
	const bool is_copy = *modules_symfs(s->env->modules);
	const uint64_t began =
		s->env->file && !is_copy ? perf_file_began_wall_ns(s->env->file, s->dso) : 0;
	struct stat st;

	return !fstat(fd, &st) && rooted_written_ns(&st) < began;
}

/* Says so, too, where other names than the map's are used. */
static int refuse_stale(struct symbol_source *s, struct err *err)
{
	if (s->used)
		return source_says(s, err, "not %s, last written before its process began",
				   s->dso->path);
	s->miss = SYM_MISS_STALE_JIT_MAP;
	return 0;
}

/* -ERR_UNSUPPORTED: it is stale. */
static int read_map(struct symbol_source *s, struct jit_state *j, const char *path, size_t *size)
{
	const char *symfs = modules_symfs(s->env->modules);
	int fd = -1, rc = 0;

	if (s->env->foreign_jit_maps)
		fd = rooted_open(symfs, path, true);
	else
		rc = open_trusted(symfs, path, &fd);
	if (rc) {
		s->miss = SYM_MISS_FOREIGN_JIT_MAP;
		return rc;
	}
	if (fd < 0)
		return -ERR_NOT_FOUND;
	if (!s->env->foreign_jit_maps && is_stale(s, fd)) {
		close(fd);
		return -ERR_UNSUPPORTED;
	}
	rc = read_file_fd(fd, path, PERFMAP_MAX_BYTES, &j->text, size, NULL, NULL);
	close(fd);
	return rc;
}

/* The map that the recording carries. Sets j->text. */
static int read_recorded(struct jit_state *j, const struct bundle_entry *e, size_t *size)
{
	struct bundle_bytes bytes;
	int rc = bundle_contents(e, &bytes, NULL);

	if (rc)
		return rc;
	*size = bytes.n;
	j->text = malloc(bytes.n + 1);
	if (j->text)
		memcpy(j->text, bytes.v, bytes.n + 1); /* a NUL follows */
	bundle_bytes_done(&bytes);
	return j->text ? 0 : -ERR_NOMEM;
}

static int open_map(struct symbol_source *s, struct jit_state *j, struct err *err)
{
	const struct bundle_entry *e = bundle_find_map(modules_bundle(s->env->modules), s->dso);
	const char *symfs = modules_symfs(s->env->modules);
	char path[PATH_MAX];
	size_t size;
	int rc;

	if (e && e->flags & BUNDLE_IS_STALE && !s->env->foreign_jit_maps)
		return refuse_stale(s, err);
	rc = e ? read_recorded(j, e, &size) : -ERR_NOT_FOUND;
	if (!rc) {
		if (perfmap_parse(&j->map, j->text, size))
			return err_nomem(err);
		return source_says(s, err, "%s from the recording", s->dso->path);
	}

	snprintf(path, sizeof path, "%s%s", symfs, s->dso->path);
	rc = read_map(s, j, path, &size);
	if (rc == -ERR_NOT_FOUND && !*symfs) {
		path_in_container(s->dso->pid, path, sizeof path);
		rc = read_map(s, j, path, &size);
	}
	if (rc == -ERR_UNSUPPORTED)
		return refuse_stale(s, err);
	if (rc)
		return rc == -ERR_NOMEM ? err_nomem(err) : 0;
	if (perfmap_parse(&j->map, j->text, size))
		return err_nomem(err);
	return source_says(s, err, "%s", path);
}

/* Is it a jitdump that the process had mapped? The name is no proof: any process can create a file
 * of that name, and in a container the PID in it is another one. */
static bool is_dump_of(const struct symbol_source *s, const struct dso *dump)
{
	uint32_t pid;

	return jitdump_pid(dump->path, &pid) && ((pid == s->dso->pid && dump->mapped_by == pid) ||
						 jit_codes_used_by(s->env->jit, dump, s->dso->pid));
}

/* What the recording itself holds of the process's code. */
static int open_recorded(struct symbol_source *s, struct jit_state *j, struct err *err)
{
	const struct jitdump *d;

	if (!s->env->jit)
		return 0;
	if (jit_codes_recorded(s->env->jit, s->dso->pid, &d, err))
		return -ERR_NOMEM;
	if (!d || !jitdump_has_functions(d))
		return 0;
	if (vec_push(&j->dumps, d))
		return err_nomem(err);
	return source_says(s, err, "code in the recording");
}

/* A JIT compiler maps its jitdump so that recorders see it: the recording has its path. */
static int open_dumps(struct symbol_source *s, struct jit_state *j, struct err *err)
{
	const struct perf_file *f = s->env->file;
	size_t i, n = f ? perf_file_dso_count(f) : 0;

	for (i = 0; i < n && j->dumps.n < DUMPS_MAX; i++) {
		const struct dso *dso = perf_file_dso(f, i);
		const struct jitdump *d;

		if (!is_dump_of(s, dso))
			continue;
		if (jit_codes_open(s->env->jit, dso, s->dso->pid, &d, err))
			return -ERR_NOMEM;
		if (!d && jit_codes_distrusts(s->env->jit, dso))
			s->miss = SYM_MISS_FOREIGN_JIT_MAP;
		if (!d)
			continue;
		if (vec_push(&j->dumps, d))
			return err_nomem(err);
		if (source_says(s, err, "%s", dso->path))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Of several files, uses the one with code made at exactly that time; else the first one with any
 * code there. */
static const struct func *find_in_dumps(const struct jit_state *j, const struct lookup *l,
					const struct jitdump **dump)
{
	const struct func *found = NULL;
	size_t i;

	for (i = 0; i < j->dumps.n; i++) {
		const struct jitdump *d = j->dumps.v[i];
		struct func_cursor cursor = {0};
		const struct func *f = jitdump_find(d, l->ip, l->time_ns, &cursor);
		bool exact = f && jitdump_made_ns(d, f) - l->time_ns <= 1; /* see jit_span */

		if (!f || (found && !exact))
			continue;
		found = f;
		*dump = d;
		if (exact)
			break;
	}
	return found;
}

static int jit_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	struct func_cursor cursor = {0};
	struct jit_state *j = s->state;
	size_t i;

	if (!j) {
		s->state = j = calloc(1, sizeof *j);
		if (!j)
			return err_nomem(err);
		if (open_dumps(s, j, err) || open_recorded(s, j, err) || open_map(s, j, err))
			return -ERR_NOMEM;
		if (s->used)
			s->miss = SYM_MISS_FOUND;
		else if (s->miss == SYM_MISS_FOUND)
			s->miss = SYM_MISS_NO_JIT_MAP;
	}
	for (i = 0; i < l->n; i++) {
		struct lookup *v = &l->v[i];
		const struct jitdump *d;
		const struct func *f = find_in_dumps(j, v, &d);

		if (!f || !*f->name) /* what is not known from some time on has no name */
			f = functab_find(&j->map, v->key, &cursor);
		lookup_set(v, s, NULL, f, v->key);
		if (!f && s->miss != SYM_MISS_FOUND)
			v->miss = (uint8_t)s->miss;
	}
	return 0;
}

static uint64_t jit_lines_cost(struct symbol_source *s)
{
	struct jit_state *j = s->state;
	uint64_t lines = 0;
	size_t i;

	for (i = 0; i < j->dumps.n; i++)
		lines += jitdump_line_count(j->dumps.v[i]);
	return lines;
}

static int jit_lines(struct symbol_source *s, struct lookups *l, unsigned n_threads,
		     struct err *err)
{
	struct jit_state *j = s->state;
	size_t i;

	(void)n_threads;
	for (i = 0; i < l->n; i++) {
		const struct jitdump *d;
		const struct func *f = find_in_dumps(j, &l->v[i], &d);
		struct jit_level levels[LEVELS_MAX];
		struct dwarf_frame frames[LEVELS_MAX] = {{0}};
		size_t n = f ? jitdump_chain(d, f, l->v[i].ip, levels, LEVELS_MAX) : 0, k;

		for (k = 0; k < n; k++)
			frames[k] = (struct dwarf_frame){.linkage_name = levels[k].name,
							 .file = levels[k].file,
							 .line = levels[k].line};
		if (f && !n && jitdump_line(d, f, l->v[i].ip, &frames[0].file, &frames[0].line))
			n = 1;
		if (n && lookups_add_chain(l, i, frames, n))
			return err_nomem(err);
	}
	return 0;
}

static void jit_done(struct symbol_source *s)
{
	struct jit_state *j = s->state;

	if (!j)
		return;
	vec_done(&j->dumps);
	functab_done(&j->map);
	free(j->text);
	free(j);
}

const struct source_ops jit_source_ops = {
	.by_ip = true,
	.symbols = jit_symbols,
	.lines_cost = jit_lines_cost,
	.lines = jit_lines,
	.done = jit_done,
};
