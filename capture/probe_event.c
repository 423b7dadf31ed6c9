/* probe_event.c - probes as events of perf_event_open: tracefs, or the uprobe PMU. */
#include "capture/probe_event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "capture/attr.h"
#include "capture/perf_rights.h"
#include "capture/sysfile.h"
#include "capture/tracefs.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe"
#define GROUP	   "unspool_"
/* A constant of the place: what another function will return is not in its register yet. */
#define JUMPED(digit) " jumped=\\" digit ":u8"
/* Likewise: the first instruction is the head of a loop, whose rounds are no calls. */
#define LOOPS(digit)	" loops=\\" digit ":u8"
#define LIST_BYTES_MAX	((size_t)64 << 20)
#define REMOVE_ATTEMPTS 20
#define REMOVE_WAIT_US	10000
#define TELL_AFTER_S	1.0
#define TELL_EVERY_S	0.25

/* ---- tracefs -------------------------------------------------------------------------------- */

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

/* Removes what recordings left behind that were killed: their process is no more. */
static void remove_stale(const struct probe_events *set)
{
	static const char sign[] = ":" GROUP;
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

int probe_events_tracefs(struct probe_events *set, struct err *err)
{
	const char *dir = *set->tracefs ? set->tracefs : tracefs_find(err);

	if (!dir)
		return -(int)(err ? err->code : ERR_NOT_FOUND);
	if (dir != set->tracefs)
		snprintf(set->tracefs, sizeof set->tracefs, "%s", dir);
	return 0;
}

static int open_for_probes(struct probe_events *set, struct err *err)
{
	const bool is_first = !*set->tracefs || !set->is_clean;
	struct perf_rights rights;
	int rc;

	perf_rights_read(&rights);
	if (!rights.may_admin)
		return err_set(err, ERR_PERMISSION, NULL,
			       "probes change the code of programs, which needs CAP_SYS_ADMIN: "
			       "run capture with sudo");
	rc = probe_events_tracefs(set, err);
	if (!rc && is_first)
		remove_stale(set);
	set->is_clean |= !rc;
	return rc;
}

void probe_events_init(struct probe_events *set)
{
	*set = (struct probe_events){0};
}

/* The kernel takes a moment to end the users of an event. */
static void remove_event(const struct probe_events *set, const char *name)
{
	char line[80];

	snprintf(line, sizeof line, "-:%s\n", name);
	for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
		if (write_line(set, line, O_APPEND) != -EBUSY)
			break;
		usleep(REMOVE_WAIT_US);
	}
}

void probe_events_done(struct probe_events *set)
{
	for (size_t i = 0; i < set->made.n; i++) {
		if (set->made.v[i]->keeper)
			close(set->made.v[i]->keeper - 1);
		if (*set->made.v[i]->tracefs_name)
			remove_event(set, set->made.v[i]->tracefs_name);
		probe_places_done(&set->made.v[i]->found);
		text_done(&set->made.v[i]->fields);
		free(set->made.v[i]);
	}
	vec_done(&set->made);
	probe_events_init(set);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Probes at some places of a file, to become one event of this name. */
struct batch {
	struct probe_events *set;
	const char *name, *path;
	char letter; /* p: entry, r: return */
	bool is_span_end;
	bool says_loops;
	bool with_fields;   /* those of places */
	const char *fields; /* what is read at a hit */
	const struct probe_place *places;
	size_t n;
	const char *event; /* for people; NULL: nothing is said of it */
};

/* A path with spaces cannot be written there: a descriptor of the file stands for it. Returns that,
 * or -1. */
static int name_file(const struct batch *b, char ret[PATH_MAX])
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

static void add_line(struct text *t, const struct batch *b, const char *file,
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
static void tell(const struct batch *b, double begin_s, double *last_s, size_t done)
{
	const double now = clock_seconds();

	if (!b->event || !b->set->probes_made || now - begin_s < TELL_AFTER_S ||
	    (now - *last_s < TELL_EVERY_S && done < b->n))
		return;
	*last_s = now;
	b->set->probes_made(b->set->probes_made_arg, b->event, done, b->n);
}

/* Several lines in one write: of 20,000 each costs an open and a close otherwise. */
static int add_places(const struct batch *b, const char *file, struct err *err)
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

static int add_in_tracefs(const struct batch *b, struct err *err)
{
	char file[PATH_MAX];
	const int fd = name_file(b, file), rc = add_places(b, file, err);

	if (fd >= 0)
		close(fd);
	return rc;
}

static int tracepoint_id(const struct probe_events *set, const char *name, uint64_t *ret)
{
	char path[192];

	snprintf(path, sizeof path, "%s/events/%s/id", set->tracefs, name);
	return sysfile_u64(path, ret);
}

static bool opens(const struct probe_events *set, const char *name, uint64_t *id)
{
	struct perf_event_attr a = {
		.size = ATTR_SIZE, .type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .disabled = 1};
	int fd;

	if (tracepoint_id(set, name, id))
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
static bool passes_trial(const struct batch *b)
{
	uint64_t id;
	const bool passes = !add_in_tracefs(b, NULL) && opens(b->set, b->name, &id);

	remove_event(b->set, b->name);
	return passes;
}

/* Keeps of n places those that pass; returns how many. */
static size_t keep_passing(struct batch b, struct probe_place *places, size_t n)
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
static bool add_whole(const struct batch *b)
{
	uint64_t id;

	if (!add_in_tracefs(b, NULL) && opens(b->set, b->name, &id))
		return true;
	remove_event(b->set, b->name);
	return false;
}

/* Adds the event with those of its places that can be probed. */
static int add_passing(struct batch b, struct probe_event *p, struct err *err)
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
		return add_in_tracefs(&b, err);
	return err_set(err, ERR_UNSUPPORTED, p->found.path,
		       "the kernel puts no probe at %s%s: of some instructions it cannot",
		       p->found.places.v[0].name, n > 1 ? " or the others" : "");
}

/* The registers by which both ends of a span are known to be of one call: where its return address
 * is, and Go's goroutine, which may move to another thread and whose stack may move. And what a
 * function returns. Names are those of the kernel (regs_query_register_offset()). */
#if defined __aarch64__
static const char field_sp[] = " sp=%sp:x64", field_g[] = " g=%x28:x64",
		  field_result[] = " ret=%x0:x64";
static const char *const arg_registers[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", NULL};
#define go_registers arg_registers
#else
static const char field_sp[] = " sp=%sp:x64", field_g[] = " g=%r14:x64",
		  field_result[] = " ret=%ax:x64";
static const char *const arg_registers[] = {"di", "si", "dx", "cx", "r8", "r9", NULL};
static const char *const go_registers[] = {"ax", "bx", "cx",  "di",  "si",
					   "r8", "r9", "r10", "r11", NULL};
#endif

/* psABI AMD64 3.2.3; AAPCS64 6.4; Go's src/cmd/compile/abi-internal.md, whose strings have a length
 * instead of an end. */
static void argument_fields(struct text *t, const struct probe_target *target, bool is_go)
{
	const char *const *names = is_go ? go_registers : arg_registers;
	char field[64];

	for (size_t i = 0; names[i]; i++) {
		snprintf(field, sizeof field, " a%zu=%%%s:x64", i, names[i]);
		text_str(t, field);
	}
	for (size_t i = 0; target->strings && !is_go && names[i]; i++) {
		snprintf(field, sizeof field, " s%zu=+0(%%%s):ustring", i, names[i]);
		text_str(t, field);
	}
	/* The kernel has a page for all of them, and measures those that are longer as empty: what
	 * it then lacks is missing at the end, where the name of the thread is known. */
	text_str(t, target->strings && !is_go ? " end=$comm:string" : "");
}

static void span_fields(struct text *t, const struct probe_target *target,
			const struct probe_spec *spec, const struct probe_places *found)
{
	const bool is_go = found->is_go, is_start = found->is_start;

	if (spec->kind == PROBE_CALL || spec->kind == PROBE_LEAVE) {
		text_str(t, field_sp);
		text_str(t, is_go ? field_g : "");
		text_str(t, spec->kind == PROBE_LEAVE ? field_result : "");
	}
	if (target->sp && (spec->kind == PROBE_RETURN ||
			   (spec->kind == PROBE_ENTRY && (!spec->plus || is_start))))
		text_str(t, field_sp);
	text_str(t, target->args && spec->kind == PROBE_RETURN ? " ret=$retval:x64" : "");
	if (target->args && (!spec->plus || is_start) &&
	    (spec->kind == PROBE_CALL || spec->kind == PROBE_ENTRY))
		argument_fields(t, target, is_go);
	text_char(t, 0);
}

/* Returns a descriptor, or -1. */
static int open_keeper(uint64_t id)
{
	struct perf_event_attr a = {.size = ATTR_SIZE,
				    .type = PERF_TYPE_TRACEPOINT,
				    .config = id,
				    .sample_period = 1,
				    .disabled = 1};
	const int cpu = sched_getcpu();

	return attr_open(&a, -1, cpu < 0 ? 0 : cpu, 0);
}

static int make_in_tracefs(struct probe_events *set, struct event *e, struct probe_event *p,
			   const struct probe_spec *spec, const struct probe_target *target,
			   struct err *err)
{
	struct batch b = {.set = set,
			  .name = p->tracefs_name,
			  .path = p->found.path,
			  .letter = spec->kind == PROBE_RETURN ? 'r' : 'p',
			  .event = e->name,
			  .is_span_end = spec->kind == PROBE_LEAVE,
			  .says_loops = spec->kind == PROBE_CALL && p->found.n_looping,
			  .with_fields = target->args};
	int rc;

	snprintf(p->tracefs_name, sizeof p->tracefs_name, GROUP "%d/p%zu", (int)getpid(),
		 set->made.n);
	span_fields(&p->fields, target, spec, &p->found);
	if (p->fields.failed)
		return err_nomem(err);
	b.fields = e->fields = p->fields.s;
	rc = add_passing(b, p, err);
	if (rc)
		return rc;
	if (tracepoint_id(set, p->tracefs_name, &e->config))
		return err_errno(err, errno, p->tracefs_name, "read the id");
	e->type = PERF_TYPE_TRACEPOINT;
	e->tracefs_name = p->tracefs_name;
	return 0;
}

/* The PMU's format/retprobe and format/ref_ctr_offset: bit 0 and bits 32 to 63 of config. */
static int make_in_pmu(struct event *e, const struct probe_event *p, enum probe_kind kind,
		       uint64_t type, struct err *err)
{
	const struct probe_place *place = &p->found.places.v[0];

	if (place->ref_ctr_off > UINT32_MAX)
		return err_set(err, ERR_UNSUPPORTED, p->found.path, "%s: its counter lies too far",
			       place->name);
	e->type = (uint32_t)type;
	e->config = (uint64_t)(kind == PROBE_RETURN) | place->ref_ctr_off << 32;
	e->config1 = (uintptr_t)p->found.path;
	e->config2 = place->off;
	return 0;
}

/* Inherited events have the fault of the uprobe PMU. */
static int make_kernel_probe(struct event *e, struct probe_event *p,
			     const struct probe_target *target, struct err *err)
{
	const char *what = strchr(e->name, ':') + 1;
	const size_t n = strcspn(what, "+");

	if (target->is_inherited)
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "%s: kernel probes are recorded with -a (and a command beside it)",
			       e->name);
	if (n >= sizeof p->found.path)
		return err_set(err, ERR_USAGE, NULL, "%s: too long", e->name);
	memcpy(p->found.path, what, n);
	p->found.path[n] = 0;
	e->config1 = (uintptr_t)p->found.path;
	e->config2 = what[n] ? strtoull(what + n + 1, NULL, 0) : 0;
	e->n_places = 1;
	return 0;
}

static bool has_place(const struct probe_places *p, uint64_t off)
{
	size_t lo = 0, hi = p->places.n;

	while (lo < hi) { /* they are sorted */
		const size_t mid = lo + (hi - lo) / 2;

		if (p->places.v[mid].off == off)
			return true;
		if (p->places.v[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) ||
	       (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Leaves out the places that are probed for an event before it, all of whose hits are recorded. */
static void leave_out_known(const struct probe_events *set, struct probe_event *p)
{
	for (size_t i = 0; i < set->made.n && !p->event->is_trigger && !*p->event->filter; i++) {
		const struct probe_event *other = set->made.v[i];
		struct probe_places *mine = &p->found;
		size_t n = 0;

		if (other == p || !other->event || other->kind != p->kind ||
		    *other->event->filter || other->event->is_trigger ||
		    !is_same_file(other->found.path, mine->path))
			continue;
		for (size_t k = 0; k < mine->places.n; k++)
			if (!has_place(&other->found, mine->places.v[k].off))
				mine->places.v[n++] = mine->places.v[k];
		p->known_by = n < mine->places.n ? other->event : p->known_by;
		p->n_known += mine->places.n - n;
		mine->places.n = n;
	}
}

int probe_event_make(struct probe_events *set, struct event *e, const struct probe_target *target,
		     struct err *err)
{
	struct probe_event *p = calloc(1, sizeof *p);
	struct probe_spec spec;
	uint64_t type;
	int rc;

	if (!p || vec_push(&set->made, p)) {
		free(p);
		return err_nomem(err);
	}
	if (e->is_kernel_probe)
		return make_kernel_probe(e, p, target, err);
	rc = probe_parse(&spec, e->name, strlen(e->name), err);
	if (!rc)
		rc = probe_find(&spec, target->pid, &p->found, err);
	if (rc)
		return rc;
	if (stat(p->found.path, &p->file))
		p->file.st_ino = 0;
	p->kind = spec.kind;
	p->event = e;
	leave_out_known(set, p);
	e->n_places = p->found.places.n;
	if (!e->n_places) { /* the ends of what never returns: an event that does not come */
		e->type = PERF_TYPE_SOFTWARE;
		e->config = PERF_COUNT_SW_DUMMY;
		return 0;
	}
	rc = open_for_probes(set, err);
	if (!rc)
		return make_in_tracefs(set, e, p, &spec, target, err);
	if (target->args || target->is_inherited || p->found.places.n > 1 ||
	    spec.kind == PROBE_CALL || spec.kind == PROBE_LEAVE ||
	    sysfile_u64(UPROBE_PMU "/type", &type))
		return rc;
	return make_in_pmu(e, p, spec.kind, type, err);
}

enum probe_file_change probe_event_file_change(const struct probe_event *p)
{
	struct stat now;

	if (!p->file.st_ino || stat(p->found.path, &now))
		return PROBE_FILE_SAME;
	if (now.st_ino != p->file.st_ino || now.st_dev != p->file.st_dev)
		return PROBE_FILE_REPLACED;
	return now.st_size != p->file.st_size || now.st_mtim.tv_sec != p->file.st_mtim.tv_sec ||
			       now.st_mtim.tv_nsec != p->file.st_mtim.tv_nsec
		       ? PROBE_FILE_WRITTEN
		       : PROBE_FILE_SAME;
}

void probe_events_keep(struct probe_events *set)
{
	for (size_t i = 0; i < set->made.n; i++) {
		struct probe_event *p = set->made.v[i];

		if (*p->tracefs_name && p->event && p->event->type == PERF_TYPE_TRACEPOINT)
			p->keeper = open_keeper(p->event->config) + 1;
	}
}

/* ---- system calls --------------------------------------------------------------------------- */

static struct probe_event *add_event(struct probe_events *set)
{
	struct probe_event *p = calloc(1, sizeof *p);

	if (p && vec_push(&set->made, p)) {
		free(p);
		return NULL;
	}
	return p;
}

int probe_event_for_syscalls(struct probe_events *set, struct event *e, const char *const *files,
			     size_t n_files, probe_wants_syscall *wants, void *arg,
			     const char *fields, struct err *err)
{
	struct batch b = {.set = set, .letter = 'p', .fields = fields};
	size_t n = 0;

	if (open_for_probes(set, NULL))
		return 0;
	for (size_t i = 0; i < n_files; i++) {
		struct probe_event *p = add_event(set);

		if (!p)
			return err_nomem(err);
		if (!i) {
			snprintf(p->tracefs_name, sizeof p->tracefs_name, GROUP "%d/p%zu",
				 (int)getpid(), set->made.n);
			b.name = p->tracefs_name;
		}
		if (probe_find_syscalls(files[i], wants, arg, &p->found, NULL))
			continue; /* a script, or not readable */
		b.path = p->found.path;
		b.places = p->found.places.v;
		b.n = p->found.places.n;
		n += b.n && !add_in_tracefs(&b, NULL) ? b.n : 0;
	}
	if (!n || !opens(set, b.name, &e->config))
		return 0;
	e->type = PERF_TYPE_TRACEPOINT;
	e->tracefs_name = b.name;
	return 1;
}

int probe_event_at(struct probe_events *set, struct event *e, char letter,
		   const struct probe_site *sites, size_t n, struct err *err)
{
	struct batch b = {.set = set, .letter = letter, .with_fields = true, .n = 1, .fields = ""};
	struct probe_event *p;
	int rc = open_for_probes(set, err);

	if (rc)
		return rc;
	p = add_event(set);
	if (!p)
		return err_nomem(err);
	snprintf(p->tracefs_name, sizeof p->tracefs_name, GROUP "%d/p%zu", (int)getpid(),
		 set->made.n);
	b.name = p->tracefs_name;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct probe_place place = {
			.off = sites[i].off, .name = sites[i].name, .fields = sites[i].fields};

		b.path = sites[i].path;
		b.places = &place;
		rc = add_in_tracefs(&b, err);
	}
	if (!rc && !opens(set, b.name, &e->config))
		rc = err_set(err, ERR_UNSUPPORTED, NULL, "%s: the kernel does not open the probes",
			     e->name);
	e->type = PERF_TYPE_TRACEPOINT;
	e->is_probe = true;
	e->tracefs_name = b.name;
	e->n_places = n;
	return rc;
}
