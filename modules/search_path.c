/* search_path.c - the directories in which files of modules are searched for.
 *
 * Source: GDB manual "Separate Debug Files"; perf-buildid-cache(1); debuginfod_find_debuginfo(3)
 * for the client's cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "modules/find.h"

static char *path_join(const char *a, const char *b)
{
	char *s;

	return asprintf(&s, "%s%s", a, b) < 0 ? NULL : s;
}

/* Without HOME perf keeps its cache in the current directory. */
static char *buildid_dir(const struct modules_options *opt, const char *home)
{
	const char *env = getenv("PERF_BUILDID_DIR");

	if (opt->buildid_dir)
		return strdup(opt->buildid_dir);
	if (env && *env)
		return strdup(env);
	return *home ? path_join(home, "/.debug") : strdup(".debug");
}

static char *debuginfod_dir(const struct modules_options *opt, const char *home)
{
	const char *env = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
	struct stat st;
	char *old;

	if (opt->no_debuginfod_cache)
		return strdup("");
	if (env && *env)
		return strdup(env);
	if (!*home)
		return xdg && *xdg ? path_join(xdg, "/debuginfod_client") : strdup("");
	old = path_join(home, "/.debuginfod_client_cache");
	if (!old || !stat(old, &st))
		return old;
	free(old);
	return xdg && *xdg ? path_join(xdg, "/debuginfod_client")
			   : path_join(home, "/.cache/debuginfod_client");
}

char *modules_fetch_dir(void)
{
	const char *home = getenv("HOME");

	return debuginfod_dir(&(struct modules_options){0}, home ? home : "");
}

int search_path_init(struct search_path *p, const struct modules_options *opt)
{
	const char *home = getenv("HOME");
	size_t n = 0, i;
	bool ok;

	*p = (struct search_path){0};
	home = home ? home : "";
	p->symfs = strdup(opt->symfs ? opt->symfs : "");
	p->buildid_dir = buildid_dir(opt, home);
	p->debuginfod_dir = debuginfod_dir(opt, home);
	p->recorded_s = opt->recorded_s;
	p->bundle = opt->bundle;
	p->pinned = opt->pinned;
	p->pinned_arg = opt->pinned_arg;
	p->os_release = strdup(opt->os_release ? opt->os_release : "");
	p->arch = strdup(opt->arch ? opt->arch : "");
	ok = p->symfs && p->buildid_dir && p->debuginfod_dir && p->os_release && p->arch;
	for (i = 0; ok && opt->debug_dirs && opt->debug_dirs[i] && n < PLACES_DIRS_MAX; i++)
		ok = (p->debug_dirs[n++] = strdup(opt->debug_dirs[i])) != NULL;
	if (ok)
		ok = (p->debug_dirs[n] = path_join(p->symfs, "/usr/lib/debug")) != NULL;
	if (ok)
		return 0;
	search_path_done(p);
	return -ERR_NOMEM;
}

void search_path_done(struct search_path *p)
{
	size_t i;

	for (i = 0; i < sizeof p->debug_dirs / sizeof *p->debug_dirs; i++)
		free(p->debug_dirs[i]);
	free(p->symfs);
	free(p->buildid_dir);
	free(p->debuginfod_dir);
	free(p->os_release);
	free(p->arch);
	*p = (struct search_path){0};
}
