/* key.c - what is left out of names. */
#include "regress/key.h"

#include <ctype.h>
#include <math.h>

#include "profile/profile.h"

#define LIKE_MIN .5 /* of two names that is the same, if one was made of the other */

static bool ends(const char *s, size_t n, const char *what, size_t *at)
{
	size_t len = strlen(what);

	if (n < len || memcmp(s + n - len, what, len))
		return false;
	*at = n - len;
	return true;
}

static bool begins(const char *s, size_t n, const char *what)
{
	return n >= strlen(what) && !memcmp(s, what, strlen(what));
}

static size_t back_over(const char *s, size_t n, int (*is)(int))
{
	while (n && is((unsigned char)s[n - 1]))
		n--;
	return n;
}

/* Cuts a compiler's suffix: a dot and a word, then perhaps a dot and a number. Names of Go have
 * dots, too, so only known words are cut; those that always have a number must have one. */
static bool cut_clone(const char *s, size_t *n)
{
	static const struct {
		const char *word;
		bool has_number;
	} clones[] = {
		{".isra", true},      {".constprop", true}, {".part", true},
		{".clone", true},     {".lto_priv", true},  {".llvm", true},
		{".__uniq", true},    {".cold", false},	    {".cfi", false},
		{".warm", false},     {".unlikely", false}, {".localalias", false},
		{".resolver", false}, {".ifunc", false},
	};
	size_t i, end = back_over(s, *n, isdigit);
	bool number = end < *n && end && s[end - 1] == '.';

	end = number ? end - 1 : *n;
	for (i = 0; i < sizeof clones / sizeof *clones; i++)
		if ((number || !clones[i].has_number) && ends(s, end, clones[i].word, n))
			return true;
	return false;
}

/* Rust's ::h0123456789abcdef. */
static bool cut_hash(const char *s, size_t *n)
{
	if (*n <= 19 || memcmp(s + *n - 19, "::h", 3) || back_over(s, *n, isxdigit) > *n - 16)
		return false;
	*n -= 19;
	return true;
}

/* Cuts " [clone .isra.0]", which demanglers write, or " [+2]", our mark of merged functions. */
static bool cut_note(const char *s, size_t *n)
{
	size_t at = *n;

	if (!at || s[at - 1] != ']')
		return false;
	while (at && s[at - 1] != '[')
		at--;
	if (at < 3 || s[at - 2] != ' ' || !(begins(s + at, *n - at, "clone ") || s[at] == '+'))
		return false;
	*n = at - 2;
	return true;
}

/* Returns the length of the place of a lambda or unnamed type, in "{lambda(int)@12:5}" that of
 * "@12:5"; 0 if there is none at s. */
static size_t place_length(const char *s, size_t n)
{
	size_t i = 1;

	if (n < 3 || s[0] != '@' || !isdigit((unsigned char)s[1]))
		return 0;
	while (i < n && (isdigit((unsigned char)s[i]) || s[i] == ':'))
		i++;
	return i < n && s[i] == '}' ? i : 0;
}

/* Cuts "@plt", "@@GLIBC_2.2.5", "@GLIBC_2.2.5". */
static bool cut_version(const char *s, size_t *n)
{
	const char *at = memchr(s, '@', *n);

	while (at && place_length(at, *n - (size_t)(at - s)))
		at = memchr(at + 1, '@', *n - (size_t)(at + 1 - s));
	if (!at || at == s)
		return false;
	*n = (size_t)(at - s);
	return true;
}

/* Cuts the suffixes of glibc's implementations for different processors (memcpy): which one runs
 * depends on the machine, not on the program. */
static bool cut_variant(const char *s, size_t *n)
{
	static const char *const levels[] = {"_sse2", "_ssse3",	 "_sse4", "_sse42",   "_avx",
					     "_avx2", "_avx512", "_evex", "_evex512", "_erms",
					     "_fma",  "_fma4",	 "_c"};
	static const char *const stems[] = {"__mem",  "__str", "__wcs",	  "__wmem", "__sin",
					    "__cos",  "__exp", "__log",	  "__pow",  "__tan",
					    "__atan", "__stp", "__rawmem"};
	const char *at;
	size_t i, found = *n;

	for (i = 0; i < sizeof stems / sizeof *stems && !begins(s, *n, stems[i]); i++)
		;
	if (i == sizeof stems / sizeof *stems)
		return false;
	for (i = 0; i < sizeof levels / sizeof *levels; i++) {
		size_t len = strlen(levels[i]);

		at = memmem(s, *n, levels[i], len);
		if (at && (at + len == s + *n || at[len] == '_') && (size_t)(at - s) < found)
			found = (size_t)(at - s);
	}
	if (found == *n)
		return false;
	at = memmem(s, found, "_unaligned", 10);
	*n = at ? (size_t)(at - s) : found;
	return true;
}

/* How long the beginning of a system call's wrapper is; 0: it is none. */
static size_t wrapper_length(const char *s, size_t n)
{
	static const char *const wrappers[] = {"__x64_sys_", "__ia32_sys_", "__arm64_sys_",
					       "__se_sys_",  "__do_sys_",   "ksys_"};
	size_t i;

	for (i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
		if (begins(s, n, wrappers[i]))
			return strlen(wrappers[i]);
	return 0;
}

/* The wrappers of system calls get the name of the system call. */
static void kernel_name(struct text *t, const char *s, size_t n)
{
	size_t wrapper = wrapper_length(s, n);

	text_str(t, wrapper ? "sys_" : "");
	text_add(t, s + wrapper, n - wrapper);
}

/* Leaves out tier marks and addresses of JIT code. */
static void jit_name(struct text *t, const char *s, size_t n)
{
	size_t i, end;

	for (i = 0; i < n; i++) {
		if (begins(s + i, n - i, "0x")) {
			for (end = i + 2; end < n && isxdigit((unsigned char)s[end]); end++)
				;
			text_str(t, "0x");
			i = end - 1;
		} else if (!(strchr("*~^+", s[i]) && i && s[i - 1] == ':')) {
			text_char(t, s[i]);
		}
	}
}

/* As V8's profilers name functions of JavaScript: "JS:*name file:///app/a.js:12:3". Returns the
 * length of the beginning; 0: it is none. */
static size_t javascript_length(const char *s, size_t n)
{
	static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (begins(s, n, kinds[i]) && n > strlen(kinds[i]))
			return strlen(kinds[i]);
	return 0;
}

/* Where in it the file begins, behind a space; n: nowhere. Names may have spaces ("get size"). */
static size_t script_at(const char *s, size_t n)
{
	static const char *const begin[] = {" /", " file:", " node:"};
	const char *at;
	size_t i;

	for (i = 0; i < sizeof begin / sizeof *begin; i++) {
		at = memmem(s, n, begin[i], strlen(begin[i]));
		if (at)
			return (size_t)(at - s) + 1;
	}
	at = memrchr(s, ' ', n);
	return at ? (size_t)(at - s) + 1 : n;
}

/* The folder of a package is part of its name. */
static size_t folder_length(const char *s, size_t n)
{
	static const char packages[] = "/node_modules/";
	const size_t len = sizeof packages - 1;
	const char *slash;

	for (size_t i = n; i >= len; i--)
		if (begins(s + i - len, len, packages))
			return i;
	slash = memrchr(s, '/', n);
	return slash ? (size_t)(slash - s) + 1 : 0;
}

/* "JS:name a.js": without the tier, which changes while a program runs, the folder, which another
 * checkout has elsewhere, and the place, which a line before it moves. */
static void javascript_name(struct text *t, const char *s, size_t n, size_t kind)
{
	size_t script, base, places;

	text_add(t, s, kind);
	s += kind;
	n -= kind;
	if (n && strchr("*~^+", *s)) {
		s++;
		n--;
	}
	for (places = 0; places < 2; places++) {
		size_t digits = back_over(s, n, isdigit);

		if (digits < n && digits && s[digits - 1] == ':')
			n = digits - 1;
	}
	script = script_at(s, n);
	base = script + folder_length(s + script, n - script);
	text_add(t, s, script);
	text_add(t, s + base, n - base);
}

/* Leaves out numbers and places of lambdas, which change when one is added before them:
 * "{lambda(int)#2}" becomes "{lambda}", "{closure#1}" "{closure}", Go's "f.func1.2" "f.func". Also
 * leaves out ABI tags and hashes of crates. */
static void user_name(struct text *t, const char *s, size_t n)
{
	size_t i, close;

	for (i = 0; i < n; i++) {
		if (begins(s + i, n - i, "[abi:")) {
			for (close = i; close < n && s[close] != ']'; close++)
				;
			i = close;
		} else if (place_length(s + i, n - i)) {
			i += place_length(s + i, n - i) - 1;
		} else if (s[i] == '#' && i + 1 < n && isdigit((unsigned char)s[i + 1])) {
			while (i + 1 < n && isdigit((unsigned char)s[i + 1]))
				i++;
		} else if (begins(s + i, n - i, ".func") && i + 5 < n &&
			   isdigit((unsigned char)s[i + 5])) {
			text_str(t, ".func");
			for (i += 4; i + 1 < n && (isdigit((unsigned char)s[i + 1]) ||
						   (s[i + 1] == '.' && i + 2 < n &&
						    isdigit((unsigned char)s[i + 2])));
			     i++)
				;
		} else if (s[i] == '[' && i + 17 < n && back_over(s + i + 1, 16, isxdigit) == 0 &&
			   s[i + 17] == ']') {
			i += 17;
		} else if (s[i] == '$' && i + 1 < n && s[i + 1] == '_') {
			text_str(t, "{lambda}");
			for (i++; i + 1 < n && isdigit((unsigned char)s[i + 1]); i++)
				;
		} else {
			text_char(t, s[i]);
		}
	}
}

void key_function(struct text *t, const char *name, size_t n, enum key_kind kind)
{
	struct text plain = {0};
	const char *s = name;
	const size_t javascript = kind == KEY_KERNEL ? 0 : javascript_length(s, n);

	if (javascript) {
		javascript_name(t, s, n, javascript);
		return;
	}
	while (n && (cut_note(s, &n) || cut_clone(s, &n) || cut_hash(s, &n)))
		;
	if (kind != KEY_JIT) {
		while (cut_version(s, &n))
			;
		fold_function(&plain, s, n);
		s = plain.s;
		n = plain.n;
	}
	while (n &&
	       (cut_clone(s, &n) || cut_hash(s, &n) || (kind == KEY_USER && cut_variant(s, &n))))
		;
	/* Folded stacks do not tell what is of the kernel. */
	if (kind == KEY_KERNEL || (kind == KEY_USER && wrapper_length(s, n)))
		kernel_name(t, s, n);
	else if (kind == KEY_JIT)
		jit_name(t, s, n);
	else
		user_name(t, s, n);
	t->failed |= plain.failed;
	text_done(&plain);
}

/* perf-PID.map: where the JIT compiler of a process would name its code. */
static bool is_map_of_process(const char *s, size_t n)
{
	static const char head[] = "perf-", tail[] = ".map";
	const size_t around = sizeof head + sizeof tail - 2;

	return n > around && !memcmp(s, head, sizeof head - 1) &&
	       !memcmp(s + n - (sizeof tail - 1), tail, sizeof tail - 1) &&
	       strspn(s + sizeof head - 1, "0123456789") == n - around;
}

void key_module(struct text *t, const char *path, size_t n)
{
	const char *slash = memrchr(path, '/', n), *so;
	const char *s = slash && slash + 1 < path + n ? slash + 1 : path;

	n -= (size_t)(s - path);
	if (n > 2 && s[0] == '[' && s[n - 1] == ']') {
		s++;
		n -= 2;
	}
	if (is_map_of_process(s, n)) {
		text_str(t, "[perf.map]");
		return;
	}
	so = memmem(s, n, ".so", 3);
	if (so && (so + 3 == s + n || so[3] == '.'))
		n = (size_t)(so + 3 - s);
	text_char(t, '[');
	text_add(t, s, n);
	text_char(t, ']');
}

bool key_is_async(const char *key, size_t n)
{
	static const char *const names[] = {"irq",
					    "__irq",
					    "handle_softirqs",
					    "__do_softirq",
					    "do_softirq",
					    "asm_sysvec",
					    "sysvec_",
					    "__sysvec",
					    "asm_common_interrupt",
					    "common_interrupt",
					    "finish_task_switch",
					    "clear_page",
					    "clear_huge_page",
					    "copy_page",
					    "copy_mc_",
					    "rcu_",
					    "__rcu",
					    "hrtimer_",
					    "__hrtimer",
					    "tick_",
					    "update_process_times",
					    "scheduler_tick",
					    "sched_tick",
					    "run_timer",
					    "__run_timer",
					    "kworker",
					    "ksoftirqd",
					    "native_safe_halt",
					    "pv_native_safe_halt",
					    "default_idle",
					    "cpuidle",
					    "do_idle",
					    "cpu_startup_entry",
					    "_raw_spin_unlock_irqrestore",
					    "exit_to_user_mode",
					    "irqentry_",
					    "schedule",
					    "__schedule",
					    "perf_event",
					    "__perf_event",
					    "native_write_msr"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (begins(key, n, names[i]))
			return true;
	return false;
}

/* A name that ends in _ stands for all that begin so. Softirqs are not in the table: a program that
 * sends to itself has them run within its system call. */
static const struct {
	const char *name;
	enum key_entry entry;
} entries[] = {
	{"asm_sysvec_", ENTRY_INTERRUPT},
	{"sysvec_", ENTRY_INTERRUPT},
	{"__sysvec_", ENTRY_INTERRUPT},
	{"asm_common_interrupt", ENTRY_INTERRUPT},
	{"common_interrupt", ENTRY_INTERRUPT},
	{"__common_interrupt", ENTRY_INTERRUPT},
	{"irq_exit", ENTRY_INTERRUPT},
	{"irq_exit_rcu", ENTRY_INTERRUPT},
	{"__irq_exit_rcu", ENTRY_INTERRUPT},
	{"run_ksoftirqd", ENTRY_INTERRUPT},
	{"rcu_core", ENTRY_INTERRUPT},
	{"rcu_core_si", ENTRY_INTERRUPT},
	{"rcu_do_batch", ENTRY_INTERRUPT},
	/* before Linux 5.8 */
	{"apic_timer_interrupt", ENTRY_INTERRUPT},
	{"smp_apic_timer_interrupt", ENTRY_INTERRUPT},
	{"reschedule_interrupt", ENTRY_INTERRUPT},
	{"smp_reschedule_interrupt", ENTRY_INTERRUPT},
	{"call_function_interrupt", ENTRY_INTERRUPT},
	{"call_function_single_interrupt", ENTRY_INTERRUPT},
	{"do_IRQ", ENTRY_INTERRUPT},
	/* arm64 */
	{"el0t_64_irq", ENTRY_INTERRUPT},
	{"el0t_64_irq_handler", ENTRY_INTERRUPT},
	{"el1h_64_irq", ENTRY_INTERRUPT},
	{"el1h_64_irq_handler", ENTRY_INTERRUPT},
	{"el0_interrupt", ENTRY_INTERRUPT},
	{"el1_interrupt", ENTRY_INTERRUPT},
	{"el0_irq", ENTRY_INTERRUPT},
	{"el1_irq", ENTRY_INTERRUPT},
	{"entry_SYSCALL_", ENTRY_PROGRAM},
	{"do_syscall_", ENTRY_PROGRAM},
	{"do_fast_syscall_", ENTRY_PROGRAM},
	{"asm_exc_page_fault", ENTRY_PROGRAM},
	{"exc_page_fault", ENTRY_PROGRAM},
	{"do_user_addr_fault", ENTRY_PROGRAM},
	{"page_fault", ENTRY_PROGRAM},
	{"el0t_64_sync", ENTRY_PROGRAM},
	{"el0t_64_sync_handler", ENTRY_PROGRAM},
	{"el1h_64_sync", ENTRY_PROGRAM},
	{"el1h_64_sync_handler", ENTRY_PROGRAM},
	{"el0_svc", ENTRY_PROGRAM},
	{"el0_sync", ENTRY_PROGRAM},
	{"el1_sync", ENTRY_PROGRAM},
	{"do_mem_abort", ENTRY_PROGRAM},
	/* on the way back from an interrupt */
	{"arch_do_signal_or_restart", ENTRY_PROGRAM},
	{"get_signal", ENTRY_PROGRAM},
	{"do_signal", ENTRY_PROGRAM},
	{"task_work_run", ENTRY_PROGRAM},
};

enum key_entry key_entry(const char *key, size_t n)
{
	size_t i, len;

	for (i = 0; i < sizeof entries / sizeof *entries; i++) {
		len = strlen(entries[i].name);
		if (begins(key, n, entries[i].name) &&
		    (n == len || entries[i].name[len - 1] == '_'))
			return entries[i].entry;
	}
	return ENTRY_NONE;
}

bool key_is_entry(const char *key, size_t n)
{
	static const char *const names[] = {"asm_sysvec_",    "asm_common_interrupt", "asm_exc_",
					    "entry_SYSCALL_", "do_syscall_64",	      "el0t_64_",
					    "el1h_64_"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (begins(key, n, names[i]))
			return true;
	return false;
}

/* ---- renamed functions -------------------------------------------------------------------------
 */

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

double key_likeness(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), least = n < m ? n : m, before = 0, after = 0;
	double like;

	while (before < least && same_letter(a[before], b[before]))
		before++;
	while (before + after < least && same_letter(a[n - 1 - after], b[m - 1 - after]))
		after++;
	like = least ? (double)(before + after) / (double)(n > m ? n : m) : 0;
	/* Something was added to a name: "f" and "f_slow". */
	if (least > 0 && before + after == least)
		like = fmax(like, LIKE_MIN);
	return like < LIKE_MIN ? 0 : like;
}
