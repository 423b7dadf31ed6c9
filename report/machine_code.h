/* machine_code.h - the bytes of a function. Private to report/. */
#ifndef REPORT_MACHINE_CODE_H
#define REPORT_MACHINE_CODE_H

#include "load/load.h"
#include "symbolize/symbolize.h"

struct machine_code {
	const struct dso *dso;
	struct elf_image *image; /* NULL: code without a file */
	const uint8_t *bytes;	 /* live as long as what was loaded */
	size_t n;
	uint64_t start;	  /* vaddr; of code without a file the runtime address */
	uint64_t time_ns; /* of code without a file: when it was made */
	uint16_t e_machine;
	bool is_64;
	bool is_kernel;
	uint64_t shift; /* of the kernel: runtime addresses are so much more */
};

/* Finds the code of the function that a location with a symbol is in. Returns 0, or negative with
 * *err, which says why there is none. */
int machine_code_find(const struct loaded *l, const struct profile_location *location,
		      struct machine_code *ret, struct err *err);
/* What asks the symbolizer for an address of this code. */
struct sym_query machine_code_query(const struct machine_code *c, uint64_t vaddr);

#endif
