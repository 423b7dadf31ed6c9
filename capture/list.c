/* list.c - what can be recorded here, by name. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/pmu_event.h"
#include "capture/sysfile.h"
#include "capture/tracefs.h"
#include "dwarf/dwarf.h"
#include "probe/probe.h"

#define FORMAT_BYTES_MAX ((size_t)1 << 20)

struct list {
	const struct capture_list_options *opt;
	void (*say)(void *arg, const char *line);
	void *arg;
	size_t n;
	const char *prefix; /* of probes, with its colon */
	const char *path;   /* of their file */
};

static void say(struct list *l, const char *text)
{
	l->say(l->arg, text);
	l->n++;
}

/* ---- functions ------------------------------------------------------------------------------ */

static void say_place(struct list *l, const struct probe_place *place)
{
	char line[PATH_MAX + 512];

	snprintf(line, sizeof line, "%s%s:%s", l->prefix, l->path, place->name);
	say(l, line);
	if (place->inlined) {
		snprintf(line, sizeof line, "    %s", place->inlined);
		l->say(l->arg, line);
	}
}

/* "int a", "char *s" */
static void say_parameter(struct list *l, const struct dwarf_declared *p)
{
	const size_t n = strlen(p->type);
	const bool ends_in_sign = n && strchr("*&", p->type[n - 1]);
	char line[1200];

	snprintf(line, sizeof line, "    %s%s%s", p->type, p->name && !ends_in_sign ? " " : "",
		 p->name ? p->name : "");
	l->say(l->arg, line);
}

static void say_declared(void *arg, const struct probe_place *place,
			 const struct dwarf_declaration *d)
{
	struct list *l = arg;
	char line[PATH_MAX + 64];

	say_place(l, place);
	if (place->inlined) /* what was declared is the function around it */
		return;
	for (size_t i = 0; d && i < d->n; i++)
		say_parameter(l, &d->params[i]);
	if (d && d->is_variadic)
		l->say(l->arg, "    ...");
	if (d && d->result) {
		snprintf(line, sizeof line, "    returns %s", d->result);
		l->say(l->arg, line);
	}
	if (d && d->file) {
		snprintf(line, sizeof line, "    in %s:%u", d->file, d->line);
		l->say(l->arg, line);
	}
	if (!d && l->opt->verbose)
		l->say(l->arg, "    no debug information tells its parameters");
}

/* `what` has a prefix; without a name it means all of the file. */
static int list_places(struct list *l, const char *what, struct err *err)
{
	const size_t n = probe_prefix_length(what);
	struct probe_places found = {0};
	char prefix[16], text[PATH_MAX + 1024];
	struct probe_spec spec;
	int rc;

	snprintf(prefix, sizeof prefix, "%.*s", (int)n, what);
	snprintf(text, sizeof text, "%s%s", what, what[n] && !strchr(what + n, ':') ? ":*" : "");
	rc = probe_parse(&spec, text, strlen(text), err);
	if (!rc)
		rc = probe_find(&spec, l->opt->pid, &found, err);
	if (!rc && !found.places.n)
		rc = err_set(err, ERR_NOT_FOUND, found.path,
			     "'%.*s' never returns: no instruction leaves it", (int)spec.what_len,
			     spec.what);
	l->prefix = prefix;
	l->path = found.path;
	if (!rc && spec.kind != PROBE_USDT &&
	    (l->opt->verbose || !memchr(spec.what, '*', spec.what_len)))
		rc = probe_declarations(&found, say_declared, l, err);
	else
		for (size_t i = 0; !rc && i < found.places.n; i++)
			say_place(l, &found.places.v[i]);
	probe_places_done(&found);
	return rc;
}

/* FILE or FILE:NAME without a prefix: functions, and what tracing points there are. */
static int list_file(struct list *l, const char *what, struct err *err)
{
	char text[PATH_MAX + 1024];
	const size_t before = l->n;
	struct err unused = {0};

	snprintf(text, sizeof text, "usdt:%s", what);
	list_places(l, text, &unused);
	snprintf(text, sizeof text, "uprobe:%s", what);
	if (list_places(l, text, err) && l->n == before)
		return -(int)err->code;
	return 0;
}

/* Is it the name of a file, by its form? */
static bool is_path(const char *what)
{
	const size_t n = strcspn(what, ":");

	return memchr(what, '/', n) || memmem(what, n, ".so", 3);
}

/* Is it a command or a file that is there? */
static bool is_file(const struct list *l, const char *what)
{
	char path[PATH_MAX], name[256];
	struct err unused = {0};

	snprintf(name, sizeof name, "%.*s", (int)strcspn(what, ":"), what);
	return *name && !strpbrk(name, "*?[") && !probe_locate(name, l->opt->pid, path, &unused);
}

/* ---- tracepoints ---------------------------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, "enable") && strcmp(d->d_name, "filter");
}

/* The lines "field:unsigned int prev_pid; offset:..", without those that all tracepoints have. */
static void list_fields(struct list *l, const char *folder)
{
	char path[700], line[256];
	char *text, *at;
	size_t n;

	snprintf(path, sizeof path, "%s/format", folder);
	text = sysfile_read_all(path, FORMAT_BYTES_MAX, &n);
	for (at = text; at && (at = strstr(at, "\tfield:")); at++) {
		int len = (int)strcspn(at + 7, ";\n");

		if (!strncmp(at + 7, "unsigned short common_", 22) ||
		    !strncmp(at + 7, "unsigned char common_", 21) ||
		    !strncmp(at + 7, "int common_", 11))
			continue;
		snprintf(line, sizeof line, "    %.*s", len, at + 7);
		l->say(l->arg, line);
	}
	free(text);
}

static void list_system(struct list *l, const char *tracefs, const char *system,
			const char *pattern)
{
	struct dirent **names = NULL;
	char folder[640], name[520];
	int n;

	snprintf(folder, sizeof folder, "%s/events/%s", tracefs, system);
	n = scandir(folder, &names, is_shown, by_name);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s:%s", system, names[i]->d_name);
		if (!strchr(names[i]->d_name, '.') && !fnmatch(pattern, name, 0)) {
			say(l, name);
			snprintf(folder, sizeof folder, "%s/events/%s/%s", tracefs, system,
				 names[i]->d_name);
			if (l->opt->verbose || !strcmp(pattern, name))
				list_fields(l, folder);
		}
		free(names[i]);
	}
	free(names);
}

static int list_tracepoints(struct list *l, const char *pattern, struct err *err)
{
	const char *tracefs = tracefs_find(err);
	struct dirent **systems = NULL;
	char folder[512];
	int n;

	if (!tracefs)
		return -(int)(err ? err->code : ERR_NOT_FOUND);
	snprintf(folder, sizeof folder, "%s/events", tracefs);
	n = scandir(folder, &systems, is_shown, by_name);
	for (int i = 0; i < n; i++) {
		list_system(l, tracefs, systems[i]->d_name, pattern);
		free(systems[i]);
	}
	free(systems);
	return 0;
}

/* ---- events of PMUs -------------------------------------------------------------------------- */

/* Files events/NAME; NAME.scale and others say more of these. A pattern that is one name shows its
 * terms. */
static void list_pmus(struct list *l, const char *pattern)
{
	char name[512], text[512], line[520];
	glob_t found = {0};

	if (!glob(PMU_DEVICES "/*/events/*", 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *pmu = found.gl_pathv[i] + sizeof PMU_DEVICES;
			const char *event = strrchr(pmu, '/') + 1;

			snprintf(name, sizeof name, "%.*s/%s/", (int)strcspn(pmu, "/"), pmu, event);
			if (strchr(event, '.') || fnmatch(pattern, name, 0))
				continue;
			say(l, name);
			if ((l->opt->verbose || !strcmp(pattern, name)) &&
			    !sysfile_line(found.gl_pathv[i], text, sizeof text)) {
				snprintf(line, sizeof line, "    %s", text);
				l->say(l->arg, line);
			}
		}
	globfree(&found);
}

int capture_list(const char *what, const struct capture_list_options *opt,
		 void (*say_line)(void *arg, const char *line), void *arg, struct err *err)
{
	static const char tracepoint[] = "tracepoint:";
	struct list l = {.opt = opt, .say = say_line, .arg = arg};
	const char *pattern = what ? what : "*";
	int rc;

	if (opt->pid && kill(opt->pid, 0) && errno == ESRCH)
		return err_set(err, ERR_NOT_FOUND, NULL, "-p %d: no such process", (int)opt->pid);
	if (probe_is_spec(pattern))
		return list_places(&l, pattern, err);
	if (strchr(pattern, '/'))
		list_pmus(&l, pattern);
	if (l.n)
		return 0;
	if (is_path(pattern))
		return list_file(&l, pattern, err);
	if (str_starts_with(pattern, tracepoint))
		pattern += sizeof tracepoint - 1;
	for (size_t i = 0; event_name_at(i); i++)
		if (!fnmatch(pattern, event_name_at(i), 0))
			say(&l, event_name_at(i));
	list_pmus(&l, pattern);
	rc = list_tracepoints(&l, pattern, err);
	if (l.n) /* without tracefs the other events are still there */
		return 0;
	if (is_file(&l, pattern))
		return list_file(&l, pattern, err);
	return rc ? rc : err_set(err, ERR_NOT_FOUND, NULL, "no event is like '%s'", pattern);
}
