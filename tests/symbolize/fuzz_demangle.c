/* fuzz_demangle.c - libFuzzer target: names of any kind. */
#include <string.h>

#include "symbolize/demangle.h"
#include "tests/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demangler d = {0};
	char *name = malloc(size + 1);

	if (!name)
		return 0;
	if (size)
		memcpy(name, data, size);
	name[size] = 0;
	for (unsigned how = SYM_DEMANGLE_FULL; how <= SYM_DEMANGLE_NONE; how++) {
		const char *text = demangle(&d, name, (enum sym_demangle)how);

		FUZZ_CHECK(text && (how != SYM_DEMANGLE_NONE || text == name));
		(void)fuzz_sum_bytes(text, strlen(text) + 1);
	}
	demangler_done(&d);
	free(name);
	return 0;
}
