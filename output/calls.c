/* calls.c - calls in words, as strace(1) writes those of the kernel.
 *
 * The fields of system calls are those of raw_syscalls:sys_enter and sys_exit
 * (include/trace/events/ syscalls.h), "NR 257 (ffffff9c, 7ffd, ..)" and "NR 257 = 3". Behind the
 * former capture adds what an argument points to: ` 1="/etc/passwd"+12us`, read so long after the
 * entry. */
#include "output/calls.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strtab.h"
#include "output/call_flags.h"
#include "output/call_names.h"
#include "output/call_results.h"
#include "output/call_special.h"
#include "output/call_structs.h"
#include "output/call_texts.h"
#include "output/probe_fields.h"
#include "reader/reader.h"

enum {
	ERRNO_MAX = 4095,
	SMALL_MAX = 1 << 20, /* what a function returns is shown as a number up to here */
};

void calls_done(struct calls *c)
{
	spans_done(&c->spans);
	hash_done(&c->fds);
	text_done(&c->paths);
	text_done(&c->scratch);
}

const struct span *calls_span_at(const struct calls *c, size_t entry)
{
	const uint32_t at = c->spans.of_entry.v[entry];

	return at == SPAN_NONE ? NULL : &c->spans.v.v[at];
}

/* ---- system calls --------------------------------------------------------------------------- */

struct entered {
	struct syscall call;
	uint64_t nr, args[SYSCALL_ARGS_MAX];
	const char *rest; /* what capture added */
};

static const char *trace_of(const struct calls *c, uint32_t entry)
{
	const struct profile_log_entry *e = entry == SPAN_NONE ? NULL : &c->p->log.v[entry];

	return e && e->trace ? strtab_get(&c->p->strings, e->trace) : "";
}

/* "NR 257 (ffffff9c, 7ffd, 80000, 0, 0, 0)" */
static bool parse_text(const struct calls *c, const char *at, struct entered *ret)
{
	char *end;

	if (!str_starts_with(at, "NR "))
		return false;
	ret->nr = strtoull(at + 3, &end, 10);
	for (size_t i = 0; i < SYSCALL_ARGS_MAX; i++) {
		end += strspn(end, " (,");
		ret->args[i] = strtoull(end, &end, 16);
	}
	ret->rest = end + (*end == ')');
	if (!syscall_find(c->cpu, ret->nr, &ret->call)) {
		snprintf(ret->call.name, sizeof ret->call.name, "syscall_%" PRIu64, ret->nr);
		memcpy(ret->call.args, "xxxxxx", sizeof "xxxxxx");
	}
	return true;
}

static bool parse_entered(const struct calls *c, const struct span *s, struct entered *ret)
{
	return parse_text(c, trace_of(c, s->entry), ret);
}

/* Another function returns for it. */
static bool leaves_by_jump(const struct calls *c, const struct span *s)
{
	uint64_t v;

	return s->end == SPAN_RETURNED && s->exit != SPAN_NONE && !calls_is_syscall(c, s) &&
	       trace_number(c->p, &c->p->log.v[s->exit], "jumped", &v) && v;
}

/* The result of a system call; for others the field ret. */
static bool parse_result(const struct calls *c, const struct span *s, int64_t *ret)
{
	const char *text = trace_of(c, s->exit), *equals;
	uint64_t v;

	if (s->end != SPAN_RETURNED || s->exit == SPAN_NONE)
		return false;
	if (str_starts_with(text, "NR ")) {
		equals = strchr(text, '=');
		*ret = equals ? strtoll(equals + 1, NULL, 10) : 0;
		return equals;
	}
	if (str_starts_with(text, "0x")) { /* syscalls:sys_exit_* */
		*ret = (int64_t)strtoull(text, NULL, 16);
		return true;
	}
	if (leaves_by_jump(c, s))
		return false;
	if (!trace_number(c->p, &c->p->log.v[s->exit], "ret", &v))
		return false;
	*ret = (int64_t)v;
	return true;
}

bool calls_is_syscall(const struct calls *c, const struct span *s)
{
	const char *event =
		strtab_get(&c->p->strings, c->p->events.v[c->p->log.v[s->entry].event].name);

	return str_starts_with(event, "raw_syscalls:") || str_starts_with(event, "syscalls:");
}

/* What capture wrote about argument i, in quotes, *n bytes; NULL: nothing. */
static const char *quoted_of(const struct entered *e, size_t i, size_t *n)
{
	const char *at, *end;
	char key[8];

	snprintf(key, sizeof key, " %zu=\"", i);
	at = strstr(e->rest, key);
	if (!at)
		return NULL;
	at += strlen(key) - 1;
	for (end = at + 1; *end && *end != '"'; end++)
		end += *end == '\\' && end[1];
	if (!*end)
		return NULL;
	end++;
	end += str_starts_with(end, "...") ? 3 : 0;
	*n = (size_t)(end - at);
	return at;
}

/* The text that argument i pointed to: its quoted form, *n bytes; NULL: it was not read. *is_late:
 * it was read when the call was over, so that something else may have been there. */
static const char *pointed_to(const struct span *s, const struct entered *e, size_t i, size_t *n,
			      bool *is_late)
{
	const char *at = quoted_of(e, i, n), *end = at ? at + *n : NULL;

	*is_late = at && *end == '+' &&
		   (s->end != SPAN_OPEN &&
		    strtoull(end + 1, NULL, 10) * 1000 > s->end_ns - s->start_ns);
	return at;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static uint64_t fd_key(uint32_t pid, int64_t fd)
{
	return hash_mix(pid, (uint64_t)fd);
}

static const char *fd_path(const struct calls *c, uint32_t pid, int64_t fd)
{
	const uint32_t at = hash_get(&c->fds, fd_key(pid, fd));

	return at == HASH_NONE ? NULL : c->paths.s + at;
}

static void set_fd_path(struct calls *c, uint32_t pid, int64_t fd, const char *path, size_t n)
{
	const size_t at = c->paths.n;

	if (c->paths.failed || at > UINT32_MAX - n - 2)
		return;
	text_add(&c->paths, path, n);
	text_char(&c->paths, 0);
	if (c->paths.failed || hash_put(&c->fds, fd_key(pid, fd), (uint32_t)at))
		c->paths.failed = true;
}

static bool name_is(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Paths of so many are known. */
enum { RANGE_MAX = 4096, RANGE_CLOEXEC = 4 };

static void close_range_of(struct calls *c, uint32_t pid, const struct entered *e)
{
	const uint32_t last = (uint32_t)e->args[1];

	for (uint32_t fd = (uint32_t)e->args[0], n = 0;
	     !(e->args[2] & RANGE_CLOEXEC) && fd <= last && n < RANGE_MAX; fd++, n++)
		hash_remove(&c->fds, fd_key(pid, (int32_t)fd));
}

/* Descriptors that were open when the recording began: said where they are used first, of what was
 * read then. */
static void take_open_files(struct calls *c)
{
	const struct profile *p = c->p;
	struct entered e;
	const char *path;
	size_t n;

	for (size_t i = 0; i < p->log.n && !c->paths.failed; i++) {
		const struct profile_log_entry *log = &p->log.v[i];
		const char *text = log->trace ? strtab_get(&p->strings, log->trace) : "";

		if (!strchr(text, '"') || !parse_text(c, text, &e))
			continue;
		for (size_t k = 0; e.call.args[k]; k++) {
			if (e.call.args[k] != 'f' && e.call.args[k] != 'D')
				continue;
			path = quoted_of(&e, k, &n);
			if (path && n > 2 && path[n - 1] == '"' &&
			    !fd_path(c, log->pid, (int32_t)e.args[k]))
				set_fd_path(c, log->pid, (int32_t)e.args[k], path + 1, n - 2);
		}
	}
}

void calls_pass(struct calls *c, size_t entry)
{
	static const char *const opens[] = {"open", "openat", "openat2", "creat", NULL};
	static const char *const dups[] = {"dup", "dup2", "dup3", NULL};
	const struct profile_log_entry *log = &c->p->log.v[entry];
	const uint32_t at = c->spans.of_exit.v[entry];
	const struct span *s = at == SPAN_NONE ? NULL : &c->spans.v.v[at];
	const char *path;
	struct entered e;
	int64_t fd;
	bool is_late;
	size_t n;

	if (!s || !calls_is_syscall(c, s) || !parse_entered(c, s, &e) || !parse_result(c, s, &fd) ||
	    fd < 0)
		return;
	if (!strcmp(e.call.name, "close")) {
		hash_remove(&c->fds, fd_key(log->pid, (int32_t)e.args[0]));
	} else if (!strcmp(e.call.name, "close_range")) {
		close_range_of(c, log->pid, &e);
	} else if (name_is(e.call.name, dups)) {
		path = fd_path(c, log->pid, (int32_t)e.args[0]);
		hash_remove(&c->fds, fd_key(log->pid, fd));
		c->scratch.n = 0;
		text_str(&c->scratch, path ? path : "");
		c->paths.failed |= c->scratch.failed;
		if (path)
			set_fd_path(c, log->pid, fd, c->scratch.s, c->scratch.n);
	} else if (name_is(e.call.name, opens)) {
		path = pointed_to(s, &e, strcspn(e.call.args, "p"), &n, &is_late);
		hash_remove(&c->fds, fd_key(log->pid, fd));
		if (path && n > 2 && path[n - 1] == '"')
			set_fd_path(c, log->pid, fd, path + 1, n - 2);
	}
}

int calls_init(struct calls *ret, const struct profile *p, struct err *err)
{
	int rc;

	*ret = (struct calls){.p = p};
	if (p->info && p->info->arch)
		ret->cpu = processor_find(p->info->arch, 8);
	text_char(&ret->paths, 0); /* offset 0: none */
	rc = ret->paths.failed ? err_nomem(err) : spans_find(&ret->spans, p, err);
	if (!rc)
		take_open_files(ret);
	return !rc && ret->paths.failed ? err_nomem(err) : rc;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void add_hex(struct text *t, uint64_t v)
{
	text_str(t, v ? "0x" : "0");
	if (v)
		text_hex(t, v, 0);
}

static void add_fd(struct calls *c, struct text *t, uint32_t pid, uint64_t arg, bool is_folder)
{
	const int32_t fd = (int32_t)arg;
	const char *path = fd_path(c, pid, fd);

	if (is_folder && fd == AT_FDCWD) {
		text_str(t, "AT_FDCWD");
		return;
	}
	text_int(t, fd, 0);
	if (!path)
		return;
	text_char(t, '<');
	text_clean(t, path, strlen(path));
	text_char(t, '>');
}

static void add_arg(struct calls *c, struct text *t, const struct span *s, const struct entered *e,
		    size_t i)
{
	const uint64_t v = e->args[i];
	const char letter = e->call.args[i];
	bool is_late = false;
	const char *text;
	size_t n;

	if (call_names_add(t, e->call.name, i, v))
		return;
	if (letter == 'f' || letter == 'D') {
		add_fd(c, t, c->p->log.v[s->entry].pid, v, letter == 'D');
	} else if (letter == 'd') {
		/* Most are 32 bits wide, and the rest of the register may hold anything. */
		text_int(t, v >> 32 && v >> 32 != UINT32_MAX ? (int64_t)v : (int32_t)v, 0);
	} else if (letter == 'u') {
		text_dec(t, v, 0);
	} else if (call_struct_is(letter)) {
		text = pointed_to(s, e, i, &n, &is_late);
		if (!text || !call_struct_add(t, letter, text, n, (uint32_t)e->args[i + 1])) {
			text_str(t, v ? "0x" : "NULL");
			if (v)
				text_hex(t, v, 0);
		} else if (is_late) {
			text_char(t, '?');
		}
	} else if (letter == 'p' || letter == 'b') {
		text = pointed_to(s, e, i, &n, &is_late);
		if (text)
			text_clean(t, text, n);
		else if (v)
			add_hex(t, v);
		else
			text_str(t, "NULL");
		text_str(t, text && is_late ? "?" : "");
		text_str(t, !text && v && letter == 'p' ? " (not read)" : "");
	} else if (!call_special_arg(t, &e->call, e->args, i) && !call_flags_add(t, letter, v)) {
		if (letter == 'x' && !v)
			text_str(t, "NULL");
		else
			add_hex(t, v);
	}
}

/* A third argument of open() is read only where it creates a file. */
static bool is_used(const struct entered *e, size_t i)
{
	return (e->call.args[i] != 'o' || !i || e->call.args[i - 1] != 'O' ||
		e->args[i - 1] & O_CREAT || (e->args[i - 1] & O_TMPFILE) == O_TMPFILE) &&
	       call_special_is_used(&e->call, e->args, i);
}

/* The text that was read at the address of a parameter, if that is a pointer to characters. s[at]
 * is the '=' behind its name. */
static void add_pointed_to(struct calls *c, struct text *t, const struct profile_log_entry *e,
			   const char *s, size_t at, uint64_t addr)
{
	size_t from = at, n;
	const char *text;
	bool is_cut;

	while (from && s[from - 1] != ' ')
		from--;
	if (!addr || !profile_is_text_pointer(c->p, e, s + from, at - from))
		return;
	text = call_text_at(c->p, e, addr, &n, &is_cut);
	if (!text)
		return;
	text_char(t, ' ');
	call_text_add(t, text, n, is_cut);
}

/* The parameters of the function as its debug information names them. A pointer, of which only the
 * address is known, gets the text that was read at it. Returns false if there are none. */
static bool add_params(struct calls *c, struct text *t, const struct profile_log_entry *e)
{
	uint32_t inlined;
	const size_t level = profile_probed_level(c->p, e->event, e->node, &inlined);
	size_t n, n_levels, depth = 0;
	const char *s = profile_values(c->p, e, 0, level, &n, &n_levels);
	bool in_text = false;

	if (!s || !n) { /* does it have none, or is nothing known of it? */
		s = profile_result_type(c->p, e, &n);
		return s && n && *s != '?';
	}
	for (size_t i = 0; i < n; i++) {
		const size_t equals = i;
		char *end;
		uint64_t addr;

		text_clean(t, s + i, 1);
		if (in_text && s[i] == '\\' && i + 1 < n)
			text_clean(t, s + ++i, 1);
		else if (s[i] == '"')
			in_text = !in_text;
		depth += !in_text && s[i] == '{';
		depth -= !in_text && s[i] == '}' && depth;
		if (in_text || depth || s[i] != '=' || n - i < 4 || strncmp(s + i + 1, "0x", 2))
			continue;
		addr = strtoull(s + i + 1, &end, 16);
		text_add(t, s + i + 1, (size_t)(end - (s + i + 1)));
		i = (size_t)(end - s) - 1;
		if (!level && (i + 1 == n || s[i + 1] == ','))
			add_pointed_to(c, t, e, s, equals, addr);
	}
	return true;
}

/* The fields a0, a1 .. of a function as numbers, or as the texts that they point to. Returns false
 * if there are none. */
static bool add_arguments(struct calls *c, struct text *t, const struct profile_log_entry *e)
{
	char name[16] = "a0";
	const char *text;
	bool is_cut;
	uint64_t v;
	size_t n;

	if (!trace_number(c->p, e, name, &v))
		return false;
	for (size_t i = 0; trace_number(c->p, e, name, &v); i++) {
		text_str(t, i ? ", " : "");
		text = call_text_read(c->p, e, i, false, &n, &is_cut);
		if (text) {
			call_text_add(t, text, n, is_cut);
		} else if (v <= SMALL_MAX) {
			text_dec(t, v, 0);
		} else {
			add_hex(t, v);
		}
		snprintf(name, sizeof name, "a%zu", i + 1);
	}
	return true;
}

void calls_args(struct calls *c, struct text *t, const struct span *s)
{
	struct entered e;

	if (!calls_is_syscall(c, s) || !parse_entered(c, s, &e)) {
		if (!add_params(c, t, &c->p->log.v[s->entry]) &&
		    !add_arguments(c, t, &c->p->log.v[s->entry]))
			calls_fields(c, t, &c->p->log.v[s->entry]);
		return;
	}
	if (call_special_args(t, &e.call, e.args, c->cpu && c->cpu->e_machine == EM_X86_64))
		return;
	for (size_t i = 0; e.call.args[i] && is_used(&e, i); i++) {
		text_str(t, i ? ", " : "");
		add_arg(c, t, s, &e, i);
	}
}

/* Is it a probe on a function, whose parameters stand for the registers that were recorded? */
static bool is_at_function(const struct calls *c, const struct profile_log_entry *e)
{
	const char *name = strtab_get(&c->p->strings, c->p->events.v[e->event].name);

	return str_starts_with(name, "uprobe:") || str_starts_with(name, "u:");
}

/* "(55d0) sp=0x7ffd g=0x1 a0=1 a1=2": what stands behind the address, these two, and "loops=1". */
void calls_fields(struct calls *c, struct text *t, const struct profile_log_entry *e)
{
	const char *text = e->trace ? strtab_get(&c->p->strings, e->trace) : "";

	if (is_at_function(c, e) && add_params(c, t, e))
		return;
	if (*text == '(' && strchr(text, ')')) {
		text = strchr(text, ')') + 1;
		for (text += *text == ' ';
		     str_starts_with(text, "sp=") || str_starts_with(text, "g=") ||
		     str_starts_with(text, "loops=");
		     text += *text == ' ')
			text += strcspn(text, " ");
	}
	probe_fields_add(t, text);
}

void calls_function(struct text *t, const struct profile *p, uint32_t name)
{
	struct text folded = {0};

	fold_function(&folded, strtab_get(&p->strings, name), strtab_len(&p->strings, name));
	text_clean(t, folded.s, folded.n);
	t->failed |= folded.failed;
	text_done(&folded);
}

/* ---- name and result ------------------------------------------------------------------------ */

void calls_name(struct calls *c, struct text *t, const struct span *s)
{
	static const char enter[] = "syscalls:sys_enter_";
	const struct profile *p = c->p;
	const struct profile_log_entry *e = &p->log.v[s->entry];
	const char *event = strtab_get(&p->strings, p->events.v[e->event].name);
	const uint32_t symbol =
		e->node ? profile_symbol(p, &p->locations.v[p->nodes.v[e->node].location]) : 0;
	struct entered in;

	if (calls_is_syscall(c, s) && parse_entered(c, s, &in))
		text_str(t, in.call.name);
	else if (str_starts_with(event, enter))
		text_clean(t, event + sizeof enter - 1, strcspn(event + sizeof enter - 1, ":"));
	else if (symbol)
		calls_function(t, p, symbol);
	else
		text_string(t, p, p->events.v[e->event].name);
}

/* Is it the copy of a function without its result, by the name that gcc gives to it? */
static bool is_without_result(const struct calls *c, const struct span *s)
{
	const struct profile *p = c->p;
	const uint32_t node = p->log.v[s->entry].node;
	const char *name =
		!node ? ""
		      : strtab_get(&p->strings,
				   profile_symbol(p, &p->locations.v[p->nodes.v[node].location]));

	return strstr(name, ".isra") || strstr(name, ".part");
}

void calls_result(struct calls *c, struct text *t, const struct span *s)
{
	static const char *const addresses[] = {"mmap", "brk", "mremap", "shmat", NULL};
	const char *type;
	struct entered e;
	size_t n_type;
	int64_t v;

	type = calls_is_syscall(c, s) ? NULL
				      : profile_result_type(c->p, &c->p->log.v[s->entry], &n_type);
	if (leaves_by_jump(c, s) && (!type || *type != 'v'))
		text_char(t, '?');
	if (!parse_result(c, s, &v))
		return;
	if (type) {
		if (*type != 'v')
			call_typed_add(t, type, n_type, v);
		return;
	}
	if (!calls_is_syscall(c, s) && is_without_result(c, s)) {
		text_char(t, '?');
		return;
	}
	if (calls_is_syscall(c, s) && v < 0 && v >= -ERRNO_MAX) {
		call_error_add(t, (int)-v);
		return;
	}
	if (calls_is_syscall(c, s) && parse_entered(c, s, &e) &&
	    call_special_result(t, &e.call, e.args, v))
		return;
	if (calls_is_syscall(c, s) ? parse_entered(c, s, &e) && name_is(e.call.name, addresses)
				   : v > SMALL_MAX || v < -SMALL_MAX)
		add_hex(t, (uint64_t)v);
	else
		text_int(t, v, 0);
}

bool calls_end(struct calls *c, struct text *t, const struct profile_log_entry *e)
{
	const char *event = strtab_get(&c->p->strings, c->p->events.v[e->event].name);
	const char *text = e->trace ? strtab_get(&c->p->strings, e->trace) : "", *equals;
	struct entered in;
	int64_t v;

	equals = strchr(text, '=');
	if (!str_starts_with(event, "raw_syscalls:sys_exit") || !parse_text(c, text, &in) ||
	    !equals)
		return false;
	v = strtoll(equals + 1, NULL, 10);
	text_str(t, "... [continued]: ");
	text_str(t, in.call.name);
	text_str(t, "() = ");
	if (v < 0 && v >= -ERRNO_MAX)
		call_error_add(t, (int)-v);
	else
		text_int(t, v, 0);
	return true;
}

void calls_task(struct calls *c, struct text *t, const struct profile_log_entry *e)
{
	text_string(t, c->p, e->comm);
	text_char(t, '/');
	if (e->pid != e->tid && e->pid != PROFILE_NO_PID) {
		text_int(t, (int32_t)e->pid, 0);
		text_char(t, '/');
	}
	text_int(t, (int32_t)e->tid, 0);
}
