/* kallsyms.c - parses lines such as "ffffffff81000000 T _stext" and "ffffffffc0a00000 t
 * nf_hook\t[nf_conntrack]".
 *
 * As in perf (tools/lib/symbol/kallsyms.c, tools/perf/util/symbol.c): which symbol types are used,
 * and that a symbol extends to the next one. Data symbols are included, because they end the
 * functions before them. */
#include "symbolize/kallsyms.h"

#include <string.h>

#include "base/pages.h"
#include "base/text.h"
#include "symbolize/read_file.h"

/* The last symbol of the kernel or of a module has no next one: as in perf it extends to the end of
 * the page after its own. */
enum { PAGE = 4096 };

/* Of a usual line, for sizes only. */
enum { LINE_BYTES = 40 };

struct line {
	uint64_t addr, end; /* end: 0: unknown, as in the kernel's own lists */
	char type;
	char *name, *module; /* module: NULL for the kernel */
};

/* Is it NUL, tab, newline, carriage return or space? */
static bool ends_name(char c)
{
	const uint64_t set = 1u << 0 | 1u << '\t' | 1u << '\n' | 1u << '\r' | 1ull << ' ';

	return (unsigned char)c <= ' ' && set >> c & 1;
}

/* Splits the line at *p (a NUL is at `end`) into its parts, and moves *p to the next line. A list
 * has 100,000 lines and more, nearly all of them of the shortest form. */
static bool take_line(char **p, char *end, struct line *ret)
{
	char *s = *p, *name_end, *nl, *open, *close;
	bool ok;

	ok = take_hex(&s, &ret->addr);
	ret->end = 0;
	if (ok && *s == '-') { /* in bundles */
		s++;
		ok = take_hex(&s, &ret->end);
	}
	ok = ok && s[0] == ' ' && s[1] && s[1] != '\n' && s[2] == ' ';
	ret->type = ok ? s[1] : 0;
	ret->name = name_end = ok ? s + 3 : s;
	ret->module = NULL;
	while (ok && !ends_name(*name_end))
		name_end++;
	nl = ok ? name_end : s;
	if (*nl != '\n') {
		nl = memchr(nl, '\n', (size_t)(end - nl));
		if (!nl)
			nl = end;
	}
	*nl = 0;
	*p = nl + 1;
	if (!ok || name_end == ret->name)
		return false;
	if (name_end == nl || !*name_end)
		return true;
	open = strchr(name_end, '[');
	close = open ? strchr(open, ']') : NULL;
	*name_end = 0;
	if (close) {
		*close = 0;
		ret->module = open + 1;
	}
	return true;
}

/* perf's symbol_type__filter(): text, weak, data, bss; global or not. */
static bool is_wanted(const struct line *l)
{
	switch (l->type | 0x20) {
	case 't':
	case 'w':
	case 'd':
	case 'b':
		break;
	default:
		return false;
	}
	/* mapping symbols of ARM and RISC-V, local labels (is_ignored_kernel_symbol()) */
	return l->name[0] != '$' && strncmp(l->name, ".L", 2) && strncmp(l->name, "L0\001", 3);
}

static int module_tag(struct kallsyms *k, const char *name, uint32_t *ret)
{
	size_t i = k->modules.n;

	*ret = 0;
	if (!name)
		return 0;
	/* the symbols of a module are together; those of BPF and ftrace come last */
	while (i > 0 && k->modules.n - i < 64 && strcmp(k->modules.v[i - 1], name))
		i--;
	if (i > 0 && !strcmp(k->modules.v[i - 1], name)) {
		*ret = (uint32_t)i - 1;
		return 0;
	}
	if (k->modules.n >= FUNC_TAG_MAX || vec_push(&k->modules, name))
		return -1;
	*ret = (uint32_t)k->modules.n - 1;
	return 0;
}

static int add_line(struct kallsyms *k, const struct line *l)
{
	struct func f = {
		.start = l->addr, .end = UINT64_MAX, .name = l->name, .flags = FUNC_SIZELESS};
	uint32_t tag = 0;

	if (l->end) {
		f.end = l->end;
		f.flags = 0;
	}

	if (l->name[0] == '_' && !l->module) {
		if (!strcmp(l->name, "_text"))
			k->_text = l->addr;
		if (!strcmp(l->name, "_stext"))
			k->_stext = l->addr;
		if (!strcmp(l->name, "_etext"))
			k->_etext = l->addr;
	}
	if (module_tag(k, l->module, &tag))
		return -1;
	if (l->type == 'w' || l->type == 'W')
		f.flags |= FUNC_WEAK;
	else if (l->type < 'a')
		f.flags |= FUNC_GLOBAL;
	f.tag = tag & FUNC_TAG_MAX;
	return functab_add(&k->tab, &f);
}

/* Ends the last function of the kernel and of each module at the end of the page after its own,
 * because its real end is unknown. The others have no end of their own (UINT64_MAX): they extend to
 * the next symbol. */
static void close_gaps(struct kallsyms *k)
{
	struct func *v = k->tab.funcs.v;
	size_t n = k->tab.funcs.n, i;

	for (i = 0; i < n; i++) {
		uint64_t page_end = ((v[i].start + PAGE - 1) & ~(uint64_t)(PAGE - 1)) + PAGE;

		if (!(v[i].flags & FUNC_SIZELESS))
			continue;
		if (page_end < v[i].start)
			page_end = UINT64_MAX;
		if (i + 1 == n || v[i].tag != v[i + 1].tag)
			v[i].end = page_end;
		else
			v[i].end = UINT64_MAX;
	}
}

int kallsyms_parse(struct kallsyms *k, char *text, size_t size)
{
	char *s = text, *end = text + size;
	bool any_address = false;
	struct line l;

	*k = (struct kallsyms){.text = text};
	/* Reserves room for all lines at once: unused pages are never touched, and nothing is
	 * copied. */
	if (vec_push(&k->modules, "") || vec_reserve(&k->tab.funcs, size / LINE_BYTES))
		return -1;
	pages_large(k->tab.funcs.v, k->tab.funcs.cap * sizeof *k->tab.funcs.v);
	while (s < end) {
		if (take_line(&s, end, &l) && is_wanted(&l)) {
			if (add_line(k, &l))
				return -1;
			any_address |= l.addr != 0;
		}
	}
	k->hidden = k->tab.funcs.n && !any_address;
	if (functab_finish(&k->tab))
		return -1;
	close_gaps(k);
	return 0;
}

void kallsyms_done(struct kallsyms *k)
{
	functab_done(&k->tab);
	vec_done(&k->modules);
	free(k->text);
	*k = (struct kallsyms){0};
}

bool kallsyms_module_name(const char *path, char *name, size_t size)
{
	const char *end;
	size_t n;

	if (path[0] == '[') {
		path++;
		end = strchr(path, ']');
	} else {
		path = base_name(path);
		end = strstr(path, ".ko");
	}
	n = end ? (size_t)(end - path) : 0;
	if (!n || n >= size)
		return false;
	memcpy(name, path, n);
	name[n] = 0;
	for (; *name; name++)
		if (*name == '-')
			*name = '_';
	return true;
}
