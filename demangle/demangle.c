/* demangle.c - chooses the demangler for a name, and limits what it may use. */
#include "demangle/language.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "demangle/cxx20.h"
#include "demangle/cost.h"
#include "demangle/libiberty.h"

/* libiberty's recursion limit refuses C++ names of more than 1024 bytes, which heavily templated
 * programs do have. Without that limit its stack use grows by up to 220 bytes per byte of the name:
 * for 4 KiB it stays below the smallest usual thread stack (2 MiB). The output can be exponential
 * in the length (substitutions of substitutions), so it is cut off; the longest seen in practice is
 * 47 KB. */
enum { NAME_USUAL_BYTES = 256, NAME_MAX_BYTES = 4096, TEXT_MAX_BYTES = 256 << 10 };

/* The longest name that is demangled: on a small stack (ulimit -s, which also applies to threads) a
 * name for which libiberty uses half of it. */
static size_t name_bytes_max(void)
{
	enum { STACK_BYTES_PER_BYTE = 256 };
	struct rlimit r;

	if (getrlimit(RLIMIT_STACK, &r) || r.rlim_cur == RLIM_INFINITY ||
	    r.rlim_cur / 2 / STACK_BYTES_PER_BYTE > NAME_MAX_BYTES)
		return NAME_MAX_BYTES;
	return (size_t)r.rlim_cur / 2 / STACK_BYTES_PER_BYTE;
}

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
			t->failed = t->nomem = true;
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

/* libiberty's callbacks cannot stop it, so this leaves it by longjmp(). Its callback variants hold
 * no memory that must be freed (except, for a Rust identifier in punycode, that identifier). */
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

/* `return scope` is NkM since D 2.094 or so; libiberty knows only the older MNk. Rewrites a name,
 * which keeps its length, on which back references depend. Returns false if there is none. */
static bool d_older(char *name)
{
	bool found = false;
	char *p = name;

	while ((p = strstr(p, "NkM"))) {
		memcpy(p, "MNk", 3);
		found = true;
	}
	return found;
}

/* _DTi16_D..: adds 16 to `this` and jumps to the method. Returns the method's name; else `name`. */
static const char *d_thunk_target(const char *name)
{
	const char *p = name + 4;

	if (strncmp(name, "_DTi", 4))
		return name;
	p += strspn(p, "0123456789");
	return !strncmp(p, "_D", 2) ? p : name;
}

/* libiberty has no callback variant for D, and does not take the suffixes of clones. */
static bool run_d(const char *name, struct namebuf *out)
{
	const char *target = d_thunk_target(name);
	char *plain, *s;

	if (d_is_boundless(target))
		return false;
	plain = strndup(target, strcspn(target, "."));
	if (!plain) {
		out->nomem = true;
		return false;
	}
	s = dlang_demangle(plain, 0);
	if (!s && d_older(plain))
		s = dlang_demangle(plain, 0);
	free(plain);
	if (!s)
		return false;
	namebuf_clear(out);
	if (target > name)
		namebuf_add(out, "thunk to ", 9);
	namebuf_add(out, s, strlen(s));
	free(s);
	return !out->failed;
}

/* Does the name end like Rust's legacy mangling, which is C++ with a hash as the last component:
 * "17h", 16 hex digits, "E"? */
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

/* Does the name begin with a Java class? */
static bool is_java(const char *name)
{
	return name[0] == 'L' && strchr(name, ';');
}

/* Is it a source name with template arguments? */
static bool is_template(const char *name)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	return n && n < strlen(end) && end[n] == 'I';
}

/* Does the name have a part that libiberty misreads? If a constructor or destructor is a template
 * and has an ABI tag, as all of libc++'s have, libiberty takes the first argument for its return
 * type. It takes arguments of clang's own types (u14__remove_cvrefIT_E) for arguments of the type
 * that has this type as an argument. */
static bool is_misread(const char *name)
{
	const char *p = name + 2;

	while (*p && *++p) {
		if (!isdigit((unsigned char)p[1]))
			continue;
		if (*p == 'B' && (p[-2] == 'C' || p[-2] == 'D') && isdigit((unsigned char)p[-1]))
			return true;
		if (*p == 'u' && is_template(p + 1))
			return true;
	}
	return false;
}

/* Demangles names of the newest C++ that libiberty does not know yet, after rewriting them
 * (cxx20.h). */
static bool run_older(struct demangler *d, const char *name, struct namebuf *out)
{
	namebuf_clear(&d->cxx20);
	return cxx20_name(&d->cxx20, name) && d->cxx20.len <= name_bytes_max() &&
	       !cxx_is_boundless(d->cxx20.s) &&
	       run(cplus_demangle_v3_callback, DMGL_NO_RECURSE_LIMIT, d->cxx20.s, out);
}

/* Since 2.41 or so libiberty writes constraints (` requires Hashable<A>`), and `this` before
 * explicit objects; older versions refuse such names. Here they are rewritten, so that a name is
 * the same on all machines. */
static bool run_cxx(struct demangler *d, const char *name, struct namebuf *out)
{
	if (!run(cplus_demangle_v3_callback, DMGL_NO_RECURSE_LIMIT, name, out))
		return run_older(d, name, out);
	return !(strstr(out->s, " requires ") || strstr(out->s, "(this ")) ||
	       run_older(d, name, out) ||
	       run(cplus_demangle_v3_callback, DMGL_NO_RECURSE_LIMIT, name, out);
}

static enum mangling demangle_any(struct demangler *d, const char *name, struct namebuf *out)
{
	if (is_java(name)) {
		namebuf_clear(out);
		return demangle_java(out, name) ? MANGLING_JAVA : MANGLING_NONE;
	}
	if (name[0] != '_')
		return MANGLING_NONE;
	/* Rust's back references may form cycles, so the recursion limit stays on. */
	if ((name[1] == 'R' || (name[1] == 'Z' && has_rust_hash(name))) &&
	    run(rust_demangle_callback, 0, name, out))
		return MANGLING_RUST;
	if (name[1] == 'Z' && cxx_is_boundless(name))
		return MANGLING_NONE;
	if (name[1] == 'Z' && is_misread(name) && run_older(d, name, out))
		return MANGLING_CXX;
	if (name[1] == 'Z' && run_cxx(d, name, out))
		return MANGLING_CXX;
	if (name[1] == 'D' && run_d(name, out))
		return MANGLING_D;
	return MANGLING_NONE;
}

/* The end of the suffix, with its number, that begins with the dot at s; NULL if it is not the
 * suffix of a clone. Suffixes of separate functions (.resolver, ._omp_fn.0, .actor of a coroutine),
 * or of the same function for another processor (.avx2), are not. */
static const char *clone_suffix(const char *s, const char *end)
{
	static const struct {
		const char *name;
		bool numbered; /* always followed by a number */
	} suffixes[] = {{".isra.", true},	{".constprop.", true}, {".part.", true},
			{".cold", false},	{".llvm.", true},      {".lto_priv.", true},
			{".localalias", false}, {".__uniq.", true},    {".clone.", true},
			{".warm", false},	{".__part.", true},    {".specialized.", true}};
	size_t i;

	for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const char *p = s + strlen(suffixes[i].name);

		if (strncmp(s, suffixes[i].name, strlen(suffixes[i].name)) || p > end)
			continue;
		if (!suffixes[i].numbered && *p == '.' && isdigit((unsigned char)p[1]))
			p++;
		else if (!suffixes[i].numbered)
			return p;
		s = p;
		while (p < end && isdigit((unsigned char)*p))
			p++;
		return p > s ? p : NULL;
	}
	return NULL;
}

/* The length of a symbol's name without the suffixes that compilers append when they clone or split
 * a function: foo.isra.0, foo.constprop.0.cold, foo.llvm.123. */
static size_t without_clone_suffix(const char *name, size_t n)
{
	const char *end = name + n, *dot = name;

	while (dot < end && (dot = memchr(dot + 1, '.', (size_t)(end - dot - 1)))) {
		const char *p = dot;

		while (p && p < end && *p == '.')
			p = clone_suffix(p, end);
		if (p == end)
			return (size_t)(dot - name);
	}
	return n;
}

/* Appends suffixes as libiberty does for C++: ".isra.0.cold" as " [clone .isra.0] [clone .cold]".
 */
static void add_clones(struct namebuf *out, const char *s)
{
	while (*s == '.') {
		size_t n = 1 + strcspn(s + 1, ".");

		while (s[n] == '.' && isdigit((unsigned char)s[n + 1]))
			n += 1 + strcspn(s + n + 1, ".");
		namebuf_add(out, " [clone ", 8);
		namebuf_add(out, s, n);
		namebuf_add(out, "]", 1);
		s += n;
	}
}

/* Replaces type arguments of Go by [...]: they are [go.shape.int] in .symtab, but [...] in
 * .gopclntab and in traces. */
static bool cut_go_shapes(struct namebuf *out, const char *name)
{
	const char *p = strstr(name, "[go.shape."), *q = p;
	unsigned open = 0;

	for (; q && *q; q++) {
		open += *q == '[';
		if (*q == ']' && !--open)
			break;
	}
	if (!q || !*q)
		return false;
	namebuf_add(out, name, (size_t)(p - name));
	namebuf_add(out, "[...]", 5);
	namebuf_add(out, q + 1, strlen(q + 1));
	return !out->failed;
}

static bool hides_templates(const struct name_style *style)
{
	return style->cut_templates || style->demangle == SYM_DEMANGLE_SIMPLE;
}

static unsigned template_depth(const struct name_style *style)
{
	return style->cut_templates ? style->template_depth : 0;
}

/* Writes d->base, from what this compiler made. Returns false if it is no name of its scheme. */
static bool decoded(struct demangler *d, const struct name_style *style)
{
	bool simple = style->demangle == SYM_DEMANGLE_SIMPLE;

	namebuf_clear(&d->text);
	switch (style->compiler) {
	case COMPILER_OCAML:
		return demangle_ocaml(&d->text, d->base.s, simple) && !d->text.failed;
	case COMPILER_GHC:
		return demangle_ghc(&d->text, d->base.s, simple) && !d->text.failed;
	case COMPILER_OTHER:
		break;
	}
	return false;
}

/* Writes d->base in this style; returns the text of the demangler that has the result. */
static struct namebuf *styled(struct demangler *d, const struct name_style *style)
{
	bool simple = style->demangle == SYM_DEMANGLE_SIMPLE, cut = false;
	enum mangling mangling;

	if (style->demangle == SYM_DEMANGLE_NONE)
		return &d->base;
	if (style->compiler && decoded(d, style))
		return &d->text;
	mangling = demangle_any(d, d->base.s, &d->full);
	/* libiberty drops the suffix of names in v0 mangling, in which there are no dots. */
	if (mangling == MANGLING_RUST && d->base.s[1] == 'R' && strchr(d->base.s, '.'))
		namebuf_add(&d->full, strchr(d->base.s, '.'), strlen(strchr(d->base.s, '.')));
	if (mangling == MANGLING_D)
		add_clones(&d->full, d->base.s + strcspn(d->base.s, "."));
	namebuf_clear(&d->text);
	if (simple && mangling == MANGLING_NONE && simplify_dotnet(&d->text, d->base.s))
		return d->text.failed ? &d->base : &d->text;
	namebuf_clear(&d->text);
	if (mangling == MANGLING_NONE && hides_templates(style) && !template_depth(style) &&
	    cut_go_shapes(&d->text, d->base.s))
		cut = true;
	else if (mangling == MANGLING_NONE || mangling == MANGLING_JAVA)
		cut = simple &&
		      (simplify_java(&d->text, d->base.s) || simplify_crystal(&d->text, d->base.s));
	else if (simple)
		cut = simplify_name(&d->text, d->full.s, mangling, template_depth(style));
	else if (style->cut_templates && mangling != MANGLING_D)
		cut = cut_templates(&d->text, d->full.s, mangling, template_depth(style));
	if (cut && !d->text.failed)
		return &d->text;
	return mangling == MANGLING_NONE ? &d->base : &d->full;
}

/* Is it a suffix of mold's stubs: foo$plt, foo$pltgot? */
static bool is_mold_stub(const char *suffix)
{
	return !strcmp(suffix, "$plt") || !strcmp(suffix, "$pltgot");
}

/* The offset of the version of an ELF symbol ("@@GLIBC_2.34"), or of "@plt" or "$plt"; else the
 * length of the name. Other names may contain these characters, too: Crystal's, and those with the
 * path of a module of node. */
static size_t without_version(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
	size_t n = strcspn(name, "@"), base = strcspn(name, " /#("), sign = strspn(name + n, "@");

	const char *stub = strrchr(name, '$');

	if (stub && is_mold_stub(stub))
		return (size_t)(stub - name);
	if (base < n || sign > 2 || name[n + sign + strspn(name + n + sign, letters)])
		return strlen(name);
	return n;
}

const char *demangle(struct demangler *d, const char *name, const struct name_style *style)
{
	size_t n = without_version(name), keep = n;
	const char *version = name + n;
	bool nameless; /* empty version: "rados_shutdown@@" */
	struct namebuf *shown;

	if (!n ||
	    (n + strlen(version) > NAME_USUAL_BYTES && n + strlen(version) > name_bytes_max()))
		return name;
	if (style->fold_clones)
		keep = without_clone_suffix(name, n);
	nameless = style->demangle != SYM_DEMANGLE_NONE && *version == '@' &&
		   !version[strspn(version, "@")];
	if (nameless)
		version = "";
	if (name[0] != '_' && keep == n && !nameless && !hides_templates(style) &&
	    !style->compiler && !is_java(name))
		return name;
	namebuf_clear(&d->base);
	namebuf_add(&d->base, name, keep);
	if (d->base.failed)
		return name;
	shown = styled(d, style);
	/* Simple names have no version, but a stub must not look like its function. */
	if (style->demangle != SYM_DEMANGLE_SIMPLE || !strcmp(version, "@plt") ||
	    is_mold_stub(version))
		namebuf_add(shown, version, strlen(version));
	return shown->failed || (shown == &d->base && !strcmp(shown->s, name)) ? name : shown->s;
}

/* Does the name end with parameters, as in "f(int) const &"? Names of other languages have no
 * parentheses at the end. */
static bool is_signature(const char *name)
{
	static const char *const words[] = {" const", " volatile", " &&", " &"};
	size_t n = strlen(name), i = 0, len;

	while (i < sizeof words / sizeof *words) {
		len = strlen(words[i]);
		if (n > len && !memcmp(name + n - len, words[i], len)) {
			n -= len;
			i = 0;
		} else {
			i++;
		}
	}
	return n && name[n - 1] == ')';
}

const char *restyle(struct demangler *d, const char *name, const struct name_style *style)
{
	bool cut;

	if (style->demangle == SYM_DEMANGLE_NONE || !hides_templates(style))
		return name;
	namebuf_clear(&d->text);
	if (style->demangle == SYM_DEMANGLE_SIMPLE && is_signature(name))
		cut = simplify_name(&d->text, name, MANGLING_CXX, template_depth(style));
	else if (strchr(name, '<'))
		cut = cut_templates(&d->text, name, MANGLING_CXX, template_depth(style));
	else
		cut = !template_depth(style) && cut_go_shapes(&d->text, name);
	return cut && !d->text.failed ? d->text.s : name;
}

bool demangler_is_out_of_memory(const struct demangler *d)
{
	return d->base.nomem || d->full.nomem || d->text.nomem || d->cxx20.nomem;
}

void demangler_done(struct demangler *d)
{
	namebuf_done(&d->base);
	namebuf_done(&d->full);
	namebuf_done(&d->text);
	namebuf_done(&d->cxx20);
}
