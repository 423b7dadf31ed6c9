/* perfconfig.c - buildid.dir of perf's settings, where a user keeps the build-id cache elsewhere.
 *
 * Source: perf-config(1); what perf 6.1 does with damaged lines, owners and variables was read off
 * its system calls. */
#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "modules/find.h"

enum { CONFIG_MAX_BYTES = 64 << 10, NAME_MAX_BYTES = 256 };

/* The text that is left; reading on behind it gives line ends. */
struct cursor {
	const char *p, *end;
};

static int next_char(struct cursor *c)
{
	if (c->end - c->p > 1 && c->p[0] == '\r' && c->p[1] == '\n')
		c->p++;
	return c->p < c->end ? (unsigned char)*c->p++ : '\n';
}

static int peek(const struct cursor *c)
{
	return c->p < c->end ? (unsigned char)*c->p : '\n';
}

static void skip_line(struct cursor *c)
{
	while (next_char(c) != '\n')
		;
}

static bool is_name_char(int c)
{
	return isalnum(c) || c == '-' || c == '_' || c == '.';
}

/* A name in lower case. False when there is none, or too long a one. */
static bool take_name(struct cursor *c, char name[NAME_MAX_BYTES])
{
	size_t n = 0;

	while (is_name_char(peek(c)) && n < NAME_MAX_BYTES - 1)
		name[n++] = (char)tolower(next_char(c));
	name[n] = 0;
	return n && !is_name_char(peek(c));
}

/* What is behind '[': `name]`, or `name "more"]`, which is none of ours. */
static bool take_section(struct cursor *c, char name[NAME_MAX_BYTES])
{
	int ch;

	if (!take_name(c, name))
		return false;
	ch = next_char(c);
	if (ch == ' ' || ch == '\t')
		*name = 0;
	while (ch != ']' && ch != '\n')
		ch = next_char(c);
	return ch == ']';
}

/* \n \t \b \\ \" stand for what they do in C. */
static bool unescape(int *ch)
{
	static const char from[] = "ntb\\\"", to[] = "\n\t\b\\\"";
	const char *at = strchr(from, *ch);

	if (!at || !*at)
		return false;
	*ch = to[at - from];
	return true;
}

/* The rest of a line: blanks are cut off at both ends and one inside, except between quotes; # and
 * ; begin a comment; a line goes on behind \. */
static bool take_value(struct cursor *c, char value[PATH_MAX])
{
	bool quoted = false, blank = false;
	size_t n = 0;
	int ch;

	while ((ch = next_char(c)) != '\n') {
		if (!quoted && (ch == '#' || ch == ';')) {
			skip_line(c);
			break;
		}
		if (!quoted && isspace(ch)) {
			blank = n > 0;
			continue;
		}
		if (ch == '"') {
			quoted = !quoted;
			continue;
		}
		if (ch == '\\') {
			ch = next_char(c);
			if (ch == '\n' && c->p < c->end)
				continue;
			if (!unescape(&ch))
				return false;
		}
		if (n + blank >= PATH_MAX - 1)
			return false;
		if (blank)
			value[n++] = ' ';
		blank = false;
		value[n++] = (char)ch;
	}
	value[n] = 0;
	return !quoted;
}

/* `name = value`, or `name` alone. */
static bool take_setting(struct cursor *c, const char *section, char dir[PATH_MAX])
{
	char name[NAME_MAX_BYTES], value[PATH_MAX];

	if (!take_name(c, name))
		return false;
	while (peek(c) == ' ' || peek(c) == '\t')
		next_char(c);
	if (peek(c) == '\n')
		return true;
	if (next_char(c) != '=' || !take_value(c, value))
		return false;
	if (!strcmp(section, "buildid") && !strcmp(name, "dir"))
		strcpy(dir, value);
	return true;
}

/* The last one counts. Lines from a damaged one on do not. */
static void parse(const char *text, size_t size, char dir[PATH_MAX])
{
	struct cursor c = {text, text + size};
	char section[NAME_MAX_BYTES] = "";
	bool good = true;

	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		c.p += 3;
	while (good && c.p < c.end) {
		int ch = peek(&c);

		if (ch == '#' || ch == ';') {
			skip_line(&c);
		} else if (isspace(ch)) {
			next_char(&c);
		} else if (ch == '[') {
			next_char(&c);
			good = take_section(&c, section);
		} else {
			good = take_setting(&c, section, dir);
		}
	}
}

/* perf believes a home's file when it is the user's own or root's. */
static void read_config(const char *path, bool check_owner, char dir[PATH_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0)
		return;
	text = malloc(CONFIG_MAX_BYTES);
	if (text && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    (!check_owner || !st.st_uid || st.st_uid == geteuid())) {
		n = read(fd, text, CONFIG_MAX_BYTES);
		if (n > 0)
			parse(text, (size_t)n, dir);
	}
	free(text);
	close(fd);
}

/* Is a variable that switches something off set, and not to a word for no? */
static bool is_set(const char *variable)
{
	const char *v = getenv(variable);

	return v && *v && strcasecmp(v, "false") && strcasecmp(v, "no") && strcasecmp(v, "off") &&
	       strcmp(v, "0");
}

void perfconfig_buildid_dir(const char *home, char dir[PATH_MAX])
{
	const char *only = getenv("PERF_CONFIG");
	char path[PATH_MAX];

	*dir = 0;
	if (only) {
		read_config(only, false, dir);
		return;
	}
	if (!is_set("PERF_CONFIG_NOSYSTEM"))
		read_config("/etc/perfconfig", false, dir);
	if (*home && !is_set("PERF_CONFIG_NOGLOBAL") &&
	    snprintf(path, sizeof path, "%s/.perfconfig", home) < PATH_MAX)
		read_config(path, true, dir);
}
