/* carried.c - the bundle of a recording: opens it, and says what of it cannot be used. */
#include <inttypes.h>

#include "base/err.h"
#include "bundle/bundle.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "reader/reader.h"

enum { LINES_MAX = 8 }; /* about single files */

struct damage {
	struct loaded *l;
	size_t n;
};

static void note_damage(void *damage, const char *line)
{
	struct damage *d = damage;

	d->l->bundle_damaged = true;
	if (d->n++ < LINES_MAX)
		loaded_note(d->l, "%s%s", line, d->n == 1 ? "; the rest is used" : "");
}

static void note_rest(const struct damage *d)
{
	if (d->n > LINES_MAX)
		loaded_note(d->l, "%zu more of the files that it carries cannot be used",
			    d->n - LINES_MAX);
}

static bool is_module(const struct bundle_entry *e)
{
	return e->kind == BUNDLE_IMAGE || e->kind == BUNDLE_DEBUG;
}

/* Entries that are not modules are small, and who reads them does without where they are damaged:
 * here that is said. Returns 0 or -ERR_NOMEM. */
static int check_entries(struct loaded *l, struct err *err)
{
	struct damage d = {.l = l};
	struct bundle_bytes bytes;
	size_t i;

	for (i = 0; i < bundle_count(l->bundle); i++) {
		const struct bundle_entry *e = bundle_at(l->bundle, i);
		struct err why = {0};
		int rc = is_module(e) ? 0 : bundle_contents(e, &bytes, &why);

		if (rc == -ERR_NOMEM)
			return err_nomem(err);
		if (rc)
			note_damage(&d, why.what);
		else if (!is_module(e))
			bundle_bytes_done(&bytes);
	}
	note_rest(&d);
	return 0;
}

static void note_lost(struct loaded *l, size_t size)
{
	const uint64_t lost = bundle_lost_bytes(l->bundle);
	const uint64_t refused = bundle_refused_bytes(l->bundle);
	const char *path = bundle_lost_path(l->bundle);

	l->bundle_damaged |= lost || refused;
	if (lost)
		loaded_note(l,
			    "%" PRIu64 " of the %zu bytes of files that it carries cannot be used"
			    "%s%s; the rest is used",
			    lost, size, path ? ", for one those of " : "", path ? path : "");
	if (refused)
		loaded_note(l,
			    "%" PRIu64 " of the %zu bytes of files that it carries are not used: "
			    "unpacked they would be far more than a recording needs",
			    refused, size);
}

int carried_open(struct loaded *l, struct err *err)
{
	size_t n;
	const uint8_t *section = perf_file_feature(l->file, FEATURE_BUNDLE, &n);
	struct err why = {0};
	int rc = section ? bundle_open(&l->bundle, section, n, &why) : 0;

	if (rc == -ERR_NOMEM)
		return err_nomem(err);
	if (rc) {
		l->bundle_damaged = true;
		loaded_note(l, "the %zu bytes of files that it carries cannot be used: %s", n,
			    why.what);
	} else if (l->bundle) {
		note_lost(l, n);
		if (check_entries(l, err) || processes_new(&l->processes, l->bundle))
			return err_nomem(err);
	}
	return 0;
}

void carried_note_damage(struct loaded *l)
{
	struct damage d = {.l = l};

	modules_each_damaged(l->modules, note_damage, &d);
	note_rest(&d);
	l->damaged |= l->bundle_damaged;
}
