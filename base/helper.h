/* helper.h - a helper process opens what a sandbox (base/sandbox.h) keeps its own process from.
 *
 * - Files of other processes: /proc/PID/root/.., map_files, exe, maps. The kernel refuses them, as
 *   landlock forbids to look into processes outside; through them files of containers are found.
 * - A temporary file without a name.
 *
 * It is started before, opens the former for reading only, hands descriptors over, and ends with
 * this process. This is the one state of base/ that belongs to the whole process, as the sandbox
 * does. */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <stdbool.h>

/* Starts the helper; later calls do nothing. Without it everything is tried directly. To be called
 * before there are threads. */
void helper_start(void);
bool helper_runs(void);
/* Closes what came with a fork, but for the standard streams and one more. */
void helper_close_others(int keep);
/* tempfile_open_here() in the helper: a descriptor, or -1 with errno. */
int helper_temp(void);
/* Is it a path of a process that only the helper can open? */
bool helper_has(const char *path);
/* As rooted_place(). May be called from any thread. */
int helper_place(const char *path, bool follow);
/* Opens /proc/PID/maps for reading, by the helper if there is one. Returns a descriptor, or -1 with
 * errno. */
int helper_maps(const char *path);

#endif
