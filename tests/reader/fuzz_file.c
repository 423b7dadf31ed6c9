/* fuzz_file.c - libFuzzer target: any bytes as a recording in a file. */
#include "tests/reader/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_as_file(data, size);
	return 0;
}
