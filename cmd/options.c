/* options.c - getopt_long() driven by a table. */
#include "cmd/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cmd/args.h"

enum { HELP_COLUMN = 26, FIRST_LONG = 256 };

static int set_number(const struct option_row *row, const char *option, const char *text,
		      unsigned *ret, struct err *err)
{
	uint64_t v;
	int rc = args_u64(option, text, 0, row->max, &v, err);

	if (!rc)
		*ret = (unsigned)v;
	return rc;
}

int option_choose(const struct option_choice *choices, const char *source, const char *option,
		  const char *text, unsigned *ret, struct err *err)
{
	const struct option_choice *c;
	char names[256] = "";

	for (c = choices; c->name; c++) {
		if (!text || !strcmp(text, c->name)) {
			*ret = c->value;
			return 0;
		}
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s %s",
			 c == choices ? "" : ",", c->name);
	}
	return err_set(err, ERR_USAGE, source, "%s: '%s' is none of%s", option, text, names);
}

static int apply(const struct option_row *row, const char *option, void *target, char *text,
		 struct err *err)
{
	void *field = (char *)target + row->offset;

	switch (row->kind) {
	case OPTION_HEADING:
	case OPTION_IGNORED:
		break;
	case OPTION_FLAG:
	case OPTION_STOP:
		*(bool *)field = true;
		break;
	case OPTION_UNFLAG:
		*(bool *)field = false;
		break;
	case OPTION_TEXT:
		*(const char **)field = text;
		break;
	case OPTION_NUMBER:
		return set_number(row, option, text, field, err);
	case OPTION_REAL:
		return args_real(option, text, row->top, row->percents, row->what, field, err);
	case OPTION_CHOICE:
		return option_choose(row->choices, NULL, option, text, field, err);
	case OPTION_CALL:
		return row->set(field, option, text, err);
	case OPTION_REFUSED:
		return err_set(err, ERR_USAGE, NULL, "%s: %s", option, row->what);
	}
	return 0;
}

/* ---- getopt_long() ------------------------------------------------------------------------- */

struct getopt_tables {
	struct option longs[2 * OPTIONS_MAX + 1];
	char letters[3 * OPTIONS_MAX + 2];
};

static int argument(const struct option_row *row)
{
	return !row->value	    ? no_argument
	       : *row->value == '[' ? optional_argument
				    : required_argument;
}

static void make_tables(const struct option_row *rows, size_t n, bool in_order,
			struct getopt_tables *t)
{
	struct option *o = t->longs;
	char *p = t->letters;
	size_t i;

	assert(n <= OPTIONS_MAX);
	if (in_order)
		*p++ = '+';
	for (i = 0; i < n; i++) {
		int has_arg = argument(&rows[i]), val = FIRST_LONG + (int)i;

		if (rows[i].name)
			*o++ = (struct option){rows[i].name, has_arg, NULL, val};
		if (rows[i].alias)
			*o++ = (struct option){rows[i].alias, has_arg, NULL, val};
		if (!rows[i].letter)
			continue;
		*p++ = rows[i].letter;
		if (has_arg != no_argument)
			*p++ = ':';
		if (has_arg == optional_argument)
			*p++ = ':';
	}
	*p = '\0';
	*o = (struct option){0};
}

static const struct option_row *find_row(const struct option_row *rows, size_t n, int id)
{
	size_t i;

	if (id >= FIRST_LONG)
		return &rows[id - FIRST_LONG];
	for (i = 0; i < n; i++)
		if (rows[i].letter && rows[i].letter == id)
			return &rows[i];
	return NULL; /* '?' */
}

/* Edit distance: how many letters must be inserted, removed or replaced to make one word of the
 * other. Words of more than WORD_MAX letters are never near. */
static size_t distance(const char *a, const char *b)
{
	enum { WORD_MAX = 31 };
	size_t n = strlen(a), m = strlen(b), row[WORD_MAX + 1];

	if (n > WORD_MAX || m > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t corner = row[0]; /* of the row before, one to the left */

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
		}
	}
	return row[m];
}

/* Reports an unknown option, with the nearest known one if there is one. */
static int unknown(const struct option_row *rows, size_t n, const char *arg, struct err *err)
{
	char word[32];
	size_t near = 3, d;
	const char *meant = NULL;

	snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
	for (size_t i = 0; i < n && !strncmp(word, "--", 2); i++) {
		if (!rows[i].name || !rows[i].help)
			continue;
		d = distance(word + 2, rows[i].name);
		if (d < near && d < strlen(rows[i].name) / 2) {
			near = d;
			meant = rows[i].name;
		}
	}
	if (meant && near)
		return err_set(err, ERR_USAGE, NULL, "--help lists the options; did you mean --%s?",
			       meant);
	return err_set(err, ERR_USAGE, NULL, "--help lists the options");
}

int options_parse(const struct option_row *rows, size_t n, void *target, bool in_order, int argc,
		  char **argv, int *rest, bool *given, struct err *err)
{
	struct getopt_tables t;
	char option[64]; /* as it was spelled, for messages */
	int id, rc;

	make_tables(rows, n, in_order, &t);
	/* getopt_long() begins its messages with it: the name of the command, not its path or form. */
	argv[0] = program_invocation_short_name;
	optind = 0; /* a command may parse twice */
	while ((id = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1) {
		const struct option_row *row = find_row(rows, n, id);

		if (!row)
			return unknown(rows, n, argv[optind - 1], err);
		if (id >= FIRST_LONG)
			snprintf(option, sizeof option, "--%s", row->name);
		else
			snprintf(option, sizeof option, "-%c", id);
		rc = apply(row, option, target, optarg, err);
		if (rc)
			return rc;
		if (given)
			given[row - rows] = true;
		if (row->kind == OPTION_STOP)
			break;
	}
	*rest = optind;
	return 0;
}

/* ---- --help -------------------------------------------------------------------------------- */

static void print_row(const struct option_row *row, const char *parts, FILE *out)
{
	const char *line = row->help, *value = row->value ? row->value : "";
	int width = fprintf(out, row->letter ? "  -%c" : "    ", row->letter);

	if (row->name)
		width += fprintf(out, "%s--%s", row->letter ? ", " : "  ", row->name);
	width += fprintf(out, "%s%s", *value && *value != '[' ? " " : "", value);
	if (width > HELP_COLUMN - 2) {
		fputc('\n', out);
		width = 0;
	}
	while (line) {
		size_t n = strcspn(line, "\n");

		fprintf(out, "%*s%s%s%.*s\n", HELP_COLUMN - width, "", parts, *parts ? ": " : "",
			(int)n, line);
		parts = "";
		line = line[n] ? line + n + 1 : NULL;
		width = 0;
	}
}

void options_print_help(const struct option_row *rows, size_t n, option_parts_fn *name_parts,
			FILE *out)
{
	char parts[128];
	size_t i;

	for (i = 0; i < n; i++) {
		*parts = '\0';
		if (rows[i].part)
			name_parts(parts, sizeof parts, rows[i].part);
		if (rows[i].kind == OPTION_HEADING)
			fprintf(out, "%s:\n", rows[i].help);
		else if (rows[i].help)
			print_row(&rows[i], parts, out);
	}
}
