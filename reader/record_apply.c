/* record_apply.c - records of the kernel about processes, and about losses. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/processor.h"
#include "reader/dso.h"
#include "reader/format.h"
#include "reader/record.h"
#include "reader/task_ends.h"

/* Turns the result of a machine function, which fails only when out of memory, into ours. */
static int machine_result(struct perf_file *f, int rc)
{
	return rc ? err_nomem(&f->err) : 0;
}

static void map_owner(struct machine_mmap *m, const struct record_view *v)
{
	unsigned mode = v->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	m->guest = mode == PERF_CPUMODE_GUEST_KERNEL || mode == PERF_CPUMODE_GUEST_USER;
	m->kernel = mode == PERF_CPUMODE_KERNEL || mode == PERF_CPUMODE_GUEST_KERNEL;
}

/* Reads pid, tid, start, length and offset, which MMAP and MMAP2 have in common. */
static struct machine_mmap mmap_begin(struct perf_file *f, struct record_view *v)
{
	struct machine_mmap m = {.pid = buf_u32(&v->b)};

	m.tid = buf_u32(&v->b);
	m.start = buf_u64(&v->b);
	m.len = buf_u64(&v->b);
	m.pgoff = buf_u64(&v->b);
	map_owner(&m, v);
	if (v->misc & PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT)
		file_note(f, NOTE_MAPS_TIMEOUT,
			  "perf gave up reading the maps of process %u; some are missing", m.pid);
	return m;
}

/* The kernel marks what is not code. */
static uint32_t prot_by_misc(const struct record_view *v)
{
	return v->misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_EXEC;
}

/* Code of a file in an archive belongs to that file. */
static int add_mmap(struct perf_file *f, struct machine_mmap *m)
{
	const struct map_source src = {m->path, m->pid, m->maj, m->min, m->ino, m->pgoff};
	struct map_part part;

	if (f->part_of && m->is_exec && m->path && !m->kernel && !m->guest &&
	    dso_kind_user(m->path, m->flags) == DSO_FILE &&
	    f->part_of(f->part_of_arg, &src, &part)) {
		m->path = part.path;
		m->pgoff -= part.start;
	}
	return machine_result(f, machine_mmap(f->machine, m));
}

int apply_mmap(struct perf_file *f, struct record_view *v)
{
	struct machine_mmap m = mmap_begin(f, v);

	m.prot = prot_by_misc(v);
	m.is_exec = m.prot & PROT_EXEC;
	m.path = buf_cstr(&v->b);
	return add_mmap(f, &m);
}

/* Does the union of MMAP2 hold a build id? The flag alone is not enough: if one recorder on a
 * machine has asked for build ids, the kernel (seen in 6.18) leaves PERF_RECORD_MISC_MMAP_BUILD_ID
 * set in the copies for all other recorders, which have device and inode numbers. A build id has 3
 * zero bytes after its size, and zeros after its end. In recordings that did not ask for build ids,
 * the size must also be one that linkers make. */
static bool holds_build_id(const struct perf_file *f, const struct record_view *v)
{
	struct buf b = v->b;
	uint8_t size = buf_u8(&b), rest = 0;
	const uint8_t *id;
	unsigned i;

	if (!(v->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) || !size || size > BUILD_ID_MAX)
		return false;
	for (i = 0; i < 3; i++)
		rest |= buf_u8(&b);
	id = buf_take(&b, BUILD_ID_MAX);
	for (i = size; id && i < BUILD_ID_MAX; i++)
		rest |= id[i];
	return id && !rest && (size == 16 || size == 20 || f->events.asks_for_build_ids);
}

/* 32-bit tasks on a 64-bit kernel have another vDSO, below 4 GiB. */
static const char *path_of(const struct perf_file *f, const struct machine_mmap *m,
			   const char *recorded)
{
	const char *arch = f->info.arch;
	const struct processor *cpu = processor_find(arch, 0);
	bool is_64 = cpu ? cpu->word_bytes == 8 : arch && strstr(arch, "64");

	if (is_64 && recorded && !strcmp(recorded, "[vdso]") && m->start + m->len <= 1ull << 32)
		return DSO_VDSO32_PATH;
	return recorded;
}

/* From Linux 3.16 to 4.20 (d9c1bb2f6a21) MMAP2 has prot and flags only of files, and 0 of all other
 * memory. A real mapping is either private or shared. */
static bool hides_prot(const struct machine_mmap *m)
{
	return !m->prot && !m->flags && m->path && dso_kind_user(m->path, 0) != DSO_FILE;
}

int apply_mmap2(struct perf_file *f, struct record_view *v)
{
	struct machine_mmap m = mmap_begin(f, v);

	if (holds_build_id(f, v)) {
		m.build_id.size = buf_u8(&v->b);
		buf_skip(&v->b, 3);
		memcpy(m.build_id.bytes, buf_take(&v->b, BUILD_ID_MAX), m.build_id.size);
	} else {
		m.maj = buf_u32(&v->b);
		m.min = buf_u32(&v->b);
		m.ino = buf_u64(&v->b);
		m.ino_generation = buf_u64(&v->b);
	}
	if (record_mmap2_lacks_prot(v)) {
		m.prot = prot_by_misc(v);
	} else {
		m.prot = buf_u32(&v->b);
		m.flags = buf_u32(&v->b);
		if (record_is_file_mode(m.prot))
			m.prot = PROT_READ | PROT_EXEC;
	}
	m.path = path_of(f, &m, buf_cstr(&v->b));
	if (hides_prot(&m))
		m.prot = prot_by_misc(v);
	m.is_exec = m.prot & PROT_EXEC;
	m.is_exec |= f->info.is_simpleperf && simpleperf_is_code(&f->simpleperf, m.path, m.prot);
	return add_mmap(f, &m);
}

int apply_comm(struct perf_file *f, struct record_view *v)
{
	uint32_t pid = buf_u32(&v->b), tid = buf_u32(&v->b);

	switches_note_exec(f, v);
	if (!v->stream && v->misc & PERF_RECORD_MISC_COMM_EXEC && growth_note_space(f, pid, 0))
		return -(int)f->err.code;
	if (task_ends_note_exec(f, v, pid))
		return -ERR_NOMEM;
	machine_at(f->machine, task_record_time(f, v));
	return machine_result(f, machine_comm(f->machine, pid, tid, buf_cstr(&v->b),
					      v->misc & PERF_RECORD_MISC_COMM_EXEC));
}

int apply_fork(struct perf_file *f, struct record_view *v)
{
	uint32_t pid = buf_u32(&v->b), ppid = buf_u32(&v->b);
	uint32_t tid = buf_u32(&v->b), ptid = buf_u32(&v->b);

	if (f->switches.on && !v->stream && !(v->misc & MISC_FORK_EXEC))
		switches_begin_thread(f, pid, tid, buf_u64(&v->b), SWITCH_OFF);
	if (f->switches.on && !v->stream)
		switches_note_parent(f, tid, ptid);
	if (!v->stream && pid != ppid && growth_note_space(f, pid, ppid))
		return -(int)f->err.code;
	machine_at(f->machine, task_record_time(f, v));
	return machine_result(f, v->misc & MISC_FORK_EXEC
					 ? machine_fork_found(f->machine, pid, ppid, tid, ptid)
					 : machine_fork(f->machine, pid, ppid, tid, ptid));
}

int apply_exit(struct perf_file *f, struct record_view *v)
{
	uint32_t pid = buf_u32(&v->b), tid;
	int rc = 0;

	buf_skip(&v->b, 4); /* parent */
	tid = buf_u32(&v->b);
	buf_skip(&v->b, 4);
	if (f->switches.on && !v->stream)
		rc = switches_end_thread(f, tid, buf_u64(&v->b));
	if (!rc)
		rc = task_ends_note_exit(f, v, pid, tid);
	if (rc)
		return rc;
	return machine_result(f, machine_exit(f->machine, pid, tid));
}

int apply_ksymbol(struct perf_file *f, struct record_view *v)
{
	uint64_t addr = buf_u64(&v->b);
	uint32_t len = buf_u32(&v->b);
	uint16_t flags;

	buf_skip(&v->b, 2); /* BPF or out of line: code either way */
	flags = buf_u16(&v->b);
	return machine_result(f, machine_ksymbol(f->machine, addr, len, buf_cstr(&v->b),
						 flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER));
}

/* The path of a cgroup; `path` NULL: no record has named it so far. */
static int add_cgroup(struct perf_file *f, uint64_t id, const char *path)
{
	char number[32];
	const char *copy;

	snprintf(number, sizeof number, "cgroup-%llu", (unsigned long long)id);
	path = path ? path : number;
	copy = arena_strndup(&f->arena, path, strlen(path));
	if (!copy || hash_put(&f->cgroup_ids, id, (uint32_t)f->cgroups.n) ||
	    vec_push(&f->cgroups, copy))
		return err_nomem(&f->err);
	return 0;
}

/* perf_event.h, PERF_RECORD_CGROUP: u64 id; char path[]. */
int apply_cgroup(struct perf_file *f, struct record_view *v)
{
	uint64_t id = buf_u64(&v->b);
	const char *path = buf_cstr(&v->b);
	uint32_t known = hash_get(&f->cgroup_ids, id);

	if (!path || (known != HASH_NONE && !strcmp(f->cgroups.v[known], path)))
		return 0;
	return add_cgroup(f, id, path);
}

const char *file_cgroup(struct perf_file *f, uint64_t id)
{
	uint32_t known = hash_get(&f->cgroup_ids, id);

	if (known == HASH_NONE) {
		if (add_cgroup(f, id, NULL))
			return NULL;
		known = (uint32_t)f->cgroups.n - 1;
	}
	return f->cgroups.v[known];
}

int apply_lost(struct perf_file *f, struct record_view *v)
{
	buf_skip(&v->b, 8); /* id */
	f->stats.lost_records += buf_u64(&v->b);
	return 0;
}

int apply_lost_samples(struct perf_file *f, struct record_view *v)
{
	/* With this bit a BPF filter of the user has dropped the samples. */
	const uint16_t dropped_on_purpose = 1u << 15;
	uint64_t lost;

	if (v->misc & dropped_on_purpose)
		return 0;
	lost = buf_u64(&v->b);
	f->stats.lost_samples += lost;
	if (switches_cpu_or_mark(f, v) == LOST_MARK_UNWRITTEN)
		f->stats.unwritten_samples += lost;
	return 0;
}

int apply_throttle(struct perf_file *f, struct record_view *v)
{
	(void)v;
	f->stats.throttled++;
	return 0;
}

/* cookie, n, ips. The thread is only in the trailer. */
int apply_callchain_deferred(struct perf_file *f, struct record_view *v)
{
	const struct event *e = events_of_trailer(&f->events, &v->b);
	uint64_t cookie = buf_u64(&v->b), n = buf_u64(&v->b), *ips;
	struct buf chain = buf_sub(&v->b, n * 8), trailer = v->b;
	uint32_t tid;

	if (!e || !(e->pub.attr.sample_type & PERF_SAMPLE_TID) ||
	    buf_left(&trailer) < e->trailer_bytes || !e->trailer_bytes)
		return 0;
	buf_skip(&trailer, buf_left(&trailer) - e->trailer_bytes + 4);
	tid = buf_u32(&trailer);
	ips = scratch_alloc(&f->filling->scratch, n * sizeof *ips);
	if (!ips)
		return err_nomem(&f->err);
	for (uint64_t i = 0; i < n; i++)
		ips[i] = buf_u64(&chain);
	return deliver_deferred(f, tid, cookie, ips, n);
}
