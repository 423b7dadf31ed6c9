/* fmt_flamegraph.c - one SVG file that any browser opens: zoom, search, reset; no other file is
 * needed, and without its script the picture is seen too.
 *
 * A frame is as wide as its share of the weight. Frames narrower than min_width pixels are left
 * out, and the picture says how much that is. Names of options and their meaning as in
 * flamegraph.pl and inferno. Source of truth: W3C SVG 1.1. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/embed.h"
#include "output/formats.h"
#include "output/picture.h"
#include "profile/profile.h"
#include "reader/reader.h"

EMBED(svg_labels_js, "output/page/labels.js");
EMBED(flamegraph_js, "output/page/flamegraph.js");

enum {
	ROW = 18,  /* pixels from frame to frame */
	HEAD = 62, /* title, second line, buttons */
	FOOT = 34, /* details, share of a search */
	TITLE_BYTES = 90,
	/* Advance width of a letter of 12 px, in tenths of a pixel; browsers measure again. */
	LETTER10 = 72,
	LEAST_LETTERS = 3,     /* of a label */
	TOOLTIP_LETTERS = 160, /* of a name: deep stacks of long names would be gigabytes */
};
#define TOUCHES 0.05 /* pixels */

static void add_format(struct text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

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

/* Bytes of the first `letters` letters of UTF-8 text. */
static size_t cut_bytes(const char *s, size_t n, size_t letters)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (((uint8_t)s[i] & 0xc0) != 0x80 && !letters--)
			break;
	return i;
}

static size_t room_of(double width)
{
	return width > 6 ? (size_t)((width - 6) * 10 / LETTER10) : 0;
}

static void add_cut(struct flamegraph *f, const char *name, size_t n, size_t room)
{
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

/* ---- boxes ----------------------------------------------------------------------------------
 *
 * A frame that has room for letters is a group of its own. The others of a row are paths, one of
 * each colour, so that browsers have few elements: what is known of them is in the list (below). */

static double width_of(const struct flamegraph *f, const struct box *b)
{
	return (double)f->totals[b->node] * f->scale;
}

static double x_of(const struct flamegraph *f, const struct box *b)
{
	return PICTURE_PAD + (double)b->start * f->scale;
}

static uint32_t y_of(const struct flamegraph *f, uint32_t depth)
{
	return HEAD + (f->look->inverted ? depth : f->rows - 1 - depth) * ROW;
}

/* "NAME (WEIGHT, SHARE)"; of a long name the beginning. */
static void add_tooltip(struct flamegraph *f, const struct box *b)
{
	size_t n;
	const char *name = picture_name(f, b->node, &n);

	text_str(&f->out, "<title>");
	add_cut(f, name, n, TOOLTIP_LETTERS);
	text_str(&f->out, " (");
	if (f->opt->diff.is_diff)
		add_sides(f, b->node);
	else
		add_weight(&f->out, f->totals[b->node], f->unit);
	add_format(&f->out, ", %.2f%%)</title>",
		   100.0 * (double)f->totals[b->node] / (double)f->totals[0]);
}

static void add_wide_box(struct flamegraph *f, const struct box *b)
{
	double x = x_of(f, b), width = width_of(f, b);
	uint32_t y = y_of(f, b->depth);
	size_t n;
	const char *name = picture_name(f, b->node, &n);

	text_str(&f->out, "<g>");
	add_tooltip(f, b);
	add_format(&f->out,
		   "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"#%06x\"/>", x, y,
		   width, ROW - 1, picture_colour(f, b->node, false));
	add_format(&f->out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
	add_cut(f, name, n, room_of(width));
	text_str(&f->out, "</text></g>\n");
}

/* Narrow boxes: what is drawn of them. */
struct stripe {
	uint32_t colour;
	double x, end;
};

struct stripes {
	VEC(struct stripe) list;
};

/* What touches the box before and has its colour is one with it, where neither is a pixel wide. */
static int add_stripe(struct stripes *s, const struct flamegraph *f, const struct box *b)
{
	double x = x_of(f, b), width = width_of(f, b);
	struct stripe new = {picture_colour(f, b->node, width < 1), x, x + width};
	struct stripe *last = s->list.n ? &s->list.v[s->list.n - 1] : NULL;

	if (last && width < 1 && last->colour == new.colour &&x - last->end < TOUCHES) {
		last->end = new.end;
		return 0;
	}
	return vec_push(&s->list, new);
}

static int compare_stripes(const void *pa, const void *pb)
{
	const struct stripe *a = pa, *b = pb;

	if (a->colour != b->colour)
		return a->colour < b->colour ? -1 : 1;
	return (a->x > b->x) - (a->x < b->x);
}

static void add_stripes(struct flamegraph *f, struct stripes *s, uint32_t y)
{
	size_t i;

	if (s->list.n)
		qsort(s->list.v, s->list.n, sizeof *s->list.v, compare_stripes);
	for (i = 0; i < s->list.n; i++) {
		const struct stripe *t = &s->list.v[i];
		double width = t->end - t->x;

		if (!i || t->colour != t[-1].colour)
			add_format(&f->out, "%s<path fill=\"#%06x\" d=\"", i ? "\"/>\n" : "",
				   t->colour);
		add_format(&f->out, "M%.2f %uh%.2fv%uh-%.2fz", t->x, y, width, ROW - 1, width);
	}
	text_str(&f->out, s->list.n ? "\"/>\n" : "");
	s->list.n = 0;
}

/* Adds one row, whose first box is boxes[i]; returns the index of the next row's first. */
static size_t add_row(struct flamegraph *f, struct stripes *s, size_t i)
{
	uint32_t depth = f->boxes.v[i].depth;

	for (; i < f->boxes.n && f->boxes.v[i].depth == depth; i++)
		if (room_of(width_of(f, &f->boxes.v[i])) >= LEAST_LETTERS)
			add_wide_box(f, &f->boxes.v[i]);
		else if (add_stripe(s, f, &f->boxes.v[i]))
			f->out.failed = true;
	add_stripes(f, s, y_of(f, depth));
	return i;
}

static void add_boxes(struct flamegraph *f, FILE *out)
{
	struct stripes stripes = {0};
	size_t i = 0;

	text_str(&f->out, "<g id=\"boxes\">\n");
	while (i < f->boxes.n) {
		i = add_row(f, &stripes, i);
		if (f->out.n > FLUSH_BYTES)
			text_flush(&f->out, out);
	}
	text_str(&f->out, "</g>\n");
	vec_done(&stripes.list);
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

/* Says what was given up so that a browser can show the picture. */
static void add_limits(struct flamegraph *f)
{
	if (f->too_deep)
		add_format(&f->out, "; levels below %u are not drawn", PICTURE_ROWS);
	if (f->min_width > f->look->min_width)
		add_format(&f->out, "; frames under %.1f px are not drawn", f->min_width);
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
	"#boxes{cursor:pointer}.miss rect,path.miss{fill-opacity:.35}.around rect{opacity:.5}"
	"#over{fill:none;stroke:#000;pointer-events:none;visibility:hidden}"
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
		   height, PICTURE_PAD, width);
	add_format(&f->out, " data-rows=\"%u\" data-row=\"%u\" data-head=\"%u\" data-up=\"%u\"",
		   f->rows, ROW, HEAD, !f->look->inverted);
	add_format(&f->out, " data-hit=\"#%06x\" data-unit=\"", picture_hit_colour(f));
	add_text(&f->out, f->unit ? f->unit : "ns");
	add_format(&f->out, "\" data-hidden=\"%.4f\" role=\"img\" aria-labelledby=\"title\">\n",
		   f->totals[0] ? 100.0 * (double)f->hidden / (double)f->totals[0] : 0);
	text_str(&f->out, style);
	add_format(&f->out,
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text id=\"title\" "
		   "x=\"%u\" y=\"22\">",
		   width / 2);
	add_title(f);
	add_format(&f->out, "</text>\n<text id=\"subtitle\" x=\"%u\" y=\"40\">", width / 2);
	add_subtitle(f, events);
	add_limits(f);
	text_str(&f->out, "</text>\n<text id=\"reset\" class=\"button\" x=\"10\" y=\"22\" "
			  "style=\"visibility:hidden\">Reset zoom</text>\n");
	add_format(&f->out,
		   "<text id=\"search\" class=\"button\" x=\"%u\" y=\"22\" "
		   "text-anchor=\"end\">Search</text>\n",
		   width - PICTURE_PAD);
	add_format(&f->out, "<text id=\"details\" x=\"10\" y=\"%u\"> </text>\n", height - 12);
	add_format(&f->out, "<text id=\"matched\" x=\"%u\" y=\"%u\"> </text>\n",
		   width - PICTURE_PAD, height - 12);
}

static int write_picture(struct flamegraph *f, const struct event_set *events, FILE *out)
{
	add_head(f, events);
	add_boxes(f, out);
	text_str(&f->out, "<rect id=\"over\" height=\"17\"/>\n");
	picture_list(f, out);
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
		rc = picture_place(&f, err);
	if (!rc && write_picture(&f, events, out))
		rc = err_nomem(err);
	picture_done(&f);
	return rc;
}

const struct output_format format_flamegraph = {
	.name = "flamegraph",
	.help = "a picture (SVG) to click through in any browser",
	.suffixes = ".svg",
	.honours = OUTPUT_NAMED_STACKS | OUTPUT_SIDES | OUTPUT_TITLE | OUTPUT_PICTURE,
	.write = write_flamegraph,
};
