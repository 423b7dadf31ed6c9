/* json_input.h - inputs that are one JSON text. Private to input/. */
#ifndef INPUT_JSON_INPUT_H
#define INPUT_JSON_INPUT_H

#include "base/json.h"
#include "input/unpacked_lines.h"

/* Reads all of the text and calls visit() for each value (base/json.h). An error names the file.
 * Returns 0, or negative with *err. */
int json_input_read(struct input_source *s, int (*visit)(void *arg, const struct json_value *v),
		    void *arg, struct err *err);
/* Does the head look like a JSON object with this text in it? */
bool json_input_has(const char *head, const char *text);
/* A number of the text as an id below `limit`; UINT32_MAX: it is none. */
uint32_t json_input_id(const struct json_value *v, size_t limit);
/* Adds a location of one function in source code; line 0: unknown. Returns 0, or negative with
 * *err. */
int json_input_frame(struct profile *p, uint32_t name, uint32_t file, uint32_t line, uint32_t *ret,
		     struct err *err);

#endif
