/* clean.c - a stream that cleans what is written to it (fopencookie(3)). */
#include "cmd/clean.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/write_all.h"

struct cleaner {
	int fd;
	char rest[4]; /* of a character whose end has not come yet */
	size_t n_rest;
};

/* How many bytes at the end are the beginning of an incomplete character. */
static size_t unfinished(const char *s, size_t n)
{
	size_t back;

	for (back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];
		size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

		if (whole > back)
			return back;
		if ((c & 0xc0) != 0x80)
			return 0;
	}
	return 0;
}

static void clean_lines(struct text *t, const char *s, size_t n)
{
	size_t i, from = 0;

	for (i = 0; i <= n; i++) {
		if (i < n && s[i] != '\n' && s[i] != '\t')
			continue;
		text_clean(t, s + from, i - from);
		if (i < n)
			text_char(t, s[i]);
		from = i + 1;
	}
}

static ssize_t clean_write(void *cookie, const char *s, size_t n)
{
	struct cleaner *c = cookie;
	struct text in = {0}, out = {0};
	size_t rest;
	bool ok;

	text_add(&in, c->rest, c->n_rest);
	text_add(&in, s, n);
	rest = unfinished(in.s, in.n);
	clean_lines(&out, in.s, in.n - rest);
	ok = !in.failed && !out.failed && !write_all(c->fd, out.s, out.n);
	if (ok) {
		memcpy(c->rest, in.s + in.n - rest, rest);
		c->n_rest = rest;
	}
	text_done(&in);
	text_done(&out);
	return ok ? (ssize_t)n : 0;
}

static FILE *clean_stream(struct cleaner *c)
{
	return fopencookie(c, "w", (cookie_io_functions_t){.write = clean_write});
}

/* In the GNU C library stdout and stderr are variables, and may be assigned ("Standard Streams" in
 * its manual). */
void clean_stderr(void)
{
	static struct cleaner cleaner = {.fd = STDERR_FILENO};
	FILE *f = clean_stream(&cleaner);

	if (!f)
		return;
	/* Whole lines, so that nothing comes between the parts of one. */
	setvbuf(f, NULL, _IOLBF, 0);
	stderr = f;
}

void clean_stdout(void)
{
	static struct cleaner cleaner = {.fd = STDOUT_FILENO};
	FILE *f = clean_stream(&cleaner);

	if (!f)
		return;
	fflush(stdout);
	stdout = f;
}

void clean_bypass(const char *sequence)
{
	(void)!write(STDERR_FILENO, sequence, strlen(sequence));
}
