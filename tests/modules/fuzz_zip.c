/* fuzz_zip.c - libFuzzer target: any bytes as an archive. What is found of files in it lies inside.
 */
#include <string.h>

#include "base/err.h"
#include "modules/zip.h"
#include "tests/fuzz.h"

#define PLACES_MAX 64

static void check_part(const struct zip *z, int fd, const struct zip_part *p, size_t size)
{
	struct zip_part again;
	char *name = strndup(p->name, p->name_bytes);

	FUZZ_CHECK(p->size && p->start <= size && p->size <= size - p->start);
	FUZZ_CHECK(name && p->name_bytes);
	(void)fuzz_sum_bytes(p->name, p->name_bytes);
	if (strlen(name) == p->name_bytes && zip_named(z, fd, name, &again))
		FUZZ_CHECK(again.name_bytes == p->name_bytes && again.start <= size &&
			   again.size <= size - again.start);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zip *z = NULL;
	struct zip_part p;
	char path[32];
	int fd = fuzz_file_of(data, size, path), rc = zip_open(&z, fd);

	FUZZ_CHECK(!rc == (z != NULL) && (!rc || rc == -ERR_FORMAT || rc == -ERR_DAMAGED ||
					  rc == -ERR_UNSUPPORTED || rc == -ERR_NOMEM));
	for (size_t i = 0; z && i < PLACES_MAX; i++) {
		uint64_t off = size * i / PLACES_MAX;

		if (!zip_at(z, fd, off, &p))
			continue;
		FUZZ_CHECK(off >= p.start && off - p.start < p.size);
		check_part(z, fd, &p, size);
	}
	FUZZ_CHECK(!z || !zip_at(z, fd, UINT64_MAX, &p));
	zip_free(z);
	close(fd);
	return 0;
}
