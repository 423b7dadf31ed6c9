/* json.c - recursive descent over RFC 8259's grammar. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct reader {
	const char *start, *p, *end, *name;
	int (*visit)(void *arg, const struct json_value *v);
	void *arg;
	struct err *err;
	struct text path, string;
	int depth;
};

static int read_value(struct reader *r);

static int wrong(struct reader *r, const char *what)
{
	return err_at(r->err, ERR_FORMAT, r->name, (uint64_t)(r->p - r->start), "no JSON: %s",
		      what);
}

static void skip_space(struct reader *r)
{
	while (r->p < r->end && strchr(" \t\r\n", *r->p) && *r->p)
		r->p++;
}

static bool take(struct reader *r, char c)
{
	skip_space(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

/* Calls the visitor for a value at the path that is in r->path. */
static int visit_value(struct reader *r, struct json_value v)
{
	text_char(&r->path, '\0');
	if (r->path.failed || r->string.failed)
		return err_nomem(r->err);
	r->path.n--;
	v.path = r->path.s;
	return r->visit(r->arg, &v);
}

/* ---- strings (section 7) ------------------------------------------------------------------------
 */

static bool hex4(struct reader *r, uint32_t *ret)
{
	int i;

	for (*ret = 0, i = 0; i < 4; i++, r->p++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = r->p < r->end && *r->p ? strchr(digits, *r->p | 0x20) : NULL;

		if (!at || !*at)
			return false;
		*ret = *ret << 4 | (uint32_t)(at - digits);
	}
	return true;
}

static void add_utf8(struct text *t, uint32_t c)
{
	if (c < 0x80) {
		text_char(t, (char)c);
		return;
	}
	if (c < 0x800) {
		text_char(t, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			text_char(t, (char)(0xe0 | c >> 12));
		} else {
			text_char(t, (char)(0xf0 | c >> 18));
			text_char(t, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		text_char(t, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	text_char(t, (char)(0x80 | (c & 0x3f)));
}

/* \uXXXX; characters beyond U+FFFF are written as two of these (a surrogate pair). An unpaired
 * surrogate becomes U+FFFD. */
static bool read_unicode(struct reader *r, struct text *t)
{
	uint32_t c, low;

	if (!hex4(r, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u') {
		r->p += 2;
		if (!hex4(r, &low))
			return false;
		c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00)
						  : 0xfffd;
	}
	add_utf8(t, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return true;
}

static bool read_escape(struct reader *r, struct text *t)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (r->p == r->end)
		return false;
	if (*r->p == 'u') {
		r->p++;
		return read_unicode(r, t);
	}
	at = *r->p ? strchr(from, *r->p) : NULL;
	if (!at)
		return false;
	text_char(t, to[at - from]);
	r->p++;
	return true;
}

/* Reads a string, from the first byte after its opening quote on, and appends it to t. */
static int read_string(struct reader *r, struct text *t)
{
	while (r->p < r->end && *r->p != '"') {
		if ((unsigned char)*r->p < 0x20)
			return wrong(r, "a control character in a string");
		if (*r->p != '\\') {
			text_char(t, *r->p++);
			continue;
		}
		r->p++;
		if (!read_escape(r, t))
			return wrong(r, "an unknown escape");
	}
	if (r->p == r->end)
		return wrong(r, "a string that is not closed");
	r->p++;
	return t->failed ? err_nomem(r->err) : 0;
}

/* ---- values -------------------------------------------------------------------------------------
 */

static int read_array(struct reader *r)
{
	size_t before = r->path.n;
	int rc = 0;

	text_str(&r->path, "[]");
	if (!take(r, ']')) {
		do
			rc = read_value(r);
		while (!rc && take(r, ','));
		if (!rc && !take(r, ']'))
			rc = wrong(r, "',' or ']' is missing");
	}
	r->path.n = before;
	return rc ? rc : visit_value(r, (struct json_value){.kind = JSON_END});
}

static int read_member(struct reader *r)
{
	size_t before = r->path.n;
	int rc;

	if (!take(r, '"'))
		return wrong(r, "a key is missing");
	if (before)
		text_char(&r->path, '.');
	rc = read_string(r, &r->path);
	if (!rc && !take(r, ':'))
		rc = wrong(r, "':' is missing");
	if (!rc)
		rc = read_value(r);
	r->path.n = before;
	return rc;
}

static int read_object(struct reader *r)
{
	int rc = 0;

	if (!take(r, '}')) {
		do
			rc = read_member(r);
		while (!rc && take(r, ','));
		if (!rc && !take(r, '}'))
			rc = wrong(r, "',' or '}' is missing");
	}
	return rc ? rc : visit_value(r, (struct json_value){.kind = JSON_END});
}

static int read_word(struct reader *r)
{
	static const struct {
		const char *word;
		enum json_kind kind;
	} words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
	size_t i, n;

	for (i = 0; i < sizeof words / sizeof *words; i++) {
		n = strlen(words[i].word);
		if ((size_t)(r->end - r->p) >= n && !memcmp(r->p, words[i].word, n)) {
			r->p += n;
			return visit_value(r, (struct json_value){.kind = words[i].kind});
		}
	}
	return wrong(r, "a value is missing");
}

static int read_number(struct reader *r)
{
	char digits[64], *stop;
	size_t n = 0;
	double v;

	while (r->p + n < r->end && r->p[n] && strchr("+-.0123456789eE", r->p[n]))
		n++;
	if (!n || n >= sizeof digits || r->p[0] == '+' || r->p[0] == '.')
		return read_word(r);
	memcpy(digits, r->p, n);
	digits[n] = '\0';
	v = strtod(digits, &stop);
	if (*stop)
		return wrong(r, "not a number");
	r->p += n;
	return visit_value(r, (struct json_value){.kind = JSON_NUMBER, .number = v});
}

static int read_value(struct reader *r)
{
	int rc;

	skip_space(r);
	if (r->depth == JSON_DEPTH_MAX)
		return wrong(r, "nested too deeply");
	r->depth++;
	if (take(r, '[')) {
		rc = read_array(r);
	} else if (take(r, '{')) {
		rc = read_object(r);
	} else if (take(r, '"')) {
		r->string.n = 0;
		rc = read_string(r, &r->string);
		text_char(&r->string, '\0');
		if (!rc)
			rc = visit_value(r, (struct json_value){.kind = JSON_STRING,
								.string = r->string.s,
								.n = r->string.n - 1});
	} else {
		rc = read_number(r);
	}
	r->depth--;
	return rc;
}

int json_read(const char *text, size_t n, const char *name,
	      int (*visit)(void *arg, const struct json_value *v), void *arg, struct err *err)
{
	struct reader r = {.start = text,
			   .p = text,
			   .end = text + n,
			   .name = name,
			   .visit = visit,
			   .arg = arg,
			   .err = err};
	int rc = read_value(&r);

	skip_space(&r);
	if (!rc && r.p != r.end)
		rc = wrong(&r, "something behind its end");
	text_done(&r.path);
	text_done(&r.string);
	return rc;
}
