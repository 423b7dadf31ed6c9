/* link.h - symbolic links that others may have put where we write. */
#ifndef BASE_LINK_H
#define BASE_LINK_H

#include <stdbool.h>

/* Is `path` a link of another user in a folder where everybody may put files, as /tmp? The kernel's
 * rule (proc(5), fs.protected_symlinks), which it cannot apply to who asks where links lead
 * (realpath(3)) and opens that. */
bool link_is_strange(const char *path);
#define LINK_IS_STRANGE "another user's link, in a folder that everybody may write to"

#endif
