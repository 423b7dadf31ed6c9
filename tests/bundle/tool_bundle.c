/* tool_bundle.c - writes a small bundle to standard output: a seed for fuzz_bundle. */
#include <stdio.h>

#include "bundle/bundle.h"

int main(void)
{
	static const uint8_t a[] = "ELF", text[] = "10 20 f\n";
	const struct bundle_range holes[] = {{0, sizeof a, a}, {4096, sizeof a, a}};
	const struct bundle_range all = {0, sizeof text - 1, text};
	const struct bundle_entry image = {.kind = BUNDLE_IMAGE,
					   .path = "/bin/x",
					   .id = {.size = 2, .bytes = {1, 2}},
					   .size = 8192};
	const struct bundle_entry file = {.kind = BUNDLE_FILE, .path = "/tmp/perf-1.map"};
	struct bundle_blob out = {0};

	if (bundle_begin(&out) || bundle_put(&out, &image, holes, 2, 3) ||
	    bundle_put(&out, &file, &all, 1, 3))
		return 1;
	fwrite(out.v, 1, out.n, stdout);
	vec_done(&out);
	return fflush(stdout) != 0;
}
