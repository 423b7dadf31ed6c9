/* fuzz_module.c - libFuzzer target: any bytes as the file that was mapped, with its debug data and
 * where that is said to be. */
#include "modules/modules.h"
#include "reader/machine.h"
#include "tests/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const no_dirs[] = {NULL};
	const struct modules_options opt = {
		.debug_dirs = no_dirs, .buildid_dir = "", .no_debuginfod_cache = true};
	struct dso dso = {.kind = DSO_FILE};
	struct modules *modules;
	struct module *mod;
	uint64_t vaddr;
	char path[32];
	int fd = fuzz_file_of(data, size, path);

	dso.path = path;
	FUZZ_CHECK(!modules_new(&modules, &opt, NULL));
	mod = modules_get(modules, &dso);
	FUZZ_CHECK(mod && (mod->image || mod->image_miss != MODULE_MISS_NONE));
	module_debug(modules, mod);
	for (uint64_t ip = 0x400000; ip < 0x500000; ip += 0x7ff8) {
		const struct map map = {
			.start = 0x400000, .end = 0x500000, .pgoff = ip % 3 * 0x1000, .dso = &dso};

		(void)module_ip_to_vaddr(mod, &map, ip, &vaddr);
	}
	for (size_t i = 0; i < module_tried_count(mod); i++)
		FUZZ_CHECK(module_tried(mod, i).text);
	modules_free(modules);
	close(fd);
	return 0;
}
