/* demangle.c - which demangler a name is for, and a fence around it. */
#include "symbolize/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* libiberty's recursion limit refuses C++ names of more than 1024 bytes, which heavily templated
 * programs do have. Without it, its stack use grows by up to 220 bytes per byte of name: 4 KiB stay
 * below the smallest usual thread stack (2 MiB). Output is exponential in the length (substitutions
 * of substitutions), so it is cut off; the longest seen in practice is 47 KB. */
enum { NAME_MAX_BYTES = 4096, TEXT_MAX_BYTES = 256 << 10, D_BACKREFS_MAX = 20 };

void namebuf_add(struct namebuf *t, const char *s, size_t n)
{
	size_t cap = t->cap ? t->cap : 256;
	char *p;

	if (!n)
		return;
	if (t->failed || n > TEXT_MAX_BYTES - t->len) {
		t->failed = true;
		return;
	}
	while (cap <= t->len + n)
		cap *= 2;
	if (cap != t->cap) {
		p = realloc(t->s, cap);
		if (!p) {
			t->failed = true;
			return;
		}
		t->s = p;
		t->cap = cap;
	}
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = 0;
}

void namebuf_done(struct namebuf *t)
{
	free(t->s);
	*t = (struct namebuf){0};
}

static void namebuf_clear(struct namebuf *t)
{
	t->len = 0;
	t->failed = false;
}

struct sink {
	struct namebuf *text;
	jmp_buf stop;
};

/* libiberty's callbacks cannot ask it to stop, but its callback variants hold nothing that would
 * need freeing (except, for a Rust identifier in punycode, that identifier). */
static void take(const char *s, size_t n, void *arg)
{
	struct sink *sink = arg;

	namebuf_add(sink->text, s, n);
	if (sink->text->failed)
		longjmp(sink->stop, 1);
}

typedef int demangle_fn(const char *mangled, int options, demangle_callbackref callback, void *arg);

static bool run(demangle_fn *fn, int limit, const char *name, struct namebuf *out)
{
	struct sink sink = {.text = out};

	namebuf_clear(out);
	if (setjmp(sink.stop))
		return false;
	return fn(name, DMGL_PARAMS | DMGL_ANSI | limit, take, &sink) && out->len;
}

/* libiberty has no callback variant for D. A name's length at most doubles with each back
 * reference. */
static bool run_d(const char *name, struct namebuf *out)
{
	const char *q = name;
	unsigned n = 0;
	char *s;

	while ((q = strchr(q, 'Q'))) {
		q++;
		if (++n > D_BACKREFS_MAX)
			return false;
	}
	s = dlang_demangle(name, 0);
	if (!s)
		return false;
	namebuf_clear(out);
	namebuf_add(out, s, strlen(s));
	free(s);
	return !out->failed;
}

/* Rust's legacy mangling is C++ with a hash as the last component: "17h" and 16 hex digits, "E". */
static bool has_rust_hash(const char *name)
{
	const char *p = name;

	while ((p = strstr(p, "17h"))) {
		p += 3;
		if (strspn(p, "0123456789abcdef") >= 16 && p[16] == 'E')
			return true;
	}
	return false;
}

static enum mangling demangle_any(const char *name, struct namebuf *out)
{
	if (name[0] != '_')
		return MANGLING_NONE;
	/* Rust's back references may go in circles: there the recursion limit stays. */
	if ((name[1] == 'R' || (name[1] == 'Z' && has_rust_hash(name))) &&
	    run(rust_demangle_callback, 0, name, out))
		return MANGLING_RUST;
	if (name[1] == 'Z' && run(cplus_demangle_v3_callback, DMGL_NO_RECURSE_LIMIT, name, out))
		return MANGLING_CXX;
	if (name[1] == 'D' && run_d(name, out))
		return MANGLING_D;
	return MANGLING_NONE;
}

/* foo.isra.0, foo.constprop.0.cold: what compilers append when they clone a function. */
static size_t without_clone_suffix(const char *name, size_t n)
{
	static const char *const suffixes[] = {".isra.",  ".constprop.", ".part.",	".cold",
					       ".llvm.",  ".lto_priv.",	 ".localalias", ".__uniq.",
					       ".clone.", ".warm",	 ".ipa_ra"};
	size_t cut = n, i;

	for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const char *p = memmem(name, n, suffixes[i], strlen(suffixes[i]));

		if (p && p != name && (size_t)(p - name) < cut)
			cut = (size_t)(p - name);
	}
	return cut;
}

const char *demangle(struct demangler *d, const char *name, enum sym_demangle how)
{
	size_t base = strcspn(name, "@"), n = base + strlen(name + base);
	const char *version = name + base; /* of an ELF symbol: "@@GLIBC_2.34"; "@plt" */
	char copy[NAME_MAX_BYTES + 1];
	enum mangling mangling;

	if (how == SYM_DEMANGLE_NONE || n > NAME_MAX_BYTES)
		return name;
	if (how == SYM_DEMANGLE_FULL && name[0] != '_')
		return name;
	memcpy(copy, name, base);
	copy[base] = 0;
	mangling = demangle_any(copy, &d->full);
	namebuf_clear(&d->simple);
	if (how == SYM_DEMANGLE_SIMPLE) {
		if (mangling == MANGLING_NONE)
			namebuf_add(&d->simple, name, without_clone_suffix(name, base));
		else
			simplify_name(&d->simple, d->full.s, mangling);
		if (!strcmp(version, "@plt"))
			namebuf_add(&d->simple, version, 4);
		if (d->simple.len && !d->simple.failed)
			return d->simple.s;
	}
	if (mangling == MANGLING_NONE)
		return name;
	namebuf_add(&d->full, version, strlen(version));
	return d->full.failed ? name : d->full.s;
}

void demangler_done(struct demangler *d)
{
	namebuf_done(&d->full);
	namebuf_done(&d->simple);
}
