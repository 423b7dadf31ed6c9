/* call_prctl.c - arguments of prctl(): as many as its option takes. Source: include/uapi/linux/
 * prctl.h; kernel/sys.c checks the ones behind of some, which are shown. */
#include <string.h>

#include "output/call_flags.h"
#include "output/call_names.h"
#include "output/call_special.h"

/* A letter for each argument behind the option, those of struct syscall (d, u, x, h, S, P), n:
 * named in call_names.c. Bits of any kind (h) where the option takes others. */
static const struct option {
	unsigned value;
	const char *name, *takes;
} options[] = {
	{1, "PR_SET_PDEATHSIG", "S"},
	{2, "PR_GET_PDEATHSIG", "x"},
	{3, "PR_GET_DUMPABLE", ""},
	{4, "PR_SET_DUMPABLE", "n"},
	{5, "PR_GET_UNALIGN", "x"},
	{6, "PR_SET_UNALIGN", "h"},
	{7, "PR_GET_KEEPCAPS", ""},
	{8, "PR_SET_KEEPCAPS", "u"},
	{13, "PR_GET_TIMING", ""},
	{14, "PR_SET_TIMING", "u"},
	{15, "PR_SET_NAME", "x"},
	{16, "PR_GET_NAME", "x"},
	{21, "PR_GET_SECCOMP", ""},
	{22, "PR_SET_SECCOMP", "nx"},
	{23, "PR_CAPBSET_READ", "n"},
	{24, "PR_CAPBSET_DROP", "n"},
	{25, "PR_GET_TSC", "x"},
	{26, "PR_SET_TSC", "u"},
	{27, "PR_GET_SECUREBITS", ""},
	{28, "PR_SET_SECUREBITS", "h"},
	{29, "PR_SET_TIMERSLACK", "u"},
	{30, "PR_GET_TIMERSLACK", ""},
	{31, "PR_TASK_PERF_EVENTS_DISABLE", ""},
	{32, "PR_TASK_PERF_EVENTS_ENABLE", ""},
	{33, "PR_MCE_KILL", "uuuu"},
	{34, "PR_MCE_KILL_GET", "uuuu"},
	{35, "PR_SET_MM", "uxuu"},
	{36, "PR_SET_CHILD_SUBREAPER", "u"},
	{37, "PR_GET_CHILD_SUBREAPER", "x"},
	{38, "PR_SET_NO_NEW_PRIVS", "uuuu"},
	{39, "PR_GET_NO_NEW_PRIVS", "uuuu"},
	{40, "PR_GET_TID_ADDRESS", "x"},
	{41, "PR_SET_THP_DISABLE", "uuuu"},
	{42, "PR_GET_THP_DISABLE", "uuuu"},
	{47, "PR_CAP_AMBIENT", "uuuu"},
	{52, "PR_GET_SPECULATION_CTRL", "uuu"},
	{53, "PR_SET_SPECULATION_CTRL", "uuuu"},
	{57, "PR_SET_IO_FLUSHER", "uuuu"},
	{58, "PR_GET_IO_FLUSHER", "uuuu"},
	{0x53564d41, "PR_SET_VMA", "hxux"},
	{0x59616d61, "PR_SET_PTRACER", "d"},
};

void call_prctl(struct text *t, const uint64_t *args)
{
	const struct option *o = NULL;
	const char *takes;

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (options[i].value == (uint32_t)args[0])
			o = &options[i];
	takes = o ? o->takes : "hhhh";
	if (o) {
		text_str(t, o->name);
	} else {
		text_str(t, "0x");
		text_hex(t, (uint32_t)args[0], 0);
	}
	for (size_t i = 0; takes[i]; i++) {
		const uint64_t v = args[1 + i];

		text_str(t, ", ");
		if (takes[i] == 'd')
			text_int(t, (int64_t)v, 0);
		else if (takes[i] == 'u')
			text_dec(t, v, 0);
		else if (takes[i] == 'n' && call_names_add(t, o->name, 1 + i, v))
			continue;
		else if (!call_flags_add(t, takes[i], v)) {
			text_str(t, takes[i] == 'x' && !v ? "NULL" : v ? "0x" : "0");
			if (v)
				text_hex(t, v, 0);
		}
	}
}
