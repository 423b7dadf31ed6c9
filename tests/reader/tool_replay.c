/* tool_replay.c - `tool_replay FILE..`: the properties of fuzz.h over files, without a fuzzer.
 * Prints each name before it is read, so that the last one printed is the one to look at. */
#include "tests/reader/fuzz.h"

#include <sys/stat.h>

static int replay(const char *path)
{
	FILE *in = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t n;

	if (!in || fstat(fileno(in), &st) || !S_ISREG(st.st_mode)) {
		fprintf(stderr, "%s: cannot read\n", path);
		if (in)
			fclose(in);
		return 1;
	}
	data = malloc((size_t)st.st_size + 1);
	n = data ? fread(data, 1, (size_t)st.st_size, in) : 0;
	fclose(in);
	puts(path);
	fflush(stdout);
	fuzz_as_file(data, n);
	fuzz_as_pipe(data, n);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= replay(argv[i]);
	return rc;
}
