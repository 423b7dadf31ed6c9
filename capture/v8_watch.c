/* v8_watch.c - looks for frames of V8 in stack copies.
 *
 * Source of truth: execution/frame-constants.h. All code of V8 keeps frame pointers. Below the
 * record of a JavaScript function are its context and its JSFunction, below that of one that is
 * interpreted, or compiled without optimization, at the fourth word its bytecode. What only looks
 * like such a frame names no function: runtimes/v8.c proves it. */
#include "capture/v8_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

/* Limits: of what is to be looked at, of what is remembered. */
enum { TODO_MAX = 1 << 14, SEEN_MAX = 1 << 16, TRIES_MAX = 32, FILES_MAX = 64 };

/* Tries where only what a file exports can tell: it is loaded before it makes code. */
enum { PROBES_MAX = 4 };

/* V8's builtins alone are more code. */
enum { CODE_BYTES_MIN = 512 << 10 };

/* Between two comparisons of all that is known with what is there: at least this much, and as many
 * times what one takes. */
#define CHECK_NS    100000000ull
#define CHECK_SHARE 100

/* Words below the record, as indexes from it. */
enum { CONTEXT = -1, FUNCTION = -2, BYTECODE = -4, WORDS_BELOW = 5 };

static bool ends_in(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

/* The name of node where several versions are installed: node-22, node22. */
static bool is_node_of_version(const char *path)
{
	const char *name = base_name(path);

	if (strncmp(name, "node", 4) != 0)
		return false;
	name += 4;
	name += *name == '-';
	return *name && !name[strspn(name, "0123456789")];
}

bool v8_watch_is(const char *path)
{
	static const char *const names[] = {"/node", "/chrome", "/chromium", "/electron", "/deno"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (ends_in(path, names[i]))
			return true;
	return is_node_of_version(path) || strstr(path, "/libnode.so") || strstr(path, "/libv8");
}

static bool want(struct v8_watch *w, const struct v8_seen *s)
{
	const uint64_t key = hash_mix(hash_mix(s->pc, s->function), s->bytecode);

	if (w->todo.n >= TODO_MAX || w->seen.n >= SEEN_MAX ||
	    hash_get(&w->seen, key) != HASH_NONE || hash_put(&w->seen, key, 0))
		return false;
	return !vec_push(&w->todo, *s);
}

/* As pointers to objects are tagged. */
static bool is_object(uint64_t word)
{
	return (word & 3) == 1 && word >= 65536 && word >> 47 == 0;
}

/* The frame of a function with its record at `fp`, which runs at `pc`. */
static bool look_at(struct v8_watch *w, const struct code_ranges *ranges,
		    const struct sample_facts *f, uint64_t pc, uint64_t fp, bool reads)
{
	const struct v8 *v8 = reads ? NULL : w->v8;
	const uint64_t off = fp - f->sp;
	uint64_t words[WORDS_BELOW];
	struct v8_seen s = {.time_ns = f->time_ns};

	if (fp % 8 || off < sizeof words || off > f->stack_bytes)
		return false;
	memcpy(words, f->stack + off - sizeof words, sizeof words);
	s.function = words[WORDS_BELOW + FUNCTION];
	if (!is_object(words[WORDS_BELOW + CONTEXT]) || !is_object(s.function))
		return false;
	s.bytecode = words[WORDS_BELOW + BYTECODE];
	if (!is_object(s.bytecode))
		s.bytecode = 0;
	if (code_ranges_find(ranges, pc))
		s.pc = pc;
	if ((!s.pc || (v8 && v8_knows(v8, s.pc))) &&
	    (!s.bytecode || (v8 && v8_knows_bytecode(v8, s.bytecode))))
		return false;
	return want(w, &s);
}

bool v8_watch_scan(struct v8_watch *w, const struct code_ranges *ranges,
		   const struct sample_facts *f, bool reads)
{
	const size_t n = f->stack_bytes / sizeof(uint64_t);
	bool any = look_at(w, ranges, f, f->ip, f->bp, reads);

	for (size_t i = 0; i + 1 < n; i++) {
		const uint8_t *at = f->stack + i * sizeof(uint64_t);
		uint64_t fp, ra;

		memcpy(&fp, at, sizeof fp);
		if (fp - f->sp <= i * sizeof fp || fp - f->sp >= f->stack_bytes)
			continue;
		memcpy(&ra, at + sizeof fp, sizeof ra);
		any |= ra && look_at(w, ranges, f, ra - 1, fp, reads);
	}
	return any;
}

struct v8_todo v8_watch_take(struct v8_watch *w, bool again)
{
	struct v8_todo t = {w->todo.v, w->todo.n};

	w->todo.v = NULL;
	w->todo.n = w->todo.cap = 0;
	if (again)
		hash_done(&w->seen);
	return t;
}

/* One line of /proc/PID/maps. */
struct map_line {
	uint64_t start, end;
	bool is_code;
	char *path; /* in the line; NULL: it is of no file */
};

static bool map_line_parse(char *line, struct map_line *m)
{
	static const char deleted[] = " (deleted)";
	char access[5];

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &m->start, &m->end, access) != 3)
		return false;
	m->is_code = access[2] == 'x';
	m->path = strchr(line, '/');
	if (m->path && ends_in(m->path, deleted))
		m->path[strlen(m->path) - (sizeof deleted - 1)] = 0;
	return m->path;
}

/* The first mappings of the files that may have V8: what they export tells (v8_open()). Programs
 * have it under any name, or in a library. Returns how many. */
static size_t find_files(pid_t pid, uint64_t starts[FILES_MAX])
{
	char line[4096 + 128], last[4096] = "";
	bool is_taken = false;
	uint64_t first = 0;
	struct map_line m;
	size_t n = 0;
	FILE *f;

	snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
	f = fopen(line, "re");
	while (f && n < FILES_MAX && fgets(line, sizeof line, f)) {
		if (!map_line_parse(line, &m))
			continue;
		if (strcmp(m.path, last) != 0) {
			snprintf(last, sizeof last, "%s", m.path);
			first = m.start;
			is_taken = false;
		}
		if (is_taken ||
		    (!v8_watch_is(m.path) && (!m.is_code || m.end - m.start < CODE_BYTES_MIN)))
			continue;
		starts[n++] = first;
		is_taken = true;
	}
	if (f)
		fclose(f);
	return n;
}

/* One that has just started may not be ready. */
static bool is_open(struct v8_watch *w, pid_t pid)
{
	uint64_t starts[FILES_MAX];
	size_t n;

	if (w->v8 || w->tries >= TRIES_MAX)
		return w->v8;
	n = find_files(pid, starts);
	w->tries += n > 0;
	for (size_t i = 0; i < n && !w->v8; i++) {
		w->why = (struct err){0};
		(void)v8_open(&w->v8, pid, starts[i], &w->why);
	}
	return w->v8;
}

bool v8_watch_probe(struct v8_watch *w, pid_t pid)
{
	return w->v8 || (w->tries < PROBES_MAX && is_open(w, pid));
}

static void write_all(struct v8_watch *w, struct code_log *log)
{
	const uint64_t begin = clock_ns_of(CLOCK_THREAD_CPUTIME_ID);
	uint64_t cost;

	(void)v8_write(w->v8, log, &w->counts);
	if (w->counts.functions + w->counts.torn + w->counts.changed != w->n_written) {
		w->n_written = w->counts.functions + w->counts.torn + w->counts.changed;
		code_log_add_names(log, clock_ns(), &w->counts);
	}
	cost = CHECK_SHARE * (clock_ns_of(CLOCK_THREAD_CPUTIME_ID) - begin);
	w->due_ns = clock_ns() + (cost > CHECK_NS ? cost : CHECK_NS);
}

/* Out of memory is the log's, or leaves names out. */
void v8_watch_read(struct v8_watch *w, pid_t pid, const struct v8_todo *todo, bool is_last,
		   struct code_log *log)
{
	if (!is_open(w, pid))
		return;
	if (todo->n)
		(void)v8_look(w->v8, todo->v, todo->n, &w->counts);
	if (is_last || clock_ns() >= w->due_ns)
		write_all(w, log);
}

void v8_watch_forget(struct v8_watch *w, struct code_log *log)
{
	if (w->v8)
		write_all(w, log);
	v8_free(w->v8);
	w->v8 = NULL;
	w->tries = 0;
	w->due_ns = 0;
}

void v8_watch_done(struct v8_watch *w)
{
	v8_free(w->v8);
	vec_done(&w->todo);
	hash_done(&w->seen);
}
