/* synth_cgroups.c - the cgroups that exist already, by number and path, as PERF_RECORD_CGROUP. */
#include <dirent.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/synth.h"
#include "capture/targets.h"

struct folders {
	VEC(char *) todo; /* below the mount, from the root on: "", "/system.slice" .. */
	char mount[PATH_MAX];
};

static int add_folder(struct folders *f, const char *parent, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", parent, name) < 0)
		return -1;
	if (strlen(f->mount) + strlen(path) >= PATH_MAX || vec_push(&f->todo, path)) {
		free(path);
		return -1;
	}
	return 0;
}

static void add_folders_in(struct folders *f, const char *path)
{
	char full[2 * PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(full, sizeof full, "%s%s", f->mount, path);
	dir = opendir(full);
	while (dir && (d = readdir(dir)))
		if (d->d_type == DT_DIR && strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			(void)add_folder(f, path, d->d_name); /* without it: "cgroup-NUMBER" */
	if (dir)
		closedir(dir);
}

static int emit_cgroup(struct synth *s, const struct folders *f, const char *path)
{
	char full[2 * PATH_MAX];
	struct synth_record r;
	uint64_t id;

	snprintf(full, sizeof full, "%s%s", f->mount, path);
	id = cgroup_id(full);
	if (!id)
		return 0;
	record_begin(&r, PERF_RECORD_CGROUP, 0);
	record_u64(&r, id);
	record_string(&r, *path ? path : "/");
	return record_emit(s, &r);
}

int synth_cgroups(struct synth *s)
{
	struct folders f = {0};
	char *top = strdup("");
	int rc = 0;

	if (!top || !cgroup_mount(f.mount, sizeof f.mount) || vec_push(&f.todo, top)) {
		free(top);
		return 0;
	}
	while (!rc && f.todo.n) {
		char *path = f.todo.v[--f.todo.n];

		rc = emit_cgroup(s, &f, path);
		add_folders_in(&f, path);
		free(path);
	}
	while (f.todo.n)
		free(f.todo.v[--f.todo.n]);
	vec_done(&f.todo);
	return rc;
}
