/* rule_table.h - the rules of one module by vaddr. Private to unwind/.
 *
 * The table only grows, so any number of threads can read it without a lock while one thread adds
 * to it. */
#ifndef UNWIND_RULE_TABLE_H
#define UNWIND_RULE_TABLE_H

#include <stdatomic.h>

#include "unwind/rule.h"

struct rule_slots;

/* A zeroed table is empty. */
struct rule_table {
	_Atomic(struct rule_slots *) slots;
};

/* Returns false if there is no rule for vaddr. *number: 1 for the first rule that was added, then
 * 2, 3 ... */
bool rule_table_get(const struct rule_table *t, uint64_t vaddr, struct rule *ret, uint32_t *number);
/* Adds a rule for a vaddr that has none. To be called by one thread at a time. Returns its number,
 * or 0 when out of memory. */
uint32_t rule_table_put(struct rule_table *t, uint64_t vaddr, struct rule rule);
void rule_table_done(struct rule_table *t);

#endif
