/* debuginfod_pieces.h - single sections, out of the cache or from servers. Private to
 * modules/debuginfod*. */
#ifndef MODULES_DEBUGINFOD_PIECES_H
#define MODULES_DEBUGINFOD_PIECES_H

#include "base/buf.h"
#include "modules/find.h"

enum { PIECES_MAX = 8 };

struct piece {
	const char *name;
	uint32_t type;
	uint8_t *bytes; /* owned */
	size_t size;
};

/* A zeroed one is ready. */
struct pieces {
	struct piece v[PIECES_MAX];
	size_t n;
};

void pieces_done(struct pieces *p);
/* Which sections of strings do the line tables refer to? */
struct line_needs {
	bool line_str, str;
};
struct line_needs pieces_line_needs(const struct piece *line, bool swapped);
/* Is the section in the cache, or fetched into it where that may be done? */
enum fetch_result pieces_locate(struct finder *f, const struct build_id *id, const char *name);
/* Adds a section of the module's debug file, unpacked, if it is what such a section looks like. */
enum fetch_result pieces_add(struct finder *f, const struct build_id *id, struct pieces *all,
			     const char *name, uint32_t type);
/* Notes that a section is not used, and removes what was fetched of it. */
void pieces_refuse(struct finder *f, const struct build_id *id, const char *name,
		   enum fetch_result r, const char *why);

#endif
