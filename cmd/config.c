/* config.c - reads the environment and the user's file. */
#include "cmd/config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { LINE_MAX_BYTES = 512, LINES_MAX = 1000 };

/* The setting that there is. */
static const char setting[] = "debuginfod";

static int set(struct config *c, const char *where, const char *value, struct err *err)
{
	unsigned mode;
	int rc = option_choose(fetch_modes, where, setting, value, &mode, err);

	if (!rc)
		c->fetch = mode;
	return rc;
}

static const char blanks[] = " \t\r\n";

/* Cuts blanks off at both ends. */
static char *trim(char *s)
{
	size_t n;

	s += strspn(s, blanks);
	n = strlen(s);
	while (n && strchr(blanks, s[n - 1]))
		n--;
	s[n] = 0;
	return s;
}

/* `name = value` */
static int set_line(struct config *c, char *line, const char *where, struct err *err)
{
	char *value = strchr(line, '='), *name;

	if (value)
		*value++ = 0;
	name = trim(line);
	if (value && !strcmp(name, setting))
		return set(c, where, trim(value), err);
	return err_set(err, ERR_USAGE, where,
		       value ? "no setting has the name '%s'" : "'%s' has no value", name);
}

static int read_lines(struct config *c, FILE *f, const char *path, struct err *err)
{
	char line[LINE_MAX_BYTES], where[PATH_MAX + 16];
	bool goes_on = false;
	unsigned n = 0;
	int rc = 0;

	while (!rc && n < LINES_MAX && fgets(line, sizeof line, f)) {
		bool is_rest = goes_on;
		char *text;

		goes_on = strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n';
		if (is_rest)
			continue;
		text = trim(line);
		snprintf(where, sizeof where, "%s:%u", path, ++n);
		if (!*text || *text == '#')
			continue;
		rc = goes_on ? err_set(err, ERR_USAGE, where, "the line is too long")
			     : set_line(c, text, where, err);
	}
	return rc;
}

/* False when there is no home. */
static bool config_path(char out[PATH_MAX])
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	/* "paths must be absolute. If [...] relative, the implementation should [...] ignore it" */
	if (xdg && *xdg == '/')
		n = snprintf(out, PATH_MAX, "%s/unspool/config", xdg);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.config/unspool/config", home);
	else
		return false;
	return n < PATH_MAX;
}

static int read_file(struct config *c, struct err *err)
{
	char path[PATH_MAX];
	FILE *f = config_path(path) ? fopen(path, "re") : NULL;
	int rc;

	if (!f)
		return 0;
	rc = read_lines(c, f, path, err);
	fclose(f);
	return rc;
}

int config_read(struct config *c, struct err *err)
{
	const char *env = getenv("UNSPOOL_DEBUGINFOD");
	int rc = read_file(c, err);

	return !rc && env && *env ? set(c, "UNSPOOL_DEBUGINFOD", env, err) : rc;
}
