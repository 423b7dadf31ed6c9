/* script.h - parts of the format script. Private to output/. */
#ifndef OUTPUT_SCRIPT_H
#define OUTPUT_SCRIPT_H

#include "base/text.h"
#include "output/output.h"
#include "profile/profile.h"

/* Fields asked for by name must have been recorded, as perf demands; samples from text formats may
 * have any of those that they can hold. Returns 0, or -ERR_USAGE. */
int script_fields_check(const struct profile *p, const struct script_fields *fields,
			const struct event_set *events, struct err *err);
/* Are names of its registers known? */
bool script_knows_registers(const struct profile *p);
/* "K     ": where the processor was, as PERF_RECORD_MISC_* of a sample's header say. */
void script_add_misc(struct text *t, uint16_t misc);
/* What stands behind the address and its stack; bits of enum script_field. */
void script_add_details(struct text *t, const struct profile *p, const struct profile_log_entry *e,
			unsigned fields, bool as_6_1);

#endif
