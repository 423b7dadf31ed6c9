/* fuzz_json.c - libFuzzer target: base/json.h. */
#include <string.h>

#include "base/json.h"
#include "tests/fuzz.h"

static int visit(void *arg, const struct json_value *v)
{
	FUZZ_CHECK(v->kind <= JSON_END && strlen(v->path) < 1 << 20);
	if (v->kind == JSON_STRING)
		FUZZ_CHECK(!v->string[v->n]);
	++*(size_t *)arg;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	size_t n = 0;
	int rc = json_read((const char *)data, size, "fuzz", visit, &n, &err);

	FUZZ_CHECK(!rc || (rc == -ERR_FORMAT && err.has_offset && err.offset <= size));
	FUZZ_CHECK(n <= size);
	return 0;
}
