/* synth.c - records about processes that exist already. */
#include "capture/synth.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/attr.h"
#include "reader/format.h"
#include "capture/sysfile.h"

void record_begin(struct synth_record *r, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = {.type = type, .misc = misc};

	memcpy(r->bytes, &h, sizeof h);
	r->n = sizeof h;
}

static void record_put(struct synth_record *r, const void *p, size_t n)
{
	size_t room = sizeof r->bytes - ATTR_SAMPLE_ID_BYTES - 8 - r->n;

	if (n > room)
		n = room;
	memcpy(r->bytes + r->n, p, n);
	r->n += n;
}

static void record_u32(struct synth_record *r, uint32_t v)
{
	record_put(r, &v, sizeof v);
}

void record_u64(struct synth_record *r, uint64_t v)
{
	record_put(r, &v, sizeof v);
}

/* A NUL-terminated string, padded to a multiple of 8 bytes. */
void record_string(struct synth_record *r, const char *s)
{
	static const uint8_t zeros[8];
	size_t n;

	record_put(r, s, strlen(s));
	n = 8 - r->n % 8;
	memcpy(r->bytes + r->n, zeros, n);
	r->n += n;
}

int record_emit(struct synth *s, struct synth_record *r)
{
	struct perf_event_header h;

	memset(r->bytes + r->n, 0, ATTR_SAMPLE_ID_BYTES);
	r->n += ATTR_SAMPLE_ID_BYTES;
	memcpy(&h, r->bytes, sizeof h);
	h.size = (uint16_t)r->n;
	memcpy(r->bytes, &h, sizeof h);
	return s->emit(s->arg, r->bytes, r->n);
}

int synth_map_emit(struct synth *s, const struct synth_map *m)
{
	bool has_id = m->id.size;
	struct synth_record r;

	record_begin(&r, PERF_RECORD_MMAP2,
		     m->misc | (has_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	record_u32(&r, (uint32_t)m->pid);
	record_u32(&r, (uint32_t)m->tid);
	record_u64(&r, m->start);
	record_u64(&r, m->end - m->start);
	record_u64(&r, m->pgoff);
	if (has_id) {
		uint8_t id[24] = {m->id.size};

		memcpy(id + 4, m->id.bytes, m->id.size);
		record_put(&r, id, sizeof id);
	} else {
		record_u32(&r, m->maj);
		record_u32(&r, m->min);
		record_u64(&r, m->ino);
		record_u64(&r, 0); /* inode generation: /proc does not have it */
	}
	record_u32(&r, m->prot);
	record_u32(&r, m->flags);
	record_string(&r, m->path);
	return record_emit(s, &r);
}

static int emit_fork(struct synth *s, pid_t pid, pid_t ppid, pid_t tid)
{
	pid_t parent = pid == tid ? ppid : pid;
	struct synth_record r;

	record_begin(&r, PERF_RECORD_FORK, MISC_FORK_EXEC);
	record_u32(&r, (uint32_t)pid);
	record_u32(&r, (uint32_t)parent);
	record_u32(&r, (uint32_t)tid);
	record_u32(&r, (uint32_t)parent);
	record_u64(&r, 0); /* time */
	return record_emit(s, &r);
}

static int emit_comm(struct synth *s, pid_t pid, pid_t tid, const char *comm)
{
	struct synth_record r;

	record_begin(&r, PERF_RECORD_COMM, 0);
	record_u32(&r, (uint32_t)pid);
	record_u32(&r, (uint32_t)tid);
	record_string(&r, comm);
	return record_emit(s, &r);
}

/* proc(5): /proc/PID/stat, field 4. The name before it may contain blanks and parentheses. */
static bool parent_of(struct synth *s, pid_t pid, pid_t *ret)
{
	char path[128], text[1024], *p;

	snprintf(path, sizeof path, "%s/%d/stat", s->proc, (int)pid);
	if (sysfile_read(path, text, sizeof text) < 0)
		return false;
	p = strrchr(text, ')');
	if (!p || strlen(p) < 5)
		return false;
	*ret = (pid_t)strtol(p + 4, NULL, 10); /* ") S 123" */
	return true;
}

int synth_thread(struct synth *s, pid_t pid, pid_t ppid, pid_t tid)
{
	char path[128], comm[64];
	int rc;

	snprintf(path, sizeof path, "%s/%d/task/%d/comm", s->proc, (int)pid, (int)tid);
	if (sysfile_line(path, comm, sizeof comm))
		return 0; /* gone meanwhile */
	rc = emit_fork(s, pid, ppid, tid);
	return rc ? rc : emit_comm(s, pid, tid, comm);
}

int synth_process(struct synth *s, pid_t pid)
{
	struct dirent *d;
	char path[128];
	pid_t ppid;
	DIR *dir;
	int rc;

	if (!parent_of(s, pid, &ppid))
		return 0;
	rc = synth_thread(s, pid, ppid, pid);
	if (!rc)
		rc = synth_maps(s, pid);
	snprintf(path, sizeof path, "%s/%d/task", s->proc, (int)pid);
	dir = rc ? NULL : opendir(path);
	while (dir && !rc && (d = readdir(dir))) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

		if (tid > 0 && tid != pid)
			rc = synth_thread(s, pid, ppid, tid);
	}
	if (dir)
		closedir(dir);
	return rc;
}

int synth_all(struct synth *s, int (*between)(void *arg), void *arg)
{
	DIR *dir = opendir(s->proc);
	struct dirent *d;
	int rc = 0;

	while (dir && !rc && (d = readdir(dir))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid <= 0)
			continue;
		rc = synth_process(s, pid);
		if (!rc)
			rc = between(arg);
	}
	if (dir)
		closedir(dir);
	return rc;
}

void synth_done(struct synth *s)
{
	hash_done(&s->files);
	vec_done(&s->ids);
}
