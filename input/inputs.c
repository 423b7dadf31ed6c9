/* inputs.c - the table of inputs. A new one is a file in_NAME.c and a row here. */
#include "base/err.h"
#include "input/unpacked_lines.h"
#include "input/unread.h"

#include <stdlib.h>

/* In the order in which they are tried; the last one accepts almost any text. */
#define INPUTS(X)     \
	X(pprof)      \
	X(cpuprofile) \
	X(speedscope) \
	X(gecko)      \
	X(jsonl)      \
	X(callgrind)  \
	X(heap)       \
	X(bpftrace)   \
	X(script)     \
	X(bcc)        \
	X(folded)

#define X(name) extern const struct input_format input_##name;
INPUTS(X)
#undef X

#define X(name) &input_##name,
const struct input_format *const input_formats[] = {INPUTS(X) NULL};
#undef X

/* Lines may be long: the stacks of a recursion. */
enum { HEAD = 1 << 20 };

static bool is_recording(const char *head, size_t n)
{
	return n >= 8 && (!memcmp(head, "PERFILE", 7) || !memcmp(head, "2ELIFREP", 8) ||
			  !memcmp(head, "SIMPLEPERF", 8));
}

/* A byte 0 ends no line. */
static void replace_nuls(char *head, size_t n)
{
	char *at = head;

	while ((at = memchr(at, '\0', (size_t)(head + n - at))))
		*at++ = '?';
}

static bool detect_json(const struct input_format *f, const char *head, size_t n)
{
	return f->is_json ? f->detect(head, n) : f->detect_json && f->detect_json(head);
}

static const struct input_format *find(char *head, size_t n)
{
	const struct input_format *const *f = input_formats;

	/* The first row is the only one that is not text. */
	if (!n || is_recording(head, n) || (*f)->detect(head, n))
		return n && !is_recording(head, n) ? *f : NULL;
	for (f = input_formats; *f; f++)
		if (detect_json(*f, head, n))
			return *f;
	if (input_known_unread.detect(head, n))
		return &input_known_unread;
	if (!input_is_text(head, n))
		return NULL;
	replace_nuls(head, n);
	for (f = input_formats + 1; *f; f++)
		if (!(*f)->is_json && (*f)->detect(head, n))
			return *f;
	return &input_unknown_text;
}

int input_detect(const char *path, const struct input_format **ret, struct err *err)
{
	char *head = malloc(HEAD + 1);
	ssize_t n = head ? input_peek(path, head, HEAD) : -1;

	*ret = n > 0 ? find(head, (size_t)n) : NULL;
	free(head);
	return n < 0 ? err_nomem(err) : 0;
}

/* Sums stop at what 64 bits hold. */
static void note_full_sums(const struct profile *p, struct input_result *ret)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < p->events.n; i++)
		n += p->events.v[i].period == UINT64_MAX;
	input_note(ret, "sums of weights are more than 64 bits hold: shares and sums are too small",
		   n, true);
}

int input_read(const struct input_format *f, struct profile *p, const char *path,
	       const struct input_options *opt, struct input_result *ret, struct err *err)
{
	struct input_source s;
	int rc = input_open(&s, path, &p->input_bytes, err);

	*ret = (struct input_result){0};
	if (!rc)
		rc = f->read(p, &s, opt, ret, err);
	ret->cut |= s.damaged;
	if (!rc)
		note_full_sums(p, ret);
	input_note(ret, "lines are longer than 32 MiB: their rest was not read", s.n_cut, true);
	input_note(ret, "bytes that are 0 were read as '?'", s.n_nuls, false);
	ret->too_much = s.too_much;
	input_close(&s);
	return rc;
}
