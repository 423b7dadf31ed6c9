/* interrupts.c - what the kernel does beneath an interrupt is a function of its own.
 *
 * An interrupt runs on the stack of whichever program is on the processor, and with it goes what
 * the kernel has put off: timers, packets, memory that others gave back (RCU). The program did not
 * ask for it. The same function beneath a system call or a page fault is the program's. So its
 * samples beneath an interrupt get another key, "___free_pages [interrupt]", which is asynchronous
 * work. Stacks that do not show how the kernel was entered stay as they are.
 *
 * Folded stacks without marks do not tell what is of the kernel. There the names that only its
 * entries have tell it: what lies beneath them is of the kernel, so that all has the name that it
 * has in a recording. */
#include "base/strtab.h"
#include "base/text.h"
#include "regress/inside.h"

#include <stdlib.h>

static uint32_t twin_key(struct regress *g, uint32_t key, bool is_shown_name)
{
	struct text t = {0};
	uint32_t id = STRTAB_FAILED;

	key = g->info.v[key].whole ? g->info.v[key].whole : key;
	text_add(&t, strtab_get(&g->keys, key), strtab_len(&g->keys, key));
	text_str(&t, " [interrupt]");
	text_char(&t, '\0');
	if (!t.failed)
		id = is_shown_name ? strtab_add_cstr(&g->names, t.s) : key_intern(g, t.s);
	text_done(&t);
	return id;
}

/* The key of what a function does beneath an interrupt; STRTAB_FAILED when out of memory. */
static uint32_t twin_of(struct regress *g, uint32_t key)
{
	uint32_t twin = g->info.v[key].in_interrupt, name;

	if (twin)
		return twin;
	twin = twin_key(g, key, false);
	name = twin_key(g, key, true);
	if (twin == STRTAB_FAILED || name == STRTAB_FAILED)
		return STRTAB_FAILED;
	g->info.v[twin] = g->info.v[key];
	g->info.v[twin].name = name;
	g->info.v[twin].whole = g->info.v[twin].like = 0;
	g->info.v[twin].is_of_file = false; /* a library may have the same name */
	g->info.v[twin].is_async = g->info.v[twin].is_interrupt = true;
	g->info.v[key].in_interrupt = twin;
	return twin;
}

void kernel_see(struct regress *g, uint32_t key)
{
	struct key_info *info = &g->info.v[key];
	const char *s = strtab_get(&g->keys, key);
	size_t n = strtab_len(&g->keys, key);

	info->is_kernel = true;
	info->entry = key_entry(s, n);
	info->is_interrupt = info->entry == ENTRY_INTERRUPT;
	info->is_async |= info->is_interrupt || key_is_async(s, n);
}

static bool is_entry(const struct regress *g, uint32_t key)
{
	return key_is_entry(strtab_get(&g->keys, key), strtab_len(&g->keys, key));
}

/* Notes what lies beneath an entry of the kernel, if no module is known of it. */
static int see_entries(struct regress *g, const struct tree_node *nodes, size_t n)
{
	bool *is_kernel = calloc(n + 1, sizeof *is_kernel);
	size_t i;

	for (i = 1; is_kernel && i < n; i++) {
		uint32_t key = nodes[i].symbol;

		if (g->info.v[key].is_of_file)
			continue;
		is_kernel[i] = is_kernel[nodes[i].parent] || is_entry(g, key);
		if (is_kernel[i] && !g->info.v[key].is_kernel)
			kernel_see(g, key);
	}
	free(is_kernel);
	return is_kernel ? 0 : -1;
}

int interrupts_part(struct regress *g, struct tree_node *nodes, size_t n)
{
	bool *is_beneath = calloc(n + 1, sizeof *is_beneath);
	size_t i;
	int rc = is_beneath ? see_entries(g, nodes, n) : -1;

	/* Nodes come after their parents. */
	for (i = 1; !rc && i < n; i++) {
		uint32_t key = nodes[i].symbol;
		enum key_entry entry = g->info.v[key].entry;

		is_beneath[i] = entry == ENTRY_NONE ? is_beneath[nodes[i].parent]
						    : entry == ENTRY_INTERRUPT;
		if (!is_beneath[i] || entry == ENTRY_INTERRUPT)
			continue;
		nodes[i].symbol = twin_of(g, key);
		if (nodes[i].symbol == STRTAB_FAILED)
			rc = -1;
	}
	free(is_beneath);
	return rc;
}
