/* call_texts.h - texts that probes have read. Private to output/. */
#ifndef OUTPUT_CALL_TEXTS_H
#define OUTPUT_CALL_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/profile.h"

/* The text that the probe read of argument i; NULL: none. It points to characters, or may be
 * anything. *is_cut: it goes on. */
const char *call_text_read(const struct profile *p, const struct profile_log_entry *e, size_t i,
			   bool is_chars, size_t *n, bool *is_cut);
/* The text of the field s0, s1 .. whose argument a0, a1 .. has this value; NULL: none. */
const char *call_text_at(const struct profile *p, const struct profile_log_entry *e, uint64_t addr,
			 size_t *n, bool *is_cut);
void call_text_add(struct text *t, const char *text, size_t n, bool is_cut);

#endif
