/* page_spans.c - calls with their arguments and results, and waits with their states, for the page.
 */
#include "output/page_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/calls.h"
#include "profile/profile.h"

enum {
	SPANS_MAX = 20000,
	WORDS_MAX = 400, /* bytes of a text */
};

struct finder {
	const struct profile *p;
	struct calls calls;
	struct text text;
	struct page_spans *ret;
	uint64_t least_ns; /* what took less is left out */
	size_t room;	   /* for those that took just as long */
};

static bool is_probe(const struct profile *p, const struct profile_log_entry *e)
{
	const char *name = strtab_get(&p->strings, p->events.v[e->event].name);

	return str_starts_with(name, "uprobe:") || str_starts_with(name, "usdt:");
}

static uint64_t length_of(const struct finder *f, size_t i, const struct span *s)
{
	return s ? s->end_ns - s->start_ns : f->p->log.v[i].wait_ns;
}

static void add_words(struct finder *f, size_t i, const struct span *s)
{
	struct text *t = &f->text;
	struct profile_label state;
	size_t start;

	if (f->p->log.v[i].is_wait) {
		const struct profile_sample one = {.labels = f->p->log.v[i].labels};

		if (one.labels && profile_label_named(f->p, &one, "state", &state) && state.text)
			text_str(t, state.text);
	} else if (s) {
		calls_name(&f->calls, t, s);
		text_char(t, '(');
		calls_args(&f->calls, t, s);
		text_char(t, ')');
		start = t->n;
		text_str(t, " = ");
		calls_result(&f->calls, t, s);
		if (t->n == start + 3)
			t->n = start;
	} else {
		text_string(t, f->p, f->p->events.v[f->p->log.v[i].event].name);
		text_str(t, " ");
		calls_fields(&f->calls, t, &f->p->log.v[i]);
	}
}

static bool is_taken(struct finder *f, uint64_t ns)
{
	if (ns == f->least_ns && f->room) {
		f->room--;
		return true;
	}
	return ns > f->least_ns;
}

static int add(struct finder *f, size_t i, const struct span *s)
{
	struct page_span one = {.entry = i};
	size_t n;

	if (!is_taken(f, length_of(f, i, s))) {
		f->ret->n_left_out++;
		return 0;
	}
	add_words(f, i, s);
	n = f->text.n;
	if (n > WORDS_MAX) {
		for (n = WORDS_MAX; n && (f->text.s[n] & 0xc0) == 0x80; n--) {
		}
		f->text.n = n;
		text_str(&f->text, "…");
		n = f->text.n;
	}
	one.words = f->text.failed ? STRTAB_FAILED : strtab_add(&f->ret->texts, f->text.s, n);
	f->text.n = 0;
	one.ns = length_of(f, i, s);
	if (s) {
		one.depth = s->depth;
		one.end = s->end;
	}
	return one.words == STRTAB_FAILED || vec_push(&f->ret->v, one) ? -1 : 0;
}

/* What begins with this entry of the log and is to be shown; *s: NULL: an event that is no call. */
static bool begins(const struct finder *f, size_t i, const bool *shown, const struct span **s)
{
	const struct profile_log_entry *e = &f->p->log.v[i];

	*s = calls_span_at(&f->calls, i);
	return shown[e->event] &&
	       (*s || e->wait_ns || (!f->calls.spans.is_end.v[i] && is_probe(f->p, e)));
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* How long the shortest is for which there is room. */
static int find_least(struct finder *f, const bool *shown)
{
	uint64_t *ns = calloc(f->p->log.n + 1, sizeof *ns);
	const struct span *s;
	size_t n = 0;

	if (!ns)
		return -1;
	for (size_t i = 0; i < f->p->log.n; i++)
		if (begins(f, i, shown, &s))
			ns[n++] = length_of(f, i, s);
	f->room = SPANS_MAX;
	if (n > SPANS_MAX) {
		qsort(ns, n, sizeof *ns, by_size);
		f->least_ns = ns[SPANS_MAX - 1];
		for (f->room = 0;
		     f->room < SPANS_MAX && ns[SPANS_MAX - 1 - f->room] == f->least_ns;)
			f->room++;
	}
	free(ns);
	return 0;
}

int page_spans_find(struct page_spans *ret, const struct profile *p, const bool *shown,
		    struct err *err)
{
	struct finder f = {.p = p, .ret = ret};
	int rc = calls_init(&f.calls, p, err);
	const struct span *s;

	if (!rc && find_least(&f, shown))
		rc = err_nomem(err);
	for (size_t i = 0; !rc && i < p->log.n; i++) {
		if (begins(&f, i, shown, &s) && add(&f, i, s))
			rc = err_nomem(err);
		calls_pass(&f.calls, i);
	}
	calls_done(&f.calls);
	text_done(&f.text);
	return rc;
}

void page_spans_done(struct page_spans *s)
{
	vec_done(&s->v);
	strtab_done(&s->texts);
}
