/* rule_table.h - the rules of one module by vaddr. Private to unwind/.
 *
 * Grows only, so that any number of threads can read it without a lock while one adds to it. */
#ifndef UNWIND_RULE_TABLE_H
#define UNWIND_RULE_TABLE_H

#include <stdatomic.h>

#include "unwind/rule.h"

struct rule_slots;

/* A zeroed table is empty. */
struct rule_table {
	_Atomic(struct rule_slots *) slots;
};

/* *number: 1 for the first that was added, 2 .. */
bool rule_table_get(const struct rule_table *t, uint64_t vaddr, struct rule *ret, uint32_t *number);
/* Adds a rule that is not there. One thread at a time. Its number; 0 when out of memory. */
uint32_t rule_table_put(struct rule_table *t, uint64_t vaddr, struct rule rule);
void rule_table_done(struct rule_table *t);

#endif
