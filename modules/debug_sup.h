/* debug_sup.h - finds the file with the DWARF that several debug files share. Private to modules/.
 *
 * dwz(1) names this file in .gnu_debugaltlink (path, NUL, build id) or, with --dwarf-5, in
 * .debug_sup (DWARF5 7.3.6: version, is the file a supplementary one itself, file name, length and
 * bytes of a checksum). The checksum is in both files and replaces the build id, which the
 * supplementary file may then lack. */
#ifndef MODULES_DEBUG_SUP_H
#define MODULES_DEBUG_SUP_H

#include "modules/modules.h"

struct debug_sup_link {
	const char *path; /* borrowed from the image's section */
	struct build_id id;
};

/* Reads the link of a file. Returns false if it has none, or a damaged one. */
bool debug_sup_link(struct elf_image *img, struct debug_sup_link *ret);
/* Reads the checksum of a supplementary file. Returns false if it is not one, or has no checksum.
 */
bool debug_sup_id(struct elf_image *img, struct build_id *ret);

#endif
