/* cgroup_find.c - the cgroup of a container, by the beginning of its id, as docker ps prints it.
 *
 * Its folder is ID (cgroupfs), docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope (systemd);
 * what is below belongs to it. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/targets.h"

enum { ID_MIN = 12, ID_BYTES = 64, FOLDERS_MAX = 1 << 16 };

struct search {
	const char *id;
	VEC(char *) todo; /* folders */
	char *found;
	char found_id[ID_BYTES + 1];
	bool several, failed, too_many;
};

bool cgroup_is_id(const char *name)
{
	const size_t n = strlen(name);

	return n >= ID_MIN && n <= ID_BYTES && strspn(name, "0123456789abcdef") == n;
}

/* Podman's monitor of a container has a folder beside it, libpod-conmon-ID.scope. */
static bool is_of_id(const struct search *s, const char *name, char id[ID_BYTES + 1])
{
	const char *at = strrchr(name, '-');

	at = at ? at + 1 : name;
	if (strncmp(at, s->id, strlen(s->id)) || strspn(at, "0123456789abcdef") != ID_BYTES ||
	    strstr(name, "conmon"))
		return false;
	memcpy(id, at, ID_BYTES);
	id[ID_BYTES] = 0;
	return true;
}

static void see(struct search *s, const char *parent, const char *name)
{
	char id[ID_BYTES + 1], *path;

	s->too_many |= s->todo.n >= FOLDERS_MAX;
	if (s->too_many)
		return;
	if (asprintf(&path, "%s/%s", parent, name) < 0) {
		s->failed = true;
		return;
	}
	if (!is_of_id(s, name, id)) {
		if (vec_push(&s->todo, path)) {
			s->failed = true;
			free(path);
		}
		return;
	}
	s->several |= s->found && strcmp(s->found_id, id);
	if (s->found) {
		free(path);
		return;
	}
	s->found = path;
	memcpy(s->found_id, id, sizeof id);
}

static void see_all_in(struct search *s, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_type == DT_DIR && strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			see(s, path, d->d_name);
	if (dir)
		closedir(dir);
}

int cgroup_find(const char *mount, const char *id, char **ret, struct err *err)
{
	struct search s = {.id = id};
	size_t i;

	see_all_in(&s, mount);
	for (i = 0; i < s.todo.n && !s.failed; i++) {
		char *path = s.todo.v[i]; /* more are added */

		see_all_in(&s, path);
	}
	for (i = 0; i < s.todo.n; i++)
		free(s.todo.v[i]);
	vec_done(&s.todo);
	*ret = s.found;
	if (s.found && !s.several && !s.failed && !s.too_many)
		return 0;
	free(s.found);
	*ret = NULL;
	if (s.failed)
		return err_nomem(err);
	if (s.too_many)
		return err_set(err, ERR_LIMIT, mount,
			       "more than %d cgroups: name the container's by its path",
			       FOLDERS_MAX);
	if (s.several)
		return err_set(err, ERR_NOT_FOUND, id,
			       "several containers have an id that begins so");
	return err_set(err, ERR_NOT_FOUND, id, "no container below %s has an id that begins so",
		       mount);
}
