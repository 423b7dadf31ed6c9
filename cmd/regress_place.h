/* regress_place.h - where programs lie in memory. */
#ifndef CMD_REGRESS_PLACE_H
#define CMD_REGRESS_PLACE_H

#include "base/err.h"
#include "cmd/sides.h"

/* Adds the files of which only one of two recorded runs mapped code. The caller releases the list
 * in all cases. Returns 0 or negative. */
int regress_place_learn(const char *base, const char *new, path_list *files, struct err *err);
/* Puts them out of the page cache and reads them again, so that later runs find them elsewhere in
 * memory. */
void regress_place_draw(const path_list *files);
void regress_place_done(path_list *files);

#endif
