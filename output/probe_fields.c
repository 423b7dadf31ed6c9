/* probe_fields.c - the fields of probes without what is no text.
 *
 * capture --strings reads a text at whatever may be a pointer: where debug information does not say
 * that one points to characters, the bytes have to tell. */
#include "output/probe_fields.h"

#include <string.h>

bool probe_text_is_plain(const char *s, size_t n)
{
	if (!n || (n == 7 && !memcmp(s, "(fault)", 7)))
		return false;
	for (size_t i = 0; i + 1 < n; i++) {
		if (s[i] != '\\')
			continue;
		if (s[++i] >= '0' && s[i] <= '9')
			return false;
	}
	return true;
}

/* The end of ` s0="text"`: behind its last quote; NULL: there is none. */
static const char *end_of_text(const char *s)
{
	for (; *s && *s != '"'; s++)
		s += *s == '\\' && s[1];
	return *s ? s + 1 : NULL;
}

void probe_fields_add(struct text *t, const char *fields)
{
	const char *at, *text, *end;

	for (;; fields = end) {
		at = fields;
		while ((at = strstr(at, " s")) &&
		       !(at[2] >= '0' && at[2] <= '9' && !strncmp(at + 3, "=\"", 2)))
			at += 2;
		text = at ? at + 5 : NULL;
		end = text ? end_of_text(text) : NULL;
		if (!end)
			break;
		text_clean(t, fields, (size_t)(at - fields));
		if (probe_text_is_plain(text, (size_t)(end - 1 - text)))
			text_clean(t, at, (size_t)(end - at));
	}
	end = strstr(fields, " end=\"");
	text_clean(t, fields, end ? (size_t)(end - fields) : strlen(fields));
}
