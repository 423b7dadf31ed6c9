/* fuzz_pipe.c - libFuzzer target: any records as a recording from a pipe. */
#include "tests/reader/fuzz.h"

/* The header is given when it is missing, so that the fuzzer spends its time behind it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t header[16] = "PERFILE2\x10";
	uint8_t *stream = malloc(sizeof header + size);

	if (!stream)
		return 0;
	if (size >= 8 && !memcmp(data, header, 8)) {
		free(stream);
		fuzz_as_pipe(data, size);
		return 0;
	}
	memcpy(stream, header, sizeof header);
	if (size)
		memcpy(stream + sizeof header, data, size);
	fuzz_as_pipe(stream, sizeof header + size);
	free(stream);
	return 0;
}
