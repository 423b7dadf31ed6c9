/* machine_mmap.c - the mappings of processes and the kernel, built from the records. */
#include <stdio.h>
#include <sys/mman.h>

#include "base/err.h"
#include "reader/machine_model.h"
#include "reader/reader.h"

/* The last 16 MiB of the address space hold fixed pages (vsyscall, fixmap) and no kernel text. */
#define KERNEL_TOP 0xffffffffff000000u

/* Of x86-64, and of arm64 with pages of 4 KiB. */
#define HUGE_PAGE_BYTES (2u << 20)

static uint64_t range_end(uint64_t start, uint64_t len)
{
	return len > UINT64_MAX - start ? UINT64_MAX : start + len;
}

/* How far code of the kernel itself may reach after `end`. Recordings have the range of .text;
 * .init.text and the trampolines come after it, up to the first module. */
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
		/* perf leaves prot 0 in the kernel's MMAP2 record. */
		.prot = r->prot ? r->prot : PROT_EXEC, .flags = r->flags, .start = r->start,
		.end = range_end(r->start, r->len),    .pgoff = r->pgoff,
	};

	key->kind = dso_kind_kernel(r->path);
	if (r->guest) {
		/* The name of a guest's kernel may include a pid: "[guest.kernel.kallsyms.5]_text".
		 */
		if (key->kind == DSO_KERNEL)
			key->path = DSO_GUEST_KERNEL_PATH;
		key->kind = DSO_GUEST_KERNEL;
	} else if (key->kind == DSO_KERNEL) {
		/* Except the trampolines that old x86 kernels have as separate maps. */
		if (r->path[0] == '[') {
			m->kernel_end = map.end;
			map.end = kernel_end(m->kernel, map.end);
		}
		key->path = DSO_KERNEL_PATH;
	}
	map.dso = dso_table_get(&m->dsos, key);
	if (!map.dso)
		return -ERR_NOMEM;
	if (r->guest)
		return versions_replace(&m->versions, &m->guest_kernel, map.start, map.end, &map);
	if (m->bare_kernel &&
	    versions_replace(&m->versions, &m->bare_kernel, map.start, map.end, &map))
		return -ERR_NOMEM;
	return versions_replace(&m->versions, &m->kernel, map.start, map.end, &map);
}

static int note_jitdump(struct machine *m, struct process *p, const struct dso *dso)
{
	uint32_t pid;

	if (p->space->jitdump == dso || !jitdump_pid(dso->path, &pid))
		return 0;
	if (versions_own(&m->versions, &p->space))
		return -ERR_NOMEM;
	p->space->jitdump = dso;
	return 0;
}

/* Notes the end of the first thread's stack, as exec made it. The stack grows down, so only its end
 * is constant. */
static int note_stack(struct machine *m, struct process *p, uint64_t end)
{
	if (p->space->stack_end == end)
		return 0;
	if (versions_own(&m->versions, &p->space))
		return -ERR_NOMEM;
	p->space->stack_end = end;
	return 0;
}

/* Of all files exec maps the program first. */
static int note_program(struct machine *m, struct process *p, const struct dso *dso)
{
	if (p->space->program)
		return 0;
	if (versions_own(&m->versions, &p->space))
		return -ERR_NOMEM;
	p->space->program = dso;
	return 0;
}

/* The file whose code was mapped in all of [start, end), without a gap; NULL: none. */
static const struct dso *covered_file(const struct address_space *as, uint64_t start, uint64_t end)
{
	const struct map *first = address_space_find(as, start), *m = first;

	if (!m || m->dso->kind != DSO_FILE)
		return NULL;
	while (m->end < end) {
		uint64_t at = m->end;

		m = address_space_find(as, at);
		if (!m || m->dso != first->dso ||
		    m->pgoff - m->start != first->pgoff - first->start)
			return NULL;
	}
	return first->dso;
}

/* Is this anonymous memory a copy of the file's code that was mapped there? To have their code on
 * huge pages, programs put such memory in its place: node --use-largepages, MySQL, BOLT's -hugify.
 * A program's own code is never unmapped. That of a library may be, without a record, and then
 * anything may be put there: but hardly in whole huge pages. */
static bool is_copied_code(const struct address_space *as, uint64_t start, uint64_t end)
{
	const struct dso *dso = start < end ? covered_file(as, start, end) : NULL;

	return dso && (dso == as->program || (start | end) % HUGE_PAGE_BYTES == 0);
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
	/* All threads of the process had exited, so this is a new process whose FORK record was
	 * lost. */
	machine_at(m, 0);
	if (p->exited && r->tid == r->pid && process_restart(m, p, NULL))
		return -ERR_NOMEM;
	thread_seen(p, t);
	if (m->has_data && machine_note_data(m, p, r))
		return -ERR_NOMEM;
	if (!strcmp(r->path, "[stack]") && note_stack(m, p, map.end))
		return -ERR_NOMEM;
	key->kind = dso_kind_user(r->path, r->flags);
	if (key->kind == DSO_ANON && is_copied_code(p->space, map.start, map.end))
		return 0;
	if (!r->is_exec)
		return versions_replace(&m->versions, &p->space, map.start, map.end, NULL);
	if (key->kind == DSO_ANON) {
		/* The file to which JIT compilers write their symbols. pgoff and inode have no
		 * meaning for anonymous memory, and differ between the kernel and /proc/PID/maps.
		 */
		snprintf(perf_map, sizeof perf_map, "/tmp/perf-%d.map", (int)r->pid);
		*key = (struct dso_key){
			.kind = DSO_ANON, .path = perf_map, .pid = r->pid, .began_ns = p->began_ns};
		map.pgoff = map.start;
	} else if (key->kind == DSO_VDSO) {
		map.pgoff = 0;
	}
	if (key->kind == DSO_FILE) {
		key->mapped_by = r->pid;
		key->code_off = map.pgoff;
		key->code_size = map.end - map.start;
	}
	map.dso = dso_table_get(&m->dsos, key);
	if (!map.dso)
		return -ERR_NOMEM;
	if (key->kind == DSO_FILE && (note_jitdump(m, p, map.dso) || note_program(m, p, map.dso)))
		return -ERR_NOMEM;
	return versions_replace(&m->versions, &p->space, map.start, map.end, &map);
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

	m->changes++;
	/* Ignored: kernel maps whose addresses are hidden (0, kptr_restrict); processes of a guest,
	 * whose pids are not the host's; processes outside of the recorder's PID namespace, which
	 * all have pid 0. */
	if (!r->len || (r->guest && !kernel) || (!r->pid && !kernel))
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

/* Removes KSYMBOL maps from [start, end): shows the kernel's maps that were there without them. */
static int uncover_kernel(struct machine *m, uint64_t start, uint64_t end)
{
	const struct map *below;

	if (versions_replace(&m->versions, &m->kernel, start, end, NULL))
		return -ERR_NOMEM;
	while ((below = versions_last_overlap(m->bare_kernel, start, end))) {
		struct map part = map_part(below, start, end);

		if (versions_replace(&m->versions, &m->kernel, part.start, part.end, &part))
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

	m->changes++;
	if (unregister) {
		if (!old || old->dso->kind != DSO_BPF || old->start != addr)
			return 0;
		return uncover_kernel(m, old->start, old->end);
	}
	if (!len)
		return 0;
	if (!m->bare_kernel && versions_restart(&m->versions, &m->bare_kernel, m->kernel))
		return -ERR_NOMEM;
	map.dso = dso_table_get(&m->dsos, &(struct dso_key){.kind = DSO_BPF, .path = name});
	if (!map.dso)
		return -ERR_NOMEM;
	return versions_replace(&m->versions, &m->kernel, map.start, map.end, &map);
}
