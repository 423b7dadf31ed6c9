/* fmt_trace.c - a line for each event in time order, calls with their duration and result, as perf
 * trace and strace print system calls:
 *
 *	     0.042 (    0.012 ms): cat/4242 openat(AT_FDCWD, "/etc/hosts", O_RDONLY) = 3
 *	     0.060 (    0.226 ms): prog/4243 f(a0=1) = 2 <- main
 *	     1.204                : prog/4243 sched:sched_switch: prev_comm=.. <- main
 *	     1.310 (    2.000 ms): prog/4243 off-cpu: prev_comm=.. <- __schedule
 *
 * Times are milliseconds since the first event of the recording. "<=" before a duration: there is
 *no event of the end, but by then it had ended; "?": its
 *thread went on elsewhere then, left it or will come back; "...": it had not ended yet. "?" behind
 *a text: it was read from the process's memory after the call, which may have changed it. */
#include "base/err.h"
#include "output/calls.h"
#include "output/output.h"

struct trace {
	const struct profile *p;
	struct calls calls;
	struct text out;
};

static void add_ms(struct text *t, uint64_t ns, unsigned width)
{
	text_dec(t, ns / 1000000, width);
	text_char(t, '.');
	text_digits(t, ns / 1000 % 1000, 3);
}

static void add_times(struct trace *r, const struct profile_log_entry *e, const struct span *s)
{
	struct text *t = &r->out;

	add_ms(t, e->time_ns - r->p->first_ns, 6);
	if (!s && e->is_wait && e->wait_ns) {
		text_str(t, " (  ");
		add_ms(t, e->wait_ns, 4);
		text_str(t, " ms): ");
	} else if (!s) {
		text_str(t, "                : ");
	} else if (s->end == SPAN_OPEN) {
		text_str(t, " (         ... ): ");
	} else {
		text_str(t, s->end == SPAN_LEFT ? " (<=" : s->end == SPAN_LOST ? " ( ?" : " (  ");
		add_ms(t, s->end_ns - s->start_ns, 4);
		text_str(t, " ms): ");
	}
}

/* Who called it: the frame above the leaf; of a system call the first one of the program; of other
 * events the leaf. */
static void add_caller(struct trace *r, const struct profile_log_entry *e, const struct span *s,
		       bool is_syscall)
{
	const struct profile *p = r->p;
	uint32_t node = e->node, name, inlined;

	profile_probed_level(p, e->event, e->node, &inlined);
	if (is_syscall) {
		while (node && p->locations.v[p->nodes.v[node].location].is_kernel)
			node = p->nodes.v[node].parent;
	} else if (s && node) {
		node = p->nodes.v[node].parent;
	}
	name = inlined ? inlined
	       : node  ? profile_symbol(p, &p->locations.v[p->nodes.v[node].location])
		       : 0;
	if (!name)
		return;
	text_str(&r->out, " <- ");
	calls_function(&r->out, p, name);
}

static void add_call(struct trace *r, const struct span *s)
{
	struct text *t = &r->out;
	size_t start;

	calls_name(&r->calls, t, s);
	text_char(t, '(');
	calls_args(&r->calls, t, s);
	text_str(t, ")");
	start = t->n;
	text_str(t, " = ");
	calls_result(&r->calls, t, s);
	if (t->n == start + 3 && !t->failed)
		t->n = start;
}

static void add_line(struct trace *r, size_t i)
{
	const struct profile_log_entry *e = &r->p->log.v[i];
	const struct span *s = calls_span_at(&r->calls, i);
	struct text *t = &r->out;
	bool is_syscall = s && calls_is_syscall(&r->calls, s);

	if (r->calls.spans.of_exit.v[i] != SPAN_NONE)
		return; /* on the line of its beginning */
	add_times(r, e, s);
	calls_task(&r->calls, t, e);
	text_char(t, ' ');
	if (s) {
		add_call(r, s);
	} else if (calls_end(&r->calls, t, e)) {
		is_syscall = true;
	} else {
		text_string(t, r->p, r->p->events.v[e->event].name);
		text_str(t, ": ");
		calls_fields(&r->calls, t, e);
	}
	add_caller(r, e, s, is_syscall);
	text_char(t, '\n');
}

static int write_trace(const struct profile *p, const struct output_options *opt,
		       struct event_set *events, FILE *out, struct err *err)
{
	struct trace r = {.p = p};
	int rc = calls_init(&r.calls, p, err);

	(void)opt;
	for (size_t i = 0; !rc && i < p->log.n; i++) {
		if (events->has[p->log.v[i].event])
			add_line(&r, i);
		calls_pass(&r.calls, i);
		if (r.out.n > FLUSH_BYTES)
			text_flush(&r.out, out);
	}
	if (!rc && (r.out.failed || r.calls.paths.failed))
		rc = err_nomem(err);
	text_flush(&r.out, out);
	calls_done(&r.calls);
	text_done(&r.out);
	return rc;
}

const struct output_format format_trace = {
	.name = "trace",
	.help = "a line per event or call, with duration and result, as perf trace and strace",
	.suffixes = ".trace",
	.needs_samples = true,
	.lists_calls = true,
	.keep = PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE,
	.names_events = true,
	.honours = OUTPUT_ARGS,
	.write = write_trace,
};
