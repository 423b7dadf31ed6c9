/* fuzz_jitdump.c - libFuzzer target: jitdump files. Built by fuzz.sh. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("jitdump", 0);
	struct func_cursor cursor = {0};
	struct jitdump j = {0};
	char path[64];
	size_t i;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size && !jitdump_read(&j, path, NULL))
		for (i = 0; i < j.tab.funcs.n; i++) {
			uint64_t ip = j.tab.funcs.v[i].start;
			const struct func *f = jitdump_find(&j, ip, i, &cursor);

			if (f)
				jitdump_line(&j, f, ip);
		}
	jitdump_done(&j);
	close(fd);
	return 0;
}
