/* fuzz_cut.c - libFuzzer target: any bytes as a file whose code was on stacks, made into one with
 * holes for a bundle: by capture that is done with the files of any user.
 *
 * The first byte says what is kept: its level, what is known of the frames, with or without tables
 * for unwinding. The rest is the file. What comes out must be an entry that can be read again, no
 * larger than what was read allows, and the same every time. */
#include <string.h>

#include "cut/cut.h"
#include "tests/fuzz.h"

enum { HITS_MAX = 64, LEVELS = CUT_FULL + 1 };

/* Addresses all over the code, as a stack copy would have them. */
static void hit(struct cut_need *need, const struct elf_image *img)
{
	const struct elf_segment *segs;
	size_t i, n = elf_image_segments(img, &segs);

	for (i = 0; i < n && need->code.n < HITS_MAX; i++) {
		const uint64_t step = segs[i].filesz / 24 + 1;

		for (uint64_t at = 0; at < segs[i].filesz && need->code.n < HITS_MAX; at += step)
			FUZZ_CHECK(!vec_push(&need->code, segs[i].vaddr + at) &&
				   (at % 3 || !vec_push(&need->frames, segs[i].vaddr + at)));
	}
	cut_addrs_sort(&need->code);
	cut_addrs_sort(&need->frames);
}

/* A range must lie behind the one before it, and inside. */
static int rises(void *arg, const struct bundle_range *r)
{
	uint64_t *end = arg;

	FUZZ_CHECK(r->off >= *end);
	fuzz_sum_bytes(r->bytes, (size_t)r->size);
	*end = r->off + r->size;
	return 0;
}

static void check(const struct bundle_blob *out, size_t size)
{
	struct bundle *b;
	size_t i;

	FUZZ_CHECK(!bundle_open(&b, out->v, out->n, NULL) && !bundle_lost_bytes(b) &&
		   !bundle_refused_bytes(b) && bundle_count(b) <= 2);
	for (i = 0; i < bundle_count(b); i++) {
		const struct bundle_entry *e = bundle_at(b, i);
		uint64_t end = 0;

		/* The file, and DWARF of its own for the frames. */
		FUZZ_CHECK(e->packed <= 64 * size + (1 << 20));
		FUZZ_CHECK(!bundle_ranges(e, rises, &end, NULL) && end <= e->size);
	}
	bundle_free(b);
}

static void cut(struct modules *modules, struct module *mod, uint8_t how, struct bundle_blob *out)
{
	struct cut_need need = {.level = how % LEVELS,
				.n_threads = 1,
				.zstd_level = 1,
				.no_unwind = how & 8,
				.frames_known = how & 16};
	const struct bundle_entry e = {.path = how & 32 ? "[vdso]" : "/bin/x"};
	struct err err;

	hit(&need, mod->image);
	FUZZ_CHECK(!bundle_begin(out));
	if (cut_module(modules, mod, &e, &need, out, &err))
		FUZZ_CHECK(err.code != ERR_OK);
	vec_done(&need.code);
	vec_done(&need.frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const no_dirs[] = {NULL};
	const struct modules_options opt = {
		.debug_dirs = no_dirs, .buildid_dir = "", .no_debuginfod_cache = true};
	struct bundle_blob out = {0}, again = {0};
	struct dso dso = {.kind = DSO_FILE};
	struct modules *modules;
	struct module *mod;
	char path[32];
	int fd;

	if (!size)
		return 0;
	fd = fuzz_file_of(data + 1, size - 1, path);
	dso.path = path;
	FUZZ_CHECK(!modules_new(&modules, &opt, NULL));
	mod = modules_get(modules, &dso);
	FUZZ_CHECK(mod);
	if (mod->image) {
		cut(modules, mod, data[0], &out);
		check(&out, size);
		cut(modules, mod, data[0], &again);
		FUZZ_CHECK(out.n == again.n && !memcmp(out.v, again.v, out.n));
	}
	vec_done(&out);
	vec_done(&again);
	modules_free(modules);
	close(fd);
	return 0;
}
