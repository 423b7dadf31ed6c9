/* environs.c - a table of all 8 bytes of the environment's values. */
#include "capture/environs.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/attr.h"
#include "capture/sysfile.h"

enum {
	WORD = 8,
	FILL = '.',
	TEXT_MAX = 256 << 10,	    /* of one environment */
	TEXTS_BYTES_MAX = 16 << 20, /* of all */
	PROCESSES_MAX = 1 << 16,
	END_BYTES = 64,
	/* In the place of the index of a text. EMPTY: known to be so. HOPELESS: the process has
	 * overwritten it, or it is too large; need not be asked for again. */
	EMPTY = ENVIRON_NO_TEXT,
	NOT_KNOWN,
	HOPELESS,
	NONE,
};

/* ---- values -------------------------------------------------------------------------------- */

/* Variables whose values are no secrets, by name or by the end of it. Of LC_* those of locale(7):
 * sshd lets others through by that beginning. */
static bool is_harmless(const char *name)
{
	static const char *const names[] = {"HOME",	   "PWD",
					    "OLDPWD",	   "SHELL",
					    "USER",	   "TERM",
					    "LANG",	   "LOGNAME",
					    "_",	   "DISPLAY",
					    "EDITOR",	   "PAGER",
					    "HOSTNAME",	   "LANGUAGE",
					    "LC_ALL",	   "LC_ADDRESS",
					    "LC_COLLATE",  "LC_CTYPE",
					    "LC_MESSAGES", "LC_IDENTIFICATION",
					    "LC_MONETARY", "LC_MEASUREMENT",
					    "LC_NAME",	   "LC_NUMERIC",
					    "LC_PAPER",	   "LC_TELEPHONE",
					    "LC_TIME"};
	static const char *const ends[] = {"PATH", "_DIR", "_DIRS", "_HOME", "TMPDIR"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	for (i = 0; i < sizeof ends / sizeof *ends; i++)
		if (str_ends_with(name, ends[i]))
			return true;
	return false;
}

/* Leaves of "NAME=VALUE" NUL .. the values, each behind a NUL; of what has no name all, if it is
 * not among arguments. Returns the new length. */
static size_t keep_values(char *v, size_t n, bool is_environ)
{
	size_t at = 0, to = 0, size, skip;
	char *is;

	for (; at < n; at += size + 1) {
		size = strnlen(v + at, n - at);
		is = memchr(v + at, '=', size);
		if (is)
			*is = 0;
		skip = is ? (size_t)(is - (v + at)) : 0;
		if (size - skip <= WORD || (is ? is_harmless(v + at) : !is_environ))
			continue;
		if (!is && to) /* at its former place was the NUL of the one before */
			v[to++] = 0;
		memmove(v + to, v + at + skip, size - skip);
		to += size - skip;
	}
	return to;
}

static uint64_t word_at(const void *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return w;
}

static size_t place_of(const struct environ_text *t, uint64_t w, uint64_t seed)
{
	return hash_mix(seed, w) & t->mask;
}

/* Where 8 bytes are among the values; n: nowhere. */
static size_t find(const struct environ_text *t, uint64_t w, uint64_t seed)
{
	size_t i = place_of(t, w, seed);

	for (; t->slots[i]; i = (i + 1) & t->mask)
		if (word_at(t->v + t->slots[i] - 1) == w)
			return t->slots[i] - 1;
	return t->n;
}

static int index_values(struct environ_text *t, uint64_t seed)
{
	size_t i, at, size = 64, since = 0;

	while (size < 2 * t->n)
		size *= 2;
	t->mask = size - 1;
	t->slots = calloc(size, sizeof *t->slots);
	if (!t->slots)
		return -1;
	for (i = 0; i < t->n; i++) {
		since = t->v[i] ? since + 1 : 0;
		if (since < WORD || find(t, word_at(t->v + i + 1 - WORD), seed) != t->n)
			continue;
		at = place_of(t, word_at(t->v + i + 1 - WORD), seed);
		while (t->slots[at])
			at = (at + 1) & t->mask;
		t->slots[at] = (uint32_t)(i + 1 - WORD) + 1;
	}
	return 0;
}

/* ---- processes ----------------------------------------------------------------------------- */

/* Index of a text, which is taken; HASH_NONE: it is empty, or there is no room. */
static uint32_t add_text(struct environs *e, char *v, size_t n, bool is_environ)
{
	struct environ_text t = {.v = v, .n = n};
	const struct environ_text *old;
	uint32_t i;

	if (!t.v || !t.n) /* of a process that ends it is empty */
		goto none;
	t.n = keep_values(t.v, t.n, is_environ);
	t.key = hash_bytes(t.v, t.n);
	i = hash_get(&e->by_key, t.key);
	old = i == HASH_NONE ? NULL : &e->texts.v[i];
	if (old && old->n == t.n && !memcmp(old->v, t.v, t.n)) {
		free(t.v);
		return i;
	}
	i = (uint32_t)e->texts.n;
	if (e->bytes + t.n > TEXTS_BYTES_MAX || index_values(&t, hash_secret()) ||
	    hash_put(&e->by_key, t.key, i))
		goto none;
	if (vec_push(&e->texts, t)) {
		hash_remove(&e->by_key, t.key);
		goto none;
	}
	e->bytes += t.n;
	return i;
none:
	environ_text_done(&t);
	return HASH_NONE;
}

/* What /proc has of a process now. Programs that change their title write it over arguments and
 * environment. NOT_KNOWN: it has ended, is another user's, or is inside of execve(), where its new
 * environment is in place before the kernel says so: then all is empty. */
static uint32_t ask(struct environs *e, const char *pid)
{
	char file[64];
	size_t n = 0;
	bool is_there;
	uint32_t i;
	char *v;

	snprintf(file, sizeof file, "/proc/%s/environ", pid);
	v = sysfile_read_all(file, TEXT_MAX, &n);
	if (!v)
		return errno == ENOMEM ? HOPELESS : NOT_KNOWN;
	if (n && !memchr(v, '=', n)) {
		free(v);
		return HOPELESS;
	}
	if (n) {
		i = add_text(e, v, n, true);
		return i == HASH_NONE ? NOT_KNOWN : i;
	}
	free(v);
	snprintf(file, sizeof file, "/proc/%s/cmdline", pid);
	v = sysfile_read_all(file, TEXT_MAX, &n);
	is_there = v && n;
	free(v);
	return is_there ? EMPTY : NOT_KNOWN;
}

void environs_begin(struct environs *e)
{
	e->on = true;
	ask(e, "self");
}

/* For what has no entry: nothing is known of it. */
static const struct environ_process unknown = {.asked = NOT_KNOWN, .learned = NOT_KNOWN};

/* NULL: none, and `adds` is not set or there is no room. */
static struct environ_process *process_of(struct environs *e, uint32_t pid, bool adds)
{
	uint32_t i = hash_get(&e->by_pid, pid);

	if (i != HASH_NONE)
		return &e->processes.v[i];
	if (!adds)
		return NULL;
	environs_sweep(e);
	i = (uint32_t)e->processes.n;
	if (i >= PROCESSES_MAX || vec_push(&e->processes, unknown))
		return NULL;
	e->processes.v[i].pid = pid;
	if (hash_put(&e->by_pid, pid, i)) {
		e->processes.n--;
		return NULL;
	}
	return &e->processes.v[i];
}

/* Records of several processors come in any order. Returns whether none is later. */
static bool note_exec(struct environ_process *p, uint64_t time_ns)
{
	uint64_t at = time_ns, later;

	for (size_t i = 0; i < ENVIRON_EXECS; i++)
		if (at > p->exec_ns[i]) {
			later = p->exec_ns[i];
			p->exec_ns[i] = at;
			at = later;
		}
	p->asked = NOT_KNOWN;
	p->ended_ns = 0; /* another had this number, or a thread that is not the first executes */
	return p->exec_ns[0] == time_ns;
}

/* The same environment, until it executes something. What had this pid before is another process.
 */
static void note_fork(struct environs *e, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	struct environ_process *p = process_of(e, pid, true);
	const struct environ_process *from = process_of(e, parent, false);

	if (!p)
		return;
	if (note_exec(p, time_ns) && from && from->exec_ns[0] <= time_ns)
		p->asked = from->asked;
}

/* The first thread's end is taken for the process': what others of its threads do later counts as
 * not known. */
static void note_exit(struct environs *e, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct environ_process *p = pid == tid ? process_of(e, pid, false) : NULL;

	if (p && time_ns > p->exec_ns[0])
		p->ended_ns = time_ns;
}

void environs_note(struct environs *e, const uint8_t *rec, size_t n)
{
	struct perf_event_header h;
	struct environ_process *p;
	uint32_t pid, parent, tid;
	uint64_t time_ns;

	if (!e->on || n < sizeof h + 8 + ATTR_SAMPLE_ID_BYTES)
		return;
	memcpy(&h, rec, sizeof h);
	memcpy(&pid, rec + sizeof h, sizeof pid);
	memcpy(&parent, rec + sizeof h + 4, sizeof parent); /* of FORK */
	memcpy(&time_ns, rec + n - ATTR_SAMPLE_ID_BYTES + 8, sizeof time_ns);
	e->now_ns = time_ns > e->now_ns ? time_ns : e->now_ns;
	if (h.type == PERF_RECORD_EXIT && n >= sizeof h + 24 + ATTR_SAMPLE_ID_BYTES) {
		memcpy(&tid, rec + sizeof h + 8, sizeof tid);
		note_exit(e, pid, tid, time_ns);
	}
	if (h.type == PERF_RECORD_FORK && pid != parent)
		note_fork(e, pid, parent, time_ns);
	if (h.type != PERF_RECORD_COMM || !(h.misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	p = process_of(e, pid, true);
	if (p)
		note_exec(p, time_ns);
}

bool environs_execs_later(const struct environs *e, uint32_t pid, uint64_t time_ns)
{
	const uint32_t i = hash_get(&e->by_pid, pid);

	return i != HASH_NONE && e->processes.v[i].exec_ns[0] > time_ns;
}

/* Was it the same program at both times? */
static bool is_same_program(const struct environ_process *p, uint64_t a, uint64_t b)
{
	const uint64_t first = a < b ? a : b, last = a < b ? b : a;

	for (size_t i = 0; i < ENVIRON_EXECS; i++)
		if (p->exec_ns[i] > first && p->exec_ns[i] <= last)
			return false;
	return first >= p->exec_ns[ENVIRON_EXECS - 1]; /* earlier ones are forgotten */
}

/* What /proc says of a process, if that is also what it had at that time, to *is_known. */
static const struct environ_text *text_of(struct environs *e, uint32_t pid,
					  struct environ_process *p, uint64_t time_ns,
					  bool *is_known)
{
	char text[16];

	if (p->asked == NOT_KNOWN) {
		snprintf(text, sizeof text, "%" PRIu32, pid);
		p->asked = ask(e, text);
	}
	*is_known = p->asked < NOT_KNOWN && time_ns >= p->exec_ns[0];
	if (p->asked >= NOT_KNOWN) /* it may have inherited ours */
		return e->texts.n ? &e->texts.v[0] : NULL;
	return p->asked < e->texts.n ? &e->texts.v[p->asked] : NULL;
}

/* Are all values of b among those of a? */
static bool has_all(const struct environ_text *a, const struct environ_text *b)
{
	const uint64_t seed = hash_secret();
	size_t at, n, pos;

	for (at = 0; at < b->n; at += n + 1) {
		n = strnlen(b->v + at, b->n - at);
		if (n < WORD)
			continue;
		pos = find(a, word_at(b->v + at), seed);
		if (pos == a->n || a->n - pos < n || memcmp(a->v + pos, b->v + at, n) != 0)
			return false;
	}
	return true;
}

void environs_learn(struct environs *e, uint32_t pid, uint64_t time_ns, const uint8_t *strings,
		    size_t n, bool is_whole)
{
	const size_t end = n < END_BYTES ? n : END_BYTES;
	const uint32_t hash = (uint32_t)hash_bytes(strings + n - end, end);
	struct environ_process *p = e->on && n ? process_of(e, pid, true) : NULL;
	char *v;

	if (!p || !memchr(strings, '=', n)) /* or overwritten */
		return;
	if (p->learned == NOT_KNOWN || p->end != hash ||
	    !is_same_program(p, p->learned_ns, time_ns)) {
		v = malloc(n);
		if (v)
			memcpy(v, strings, n);
		p->learned = add_text(e, v, n, false);
		p->learned = p->learned == HASH_NONE ? NOT_KNOWN : p->learned;
		p->covering = NONE;
		p->is_part = !is_whole;
		p->end = hash;
	}
	p->learned_ns = time_ns;
}

static bool is_piece(const struct environ_text *t, const uint8_t *p, uint64_t seed)
{
	return find(t, word_at(p), seed) < t->n;
}

/* Is the word behind a piece no more of it, but an address whose first bytes look so? Of text there
 * is nothing behind the first NUL. */
static bool may_be_address(const struct environ_text *t, const uint8_t *bytes, size_t n,
			   uint64_t seed)
{
	size_t filled, i;

	if (n < WORD || bytes[WORD - 1])
		return false;
	filled = strnlen((const char *)bytes, WORD);
	for (i = 1; i <= filled; i++)
		if (!is_piece(t, bytes + i - WORD, seed))
			return true;
	return word_at(bytes) >> 8 * filled;
}

/* Replaces the 8 bytes at `at`, which are of a value, and what is around them as far as any 8 bytes
 * in it are. Returns where that ends. */
static size_t hide_around(const struct environ_text *t, uint8_t *bytes, size_t n, size_t at,
			  uint64_t seed, size_t *hidden)
{
	size_t start = at, end = at + WORD;

	while (start && is_piece(t, bytes + start - 1, seed))
		start--;
	while (end < n && is_piece(t, bytes + end + 1 - WORD, seed) &&
	       (end % WORD || !may_be_address(t, bytes + end, n - end, seed)))
		end++;
	memset(bytes + start, FILL, end - start);
	*hidden += end - start;
	return end;
}

static size_t hide(const struct environ_text *t, uint8_t *bytes, size_t n)
{
	const uint64_t seed = hash_secret();
	size_t at = 0, hidden = 0, end;

	while (t->n && at + WORD <= n) {
		end = at + WORD;
		/* 0: an address, or a small number */
		if (bytes[end - 1] && is_piece(t, bytes + at, seed))
			end = hide_around(t, bytes, n, at, seed, &hidden);
		at = (end + WORD - 1) / WORD * WORD;
	}
	return hidden;
}

/* Of UTF-8, too, but no byte of -1. */
static bool is_text(uint8_t c)
{
	return (c >= ' ' && c != 0x7f && c != 0xc0 && c != 0xc1 && c < 0xf5) ||
	       (c >= '\t' && c <= '\r') || c == '\033';
}

static size_t text_bytes(const uint8_t *bytes, size_t n)
{
	size_t i = 0;

	while (i < n && is_text(bytes[i]))
		i++;
	return i;
}

/* How much of what is behind a text belongs to it: no address does (environs.h). */
static size_t rest_of_text(const uint8_t *bytes, size_t n)
{
	const size_t filled = text_bytes(bytes, n < WORD ? n : WORD);

	if (n >= WORD && !bytes[WORD - 1] && filled < WORD && word_at(bytes) >> 8 * filled)
		return 0;
	return filled;
}

size_t environs_hide_texts(uint8_t *bytes, size_t n)
{
	size_t at = 0, start, end, hidden = 0;

	for (; at + WORD <= n; at = end) {
		end = at + WORD;
		if (text_bytes(bytes + at, WORD) < WORD)
			continue;
		for (start = at; start && is_text(bytes[start - 1]); start--)
			;
		while (end + WORD <= n && text_bytes(bytes + end, WORD) == WORD)
			end += WORD;
		hidden += end - start;
		memset(bytes + start, FILL, end - start);
		start = rest_of_text(bytes + end, n - end);
		memset(bytes + end, FILL, start);
		hidden += start;
	}
	return hidden;
}

struct texts_of {
	const struct environ_text *asked, *learned; /* NULL: none */
	bool is_known;
};

static struct texts_of texts_of(struct environs *e, uint32_t pid, uint64_t time_ns)
{
	struct environ_process none = unknown;
	struct environ_process *p = process_of(e, pid, true);
	struct texts_of t = {0};

	p = p ? p : &none;
	t.asked = text_of(e, pid, p, time_ns, &t.is_known);
	if (p->learned != NOT_KNOWN)
		t.learned = &e->texts.v[p->learned];
	if (t.learned && t.asked && p->covering != (uint32_t)(t.asked - e->texts.v)) {
		p->is_covered = has_all(t.asked, t.learned);
		p->covering = (uint32_t)(t.asked - e->texts.v);
	}
	t.is_known |= t.learned && !p->is_part && is_same_program(p, p->learned_ns, time_ns);
	if (t.asked && p->is_covered)
		t.learned = NULL;
	return t;
}

static size_t hide_in(const struct texts_of *t, uint8_t *bytes, size_t n)
{
	size_t hidden = t->asked ? hide(t->asked, bytes, n) : 0;

	if (t->learned)
		hidden += hide(t->learned, bytes, n);
	return hidden + (t->is_known ? 0 : environs_hide_texts(bytes, n));
}

size_t environs_hide(struct environs *e, uint32_t pid, uint64_t time_ns, struct environ_bytes regs,
		     struct environ_bytes stack)
{
	struct texts_of t;

	if (!e->on)
		return 0;
	t = texts_of(e, pid, time_ns);
	return hide_in(&t, regs.v, regs.n) + hide_in(&t, stack.v, stack.n);
}

void environs_done(struct environs *e)
{
	size_t i;

	for (i = 0; i < e->texts.n; i++)
		environ_text_done(&e->texts.v[i]);
	vec_done(&e->texts);
	vec_done(&e->processes);
	hash_done(&e->by_key);
	hash_done(&e->by_pid);
	*e = (struct environs){0};
}
