/* confine.c - what the commands may write to. */
#include "cmd/confine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cache_file.h"
#include "base/err.h"
#include "base/sandbox.h"
#include "modules/modules.h"
#include "symbolize/symbolize.h"

/* A cache that is not there yet is made now: later it could be made only if its parent could be
 * written to. */
static void allow_cache(struct sandbox *s, const char *dir)
{
	if (dir && *dir && !cache_dir_make(dir))
		sandbox_allow_folder(s, dir);
}

static int enter(struct sandbox *s, const char *command, bool verbose, struct err *err)
{
	char lacks[160];
	int rc = sandbox_enter(s, lacks, sizeof lacks, err);

	if (!rc && verbose && *lacks)
		fprintf(stderr, "%s: no complete sandbox: this kernel has no %s\n", command, lacks);
	return rc;
}

/* With fetching, a process is started that keeps sockets; what it fetches is checked, and removed
 * if it is no good, by this one. */
static int allow_loading(struct sandbox *s, const struct load_options *load, struct err *err)
{
	char *fetched;

	allow_cache(s, load->symbolizer.cache_dir);
	if (load->fetch == FETCH_MODE_OFF)
		return 0;
	fetched = modules_fetch_dir();
	allow_cache(s, fetched);
	free(fetched);
	return modules_fetch_apart(err);
}

int confine_resolve(const struct resolve *r, struct err *err)
{
	struct sandbox s = {0};

	if (r->unbundle_dir && mkdir(r->unbundle_dir, 0777) && errno != EEXIST)
		return err_errno(err, errno, r->unbundle_dir, "create");
	if (r->no_sandbox)
		return 0;
	if (r->unbundle_dir)
		sandbox_allow_links(&s, r->unbundle_dir);
	sandbox_allow_output(&s, r->output_path ? r->output_path : "/dev/stdout");
	s.terminal = r->browses;
	if (allow_loading(&s, &r->load, err))
		return -(int)err->code;
	return enter(&s, "resolve", r->verbose, err);
}

int confine_regress(const struct regress_command *c, struct err *err)
{
	const char *summary = c->md ? getenv("GITHUB_STEP_SUMMARY") : NULL;
	const char *const paths[] = {c->md, c->json, c->junit, c->html, c->folded, summary};
	struct sandbox s = {0};
	size_t i;

	if (c->no_sandbox)
		return 0;
	for (i = 0; i < sizeof paths / sizeof *paths; i++)
		if (paths[i] && *paths[i])
			sandbox_allow_output(&s, paths[i]);
	if (allow_loading(&s, &c->load, err))
		return -(int)err->code;
	return enter(&s, "regress", c->verbose, err);
}
