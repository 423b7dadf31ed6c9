/* json_input.c - see json_input.h. */
#include "input/json_input.h"

#include <stdio.h>
#include <string.h>

#include "profile/profile.h"

#define BYTES_MAX (1u << 30)

int json_input_read(struct input_source *s, int (*visit)(void *arg, const struct json_value *v),
		    void *arg, struct err *err)
{
	struct text all = {0};
	int rc = input_rest(s, &all, BYTES_MAX, "a JSON text", err);

	if (!rc)
		rc = json_read(all.s, all.n, s->name, visit, arg, err);
	if (rc && err && !*err->source)
		snprintf(err->source, sizeof err->source, "%s", s->name);
	text_done(&all);
	return rc;
}

bool json_input_has(const char *head, const char *text)
{
	head += strspn(head, " \t\r\n");
	return *head == '{' && head[1 + strspn(head + 1, " \t\r\n")] == '"' && strstr(head, text);
}

uint32_t json_input_id(const struct json_value *v, size_t limit)
{
	if (v->kind != JSON_NUMBER || !(v->number >= 0) || v->number >= (double)limit ||
	    v->number >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)v->number;
}

int json_input_frame(struct profile *p, uint32_t name, uint32_t file, uint32_t line, uint32_t *ret,
		     struct err *err)
{
	struct profile_function f = {.name = name, .file = file, .is_foreign = true};
	struct profile_line at = {.line = line};
	struct profile_location l = {.symbol = 0};
	int rc;

	if (!f.name)
		f.name = profile_string(p, "(anonymous)", strlen("(anonymous)"));
	rc = profile_add_function(p, &f, &at.function, err);
	return rc ? rc : profile_add_location(p, &l, &at, 1, ret, err);
}
