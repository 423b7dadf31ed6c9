/* machine_data.c - what addresses of data lie in. */
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "reader/machine_model.h"
#include "reader/reader.h"

/* Stacks grow without a record: so far below the end of the first thread's. */
#define STACK_BYTES ((uint64_t)8 << 20)
/* Below the stack pointer: the red zone, and what a call or a push is about to write. */
#define BELOW_SP   256
#define KERNEL_BIT (1ull << 63)
/* The heap begins at most so far behind the program (arch_randomize_brk() of x86). */
#define HEAP_NEAR ((uint64_t)1 << 30)

static const char stack_name[] = "[stack]", anon_name[] = "[anon]", heap_name[] = "[heap]";

void machine_want_data(struct machine *m)
{
	m->has_data = true;
}

/* The kernel calls the heap so only when it grows the second time: its bounds are set after the
 * first record (do_brk_flags() in mm/vma.c). It is the memory that follows the program, with a gap
 * behind the program's own data and what belongs to that (.bss). */
static bool is_first_heap(const struct process *p, const struct machine_mmap *r)
{
	const struct map *m = p->data && r->start ? space_floor(p->data, r->start - 1) : NULL;
	const struct dso *program = p->space->program;
	const struct map *before;

	if (!m || !program || r->prot != (PROT_READ | PROT_WRITE) || m->end == r->start ||
	    r->start - m->end > HEAP_NEAR)
		return false;
	if (!strcmp(m->dso->path, anon_name)) {
		before = space_floor(p->data, m->start - 1);
		if (!before || before->end != m->start)
			return false;
		m = before;
	}
	return !strcmp(m->dso->path, program->path);
}

static const char *name_of(const struct process *p, const struct machine_mmap *r)
{
	if (!strcmp(r->path, heap_name) || !strcmp(r->path, stack_name))
		return r->path;
	if (dso_kind_user(r->path, r->flags) != DSO_ANON)
		return r->path;
	return is_first_heap(p, r) ? heap_name : anon_name;
}

int machine_note_data(struct machine *m, struct process *p, const struct machine_mmap *r)
{
	const struct dso_key key = {.kind = DSO_UNKNOWN, .path = name_of(p, r)};
	struct map map = {
		.start = r->start,
		.end = r->len > UINT64_MAX - r->start ? UINT64_MAX : r->start + r->len,
		.dso = dso_table_get(&m->data_names, &key),
	};

	if (!map.dso || (!p->data && versions_restart(&m->versions, &p->data, NULL)))
		return -ERR_NOMEM;
	return versions_replace(&m->versions, &p->data, map.start, map.end, &map);
}

/* Is it in the stack that sp is in? That of a thread is anonymous memory. */
static bool is_stack(const struct map *m, uint64_t addr, uint64_t sp, uint64_t stack_end)
{
	if (m && strcmp(m->dso->path, anon_name) != 0)
		return false;
	if (!m && addr < stack_end && stack_end - addr <= STACK_BYTES)
		return true;
	return sp && m && sp >= m->start && sp < m->end && addr + BELOW_SP >= sp;
}

const char *machine_data(struct machine *m, uint32_t pid, uint64_t addr, uint64_t sp)
{
	const uint32_t i = hash_get(&m->process_index, pid);
	const struct process *p = i == HASH_NONE ? NULL : &m->processes.v[i];
	const struct map *map = p && p->data ? address_space_find(p->data, addr) : NULL;

	if (addr & KERNEL_BIT)
		return "[kernel]";
	if (!addr || !p)
		return NULL;
	if (is_stack(map, addr, sp, p->space->stack_end))
		return stack_name;
	return map ? map->dso->path : NULL;
}
