/* probe_tracefs.c - events of probes: the lines of tracefs's uprobe_events. */
#include "capture/probe_tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "capture/attr.h"
#include "capture/sysfile.h"

/* A constant of the place: what another function will return is not in its register yet. */
#define JUMPED(digit) " jumped=\\" digit ":u8"
/* Likewise: the first instruction is the head of a loop, whose rounds are no calls. */
#define LOOPS(digit)	" loops=\\" digit ":u8"
#define LIST_BYTES_MAX	((size_t)64 << 20)
#define REMOVE_ATTEMPTS 20
#define REMOVE_WAIT_US	10000
#define TELL_AFTER_S	1.0
#define TELL_EVERY_S	0.25

static int write_line(const struct probe_events *set, const char *line, int flags)
{
	char path[128];
	size_t n = strlen(line);
	int fd, rc = 0;

	snprintf(path, sizeof path, "%s/uprobe_events", set->tracefs);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (write(fd, line, n) != (ssize_t)n)
		rc = -errno;
	close(fd);
	return rc;
}

void probe_tracefs_remove_stale(const struct probe_events *set)
{
	static const char sign[] = ":" PROBE_GROUP;
	char path[128], name[96], *text, *line;
	size_t n;

	snprintf(path, sizeof path, "%s/uprobe_events", set->tracefs);
	text = sysfile_read_all(path, LIST_BYTES_MAX, &n);
	for (line = text; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *group = line + 1;
		int pid;

		if (strncmp(group, sign, sizeof sign - 1))
			continue;
		pid = atoi(group + sizeof sign - 1);
		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		snprintf(name, sizeof name, "-%.*s\n", (int)strcspn(group, " "), group);
		(void)write_line(set, name, O_APPEND);
	}
	free(text);
}

/* The kernel takes a moment to end the users of an event. */
void probe_tracefs_remove(const struct probe_events *set, const char *name)
{
	char line[80];

	snprintf(line, sizeof line, "-:%s\n", name);
	for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
		if (write_line(set, line, O_APPEND) != -EBUSY)
			break;
		usleep(REMOVE_WAIT_US);
	}
}

/* A path with spaces cannot be written there: a descriptor of the file stands for it. Returns that,
 * or -1. */
static int name_file(const struct probe_batch *b, char ret[PATH_MAX])
{
	const int fd = strpbrk(b->path, " \t\n") ? open(b->path, O_PATH | O_CLOEXEC) : -1;

	if (fd >= 0)
		snprintf(ret, PATH_MAX, "/proc/self/fd/%d", fd);
	else
		snprintf(ret, PATH_MAX, "%s", b->path);
	return fd;
}

/* The kernel takes so many bytes of lines at a time (WRITE_BUFSIZE in kernel/trace/trace.c). */
enum { LINES_BYTES = 4000 };

static void add_line(struct text *t, const struct probe_batch *b, const char *file,
		     const struct probe_place *p)
{
	char words[128];

	snprintf(words, sizeof words, "%c:%s ", b->letter, b->name);
	text_str(t, words);
	text_str(t, file);
	snprintf(words, sizeof words, ":0x%" PRIx64, p->off);
	text_str(t, words);
	if (p->ref_ctr_off) {
		snprintf(words, sizeof words, "(0x%" PRIx64 ")", p->ref_ctr_off);
		text_str(t, words);
	}
	text_str(t, b->fields);
	text_str(t, !b->says_loops ? "" : p->is_loop ? LOOPS("1") : LOOPS("0"));
	text_str(t, b->with_fields && p->fields ? p->fields : "");
	text_str(t, !b->is_span_end ? "" : p->is_jump ? JUMPED("1") : JUMPED("0"));
	text_char(t, '\n');
}

/* Says how far it is, once that takes longer than people wait without a word. */
static void tell(const struct probe_batch *b, double begin_s, double *last_s, size_t done)
{
	const double now = clock_seconds();

	if (!b->event || !b->set->probes_made || now - begin_s < TELL_AFTER_S ||
	    (now - *last_s < TELL_EVERY_S && done < b->n))
		return;
	*last_s = now;
	b->set->probes_made(b->set->probes_made_arg, b->event, done, b->n);
}

/* Several lines in one write: of 20,000 each costs an open and a close otherwise. */
static int add_places(const struct probe_batch *b, const char *file, struct err *err)
{
	const struct probe_place *p = b->places, *end = p + b->n, *first;
	struct text lines = {0};
	const double begin_s = clock_seconds();
	double last_s = 0;
	int rc = 0;

	while (p < end && !rc) {
		if (b->set->stop && *b->set->stop) {
			rc = err_set(err, ERR_USAGE, NULL,
				     "interrupted before the recording began");
			break;
		}
		lines.n = 0;
		for (first = p; p < end && lines.n < LINES_BYTES; p++) {
			const size_t before = lines.n;

			add_line(&lines, b, file, p);
			if (lines.n > LINES_BYTES && before) {
				lines.n = before;
				break;
			}
		}
		text_char(&lines, 0);
		if (lines.failed)
			rc = err_nomem(err);
		else if ((rc = write_line(b->set, lines.s, O_APPEND)))
			rc = err_set(err, ERR_UNSUPPORTED, b->path,
				     "no probe can be put at %s (offset 0x%" PRIx64 ")%s: %s",
				     first->name, first->off,
				     p - first > 1 ? " or at one of those behind it" : "",
				     strerror(-rc));
		else
			tell(b, begin_s, &last_s, (size_t)(p - b->places));
	}
	text_done(&lines);
	return rc;
}

int probe_batch_add(const struct probe_batch *b, struct err *err)
{
	char file[PATH_MAX];
	const int fd = name_file(b, file), rc = add_places(b, file, err);

	if (fd >= 0)
		close(fd);
	return rc;
}

int probe_tracefs_id(const struct probe_events *set, const char *name, uint64_t *ret)
{
	char path[192];

	snprintf(path, sizeof path, "%s/events/%s/id", set->tracefs, name);
	return sysfile_u64(path, ret);
}

bool probe_tracefs_opens(const struct probe_events *set, const char *name, uint64_t *id)
{
	struct perf_event_attr a = {
		.size = ATTR_SIZE, .type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .disabled = 1};
	int fd;

	if (probe_tracefs_id(set, name, id))
		return false;
	a.config = *id;
	fd = attr_open(&a, 0, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Can all of these places be probed? Where the file is mapped already, as in this process, the
 * kernel looks at each instruction when the event is opened, and refuses some: then no probe of the
 * event works. In programs that start later it leaves those out without a word. */
static bool passes_trial(const struct probe_batch *b)
{
	uint64_t id;
	const bool passes = !probe_batch_add(b, NULL) && probe_tracefs_opens(b->set, b->name, &id);

	probe_tracefs_remove(b->set, b->name);
	return passes;
}

/* Keeps of n places those that pass; returns how many. */
static size_t keep_passing(struct probe_batch b, struct probe_place *places, size_t n)
{
	const size_t half = n / 2;
	size_t first, second;

	b.places = places;
	b.n = n;
	if (b.set->stop && *b.set->stop)
		return 0;
	if (!n || passes_trial(&b))
		return n;
	if (n == 1)
		return 0;
	first = keep_passing(b, places, half);
	second = keep_passing(b, places + half, n - half);
	memmove(places + first, places + half, second * sizeof *places);
	return first + second;
}

/* Adds the event with all of its places, and leaves it there if it can be opened. */
static bool add_whole(const struct probe_batch *b)
{
	uint64_t id;

	if (!probe_batch_add(b, NULL) && probe_tracefs_opens(b->set, b->name, &id))
		return true;
	probe_tracefs_remove(b->set, b->name);
	return false;
}

int probe_batch_add_passing(struct probe_batch b, struct probe_event *p, struct err *err)
{
	int fd = open(p->found.path, O_RDONLY | O_CLOEXEC);
	const size_t n = p->found.places.n;
	struct stat st;
	void *mapped = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st))
		mapped = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mapped == MAP_FAILED)
		return err_errno(err, errno, p->found.path, "map");
	b.places = p->found.places.v;
	b.n = n;
	if (add_whole(&b)) {
		munmap(mapped, (size_t)st.st_size);
		return 0;
	}
	p->found.places.n = b.n = keep_passing(b, p->found.places.v, n);
	munmap(mapped, (size_t)st.st_size);
	p->n_refused = n - b.n;
	if (b.set->stop && *b.set->stop)
		return err_set(err, ERR_USAGE, NULL, "interrupted before the recording began");
	if (b.n)
		return probe_batch_add(&b, err);
	return err_set(err, ERR_UNSUPPORTED, p->found.path,
		       "the kernel puts no probe at %s%s: of some instructions it cannot",
		       p->found.places.v[0].name, n > 1 ? " or the others" : "");
}
