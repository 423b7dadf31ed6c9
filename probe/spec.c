/* spec.c - what a person wrote, taken apart. */
#include <string.h>

#include "base/text.h"
#include "probe/probe.h"

static const struct prefix {
	const char *text;
	enum probe_kind kind;
} prefixes[] = {
	{"uprobe:", PROBE_ENTRY}, {"u:", PROBE_ENTRY},	    {"uretprobe:", PROBE_RETURN},
	{"ur:", PROBE_RETURN},	  {"usdt:", PROBE_USDT},    {"U:", PROBE_USDT},
	{"call:", PROBE_CALL},	  {"return:", PROBE_LEAVE},
};

static const struct prefix *prefix_of(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (len >= strlen(prefixes[i].text) &&
		    !memcmp(text, prefixes[i].text, strlen(prefixes[i].text)))
			return &prefixes[i];
	return NULL;
}

bool probe_is_spec(const char *text)
{
	return prefix_of(text, strlen(text)) != NULL;
}

size_t probe_prefix_length(const char *text)
{
	const struct prefix *p = prefix_of(text, strlen(text));

	return p ? strlen(p->text) : 0;
}

/* Does a filter begin so: the name of a field, and how it is compared? */
static bool begins_filter(const char *at, const char *end)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	const char *name;

	while (at < end && strchr("( !", *at))
		at++;
	for (name = at; at < end && strchr(letters, *at);)
		at++;
	if (at == name)
		return false;
	while (at < end && *at == ' ')
		at++;
	return at < end && strchr("=!<>&~", *at);
}

/* The length of "/FILTER/" at the start of text[0..len), up to its end or a comma; 0: it is none. A
 * slash also stands in Go's names, and in texts of filters. */
static size_t filter_length(const char *text, size_t len)
{
	bool in_text = false;

	if (!len || *text != '/' || !begins_filter(text + 1, text + len))
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (text[i] == '"')
			in_text = !in_text;
		else if (text[i] == '/' && !in_text && (i + 1 == len || strchr(",}", text[i + 1])))
			return i + 1;
	}
	return 0;
}

size_t probe_before_filter(const char *text, size_t len)
{
	const size_t prefix = probe_prefix_length(text);
	const char *colon = prefix < len ? memchr(text + prefix, ':', len - prefix) : NULL;

	for (size_t i = colon ? (size_t)(colon - text) : len; i < len; i++)
		if (filter_length(text + i, len - i) == len - i)
			return i;
	return len;
}

size_t probe_spec_length(const char *list)
{
	const char *colon = strchr(list + probe_prefix_length(list), ':');
	const size_t len = strlen(list);
	size_t depth = 0, n, filter;

	for (n = 0; list[n]; n++) {
		filter = colon && list + n > colon ? filter_length(list + n, len - n) : 0;
		if (filter)
			return n + filter;
		if (strchr("([<{", list[n]))
			depth++;
		else if (strchr(")]>}", list[n]) && depth)
			depth--;
		else if (list[n] == ',' && !depth)
			break;
	}
	return n;
}

/* "0x1234" or "1234" in all of text[0..len). */
static bool parse_number(const char *text, size_t len, uint64_t *ret)
{
	const unsigned base = len > 2 && text[0] == '0' && text[1] == 'x' ? 16 : 10;
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;

	for (size_t i = base == 16 ? 2 : 0; i < len; i++) {
		char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + 'a' - 'A') : text[i];
		const char *d = c ? memchr(digits, c, base) : NULL;

		if (!d || v > (UINT64_MAX - 15) / base)
			return false;
		v = v * base + (uint64_t)(d - digits);
	}
	*ret = v;
	return len > 0;
}

/* Takes "+0x10" from the end of a name. C++ has functions named operator+. */
static void split_plus(struct probe_spec *s)
{
	const char *plus = memrchr(s->what, '+', s->what_len);

	if (!plus || plus == s->what ||
	    !parse_number(plus + 1, s->what_len - (size_t)(plus + 1 - s->what), &s->plus))
		return;
	s->what_len = (size_t)(plus - s->what);
}

/* Takes "file.c:42", as perf probe has it, apart. Returns whether it is that. */
static bool split_line(struct probe_spec *s)
{
	const char *colon = memrchr(s->what, ':', s->what_len);
	uint64_t line;

	if (!colon || colon == s->what || colon[-1] == ':' ||
	    !parse_number(colon + 1, s->what_len - (size_t)(colon + 1 - s->what), &line) || !line ||
	    line > UINT32_MAX)
		return false;
	s->what_len = (size_t)(colon - s->what);
	s->line = (uint32_t)line;
	return true;
}

int probe_parse(struct probe_spec *ret, const char *text, size_t len, struct err *err)
{
	const struct prefix *p = prefix_of(text, len);
	struct probe_spec s = {0};
	const char *colon;

	if (!p)
		return err_set(err, ERR_USAGE, NULL, "'%.*s' is no probe", (int)len, text);
	if (memmem(text, len, " {", 2))
		return err_set(err, ERR_USAGE, NULL,
			       "'%.*s': programs of bpftrace are not run: leave '{ .. }' out, each "
			       "sample has its stack",
			       (int)len, text);
	s.kind = p->kind;
	s.file = text + strlen(p->text);
	colon = memchr(s.file, ':', len - strlen(p->text));
	if (!colon || colon == s.file || colon + 1 == text + len)
		return err_set(err, ERR_USAGE, NULL,
			       "'%.*s': a file and a name are wanted, as in %s./prog:%s (a path "
			       "with ':' or ',' is given by a link to it)",
			       (int)len, text, p->text,
			       s.kind == PROBE_USDT ? "provider:name" : "function");
	s.file_len = (size_t)(colon - s.file);
	s.what = colon + 1;
	s.what_len = (size_t)(text + len - s.what);
	if (s.kind != PROBE_USDT && split_line(&s)) {
		if (s.kind != PROBE_ENTRY)
			return err_set(err, ERR_USAGE, NULL, "'%.*s': only uprobe: has lines",
				       (int)len, text);
		*ret = s;
		return 0;
	}
	if (s.kind != PROBE_USDT && s.what[0] >= '0' && s.what[0] <= '9')
		s.has_address = parse_number(s.what, s.what_len, &s.plus);
	else if (s.kind != PROBE_USDT)
		split_plus(&s);
	if (s.has_address && (s.kind == PROBE_CALL || s.kind == PROBE_LEAVE))
		return err_set(err, ERR_USAGE, NULL,
			       "'%.*s': of an address it is not known where "
			       "its function ends; uprobe:.. counts how often it is reached",
			       (int)len, text);
	if (s.kind != PROBE_ENTRY && s.plus && !s.has_address)
		return err_set(err, ERR_USAGE, NULL, "'%.*s': only uprobe: has offsets", (int)len,
			       text);
	*ret = s;
	return 0;
}
