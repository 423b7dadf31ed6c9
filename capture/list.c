/* list.c - what can be recorded here, by name. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/sysfile.h"
#include "probe/probe.h"

#define FORMAT_BYTES_MAX ((size_t)1 << 20)

struct list {
	void (*say)(void *arg, const char *line);
	void *arg;
	size_t n;
};

static void say(struct list *l, const char *text)
{
	l->say(l->arg, text);
	l->n++;
}

static int list_places(struct list *l, const char *what, struct err *err)
{
	struct probe_places found = {0};
	struct probe_spec spec;
	char line[PATH_MAX + 512];
	int rc = probe_parse(&spec, what, strlen(what), err);

	if (!rc)
		rc = probe_find(&spec, 0, &found, err);
	for (size_t i = 0; !rc && i < found.places.n; i++) {
		const int kind = (int)(spec.file - what);

		snprintf(line, sizeof line, "%.*s%s:%s", kind, what, found.path,
			 found.places.v[i].name);
		say(l, line);
	}
	probe_places_done(&found);
	return rc;
}

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
			if (!strcmp(pattern, name))
				list_fields(l, folder);
		}
		free(names[i]);
	}
	free(names);
}

static int list_tracepoints(struct list *l, const char *pattern, struct err *err)
{
	const char *tracefs = event_tracefs(err);
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

int capture_list(const char *what, void (*say_line)(void *arg, const char *line), void *arg,
		 struct err *err)
{
	static const char tracepoint[] = "tracepoint:";
	struct list l = {say_line, arg, 0};
	const char *pattern = what ? what : "*";
	int rc;

	if (probe_is_spec(pattern))
		return list_places(&l, pattern, err);
	if (str_starts_with(pattern, tracepoint))
		pattern += sizeof tracepoint - 1;
	for (size_t i = 0; event_name_at(i); i++)
		if (!fnmatch(pattern, event_name_at(i), 0))
			say(&l, event_name_at(i));
	rc = list_tracepoints(&l, pattern, err);
	if (rc && l.n) /* without tracefs the other events are still there */
		return 0;
	return rc || l.n ? rc : err_set(err, ERR_NOT_FOUND, NULL, "no event is like '%s'", pattern);
}
