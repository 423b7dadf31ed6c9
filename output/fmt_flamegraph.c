/* fmt_flamegraph.c - one SVG file that any browser opens: zoom, search, reset; no other file is
 * needed.
 *
 * A frame is as wide as its share of the weight. Frames narrower than min_width pixels are left
 * out, and the picture says how much that is. Names of options and their meaning as in
 * flamegraph.pl and inferno. Source of truth: W3C SVG 1.1. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/sum.h"
#include "output/diff.h"
#include "output/embed.h"
#include "output/formats.h"

EMBED(svg_labels_js, "output/page/labels.js");
EMBED(flamegraph_js, "output/page/flamegraph.js");

enum {
	ROW = 18,  /* pixels from frame to frame */
	HEAD = 62, /* title, second line, buttons */
	FOOT = 34, /* details, share of a search */
	PAD = 10,  /* left and right */
	TITLE_BYTES = 90,
	/* Advance width of a letter of 12 px, in tenths of a pixel; browsers measure again. */
	LETTER10 = 72
};

/* A frame that is drawn. */
struct box {
	uint32_t node, depth;
	uint64_t start; /* weight to the left of it */
};

struct flamegraph {
	const struct profile *p;
	const struct output_options *opt;
	const struct picture_options *look;
	unsigned width; /* pixels */
	struct named_stacks stacks;
	struct tree reversed;
	const struct tree *tree;
	struct tree_order order;
	uint64_t *totals; /* by node, with callees */
	double *sides[2]; /* of a difference: the shares of base and new, by node; else NULL */
	double *limits;	  /* of a difference: by symbol, of noise */
	VEC(struct box) boxes;
	uint32_t rows;	 /* that are needed */
	uint64_t hidden; /* weight of samples whose own frame is too narrow */
	const char *unit;
	double scale; /* pixels per weight */
	struct text out;
};

/* ---- what is drawn -------------------------------------------------------------------------- */

static int compare_names(const void *pa, const void *pb, void *arg)
{
	const struct strtab *names = arg;

	return strcmp(strtab_get(names, *(const uint32_t *)pa),
		      strtab_get(names, *(const uint32_t *)pb));
}

/* Siblings are sorted by name, as in all flame graphs. */
static int order_by_name(struct flamegraph *f, struct err *err)
{
	struct strtab *names = &f->stacks.names;
	size_t i, n = strtab_count(names);
	uint32_t *sorted = malloc((n + 1) * sizeof *sorted), *rank = malloc((n + 1) * sizeof *rank);
	int rc;

	for (i = 0; sorted && i < n; i++)
		sorted[i] = (uint32_t)i;
	if (sorted && rank) {
		qsort_r(sorted, n, sizeof *sorted, compare_names, names);
		for (i = 0; i < n; i++)
			rank[sorted[i]] = (uint32_t)i;
		rc = tree_order_make(&f->order, f->tree, rank, n, err);
	} else {
		rc = err_nomem(err);
	}
	free(sorted);
	free(rank);
	return rc;
}

/* Of a difference: each side is scaled to 1, however long it was recorded. The widths are the mean
 * of both sides unless one side is selected, so that vanished frames are visible as well as new
 * ones. */
static int sum_sides(struct flamegraph *f, struct err *err)
{
	static const double parts[][2] = {[DIFF_WIDTH_MEAN] = {.5, .5},
					  [DIFF_WIDTH_BASE] = {1, 0},
					  [DIFF_WIDTH_NEW] = {0, 1}};
	const double *part = parts[f->look->diff_width];
	const struct tree *t = f->tree;
	double whole[2];
	size_t i, k;

	f->totals = calloc(t->nodes.n, sizeof *f->totals);
	f->sides[0] = calloc(t->nodes.n, sizeof **f->sides);
	f->sides[1] = calloc(t->nodes.n, sizeof **f->sides);
	f->limits = diff_limits(f->p, &f->opt->diff, &f->stacks.tree, 0,
				strtab_count(&f->stacks.names));
	if (!f->totals || !f->sides[0] || !f->sides[1] || !f->limits)
		return err_nomem(err);
	for (i = t->nodes.n; i--;) {
		f->sides[0][i] += (double)t->nodes.v[i].count;
		f->sides[1][i] += (double)t->nodes.v[i].period;
		for (k = 0; i && k < 2; k++)
			f->sides[k][t->nodes.v[i].parent] += f->sides[k][i];
	}
	for (k = 0; k < 2; k++)
		whole[k] = f->sides[k][0] > 0 ? f->sides[k][0] : 1;
	for (i = 0; i < t->nodes.n; i++) {
		for (k = 0; k < 2; k++)
			f->sides[k][i] /= whole[k];
		f->totals[i] =
			(uint64_t)((f->sides[0][i] * part[0] + f->sides[1][i] * part[1]) * 1e9 +
				   .5);
	}
	return 0;
}

static int sum_totals(struct flamegraph *f, struct err *err)
{
	const struct tree *t = f->tree;
	size_t i;

	if (f->opt->diff.is_diff)
		return sum_sides(f, err);

	f->totals = calloc(t->nodes.n, sizeof *f->totals);
	if (!f->totals)
		return err_nomem(err);
	for (i = t->nodes.n; i--;) {
		const struct tree_node *n = &t->nodes.v[i];

		f->totals[i] =
			add_saturated(f->totals[i], format_weight(f->opt, n->count, n->period));
		if (i)
			f->totals[n->parent] = add_saturated(f->totals[n->parent], f->totals[i]);
	}
	return 0;
}

/* Appends the children of boxes[at] to the list. Their sum may be less than the box: the rest are
 * samples that end there. */
static int add_children(struct flamegraph *f, size_t at)
{
	struct box parent = f->boxes.v[at];
	uint64_t start = parent.start;
	uint32_t i;

	for (i = f->order.first[parent.node]; i < f->order.first[parent.node + 1]; i++) {
		uint32_t id = f->order.ids[i];
		struct box b = {id, parent.depth + 1, start};

		start = add_saturated(start, f->totals[id]);
		if (!f->totals[id] || (double)f->totals[id] * f->scale < f->look->min_width) {
			f->hidden = add_saturated(f->hidden, f->totals[id]);
			continue;
		}
		if (vec_push(&f->boxes, b))
			return -1;
		f->rows = b.depth + 1 > f->rows ? b.depth + 1 : f->rows;
	}
	return 0;
}

static int place_boxes(struct flamegraph *f, struct err *err)
{
	size_t i;

	f->rows = 1;
	f->scale = f->totals[0] ? (f->width - 2.0 * PAD) / (double)f->totals[0] : 0;
	if (vec_push(&f->boxes, (struct box){0}))
		return err_nomem(err);
	for (i = 0; i < f->boxes.n; i++)
		if (add_children(f, i))
			return err_nomem(err);
	return 0;
}

static void add_format(struct text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- colours -------------------------------------------------------------------------------- */

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

/* Of a difference: red if the share has grown, blue if it is smaller, more saturated for larger
 * changes; grey if the change may be noise. */
static void add_difference_colour(struct flamegraph *f, uint32_t node)
{
	double base = f->sides[0][node], new = f->sides[1][node], more = base > new ? base : new;
	double by = more > 0 ? (new - base) / more : 0, size = by < 0 ? -by : by;
	unsigned pale = (unsigned)(190 * (1 - size)) + 40;

	if (!node ||
	    diff_is_noise(&f->opt->diff, base, new, f->limits[f->tree->nodes.v[node].symbol]))
		text_str(&f->out, "dcdcdc");
	else
		add_format(&f->out, by > 0 ? "f5%02x%02x" : "%02x%02xf5", pale, pale);
}

/* A name has the same colour in every picture. */
static void add_colour(struct flamegraph *f, uint32_t node)
{
	static const char hex[] = "0123456789abcdef";
	const struct palette *palette = &palettes[f->look->palette % N_PALETTES];
	uint32_t symbol = f->tree->nodes.v[node].symbol;
	const struct strtab *names = &f->stacks.names;
	enum name_kind kind = node ? f->stacks.kinds.v[symbol] : NAME_TASK;
	const struct colour *c = palette->by_kind ? &palette->by_kind[kind] : &palette->all;
	uint64_t h = node ? hash_bytes(strtab_get(names, symbol), strtab_len(names, symbol)) : 0;
	uint8_t rgb[3];
	size_t i;

	rgb[0] = (uint8_t)(c->r + (h & 255) * c->more_r / 255);
	rgb[1] = (uint8_t)(c->g + (h >> 8 & 255) * c->more_g / 255);
	rgb[2] = (uint8_t)(c->b + (h >> 16 & 255) * c->more_b / 255);
	for (i = 0; i < 3; i++) {
		text_char(&f->out, hex[rgb[i] >> 4]);
		text_char(&f->out, hex[rgb[i] & 15]);
	}
}

/* ---- text ----------------------------------------------------------------------------------- */

static void add_text(struct text *t, const char *s)
{
	text_xml(t, s, strlen(s));
}

static void add_format(struct text *t, const char *format, ...)
{
	char buf[160];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(buf, sizeof buf, format, args);
	va_end(args);
	text_add(t, buf, n < (int)sizeof buf ? (size_t)n : sizeof buf - 1);
}

#define BYTES_UNIT "bytes"

static void add_bytes(struct text *t, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes;
	size_t i = 0;

	for (; v >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
		v /= 1024;
	add_format(t, i ? "%.1f %s" : "%.0f %s", v, units[i]);
}

/* With readable units: 1.23 s, 4,567 samples, 1.5 MiB. */
static void add_weight(struct text *t, uint64_t weight, const char *unit)
{
	char digits[32];
	size_t i, n;

	if (unit && !strcmp(unit, BYTES_UNIT)) {
		add_bytes(t, weight);
		return;
	}

	if (!unit) {
		if (weight >= 1000000000)
			add_format(t, "%.2f s", (double)weight / 1e9);
		else
			add_format(t, "%.2f ms", (double)weight / 1e6);
		return;
	}
	n = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)weight);
	for (i = 0; i < n; i++) {
		text_char(t, digits[i]);
		if ((n - i) % 3 == 1 && i + 1 < n)
			text_char(t, ',');
	}
	text_char(t, ' ');
	add_text(t, unit);
}

static const char *name_of(const struct flamegraph *f, uint32_t node, size_t *n)
{
	uint32_t symbol = f->tree->nodes.v[node].symbol;

	*n = node ? strtab_len(&f->stacks.names, symbol) : strlen("all");
	return node ? strtab_get(&f->stacks.names, symbol) : "all";
}

/* Bytes of the first `letters` letters of UTF-8 text. */
static size_t cut_bytes(const char *s, size_t n, size_t letters)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (((uint8_t)s[i] & 0xc0) != 0x80 && !letters--)
			break;
	return i;
}

static void add_label(struct flamegraph *f, const char *name, size_t n, double width)
{
	size_t room = width > 6 ? (size_t)((width - 6) * 10 / LETTER10) : 0;

	if (room < 3)
		return;
	if (cut_bytes(name, n, room) == n) {
		text_xml(&f->out, name, n);
	} else {
		text_xml(&f->out, name, cut_bytes(name, n, room - 1));
		text_str(&f->out, "…");
	}
}

/* "12.30 % to 15.00 %, +2.70 points, +22 %": shares of the total, then the growth of the frame. */
static void add_sides(struct flamegraph *f, uint32_t node)
{
	double base = f->sides[0][node], new = f->sides[1][node];

	add_format(&f->out, "%.2f %% to %.2f %%, %+.2f points, ", 100 * base, 100 * new,
		   100 * (new - base));
	if (!(base > 0))
		text_str(&f->out, "new");
	else if (!(new > 0))
		text_str(&f->out, "gone");
	else
		add_format(&f->out, "%+.0f %%", 100 * (new / base - 1));
}

static void add_box(struct flamegraph *f, const struct box *b)
{
	double x = PAD + (double)b->start * f->scale, width = (double)f->totals[b->node] * f->scale;
	uint32_t row = f->look->inverted ? b->depth : f->rows - 1 - b->depth;
	size_t n;
	const char *name = name_of(f, b->node, &n);

	add_format(&f->out, "<g data-d=\"%u\"><title>", b->depth);
	text_xml(&f->out, name, n);
	text_str(&f->out, " (");
	if (f->opt->diff.is_diff)
		add_sides(f, b->node);
	else
		add_weight(&f->out, f->totals[b->node], f->unit);
	add_format(&f->out, ", %.2f%%)</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" fill=\"#",
		   100.0 * (double)f->totals[b->node] / (double)f->totals[0], x, HEAD + row * ROW,
		   width);
	if (f->opt->diff.is_diff)
		add_difference_colour(f, b->node);
	else
		add_colour(f, b->node);
	add_format(&f->out, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, HEAD + row * ROW + 13);
	add_label(f, name, n, width);
	text_str(&f->out, "</text></g>\n");
}

/* ---- the file ------------------------------------------------------------------------------- */

static void add_sides_legend(struct flamegraph *f)
{
	static const char *const widths[] = {[DIFF_WIDTH_MEAN] = "the mean of both",
					     [DIFF_WIDTH_BASE] = "the base's",
					     [DIFF_WIDTH_NEW] = "the new side's"};
	const struct diff_side *s = f->opt->diff.sides;

	text_str(&f->out,
		 "red: a larger share than in the base, blue: a smaller one, grey: noise by ");
	if (s[0].runs + s[1].runs > 2)
		add_format(&f->out, "the spread of %u + %u runs", s[0].runs, s[1].runs);
	else
		text_str(&f->out, "the number of samples");
	text_str(&f->out, "; widths are ");
	text_str(&f->out, widths[f->look->diff_width]);
}

/* Says what is shown, its total, and how much is left out. */
static void add_subtitle(struct flamegraph *f, const struct event_set *events)
{
	double stitched = format_stitched_share(f->p, f->opt, events->has);
	uint64_t samples = 0;
	size_t i;

	if (f->look->subtitle) {
		add_text(&f->out, f->look->subtitle);
		return;
	}
	if (f->opt->diff.is_diff) {
		add_sides_legend(f);
		return;
	}
	for (i = 0; i < events->n; i++) {
		const struct profile_event *e = &f->p->events.v[events->ids[i]];

		text_str(&f->out, i ? ", " : "");
		add_text(&f->out, strtab_get(&f->p->strings, e->name));
		samples += e->samples;
	}
	text_str(&f->out, ": ");
	add_weight(&f->out, samples, "samples");
	if (!f->unit || strcmp(f->unit, "samples")) {
		text_str(&f->out, ", ");
		add_weight(&f->out, f->totals[0], f->unit);
	}
	if (f->p->info && f->p->info->hostname) {
		text_str(&f->out, " on ");
		add_text(&f->out, f->p->info->hostname);
	}
	if (stitched > 0)
		add_format(&f->out, ", %.1f %% with callers of another sample", 100 * stitched);
}

static void add_title(struct flamegraph *f)
{
	struct text command = {0};

	if (f->look->title) {
		add_text(&f->out, f->look->title);
		return;
	}
	text_str(&f->out, f->opt->diff.is_diff ? "Differential flame graph" : "Flame graph");
	format_command(&command, f->p, f->opt, TITLE_BYTES);
	text_str(&f->out, command.n ? ": " : "");
	text_add(&f->out, command.s ? command.s : "", command.n);
	f->out.failed |= command.failed;
	text_done(&command);
}

static const char style[] =
	"<style>"
	"text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#000}"
	"g[data-d] text{pointer-events:none}"
	"g[data-d] rect{height:17px;cursor:pointer}"
	"g[data-d]:hover rect{stroke:#000;stroke-width:1}"
	".miss rect{fill-opacity:.35}"
	"#title{font-size:16px;text-anchor:middle}#subtitle{text-anchor:middle;fill:#444}"
	".button{cursor:pointer;fill:#06c;text-decoration:underline}#matched{text-anchor:end}"
	"</style>\n";

static void add_head(struct flamegraph *f, const struct event_set *events)
{
	unsigned width = f->width, height = HEAD + f->rows * ROW + FOOT;

	add_format(&f->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\"",
		   width, height);
	add_format(&f->out, " viewBox=\"0 0 %u %u\" data-pad=\"%u\" data-width=\"%u\"", width,
		   height, PAD, width);
	add_format(&f->out, " data-hidden=\"%.4f\" role=\"img\" aria-labelledby=\"title\">\n",
		   100.0 * (double)f->hidden / (double)f->totals[0]);
	text_str(&f->out, style);
	add_format(&f->out, "<style>.hit rect{fill:#%s}</style>\n",
		   palettes[f->look->palette % N_PALETTES].by_kind == safe_colours ? "d640fc"
										   : "fb6ae8");
	add_format(&f->out,
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text id=\"title\" "
		   "x=\"%u\" y=\"22\">",
		   width / 2);
	add_title(f);
	add_format(&f->out, "</text>\n<text id=\"subtitle\" x=\"%u\" y=\"40\">", width / 2);
	add_subtitle(f, events);
	text_str(&f->out, "</text>\n<text id=\"reset\" class=\"button\" x=\"10\" y=\"22\" "
			  "style=\"visibility:hidden\">Reset zoom</text>\n");
	add_format(&f->out,
		   "<text id=\"search\" class=\"button\" x=\"%u\" y=\"22\" "
		   "text-anchor=\"end\">Search</text>\n",
		   width - PAD);
	add_format(&f->out, "<text id=\"details\" x=\"10\" y=\"%u\"> </text>\n", height - 12);
	add_format(&f->out, "<text id=\"matched\" x=\"%u\" y=\"%u\"> </text>\n", width - PAD,
		   height - 12);
}

static int write_picture(struct flamegraph *f, const struct event_set *events, FILE *out)
{
	size_t i;

	add_head(f, events);
	for (i = 0; i < f->boxes.n; i++) {
		add_box(f, &f->boxes.v[i]);
		if (f->out.n > FLUSH_BYTES)
			text_flush(&f->out, out);
	}
	text_str(&f->out, "<script><![CDATA[\n");
	text_add(&f->out, svg_labels_js, (size_t)(svg_labels_js_end - svg_labels_js));
	text_add(&f->out, flamegraph_js, (size_t)(flamegraph_js_end - flamegraph_js));
	text_str(&f->out, "]]></script>\n</svg>\n");
	text_flush(&f->out, out);
	return f->out.failed ? -1 : 0;
}

/* The unit of the weights; NULL: nanoseconds, if all events are clocks. */
static const char *unit_of(const struct flamegraph *f, const struct event_set *events)
{
	const struct profile_event *e = f->p->events.v;
	size_t i;

	if (f->look->count_name || f->opt->count_samples)
		return f->look->count_name ? f->look->count_name : "samples";
	if (events->n == 1 && profile_event_is_bytes(f->p, &e[events->ids[0]]))
		return BYTES_UNIT;
	for (i = 0; i < events->n; i++)
		if (!profile_event_is_clock(&e[events->ids[i]]) || !e[events->ids[i]].period)
			return events->n > 1 ? "events"
					     : strtab_get(&f->p->strings, e[events->ids[i]].name);
	return NULL;
}

static int write_flamegraph(const struct profile *p, const struct output_options *opt,
			    struct event_set *events, FILE *out, struct err *err)
{
	struct flamegraph f = {.p = p, .opt = opt, .look = &opt->picture};
	bool has_width = opt->picture.width >= 100;
	int rc = named_stacks(&f.stacks, p, events, &opt->style, err);

	f.tree = &f.stacks.tree;
	f.width = has_width ? opt->picture.width : PICTURE_WIDTH;
	f.unit = unit_of(&f, events);
	if (!rc && opt->picture.reverse) {
		rc = tree_reverse(&f.reversed, &f.stacks.tree, err);
		f.tree = &f.reversed;
	}
	if (!rc)
		rc = sum_totals(&f, err);
	if (!rc)
		rc = order_by_name(&f, err);
	if (!rc)
		rc = place_boxes(&f, err);
	if (!rc && write_picture(&f, events, out))
		rc = err_nomem(err);
	named_done(&f.stacks);
	tree_done(&f.reversed);
	tree_order_done(&f.order);
	free(f.totals);
	free(f.sides[0]);
	free(f.sides[1]);
	free(f.limits);
	vec_done(&f.boxes);
	text_done(&f.out);
	return rc;
}

const struct output_format format_flamegraph = {
	.name = "flamegraph",
	.help = "a picture (SVG) to click through in any browser",
	.suffixes = ".svg",
	.shows_sides = true,
	.write = write_flamegraph,
};
