/* capabilities.h - giving up rights of root, capabilities(7). */
#ifndef BASE_CAPABILITIES_H
#define BASE_CAPABILITIES_H

#include <stdint.h>

/* Gives up, in this thread and those that it starts, all capabilities whose bits (1 << CAP_*) are
 * not in `keep`, and those that programs would inherit. Returns 0, or -1 with errno. */
int capabilities_keep(uint64_t keep);

#endif
