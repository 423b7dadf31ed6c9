/* syscall_event.c - raw_syscalls:sys_enter and sys_exit (include/trace/events/syscalls.h). */
#include "capture/syscall_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "capture/open_files.h"
#include "capture/sysfile.h"
#include "probe/probe.h"

enum {
	PATH_BYTES = 512,
	BUFFER_BYTES = 32, /* as strace shows */
	/* Of the RAW part: u64 common fields, i64 id, u64 args[6]; then a __data_loc, u32: offset
	 * of the text, and its length << 16. */
	ID_AT = 8,
	ARGS_AT = 16,
	LOC_AT = 64,
	TEXT_AT = 68,
	PAGE = 4096, /* the smallest there is */
};

/* ---- events --------------------------------------------------------------------------------- */

static int add_event(struct session *s, const char *name, bool reads_memory, struct err *err)
{
	struct event *e = &s->events[s->n_events];
	char path[160];

	if (s->n_events == CAPTURE_EVENTS_MAX)
		return err_set(err, ERR_USAGE, NULL, "more than %d events", CAPTURE_EVENTS_MAX);
	*e = (struct event){.type = PERF_TYPE_TRACEPOINT,
			    .no_stack = reads_memory ? !s->opt->syscall_stacks : true,
			    .reads_memory = reads_memory};
	snprintf(e->name, sizeof e->name, "raw_syscalls:%s", name);
	snprintf(path, sizeof path, "%s/events/raw_syscalls/%s/id", s->probes.tracefs, name);
	if (sysfile_u64(path, &e->config))
		return err_set(
			err, errno == EACCES ? ERR_PERMISSION : ERR_UNSUPPORTED, path,
			"system calls cannot be recorded: %s (root may read tracefs; kernels "
			"without CONFIG_FTRACE_SYSCALLS have none)",
			strerror(errno));
	/* What the recorder does itself would go on for ever. */
	if (s->all_processes)
		snprintf(e->filter, sizeof e->filter, "common_pid != %d", (int)getpid());
	s->n_events++;
	return 0;
}

int syscall_events(struct session *s, struct err *err)
{
	int rc = probe_events_tracefs(&s->probes, err);

	if (!rc)
		rc = add_event(s, "sys_enter", true, err);
	return rc ? rc : add_event(s, "sys_exit", false, err);
}

char *syscall_format_extend(const char *format)
{
	static const char field[] =
		"\tfield:__data_loc char[] text;\toffset:64;\tsize:4;\tsigned:0;\n";
	static const char args[] = "field:unsigned long args[6];\toffset:16;\tsize:48;";
	const char *print = strstr(format, "\nprint fmt: \""), *quote, *end;
	struct text t = {0};

	quote = print ? strstr(print, ")\",") : NULL;
	end = quote ? strchr(quote, '\n') : NULL;
	if (!end || !strstr(format, args))
		return NULL;
	text_add(&t, format, (size_t)(print - format));
	text_str(&t, field);
	text_add(&t, print, (size_t)(quote + 1 - print));
	text_str(&t, "%s");
	text_add(&t, quote + 1, (size_t)(end - quote - 1));
	text_str(&t, ", __get_str(text)\n");
	text_char(&t, 0);
	if (t.failed)
		text_done(&t);
	return t.s;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Reads up to n bytes, as far as there are pages. */
static size_t read_memory(pid_t pid, uint64_t addr, uint8_t *to, size_t n)
{
	struct iovec local = {to, n}, remote[2];
	const size_t first = PAGE - addr % PAGE < n ? PAGE - addr % PAGE : n;
	ssize_t got;

	remote[0] = (struct iovec){(void *)(uintptr_t)addr, first};
	remote[1] = (struct iovec){(void *)(uintptr_t)(addr + first), n - first};
	got = process_vm_readv(pid, &local, 1, remote, first < n ? 2 : 1, 0);
	return got > 0 ? (size_t)got : 0;
}

/* ---- probes --------------------------------------------------------------------------------- */

enum {
	FILES_MAX = 16,
	SLOTS = 64, /* threads between the probe and the call, in two rings */
	RAW_MAX = 4 * 1024 + 256,
	/* The RAW part of a probe: u64 common fields, u64 address, u64 arguments[4]; then of paths
	 * four __data_loc and that of the thread's name, of buffers 32 bytes, of structures what
	 * struct_fields says. */
	PROBED_ARGS = 4,
	PROBED_ARGS_AT = 16,
	PROBED_TEXTS_AT = PROBED_ARGS_AT + 8 * PROBED_ARGS,
};
enum { TEXTS_PATHS = 1, TEXTS_BUFFERS, TEXTS_STRUCTS, TEXTS_KINDS = TEXTS_STRUCTS };

/* Which arguments may point to a structure, and where a probe has what it reads of each. */
enum { STRUCT_BYTES = 112 };
static const struct struct_field {
	uint8_t arg, bytes;
	uint16_t at;
} struct_fields[] = {{0, 96, 0}, {1, 112, 96}, {2, 32, 208}, {4, 112, 240}};

struct moment {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct syscall_texts {
	struct text_slot {
		uint32_t tid, n;
		uint8_t texts; /* 0: empty */
		uint8_t raw[RAW_MAX];
	} slots[TEXTS_KINDS][SLOTS]; /* code that makes calls of any number has all kinds */
	struct open_files files;
};

#define END " end=$comm:string"
#if defined __aarch64__
#define ARGS	" a0=%x0:x64 a1=%x1:x64 a2=%x2:x64 a3=%x3:x64"
#define STRINGS " s0=+0(%x0):ustring s1=+0(%x1):ustring s2=+0(%x2):ustring s3=+0(%x3):ustring" END
#define BUFFER	" b1=+0(%x1):x8[32]"
#define STRUCTS " b0=+0(%x0):x64[12] b1=+0(%x1):x64[14] b2=+0(%x2):x64[4] b4=+0(%x4):x64[14]"
#else
#define ARGS	" a0=%di:x64 a1=%si:x64 a2=%dx:x64 a3=%r10:x64"
#define STRINGS " s0=+0(%di):ustring s1=+0(%si):ustring s2=+0(%dx):ustring s3=+0(%r10):ustring" END
#define BUFFER	" b1=+0(%si):x8[32]"
#define STRUCTS " b0=+0(%di):x64[12] b1=+0(%si):x64[14] b2=+0(%dx):x64[4] b4=+0(%r8):x64[14]"
#endif

/* What is read of arguments with these letters of struct syscall. */
static const struct text_kind {
	const char *name, *fields;
	char letters[4];
	uint32_t bytes_max;
} text_kinds[TEXTS_KINDS + 1] = {
	[TEXTS_PATHS] = {"paths", ARGS STRINGS, "p", PATH_BYTES},
	[TEXTS_BUFFERS] = {"buffers", ARGS BUFFER, "b", BUFFER_BYTES},
	[TEXTS_STRUCTS] = {"structs", ARGS STRUCTS, "zry", STRUCT_BYTES},
};

/* The kind of text that an argument points to; 0: none. */
static uint8_t kind_of(char letter)
{
	for (uint8_t k = 1; k <= TEXTS_KINDS; k++)
		if (strchr(text_kinds[k].letters, letter))
			return k;
	return 0;
}

/* Has the call an argument of these letters (arg)? A call that may replace the program is not
 * probed itself. */
static bool has_letter(void *arg, uint64_t nr)
{
	const char *letters = arg;
	struct syscall call;

	if (!syscall_find(processor_here(), (uint32_t)nr, &call))
		return false;
	if (nr & PROBE_AT_CALL && str_starts_with(call.name, "exec"))
		return false;
	return strpbrk(call.args, letters) != NULL;
}

struct files {
	char paths[FILES_MAX][PATH_MAX];
	const char *list[FILES_MAX];
	size_t n;
};

static void add_file(struct files *f, const char *path)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->paths[i], path))
			return;
	if (f->n == FILES_MAX || strlen(path) >= PATH_MAX)
		return;
	snprintf(f->paths[f->n], PATH_MAX, "%s", path);
	f->list[f->n] = f->paths[f->n];
	f->n++;
}

static void add_located(struct files *f, const char *name, pid_t pid)
{
	char path[PATH_MAX];

	if (!probe_locate(name, pid, path, NULL))
		add_file(f, path);
}

/* A program, and its loader. */
static void add_program(struct files *f, const char *name, pid_t pid)
{
	char path[PATH_MAX], loader[PATH_MAX];

	if (probe_locate(name, pid, path, NULL))
		return;
	add_file(f, path);
	if (!probe_loader_of(path, loader, NULL) && *loader)
		add_located(f, loader, pid);
}

static void add_process(struct files *f, pid_t pid)
{
	char link[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, sizeof exe - 1);
	if (n <= 0)
		return;
	exe[n] = 0;
	add_program(f, exe, pid);
	add_located(f, "libc.so.6", pid);
}

static int add_probes(struct session *s, const struct files *f, uint8_t texts, struct err *err)
{
	struct event *e = &s->events[s->n_events];
	const struct text_kind *k = &text_kinds[texts];
	char letters[sizeof k->letters];
	int rc;

	memcpy(letters, k->letters, sizeof letters);
	if (s->n_events == CAPTURE_EVENTS_MAX)
		return 0;
	*e = (struct event){.no_stack = true, .texts = texts};
	snprintf(e->name, sizeof e->name, "syscall-%s", k->name);
	rc = probe_event_for_syscalls(&s->probes, e, f->list, f->n, has_letter, letters, k->fields,
				      err);
	s->n_events += rc > 0;
	return rc;
}

int syscall_probes(struct session *s, pid_t pid, struct err *err)
{
	struct files *f = calloc(1, sizeof *f);
	const size_t before = s->n_events;
	int rc = 0;

	s->texts = calloc(1, sizeof *s->texts);
	if (!f || !s->texts) {
		free(f);
		return err_nomem(err);
	}
	for (size_t i = 0; pid && i < s->processes.tids.n; i++)
		add_process(f, s->processes.tids.v[i]);
	if (!pid) {
		add_program(f, s->opt->command ? s->opt->command[0] : "sh", 0);
		add_located(f, "libc.so.6", 0);
	}
	for (uint8_t k = 1; rc >= 0 && k <= TEXTS_KINDS; k++)
		rc = add_probes(s, f, k, err);
	if (rc >= 0 && s->n_events == before)
		capture_note(s->result,
			     "paths of system calls are read after their entry: no probe "
			     "reads them in time (that needs CAP_SYS_ADMIN)");
	free(f);
	return rc < 0 ? rc : 0;
}

void syscall_begin(struct session *s)
{
	if (!s->texts || s->all_processes || s->command_pid)
		return;
	for (size_t i = 0; i < s->processes.tids.n; i++)
		open_files_read(&s->texts->files, s->processes.tids.v[i]);
}

void syscall_texts_free(struct syscall_texts *t)
{
	if (t)
		open_files_done(&t->files);
	free(t);
}

/* Where the RAW part's bytes begin; 0: there are none of this kind. */
static size_t raw_at(const struct sample_fields *l, const uint8_t *rec, size_t n, uint32_t *size,
		     struct moment *ret)
{
	struct buf b = buf_make(rec, n, 0, false);

	buf_skip(&b, sizeof(struct perf_event_header) + 8);
	buf_skip(&b, l->sample_type & PERF_SAMPLE_IP ? 8 : 0);
	ret->pid = buf_u32(&b);
	ret->tid = buf_u32(&b);
	ret->time_ns = buf_u64(&b);
	buf_skip(&b, l->sample_type & PERF_SAMPLE_ADDR ? 8 : 0);
	buf_skip(&b, 8);
	buf_skip(&b, l->sample_type & PERF_SAMPLE_PERIOD ? 8 : 0);
	if (l->sample_type & PERF_SAMPLE_CALLCHAIN) {
		const uint64_t nr = buf_u64(&b);

		buf_skip(&b, nr <= buf_left(&b) / 8 ? nr * 8 : UINT64_MAX);
	}
	*size = buf_u32(&b);
	return buf_ok(&b) && *size >= TEXT_AT && *size <= buf_left(&b) ? n - buf_left(&b) : 0;
}

void syscall_texts_note(struct syscall_texts *t, const struct sample_fields *l, const uint8_t *rec,
			size_t n, uint8_t texts)
{
	struct moment when;
	uint32_t size;
	const size_t at = raw_at(l, rec, n, &size, &when);
	struct text_slot *slot;

	if (!at || size > RAW_MAX)
		return;
	slot = &t->slots[texts - 1][when.tid % SLOTS];
	slot->tid = when.tid;
	slot->texts = texts;
	slot->n = size;
	memcpy(slot->raw, rec + at, size);
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* A structure of *n bytes, of which as many as there is room for were read, 8 at a time. */
static const uint8_t *probed_struct(const struct text_slot *slot, const uint64_t *args, size_t i,
				    size_t *n)
{
	for (size_t k = 0; k < sizeof struct_fields / sizeof *struct_fields; k++) {
		const struct struct_field *f = &struct_fields[k];

		if (f->arg != i)
			continue;
		*n = (uint32_t)args[i + 1] < f->bytes ? (uint32_t)args[i + 1] : f->bytes;
		/* One that ends in a page before may not have been read. */
		return args[i] % PAGE + (*n + 7) / 8 * 8 <= PAGE
			       ? slot->raw + PROBED_TEXTS_AT + f->at
			       : NULL;
	}
	return NULL;
}

/* A buffer that ends in a page before may not have been read. */
static const uint8_t *probed_buffer(const struct text_slot *slot, const uint64_t *args, size_t i,
				    size_t *n)
{
	*n = args[i + 1] < BUFFER_BYTES ? (size_t)args[i + 1] : BUFFER_BYTES;
	return i == 1 && args[i] % PAGE + BUFFER_BYTES <= PAGE ? slot->raw + PROBED_TEXTS_AT : NULL;
}

/* Text i of the record; 0: it has none. A text for which the kernel had no room, or that is longer
 * than 4095 bytes, takes the room of all that follow, the thread's name at last. */
static size_t text_loc(const struct text_slot *slot, size_t i, size_t *n)
{
	uint32_t loc;
	size_t at;

	memcpy(&loc, slot->raw + PROBED_TEXTS_AT + 4 * i, sizeof loc);
	at = loc & 0xffff;
	*n = loc >> 16;
	return *n && at <= slot->n && *n <= slot->n - at ? at : 0;
}

static const uint8_t *probed_path(const struct text_slot *slot, size_t i, size_t *n, bool *is_cut)
{
	const size_t at = i < PROBED_ARGS ? text_loc(slot, i, n) : 0;
	size_t n_behind;

	if (!at)
		return NULL;
	*is_cut = !text_loc(slot, PROBED_ARGS, &n_behind);
	for (size_t k = i + 1; k < PROBED_ARGS; k++)
		*is_cut &= !text_loc(slot, k, &n_behind);
	*n = strnlen((const char *)slot->raw + at, *n);
	if (*n == sizeof "(fault)" - 1 && !memcmp(slot->raw + at, "(fault)", *n))
		return NULL;
	return slot->raw + at;
}

/* What a probe read of argument i; NULL: nothing. */
static const uint8_t *probed(const struct text_slot *slot, uint8_t kind, const uint64_t *args,
			     size_t i, size_t *n, bool *is_cut)
{
	*is_cut = false;
	if (!slot)
		return NULL;
	if (kind == TEXTS_PATHS)
		return probed_path(slot, i, n, is_cut);
	return kind == TEXTS_BUFFERS ? probed_buffer(slot, args, i, n)
				     : probed_struct(slot, args, i, n);
}

struct entry {
	struct moment when;
	struct syscall call;
	uint64_t args[SYSCALL_ARGS_MAX];
	const struct text_slot *slots[TEXTS_KINDS]; /* what was read of it; NULL */
};

static void add_age(struct text *t, const struct entry *e)
{
	const int64_t us = (int64_t)(clock_ns_of(ATTR_CLOCK) - e->when.time_ns) / 1000;

	text_char(t, '+');
	text_dec(t, us > 0 ? (uint64_t)us : 0, 0);
	text_str(t, "us");
}

/* Of what it cannot read a probe has zeros, and does not say so. */
static bool is_unreadable(const struct entry *e, size_t i, const uint8_t *text, size_t n)
{
	uint8_t byte;

	for (size_t k = 0; k < n; k++)
		if (text[k])
			return false;
	return n && !read_memory((pid_t)e->when.pid, e->args[i], &byte, 1);
}

static void add_pointed_to(struct text *t, const struct entry *e, size_t i, uint8_t kind)
{
	const bool is_path = kind == TEXTS_PATHS;
	const size_t max = text_kinds[kind].bytes_max;
	const uint64_t size = is_path		      ? max
			      : kind == TEXTS_BUFFERS ? e->args[i + 1]
						      : (uint32_t)e->args[i + 1];
	uint8_t bytes[PATH_BYTES];
	size_t n = 0, len;
	bool is_cut;
	const uint8_t *text = probed(e->slots[kind - 1], kind, e->args, i, &n, &is_cut);
	const bool is_late = !text;

	if (text && !is_path && is_unreadable(e, i, text, n))
		return;

	if (is_late) {
		n = read_memory((pid_t)e->when.pid, e->args[i], bytes,
				size < max ? (size_t)size : max);
		text = bytes;
	}
	if (is_late && !n)
		return;
	len = is_path ? strnlen((const char *)text, n < PATH_BYTES ? n : PATH_BYTES) : n;
	text_char(t, ' ');
	text_dec(t, i, 0);
	text_char(t, '=');
	text_quoted(t, text, len, false);
	if (!is_path ? size > n : is_late ? len == n : is_cut || n > PATH_BYTES)
		text_str(t, "...");
	if (is_late)
		add_age(t, e);
}

/* The file that a descriptor stood for when the recording began, once. */
static void add_file_path(struct text *t, struct syscall_texts *texts, const struct entry *e,
			  size_t i)
{
	const char *path = open_files_take(&texts->files, (pid_t)e->when.pid, (int32_t)e->args[i]);

	if (!path)
		return;
	text_char(t, ' ');
	text_dec(t, i, 0);
	text_char(t, '=');
	text_quoted(t, (const uint8_t *)path, strnlen(path, PATH_BYTES), false);
	if (strnlen(path, PATH_BYTES + 1) > PATH_BYTES)
		text_str(t, "...");
}

static const struct text_slot *slot_of(struct syscall_texts *t, const struct entry *e, size_t kind)
{
	struct text_slot *slot = t ? &t->slots[kind][e->when.tid % SLOTS] : NULL;

	if (!slot || !slot->texts || slot->tid != e->when.tid ||
	    memcmp(slot->raw + PROBED_ARGS_AT, e->args, 8 * PROBED_ARGS))
		return NULL;
	return slot;
}

static void add_texts(struct text *t, struct syscall_texts *texts, struct entry *e,
		      const uint8_t *raw)
{
	uint64_t id;

	memcpy(&id, raw + ID_AT, sizeof id);
	memcpy(e->args, raw + ARGS_AT, sizeof e->args);
	if (!syscall_find(processor_here(), id, &e->call))
		return;
	for (size_t kind = 0; kind < TEXTS_KINDS; kind++)
		e->slots[kind] = slot_of(texts, e, kind);
	for (size_t i = 0; e->call.args[i]; i++) {
		const uint8_t kind = kind_of(e->call.args[i]);

		if (texts && (e->call.args[i] == 'f' || e->call.args[i] == 'D'))
			add_file_path(t, texts, e, i);

		if (kind && (kind == TEXTS_PATHS || e->call.args[i + 1]) && e->args[i])
			add_pointed_to(t, e, i, kind);
	}
	for (size_t kind = 0; kind < TEXTS_KINDS; kind++)
		if (e->slots[kind])
			texts->slots[kind][e->when.tid % SLOTS].texts = 0;
}

size_t syscall_text_add(struct syscall_texts *texts, const struct sample_fields *l, uint8_t *rec,
			size_t n)
{
	struct perf_event_header h;
	struct entry e = {0};
	uint32_t size, new_size, loc;
	const size_t at = raw_at(l, rec, n, &size, &e.when);
	struct text t = {0};
	size_t more;

	if (!at)
		return n;
	add_texts(&t, texts, &e, rec + at);
	text_char(&t, 0);
	/* The size word and the bytes end at a multiple of 8. */
	new_size = (uint32_t)((TEXT_AT + t.n + 4 + 7) / 8 * 8 - 4);
	more = new_size > size ? new_size - size : 0;
	if (!t.failed && more <= SYSCALL_TEXT_MAX && n + more <= UINT16_MAX) {
		memmove(rec + at + size + more, rec + at + size, n - at - size);
		memset(rec + at + LOC_AT, 0, size + more - LOC_AT);
		memcpy(rec + at + TEXT_AT, t.s, t.n);
		loc = TEXT_AT | (uint32_t)t.n << 16;
		memcpy(rec + at + LOC_AT, &loc, sizeof loc);
		size += (uint32_t)more;
		memcpy(rec + at - 4, &size, sizeof size);
		n += more;
		memcpy(&h, rec, sizeof h);
		h.size = (uint16_t)n;
		memcpy(rec, &h, sizeof h);
	}
	text_done(&t);
	return n;
}
