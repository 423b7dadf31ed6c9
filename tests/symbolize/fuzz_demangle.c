/* fuzz_demangle.c - libFuzzer target: names of any kind. Built by fuzz.sh. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demangler d = {0};
	char *name = malloc(size + 1);

	if (!name)
		return 0;
	if (size)
		memcpy(name, data, size);
	name[size] = 0;
	demangle(&d, name, SYM_DEMANGLE_FULL);
	demangle(&d, name, SYM_DEMANGLE_SIMPLE);
	demangler_done(&d);
	free(name);
	return 0;
}
