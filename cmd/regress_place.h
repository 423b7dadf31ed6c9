/* regress_place.h - where programs lie in memory. */
#ifndef CMD_REGRESS_PLACE_H
#define CMD_REGRESS_PLACE_H

#include "regress/regress.h"

/* Puts the files that only one side has out of the page cache and reads them again, so that fresh
 * runs find them elsewhere in memory. */
void regress_place_anew(const struct regress *g);

#endif
