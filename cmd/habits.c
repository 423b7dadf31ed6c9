/* habits.c - a table of habits. */
#include "cmd/habits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static const struct {
	const char *command, *word, *answer;
} habits[] = {
	{"capture", "record", "`capture` records already: leave `record` out"},
	{"capture", "probe",
	 "probes need no step before: capture -e uprobe:FILE:FUNCTION -- COMMAND; `capture --list "
	 "'uprobe:FILE:*'` lists functions"},
	{"capture", "trace", "`capture --syscalls -- COMMAND`, then `resolve -f trace`"},
	{"capture", "ftrace",
	 "`capture -e call:FILE:FUNCTION -- COMMAND`, then `resolve -f timeline`"},
	{"capture", "report",
	 "`resolve -f top` shows what perf report does, `resolve -o x.html` more"},
	{"capture", "script", "`resolve -f script` prints what perf script does"},
	{"capture", "stat", "counting without samples is `perf stat`"},
	{"capture", "top", "`capture -a --duration 5`, then `resolve -f top`"},
	{"resolve", "record", "`capture` records"},
	{"resolve", "report",
	 "`resolve -f top FILE` shows what perf report does, `resolve -o x.html FILE` more"},
	{"resolve", "script", "`resolve -f script FILE` prints what perf script does"},
	{"resolve", "annotate",
	 "`resolve --annotate FUNCTION FILE`, or `a` in the browser of `resolve FILE`"},
	{"resolve", "diff", "`regress --base A --new B` compares"},
	{"resolve", "inject", "JIT code needs no inject: `resolve FILE` reads jitdumps"},
	{"resolve", "archive", "`resolve` where it was recorded, or give the files by --symfs DIR"},
};

/* perf probe -x FILE [-a] [NAME=]FUNCTION[+OFFSET|%return] .. (perf-probe(1)): the line that does
 * it here. */
static bool answer_probe(char *const *argv, char *to, size_t size)
{
	const char *file = NULL;
	size_t n = 0;

	for (char *const *w = argv + 1; *w; w++) {
		const char *equals = !strncmp(*w, "--exec=", 7) ? *w + 7 : NULL;

		if (equals || ((!strcmp(*w, "-x") || !strcmp(*w, "--exec")) && w[1]))
			file = equals ? equals : *++w;
	}
	*to = 0;
	for (char *const *w = argv + 1; file && *w; w++) {
		const char *what = *w, *name;
		bool is_return;

		if (!strcmp(what, "-x") || !strcmp(what, "--exec"))
			w++;
		if (*what == '-' || n >= size)
			continue;
		name = strchr(what, '=') ? strchr(what, '=') + 1 : what;
		is_return = strstr(name, "%return") != NULL;
		n += (size_t)snprintf(to + n, size - n, "%s%s:%s:%.*s", n ? "," : "",
				      is_return ? "uretprobe" : "uprobe", file,
				      (int)strcspn(name, "% "), name);
	}
	return n && n < size;
}

static bool is_in_path(const char *word)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t n;

	for (; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (n + strlen(word) + 2 > sizeof file)
			continue;
		memcpy(file, path, n);
		file[n] = '/';
		memcpy(file + n + 1, word, strlen(word) + 1);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

int habit_subcommand(const char *command, char *const *argv, struct err *err)
{
	const char *word = *argv;
	char events[256];
	size_t i;

	if (!strcmp(command, "capture") && !strcmp(word, "probe") && access(word, F_OK) &&
	    !is_in_path(word) && answer_probe(argv, events, sizeof events))
		return err_set(err, ERR_USAGE, NULL,
			       "probes need no step before: capture -e '%s' -- COMMAND, or -p PID, "
			       "or -a",
			       events);
	for (i = 0; i < sizeof habits / sizeof *habits; i++)
		if (!strcmp(habits[i].command, command) && !strcmp(habits[i].word, word) &&
		    access(word, F_OK) && (*command == 'r' || !is_in_path(word)))
			return err_set(err, ERR_USAGE, NULL, "%s: %s", word, habits[i].answer);
	return 0;
}

int habit_command(char *const *argv, struct err *err)
{
	const char *word = *argv, *path = getenv("PATH");

	if (strchr(word, '/') ? !access(word, F_OK) : is_in_path(word))
		return 0;
	if (strchr(word, ' '))
		return err_set(err, ERR_USAGE, NULL,
			       "'%s' is one word, and no command has such a name: leave the quotes "
			       "out, or: capture -- sh -c '%s'",
			       word, word);
	/* Without PATH, or with the folder itself in it, execvp() knows better. */
	if (strchr(word, '/') || !path || *path == ':' || strstr(path, "::") ||
	    str_ends_with(path, ":"))
		return 0;
	if (!access(word, X_OK))
		return err_set(err, ERR_USAGE, NULL,
			       "%s: no such command in $PATH; the one in this folder is ./%s", word,
			       word);
	return err_set(err, ERR_USAGE, NULL,
		       "%s: no such command in $PATH; if it is a function or an alias of your "
		       "shell, write out what it runs",
		       word);
}

int habit_call_graph(const char *word, struct err *err)
{
	if ((strcmp(word, "fp") && strncmp(word, "dwarf", 5) && strcmp(word, "lbr")) ||
	    is_in_path(word))
		return 0;
	return err_set(err, ERR_USAGE, NULL, "-g takes no value: --call-graph %s", word);
}
