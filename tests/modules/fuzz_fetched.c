/* fuzz_fetched.c - libFuzzer target: any bytes as the sections that a debuginfod server sends for a
 * program. Each is a length in two bytes, low byte first, and so many bytes. */
#include <string.h>
#include <sys/stat.h>

#include "modules/modules.h"
#include "tests/fuzz.h"

/* Stripped by the distribution; its sections tell where symbols belong. */
static const char program[] = "/bin/true";

static const char *const names[] = {".symtab", ".strtab", ".debug_line", ".debug_line_str",
				    ".debug_str"};
enum { N_NAMES = sizeof names / sizeof *names };

static char cache[64], entry[128];

static void path_in_entry(const char *name, char out[192])
{
	snprintf(out, 192, "%s/section-%s", entry, name);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	char path[192];
	FILE *f;

	path_in_entry(name, path);
	f = fopen(path, "we");
	FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

static void remove_cache(void)
{
	char path[192];
	size_t i;

	for (i = 0; i < N_NAMES; i++) {
		path_in_entry(names[i], path);
		unlink(path);
	}
	path_in_entry(".note.gnu.build-id", path);
	unlink(path);
	rmdir(entry);
	rmdir(cache);
}

/* An entry of the cache with the right note in it. */
static void make_cache(const struct build_id *id)
{
	uint8_t note[16 + BUILD_ID_MAX] = {4, 0, 0, 0, id->size, 0,   0,  0,
					   3, 0, 0, 0, 'G',	 'N', 'U'};
	size_t n, i;

	snprintf(cache, sizeof cache, "%s/fuzz-fetched-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	FUZZ_CHECK(mkdtemp(cache));
	n = (size_t)snprintf(entry, sizeof entry, "%s/", cache);
	for (i = 0; i < id->size; i++)
		n += (size_t)snprintf(entry + n, sizeof entry - n, "%02x", id->bytes[i]);
	FUZZ_CHECK(!mkdir(entry, 0700));
	memcpy(note + 16, id->bytes, id->size);
	put(".note.gnu.build-id", note, 16U + id->size);
	atexit(remove_cache);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
}

static void check_debug(struct elf_image *debug)
{
	struct elf_section s;
	const char *name;
	size_t i;

	for (i = 0; i < elf_image_section_count(debug); i++)
		if (elf_image_section_at(debug, i, &name, &s) && s.data)
			(void)fuzz_sum_bytes(s.data, s.size);
	for (i = 0; i < N_NAMES; i++)
		if (elf_image_section(debug, names[i], &s, NULL) && s.data)
			(void)fuzz_sum_bytes(s.data, s.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const no_dirs[] = {NULL};
	const struct modules_options opt = {.debug_dirs = no_dirs, .buildid_dir = ""};
	static struct build_id id;
	struct dso dso = {.kind = DSO_FILE, .path = program};
	struct modules *modules;
	struct elf_image *img;
	struct module *mod;
	struct err err;
	size_t i, n;

	if (!id.size) {
		FUZZ_CHECK(!elf_image_open(&img, program, &err));
		id = *elf_image_build_id(img);
		elf_image_close(img);
		FUZZ_CHECK(id.size);
		make_cache(&id);
	}
	for (i = 0; i < N_NAMES; i++) {
		n = size < 2 ? 0 : data[0] | (size_t)data[1] << 8;
		data += size < 2 ? 0 : 2;
		size -= size < 2 ? size : 2;
		n = n < size ? n : size;
		put(names[i], data, n);
		data += n;
		size -= n;
	}
	dso.build_id = id;
	FUZZ_CHECK(!modules_new(&modules, &opt, NULL));
	mod = modules_get(modules, &dso);
	FUZZ_CHECK(mod && mod->image);
	module_debug(modules, mod);
	if (mod->debug)
		check_debug(mod->debug);
	modules_free(modules);
	return 0;
}
