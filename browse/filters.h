/* filters.h - lists of what can be shown alone. Private to browse/. */
#ifndef BROWSE_FILTERS_H
#define BROWSE_FILTERS_H

#include "browse/screen.h"

/* Ask the user, and change the model and rows. Return 1 if something changed, 0 if not, -1 when
 * out of memory. */
int filter_task(struct screen *s);
int filter_module(struct screen *s);
int filter_cgroup(struct screen *s);
int filter_event(struct screen *s);
/* Takes all of them away. */
int filter_none(struct screen *s);

#endif
