/* cost.c - estimates how much work a C++ name is for libiberty.
 *
 * Substitutions make a name a graph whose parts are used many times; libiberty walks it as a tree,
 * which can be exponentially larger. While libiberty prints during its walk, the limit on its
 * output ends it (demangle.c); but its search for parameter packs (d_find_pack() in cp-demangle.c)
 * prints nothing. So the size of libiberty's own graph of the name, which is made in linear time,
 * is measured first. */
#include "demangle/cost.h"

#include <stdlib.h>
#include <string.h>

#include "demangle/libiberty.h"

enum { TREE_MAX = 1 << 16 };

struct graph {
	const struct demangle_component *v;
	size_t n;
	double *size; /* per component: size of its tree; 0: not measured yet */
};

static bool is_leaf(const struct demangle_component *c)
{
	switch (c->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
	case DEMANGLE_COMPONENT_FIXED_TYPE:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
	case DEMANGLE_COMPONENT_CTOR:
	case DEMANGLE_COMPONENT_DTOR:
		return true;
	default:
		return false;
	}
}

static double measure(struct graph *g, const struct demangle_component *c)
{
	size_t i = (size_t)(c - g->v);

	if (!c)
		return 0;
	/* Builtin types and the like are not in the array. */
	if (c < g->v || i >= g->n || is_leaf(c))
		return 1;
	if (!g->size[i]) {
		g->size[i] = 1; /* ends cycles */
		g->size[i] = 1 + measure(g, c->u.s_binary.left) + measure(g, c->u.s_binary.right);
	}
	return g->size[i];
}

bool cxx_is_boundless(const char *name)
{
	struct graph g = {.n = 2 * strlen(name)};
	struct demangle_component *top;
	void *mem = NULL;
	bool boundless = false;

	/* Without a pack there is no such search. */
	if (!strstr(name, "Dp") && !strstr(name, "sp") && !strstr(name, "sZ") &&
	    !strstr(name, "sP"))
		return false;
	top = cplus_demangle_v3_components(name, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT,
					   &mem);
	g.v = mem;
	g.size = top ? calloc(g.n + 1, sizeof *g.size) : NULL;
	if (g.size)
		boundless = measure(&g, top) > TREE_MAX;
	free(g.size);
	free(mem);
	return boundless;
}
