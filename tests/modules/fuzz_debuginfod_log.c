/* fuzz_debuginfod_log.c - libFuzzer target: any text as what libdebuginfod says of a query. The
 * first byte is the number of servers. */
#include <string.h>

#include "modules/debuginfod_library.h"
#include "tests/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n_servers = size ? data[0] % (DEBUGINFOD_SERVERS_MAX + 1) : 0, i;
	struct debuginfod_log log;
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	memcpy(text, data, size);
	text[size] = 0;
	debuginfod_log_parse(&log, size ? text + 1 : text, n_servers);
	FUZZ_CHECK(log.committed >= -1 && log.committed < (int)n_servers);
	for (i = 0; i < DEBUGINFOD_SERVERS_MAX; i++) {
		FUZZ_CHECK(log.answers[i].says <= SERVER_FAILED);
		FUZZ_CHECK(i < n_servers || log.answers[i].says == SERVER_SILENT);
		FUZZ_CHECK(memchr(log.answers[i].text, 0, sizeof log.answers[i].text));
	}
	free(text);
	return 0;
}
