/* gzip.c - a gzip stream into a FILE, through zlib. */
#include "output/gzip.h"

static void run(struct gzip *g, char *data, size_t n, int flush)
{
	unsigned char buf[32768];
	unsigned part;

	g->z.next_in = (Bytef *)data;
	do {
		part = n < UINT32_MAX ? (unsigned)n : UINT32_MAX;
		n -= part;
		g->z.avail_in = part;
		do {
			g->z.next_out = buf;
			g->z.avail_out = sizeof buf;
			/* With a valid stream and room in buf, deflate() cannot fail. */
			deflate(&g->z, n ? Z_NO_FLUSH : flush);
			fwrite(buf, 1, sizeof buf - g->z.avail_out, g->out);
		} while (!g->z.avail_out);
	} while (n);
}

int gzip_begin(struct gzip *g, FILE *out, bool plain, struct err *err)
{
	const int gzip_wrapper = 16;

	*g = (struct gzip){.out = out, .plain = plain};
	if (!plain &&
	    deflateInit2(&g->z, 6, Z_DEFLATED, 15 + gzip_wrapper, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem(err);
	return 0;
}

void gzip_add(struct gzip *g, struct text *t)
{
	if (g->plain)
		text_flush(t, g->out);
	else
		run(g, t->s, t->n, Z_NO_FLUSH);
	t->n = 0;
}

void gzip_end(struct gzip *g)
{
	if (g->plain)
		return;
	run(g, NULL, 0, Z_FINISH);
	deflateEnd(&g->z);
}
