/* tracefs.c - mounts tracefs without a place, or finds where it is. */
#include "capture/tracefs.h"

#include <errno.h>
#include <linux/mount.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Once for the process. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char private_dir[32]; /* "": it could not be mounted */

/* A mount that has no place is reached by its descriptor alone. */
static void mount_privately(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), fd = -1;

	if (fs < 0)
		return;
	if (!syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	close(fs);
	if (fd >= 0)
		snprintf(private_dir, sizeof private_dir, "/proc/self/fd/%d", fd);
}

const char *tracefs_find(struct err *err)
{
	static const char *const dirs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[64];

	/* First, as what others have mounted they unmount, in the middle of a start. */
	pthread_once(&once, mount_privately);
	if (*private_dir)
		return private_dir;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		snprintf(path, sizeof path, "%s/events", dirs[i]);
		if (!access(path, R_OK | X_OK))
			return dirs[i];
		if (errno == EACCES) {
			err_set(err, ERR_PERMISSION, path,
				"not readable for this user; run as root, or: "
				"sudo mount -o remount,mode=755 %s",
				dirs[i]);
			return NULL;
		}
	}
	err_set(err, ERR_NOT_FOUND, dirs[0],
		"tracefs is not mounted; run: sudo mount -t tracefs tracefs %s", dirs[0]);
	return NULL;
}
