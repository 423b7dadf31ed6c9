/* sandbox_calls.h - the system calls that remain. Private to base/sandbox.c. */
#ifndef BASE_SANDBOX_CALLS_H
#define BASE_SANDBOX_CALLS_H

#include <stdbool.h>

/* For this thread and what it starts; PR_SET_NO_NEW_PRIVS must be set. Returns 1; 0 if the kernel
 * or this build has no filters; -1 with errno. */
int sandbox_filter_calls(bool network, bool may_chown, bool may_link, bool terminal);

#endif
