/* fuzz_fetched.c - libFuzzer target: any bytes as a program with a build id, and as the sections
 * that a debuginfod server sends for it. Each is a length in two bytes, low byte first, and so many
 * bytes.
 */
#include <string.h>
#include <sys/stat.h>

#include "modules/modules.h"
#include "tests/fuzz.h"

static const char *const names[] = {".symtab", ".strtab", ".debug_line", ".debug_line_str",
				    ".debug_str"};
enum { N_NAMES = sizeof names / sizeof *names };

static char cache[64], entry[128], program[80];

static void put(const char *path, const uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "we");

	FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

static const char *path_in_entry(const char *name)
{
	static char path[192];

	snprintf(path, sizeof path, "%s/section-%s", entry, name);
	return path;
}

static void remove_entry(void)
{
	size_t i;

	for (i = 0; i < N_NAMES; i++)
		unlink(path_in_entry(names[i]));
	unlink(path_in_entry(".note.gnu.build-id"));
	rmdir(entry);
}

static void remove_cache(void)
{
	unlink(program);
	rmdir(cache);
}

static void make_cache(void)
{
	snprintf(cache, sizeof cache, "%s/fuzz-fetched-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	FUZZ_CHECK(mkdtemp(cache));
	snprintf(program, sizeof program, "%s/program", cache);
	atexit(remove_cache);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
}

/* An entry of the cache with the right note in it. */
static void make_entry(const struct build_id *id)
{
	uint8_t note[16 + BUILD_ID_MAX] = {4, 0, 0, 0, id->size, 0,   0,  0,
					   3, 0, 0, 0, 'G',	 'N', 'U'};
	size_t n, i;

	n = (size_t)snprintf(entry, sizeof entry, "%s/", cache);
	for (i = 0; i < id->size; i++)
		n += (size_t)snprintf(entry + n, sizeof entry - n, "%02x", id->bytes[i]);
	FUZZ_CHECK(!mkdir(entry, 0700));
	memcpy(note + 16, id->bytes, id->size);
	put(path_in_entry(".note.gnu.build-id"), note, 16U + id->size);
}

/* The next of the parts. */
static size_t take(const uint8_t **data, size_t *size, const uint8_t **part)
{
	size_t n = *size < 2 ? 0 : (*data)[0] | (size_t)(*data)[1] << 8;
	size_t head = *size < 2 ? *size : 2;

	*part = *data + head;
	*size -= head;
	n = n < *size ? n : *size;
	*data = *part + n;
	*size -= n;
	return n;
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

static void look(const struct build_id *id)
{
	static const char *const no_dirs[] = {NULL};
	const struct modules_options opt = {.debug_dirs = no_dirs, .buildid_dir = ""};
	struct dso dso = {.kind = DSO_FILE, .path = program, .build_id = *id};
	struct modules *modules;
	struct module *mod;

	FUZZ_CHECK(!modules_new(&modules, &opt, NULL));
	mod = modules_get(modules, &dso);
	FUZZ_CHECK(mod);
	module_debug(modules, mod);
	if (mod->debug)
		check_debug(mod->debug);
	modules_free(modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build_id id = {0};
	struct elf_image *img;
	const uint8_t *part;
	size_t i, n;

	if (!*cache)
		make_cache();
	n = take(&data, &size, &part);
	put(program, part, n);
	if (!elf_image_open(&img, program, NULL)) {
		id = *elf_image_build_id(img);
		elf_image_close(img);
	}
	if (id.size < 2)
		return 0;
	make_entry(&id);
	for (i = 0; i < N_NAMES; i++) {
		n = take(&data, &size, &part);
		put(path_in_entry(names[i]), part, n);
	}
	look(&id);
	remove_entry();
	return 0;
}
