/* regress_git.h - are the sides swapped, by the history of their repository? */
#ifndef CMD_REGRESS_GIT_H
#define CMD_REGRESS_GIT_H

#include <stdbool.h>

/* Two programs that lie in work trees of one repository: is the commit of the new one an ancestor
 * of that of the base? False also when there is no git, or no repository. */
bool git_is_swapped(const char *base, const char *fresh);

#endif
