/* kernel_names.h - private: the addresses of kernel functions, of which /proc shows only names. */
#ifndef CAPTURE_KERNEL_NAMES_H
#define CAPTURE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { KERNEL_NAME_MAX = 96 };

struct kernel_function {
	char name[KERNEL_NAME_MAX];
	uint64_t size;
	uint64_t address; /* 0: not known */
	bool is_sure;	  /* of functions of one name it is the one of this size */
};

/* Zeroed: empty. */
struct kernel_names {
	VEC(struct kernel_function) wanted;
	size_t n_looked_for; /* the first ones */
};

/* The number of a function, for kernel_names_address(); SIZE_MAX when out of memory. */
size_t kernel_names_add(struct kernel_names *k, const char *name, uint64_t size);
/* Looks for those that were added since the last call, in /proc/kallsyms. */
void kernel_names_look(struct kernel_names *k);
/* 0: not known: the kernel hides its addresses from this user. */
uint64_t kernel_names_address(const struct kernel_names *k, size_t number);
void kernel_names_done(struct kernel_names *k);

#endif
