/* param_places.c - whether a function keeps its parameters where its DIEs say.
 *
 * A place that is not a list is one for all of the function (DWARF5 2.6.1). Of code that was not
 * optimized that is true once they are stored there. Optimizers store them when it suits them, and
 * those that do not follow variables (-fno-var-tracking of gcc) use their registers for others.
 * DWARF does not say which of them it was; compilers tell it by what they write into
 * DW_AT_producer, and clang by the attributes that it gives only to optimized functions. rustc
 * tells nothing. But in units that it did not optimize nearly all variables have one place (1.95: 3
 * of 119 have a list, in functions of the standard library); in others less than twice as many as
 * have lists. */
#include <stdlib.h>
#include <string.h>

#include "dwarf/params.h"

enum {
	CLANG_WITH_CALLS = 11, /* from there on also in DWARF 4 */
	MANY = 4,
};

/* Is there such a switch, as a word of its own? `prefix`: it may go on. */
static const char *find_switch(const char *producer, const char *name, bool prefix)
{
	const size_t n = strlen(name);

	for (const char *at = producer; (at = strstr(at, name)); at += n)
		if (at > producer && at[-1] == ' ' &&
		    (prefix || !at[n] || at[n] == ' ' || at[n] == ';'))
			return at;
	return NULL;
}

/* Does a switch raise the level of optimization? An -O0 behind it is not looked for. */
static bool is_raised(const char *producer)
{
	const char *at = producer;

	while ((at = find_switch(at, "-O", true))) {
		if (at[2] != '0')
			return true;
		at += 2;
	}
	return false;
}

bool dwarf_param_few_lists(const struct dwarf_cu *cu)
{
	uint64_t off = cu->unit->off + cu->unit->header_size, lists = 0, places = 0;
	struct dwarf_any_die d;

	while (off < cu->unit->end) {
		struct buf b = dwarf_cu_at(cu, off);

		if (dwarf_any_die_read(cu, off, &d)) {
			const struct dwarf_attribute *a = &d.a[DWARF_AT_LOCATION];

			places += a->block.data != NULL;
			lists += a->v.form && !a->block.data;
			off = d.end;
		} else if (!buf_u8(&b) && buf_ok(&b)) {
			off++; /* the end of a level */
		} else {
			return false;
		}
	}
	return places > MANY * lists;
}

static bool is_unoptimized(const struct dwarf_param_unit *u, const struct dwarf_any_die *function)
{
	const char *s = u->producer, *clang = strstr(s, "clang version ");

	if (!strncmp(s, "GNU ", 4)) /* without -grecord-gcc-switches it says none */
		return find_switch(s, "-m", true) && !is_raised(s);
	if (!strncmp(s, "Go ", 3))
		return find_switch(s, "-N", false);
	if (u->is_rust)
		return u->has_few_lists;
	return clang && u->cu->unit->version >= 4 &&
	       atoi(clang + strlen("clang version ")) >= CLANG_WITH_CALLS && !is_raised(s) &&
	       !function->a[DWARF_AT_ALL_CALLS].v.form;
}

void dwarf_param_places(const struct dwarf_param_unit *u, const struct dwarf_any_die *function,
			bool *is_kept, bool *is_untracked)
{
	*is_kept = u->producer && is_unoptimized(u, function);
	*is_untracked = u->producer && !strncmp(u->producer, "GNU ", 4) && !*is_kept &&
			(!find_switch(u->producer, "-m", true) ||
			 find_switch(u->producer, "-fno-var-tracking", false));
}
