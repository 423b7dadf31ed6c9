/* picture_list.c - the list of boxes that the script of a flame graph reads when it is asked for
 * something: lines of names, "RRGGBB NAME"; an empty line; then a line of each row, from the root
 * on, with its boxes from left to right. A box is numbers of base 36 with points between them: its
 * name, the weight between it and the box before, its weight; of a difference also the shares of
 * base and new in 1e-9, and its colour. */
#include "base/sum.h"
#include "output/formats.h"
#include "output/picture.h"

static void add_base36(struct text *t, uint64_t v)
{
	char digits[16];
	size_t n = sizeof digits;

	do
		digits[--n] = "0123456789abcdefghijklmnopqrstuvwxyz"[v % 36];
	while (v /= 36);
	text_add(t, digits + n, sizeof digits - n);
}

/* Numbers names in the order of their first box. */
static void add_names(struct flamegraph *f)
{
	uint32_t used = 1;
	size_t i, n;

	for (i = 0; i < f->boxes.n; i++) {
		uint32_t node = f->boxes.v[i].node;
		uint32_t *number = &f->names[f->tree->nodes.v[node].symbol];
		const char *name = picture_name(f, node, &n);

		if (node && *number)
			continue;
		if (node)
			*number = used++;
		text_hex_digits(&f->out, picture_colour(f, node, false), 6);
		text_char(&f->out, ' ');
		text_xml(&f->out, name, n);
		text_char(&f->out, '\n');
	}
}

static void add_list_box(struct flamegraph *f, const struct box *b, uint64_t before)
{
	uint32_t node = b->node;
	size_t k;

	add_base36(&f->out, node ? f->names[f->tree->nodes.v[node].symbol] : 0);
	text_char(&f->out, '.');
	add_base36(&f->out, b->start - before);
	text_char(&f->out, '.');
	add_base36(&f->out, f->totals[node]);
	for (k = 0; k < 2 && f->opt->diff.is_diff; k++) {
		text_char(&f->out, '.');
		add_base36(&f->out, (uint64_t)(f->sides[k][node] * 1e9 + .5));
	}
	if (f->opt->diff.is_diff) {
		text_char(&f->out, '.');
		add_base36(&f->out, picture_colour(f, node, false));
	}
}

void picture_list(struct flamegraph *f, FILE *out)
{
	uint64_t end = 0;
	size_t i;

	text_str(&f->out, "<metadata id=\"list\">");
	add_names(f);
	for (i = 0; i < f->boxes.n; i++) {
		const struct box *b = &f->boxes.v[i];
		bool is_first = !i || b->depth != b[-1].depth;

		text_char(&f->out, is_first ? '\n' : ' ');
		add_list_box(f, b, is_first ? 0 : end);
		end = add_saturated(b->start, f->totals[b->node]);
		if (f->out.n > FLUSH_BYTES)
			text_flush(&f->out, out);
	}
	text_str(&f->out, "</metadata>\n");
}
