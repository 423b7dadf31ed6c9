/* processes.c - the cgroups of processes, from a recording whose samples do not name them.
 *
 * Lines of BUNDLE_PROCESSES: "PID NSPID CGROUP EXE CMDLINE", separated by tabs. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "bundle/bundle.h"
#include "load/pipeline.h"

struct processes {
	struct hash_table by_pid; /* -> id of its cgroup's path */
	struct strtab cgroups;
};

static int take_line(struct processes *p, const char *line, size_t n)
{
	const char *end = line + n, *at = line, *tab;
	unsigned long pid = strtoul(line, NULL, 10);
	uint32_t id;
	int field;

	for (field = 0; field < 2; field++) {
		at = memchr(at, '\t', (size_t)(end - at));
		if (!at++)
			return 0;
	}
	tab = memchr(at, '\t', (size_t)(end - at));
	if (!tab || tab == at || !pid || pid > INT32_MAX)
		return 0;
	id = strtab_add(&p->cgroups, at, (size_t)(tab - at));
	return id == STRTAB_FAILED || hash_put(&p->by_pid, pid, id) ? -1 : 0;
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
	strtab_done(&p->cgroups);
	free(p);
}

const char *processes_cgroup(const struct processes *p, uint32_t pid)
{
	uint32_t id = p ? hash_get(&p->by_pid, pid) : HASH_NONE;

	return id == HASH_NONE ? NULL : strtab_get(&p->cgroups, id);
}
