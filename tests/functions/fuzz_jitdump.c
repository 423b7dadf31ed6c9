/* fuzz_jitdump.c - libFuzzer target: jitdump files. */
#include "functions/jitdump.h"
#include "tests/functions/jitdump_file.h"
#include "tests/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct func_cursor cursor = {0};
	struct jitdump j = {0};
	char path[32];
	int fd = fuzz_file_of(data, size, path);
	size_t i;

	if (!jitdump_read(&j, path, NULL))
		for (i = 0; i < j.tab.funcs.n; i++) {
			uint64_t ip = j.tab.funcs.v[i].start;
			const struct func *f = jitdump_find(&j, ip, i, &cursor);
			struct jit_unwind_info info;
			const char *file;
			uint32_t line;

			if (jitdump_unwind_info(&j, ip, i, &info)) {
				FUZZ_CHECK(info.start <= ip && ip < info.end);
				FUZZ_CHECK(fuzz_sum_bytes(info.eh_frame, info.size) <= 255 * size);
				FUZZ_CHECK(!info.code ||
					   fuzz_sum_bytes(info.code, info.end - info.start) <=
						   255 * size);
			}
			FUZZ_CHECK(!f || (f->start <= ip && ip < f->end && f->name));
			FUZZ_CHECK(!f || !jitdump_line(&j, f, ip, &file, &line) || file);
		}
	jitdump_done(&j);
	close(fd);
	return 0;
}
