/* names.c - follows references from DIEs to their names, across units and files. */
#include "dwarf/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dwarf/compiled_unit.h"
#include "dwarf/cxx_name.h"
#include "dwarf/die.h"

enum {
	CHAIN_MAX = 16,		  /* abstract_origin and specification links from one DIE */
	SCOPES_MAX = 64,	  /* scopes around one declaration */
	QUALIFIED_MAX = 64 << 10, /* bytes of a name that is made here */
	BUDGET_MIN = 1 << 20,	  /* bytes that such names of a unit may take */
	BUDGET_PER_BYTE = 16,	  /* in addition for each byte of the unit */
	/* DIEs read for the names of a unit, in addition to one for each byte of it. */
	STEPS_MIN = 4096,
};

/* ---- reading DIEs ------------------------------------------------------------------------ */

void dwarf_namer_init(struct dwarf_namer *n, const struct dwarf_cu *cu,
		      const struct dwarf_scopes *scopes, struct arena *strings)
{
	uint64_t bytes = cu->unit->end - cu->unit->off;

	*n = (struct dwarf_namer){.cu = cu,
				  .scopes = scopes,
				  .strings = strings,
				  .budget = BUDGET_MIN + bytes * BUDGET_PER_BYTE,
				  .steps = STEPS_MIN + bytes,
				  .type_steps = STEPS_MIN + bytes};
}

static bool cu_has(const struct dwarf_cu *cu, struct dwarf_ref die)
{
	return cu->file == die.file && die.off >= cu->unit->off && die.off < cu->unit->end;
}

const struct dwarf_cu *dwarf_namer_cu(struct dwarf_namer *n, struct dwarf_ref die, int *rc)
{
	const struct dwarf_unit *u;

	if (!die.file)
		return NULL;
	if (cu_has(n->cu, die))
		return n->cu;
	if (n->other.file && cu_has(&n->other, die))
		return &n->other;
	u = dwarf_file_unit_at(die.file, die.off);
	if (!u)
		return NULL;
	*rc = dwarf_cu_open_split(&n->other, die.file, u,
				  die.file->is_dwo ? n->cu->skeleton : NULL);
	if (*rc) {
		n->other.file = NULL;
		*rc = *rc < 0 ? *rc : 0;
		return NULL;
	}
	return &n->other;
}

/* The attributes of one DIE. */
struct link {
	const struct dwarf_abbrev *abbrev;
	const char *name, *linkage_name;
	uint64_t decl_line, language;
	struct dwarf_ref next; /* the DIE that it refers to */
};

static bool read_link(struct dwarf_namer *n, struct dwarf_ref die, struct link *l, int *rc)
{
	const struct dwarf_cu *cu = dwarf_namer_cu(n, die, rc);
	struct dwarf_value v[DWARF_SLOT_N] = {0};
	struct buf b;

	*l = (struct link){0};
	if (!cu || !n->steps)
		return false;
	n->steps--;
	b = dwarf_cu_at(cu, die.off);
	l->abbrev = dwarf_abbrev_at(cu->abbrevs, buf_uleb(&b));
	if (!l->abbrev || !buf_ok(&b))
		return false;
	dwarf_die_read(cu->abbrevs, cu->unit, l->abbrev, DWARF_WANT_NAMES, &b, v);
	if (!buf_ok(&b))
		return false;
	l->name = dwarf_value_string(cu, v[DWARF_SLOT_NAME]);
	l->linkage_name = dwarf_value_string(cu, v[DWARF_SLOT_LINKAGE_NAME]);
	if (!dwarf_value_uint(v[DWARF_SLOT_DECL_LINE], &l->decl_line))
		l->decl_line = 0;
	l->next = dwarf_value_ref(cu, v[DWARF_SLOT_ORIGIN]);
	if (!l->next.file)
		l->next = dwarf_value_ref(cu, v[DWARF_SLOT_SPECIFICATION]);
	l->language = cu->language;
	return true;
}

/* ---- scopes ------------------------------------------------------------------------------ */

void dwarf_scopes_free(struct dwarf_scopes *s)
{
	if (!s)
		return;
	vec_done(&s->v);
	free(s);
}

static int visit_scope(void *arg, const struct dwarf_cu *cu, uint64_t off,
		       const struct dwarf_abbrev *a, struct buf *b, struct dwarf_level *level)
{
	if (a->kind != DWARF_KIND_INLINED && dwarf_scopes_add(arg, off - cu->unit->off, level))
		return -ERR_NOMEM;
	dwarf_pass_over(cu, a, b, &(bool){false});
	return 0;
}

/* The scopes of another unit: made when first needed, and kept in its file for all threads. */
static const struct dwarf_scopes *scopes_of(const struct dwarf_cu *cu, int *rc)
{
	_Atomic(struct dwarf_scopes *) *slot = &cu->file->scopes[cu->unit - cu->file->units];
	struct dwarf_scopes *s = atomic_load(slot), *none = NULL;

	if (s)
		return s;
	s = calloc(1, sizeof *s);
	if (!s || dwarf_walk(cu, visit_scope, s) < 0) {
		dwarf_scopes_free(s);
		*rc = -ERR_NOMEM;
		return NULL;
	}
	if (atomic_compare_exchange_strong(slot, &none, s))
		return s;
	dwarf_scopes_free(s);
	return none;
}

struct dwarf_ref dwarf_namer_scope(struct dwarf_namer *n, struct dwarf_ref die, int *rc)
{
	const struct dwarf_cu *cu = dwarf_namer_cu(n, die, rc);
	const struct dwarf_scopes *s = NULL;
	size_t lo = 0, hi;
	uint64_t rel;

	if (cu)
		s = cu == n->cu ? n->scopes : scopes_of(cu, rc);
	if (!s)
		return (struct dwarf_ref){NULL, 0};
	rel = die.off - cu->unit->off;
	hi = s->v.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v.v[mid].off < rel)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == s->v.n || s->v.v[lo].off != rel || !s->v.v[lo].parent)
		return (struct dwarf_ref){NULL, 0};
	return (struct dwarf_ref){die.file, cu->unit->off + s->v.v[s->v.v[lo].parent - 1].off};
}

/* ---- names ------------------------------------------------------------------------------- */

/* Collects the names of a DIE and the DIEs that it refers to; the first value of each kind counts.
 * *last is the last of these DIEs: the declaration, which is in the scopes of the name. */
static bool follow(struct dwarf_namer *n, struct dwarf_ref die, struct link *ret,
		   struct dwarf_ref *last, int *rc)
{
	struct link l;
	unsigned i;

	*ret = (struct link){0};
	for (i = 0; i < CHAIN_MAX && die.file && read_link(n, die, &l, rc); i++) {
		if (!ret->abbrev)
			ret->abbrev = l.abbrev;
		if (!ret->linkage_name)
			ret->linkage_name = l.linkage_name;
		if (!ret->name)
			ret->name = l.name;
		if (!ret->decl_line)
			ret->decl_line = l.decl_line;
		ret->language = l.language;
		*last = die;
		die = l.next;
		if (ret->linkage_name && ret->name && ret->decl_line)
			break;
	}
	return ret->abbrev != NULL;
}

static const char *unnamed(const struct dwarf_abbrev *a, const char *inner)
{
	if (a->tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return !strcmp(inner, "operator()") ? "{lambda}" : "{unnamed}";
}

/* gdc puts an instance of a template into the function whose lambda is its argument, wherever the
 * template was written. Does `die` come from another file than the function around it? */
static bool is_foreign_to(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_ref around,
			  int *rc)
{
	struct dwarf_die a, b;

	return dwarf_die_at(n, die, &a, rc) && dwarf_die_at(n, around, &b, rc) &&
	       b.tag == DW_TAG_subprogram && a.decl_file && b.decl_file &&
	       a.decl_file != b.decl_file;
}

/* parts[] are innermost first. Returns NULL with *rc == 0 if the name would be too long. */
static const char *join(struct dwarf_namer *n, const char *const *parts, size_t n_parts,
			const char *separator, int *rc)
{
	size_t total = 1, at = 0, n_separator = strlen(separator), i;
	char *s;

	for (i = 0; i < n_parts; i++)
		total += strnlen(parts[i], QUALIFIED_MAX) + 2;
	if (total > QUALIFIED_MAX || total > n->budget)
		return NULL;
	n->budget -= total;
	s = arena_alloc(n->strings, total);
	if (!s) {
		*rc = -ERR_NOMEM;
		return NULL;
	}
	for (i = n_parts; i--;) {
		size_t len = strlen(parts[i]);

		memcpy(s + at, parts[i], len);
		memcpy(s + at + len, separator, i ? n_separator : 0);
		at += len + (i ? n_separator : 0);
	}
	return s;
}

/* Returns `name` with the scopes around its declaration; without them if there are none. */
static const char *qualify(struct dwarf_namer *n, const char *name, struct dwarf_ref die, bool is_d,
			   int *rc)
{
	const char *parts[SCOPES_MAX + 1] = {name}, *whole;
	size_t n_parts = 1;

	while (n_parts <= SCOPES_MAX) {
		struct dwarf_ref around = dwarf_namer_scope(n, die, rc);
		struct link l;

		if (!around.file || (is_d && is_foreign_to(n, die, around, rc)) ||
		    !follow(n, around, &l, &die, rc))
			break;
		parts[n_parts] = l.name ? l.name : unnamed(l.abbrev, parts[n_parts - 1]);
		if (is_d && !strcmp(parts[n_parts], "D main"))
			parts[n_parts] = "main";
		n_parts++;
	}
	if (n_parts == 1 || *rc)
		return name;
	whole = join(n, parts, n_parts, is_d ? "." : "::", rc);
	return whole ? whole : name;
}

int dwarf_namer_run(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *ret)
{
	struct dwarf_ref last;
	struct link l;
	int rc = 0;

	if (!follow(n, die, &l, &last, &rc))
		return rc;
	ret->linkage_name = l.linkage_name;
	ret->name = l.linkage_name ? NULL : l.name;
	ret->decl_line = l.decl_line <= UINT32_MAX ? (uint32_t)l.decl_line : 0;
	if (ret->name && !dwarf_language_is_flat(l.language))
		ret->name = qualify(n, l.name, last, l.language == DW_LANG_D, &rc);
	return rc;
}

bool dwarf_name_has_lambda(const char *name)
{
	return strstr(name, "<lambda") || strstr(name, "{lambda");
}

static uint64_t low_pc(const struct dwarf_cu *cu, const struct dwarf_abbrev *a, struct buf b)
{
	struct dwarf_value v[DWARF_SLOT_N] = {0};
	uint64_t addr;

	dwarf_die_read(cu->abbrevs, cu->unit, a, DWARF_WANT_CODE, &b, v);
	return buf_ok(&b) && dwarf_value_addr(cu, v[DWARF_SLOT_LOW_PC], &addr) ? addr : 0;
}

int dwarf_namer_sign(struct dwarf_namer *n, struct dwarf_ref die, struct dwarf_func *f)
{
	int rc = 0;
	const struct dwarf_cu *cu = dwarf_namer_cu(n, die, &rc);
	const struct dwarf_abbrev *a;
	const char *name;
	struct buf b;

	if (!cu || !cu->abbrevs->has_types || !dwarf_language_is_cxx(cu->language))
		return rc;
	b = dwarf_cu_at(cu, die.off);
	a = dwarf_abbrev_at(cu->abbrevs, buf_uleb(&b));
	if (!a || (a->has_code && !dwarf_name_has_lambda(f->name)))
		return 0;
	if (a->has_code && !f->entry)
		f->entry = low_pc(cu, a, b);
	name = dwarf_cxx_name(n, die, &rc);
	if (name)
		f->name = name;
	return rc;
}
