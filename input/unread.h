/* unread.h - files that are not read, and what they are. Private to input/. */
#ifndef INPUT_UNREAD_H
#define INPUT_UNREAD_H

#include "input/input.h"

/* The formats of a file of another tool that is known and not read, and of a text that is nothing
 * that is known. Reading either is a refusal that says which line shows what. They are asked in
 * this order: the first before the formats that accept almost any text, the second after them. */
extern const struct input_format input_known_unread, input_unknown_text;

/* Is it text, with a few stray control characters at most? */
bool input_is_text(const char *head, size_t n);

#endif
