/* explain.c - --explain ADDR. */
#include "base/strtab.h"
#include "report/modules.h"

#include <inttypes.h>

#include "base/vec.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

enum { CANDIDATES_FIRST = 64 };

static void explain_image(const char *what, const struct elf_image *img, enum module_miss miss,
			  FILE *out)
{
	const struct build_id *id = img ? elf_image_build_id(img) : NULL;
	unsigned i;

	fprintf(out, "  %-10s %s", what, img ? elf_image_path(img) : module_miss_text(miss));
	for (i = 0; id && i < id->size; i++)
		fprintf(out, "%s%02x", i ? "" : ", build id ", id->bytes[i]);
	fputc('\n', out);
}

static void explain_module(const struct loaded *p, const struct dso *dso, FILE *out)
{
	struct module *m = modules_get(p->modules, dso);
	size_t i;

	fprintf(out, "  %-10s %s", "dso", dso->path);
	for (i = 0; i < dso->build_id.size; i++)
		fprintf(out, "%s%02x", i ? "" : ", recorded build id ", dso->build_id.bytes[i]);
	fputc('\n', out);
	if (!m)
		return;
	module_debug(p->modules, m);
	explain_image("image", m->image, m->image_miss, out);
	explain_image("debug file", m->debug, m->debug_miss, out);
	if (m->alt || m->alt_miss)
		explain_image("alt file", m->alt, m->alt_miss, out);
	if (m->mini)
		explain_image("minidebug", m->mini, 0, out);
	for (i = 0; i < module_tried_count(m); i++)
		fprintf(out, "  %-10s %s\n", i ? "" : "tried", module_tried(m, i).text);
}

static void explain_map(const struct map *map, uint64_t lookup_ip, uint64_t off, FILE *out)
{
	if (!map) {
		fprintf(out, "  %-10s none holds this address\n", "mapping");
		return;
	}
	fprintf(out, "  %-10s %#" PRIx64 "-%#" PRIx64 " from file offset %#" PRIx64 "\n", "mapping",
		map->start, map->end, map->pgoff);
	fprintf(out, "  %-10s %#" PRIx64 ", in the file at %#" PRIx64 "\n", "looked up", lookup_ip,
		off);
}

typedef VEC(struct sym_candidate) candidate_vec;

/* Finds all candidates, as far as memory allows. */
static void find_candidates(const struct loaded *p, const struct sym_query *q, candidate_vec *v)
{
	do {
		if (vec_reserve(v, 2 * v->cap + CANDIDATES_FIRST))
			return;
		v->n = symbolizer_candidates(p->symbolizer, q, v->v, v->cap);
	} while (v->n == v->cap);
}

/* Prints the symbols at the address, of which one was chosen. */
static void explain_candidates(const struct loaded *p, const struct profile_location *l,
			       const struct dso *dso, FILE *out)
{
	struct sym_query q = {.dso = dso, .off = l->off, .ip = l->ip - l->is_return_address};
	candidate_vec all = {0};
	const struct sym_candidate *v;
	size_t i;

	find_candidates(p, &q, &all);
	v = all.v;
	for (i = 0; i < all.n; i++)
		fprintf(out, "  %-10s %#" PRIx64 "-%#" PRIx64 " %s, %s%s\n", i ? "" : "candidates",
			v[i].start, v[i].end, v[i].name,
			v[i].weak     ? "weak"
			: v[i].global ? "global"
				      : "local",
			v[i].has_size ? "" : ", without size: up to the next symbol");
	vec_done(&all);
}

static void explain_names(const struct loaded *p, const struct profile_location *l, FILE *out)
{
	const struct profile *pr = p->profile;
	uint32_t i;

	if (l->symbol)
		fprintf(out, "  %-10s %s+%#" PRIx64 "\n", "symbol",
			strtab_get(&pr->strings, l->symbol), l->symbol_offset);
	else
		fprintf(out, "  %-10s none: %s\n", "symbol", sym_miss_text(l->miss));
	for (i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &pr->lines.v[l->first_line + i];
		const struct profile_function *f = &pr->functions.v[line->function];

		fprintf(out, "  %-10s %s", i ? "" : "lines", strtab_get(&pr->strings, f->name));
		if (f->file)
			fprintf(out, " %s:%" PRIu32, strtab_get(&pr->strings, f->file), line->line);
		fprintf(out, "%s\n", i + 1 < l->n_lines ? " (inlined)" : "");
	}
}

size_t report_address(const struct loaded *p, uint64_t ip, FILE *out)
{
	const struct profile *pr = p->profile;
	const char *source, *lacks, *help;
	size_t i, found = 0;

	for (i = 0; i < pr->locations.n; i++) {
		const struct profile_location *l = &pr->locations.v[i];
		const struct profile_mapping *m = &pr->mappings.v[l->mapping];

		/* script shows return addresses of unwound frames minus one, recorded ones as they
		 * are */
		if (l->ip != ip && l->ip - l->is_return_address != ip)
			continue;
		found++;
		fprintf(out, "%#" PRIx64 ": %s, found by: %s\n", l->ip,
			l->is_return_address ? "return address" : "address of an instruction",
			frame_how_text(l->how));
		explain_map(m->map.end ? &m->map : NULL, l->ip - l->is_return_address, l->off, out);
		if (m->dso) {
			explain_module(p, m->dso, out);
			source = symbolizer_source(p->symbolizer, m->dso);
			fprintf(out, "  %-10s %s\n", "names from", *source ? source : "nothing");
			lacks = report_module_lacks(p, m->dso, &help);
			if (*lacks)
				fprintf(out, "  %-10s %s; %s\n", "lacks", lacks, help);
			explain_candidates(p, l, m->dso, out);
		}
		explain_names(p, l, out);
	}
	return found;
}
