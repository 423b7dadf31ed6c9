/* machine.c - processes, threads and the kernel, built from the records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/pair.h"
#include "reader/machine_model.h"
#include "reader/reader.h"

/* ---- processes and threads --------------------------------------------------------------- */

static struct process *process_find(struct machine *m, uint32_t pid)
{
	uint32_t i = hash_get(&m->process_index, pid);

	return i == HASH_NONE ? NULL : &m->processes.v[i];
}

struct process *process_get(struct machine *m, uint32_t pid)
{
	struct process *known = process_find(m, pid), p = {.pid = pid};

	if (known)
		return known;
	p.life = ++m->last_life;
	if (m->processes.n >= HASH_NONE || vec_reserve(&m->processes, m->processes.n + 1) ||
	    versions_restart(&m->versions, &p.space, NULL))
		return NULL;
	if (hash_put(&m->process_index, pid, (uint32_t)m->processes.n)) {
		space_free(&m->versions.pool, p.space);
		return NULL;
	}
	m->processes.v[m->processes.n] = p;
	return &m->processes.v[m->processes.n++];
}

static const char *intern(struct machine *m, const char *comm)
{
	uint32_t id = strtab_add_cstr(&m->comms, comm);

	return id == STRTAB_FAILED ? NULL : strtab_get(&m->comms, id);
}

/* The name of a thread that no record names. Pid -1 is a task that no longer existed when it was
 * sampled. A dying task may have lost its tid but not its pid; perf treats tid 0 as the idle task
 * in every case. */
static const char *default_comm(struct machine *m, uint32_t tid)
{
	char name[16];

	if (!tid)
		return intern(m, "swapper");
	snprintf(name, sizeof name, ":%d", (int)tid);
	return intern(m, name);
}

static struct thread *thread_find(struct machine *m, uint32_t pid, uint32_t tid)
{
	uint32_t i = hash_get(&m->thread_index, pair_key(pid, tid));

	return i == HASH_NONE ? NULL : &m->threads.v[i];
}

struct thread *thread_get(struct machine *m, uint32_t pid, uint32_t tid)
{
	struct thread *known = thread_find(m, pid, tid), t = {.pid = pid, .tid = tid};

	if (known)
		return known;
	if (m->threads.n >= HASH_NONE || vec_reserve(&m->threads, m->threads.n + 1) ||
	    hash_put(&m->thread_index, pair_key(pid, tid), (uint32_t)m->threads.n))
		return NULL;
	m->threads.v[m->threads.n] = t;
	return &m->threads.v[m->threads.n++];
}

static bool thread_is_live(const struct process *p, const struct thread *t)
{
	return t->live && t->life == p->life;
}

void thread_seen(struct process *p, struct thread *t)
{
	p->n_live += !thread_is_live(p, t);
	p->exited = false;
	t->live = true;
	t->life = p->life;
}

static void process_forget_former(struct versions *v, struct process *p)
{
	versions_drop(v, p->former);
	p->former = NULL;
}

int process_restart(struct machine *m, struct process *p, const struct address_space *like)
{
	process_forget_former(&m->versions, p);
	versions_drop(&m->versions, p->data);
	p->data = NULL;
	p->life = ++m->last_life;
	p->began_ns = m->now_ns;
	p->n_live = 0;
	p->exited = false;
	return versions_restart(&m->versions, &p->space, like);
}

/* During exec(2) the kernel drops the old maps, emits COMM, and then maps the new program; all this
 * happens inside the system call of the old program. */
static int process_exec(struct machine *m, struct process *p)
{
	struct address_space *old = space_new(&m->versions.pool, p->space, p->space->layout);

	if (!old || process_restart(m, p, NULL)) {
		space_free(&m->versions.pool, old);
		return -ERR_NOMEM;
	}
	p->former = old;
	return 0;
}

/* A task with pid and tid 0 that is not the kernel's idle task is in a process outside of the
 * recorder's PID namespace. It can be any of these, so records of one say nothing about another. */
const char *machine_foreign_comm(struct machine *m)
{
	return intern(m, ":0");
}

static bool is_foreign(uint32_t pid, uint32_t tid, const char *comm)
{
	return !pid && !tid && strncmp(comm, "swapper", 7) != 0;
}

void machine_at(struct machine *m, uint64_t time_ns)
{
	m->now_ns = time_ns;
}

int machine_comm(struct machine *m, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
	struct process *p = process_get(m, pid);
	struct thread *t = p ? thread_get(m, pid, tid) : NULL;
	const char *name = !t				? NULL
			   : is_foreign(pid, tid, comm) ? machine_foreign_comm(m)
							: intern(m, comm);

	m->changes++;
	if (!name || (exec && process_exec(m, p)))
		return -ERR_NOMEM;
	t->comm = name;
	t->named = true;
	if (!p->exited)
		thread_seen(p, t);
	return 0;
}

int machine_fork_found(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	struct process *p = process_get(m, pid);
	struct thread *t = p ? thread_get(m, pid, tid) : NULL;
	const struct thread *parent = thread_find(m, ppid, ptid);

	m->changes++;
	if (!t)
		return -ERR_NOMEM;
	thread_seen(p, t);
	if (!t->named) {
		t->named = parent && parent->named;
		t->comm = t->named ? parent->comm : NULL;
	}
	return 0;
}

int machine_fork(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	struct process *p = process_get(m, pid);
	const struct process *parent = process_find(m, ppid);
	struct thread *former = thread_find(m, pid, tid);

	m->changes++;
	if (p && !pid) /* see machine_foreign_comm() */
		return 0;
	if (!p)
		return -ERR_NOMEM;
	if (pid != ppid && process_restart(m, p, parent ? parent->space : NULL))
		return -ERR_NOMEM;
	if (pid != ppid && parent && parent->data &&
	    versions_restart(&m->versions, &p->data, parent->data))
		return -ERR_NOMEM;
	/* Old versions of perf make up a FORK of a thread from itself. */
	if (former && (pid != ppid || tid != ptid))
		former->named = false;
	return machine_fork_found(m, pid, ppid, tid, ptid);
}

/* ---- ends -------------------------------------------------------------------------------- */

static int thread_note_end(struct machine *m, struct thread *t)
{
	if (t->sampled && vec_push(&m->ended, (struct perf_thread){t->pid, t->tid}))
		return -ERR_NOMEM;
	t->sampled = false;
	return 0;
}

void machine_take_ended(struct machine *m, struct perf_threads *ret)
{
	struct perf_threads ended = m->ended;

	m->ended = *ret;
	m->ended.n = 0;
	*ret = ended;
}

/* Removes a thread; the last thread is moved to its place. */
static void thread_forget(struct machine *m, struct thread *t)
{
	const struct thread *last = &m->threads.v[m->threads.n - 1];

	hash_remove(&m->thread_index, pair_key(t->pid, t->tid));
	*t = *last;
	m->threads.n--;
	if (t != last) /* replaces, so that it needs no memory */
		hash_put(&m->thread_index, pair_key(t->pid, t->tid), (uint32_t)(t - m->threads.v));
}

static void process_forget(struct machine *m, struct process *p)
{
	const struct process *last = &m->processes.v[m->processes.n - 1];

	process_forget_former(&m->versions, p);
	versions_drop(&m->versions, p->data);
	versions_drop(&m->versions, p->space);
	hash_remove(&m->process_index, p->pid);
	*p = *last;
	m->processes.n--;
	if (p != last)
		hash_put(&m->process_index, p->pid, (uint32_t)(p - m->processes.v));
}

/* Late samples of this exit can no longer come: forgets the thread, and the process if this was the
 * exit of its last thread, unless it, or a new one with the same number, was seen alive since. */
static int exit_settle(struct machine *m, uint64_t exit)
{
	const struct perf_thread *e = &m->exits[exit % LATE_EXITS];
	struct thread *t = thread_find(m, e->pid, e->tid);
	struct process *p = process_find(m, e->pid);

	if (t && t->exit == exit && !(p && thread_is_live(p, t))) {
		if (thread_note_end(m, t))
			return -ERR_NOMEM;
		thread_forget(m, t);
	}
	if (p && p->exited && p->exit == exit)
		process_forget(m, p);
	return 0;
}

int machine_exit(struct machine *m, uint32_t pid, uint32_t tid)
{
	struct process *p = process_find(m, pid);
	struct thread *t = thread_find(m, pid, tid);

	m->changes++;
	if (!p)
		return 0;
	if (!m->exits)
		m->exits = calloc(LATE_EXITS, sizeof *m->exits);
	if (!m->exits)
		return -ERR_NOMEM;
	m->n_exits++;
	if (t) {
		p->n_live -= thread_is_live(p, t);
		t->live = false;
		t->exit = m->n_exits;
		if (thread_note_end(m, t))
			return -ERR_NOMEM;
	}
	p->exited = !p->n_live;
	p->exit = m->n_exits;
	if (m->n_exits > LATE_EXITS && exit_settle(m, m->n_exits - LATE_EXITS))
		return -ERR_NOMEM;
	m->exits[m->n_exits % LATE_EXITS] = (struct perf_thread){pid, tid};
	return 0;
}

/* ---- the machine ------------------------------------------------------------------------- */

int machine_new(struct machine **ret)
{
	struct machine *m = calloc(1, sizeof *m);

	if (!m)
		return -ERR_NOMEM;
	m->changes = 1;
	if (versions_restart(&m->versions, &m->kernel, NULL) ||
	    versions_restart(&m->versions, &m->guest_kernel, NULL) ||
	    versions_restart(&m->versions, &m->nothing, NULL)) {
		machine_free(m);
		return -ERR_NOMEM;
	}
	*ret = m;
	return 0;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->processes.n; i++) {
		space_free(&m->versions.pool, m->processes.v[i].space);
		space_free(&m->versions.pool, m->processes.v[i].former);
		space_free(&m->versions.pool, m->processes.v[i].data);
	}
	space_free(&m->versions.pool, m->kernel);
	space_free(&m->versions.pool, m->guest_kernel);
	space_free(&m->versions.pool, m->bare_kernel);
	space_free(&m->versions.pool, m->guest_user);
	space_free(&m->versions.pool, m->nothing);
	versions_done(&m->versions);
	vec_done(&m->processes);
	hash_done(&m->process_index);
	vec_done(&m->threads);
	hash_done(&m->thread_index);
	free(m->exits);
	vec_done(&m->ended);
	strtab_done(&m->comms);
	dso_table_done(&m->dsos);
	dso_table_done(&m->data_names);
	free(m);
}

int machine_add_build_id(struct machine *m, const char *path, const struct build_id *id,
			 uint16_t misc)
{
	bool host_kernel = (misc & 7) == PERF_CPUMODE_KERNEL && dso_kind_kernel(path) == DSO_KERNEL;

	/* The path in the kernel's entry may be that of a vmlinux; that in its maps never is. */
	return dso_table_add_id(&m->dsos, host_kernel ? DSO_KERNEL_PATH : path, id) ? -ERR_NOMEM
										    : 0;
}

/* A sample does not make a process known, as such a process would never be forgotten. */
const struct address_space *machine_space(struct machine *m, uint32_t pid)
{
	const struct process *p = process_find(m, pid);

	return versions_capture(&m->versions, p ? p->space : m->nothing);
}

static const char *comm_of(struct machine *m, uint32_t pid, uint32_t tid)
{
	struct thread *t = thread_find(m, pid, tid);

	if (!t)
		return default_comm(m, tid);
	if (!t->comm)
		t->comm = default_comm(m, tid);
	return t->comm;
}

/* A sampled thread that no record mentioned keeps its process alive when all other threads have
 * exited. A task that is about to end may no longer have a tid of its own. */
static int note_sampled(struct machine *m, struct process *p, uint32_t tid)
{
	struct thread *t = thread_find(m, p->pid, tid);

	if (!t && p->exited && tid && tid != UINT32_MAX) {
		t = thread_get(m, p->pid, tid);
		if (!t)
			return -ERR_NOMEM;
		thread_seen(p, t);
	}
	if (t)
		t->sampled = true;
	return 0;
}

static __attribute__((noinline)) const struct machine_place *
place_find(struct machine *m, uint32_t pid, uint32_t tid, struct machine_place *ret)
{
	struct process *p = process_find(m, pid);
	const char *comm;

	if (p && note_sampled(m, p, tid))
		return NULL;
	comm = comm_of(m, pid, tid);
	if (!comm)
		return NULL;
	*ret = (struct machine_place){
		.pid = pid,
		.tid = tid,
		.changes = m->changes,
		.space = machine_space(m, pid),
		.kernel = versions_capture(&m->versions, m->kernel),
		.comm = comm,
		.has_former = p && p->former,
	};
	return ret;
}

const struct machine_place *machine_place(struct machine *m, uint32_t pid, uint32_t tid)
{
	struct machine_place *p = &m->recent[tid % RECENT];

	return p->tid == tid && p->pid == pid && p->changes == m->changes
		       ? p
		       : place_find(m, pid, tid, p);
}

const struct address_space *machine_former_space(struct machine *m, uint32_t pid, uint64_t user_ip)
{
	struct process *p = process_find(m, pid);

	if (!p || !p->former || address_space_find(p->space, user_ip) ||
	    !address_space_find(p->former, user_ip))
		return NULL;
	return versions_capture(&m->versions, p->former);
}

void machine_runs(struct machine *m, uint32_t pid)
{
	struct process *p = process_find(m, pid);

	m->changes++;
	if (p && p->former)
		process_forget_former(&m->versions, p);
}

const struct address_space *machine_guest_kernel(struct machine *m)
{
	return versions_capture(&m->versions, m->guest_kernel);
}

const struct address_space *machine_guest_user(struct machine *m)
{
	static const struct dso_key key = {.kind = DSO_UNKNOWN, .path = "[guest]"};
	struct map map = {.prot = PROT_EXEC, .end = UINT64_MAX};

	if (!m->guest_user) {
		map.dso = dso_table_get(&m->dsos, &key);
		if (!map.dso || versions_restart(&m->versions, &m->guest_user, NULL) ||
		    versions_replace(&m->versions, &m->guest_user, map.start, map.end, &map))
			return NULL;
	}
	return versions_capture(&m->versions, m->guest_user);
}

size_t machine_dso_count(const struct machine *m)
{
	return m->dsos.entries.n;
}

const struct dso *machine_dso(const struct machine *m, size_t i)
{
	return dso_table_at(&m->dsos, i);
}

uint64_t machine_kernel_end(const struct machine *m)
{
	return m->kernel_end;
}

size_t machine_map_count(const struct machine *m)
{
	return m->versions.kept.n;
}

const struct map *machine_map(const struct machine *m, size_t i)
{
	return m->versions.kept.v[i];
}

void machine_keep_maps(struct machine *m)
{
	m->versions.keep_all = true;
}

uint64_t machine_next_epoch(struct machine *m)
{
	m->changes++;
	return ++m->versions.epoch;
}

void machine_reclaim(struct machine *m, uint64_t oldest_held)
{
	versions_reclaim(&m->versions, oldest_held);
}
