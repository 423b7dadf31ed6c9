/* tool_synthetic.c - writes the profile of synthetic.h in every format to files DIR/VARIANT.FORMAT,
 *for checks by other programs.
 *
 *	tool_synthetic DIR
 *
 * The variants "order0" .. hold the same samples, added in another order or in parts that were
 *merged: nothing of that may show, except in formats that print sample by sample. */
#include <err.h>

#include "tests/output/written.h"
#include "tests/profile/synthetic.h"

static const struct synthetic_sample hostile_samples[] = {
	{0, "\xff\xfe\"\\\n", UINT32_MAX, UINT32_MAX, 0, UINT64_MAX, "0+550 r0+20"},
	{0, "", 0, 0, UINT64_MAX, UINT64_MAX, "0+550 r0+20"},
	{0, "empty", 1, 1, 1, 1, ""},
	{0, "all over", 1, 1, 1, 1, "!ffffffffffffffff r!0 kr2+10 r0+7fff"},
};

static unsigned keep_all(const struct output_format *f)
{
	return f->keep | PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS;
}

static struct profile *fill(unsigned keep, const struct synthetic_sample *s, size_t n)
{
	struct profile *p = profile_new(keep);
	size_t i;

	if (!p)
		errx(1, "no memory");
	for (i = 0; i < n; i++)
		if (synthetic_add(p, &s[i]))
			errx(1, "profile_add failed");
	return p;
}

static void write_file(const char *dir, const char *variant, const struct output_format *f,
		       const struct output_options *opt, struct profile *p)
{
	char path[4096];
	struct err e = {0};
	FILE *out;

	if (synthetic_name(p))
		errx(1, "no memory");
	snprintf(path, sizeof path, "%s/%s.%s", dir, variant, f->name);
	out = fopen(path, "w");
	if (!out)
		err(1, "%s", path);
	if (output_write(f, p, opt, out, &e) < 0)
		errx(1, "%s: %s", path, e.what);
	if (fclose(out))
		err(1, "%s", path);
	profile_free(p);
}

static struct profile *all(unsigned keep)
{
	return fill(keep, synthetic_samples, N_SYNTHETIC_SAMPLES);
}

/* The k-th first, and those before it last. */
static struct profile *rotated(unsigned keep, size_t k)
{
	struct profile *p = fill(keep, synthetic_samples + k, N_SYNTHETIC_SAMPLES - k);

	for (size_t i = 0; i < k; i++)
		if (synthetic_add(p, &synthetic_samples[i]))
			errx(1, "profile_add failed");
	return p;
}

static void write_all(const char *dir, const struct output_format *f)
{
	struct output_options plain = {.generator = "unspool test"}, samples = plain,
			      no_inline = plain, tids = plain, clock = plain, cycles = plain;
	size_t n_hostile = sizeof hostile_samples / sizeof *hostile_samples, k;
	char name[16];

	samples.count_samples = true;
	no_inline.style.no_inline = true;
	tids.style.with_tid = true;
	clock.event = "cpu-clock";
	cycles.event = "cycles:P";
	for (k = 0; k < N_SYNTHETIC_SAMPLES && !(k && f->keep & PROFILE_KEEP_LOG); k++) {
		snprintf(name, sizeof name, "order%zu", k);
		write_file(dir, name, f, &plain, rotated(f->keep, k));
	}
	write_file(dir, "samples", f, &samples, all(f->keep));
	write_file(dir, "no_inline", f, &no_inline, all(f->keep));
	write_file(dir, "tids", f, &tids, all(keep_all(f)));
	write_file(dir, "clock", f, &clock, all(f->keep));
	write_file(dir, "cycles", f, &cycles, all(f->keep));
	write_file(dir, "hostile", f, &tids, fill(keep_all(f), hostile_samples, n_hostile));
}

int main(int argc, char **argv)
{
	const struct output_format *const *f;

	if (argc != 2)
		errx(2, "usage: tool_synthetic DIR");
	for (f = output_formats; *f; f++)
		write_all(argv[1], *f);
	return 0;
}
