/* in_script.c - the text of `perf script`, of all ages.
 *
 *	java 12345/12346 [001] 12345.678901:   10101010 cycles:
 *		ffffffff8103ce3b native_safe_halt+0xb ([kernel.kallsyms])
 *		    7f5fa3ae26d1 [unknown] (/tmp/perf-12345.map)
 *
 *	(empty line)
 *
 * The first line has at least a command and a number (of the thread, or process/thread), which
 * older versions and options follow with nothing but the event; without call chains the address
 * stands behind the event. Lines with `(inlined)` are inlined into the next that is not. Lines that
 * begin with '#' are the header. Source of truth: builtin-script.c of perf 2.6.32 to 7.2, by its
 * output. */
#include "input/unpacked_lines.h"

#include <ctype.h>
#include <linux/perf_event.h>

struct word {
	const char *s;
	size_t n;
};

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	/* The sample whose frames are being read. */
	struct profile_sample sample;
	struct profile_log_entry when;
	bool in_sample, accepted, has_time, stitched;
	VEC(uint32_t) stack; /* locations, leaf first */
	VEC(uint32_t) root_first;
	VEC(struct profile_line)
	lines; /* inlined, innermost first, of the location that comes next */
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool all(struct word w, int (*is)(int))
{
	size_t i;

	for (i = 0; i < w.n; i++)
		if (!is((unsigned char)w.s[i]))
			return false;
	return w.n;
}

static struct word next_word(const char **at)
{
	struct word w;

	*at += strspn(*at, " \t");
	w.s = *at;
	w.n = strcspn(*at, " \t");
	*at += w.n;
	return w;
}

static bool to_number(struct word w, uint64_t *ret)
{
	size_t i;

	*ret = 0;
	if (!all(w, isdigit))
		return false;
	for (i = 0; i < w.n; i++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, w.s[i] - '0', ret))
			return false;
	return true;
}

static bool to_hex(struct word w, uint64_t *ret)
{
	size_t i;

	*ret = 0;
	if (w.n > 2 && w.s[0] == '0' && w.s[1] == 'x')
		w = (struct word){w.s + 2, w.n - 2};
	if (w.n > 16 || !all(w, isxdigit))
		return false;
	for (i = 0; i < w.n; i++)
		*ret = *ret << 4 |
		       (isdigit((unsigned char)w.s[i]) ? w.s[i] - '0' : (w.s[i] | 32) - 'a' + 10);
	return true;
}

/* Reads "27409/28744", or "27409", which is the thread. -1 is a task that is exiting. */
static bool to_ids(struct word w, uint32_t *pid, uint32_t *tid)
{
	const char *slash = memchr(w.s, '/', w.n);
	struct word a = {w.s, slash ? (size_t)(slash - w.s) : w.n}, b = {"", 0};
	uint64_t v;

	if (slash)
		b = (struct word){slash + 1, w.n - a.n - 1};
	*pid = PROFILE_NO_PID;
	if (slash) {
		if (b.n == 2 && !memcmp(b.s, "-1", 2))
			v = UINT32_MAX;
		else if (!to_number(b, &v) || v > INT32_MAX)
			return false;
		*tid = (uint32_t)v;
	}
	if (a.n == 2 && !memcmp(a.s, "-1", 2))
		v = UINT32_MAX;
	else if (!to_number(a, &v) || v > INT32_MAX)
		return false;
	*(slash ? pid : tid) = (uint32_t)v;
	return true;
}

/* "441995.133575:" or, with --ns, "441995.133575123:". */
static bool to_time(struct word w, uint64_t *ns)
{
	const char *dot = memchr(w.s, '.', w.n);
	struct word whole = {w.s, dot ? (size_t)(dot - w.s) : 0}, part;
	uint64_t s, f;
	size_t i;

	if (!dot || w.s[w.n - 1] != ':')
		return false;
	part = (struct word){dot + 1, w.n - whole.n - 2};
	if (!to_number(whole, &s) || !to_number(part, &f) || part.n > 9 ||
	    s > UINT64_MAX / 1000000000 - 1)
		return false;
	for (i = part.n; i < 9; i++)
		f *= 10;
	*ns = s * 1000000000 + f;
	return true;
}

/* ---- the first line -------------------------------------------------------------------------- */

struct head {
	struct word comm, event;
	struct input_sample seen;
	bool has_cpu;
	uint64_t period;
	const char *rest; /* after the event: a frame, or the fields of a tracepoint */
};

/* If w is a processor, stores it and moves on to the next word: "[001]", or, with perf script -L, a
 * number before the time. */
static void take_cpu(struct word *w, const char **at, struct head *h)
{
	const bool in_brackets = w->n > 2 && w->s[0] == '[' && w->s[w->n - 1] == ']';
	const char *after = *at;
	struct word next = next_word(&after);
	uint64_t cpu, time_ns;

	if (!to_number(in_brackets ? (struct word){w->s + 1, w->n - 2} : *w, &cpu) ||
	    (!in_brackets && !to_time(next, &time_ns)))
		return;
	h->seen.cpu = (uint32_t)cpu;
	h->has_cpu = true;
	*w = next;
	*at = after;
}

/* Reads the fields after the ids: [cpu], time, period, event. All but the event may be missing. */
static bool parse_fields(const char *at, struct head *h)
{
	struct word w = next_word(&at);

	take_cpu(&w, &at, h);
	if (to_time(w, &h->seen.time_ns)) {
		h->seen.has_time = true;
		w = next_word(&at);
	}
	if (to_number(w, &h->period))
		w = next_word(&at);
	if (!w.n)
		return h->seen.has_time;
	if (w.s[w.n - 1] != ':')
		return false;
	h->event = (struct word){w.s, w.n - 1};
	h->rest = at + strspn(at, " \t");
	return true;
}

/* A command's name may have spaces and numbers: the task is the first number after which the fields
 * can be read. */
static bool parse_head(const char *line, struct head *h)
{
	const char *at = line, *end;
	struct word w;

	*h = (struct head){.rest = ""};
	h->comm.s = line + strspn(line, " \t");
	at = h->comm.s;
	end = at;
	for (w = next_word(&at); w.n; w = next_word(&at)) {
		h->comm.n = (size_t)(end - h->comm.s);
		if (h->comm.n && to_ids(w, &h->seen.pid, &h->seen.tid) && parse_fields(at, h))
			return true;
		end = w.s + w.n;
	}
	return false;
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct place {
	uint64_t ip, offset; /* in the function */
	struct word name, dso, srcline;
};

/* Reads "  7f5fa3ae26d1 g_main+0x12 (/usr/lib/libglib.so)". Names may have spaces and parentheses;
 * the last parentheses have the module. perf 6 may append "file.c:12". */
static bool parse_frame(const char *line, struct place *f)
{
	const char *at = line;
	struct word w = next_word(&at);
	size_t n, depth;
	const char *open;

	*f = (struct place){.dso = {"", 0}};
	if (!to_hex(w, &f->ip))
		return false;
	at += strspn(at, " \t");
	n = strlen(at);
	while (n && isspace((unsigned char)at[n - 1]))
		n--;
	if (!n || at[n - 1] != ')') {
		/* without -F dso */
		f->name = (struct word){at, n};
		return n;
	}
	for (open = at + n - 1, depth = 0; open > at; open--) {
		depth += *open == ')';
		depth -= *open == '(';
		if (!depth)
			break;
	}
	if (*open != '(')
		return false;
	f->dso = (struct word){open + 1, (size_t)(at + n - 1 - open - 1)};
	f->name = (struct word){at, (size_t)(open - at)};
	while (f->name.n && isspace((unsigned char)f->name.s[f->name.n - 1]))
		f->name.n--;
	return true;
}

/* Cuts "+0x12" off. */
static void cut_offset(struct word *w, uint64_t *offset)
{
	size_t at = w->n;

	while (at && isxdigit((unsigned char)w->s[at - 1]))
		at--;
	if (at > 3 && at < w->n && !memcmp(w->s + at - 3, "+0x", 3) &&
	    to_hex((struct word){w->s + at, w->n - at}, offset))
		w->n = at - 3;
}

static bool is_word(struct word w, const char *s)
{
	return w.n == strlen(s) && !memcmp(w.s, s, w.n);
}

static bool ends_with(struct word w, const char *s)
{
	size_t n = strlen(s);

	return w.n >= n && !memcmp(w.s + w.n - n, s, n);
}

static bool starts_with(struct word w, const char *s)
{
	return w.n >= strlen(s) && !memcmp(w.s, s, strlen(s));
}

/* perf prints no kind of dso; its names show it. */
static enum dso_kind kind_of(struct word dso)
{
	static const char *const user[] = {"[unknown]",	 "[stack]",   "[heap]",	  "[anon]",
					   "[vsyscall]", "[vectors]", "[uprobes]"};
	size_t i;

	if (is_word(dso, "[vdso]"))
		return DSO_VDSO;
	if (is_word(dso, "//anon") || is_word(dso, "anon") || is_word(dso, "[JIT]") ||
	    (starts_with(dso, "/tmp/perf-") && ends_with(dso, ".map")))
		return DSO_ANON;
	for (i = 0; i < sizeof user / sizeof *user; i++)
		if (is_word(dso, user[i]))
			return DSO_UNKNOWN;
	if (starts_with(dso, "[guest.kernel"))
		return DSO_GUEST_KERNEL;
	if (starts_with(dso, "[kernel") || ends_with(dso, "vmlinux"))
		return DSO_KERNEL;
	if (starts_with(dso, "[") || ends_with(dso, ".ko"))
		return DSO_KERNEL_MODULE;
	return DSO_FILE;
}

static int add_line(struct reader *r, struct word name, struct err *err)
{
	const struct profile_function f = {.name = profile_string(r->p, name.s, name.n)};
	struct profile_line line = {0};

	if (profile_add_function(r->p, &f, &line.function, err))
		return -ERR_NOMEM;
	return vec_push(&r->lines, line) ? err_nomem(err) : 0;
}

static int end_location(struct reader *r, const struct place *f, struct err *err)
{
	struct profile_mapping m = {.path = profile_string(r->p, f->dso.s, f->dso.n),
				    .kind = kind_of(f->dso)};
	struct profile_location l = {.ip = f->ip,
				     .off = f->ip,
				     .how = r->stitched ? FRAME_STITCHED : FRAME_USER_CHAIN,
				     .symbol_offset = f->offset};
	uint32_t id;

	if (m.path == STRTAB_FAILED)
		return err_nomem(err);
	l.is_kernel =
		m.kind == DSO_KERNEL || m.kind == DSO_KERNEL_MODULE || m.kind == DSO_GUEST_KERNEL;
	/* The function into which all others of the address are inlined. */
	if (r->lines.n)
		l.symbol = r->p->functions.v[r->lines.v[r->lines.n - 1].function].name;
	if (profile_add_mapping(r->p, &m, &l.mapping, err) ||
	    profile_add_location(r->p, &l, r->lines.v, r->lines.n, &id, err))
		return -ERR_NOMEM;
	r->lines.n = 0;
	return vec_push(&r->stack, id) ? err_nomem(err) : 0;
}

static int add_frame(struct reader *r, struct place *f, struct err *err)
{
	cut_offset(&f->name, &f->offset);
	/* In very old versions, a name that is completely in parentheses is a process. */
	if (f->name.n && f->name.s[0] == '(' && f->name.s[f->name.n - 1] == ')' && !f->dso.n)
		return 0;
	if (f->name.n && !is_word(f->name, "[unknown]") && add_line(r, f->name, err))
		return -ERR_NOMEM;
	return is_word(f->dso, "inlined") ? 0 : end_location(r, f, err);
}

/* Is it "  main.c:12" below a frame, from -F +srcline? That is the line of the last frame; it is
 * not used. */
static bool add_srcline(struct reader *r, const char *s, size_t n)
{
	(void)r;
	while (n && isdigit((unsigned char)s[n - 1]))
		n--;
	return n > 1 && s[n - 1] == ':';
}

/* ---- samples --------------------------------------------------------------------------------- */

static int end_sample(struct reader *r, struct err *err)
{
	size_t i;
	int rc;

	if (!r->in_sample)
		return 0;
	r->in_sample = false;
	r->lines.n = 0;
	if (!r->accepted)
		return 0;
	r->root_first.n = 0;
	for (i = r->stack.n; i--;)
		if (vec_push(&r->root_first, r->stack.v[i]))
			return err_nomem(err);
	rc = profile_add_stack(r->p, r->root_first.v, r->root_first.n, &r->sample.node, err);
	if (rc)
		return rc;
	r->when.has_stack = r->stack.n > 0;
	r->when.ip = r->stack.n ? r->p->locations.v[r->stack.v[0]].ip : 0;
	return r->has_time ? profile_add_entry(r->p, &r->sample, &r->when, err)
			   : profile_add_sample(r->p, &r->sample, err);
}

static int begin_sample(struct reader *r, struct head *h, struct err *err)
{
	uint32_t comm = profile_string(r->p, h->comm.s, h->comm.n);
	uint32_t event = h->event.n ? profile_string(r->p, h->event.s, h->event.n)
				    : profile_string(r->p, "samples", 7);
	struct place f;

	if (comm == STRTAB_FAILED || event == STRTAB_FAILED)
		return err_nomem(err);
	r->in_sample = true;
	r->stitched = false;
	r->stack.n = r->lines.n = 0;
	r->has_time = h->seen.has_time;
	r->sample = (struct profile_sample){
		.comm = comm,
		.pid = h->seen.pid,
		.tid = h->seen.tid,
		.cpu = h->has_cpu ? profile_cpu(h->seen.cpu) : 0,
		.count = 1,
		.period = h->period,
		.stop = UNWIND_STOP_NONE,
	};
	r->when = (struct profile_log_entry){.time_ns = h->seen.time_ns, .cpu = h->seen.cpu};
	h->seen.comm = strtab_get(&r->p->strings, comm);
	h->seen.event = strtab_get(&r->p->strings, event);
	r->accepted = input_accepts(r->opt, &h->seen, r->ret);
	if (profile_add_event(r->p, event, 0, &r->sample.event, err))
		return -ERR_NOMEM;
	/* Sets the fields that the text has for every sample, so that it can be written again. */
	r->p->events.v[r->sample.event].attr.sample_type |=
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | (h->seen.has_time ? PERF_SAMPLE_TIME : 0) |
		(h->has_cpu ? PERF_SAMPLE_CPU : 0);
	r->p->events.v[r->sample.event].is_ns =
		starts_with(h->event, "cpu-clock") || starts_with(h->event, "task-clock");
	/* Without a call chain the frame is on this line. */
	if (*h->rest && parse_frame(h->rest, &f) && f.dso.n)
		return add_frame(r, &f, err);
	return 0;
}

/* Returns 1 if the line cannot be read. */
static int read_line(void *reader, char *line, size_t n, struct err *err)
{
	struct reader *r = reader;
	bool indented = isspace((unsigned char)*line);
	struct head h;
	struct place f;

	if (!n || line[strspn(line, " \t")] == '\0')
		return end_sample(r, err);
	if (*line == '#') {
		/* Our own comment: the frames after it come from another sample. */
		r->stitched |= r->in_sample && !strncmp(line, "# stitched", 10);
		return 0;
	}
	/* Frames are indented; in old versions short commands are, too. */
	if (indented && r->in_sample && line[n - 1] == ')' && parse_frame(line, &f))
		return r->accepted ? add_frame(r, &f, err) : 0;
	if (parse_head(line, &h)) {
		int rc = end_sample(r, err);

		return rc ? rc : begin_sample(r, &h, err);
	}
	if (indented && r->in_sample && parse_frame(line, &f))
		return r->accepted ? add_frame(r, &f, err) : 0;
	return r->in_sample && indented && add_srcline(r, line, n) ? 0 : 1;
}

static bool detect(const char *head, size_t n)
{
	struct head h;
	struct place f;
	char line[1024];
	size_t len;
	bool had_head = false;

	if (memchr(head, '\0', n))
		return false;
	for (; *head; head += len + (head[len] != '\0')) {
		len = strcspn(head, "\n");
		if (!len || *head == '#' || len >= sizeof line)
			continue;
		memcpy(line, head, len);
		line[len] = '\0';
		if (had_head)
			return (isspace((unsigned char)*line) && parse_frame(line, &f)) ||
			       parse_head(line, &h);
		if (!parse_head(line, &h))
			return false;
		had_head = true;
	}
	return had_head;
}

static int read_script(struct profile *p, struct input_source *s, const struct input_options *opt,
		       struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	int rc;

	rc = input_each_line(s, ret, read_line, &r, err);
	if (!rc)
		rc = end_sample(&r, err);
	vec_done(&r.stack);
	vec_done(&r.root_first);
	vec_done(&r.lines);
	return rc;
}

const struct input_format input_script = {
	.name = "script",
	.help = "the text of `perf script`, of all versions",
	.detect = detect,
	.read = read_script,
};
