/* sleepers.c - threads that waited all the time, or when it began, and the marks of when that was.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/attr.h"
#include "capture/secrets.h"
#include "capture/stack_batch.h"
#include "capture/switch_event.h"
#include "capture/sysfile.h"
#include "capture/targets.h"
#include "capture/untraced.h"

#define BATCH_BYTES  ((size_t)16 << 20)
#define RAW_MAX	     512
#define FORMAT_BYTES 8192
/* TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE of include/linux/sched.h. */
#define STATE_SLEEPS 1
#define STATE_DISK   2
/* PF_KTHREAD of include/linux/sched.h. */
#define KERNEL_THREAD 0x00200000u

/* Where the fields of sched:sched_switch are; size 0: it has no such field. */
struct switch_field {
	const char *name;
	unsigned off, size;
};

enum { COMMON_TYPE, PREV_PID, PREV_STATE, SWITCH_FIELDS };

struct sleeper {
	pid_t pid, tid;
};

struct sleepers {
	struct drain *d;
	bool at_begin;		      /* they wait from now on, rather than until now */
	VEC(struct sleeper) they_are; /* with at_begin */
	uint64_t ns, end_ns, id, event_config;
	struct stack_batch batch;
	struct thread_state thread;
	bool no_user; /* the event has no copies of stacks */
	bool noted_kernel_thread;
	struct untraced untraced;
	size_t n_kernel_threads; /* with -a */
	struct switch_field fields[SWITCH_FIELDS];
	uint8_t raw[RAW_MAX];
	size_t n_raw;
};

static int put_switch(struct drain *d, uint16_t misc, struct sleeper of, uint32_t cpu,
		      uint64_t time_ns, struct err *err)
{
	const struct event *e = switch_event(d->session);
	const struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t time_ns;
		uint32_t cpu, reserved;
		uint64_t id;
	} rec = {
		.h = {.type = PERF_RECORD_SWITCH, .misc = misc, .size = sizeof rec},
		.pid = (uint32_t)of.pid,
		.tid = (uint32_t)of.tid,
		.time_ns = time_ns,
		.cpu = cpu,
		.id = session_any_id(d->session, (size_t)(e - d->session->events)),
	};

	_Static_assert(sizeof rec == sizeof rec.h + ATTR_SAMPLE_ID_BYTES, "no padding");
	return record_writer_append(d->writer, &rec, sizeof rec) ? err_nomem(err) : 0;
}

int switch_mark_time(struct drain *d, uint64_t time_ns, struct err *err)
{
	return put_switch(d, 0, (struct sleeper){0, 0}, 0, time_ns, err);
}

int switch_mark_pause(struct drain *d, bool begins, uint64_t time_ns, struct err *err)
{
	return put_switch(d, begins ? PERF_RECORD_MISC_SWITCH_OUT : 0, (struct sleeper){0, 0},
			  (uint32_t)SWITCH_MARK_PAUSE, time_ns, err);
}

/* ---- of a cgroup ---------------------------------------------------------------------------- */

static int put_member(struct drain *d, uint16_t misc, pid_t tid, uint64_t time_ns, struct err *err)
{
	const struct sleeper of = {tid ? tid_process(tid) : 0, tid};

	/* One that has ended says so itself. */
	return tid && !of.pid ? 0
			      : put_switch(d, misc, of, (uint32_t)SWITCH_MARK_MEMBER, time_ns, err);
}

/* ---- of others, which are not known to wait if the recorder is killed ----------------------- */

/* Field 3 and 9 of proc(5), /proc/PID/stat. The kernel's own are not marked, as of -a no sample is
 * taken of these. */
static bool waits_now(pid_t pid, pid_t tid)
{
	char path[64], text[1024], *at, state;
	unsigned flags;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	return sysfile_read(path, text, sizeof text) > 0 && (at = strrchr(text, ')')) &&
	       sscanf(at + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 &&
	       strchr("SDTt", state) && !(flags & KERNEL_THREAD);
}

static int mark_process(struct drain *d, pid_t pid, uint64_t time_ns, struct err *err)
{
	struct tid_list tids = {0};
	int rc = tid_list_scan(&tids, pid, err);

	for (size_t i = 0; i < tids.tids.n && rc >= 0; i++)
		if (waits_now(pid, tids.tids.v[i]))
			rc = put_member(d, 0, tids.tids.v[i], time_ns, err);
	tid_list_done(&tids);
	return rc < 0 ? rc : 0;
}

static int mark_all(struct drain *d, uint64_t time_ns, struct err *err)
{
	struct tid_list all = {0};
	int rc = tid_list_all(&all, err);

	for (size_t i = 0; i < all.tids.n && rc >= 0; i++)
		if (all.tids.v[i] != getpid())
			rc = mark_process(d, all.tids.v[i], time_ns, err);
	tid_list_done(&all);
	return rc < 0 ? rc : 0;
}

/* A command's are known by their beginning, and a flight recorder that is killed leaves no file. */
static int mark_waiting(struct drain *d, uint64_t time_ns, struct err *err)
{
	const struct capture_options *o = d->session->opt;
	int rc = 0;

	if (o->cpus || o->snapshot_s || d->session->command_pid)
		return 0;
	if (d->session->all_processes)
		return mark_all(d, time_ns, err);
	for (size_t i = 0; i < o->n_tids && !rc; i++)
		if (waits_now(tid_process(o->tids[i]), o->tids[i]))
			rc = put_member(d, 0, o->tids[i], time_ns, err);
	for (size_t i = 0; i < o->n_pids && !rc; i++)
		rc = mark_process(d, o->pids[i], time_ns, err);
	return rc;
}

int switch_mark_members(struct drain *d, uint64_t time_ns, struct err *err)
{
	struct tid_list now = {0};
	int rc;

	if (!d->session->opt->cgroup)
		return mark_waiting(d, time_ns, err);
	hash_done(&d->members);
	rc = cgroup_threads(d->session->cgroup_fd, &now, err);
	if (!rc)
		rc = put_member(d, 0, 0, time_ns, err);
	for (size_t i = 0; i < now.tids.n && !rc; i++) {
		rc = put_member(d, 0, now.tids.v[i], time_ns, err);
		if (!rc && hash_put(&d->members, (uint64_t)now.tids.v[i], 1))
			rc = err_nomem(err);
	}
	tid_list_done(&now);
	return rc;
}

static void note_moved(struct drain *d, size_t n, pid_t one, const char *how, const char *when)
{
	if (n)
		capture_note(d->result,
			     "%zu thread%s %s (%d%s): %s is not known, so that time is not counted",
			     n, &"s"[n == 1], how, (int)one, n == 1 ? "" : " ..", when);
}

/* They have moved into it, and have not got or given up a processor there. */
static void note_comers(struct drain *d, const struct tid_list *now)
{
	size_t n = 0;
	pid_t one = 0;

	for (size_t i = 0; i < now->tids.n; i++) {
		const uint64_t tid = (uint64_t)now->tids.v[i];

		if (hash_get(d->switched, tid) != HASH_NONE ||
		    hash_get(&d->members, tid) != HASH_NONE)
			continue;
		one = now->tids.v[i];
		n++;
	}
	note_moved(d, n, one, "came into the cgroup and waited there to the end", "since when");
}

/* They waited in it since the beginning, and were moved: what ends has a switch. */
static void note_leavers(struct drain *d, const struct tid_list *now)
{
	const struct hash_table *members = &d->members;
	size_t n = 0;
	pid_t one = 0;

	for (size_t i = 0; members->slots && i <= members->mask; i++) {
		const struct hash_slot *s = &members->slots[i];

		if (s->value == HASH_NONE || hash_get(d->switched, s->key) != HASH_NONE ||
		    hash_get(&now->seen, s->key) != HASH_NONE)
			continue;
		one = (pid_t)s->key;
		n++;
	}
	note_moved(d, n, one, "waited in the cgroup from the beginning and left it", "until when");
}

int switch_mark_leavers(struct drain *d, uint64_t time_ns, struct err *err)
{
	const struct hash_table *seen = d->switched;
	struct tid_list now = {0};
	int rc;

	if (!d->session->opt->cgroup)
		return 0;
	rc = cgroup_threads(d->session->cgroup_fd, &now, err);
	note_comers(d, &now);
	note_leavers(d, &now);
	for (size_t i = 0; seen->slots && i <= seen->mask && !rc; i++) {
		const struct hash_slot *s = &seen->slots[i];

		if (s->value != HASH_NONE && hash_get(&now.seen, s->key) == HASH_NONE)
			rc = put_member(d, PERF_RECORD_MISC_SWITCH_OUT, (pid_t)s->key, time_ns,
					err);
	}
	tid_list_done(&now);
	return rc;
}

/* ---- the fields of the tracepoint ----------------------------------------------------------- */

/* Lines "field:long prev_state;	offset:32;	size:8;	signed:1;" */
static void read_format(struct sleepers *s, const char *tracefs)
{
	static const char *const names[SWITCH_FIELDS] = {"common_type", "prev_pid", "prev_state"};
	char path[192], text[FORMAT_BYTES], *line, *next;

	snprintf(path, sizeof path, "%s/events/sched/sched_switch/format", tracefs);
	if (sysfile_read(path, text, sizeof text) <= 0)
		return;
	for (line = strstr(text, "field:"); line; line = next) {
		char *end = strchr(line, ';'), *name = end;
		struct switch_field f = {0};

		next = strstr(line + 1, "field:");
		while (name && name > line && name[-1] != ' ')
			name--;
		if (!end || sscanf(end, "; offset:%u; size:%u", &f.off, &f.size) != 2 ||
		    f.off + f.size > RAW_MAX - 8)
			continue;
		if (f.off + f.size > s->n_raw)
			s->n_raw = f.off + f.size;
		*end = 0;
		for (int i = 0; i < SWITCH_FIELDS; i++)
			if (!strcmp(name, names[i])) {
				f.name = names[i];
				s->fields[i] = f;
			}
	}
	s->n_raw = (s->n_raw + 4 + 7) / 8 * 8 - 4; /* as the kernel pads it */
}

/* Little-endian or not: as this machine stores integers. */
static void set_field(struct sleepers *s, int i, uint64_t v)
{
	const struct switch_field *f = &s->fields[i];
	const uint32_t v32 = (uint32_t)v;
	const uint16_t v16 = (uint16_t)v;

	if (f->size == 8)
		memcpy(s->raw + f->off, &v, 8);
	else if (f->size == 4)
		memcpy(s->raw + f->off, &v32, 4);
	else if (f->size == 2)
		memcpy(s->raw + f->off, &v16, 2);
}

/* ---- threads -------------------------------------------------------------------------------- */

static int flush(struct sleepers *s, struct err *err)
{
	return stack_batch_flush(&s->batch, s->d->writer) ? err_nomem(err) : 0;
}

/* It has since the beginning of what is written, which is that of the recording but for snapshots.
 */
static bool has_switched(const struct sleepers *s, pid_t tid)
{
	const uint32_t last = hash_get(s->d->switched, (uint64_t)tid);

	return last != HASH_NONE &&
	       last >= (uint32_t)((s->end_ns - s->ns) / SWITCH_STEP_NS & INT32_MAX);
}

/* Of -a most of these wait for work that does not come. Their stacks are not for this process any
 * more, which has given up the right to. */
static void note_kernel_thread(struct sleepers *s, pid_t tid)
{
	s->n_kernel_threads += s->d->session->all_processes;
	if (s->d->session->all_processes || s->noted_kernel_thread)
		return;
	s->noted_kernel_thread = true;
	capture_note(s->d->result,
		     "thread %d is one of the kernel's and waited all the time, which has no "
		     "sample here; --stacks -p %d shows where",
		     (int)tid, (int)tid);
}

/* That it has waited is known all the same. */
static int without_user_part(struct sleepers *s, pid_t pid, pid_t tid, int errnum, struct err *err)
{
	s->thread.abi = PERF_SAMPLE_REGS_ABI_NONE;
	s->thread.n_stack = 0;
	return untraced_add(&s->untraced, pid, tid, errnum, err);
}

static void note_untraced(const struct sleepers *s)
{
	char why[512];

	if (!s->untraced.pid)
		return;
	untraced_describe(&s->untraced, why, sizeof why);
	capture_note(s->d->result, "%s: what waited all the time has no stack there", why);
}

static int add_thread(struct sleepers *s, pid_t pid, pid_t tid, struct err *err)
{
	struct stack_sample sample = {
		.id = s->id,
		.period = s->ns,
		.pid = pid,
		.tid = tid,
		.cpu = s->at_begin ? 0 : UINT32_MAX, /* that says it is of no context switch */
		.raw = s->raw,
		.n_raw = s->n_raw,
		.no_user = s->no_user,
		.has_cgroup = s->d->session->opt->all_cgroups,
	};
	struct thread_state *t = &s->thread;
	int rc;

	if (!s->at_begin && has_switched(s, tid))
		return 0;
	rc = thread_state_read(pid, tid, t);
	if (t->is_kernel_thread && t->state != 'R')
		note_kernel_thread(s, tid);
	if (!rc || !t->state || t->state == 'R' || t->is_kernel_thread)
		return 0;
	if (rc < 0 && (rc = without_user_part(s, pid, tid, -rc, err)))
		return rc;
	set_field(s, COMMON_TYPE, s->event_config);
	set_field(s, PREV_PID, (uint64_t)tid);
	set_field(s, PREV_STATE, t->state == 'D' ? STATE_DISK : STATE_SLEEPS);
	t->time_ns = s->end_ns;
	if (!s->d->session->opt->keep_env && pid == tid && t->n_stack)
		secrets_clear(t->stack, t->n_stack, t->sp,
			      t->abi == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8);
	environs_hide(&s->d->environs, (uint32_t)pid, UINT64_MAX, (struct environ_bytes){0},
		      (struct environ_bytes){t->stack, t->n_stack});
	if (sample.has_cgroup)
		sample.cgroup = cgroup_of(tid);
	stack_batch_add(&s->batch, t, &sample);
	s->d->result->samples++;
	if (s->at_begin && vec_push(&s->they_are, (struct sleeper){pid, tid}))
		return err_nomem(err);
	return s->batch.bytes.vec.n < BATCH_BYTES ? 0 : flush(s, err);
}

static int add_process(struct sleepers *s, pid_t pid, struct err *err)
{
	struct tid_list tids = {0};
	int rc = tid_list_scan(&tids, pid, err);

	for (size_t i = 0; i < tids.tids.n && rc >= 0; i++)
		if (tids.tids.v[i] != getpid())
			rc = add_thread(s, pid, tids.tids.v[i], err);
	tid_list_done(&tids);
	return rc < 0 ? rc : 0;
}

static int add_all(struct sleepers *s, struct err *err)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int rc = 0;

	while (proc && !rc && (d = readdir(proc))) {
		pid_t pid = (pid_t)atoi(d->d_name);

		if (pid > 0 && pid != getpid())
			rc = add_process(s, pid, err);
	}
	if (proc)
		closedir(proc);
	return rc;
}

static void note_kernel_threads(const struct sleepers *s)
{
	if (s->n_kernel_threads && !s->d->session->opt->next_part)
		capture_note(s->d->result,
			     "%zu threads of the kernel waited all the time, which have no "
			     "samples here; --stacks -a shows where",
			     s->n_kernel_threads);
}

static int add_command(struct sleepers *s, struct err *err)
{
	const struct session *session = s->d->session;
	const struct alive *others = &s->d->alive;
	const pid_t pid = session->command_pid;
	int rc;

	if (session->opt->no_inherit)
		return add_thread(s, pid, pid, err);
	rc = add_process(s, pid, err);
	for (size_t i = 0; i < others->pids.n && !rc; i++)
		rc = add_process(s, others->pids.v[i], err);
	return rc;
}

/* Those that were in it all the time. */
static int add_cgroup(struct sleepers *s, struct err *err)
{
	const struct session *session = s->d->session;
	struct tid_list now = {0};
	int rc = cgroup_threads(session->cgroup_fd, &now, err);

	for (size_t i = 0; i < now.tids.n && !rc; i++) {
		const pid_t tid = now.tids.v[i], pid = tid_process(tid);

		if (pid && pid != getpid() && hash_get(&s->d->members, (uint64_t)tid) != HASH_NONE)
			rc = add_thread(s, pid, tid, err);
	}
	tid_list_done(&now);
	return rc;
}

static int add_chosen(struct sleepers *s, struct err *err)
{
	const struct session *session = s->d->session;
	const struct capture_options *o = session->opt;
	int rc = 0;

	/* Elsewhere others may have run. */
	if (o->cpus)
		return 0;
	if (o->cgroup)
		return add_cgroup(s, err);
	if (session->all_processes)
		return add_all(s, err);
	if (session->command_pid)
		return add_command(s, err);
	for (size_t i = 0; i < o->n_tids && !rc; i++)
		rc = add_thread(s, tid_process(o->tids[i]), o->tids[i], err);
	for (size_t i = 0; i < o->n_pids && !rc; i++)
		rc = add_process(s, o->pids[i], err);
	return rc;
}

static int add_sleepers(struct sleepers *s, struct err *err)
{
	const struct session *session = s->d->session;
	const struct event *e = switch_event(session);
	const struct perf_event_attr *a = &session->attrs[e - session->events];
	int rc;

	s->id = session_any_id(session, (size_t)(e - session->events));
	s->event_config = e->config;
	s->no_user = !(a->sample_type & PERF_SAMPLE_STACK_USER);
	s->thread.room = CAPTURE_STACK_BYTES;
	s->thread.stack = malloc(s->thread.room);
	if (!s->thread.stack)
		return err_nomem(err);
	read_format(s, session->probes.tracefs);
	rc = add_chosen(s, err);
	note_kernel_threads(s);
	note_untraced(s);
	untraced_done(&s->untraced);
	if (!rc)
		rc = flush(s, err);
	thread_state_release(&s->thread);
	stack_batch_done(&s->batch);
	free(s->thread.stack);
	return rc;
}

int switch_add_sleepers(struct drain *d, uint64_t ns, uint64_t end_ns, struct err *err)
{
	struct sleepers s = {.d = d, .ns = ns, .end_ns = end_ns};

	return add_sleepers(&s, err);
}

/* The reader takes them as switches that the kernel recorded. */
int switch_begin_sleepers(struct drain *d, uint64_t begin_ns, struct err *err)
{
	struct sleepers s = {.d = d, .at_begin = true, .ns = 1, .end_ns = begin_ns};
	int rc = add_sleepers(&s, err);

	for (size_t i = 0; i < s.they_are.n && !rc; i++)
		rc = put_switch(d, PERF_RECORD_MISC_SWITCH_OUT, s.they_are.v[i], 0, begin_ns + 1,
				err);
	vec_done(&s.they_are);
	return rc;
}
