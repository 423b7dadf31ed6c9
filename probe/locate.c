/* locate.c - finds a program as a shell does, a library as the loader does.
 *
 * Sources: execvp(3); ld.so(8); glibc's elf/ldconfig and sysdeps/generic/dl-cache.h for the form of
 * /etc/ld.so.cache. */
#include "probe/locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/processor.h"
#include "base/text.h"
#include "modules/modules.h"
#include "probe/probe.h"

#define LD_CACHE_BYTES_MAX ((size_t)64 << 20)
#define MAPS_LINE_MAX	   (PATH_MAX + 128)

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* A library of another machine (32-bit ones beside 64-bit ones) has the same name. */
static bool is_for_this_machine(const char *path)
{
	const struct processor *here = processor_here();
	struct elf_image *img;
	bool is;

	if (!is_file(path) || elf_image_open(&img, path, NULL))
		return false;
	is = here && elf_image_machine(img) == here->e_machine;
	elf_image_close(img);
	return is;
}

/* DIR:DIR.. */
static bool find_in_list(const char *dirs, const char *name, bool (*fits)(const char *path),
			 char ret[PATH_MAX])
{
	while (dirs && *dirs) {
		size_t n = strcspn(dirs, ":");

		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, dirs, name) < PATH_MAX && n &&
		    fits(ret))
			return true;
		dirs += n + (dirs[n] == ':');
	}
	return false;
}

static char *read_whole(const char *path, size_t max, size_t *n)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	struct stat st;

	if (f && !fstat(fileno(f), &st) && (size_t)st.st_size <= max && st.st_size > 0) {
		text = malloc((size_t)st.st_size);
		*n = text ? fread(text, 1, (size_t)st.st_size, f) : 0;
	}
	if (f)
		fclose(f);
	return text;
}

/* struct cache_file_new: 20 bytes of magic, u32 count, u32 bytes of strings, 20 bytes; then entries
 * {i32 flags, u32 key, u32 value, u32 osversion, u64 hwcap}; key and value are offsets of strings
 * from the start of the magic. */
static bool find_in_ld_cache(const char *name, char ret[PATH_MAX])
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	size_t n = 0;
	char *text = read_whole("/etc/ld.so.cache", LD_CACHE_BYTES_MAX, &n);
	const char *start = text ? memmem(text, n, magic, sizeof magic - 1) : NULL;
	struct buf b;
	uint32_t count;
	bool found = false;

	if (start)
		n -= (size_t)(start - text);
	b = buf_make(start, start ? n : 0, 0, false);
	buf_skip(&b, sizeof magic - 1);
	count = buf_u32(&b);
	buf_skip(&b, 4 + 20);
	for (uint32_t i = 0; i < count && buf_ok(&b) && !found; i++) {
		uint32_t key, value;

		buf_skip(&b, 4);
		key = buf_u32(&b);
		value = buf_u32(&b);
		buf_skip(&b, 4 + 8);
		if (!buf_ok(&b) || key >= n || value >= n || !memchr(start + key, 0, n - key) ||
		    !memchr(start + value, 0, n - value) || strcmp(start + key, name))
			continue;
		found = snprintf(ret, PATH_MAX, "%s", start + value) < PATH_MAX &&
			is_for_this_machine(ret);
	}
	free(text);
	return found;
}

/* What a process has mapped under this name. */
static bool find_in_maps(const char *name, pid_t pid, char ret[PATH_MAX])
{
	char line[MAPS_LINE_MAX], path[64];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		char *file = strchr(line, '/');

		line[strcspn(line, "\n")] = 0;
		if (!file || strcmp(base_name(file), name))
			continue;
		found = snprintf(ret, PATH_MAX, "/proc/%d/root%s", (int)pid, file) < PATH_MAX &&
			is_file(ret);
	}
	if (f)
		fclose(f);
	return found;
}

static bool find_by_name(const char *name, pid_t pid, char ret[PATH_MAX])
{
	static const char loader_dirs[] = "/lib:/usr/lib:/lib64:/usr/lib64";

	if (pid && find_in_maps(name, pid, ret))
		return true;
	if (!strstr(name, ".so"))
		return find_in_list(getenv("PATH"), name, is_file, ret);
	return find_in_list(getenv("LD_LIBRARY_PATH"), name, is_for_this_machine, ret) ||
	       find_in_ld_cache(name, ret) ||
	       find_in_list(loader_dirs, name, is_for_this_machine, ret);
}

int locate_file(const char *text, size_t len, pid_t pid, char ret[PATH_MAX], struct err *err)
{
	char name[PATH_MAX], *real;

	if (len >= sizeof name)
		return err_set(err, ERR_USAGE, NULL, "'%.*s': too long for a file", 64, text);
	memcpy(name, text, len);
	name[len] = 0;
	if (!memchr(name, '/', len)) {
		if (!find_by_name(name, pid, ret))
			return err_set(err, ERR_NOT_FOUND, name,
				       "neither a command in PATH nor a library that the loader "
				       "finds; give its path (./%s)",
				       name);
	} else if (pid && name[0] == '/' && strncmp(name, "/proc/", 6)) {
		if (snprintf(ret, PATH_MAX, "/proc/%d/root%s", (int)pid, name) >= PATH_MAX)
			return err_set(err, ERR_USAGE, name, "too long");
	} else {
		memcpy(ret, name, len + 1);
	}
	if (!is_file(ret))
		return access(ret, F_OK) ? err_errno(err, errno, ret, "open")
					 : err_set(err, ERR_USAGE, ret, "is no regular file");
	/* A path below /proc/PID/root must stay one: its links lead elsewhere outside. */
	if (!strncmp(ret, "/proc/", 6))
		return 0;
	real = realpath(ret, NULL);
	if (!real || strlen(real) >= PATH_MAX) {
		free(real);
		return err_errno(err, errno, ret, "open");
	}
	memcpy(ret, real, strlen(real) + 1);
	free(real);
	return 0;
}

int probe_locate(const char *name, pid_t pid, char ret[PATH_MAX], struct err *err)
{
	return locate_file(name, strlen(name), pid, ret, err);
}

int probe_loader_of(const char *path, char ret[PATH_MAX], struct err *err)
{
	struct elf_section s;
	struct elf_image *img;
	int rc = elf_image_open(&img, path, err);

	ret[0] = 0;
	if (rc)
		return rc;
	if (elf_image_section(img, ".interp", &s, NULL) && s.data && s.size && s.size < PATH_MAX &&
	    !s.data[s.size - 1])
		memcpy(ret, s.data, (size_t)s.size);
	elf_image_close(img);
	return 0;
}
