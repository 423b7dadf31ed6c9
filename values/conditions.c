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
	{"<", VALUE_LESS},	     {">", VALUE_GREATER},
};

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static int complain(const char *text, const char *at, const char *why, struct err *err)
{
	return err_set(err, ERR_USAGE, NULL, "--where: '%s': column %zu, '%.16s': %s", text,
		       (size_t)(at - text) + 1, at, why);
}

static bool is_name_letter(char c)
{
	return (unsigned char)c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$' || c == ':';
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (is_name_letter(s[n]))
		n++;
	return n;
}

/* A number, a text in quotes, or a name. Returns where it ends; NULL: none of these. */
static const char *parse_value(struct value_condition *c, const char *at, const char **why)
{
	char *end;

	if (*at == '\'' || *at == '"') {
		const char *close = strchr(at + 1, *at);

		c->text = at + 1;
		c->text_len = close ? (size_t)(close - at - 1) : 0;
		*why = "the quote is not closed";
		return close ? close + 1 : NULL;
	}
	*why = "a number, a text in quotes or the name of an enumerator is expected";
	c->text = at;
	c->text_len = (*at == '-') + name_length(at + (*at == '-'));
	errno = 0;
	c->is_negative = *at == '-';
	c->number = c->is_negative ? (uint64_t)strtoll(at, &end, 0) : strtoull(at, &end, 0);
	c->is_number = c->text_len && end == at + c->text_len && !errno;
	if (c->is_number && at[c->text_len] == '.') {
		*why = "numbers are whole ones";
		return NULL;
	}
	if (!c->is_number && (!c->text_len || strchr("0123456789-", *at))) {
		if (errno == ERANGE)
			*why = "the number has more than 64 bits";
		return NULL;
	}
	return at + c->text_len;
}

static const char *parse_one(struct value_condition *c, const char **at, const char **why)
{
	const char *end;
	size_t i;

	*c = (struct value_condition){.name = *at, .name_len = name_length(*at)};
	*why = "the name of a parameter is expected";
	if (!c->name_len || (**at >= '0' && **at <= '9'))
		return NULL;
	*at = skip_blanks(*at + c->name_len);
	for (i = 0; i < sizeof signs / sizeof *signs; i++)
		if (!strncmp(*at, signs[i].sign, strlen(signs[i].sign)))
			break;
	*why = **at == '.' || **at == '-' || **at == '['
		       ? "parameters are compared as a whole, not their members"
	       : **at == '=' && (*at)[1] != '=' ? "equal is written =="
						: "==, !=, <, <=, > or >= is expected";
	if (i == sizeof signs / sizeof *signs)
		return NULL;
	c->test = signs[i].test;
	*at = skip_blanks(*at + strlen(signs[i].sign));
	end = parse_value(c, *at, why);
	if (!end || c->is_number || c->test <= VALUE_DIFFERENT)
		return end;
	*why = "texts and names have no order";
	return NULL;
}

int value_conditions_parse(struct value_conditions *ret, const char *text, struct err *err)
{
	const char *at = skip_blanks(text), *why;

	for (;;) {
		struct value_condition c;
		const char *end = parse_one(&c, &at, &why);

		if (!end)
			return complain(text, at, why, err);
		if (ret->n == VALUE_CONDITIONS_MAX)
			return complain(text, c.name, "there are too many conditions", err);
		if (vec_push(ret, c))
			return err_nomem(err);
		at = skip_blanks(end);
		if (!*at)
			return 0;
		if (strncmp(at, "&&", 2))
			return complain(text, at,
					strncmp(at, "||", 2)
						? "&& or the end is expected"
						: "only && is understood, all must hold",
					err);
		at = skip_blanks(at + 2);
	}
}
