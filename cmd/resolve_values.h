/* resolve_values.h - functions for the column `set` of the options of `resolve` (options.h).
 *
 * All return 0, or a negative value with *err, which names the option. Texts are not copied: they
 * stay in argv, as options.h says. */
#ifndef CMD_RESOLVE_VALUES_H
#define CMD_RESOLVE_VALUES_H

#include "cmd/options.h"

/* Their target is the struct resolve. */
option_set_fn resolve_set_count;
option_set_fn resolve_set_format;
option_set_fn resolve_set_all;
option_set_fn resolve_set_debug_dir;
option_set_fn resolve_set_explain;
option_set_fn resolve_set_require;
option_set_fn resolve_set_verify;
option_set_fn resolve_set_template_depth;
option_set_fn resolve_set_sort;
option_set_fn resolve_set_fields;
option_set_fn resolve_set_colors;
option_set_fn resolve_add_base;
option_set_fn resolve_set_weigh;

/* A uint64_t of nanoseconds, from milliseconds: perf record's unit. */
option_set_fn resolve_set_off_cpu_least;
/* A struct value_conditions. */
option_set_fn resolve_set_where;

#endif
