/* options.c - getopt_long() driven by a table. */
#include "cmd/options.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "base/text.h"
#include "cmd/args.h"

enum { HELP_COLUMN = 26, FIRST_LONG = 256 };

static int set_number(const struct option_row *row, const char *option, const char *text,
		      unsigned *ret, struct err *err)
{
	uint64_t v;
	int rc = args_u64(option, text, row->min, row->max, &v, err);

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
	char letters[3 * OPTIONS_MAX + 3];
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
	*p++ = ':'; /* getopt_long() tells a missing value apart */
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
	return NULL;
}

/* The nearest long name that is in --help; NULL: none is near. */
static const char *nearest_name(const struct option_row *rows, size_t n, const char *word)
{
	size_t near = 3, d;
	const char *meant = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].name || !rows[i].help)
			continue;
		d = str_distance(word, rows[i].name);
		if (d && d < near && d < strlen(rows[i].name) / 2) {
			near = d;
			meant = rows[i].name;
		}
	}
	return meant;
}

/* Long names that begin so, as "--max-stack, --max-size". Returns how many. */
static size_t names_like(const struct option_row *rows, size_t n, const char *start, char *ret,
			 size_t size)
{
	size_t found = 0;

	*ret = '\0';
	for (size_t i = 0; i < n; i++) {
		const size_t used = strlen(ret);

		if (!rows[i].name || !str_starts_with(rows[i].name, start))
			continue;
		snprintf(ret + used, size - used, "%s--%s", found++ ? ", " : "", rows[i].name);
	}
	return found;
}

/* An option that is none, or several, or has a value although it takes none. */
static int refused_option(const struct option_row *rows, size_t n, const char *arg, struct err *err)
{
	const struct option_row *row = optopt ? find_row(rows, n, optopt) : NULL;
	char word[64], names[256];
	const char *meant;

	snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
	if (row)
		return err_set(err, ERR_USAGE, NULL, "--%s takes no value", row->name);
	if (optopt)
		return err_set(err, ERR_USAGE, NULL, "-%c: no such option; --help lists them",
			       optopt);
	if (names_like(rows, n, word + 2, names, sizeof names) > 1)
		return err_set(err, ERR_USAGE, NULL, "%s may be %s", word, names);
	meant = nearest_name(rows, n, word + 2);
	return err_set(err, ERR_USAGE, NULL, "%s: no such option; %s%s%s--help lists them", word,
		       meant ? "did you mean --" : "", meant ? meant : "", meant ? "? " : "");
}

static int value_missing(const struct option_row *row, struct err *err)
{
	char option[64];

	if (optopt >= FIRST_LONG)
		snprintf(option, sizeof option, "--%s", row->name);
	else
		snprintf(option, sizeof option, "-%c", optopt);
	return err_set(err, ERR_USAGE, NULL, "%s needs a value: %s %s; see --help", option, option,
		       row->value);
}

/* A file or name given twice is a mistake: one of the two would be left out. */
static int given_twice(const struct option_row *row, const char *option, const char *before,
		       const char *text, struct err *err)
{
	if (row->kind != OPTION_TEXT || !before || !strcmp(before, text))
		return 0;
	return err_set(err, ERR_USAGE, NULL, "%s is given twice: %s and %s", option, before, text);
}

int options_parse(const struct option_row *rows, size_t n, void *target, bool in_order, int argc,
		  char **argv, int *rest, bool *given, struct err *err)
{
	const char *texts[OPTIONS_MAX] = {NULL};
	struct getopt_tables t;
	char option[64]; /* as it was spelled, for messages */
	int id, rc;

	make_tables(rows, n, in_order, &t);
	opterr = 0;
	optind = 0; /* a command may parse twice */
	while ((id = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1) {
		const struct option_row *row = find_row(rows, n, id == ':' ? optopt : id);

		if (id == ':')
			return value_missing(row, err);
		if (!row)
			return refused_option(rows, n, argv[optind - 1], err);
		if (id >= FIRST_LONG)
			snprintf(option, sizeof option, "--%s", row->name);
		else
			snprintf(option, sizeof option, "-%c", id);
		rc = given_twice(row, option, texts[row - rows], optarg, err);
		if (!rc)
			rc = apply(row, option, target, optarg, err);
		if (rc)
			return rc;
		texts[row - rows] = optarg;
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
