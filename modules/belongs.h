/* belongs.h - are sections that carry no build id of the same build as an image? Private to
 * modules/.
 *
 * What a debuginfod server sends for a section, and what its client's cache keeps, are bare bytes;
 * those of another build look the same. What tells them apart is where things lie: the image, whose
 * build id is known to be right, says where its functions begin (.eh_frame), which of them are
 * exported (.dynsym), and where its code is; the symbols say it more finely for the line table; and
 * a table fits the strings that it refers to. What passes nevertheless is another build of which
 * each function begins and ends in the same place, whose symbols are the right ones; its lines may
 * not be. */
#ifndef MODULES_BELONGS_H
#define MODULES_BELONGS_H

#include "base/vec.h"
#include "modules/image.h"

/* A section as it was linked. */
struct bare_section {
	const uint8_t *bytes; /* NULL: there is none */
	size_t size;
};

struct code_range {
	uint64_t start, end;
	const char *section;
};

/* The sections of code of an image, and where in them functions, and whatever else has a symbol,
 * begin and end; all sorted. A zeroed one is empty. */
struct code_places {
	VEC(struct code_range) code;
	VEC(uint64_t) starts;
	VEC(uint64_t) ends;
	VEC(uint64_t) colds; /* starts of what compilers split off, "f.cold" */
	bool nomem;	     /* something is missing here */
};

void code_places_done(struct code_places *c);

/* NULL: as far as can be told the symbols are the image's. Else what is strange. Their form was
 * checked: whole entries, strings that end with a zero. Fills *places. */
const char *symbols_strangeness(struct elf_image *image, const struct bare_section *symtab,
				const struct bare_section *strtab, struct code_places *places);

struct line_sections {
	struct bare_section line, line_str, str; /* .debug_line, .debug_line_str, .debug_str */
};

/* The same for line tables, by the places of symbols that are the image's. */
const char *lines_strangeness(const struct elf_image *image, struct code_places *places,
			      const struct line_sections *s);

/* Which sections of strings do the tables refer to? */
struct line_needs {
	bool line_str, str;
};
struct line_needs lines_need(const struct bare_section *line, bool swapped);

/* Are all tables whole, of a version that is known? */
bool line_tables_are_whole(const struct bare_section *line, bool swapped);

/* ---- between belongs*.c -------------------------------------------------------------------- */

/* The section of code around an address; NULL when there is none. */
const struct code_range *belongs_code_at(const struct code_places *c, uint64_t vaddr);
void belongs_sort(uint64_t *v, size_t n);
/* Is it one of the sorted places? */
bool belongs_has(const uint64_t *v, size_t n, uint64_t place);

/* Of how many things looked at how many are as they should be. */
struct belongs_count {
	size_t all, good;
};

static inline void belongs_add(struct belongs_count *c, bool good)
{
	c->all++;
	c->good += good;
}

/* Is more than one part in `parts` wrong? */
static inline bool belongs_is_strange(const struct belongs_count *c, size_t parts)
{
	return (c->all - c->good) * parts > c->all;
}

#endif
