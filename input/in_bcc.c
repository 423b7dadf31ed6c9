/* in_bcc.c - blocks of frames, leaf first, as bcc's tools print them without -f, and bpftrace's
 * printf("%s\n", ustack):
 *
 *	    vfs_read			380928 bytes allocated at:	        leaf+28
 *	    main				main+0x17		        main+9
 *	    -      spin (58990)			start+0x2
 *	        17						(empty line)
 *				(empty line)
 *
 * (profile, offcputime, stackcount ..; mallocstacks, memleak; bpftrace). A number that stands alone
 * ends a block and is its weight; or a line before the block has the weight; or each block is one
 * sample, and the line before it is what the script prints: a command and a process, mostly. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/text_frame.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"

#include <ctype.h>
#include <stdlib.h>

enum { LEARN_LINES = 2000, LINE_BYTES = 1024 };

enum weight_place { WEIGHT_AFTER, WEIGHT_BEFORE, WEIGHT_ONE };

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	enum weight_place place;
	uint32_t event;
	struct profile_sample sample; /* of the block */
	uint64_t bytes;		      /* WEIGHT_BEFORE */
	bool has_weight, has_task;
	/* Leaf first. Of the first n_kernel frames it is known that they are the kernel's. */
	VEC(uint32_t) stack;
	size_t n_kernel;
	VEC(uint32_t) root_first;
	bool is_dtrace;	   /* a stack of the kernel and one of the process, an empty line between */
	bool is_next_head; /* the second line of what dtrace prints first */
	bool is_waker;	   /* offwaketime: a second stack, of the thread that has woken the first */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_number(const char *s, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	*ret = strtoull(s, &end, 10);
	return !end[strspn(end, " \t\r")];
}

/* "380928 bytes allocated at:", "1000 bytes in 10 allocations from stack" */
static bool is_weight_line(const char *s, uint64_t *bytes, uint64_t *count)
{
	unsigned long long b, c = 1;
	int used = 0, in_all = 0;

	s += strspn(s, " \t");
	if (sscanf(s, "%llu bytes allocated at:%n", &b, &used) == 1 && used) {
		*bytes = b;
		*count = 1;
		return true;
	}
	if (sscanf(s, "%llu bytes in %llu allocations from stack%n", &b, &c, &in_all) != 2 ||
	    !in_all)
		return false;
	*bytes = b;
	*count = c;
	return true;
}

/* "-                spin (58990)", "bash [12]", "target:          spin 12" */
static bool is_task(const char *s, size_t n, const char **comm, size_t *n_comm, uint32_t *pid)
{
	const char *open = s[n - 1] == ')'   ? memrchr(s, '(', n)
			   : s[n - 1] == ']' ? memrchr(s, '[', n)
					     : NULL;
	const bool is_dash = *s == '-' && n > 8 && !strncmp(s, "-        ", 9);
	char *end;

	if (!open || open == s || (s[n - 1] == ')' && !is_dash))
		return false;
	*pid = (uint32_t)strtoul(open + 1, &end, 10);
	if (end == open + 1 || end != s + n - 1)
		return false;
	*comm = is_dash ? s + 1 + strspn(s + 1, " ") : s;
	*n_comm = open > *comm ? (size_t)(open - *comm) : 0;
	while (*n_comm && (*comm)[*n_comm - 1] == ' ')
		--*n_comm;
	if (*n_comm > 3 && !memcmp(*comm, "b'", 2) && (*comm)[*n_comm - 1] == '\'') {
		*comm += 2;
		*n_comm -= 3;
	}
	return true;
}

/* "main+20": a frame of bpftrace, whose offsets are decimal; or an address alone. */
static bool is_bare_frame(const char *s, size_t n)
{
	size_t at = n;

	if (n > 6 && s[0] == '0' && s[1] == 'x')
		return strspn(s + 2, "0123456789abcdef") == n - 2;
	while (at && isdigit((unsigned char)s[at - 1]))
		at--;
	return at > 1 && at < n && s[at - 1] == '+';
}

/* "CPU     ID                    FUNCTION:NAME", and below it "  0  64091    :tick-60s". */
static bool is_dtrace_head(const char *line)
{
	return str_starts_with(line, "CPU ") && str_ends_with(line, " FUNCTION:NAME");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void begin_block(struct reader *r)
{
	r->sample = (struct profile_sample){
		.event = r->event, .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID, .count = 1};
	r->stack.n = r->n_kernel = 0;
	r->has_weight = r->has_task = r->is_waker = false;
}

static int end_block(struct reader *r, struct err *err)
{
	struct profile_sample s = r->sample;
	struct input_sample seen = {.pid = s.pid, .tid = PROFILE_NO_PID};
	size_t i;
	int rc;

	seen.comm = strtab_get(&r->p->strings, s.comm);
	seen.event = strtab_get(&r->p->strings, r->p->events.v[r->event].name);
	if (!r->stack.n && !r->has_task)
		return 0;
	r->root_first.n = 0;
	for (i = r->stack.n; i--;)
		if (vec_push(&r->root_first, r->stack.v[i]))
			return err_nomem(err);
	begin_block(r);
	if (!input_accepts(r->opt, &seen, r->ret))
		return 0;
	rc = profile_add_stack(r->p, r->root_first.v, r->root_first.n, &s.node, err);
	return rc ? rc : profile_add_sample(r->p, &s, err);
}

/* All frames until now are the kernel's. */
static int to_kernel(struct reader *r, struct err *err)
{
	for (; r->n_kernel < r->stack.n; r->n_kernel++) {
		uint32_t *id = &r->stack.v[r->n_kernel];
		struct profile_location l = r->p->locations.v[*id];
		struct profile_line line = {0};

		l.is_kernel = true;
		if (l.n_lines)
			line = r->p->lines.v[l.first_line];
		if (profile_add_location(r->p, &l, &line, l.n_lines, id, err))
			return -ERR_NOMEM;
	}
	return 0;
}

static int add_frame(struct reader *r, const char *s, size_t n, struct err *err)
{
	struct text_frame f;
	uint32_t id;
	bool is_kernel = n > 4 && !memcmp(s + n - 4, "_[k]", 4);

	text_frame_parse(s, is_kernel ? n - 4 : n, &f);
	is_kernel |= f.ip >> 48 == 0xffff;
	if (text_frame_add(r->p, &f, is_kernel, &id, err))
		return -ERR_NOMEM;
	if (vec_push(&r->stack, id))
		return err_nomem(err);
	return f.is_kernel_entry && !r->is_waker ? to_kernel(r, err) : 0;
}

/* A name that is shown as a frame. */
static int add_label(struct reader *r, const char *s, size_t n, struct err *err)
{
	struct text_frame f = {.name = s, .n = n, .module = ""};
	uint32_t id;

	if (text_frame_add(r->p, &f, false, &id, err))
		return -ERR_NOMEM;
	return vec_push(&r->stack, id) ? err_nomem(err) : 0;
}

static int set_comm(struct reader *r, const char *s, size_t n, struct err *err)
{
	r->has_task = true;
	r->sample.comm = profile_string(r->p, s, n);
	return r->sample.comm == STRTAB_FAILED ? err_nomem(err) : 0;
}

/* offwaketime and wakeuptime: "target:   spin 12", "waker:   bash 7", and "--" between both. */
static int add_wake_line(struct reader *r, const char *s, size_t n, bool *was, struct err *err)
{
	const bool is_target = str_starts_with(s, "target:"),
		   is_waker = str_starts_with(s, "waker:");
	const char *at = s + strcspn(s, " "), *end = s + n;

	*was = is_target || is_waker || str_starts_with(s, "--  ");
	if (!*was)
		return 0;
	r->is_waker |= is_waker;
	if (!is_target && !is_waker)
		return add_label(r, "--", 2, err);
	at += strspn(at, " ");
	/* The process follows the name. */
	while (end > at && isdigit((unsigned char)end[-1]))
		end--;
	if (end == at || end[-1] != ' ')
		end = s + n;
	if (is_target && end < s + n)
		r->sample.pid = (uint32_t)strtoul(end, NULL, 10);
	while (end > at && end[-1] == ' ')
		end--;
	return is_target ? set_comm(r, at, (size_t)(end - at), err)
			 : add_label(r, at, (size_t)(end - at), err);
}

/* A line that is indented. */
static int read_inner(struct reader *r, const char *s, size_t n, struct err *err)
{
	const char *comm;
	size_t n_comm;
	uint64_t number, count;
	bool is_wake;
	int rc;

	if (is_weight_line(s, &number, &count)) {
		rc = end_block(r, err);
		r->sample.period = number;
		r->sample.count = count;
		r->has_weight = true;
		return rc;
	}
	if (r->place == WEIGHT_AFTER && is_number(s, &number)) {
		r->sample.count = r->sample.period = number;
		return end_block(r, err);
	}
	if ((n == 2 && !memcmp(s, "--", 2)) || (n == 1 && *s == '-'))
		return r->is_waker ? 0 : to_kernel(r, err);
	if (str_starts_with(s, "addr = "))
		return 0;
	rc = add_wake_line(r, s, n, &is_wake, err);
	if (rc || is_wake)
		return rc;
	if (r->place == WEIGHT_AFTER && is_task(s, n, &comm, &n_comm, &r->sample.pid))
		return set_comm(r, comm, n_comm, err);
	return add_frame(r, s, n, err);
}

/* What a script prints before a stack: the first word that is no number is the command, the first
 * number the process. */
static int take_words(struct reader *r, const char *s, struct err *err)
{
	uint64_t number;
	size_t n;

	for (; *s; s += n) {
		char word[64];

		s += strspn(s, " \t,:");
		n = strcspn(s, " \t,:");
		snprintf(word, sizeof word, "%.*s", (int)(n < 63 ? n : 63), s);
		if (is_number(word, &number))
			r->sample.pid =
				r->sample.pid == PROFILE_NO_PID ? (uint32_t)number : r->sample.pid;
		else if (n && !r->sample.comm && set_comm(r, s, n, err))
			return -ERR_NOMEM;
	}
	r->has_task = false; /* without a stack it is a message */
	return 0;
}

static int read_line(void *reader, char *line, size_t n, struct err *err)
{
	struct reader *r = reader;
	size_t blank = strspn(line, " \t");
	bool is_head = r->is_next_head;
	int rc;

	while (n > blank && isspace((unsigned char)line[n - 1]))
		line[--n] = '\0';
	r->is_next_head = is_dtrace_head(line);
	r->is_dtrace |= r->is_next_head;
	if (is_head)
		return 0;
	if (n <= blank && r->is_dtrace && r->stack.n)
		return to_kernel(r, err);
	if (n > blank && blank >= (*line == '\t' ? 1 : 2))
		return read_inner(r, line + blank, n - blank, err);
	if (n > blank && is_weight_line(line, &r->bytes, &r->bytes))
		return read_inner(r, line, n, err);
	/* Other lines end a block. One without its number is not whole. */
	if (r->place == WEIGHT_AFTER) {
		rc = r->stack.n ? 1 : 0;
		begin_block(r);
		return rc;
	}
	rc = end_block(r, err);
	begin_block(r);
	return rc || n == blank || r->place != WEIGHT_ONE ? rc : take_words(r, line, err);
}

/* ---- recognising ----------------------------------------------------------------------------- */

struct looks {
	size_t frames, bare, weights_after, weights_before, blocks, open, others;
	bool in_block, is_bpftrace, is_dtrace;
};

static void look_at(struct looks *l, const char *line)
{
	size_t blank = strspn(line, " \t"), n = strlen(line);
	uint64_t number;

	l->is_bpftrace |= str_starts_with(line, "Attach");
	l->is_dtrace |= is_dtrace_head(line);
	if (is_weight_line(line, &number, &number)) {
		l->weights_before++;
		return;
	}
	if (blank < n && blank >= (*line == '\t' ? 1 : 2)) {
		if (is_number(line + blank, &number) && l->in_block) {
			l->weights_after++;
			l->in_block = false;
			return;
		}
		l->blocks += !l->in_block;
		l->in_block = true;
		l->frames++;
		l->bare += is_bare_frame(line + blank, n - blank);
		return;
	}
	if (blank == n && l->is_dtrace)
		return; /* a second stack may follow */
	l->open += l->in_block;
	l->in_block = false;
	l->others += blank < n;
}

static struct looks look(const char *text)
{
	struct looks l = {0};
	char line[LINE_BYTES];
	size_t i, len;

	for (i = 0; *text && i < LEARN_LINES; i++, text += len + (text[len] != '\0')) {
		len = strcspn(text, "\n");
		snprintf(line, sizeof line, "%.*s", (int)(len < LINE_BYTES ? len : 0), text);
		while (*line && isspace((unsigned char)line[strlen(line) - 1]))
			line[strlen(line) - 1] = '\0';
		look_at(&l, line);
	}
	return l;
}

/* Texts of other kinds are indented, too: every block must have its weight, or frames that look
 * like frames. */
static bool place_of(const struct looks *l, enum weight_place *place)
{
	*place = l->weights_before ? WEIGHT_BEFORE : l->weights_after ? WEIGHT_AFTER : WEIGHT_ONE;
	if (!l->frames)
		return false;
	switch (*place) {
	case WEIGHT_BEFORE:
		return true;
	case WEIGHT_AFTER:
		return l->weights_after * 2 >= l->blocks && l->others <= l->blocks + 4;
	default:
		return l->bare * 4 >= l->frames * (l->is_bpftrace ? 1 : 3) &&
		       l->others <= l->blocks + 4;
	}
}

static bool detect(const char *head, size_t n)
{
	struct looks l = look(head);
	enum weight_place place;

	(void)n;
	return place_of(&l, &place);
}

/* What is counted, by what the tool prints first. */
static int begin(struct reader *r, const char *head, struct err *err)
{
	static const struct {
		const char *text, *event, *unit;
	} rows[] = {
		{"off-CPU time (us)", "off-cpu", "microseconds"},
		{"blocked time (us)", "blocked", "microseconds"},
		{"bytes allocated at:", "allocated", "bytes"},
		{"allocations from stack", "allocated", "bytes"},
		{"", "samples", ""},
	};
	struct looks l = look(head);
	uint32_t name, unit;
	size_t i;

	place_of(&l, &r->place);
	for (i = 0; !strstr(head, rows[i].text); i++)
		;
	name = profile_string(r->p, rows[i].event, strlen(rows[i].event));
	unit = profile_string(r->p, rows[i].unit, strlen(rows[i].unit));
	if (name == STRTAB_FAILED || unit == STRTAB_FAILED)
		return err_nomem(err);
	if (profile_add_event(r->p, name, unit, &r->event, err))
		return -ERR_NOMEM;
	r->p->events.v[r->event].no_period = r->place == WEIGHT_ONE;
	begin_block(r);
	return 0;
}

static int read_bcc(struct profile *p, struct input_source *s, const struct input_options *opt,
		    struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	char head[1 << 14];
	size_t n;
	int rc = input_look(s, head, sizeof head, &n, err);

	if (!rc)
		rc = begin(&r, head, err);
	if (!rc)
		rc = input_each_line(s, ret, read_line, &r, err);
	if (!rc && r.place == WEIGHT_AFTER)
		ret->cut |= r.stack.n > 0;
	else if (!rc)
		rc = end_block(&r, err);
	vec_done(&r.stack);
	vec_done(&r.root_first);
	return rc;
}

const struct input_format input_bcc = {
	.name = "bcc",
	.help = "what bcc's profile, offcputime, stackcount .., dtrace, and bpftrace's printf() "
		"print",
	.detect = detect,
	.read = read_bcc,
};
