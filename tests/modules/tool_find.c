/* tool_find.c PATH [OPTION=VALUE].. - prints which files the modules find for a dso, for
 * test_find.py. Options: id (build id in hex), symfs, debug, cache (build-id cache), release, kind,
 * maj, min, ino, pid (the process that mapped it). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "modules/modules.h"

static void parse_id(const char *hex, struct build_id *id)
{
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1 && id->size < BUILD_ID_MAX; hex += 2)
		id->bytes[id->size++] = (uint8_t)byte;
}

static const char *value(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(arg, name, n) && arg[n] == '=' ? arg + n + 1 : NULL;
}

static void print(const char *what, const struct elf_image *img, const char *miss)
{
	printf("%s %s (%s)\n", what, img ? elf_image_path(img) : "-", miss);
}

int main(int argc, char **argv)
{
	const char *debug[2] = {NULL, NULL};
	struct dso dso = {.path = argv[1]};
	struct modules_options opt = {.debug_dirs = debug};
	struct map map = {.prot = PROT_READ | PROT_EXEC, .dso = &dso};
	struct elf_section lines;
	struct modules *modules;
	uint64_t ip = 0, vaddr;
	struct module *m;
	size_t n;
	int i;

	for (i = 2; i < argc; i++) {
		char *a = argv[i];
		const char *v;

		if ((v = value(a, "id")))
			parse_id(v, &dso.build_id);
		else if ((v = value(a, "kind")))
			dso.kind = (enum dso_kind)atoi(v);
		else if ((v = value(a, "maj")))
			dso.maj = (uint32_t)atoi(v);
		else if ((v = value(a, "min")))
			dso.min = (uint32_t)atoi(v);
		else if ((v = value(a, "ino")))
			dso.ino = strtoull(v, NULL, 10);
		else if ((v = value(a, "pid")))
			dso.mapped_by = (uint32_t)atoi(v);
		else if ((v = value(a, "symfs")))
			opt.symfs = v;
		else if ((v = value(a, "debug")))
			debug[0] = v;
		else if ((v = value(a, "cache")))
			opt.buildid_dir = v;
		else if ((v = value(a, "release")))
			opt.os_release = v;
		else if ((v = value(a, "map")))
			sscanf(v, "%" SCNx64 "-%" SCNx64 ":%" SCNx64, &map.start, &map.end,
			       &map.pgoff);
		else if ((v = value(a, "ip")))
			ip = strtoull(v, NULL, 16);
		else
			return 2;
	}
	if (modules_new(&modules, &opt, NULL))
		return 2;
	m = modules_get(modules, &dso);
	if (!m)
		return 2;
	module_debug(modules, m);
	print("image", m->image, module_miss_text(m->image_miss));
	print("debug", m->debug, module_miss_text(m->debug_miss));
	print("lines",
	      m->debug && elf_image_section(m->debug, ".debug_line", &lines, NULL) ? m->debug
										   : NULL,
	      "");
	print("alt", m->alt, "");
	print("mini", m->mini, "");
	for (n = 0; n < module_tried_count(m); n++)
		printf("tried %s\n", module_tried(m, n).text);
	if (ip && module_ip_to_vaddr(m, &map, ip, &vaddr))
		printf("vaddr %" PRIx64 " ()\n", vaddr);
	modules_free(modules);
	return 0;
}
