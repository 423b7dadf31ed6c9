/* kallsyms.c - "ffffffff81000000 T _stext" and "ffffffffc0a00000 t nf_hook\t[nf_conntrack]", by
 * line.
 *
 * Which symbol types count, and that a symbol reaches to the next one, is as in perf
 * (tools/lib/symbol/ kallsyms.c, tools/perf/util/symbol.c), data symbols included: they end the
 * functions before them. */
#include "symbolize/kallsyms.h"

#include <string.h>

#include "symbolize/slurp.h"

/* The last symbol of the kernel or of a module has no next one: perf lets it reach to the end of
 * the page after its own. */
enum { PAGE = 4096 };

struct line {
	uint64_t addr;
	char type;
	char *name, *module; /* module: NULL for the kernel */
};

/* Cuts one line, NUL-terminated, into its parts. */
static bool parse_line(char *s, struct line *ret)
{
	char *end;

	if (!take_hex(&s, &ret->addr) || s[0] != ' ' || !s[1] || s[2] != ' ')
		return false;
	ret->type = s[1];
	ret->name = s + 3;
	end = ret->name + strcspn(ret->name, " \t\r");
	ret->module = NULL;
	if (end == ret->name)
		return false;
	if (*end) {
		char *open = strchr(end, '['), *close = open ? strchr(open, ']') : NULL;

		*end = 0;
		if (close) {
			*close = 0;
			ret->module = open + 1;
		}
	}
	return true;
}

/* perf's symbol_type__filter(): text, weak, data, bss; global or not. */
static bool is_wanted(const struct line *l)
{
	if (!strchr("tTwWdDbB", l->type))
		return false;
	/* mapping symbols of ARM and RISC-V, local labels (is_ignored_kernel_symbol()) */
	return l->name[0] != '$' && strncmp(l->name, ".L", 2) && strncmp(l->name, "L0\001", 3);
}

static int module_tag(struct kallsyms *k, const char *name, uint32_t *ret)
{
	size_t i = k->modules.n;

	/* a module's symbols stand together; BPF's and ftrace's come last */
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

	if (!l->module && !strcmp(l->name, "_text"))
		k->_text = l->addr;
	if (!l->module && !strcmp(l->name, "_stext"))
		k->_stext = l->addr;
	if (module_tag(k, l->module ? l->module : "", &tag))
		return -1;
	if (l->type == 'w' || l->type == 'W')
		f.flags |= FUNC_WEAK;
	else if (l->type < 'a')
		f.flags |= FUNC_GLOBAL;
	f.tag = tag & FUNC_TAG_MAX;
	return functab_add(&k->tab, &f);
}

/* Where the code of one module ends nothing is known but the page. */
static void close_gaps(struct kallsyms *k)
{
	struct func *v = k->tab.funcs.v;
	size_t n = k->tab.funcs.n, i;

	for (i = 0; i < n; i++) {
		uint64_t page_end = ((v[i].start + PAGE - 1) & ~(uint64_t)(PAGE - 1)) + PAGE;

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
	if (vec_push(&k->modules, ""))
		return -1;
	while (s < end) {
		char *nl = memchr(s, '\n', (size_t)(end - s));

		if (!nl)
			nl = end;
		*nl = 0;
		if (parse_line(s, &l) && is_wanted(&l)) {
			if (add_line(k, &l))
				return -1;
			any_address |= l.addr != 0;
		}
		s = nl + 1;
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
	const char *end, *p;
	size_t n;

	if (path[0] == '[') {
		path++;
		end = strchr(path, ']');
	} else {
		p = strrchr(path, '/');
		path = p ? p + 1 : path;
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
