/* span_events.c - pairs of events that are the ends of calls. */
#include "profile/span_events.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/processor.h"
#include "base/strtab.h"
#include "base/text.h"

/* ---- pairs of events ------------------------------------------------------------------------ */

static const struct pair_names {
	const char *begin, *end;
	bool is_suffix, is_flat, is_trampoline;
} pair_names[] = {
	{.begin = "call:", .end = "return:"},
	{.begin = "uprobe:", .end = "uretprobe:", .is_trampoline = true},
	{.begin = "u:", .end = "ur:", .is_trampoline = true},
	{.begin = "kprobe:", .end = "kretprobe:", .is_trampoline = true},
	{.begin = "raw_syscalls:sys_enter", .end = "raw_syscalls:sys_exit", .is_flat = true},
	{.begin = "syscalls:sys_enter_", .end = "syscalls:sys_exit_", .is_flat = true},
	{.begin = "", .end = "__return", .is_suffix = true, .is_trampoline = true},
};

static bool is_end_of(const struct pair_names *n, const char *begin, const char *end)
{
	const size_t begin_len = strlen(n->begin), end_len = strlen(n->end), len = strlen(begin);

	if (n->is_suffix)
		return !strncmp(end, begin, len) && !strcmp(end + len, n->end);
	return !strncmp(begin, n->begin, begin_len) && !strncmp(end, n->end, end_len) &&
	       !strcmp(begin + begin_len, end + end_len);
}

static bool is_end_name(const char *name)
{
	for (size_t i = 0; i < sizeof pair_names / sizeof *pair_names; i++)
		if (pair_names[i].is_suffix ? str_ends_with(name, pair_names[i].end)
					    : str_starts_with(name, pair_names[i].end))
			return true;
	return false;
}

enum span_role span_role_of(const char *event)
{
	return str_starts_with(event, pair_names[0].begin) ? SPAN_BEGINS
	       : str_starts_with(event, pair_names[0].end) ? SPAN_ENDS
							   : SPAN_NO_PART;
}

static void pair_event(struct span_events *ret, const struct profile *p, uint32_t end)
{
	const char *name = strtab_get(&p->strings, p->events.v[end].name);

	for (uint32_t i = 0; i < p->events.n; i++)
		for (size_t k = 0; k < sizeof pair_names / sizeof *pair_names; k++)
			if (i != end && p->events.v[i].name &&
			    is_end_of(&pair_names[k], strtab_get(&p->strings, p->events.v[i].name),
				      name)) {
				ret->v.v[i].begins = i + 1;
				ret->v.v[i].is_flat = pair_names[k].is_flat;
				ret->v.v[i].is_trampoline = pair_names[k].is_trampoline;
				ret->v.v[end].ends = i + 1;
				ret->v.v[end].is_trampoline = pair_names[k].is_trampoline;
				return;
			}
}

int span_events_find(struct span_events *ret, const struct profile *p)
{
	const char *arch = p->info ? p->info->arch : NULL;
	const struct processor *cpu = arch ? processor_find(arch, 0) : NULL;

	/* The psABIs of x86: a call pushes its return address. */
	ret->popped = cpu && (cpu->e_machine == EM_X86_64 || cpu->e_machine == EM_386)
			      ? cpu->word_bytes
			      : 0;
	for (size_t i = 0; i < p->events.n; i++)
		if (vec_push(&ret->v, (struct span_event){0}))
			return -1;
	for (uint32_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].name &&
		    is_end_name(strtab_get(&p->strings, p->events.v[i].name)))
			pair_event(ret, p, i);
	return 0;
}

/* ---- fields --------------------------------------------------------------------------------- */

bool trace_number(const struct profile *p, const struct profile_log_entry *e, const char *name,
		  uint64_t *ret)
{
	const char *text = e->trace ? strtab_get(&p->strings, e->trace) : "";
	const size_t n = strlen(name);

	for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
		char *end;

		if (strncmp(at + 1, name, n) || at[1 + n] != '=')
			continue;
		*ret = strtoull(at + n + 2, &end, 0);
		return end > at + n + 2;
	}
	return false;
}

uint64_t span_event_sp(const struct span_events *events, const struct profile *p, uint32_t entry)
{
	const struct profile_log_entry *e = &p->log.v[entry];
	const struct span_event *kind = &events->v.v[e->event];
	uint64_t sp;

	if (!trace_number(p, e, "sp", &sp)) {
		/* Of a kernel function these are not its own. */
		if (!kind->is_trampoline || e->ip >> 63)
			return 0;
		sp = e->sp;
	}
	return kind->is_trampoline && kind->ends && sp > events->popped ? sp - events->popped : sp;
}

/* "(55d0)", "(55d0 <- 7fb5)": the function that is probed; 0: not known. */
static uint64_t function_address(const struct profile *p, uint32_t entry)
{
	const uint32_t trace = p->log.v[entry].trace;
	const char *text = trace ? strtab_get(&p->strings, trace) : "";

	return *text == '(' ? strtoull(text + 1, NULL, 16) : 0;
}

bool span_event_is_same_function(const struct profile *p, uint32_t entry, uint32_t exit)
{
	const uint64_t entered = function_address(p, entry), left = function_address(p, exit);

	return !entered || !left || entered == left;
}
