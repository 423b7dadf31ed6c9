/* link.h - symbolic links that others may have put where we write. */
#ifndef BASE_LINK_H
#define BASE_LINK_H

#include <stdbool.h>

/* Is `path` a symbolic link of another user in a folder where everybody may create files, like
 * /tmp? The kernel's own rule against following those (proc(5), fs.protected_symlinks) does not
 * help a program that resolves links first (realpath(3)) and then opens the result. */
bool link_is_strange(const char *path);
#define LINK_IS_STRANGE "another user's link, in a folder that everybody may write to"

#endif
