/* conditions.c - what --where says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "values/values.h"

static const struct {
	const char *sign;
	enum value_test test;
} signs[] = {
	{"==", VALUE_EQUAL},	     {"!=", VALUE_DIFFERENT},
	{"<=", VALUE_LESS_OR_EQUAL}, {">=", VALUE_GREATER_OR_EQUAL},
	{"=", VALUE_EQUAL},	     {"<", VALUE_LESS},
	{">", VALUE_GREATER},
};

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static int complain(const char *text, const char *at, struct err *err)
{
	return err_set(err, ERR_USAGE, NULL,
		       "--where: '%s': not understood from '%s' on; as in \"depth > 4 && mode == "
		       "'read'\"",
		       text, at);
}

/* A number, a text in quotes, or a name. Returns where it ends; NULL: none of these. */
static const char *parse_value(struct value_condition *c, const char *at)
{
	char *end;

	if (*at == '\'' || *at == '"') {
		const char *close = strchr(at + 1, *at);

		c->text = at + 1;
		c->text_len = close ? (size_t)(close - at - 1) : 0;
		return close ? close + 1 : NULL;
	}
	c->text = at;
	c->text_len = strcspn(at, " \t&");
	errno = 0;
	c->is_negative = *at == '-';
	c->number = c->is_negative ? (uint64_t)strtoll(at, &end, 0) : strtoull(at, &end, 0);
	c->is_number = c->text_len && end == at + c->text_len && !errno;
	return c->text_len && (c->is_number || !strchr("0123456789-", *at)) ? at + c->text_len
									    : NULL;
}

static const char *parse_one(struct value_condition *c, const char *at)
{
	size_t i;

	*c = (struct value_condition){.name = at, .name_len = strcspn(at, " \t=!<>&")};
	if (!c->name_len)
		return NULL;
	at = skip_blanks(at + c->name_len);
	for (i = 0; i < sizeof signs / sizeof *signs; i++)
		if (!strncmp(at, signs[i].sign, strlen(signs[i].sign)))
			break;
	if (i == sizeof signs / sizeof *signs)
		return NULL;
	c->test = signs[i].test;
	at = parse_value(c, skip_blanks(at + strlen(signs[i].sign)));
	/* Names have no order. */
	return c->is_number || c->test <= VALUE_DIFFERENT ? at : NULL;
}

int value_conditions_parse(struct value_conditions *ret, const char *text, struct err *err)
{
	const char *at = skip_blanks(text);

	for (;;) {
		struct value_condition c;
		const char *end = parse_one(&c, at);

		if (!end)
			return complain(text, at, err);
		if (vec_push(ret, c))
			return err_nomem(err);
		at = skip_blanks(end);
		if (!*at)
			return 0;
		if (strncmp(at, "&&", 2))
			return complain(text, at, err);
		at = skip_blanks(at + 2);
	}
}
