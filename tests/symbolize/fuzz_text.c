/* fuzz_text.c - libFuzzer target: kallsyms and perf-PID.map. */
#include <string.h>

#include "symbolize/kallsyms.h"
#include "symbolize/perfmap.h"
#include "tests/fuzz.h"

static void find(const struct functab *tab, uint64_t addr, struct func_cursor *cursor)
{
	const struct func *f = functab_find(tab, addr, cursor);

	FUZZ_CHECK(!f || (f->start <= addr && addr < f->end && f->name));
}

static char *copy_of(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	if (s && size)
		memcpy(s, data, size);
	if (s)
		s[size] = 0;
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = {0, 0x7f0000001018, 0xffffffff81000010, UINT64_MAX};
	char *map = copy_of(data, size), *list = copy_of(data, size);
	struct func_cursor a = {0}, b = {0};
	struct functab tab = {0};
	struct kallsyms k;
	size_t i;

	if (map && list && !perfmap_parse(&tab, map, size) && !kallsyms_parse(&k, list, size)) {
		for (i = 0; i < sizeof addrs / sizeof *addrs; i++) {
			find(&tab, addrs[i], &a);
			find(&k.tab, addrs[i], &b);
		}
		kallsyms_done(&k);
	}
	functab_done(&tab);
	free(map);
	return 0;
}
