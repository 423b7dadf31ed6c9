/* processes.c - the cgroups of processes, from a recording whose samples do not name them.
 *
 * Lines of BUNDLE_PROCESSES: "PID NSPID CGROUP EXE CMDLINE", separated by tabs; the time behind
 * PID@ says from when on it is that of another process. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "bundle/bundle.h"
#include "load/pipeline.h"

/* A process; the last of those that had its number. */
struct process_line {
	uint64_t from_ns;
	uint32_t cgroup; /* id of its path; HASH_NONE: not known */
	uint32_t before; /* with the same number; HASH_NONE: none */
};

struct processes {
	struct hash_table by_pid; /* -> index of lines */
	VEC(struct process_line) lines;
	struct strtab cgroups;
};

static int add_line(struct processes *p, unsigned long pid, struct process_line l)
{
	l.before = hash_get(&p->by_pid, pid);
	return p->lines.n >= HASH_NONE || vec_push(&p->lines, l) ||
			       hash_put(&p->by_pid, pid, (uint32_t)p->lines.n - 1)
		       ? -1
		       : 0;
}

static int take_line(struct processes *p, const char *line, size_t n)
{
	const char *end = line + n, *at = line, *tab;
	struct process_line l = {.cgroup = HASH_NONE};
	char *rest;
	unsigned long pid = strtoul(line, &rest, 10);
	int field;

	for (field = 0; field < 2; field++) {
		at = memchr(at, '\t', (size_t)(end - at));
		if (!at++)
			return 0;
	}
	tab = memchr(at, '\t', (size_t)(end - at));
	if (!tab || !pid || pid > INT32_MAX)
		return 0;
	if (*rest == '@')
		l.from_ns = strtoull(rest + 1, NULL, 10);
	if (tab > at)
		l.cgroup = strtab_add(&p->cgroups, at, (size_t)(tab - at));
	return (tab > at && l.cgroup == STRTAB_FAILED) || add_line(p, pid, l) ? -1 : 0;
}

int processes_new(struct processes **ret, const struct bundle *b)
{
	const struct bundle_entry *e = bundle_find_path(b, BUNDLE_PROCESSES, NULL);
	struct bundle_bytes bytes;
	struct processes *p;
	const char *line, *next, *end;
	int rc = 0;

	*ret = NULL;
	if (!e)
		return 0;
	p = calloc(1, sizeof *p);
	if (!p)
		return -ERR_NOMEM;
	rc = bundle_contents(e, &bytes, NULL);
	line = rc ? NULL : (const char *)bytes.v;
	end = rc ? NULL : line + bytes.n;
	for (; !rc && line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		rc = take_line(p, line, (size_t)(next - line)) ? -ERR_NOMEM : 0;
	}
	bundle_bytes_done(&bytes);
	if (rc == -ERR_NOMEM) {
		processes_free(p);
		return rc;
	}
	*ret = p; /* of a damaged entry: without any; load says that it is damaged */
	return 0;
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	hash_done(&p->by_pid);
	vec_done(&p->lines);
	strtab_done(&p->cgroups);
	free(p);
}

const char *processes_cgroup(const struct processes *p, uint32_t pid, uint64_t time_ns)
{
	uint32_t i = p ? hash_get(&p->by_pid, pid) : HASH_NONE;

	while (i != HASH_NONE && p->lines.v[i].from_ns > time_ns)
		i = p->lines.v[i].before;
	if (i == HASH_NONE || p->lines.v[i].cgroup == HASH_NONE)
		return NULL;
	return strtab_get(&p->cgroups, p->lines.v[i].cgroup);
}
