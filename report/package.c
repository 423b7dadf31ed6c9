/* package.c - the servers and the packages that have the symbols of a distribution's files. */
#include "report/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* os-release(5). The servers are those of each distribution's manual; the last asks them all. */
static const struct {
	const char *id, *help;
} helps[] = {
#define FROM(host) "fetch its symbols: DEBUGINFOD_URLS=https://" host " resolve --debuginfod .."
	{"debian", FROM("debuginfod.debian.net")},
	{"ubuntu", FROM("debuginfod.ubuntu.com")},
	{"fedora", FROM("debuginfod.fedoraproject.org") "; or `sudo dnf debuginfo-install`"},
	{"arch", FROM("debuginfod.archlinux.org")},
	{"", FROM("debuginfod.elfutils.org")},
#undef FROM
};

static bool is_distribution(const char *id)
{
	FILE *f = fopen("/etc/os-release", "re");
	char line[256], wanted[64];
	bool found = !*id;

	snprintf(wanted, sizeof wanted, "ID=%s\n", id);
	while (f && !found && fgets(line, sizeof line, f))
		found = !strcmp(line, wanted);
	if (f)
		fclose(f);
	return found;
}

const char *report_package_help(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	size_t i = 0;

	if (urls && *urls)
		return "fetch its symbols with --debuginfod";
	while (!is_distribution(helps[i].id))
		i++;
	return helps[i].help;
}

/* Is it one of the lines? */
static bool has_line(const char *text, size_t n, const char *line)
{
	const size_t len = strlen(line);
	const char *at = text, *end = text + n;

	for (; (at = memmem(at, (size_t)(end - at), line, len)); at += len)
		if ((at == text || at[-1] == '\n') && at + len < end && at[len] == '\n')
			return true;
	return false;
}

static bool list_has(int dir, const char *name, const char *const paths[2])
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	char *text = MAP_FAILED;
	bool found = false;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text != MAP_FAILED) {
		for (int i = 0; i < 2; i++)
			found |= has_line(text, (size_t)st.st_size, paths[i]);
		munmap(text, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* Names of packages have dots, too (libglib2.0-0). Debian's libc6 has a package of symbols made by
 * hand. */
void package_of_symbols(const char *list, char *ret, size_t size)
{
	static const char end[] = ".list";
	size_t n = strcspn(list, ":");

	if (!list[n])
		n = strlen(list) - (str_ends_with(list, end) ? sizeof end - 1 : 0);
	snprintf(ret, size, "%.*s%s", (int)n, list,
		 n == 5 && str_starts_with(list, "libc6") ? "-dbg" : "-dbgsym");
}

/* dpkg(1): info/PACKAGE[:ARCHITECTURE].list has the paths of a package, as they are in the package:
 * of a file in /usr/lib perhaps as /lib. */
bool package_with_symbols(const char *path, char *ret, size_t size)
{
	static const char usr[] = "/usr";
	const bool in_usr = str_starts_with(path, "/usr/");
	DIR *dir = opendir("/var/lib/dpkg/info");
	char other[4096];
	const char *const paths[2] = {path, other};
	const struct dirent *d;
	bool found = false;

	snprintf(other, sizeof other, "%s%s", in_usr ? "" : usr,
		 in_usr ? path + sizeof usr - 1 : path);
	while (dir && !found && (d = readdir(dir))) {
		if (!str_ends_with(d->d_name, ".list") || !list_has(dirfd(dir), d->d_name, paths))
			continue;
		found = true;
		package_of_symbols(d->d_name, ret, size);
	}
	if (dir)
		closedir(dir);
	return found;
}
