/* tool_json.c - json.h from the command line: a line for each value of standard input: path, kind,
 * and the string in hexadecimal digits or the number. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

static int say(void *arg, const struct json_value *v)
{
	static const char *const kinds[] = {"null", "false", "true", "number", "string", "end"};
	size_t i;

	(void)arg;
	for (i = 0; v->path[i]; i++)
		printf("%02x", (unsigned char)v->path[i]);
	printf(" %s ", kinds[v->kind]);
	for (i = 0; v->kind == JSON_STRING && i < v->n; i++)
		printf("%02x", (unsigned char)v->string[i]);
	if (v->kind == JSON_NUMBER)
		printf("%.17g", v->number);
	putchar('\n');
	return 0;
}

int main(void)
{
	static char text[1 << 20];
	size_t n = fread(text, 1, sizeof text, stdin);
	struct err err = {0};

	if (!json_read(text, n, "input", say, NULL, &err))
		return 0;
	fprintf(stderr, "%llu %s\n", (unsigned long long)err.offset, err.what);
	return 1;
}
