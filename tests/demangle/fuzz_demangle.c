/* fuzz_demangle.c - libFuzzer target: names of any kind. */
#include <string.h>

#include "demangle/demangle.h"
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
	for (unsigned bits = 0; bits < 24; bits++) {
		struct name_style style = {.demangle = (enum sym_demangle)(bits % 3),
					   .fold_clones = bits & 1,
					   .cut_templates = bits >= 12,
					   .template_depth = bits / 3 % 4};
		const char *text = demangle(&d, name, &style);

		FUZZ_CHECK(text && (style.demangle != SYM_DEMANGLE_NONE || style.fold_clones ||
				    text == name));
		(void)fuzz_sum_bytes(text, strlen(text) + 1);
		text = restyle(&d, name, &style);
		(void)fuzz_sum_bytes(text, strlen(text) + 1);
	}
	demangler_done(&d);
	free(name);
	return 0;
}
