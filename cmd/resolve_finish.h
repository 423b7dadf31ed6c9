/* resolve_finish.h - parts of parsing the command line of `resolve`. Private to resolve_options.c
 * and resolve_finish.c. */
#ifndef CMD_RESOLVE_FINISH_H
#define CMD_RESOLVE_FINISH_H

#include "cmd/resolve_options.h"

/* Sets and checks options that depend on others. Returns as resolve_options(). */
int resolve_finish(struct resolve *r, struct err *err);
/* By its long name. */
bool resolve_is_given(const struct resolve *r, const char *option);
/* Warns about options that the format ignores, and names the formats that honour them. */
void resolve_warn_ignored(const struct resolve *r);
/* "html, top": the formats that honour any of these parts. */
void resolve_name_formats(char *buf, size_t size, unsigned parts);

#endif
