/* probe_maps.c - compares what is probed with what runs. */
#include "capture/probe_maps.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "capture/mmap2.h"
#include "capture/session.h"

/* A file that a process has mapped, of the name that was looked for. */
struct other_file {
	pid_t pid;
	uint64_t start, end, ino;
	bool is_deleted; /* its name leads to another file, or nowhere */
	char path[PATH_MAX];
};

enum mapped { MAPPED_NOT, MAPPED_OTHER, MAPPED_IT };

/* On layered file systems, and with subvolumes, stat() shows another device than the map has: then
 * its major number is 0. */
static bool is_inode(const struct stat *st, unsigned maj, unsigned min, uint64_t ino)
{
	return st->st_ino == ino &&
	       (!major(st->st_dev) || (major(st->st_dev) == maj && minor(st->st_dev) == min));
}

/* proc_pid_maps(5) */
static enum mapped look_at_line(char *line, const struct probe_event *p, struct other_file *other)
{
	static const char deleted[] = " (deleted)";
	struct other_file o = {.pid = other->pid};
	unsigned maj, min;
	int at = 0;
	size_t n;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %x:%x %" SCNu64 " %n", &o.start, &o.end,
		   &maj, &min, &o.ino, &at) != 5 ||
	    !o.ino || line[at] != '/')
		return MAPPED_NOT;
	if (is_inode(&p->file, maj, min, o.ino))
		return MAPPED_IT;
	line[strcspn(line, "\n")] = 0;
	n = strlen(line + at);
	o.is_deleted =
		n > sizeof deleted - 1 && !strcmp(line + at + n - (sizeof deleted - 1), deleted);
	if (o.is_deleted)
		line[at + (int)(n - (sizeof deleted - 1))] = 0;
	if (strcmp(base_name(line + at), base_name(p->found.path)) != 0)
		return MAPPED_NOT;
	snprintf(o.path, sizeof o.path, "%s", line + at);
	*other = o;
	return MAPPED_OTHER;
}

static enum mapped look_at_process(pid_t pid, const struct probe_event *p, struct other_file *other)
{
	char line[PATH_MAX + 128], path[64];
	enum mapped ret = MAPPED_NOT;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return MAPPED_IT; /* it has ended, or is not ours to see */
	other->pid = pid;
	while (ret != MAPPED_IT && fgets(line, sizeof line, f)) {
		const enum mapped now = ret == MAPPED_NOT
						? look_at_line(line, p, other)
						: look_at_line(line, p, &(struct other_file){0});

		ret = now > ret ? now : ret;
	}
	fclose(f);
	return ret;
}

/* The name that still leads to it. */
static void name_other(const struct other_file *o, char *ret, size_t size)
{
	struct stat st;

	snprintf(ret, size, "/proc/%d/exe", (int)o->pid);
	if (!stat(ret, &st) && st.st_ino == o->ino)
		return;
	if (o->is_deleted)
		snprintf(ret, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)o->pid,
			 o->start, o->end);
	else
		snprintf(ret, size, "/proc/%d/root%s", (int)o->pid, o->path);
}

static void note_other(struct capture_result *result, const struct probe_event *p,
		       const struct other_file *o)
{
	const char *file = strchr(p->event->name, ':') + 1, *what = strchr(file, ':');
	char path[PATH_MAX + 64];

	name_other(o, path, sizeof path);
	capture_note(result,
		     "%s: process %d runs another file of this name%s, so nothing comes of it; "
		     "probe that: %.*s%s%s",
		     p->event->name, (int)o->pid,
		     o->is_deleted ? ", which was deleted or replaced since" : "",
		     (int)(file - p->event->name), p->event->name, path, what ? what : "");
}

void probe_maps_note(struct capture_result *result, struct probe_event *p, const pid_t *pids,
		     size_t n)
{
	struct other_file other = {0}, one = {0};
	enum mapped best = MAPPED_NOT, now;

	if (!n || !p->file.st_ino || p->kind == PROBE_LEAVE) /* said of its call: */
		return;
	for (size_t i = 0; i < n && best != MAPPED_IT; i++) {
		now = look_at_process(pids[i], p, &one);

		if (now > best) {
			best = now;
			other = one;
		}
	}
	p->is_mapped = best == MAPPED_IT;
	if (best == MAPPED_OTHER)
		note_other(result, p, &other);
	else if (best == MAPPED_NOT)
		capture_note(result,
			     "%s: %s %d%s not mapped this file so far: nothing comes until then",
			     p->event->name, n == 1 ? "process" : "processes such as", (int)pids[0],
			     n == 1 ? " has" : " have");
}

void probe_maps_take(struct probe_events *set, const uint8_t *rec, size_t n)
{
	struct mmap2 m;

	if (!set->made.n || !mmap2_parse(rec, n, &m) || !(m.prot & PROT_EXEC))
		return;
	for (size_t i = 0; i < set->made.n; i++)
		set->made.v[i]->is_mapped |=
			!strcmp(base_name(m.path), base_name(set->made.v[i]->found.path));
}

const char *probe_maps_missing(const struct probe_events *set)
{
	for (size_t i = 0; i < set->made.n; i++)
		if (!set->made.v[i]->is_mapped && set->made.v[i]->file.st_ino)
			return set->made.v[i]->found.path;
	return NULL;
}
