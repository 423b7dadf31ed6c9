/* php.c - where the code of PHP's JIT compiler leaves to.
 *
 * With gcc, all instructions of PHP's virtual machine are in one function, execute_ex(), which
 * jumps from one to the next by the pointer in the instruction (Zend/zend_vm_execute.skl, hybrid
 * VM). The instruction is in r15. Compiled code is entered by such a jump, runs in the frame of
 * that function, and leaves by one: jmp *(%r15) (zend_jit_x86.dasc: IP). The target is in memory
 * that no recording has, but whatever it is, it has that frame: the one in the middle of
 * execute_ex(). */
#include <sys/mman.h>

#include "functions/functions.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "unwind/jit_ahead.h"

/* A VM and its library are larger. */
enum { CODE_BYTES_MIN = 512 << 10 };

/* An address in the middle of execute_ex(), if the file in `map` has a hybrid VM; else 0. */
static uint64_t middle_of_vm(struct walk *w, const struct map *map)
{
	const struct module *mod;
	uint64_t start, vm;

	if (map->dso->kind != DSO_FILE || !(map->prot & PROT_EXEC) ||
	    map->end - map->start < CODE_BYTES_MIN)
		return 0;
	mod = modules_get(w->worker->modules, map->dso);
	if (!mod || !mod->image || !php_vm_find(mod->image, &vm) ||
	    !walk_module(w, map, map->start, &start) || vm - start >= map->end - map->start)
		return 0;
	return map->start + (vm - start);
}

uint64_t php_leaves_to(struct walk *w)
{
	const struct address_space *space = w->s->space;
	const size_t n = address_space_count(space);
	struct known_php *k = &w->worker->php;

	if (k->n_maps == n && k->layout == address_space_layout(space))
		return k->leaves_to;
	*k = (struct known_php){address_space_layout(space), n, 0};
	for (size_t i = 0; i < n && !k->leaves_to; i++)
		k->leaves_to = middle_of_vm(w, address_space_at(space, i));
	return k->leaves_to;
}
