/* debug_sup.h - which file holds what several debug files share. Private to modules/.
 *
 * dwz(1) names it in .gnu_debugaltlink (path, NUL, build id) or, with --dwarf-5, in .debug_sup
 * (DWARF5 7.3.6: version, whether the file is a supplementary one itself, its name, length and
 * bytes of a checksum). The checksum stands in both files and takes the place of the build id,
 * which the supplementary file then may lack. */
#ifndef MODULES_DEBUG_SUP_H
#define MODULES_DEBUG_SUP_H

#include "modules/modules.h"

struct debug_sup_link {
	const char *path; /* in the image's section */
	struct build_id id;
};

/* The link that a file has; false when it has none, or a damaged one. */
bool debug_sup_link(struct elf_image *img, struct debug_sup_link *ret);
/* The checksum of a supplementary file; false when it is none, or has none. */
bool debug_sup_id(struct elf_image *img, struct build_id *ret);

#endif
