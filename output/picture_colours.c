/* picture_colours.c - palettes of flame graphs. */
#include "base/hash.h"
#include "base/strtab.h"
#include "output/diff.h"
#include "output/picture.h"

struct colour {
	uint8_t r, g, b;		/* the darkest */
	uint8_t more_r, more_g, more_b; /* what a name's hash may add */
};

/* Colours by kind of code, as those of the page (page/colours.js). All are bright enough for black
 * text (contrast of at least 4.5), and each differs from all others (test_palettes.py). */
static const struct colour kind_colours[NAME_KIND_N] = {
	[NAME_TASK] = {237, 237, 237, 5, 5, 5},	    [NAME_USER] = {244, 150, 87, 2, 18, 29},
	[NAME_INLINED] = {250, 229, 122, 1, 6, 30}, [NAME_JIT] = {121, 213, 88, 20, 6, 24},
	[NAME_KERNEL] = {166, 204, 242, 27, 15, 4}, [NAME_UNKNOWN] = {178, 178, 178, 6, 6, 6},
};

/* The same with colours that remain distinct with all kinds of colour blindness. */
static const struct colour safe_colours[NAME_KIND_N] = {
	[NAME_TASK] = {235, 235, 235, 5, 5, 5},	    [NAME_USER] = {247, 80, 29, 0, 11, 14},
	[NAME_INLINED] = {252, 227, 100, 0, 2, 15}, [NAME_JIT] = {82, 173, 112, 10, 5, 9},
	[NAME_KERNEL] = {168, 198, 240, 13, 9, 2},  [NAME_UNKNOWN] = {173, 173, 173, 5, 5, 5},
};

static const struct palette {
	const char *name;
	const struct colour *by_kind; /* NULL: one for all */
	struct colour all;
} palettes[] = {
	{"kind", kind_colours, {0}},
	{"safe", safe_colours, {0}},
	{"hot", NULL, {205, 90, 50, 50, 140, 55}},
	{"mem", NULL, {90, 190, 90, 40, 50, 60}},
	{"io", NULL, {130, 140, 220, 60, 60, 35}},
	{"red", NULL, {235, 120, 120, 20, 60, 60}},
	{"green", NULL, {120, 200, 120, 60, 50, 60}},
	{"blue", NULL, {130, 150, 235, 60, 60, 20}},
	{"aqua", NULL, {110, 190, 190, 60, 50, 50}},
	{"yellow", NULL, {215, 215, 90, 35, 35, 60}},
	{"purple", NULL, {200, 140, 220, 50, 50, 35}},
	{"orange", NULL, {235, 160, 60, 20, 50, 50}},
};

enum { N_PALETTES = sizeof palettes / sizeof *palettes };

const char *output_palette_name(unsigned i)
{
	return i < N_PALETTES ? palettes[i].name : NULL;
}

static uint32_t rgb(unsigned r, unsigned g, unsigned b)
{
	return r << 16 | g << 8 | b;
}

/* Of a difference: red if the share has grown, blue if it is smaller, more saturated for larger
 * changes; grey if the change may be noise. */
static uint32_t difference_colour(const struct flamegraph *f, uint32_t node)
{
	double base = f->sides[0][node], new = f->sides[1][node], more = base > new ? base : new;
	double by = more > 0 ? (new - base) / more : 0, size = by < 0 ? -by : by;
	unsigned pale = (unsigned)(190 * (1 - size)) + 40;

	if (!node ||
	    diff_is_noise(&f->opt->diff, base, new, f->limits[f->tree->nodes.v[node].symbol]))
		return rgb(0xdc, 0xdc, 0xdc);
	return by > 0 ? rgb(0xf5, pale, pale) : rgb(pale, pale, 0xf5);
}

/* A name has the same colour in every picture. */
uint32_t picture_colour(const struct flamegraph *f, uint32_t node, bool is_plain)
{
	const struct palette *palette = &palettes[f->look->palette % N_PALETTES];
	uint32_t symbol = f->tree->nodes.v[node].symbol;
	const struct strtab *names = &f->stacks.names;
	enum name_kind kind = node ? f->stacks.kinds.v[symbol] : NAME_TASK;
	const struct colour *c = palette->by_kind ? &palette->by_kind[kind] : &palette->all;
	uint64_t h = 0;

	if (f->opt->diff.is_diff)
		return difference_colour(f, node);
	if (node && !is_plain)
		h = hash_bytes(strtab_get(names, symbol), strtab_len(names, symbol));
	return rgb(c->r + (unsigned)(h & 255) * c->more_r / 255,
		   c->g + (unsigned)(h >> 8 & 255) * c->more_g / 255,
		   c->b + (unsigned)(h >> 16 & 255) * c->more_b / 255);
}

uint32_t picture_hit_colour(const struct flamegraph *f)
{
	return palettes[f->look->palette % N_PALETTES].by_kind == safe_colours ? 0xd640fc
									       : 0xfb6ae8;
}
