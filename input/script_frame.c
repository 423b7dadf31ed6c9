/* script_frame.c - the frames of perf script's text, and the lines that belong to them. */
#include "input/script_line.h"

#include <ctype.h>

#include "reader/reader.h"

enum { WIDTH_IP = 16 };

/* Cuts "+0x12" off. */
static void cut_offset(struct word *w, uint64_t *offset)
{
	size_t at = w->n;

	while (at && isxdigit((unsigned char)w->s[at - 1]))
		at--;
	if (at > 3 && at < w->n && !memcmp(w->s + at - 3, "+0x", 3) &&
	    word_to_hex((struct word){w->s + at, w->n - at}, offset))
		w->n = at - 3;
}

/* Where the line ends but for what perf appends to a frame: registers, branches, bytes of code. */
static size_t cut_appended(const char *s, size_t n)
{
	static const char *const marks[] = {") ABI:", ")  ABI:", ") 0x",
					    ")  0x",  ") insn:", ") ilen:"};
	size_t i;

	for (i = 0; i < sizeof marks / sizeof *marks; i++) {
		const char *at = memmem(s, n, marks[i], strlen(marks[i]));

		if (at)
			n = (size_t)(at - s) + 1;
	}
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return n;
}

/* The parenthesis that the last one closes; NULL: none does. */
static const char *open_of_last(const char *s, size_t n)
{
	size_t depth = 0, i;

	for (i = n; i--;) {
		depth += s[i] == ')';
		depth -= s[i] == '(';
		if (!depth)
			return s + i;
	}
	return NULL;
}

bool script_frame(const char *line, struct script_frame *f)
{
	const char *at = line, *open;
	struct word w = word_next(&at);
	size_t n;

	*f = (struct script_frame){.dso = {"", 0}};
	if (!word_to_hex(w, &f->ip))
		return false;
	at += strspn(at, " \t");
	n = cut_appended(at, strlen(at));
	open = n && at[n - 1] == ')' ? open_of_last(at, n) : NULL;
	if (n && at[n - 1] == ')' && !open)
		return false;
	/* without -F dso, the last parentheses are the function's arguments */
	if (!open || (open > at && open[-1] != ' ')) {
		f->name = (struct word){at, n};
	} else {
		f->has_dso = true;
		f->dso = (struct word){open + 1, (size_t)(at + n - 1 - open - 1)};
		f->name = (struct word){at, (size_t)(open - at)};
	}
	while (f->name.n && isspace((unsigned char)f->name.s[f->name.n - 1]))
		f->name.n--;
	cut_offset(&f->name, &f->offset);
	return true;
}

bool script_last_frame(const char *rest, struct script_frame *f, size_t *n_data)
{
	const char *at = rest, *found = NULL, *first = NULL;
	struct word w;
	uint64_t ip;

	/* An address is aligned in 16 columns; rest begins at the first word, not at its column. */
	for (w = word_next(&at); w.n; w = word_next(&at)) {
		if (w.n < 3 || !word_to_hex(w, &ip) || (w.s[0] == '0' && w.s[1] == 'x'))
			continue;
		if (w.s > rest && !word_is_padded(rest, w, WIDTH_IP))
			continue;
		if (!script_frame(w.s, f) || (w.s > rest && !f->has_dso))
			continue;
		first = first ? first : w.s;
		found = w.s;
	}
	*n_data = found ? (size_t)(found - rest) : strlen(rest);
	return found && script_frame(found, f);
}

bool script_srcline(const char *line, struct word *file, uint32_t *number, bool *inlined)
{
	static const char mark[] = " (inlined)";
	size_t n = strlen(line), digits;
	uint64_t v;

	*file = (struct word){"", 0};
	*number = 0;
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	*inlined = n > strlen(mark) && !memcmp(line + n - strlen(mark), mark, strlen(mark));
	n -= *inlined ? strlen(mark) : 0;
	if (n < 3 || line[0] != ' ' || line[1] != ' ' || line[2] == ' ')
		return false;
	line += 2;
	n -= 2;
	for (digits = n; digits && isdigit((unsigned char)line[digits - 1]);)
		digits--;
	if (digits < n && digits > 1 && line[digits - 1] == ':' &&
	    word_to_number((struct word){line + digits, n - digits}, &v) && v <= UINT32_MAX) {
		if (line[0] != '?')
			*file = (struct word){line, digits - 1};
		*number = (uint32_t)v;
		return true;
	}
	/* Without debug information: "function+12", "module[7f12]". */
	return line[n - 1] == ']' || (digits < n && digits && line[digits - 1] == '+') ||
	       !memchr(line, ' ', n);
}

static bool word_ends(struct word w, const char *s)
{
	size_t n = strlen(s);

	return w.n >= n && !memcmp(w.s + w.n - n, s, n);
}

/* "[nf_conntrack]": the name of a module of the kernel has no other characters. */
static bool is_module_name(struct word w)
{
	size_t i;

	if (w.n < 3 || w.s[0] != '[' || w.s[w.n - 1] != ']')
		return false;
	for (i = 1; i + 1 < w.n; i++)
		if (!isalnum((unsigned char)w.s[i]) && !strchr("_-.", w.s[i]))
			return false;
	return true;
}

enum dso_kind script_kind(struct word dso)
{
	static const struct {
		const char *begin;
		enum dso_kind kind;
	} rows[] = {
		{"[vdso]", DSO_VDSO},	    {"//anon", DSO_ANON},
		{"[JIT]", DSO_ANON},	    {"[anon", DSO_ANON},
		{"[unknown]", DSO_UNKNOWN}, {"[stack", DSO_UNKNOWN},
		{"[heap]", DSO_UNKNOWN},    {"[vsyscall]", DSO_UNKNOWN},
		{"[vectors]", DSO_UNKNOWN}, {"[vvar", DSO_UNKNOWN},
		{"[uprobes]", DSO_UNKNOWN}, {"[guest.kernel", DSO_GUEST_KERNEL},
		{"[kernel", DSO_KERNEL},
	};
	size_t i;

	if (word_is(dso, "anon") || (word_begins(dso, "/tmp/perf-") && word_ends(dso, ".map")))
		return DSO_ANON;
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (word_begins(dso, rows[i].begin))
			return rows[i].kind;
	if (word_ends(dso, "vmlinux"))
		return DSO_KERNEL;
	if (is_module_name(dso) || word_ends(dso, ".ko"))
		return DSO_KERNEL_MODULE;
	return *dso.s == '[' ? DSO_UNKNOWN : DSO_FILE;
}
