/* machine.c - processes, threads and the kernel, as the records tell of them. */
#include "reader/machine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/dso.h"
#include "reader/space.h"

/* The last 16 MiB of the address space hold fixed pages (vsyscall, fixmap) and no kernel text. */
#define KERNEL_TOP 0xffffffffff000000u

struct process {
	uint32_t pid;
	uint32_t life; /* a new one (fork, exec) ends the threads of the former */
	size_t n_live; /* threads of this life that were seen and have not exited */
	bool exited;   /* the last of them has: maps stay for late samples */
	struct address_space *space;
	struct address_space *former; /* before exec, until the new program runs; NULL */
};

struct thread {
	uint32_t life;	  /* of its process when last seen alive */
	bool live;	  /* in that life */
	bool named;	  /* a record told comm; else it is ":TID" */
	const char *comm; /* interned */
};

struct machine {
	struct arena arena; /* struct map */
	VEC(const struct map *) maps;
	struct dso_table dsos;
	struct strtab comms;
	VEC(struct process) processes;
	struct hash_table process_index; /* pid -> processes */
	VEC(struct thread) threads;
	struct hash_table thread_index; /* pid << 32 | tid -> threads */
	struct address_space *kernel, *guest_kernel;
	struct address_space *guest_user;  /* NULL until needed */
	struct address_space *bare_kernel; /* without KSYMBOL regions; NULL: there were none */
	struct space_pool pool;
	uint64_t last_layout;
	size_t n_former; /* processes that have a former space */
	uint64_t epoch;
	uint64_t reclaimed_to; /* nothing to do for machine_reclaim() with this epoch; 0: unknown */
	struct address_space *superseded; /* versions that were captured and are not current */
};

/* ---- versions ---------------------------------------------------------------------------- */

/* Frees a version, or keeps it as long as samples refer to it. NULL is allowed. */
static void space_drop(struct machine *m, struct address_space *old)
{
	if (old && old->captured) {
		old->next = m->superseded;
		m->superseded = old;
		if (old->epoch < m->reclaimed_to)
			m->reclaimed_to = 0;
	} else {
		space_free(&m->pool, old);
	}
}

/* Puts `fresh` in the place of the current version. */
static void space_supersede(struct machine *m, struct address_space **cur,
			    struct address_space *fresh)
{
	struct address_space *old = *cur;

	*cur = fresh;
	space_drop(m, old);
}

/* Makes *cur a version with the maps of `like` (NULL: none) under a new layout id. */
static int space_restart(struct machine *m, struct address_space **cur,
			 const struct address_space *like)
{
	struct address_space *fresh = space_new(&m->pool, like, ++m->last_layout);

	if (!fresh)
		return -ERR_NOMEM;
	space_supersede(m, cur, fresh);
	return 0;
}

/* Makes *cur a version that may be changed. */
static int space_make_own(struct machine *m, struct address_space **cur)
{
	struct address_space *fresh;

	if (!(*cur)->captured)
		return 0;
	fresh = space_new(&m->pool, *cur, (*cur)->layout);
	if (!fresh)
		return -ERR_NOMEM;
	space_supersede(m, cur, fresh);
	return 0;
}

static const struct address_space *space_capture(const struct machine *m, struct address_space *as)
{
	as->captured = true;
	as->epoch = m->epoch;
	return as;
}

uint64_t machine_next_epoch(struct machine *m)
{
	return ++m->epoch;
}

void machine_reclaim(struct machine *m, uint64_t oldest_held)
{
	struct address_space **p = &m->superseded, *as;

	if (oldest_held == m->reclaimed_to)
		return;
	m->reclaimed_to = oldest_held;
	while ((as = *p)) {
		if (as->epoch < oldest_held) {
			*p = as->next;
			space_free(&m->pool, as);
		} else {
			p = &as->next;
		}
	}
}

size_t machine_space_bytes(const struct machine *m)
{
	return space_pool_bytes(&m->pool);
}

/* ---- maps -------------------------------------------------------------------------------- */

/* Kinds whose runtime addresses mean something by themselves: pgoff is no file offset. */
static bool is_identity(const struct dso *d)
{
	return d->kind != DSO_FILE && d->kind != DSO_VDSO && d->kind != DSO_KERNEL_MODULE;
}

/* Do both show the same byte of the same dso at any address they have in common? */
static bool map_agrees(const struct map *a, const struct map *b)
{
	if (a->dso != b->dso || a->prot != b->prot || a->flags != b->flags)
		return false;
	return is_identity(a->dso) ? a->dso->kind != DSO_KERNEL || a->pgoff == b->pgoff
				   : a->pgoff - a->start == b->pgoff - b->start;
}

static int map_add(struct machine *m, struct address_space *as, const struct map *like)
{
	struct map *map;

	if (m->maps.n >= UINT32_MAX)
		return -ERR_NOMEM;
	map = arena_memdup(&m->arena, like, sizeof *like);
	if (!map)
		return -ERR_NOMEM;
	map->id = (uint32_t)m->maps.n;
	if (vec_push(&m->maps, map) || space_insert(&m->pool, as, map))
		return -ERR_NOMEM;
	return 0;
}

/* What is left of old when [start, end) goes. */
static int map_cut(struct machine *m, struct address_space *as, const struct map *old,
		   uint64_t start, uint64_t end)
{
	struct map rest = *old;

	if (space_remove(&m->pool, as, old))
		return -ERR_NOMEM;
	rest.end = start;
	if (old->start < start && map_add(m, as, &rest))
		return -ERR_NOMEM;
	rest.start = end;
	rest.end = old->end;
	/* The pgoff of kernel maps is the address of a symbol, not of their start. */
	if (old->dso->kind != DSO_KERNEL && old->dso->kind != DSO_GUEST_KERNEL)
		rest.pgoff += end - old->start;
	return old->end > end ? map_add(m, as, &rest) : 0;
}

static const struct map *last_overlap(const struct address_space *as, uint64_t start, uint64_t end)
{
	const struct map *old = space_floor(as, end - 1);

	return old && old->end > start ? old : NULL;
}

/* [start, end) of *cur is replaced by `fresh` (which has these bounds), or by nothing (NULL). */
static int space_replace(struct machine *m, struct address_space **cur, uint64_t start,
			 uint64_t end, const struct map *fresh)
{
	const struct map *old;
	bool moved = false;

	if (start >= end) /* at the very end of the address space */
		return 0;
	old = last_overlap(*cur, start, end);
	if (!old && !fresh)
		return 0;
	/* Known already: perf's picture of the start and the kernel's events overlap, and JITs flip
	 * protections back and forth. */
	if (old && fresh && old->start <= start && old->end >= end && map_agrees(old, fresh))
		return 0;
	if (space_make_own(m, cur))
		return -ERR_NOMEM;
	for (; old; old = last_overlap(*cur, start, end)) {
		moved |= !fresh || !map_agrees(old, fresh);
		if (map_cut(m, *cur, old, start, end))
			return -ERR_NOMEM;
	}
	if (moved)
		(*cur)->layout = ++m->last_layout;
	return fresh ? map_add(m, *cur, fresh) : 0;
}

/* ---- processes and threads --------------------------------------------------------------- */

static struct process *process_find(struct machine *m, uint32_t pid)
{
	uint32_t i = hash_get(&m->process_index, pid);

	return i == HASH_NONE ? NULL : &m->processes.v[i];
}

/* Pointers to processes and threads die at the next call of a _get function of their kind. */
static struct process *process_get(struct machine *m, uint32_t pid)
{
	struct process *known = process_find(m, pid), p = {.pid = pid};

	if (known)
		return known;
	if (m->processes.n >= HASH_NONE || vec_reserve(&m->processes, m->processes.n + 1) ||
	    space_restart(m, &p.space, NULL))
		return NULL;
	if (hash_put(&m->process_index, pid, (uint32_t)m->processes.n)) {
		space_free(&m->pool, p.space);
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

/* The name of a thread that no record named. Pid -1 is a task that was gone when it was sampled. A
 * dying task may have lost its tid but not its pid: to perf, tid 0 is always the idle task. */
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
	uint32_t i = hash_get(&m->thread_index, (uint64_t)pid << 32 | tid);

	return i == HASH_NONE ? NULL : &m->threads.v[i];
}

static struct thread *thread_get(struct machine *m, uint32_t pid, uint32_t tid)
{
	struct thread *known = thread_find(m, pid, tid), t = {0};

	if (known)
		return known;
	t.comm = default_comm(m, tid);
	if (!t.comm || m->threads.n >= HASH_NONE || vec_reserve(&m->threads, m->threads.n + 1) ||
	    hash_put(&m->thread_index, (uint64_t)pid << 32 | tid, (uint32_t)m->threads.n))
		return NULL;
	m->threads.v[m->threads.n] = t;
	return &m->threads.v[m->threads.n++];
}

static bool thread_is_live(const struct process *p, const struct thread *t)
{
	return t->live && t->life == p->life;
}

static void thread_seen(struct process *p, struct thread *t)
{
	p->n_live += !thread_is_live(p, t);
	p->exited = false;
	t->live = true;
	t->life = p->life;
}

static void process_forget_former(struct machine *m, struct process *p)
{
	m->n_former -= p->former != NULL;
	space_drop(m, p->former);
	p->former = NULL;
}

/* The process begins a new life, with the maps of `like`. */
static int process_restart(struct machine *m, struct process *p, const struct address_space *like)
{
	process_forget_former(m, p);
	p->life++;
	p->n_live = 0;
	p->exited = false;
	return space_restart(m, &p->space, like);
}

/* The kernel replaces the maps, says so, and maps the new program, all inside of the system call
 * that the old program made. */
static int process_exec(struct machine *m, struct process *p)
{
	struct address_space *old = space_new(&m->pool, p->space, p->space->layout);

	if (!old || process_restart(m, p, NULL)) {
		space_free(&m->pool, old);
		return -ERR_NOMEM;
	}
	if (!address_space_count(old)) {
		space_free(&m->pool, old);
		return 0;
	}
	p->former = old;
	m->n_former++;
	return 0;
}

int machine_comm(struct machine *m, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
	struct process *p = process_get(m, pid);
	struct thread *t = p ? thread_get(m, pid, tid) : NULL;
	const char *name = t ? intern(m, comm) : NULL;

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

	if (!t)
		return -ERR_NOMEM;
	thread_seen(p, t);
	if (!t->named) {
		t->named = parent && parent->named;
		t->comm = t->named ? parent->comm : default_comm(m, tid);
	}
	return t->comm ? 0 : -ERR_NOMEM;
}

int machine_fork(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	struct process *p = process_get(m, pid);
	const struct process *parent = process_find(m, ppid);
	struct thread *former = thread_find(m, pid, tid);

	if (!p)
		return -ERR_NOMEM;
	if (pid != ppid && process_restart(m, p, parent ? parent->space : NULL))
		return -ERR_NOMEM;
	/* Old perf makes up a FORK of a thread from itself. */
	if (former && (pid != ppid || tid != ptid))
		former->named = false;
	return machine_fork_found(m, pid, ppid, tid, ptid);
}

int machine_exit(struct machine *m, uint32_t pid, uint32_t tid)
{
	struct process *p = process_get(m, pid);
	struct thread *t = p ? thread_get(m, pid, tid) : NULL;

	if (!t)
		return -ERR_NOMEM;
	p->n_live -= thread_is_live(p, t);
	t->live = false;
	p->exited = !p->n_live;
	return 0;
}

/* ---- mappings ---------------------------------------------------------------------------- */

static uint64_t range_end(uint64_t start, uint64_t len)
{
	return len > UINT64_MAX - start ? UINT64_MAX : start + len;
}

/* Where code of the kernel itself may go on from `end`: recordings give the range of .text, but
 * .init.text and the trampolines lie behind it, up to the first module. */
static uint64_t kernel_end(const struct address_space *as, uint64_t end)
{
	size_t lo = 0, hi = address_space_count(as);

	while (lo < hi) { /* the first map that starts at or behind end */
		size_t mid = lo + (hi - lo) / 2;

		if (address_space_at(as, mid)->start < end)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < address_space_count(as))
		return address_space_at(as, lo)->start;
	return end < KERNEL_TOP ? KERNEL_TOP : end;
}

static int kernel_mmap(struct machine *m, const struct machine_mmap *r, struct dso_key *key)
{
	struct map map = {
		/* perf fills no prot in the MMAP2 of the kernel. */
		.prot = r->prot ? r->prot : PROT_EXEC, .flags = r->flags, .start = r->start,
		.end = range_end(r->start, r->len),    .pgoff = r->pgoff,
	};

	key->kind = dso_kind_kernel(r->path);
	if (r->guest) {
		/* The name of a guest's kernel may have a pid: "[guest.kernel.kallsyms.5]_text". */
		if (key->kind == DSO_KERNEL)
			key->path = DSO_GUEST_KERNEL_PATH;
		key->kind = DSO_GUEST_KERNEL;
	} else if (key->kind == DSO_KERNEL) {
		/* Not the trampolines that old x86 kernels have as maps of their own. */
		if (r->path[0] == '[')
			map.end = kernel_end(m->kernel, map.end);
		key->path = DSO_KERNEL_PATH;
	}
	map.dso = dso_table_get(&m->dsos, key);
	if (!map.dso)
		return -ERR_NOMEM;
	if (r->guest)
		return space_replace(m, &m->guest_kernel, map.start, map.end, &map);
	if (m->bare_kernel && space_replace(m, &m->bare_kernel, map.start, map.end, &map))
		return -ERR_NOMEM;
	return space_replace(m, &m->kernel, map.start, map.end, &map);
}

static int note_jitdump(struct machine *m, struct process *p, const struct dso *dso)
{
	uint32_t pid;

	if (p->space->jitdump == dso || !jitdump_pid(dso->path, &pid))
		return 0;
	if (space_make_own(m, &p->space))
		return -ERR_NOMEM;
	p->space->jitdump = dso;
	return 0;
}

static int user_mmap(struct machine *m, const struct machine_mmap *r, struct dso_key *key)
{
	struct process *p = process_get(m, r->pid);
	struct thread *t = p ? thread_get(m, r->pid, r->tid) : NULL;
	struct map map = {
		.prot = r->prot | PROT_EXEC,
		.flags = r->flags,
		.start = r->start,
		.end = range_end(r->start, r->len),
		.pgoff = r->pgoff,
	};
	char perf_map[32];

	if (!t)
		return -ERR_NOMEM;
	/* All threads were gone, so this is another process whose FORK got lost. */
	if (p->exited && r->tid == r->pid && process_restart(m, p, NULL))
		return -ERR_NOMEM;
	thread_seen(p, t);
	if (!r->is_exec)
		return space_replace(m, &p->space, map.start, map.end, NULL);
	key->kind = dso_kind_user(r->path, r->flags);
	if (key->kind == DSO_ANON) {
		/* Where JIT compilers leave their symbols. What the kernel and /proc/PID/maps
		 * say of pgoff and inode differs for anonymous memory, and means nothing. */
		snprintf(perf_map, sizeof perf_map, "/tmp/perf-%d.map", (int)r->pid);
		*key = (struct dso_key){.kind = DSO_ANON, .path = perf_map, .pid = r->pid};
		map.pgoff = map.start;
	} else if (key->kind == DSO_VDSO) {
		map.pgoff = 0;
	}
	if (key->kind == DSO_FILE)
		key->mapped_by = r->pid;
	map.dso = dso_table_get(&m->dsos, key);
	if (!map.dso)
		return -ERR_NOMEM;
	if (key->kind == DSO_FILE && note_jitdump(m, p, map.dso))
		return -ERR_NOMEM;
	return space_replace(m, &p->space, map.start, map.end, &map);
}

int machine_mmap(struct machine *m, const struct machine_mmap *r)
{
	bool kernel = r->kernel || r->pid == UINT32_MAX;
	struct dso_key key = {
		.path = r->path,
		.maj = r->maj,
		.min = r->min,
		.ino = r->ino,
		.ino_generation = r->ino_generation,
		.build_id = r->build_id,
	};

	/* Kernel addresses are 0 under kptr_restrict. Processes inside a guest have pids of their
	 * own, which must not be mixed with ours. */
	if (!r->len || (r->guest && !kernel))
		return 0;
	return kernel ? kernel_mmap(m, r, &key) : user_mmap(m, r, &key);
}

/* The part of a map in [start, end), which it overlaps. */
static struct map map_part(const struct map *m, uint64_t start, uint64_t end)
{
	struct map part = *m;

	part.start = start > m->start ? start : m->start;
	part.end = end < m->end ? end : m->end;
	if (m->dso->kind != DSO_KERNEL && m->dso->kind != DSO_GUEST_KERNEL)
		part.pgoff += part.start - m->start;
	return part;
}

/* [start, end) of the kernel shows again what it would without KSYMBOL records. */
static int uncover_kernel(struct machine *m, uint64_t start, uint64_t end)
{
	const struct map *below;

	if (space_replace(m, &m->kernel, start, end, NULL))
		return -ERR_NOMEM;
	while ((below = last_overlap(m->bare_kernel, start, end))) {
		struct map part = map_part(below, start, end);

		if (space_replace(m, &m->kernel, part.start, part.end, &part))
			return -ERR_NOMEM;
		end = part.start;
		if (start >= end)
			break;
	}
	return 0;
}

int machine_ksymbol(struct machine *m, uint64_t addr, uint32_t len, const char *name,
		    bool unregister)
{
	struct map map = {
		.prot = PROT_EXEC, .start = addr, .end = range_end(addr, len), .pgoff = addr};
	const struct map *old = address_space_find(m->kernel, addr);

	if (unregister) {
		if (!old || old->dso->kind != DSO_BPF || old->start != addr)
			return 0;
		return uncover_kernel(m, old->start, old->end);
	}
	if (!len)
		return 0;
	if (!m->bare_kernel && space_restart(m, &m->bare_kernel, m->kernel))
		return -ERR_NOMEM;
	map.dso = dso_table_get(&m->dsos, &(struct dso_key){.kind = DSO_BPF, .path = name});
	if (!map.dso)
		return -ERR_NOMEM;
	return space_replace(m, &m->kernel, map.start, map.end, &map);
}

/* ---- the machine ------------------------------------------------------------------------- */

int machine_new(struct machine **ret)
{
	struct machine *m = calloc(1, sizeof *m);

	if (!m)
		return -ERR_NOMEM;
	if (space_restart(m, &m->kernel, NULL) || space_restart(m, &m->guest_kernel, NULL)) {
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
		space_free(&m->pool, m->processes.v[i].space);
		space_free(&m->pool, m->processes.v[i].former);
	}
	space_free(&m->pool, m->kernel);
	space_free(&m->pool, m->guest_kernel);
	space_free(&m->pool, m->bare_kernel);
	space_free(&m->pool, m->guest_user);
	m->reclaimed_to = 0;
	machine_reclaim(m, UINT64_MAX);
	assert(!m->pool.nodes && !m->pool.spaces);
	vec_done(&m->processes);
	hash_done(&m->process_index);
	vec_done(&m->threads);
	hash_done(&m->thread_index);
	strtab_done(&m->comms);
	dso_table_done(&m->dsos);
	vec_done(&m->maps);
	arena_done(&m->arena);
	free(m);
}

int machine_add_build_id(struct machine *m, const char *path, const struct build_id *id,
			 uint16_t misc)
{
	bool host_kernel = (misc & 7) == PERF_CPUMODE_KERNEL && dso_kind_kernel(path) == DSO_KERNEL;

	/* The kernel's entry may have the path of a vmlinux; its maps never do. */
	return dso_table_add_id(&m->dsos, host_kernel ? DSO_KERNEL_PATH : path, id) ? -ERR_NOMEM
										    : 0;
}

const struct address_space *machine_space(struct machine *m, uint32_t pid)
{
	const struct process *p = process_get(m, pid);

	return p ? space_capture(m, p->space) : NULL;
}

bool machine_has_former(const struct machine *m)
{
	return m->n_former;
}

const struct address_space *machine_former_space(struct machine *m, uint32_t pid, uint64_t user_ip)
{
	struct process *p = process_find(m, pid);

	if (!p || !p->former || address_space_find(p->space, user_ip) ||
	    !address_space_find(p->former, user_ip))
		return NULL;
	return space_capture(m, p->former);
}

void machine_runs(struct machine *m, uint32_t pid)
{
	struct process *p = process_find(m, pid);

	if (p && p->former)
		process_forget_former(m, p);
}

const struct address_space *machine_kernel(struct machine *m)
{
	return space_capture(m, m->kernel);
}

const struct address_space *machine_guest_kernel(struct machine *m)
{
	return space_capture(m, m->guest_kernel);
}

const struct address_space *machine_guest_user(struct machine *m)
{
	static const struct dso_key key = {.kind = DSO_UNKNOWN, .path = "[guest]"};
	struct map map = {.prot = PROT_EXEC, .end = UINT64_MAX};

	if (!m->guest_user) {
		map.dso = dso_table_get(&m->dsos, &key);
		if (!map.dso || space_restart(m, &m->guest_user, NULL) ||
		    space_replace(m, &m->guest_user, map.start, map.end, &map))
			return NULL;
	}
	return space_capture(m, m->guest_user);
}

const char *machine_comm_of(struct machine *m, uint32_t pid, uint32_t tid)
{
	const struct thread *t = thread_get(m, pid, tid);

	return t ? t->comm : NULL;
}

size_t machine_dso_count(const struct machine *m)
{
	return m->dsos.entries.n;
}

const struct dso *machine_dso(const struct machine *m, size_t i)
{
	return dso_table_at(&m->dsos, i);
}

size_t machine_map_count(const struct machine *m)
{
	return m->maps.n;
}

const struct map *machine_map(const struct machine *m, size_t i)
{
	return m->maps.v[i];
}
