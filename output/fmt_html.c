/* fmt_html.c - one page that needs no other file and no network: the template of output/page/, its
 * style and scripts, and the profile (page_data.h), deflated and in base64. */
#include <stdlib.h>
#include <zlib.h>

#include "base/err.h"
#include "output/embed.h"
#include "output/formats.h"
#include "output/page_data.h"

EMBED(page_html, "output/page/page.html");
EMBED(page_css, "output/page/page.css");
EMBED(page_data_js, "output/page/data.js");
EMBED(page_text_js, "output/page/text.js");
EMBED(page_labels_js, "output/page/labels.js");
EMBED(page_colours_js, "output/page/colours.js");
EMBED(page_tree_js, "output/page/tree.js");
EMBED(page_diff_js, "output/page/diff.js");
EMBED(page_tasks_js, "output/page/tasks.js");
EMBED(page_link_js, "output/page/link.js");
EMBED(page_model_js, "output/page/model.js");
EMBED(page_state_js, "output/page/state.js");
EMBED(page_tip_js, "output/page/tip.js");
EMBED(page_menu_js, "output/page/menu.js");
EMBED(page_graph_js, "output/page/graph.js");
EMBED(page_table_js, "output/page/table.js");
EMBED(page_time_js, "output/page/time.js");
EMBED(page_spans_js, "output/page/spans.js");
EMBED(page_main_js, "output/page/main.js");

#define PART(name)               \
	{                        \
		name, name##_end \
	}
static void xml(struct text *t, const char *s)
{
	text_xml(t, s, strlen(s));
}

static const struct {
	const char *start, *end;
} scripts[] = {
	PART(page_data_js),  PART(page_text_js),  PART(page_labels_js), PART(page_colours_js),
	PART(page_tree_js),  PART(page_diff_js),  PART(page_tasks_js),	PART(page_link_js),
	PART(page_model_js), PART(page_state_js), PART(page_tip_js),	PART(page_menu_js),
	PART(page_graph_js), PART(page_table_js), PART(page_spans_js),	PART(page_time_js),
	PART(page_main_js),
};

/* RFC 4648, section 4. */
static void add_base64(struct text *out, const uint8_t *s, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t i;

	for (i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)s[i] << 16 | (i + 1 < n ? (uint32_t)s[i + 1] << 8 : 0) |
			     (i + 2 < n ? s[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
				i + 1 < n ? digits[v >> 6 & 63] : '=',
				i + 2 < n ? digits[v & 63] : '='};

		text_add(out, four, 4);
	}
}

/* Level 9 takes as long for a big page as all the rest, four times as long as level 6, whose bytes
 * are half a percent more. */
enum { BEST_MAX_BYTES = 4 << 20 };

/* Deflates with zlib's header, which has no time: equal input gives equal bytes. */
static int add_deflated(struct text *out, const struct text *data, struct err *err)
{
	const int level = data->n <= BEST_MAX_BYTES ? 9 : 6;
	uLong size = compressBound(data->n);
	uint8_t *bytes = malloc(size);
	int rc = bytes ? 0 : err_nomem(err);

	if (!rc && compress2(bytes, &size, (const Bytef *)data->s, data->n, level) != Z_OK)
		rc = err_nomem(err);
	if (!rc)
		add_base64(out, bytes, size);
	free(bytes);
	return rc;
}

/* The title of the options, else of a difference the names of its sides, else format_command(). */
static void add_title(struct text *t, const struct profile *p, const struct output_options *opt)
{
	size_t before = t->n;

	if (opt->picture.title) {
		xml(t, opt->picture.title);
	} else if (opt->diff.is_diff) {
		xml(t, opt->diff.sides[0].name ? opt->diff.sides[0].name : "base");
		text_str(t, " → ");
		xml(t, opt->diff.sides[1].name ? opt->diff.sides[1].name : "new");
	} else {
		format_command(t, p, opt, SIZE_MAX);
	}
	text_str(t, t->n == before ? "Profile" : "");
}

struct page_parts {
	const struct profile *p;
	const struct output_options *opt;
	const struct text *data;
};

/* Writes the part that replaces a placeholder of the template. */
static int add_part(struct text *out, const char *name, size_t n, const struct page_parts *parts,
		    struct err *err)
{
	size_t i;

	switch (name[0]) {
	case 'T':
		add_title(out, parts->p, parts->opt);
		return 0;
	case 'C':
		text_add(out, page_css, (size_t)(page_css_end - page_css));
		return 0;
	case 'D':
		return add_deflated(out, parts->data, err);
	case 'J':
		for (i = 0; i < sizeof scripts / sizeof *scripts; i++)
			text_add(out, scripts[i].start,
				 (size_t)(scripts[i].end - scripts[i].start));
		return 0;
	}
	text_add(out, name, n);
	return 0;
}

/* Placeholders are capital letters between two @. */
static int write_page(FILE *out, const struct page_parts *parts, struct err *err)
{
	const char *s = page_html, *at;
	struct text text = {0};
	int rc = 0;

	while (!rc && (at = memchr(s, '@', (size_t)(page_html_end - s)))) {
		size_t n = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

		text_add(&text, s, (size_t)(at - s));
		if (n && at[n + 1] == '@') {
			rc = add_part(&text, at + 1, n, parts, err);
			s = at + n + 2;
		} else {
			text_char(&text, '@');
			s = at + 1;
		}
	}
	text_add(&text, s, (size_t)(page_html_end - s));
	text_flush(&text, out);
	if (!rc && text.failed)
		rc = err_nomem(err);
	text_done(&text);
	return rc;
}

static int write_html(const struct profile *p, const struct output_options *opt,
		      struct event_set *events, FILE *out, struct err *err)
{
	struct text data = {0};
	int rc = page_data(&data, p, opt, events, err);

	if (!rc)
		rc = write_page(out, &(struct page_parts){p, opt, &data}, err);
	text_done(&data);
	return rc;
}

const struct output_format format_html = {
	.name = "html",
	.help = "one page to explore: flame graph, search, callers, times, tasks",
	.suffixes = ".html .htm",
	.keep = PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE | PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS |
		PROFILE_KEEP_LABELS,
	.names_events = true,
	.honours = OUTPUT_SIDES | OUTPUT_TITLE | OUTPUT_BY | OUTPUT_ARGS,
	.write = write_html,
};
