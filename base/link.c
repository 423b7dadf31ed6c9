/* link.c - the kernel's rule for links in shared folders. */
#include "base/link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool link_is_strange(const char *path)
{
	const mode_t shared = S_ISVTX | S_IWOTH;
	const char *slash = strrchr(path, '/');
	struct stat link, folder;
	char *dir;
	bool strange;

	if (lstat(path, &link) || !S_ISLNK(link.st_mode))
		return false;
	dir = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
	strange = (slash && !dir) || stat(dir ? dir : ".", &folder) ||
		  ((folder.st_mode & shared) == shared && link.st_uid != geteuid() &&
		   link.st_uid != folder.st_uid);
	free(dir);
	return strange;
}
