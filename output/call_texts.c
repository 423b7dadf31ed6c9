/* call_texts.c - texts that probes have read: the fields s0, s1 .. of arguments, and end. */
#include "output/call_texts.h"

#include <stdio.h>
#include <string.h>

#include "base/strtab.h"
#include "output/probe_fields.h"

static bool is_fault(const char *s, size_t n)
{
	return n == 7 && !memcmp(s, "(fault)", 7);
}

/* ` s0="text"`; *n: of the text. */
static const char *text_field(const char *trace, const char *name, const char *next_name, size_t *n)
{
	char key[16], next[16];
	const char *at, *end;

	snprintf(key, sizeof key, " %s=\"", name);
	snprintf(next, sizeof next, "\" %s=\"", next_name);
	at = strstr(trace, key);
	if (!at)
		return NULL;
	at += strlen(key);
	end = strstr(at, next);
	if (!end)
		end = strrchr(at, '"');
	*n = end ? (size_t)(end - at) : 0;
	return end ? at : NULL;
}

/* The field of argument i. */
static const char *text_of(const char *trace, size_t i, size_t *n)
{
	char name[16], next[16];
	const char *ret;

	snprintf(name, sizeof name, "s%zu", i);
	snprintf(next, sizeof next, "s%zu", i + 1);
	ret = text_field(trace, name, next, n);
	if (ret && memmem(ret, *n, "\" end=\"", 7))
		ret = text_field(trace, name, "end", n);
	return ret;
}

/* Is the last field, the name of the thread, there as a whole? Else the kernel had no room for all
 * texts. */
static bool are_whole(const struct profile *p, const struct profile_log_entry *e, const char *trace)
{
	const char *comm = strtab_get(&p->strings, e->comm);
	size_t n;
	const char *end = text_field(trace, "end", "", &n);

	return !end ||
	       (n && !is_fault(end, n) && (strlen(comm) <= n || strncmp(comm, end, n) != 0));
}

const char *call_text_read(const struct profile *p, const struct profile_log_entry *e, size_t i,
			   bool is_chars, size_t *n, bool *is_cut)
{
	const char *trace = e->trace ? strtab_get(&p->strings, e->trace) : "";
	const char *ret = text_of(trace, i, n), *behind = ret;
	size_t n_behind;

	*is_cut = false;
	if (!ret || are_whole(p, e, trace))
		return ret && (is_chars ? !is_fault(ret, *n) : probe_text_is_plain(ret, *n)) ? ret
											     : NULL;
	/* The last one of some length took all of the room. */
	*is_cut = true;
	for (size_t k = i + 1; (behind = text_of(trace, k, &n_behind)); k++)
		*is_cut &= !n_behind || is_fault(behind, n_behind);
	return *n && (is_chars ? !is_fault(ret, *n) : probe_text_is_plain(ret, *n)) ? ret : NULL;
}

void call_text_add(struct text *t, const char *text, size_t n, bool is_cut)
{
	text_char(t, '"');
	text_clean(t, text, n);
	text_str(t, is_cut ? "\"..." : "\"");
}

const char *call_text_at(const struct profile *p, const struct profile_log_entry *e, uint64_t addr,
			 size_t *n, bool *is_cut)
{
	const char *text;
	char name[16];
	uint64_t v;

	for (size_t i = 0;; i++) {
		snprintf(name, sizeof name, "a%zu", i);
		if (!trace_number(p, e, name, &v))
			return NULL;
		text = v == addr ? call_text_read(p, e, i, true, n, is_cut) : NULL;
		if (text)
			return text;
	}
}
