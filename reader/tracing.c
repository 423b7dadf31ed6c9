/* tracing.c - walks TRACING_DATA. */
#include "reader/tracing.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { SYSTEM_BYTES = 128 };

static bool take_head(struct buf *b, struct tracing_head *h, bool is_native_big)
{
	const uint8_t *magic = buf_take(b, 10);
	const char *version, *word;

	if (!magic || memcmp(magic, "\x17\x08\x44tracing", 10) != 0)
		return false;
	version = buf_cstr(b);
	h->is_big_endian = buf_u8(b);
	b->swap = h->is_big_endian != is_native_big;
	h->long_size = buf_u8(b);
	buf_skip(b, 4); /* page size */
	word = buf_cstr(b);
	if (!version || !word || strcmp(word, "header_page") != 0)
		return false;
	h->page_bytes = (size_t)buf_u64(b);
	h->page = buf_take(b, h->page_bytes);
	word = buf_cstr(b);
	if (!h->page || !word || strcmp(word, "header_event") != 0)
		return false;
	buf_skip(b, (size_t)buf_u64(b));
	return buf_ok(b);
}

/* u64 size, text. */
static int take_formats(struct buf *b, uint32_t n, const char *system,
			int (*take)(void *arg, const char *system, const char *format, size_t n),
			void *arg)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t size = buf_u64(b);
		const uint8_t *text = buf_take(b, (size_t)size);
		int rc = text ? take(arg, system, (const char *)text, (size_t)size) : -1;

		if (rc)
			return rc;
	}
	return 0;
}

int tracing_walk(const uint8_t *data, size_t n, struct tracing_head *head,
		 int (*take)(void *arg, const char *system, const char *format, size_t n),
		 void *arg)
{
	const uint16_t one = 1;
	struct buf b = buf_make(data, n, 0, false);
	uint32_t systems;
	int rc;

	*head = (struct tracing_head){0};
	if (!take_head(&b, head, !*(const uint8_t *)&one))
		return -1;
	rc = take_formats(&b, buf_u32(&b), "ftrace", take, arg);
	systems = buf_u32(&b);
	for (uint32_t i = 0; !rc && i < systems; i++) {
		const char *system = buf_cstr(&b);

		if (!system || strlen(system) >= SYSTEM_BYTES)
			return -1;
		rc = take_formats(&b, buf_u32(&b), system, take, arg);
	}
	return rc;
}

/* What stands behind a word at the start of a line. */
static const char *line_value(const char *format, size_t n, const char *word, size_t *len)
{
	const size_t word_len = strlen(word);
	const char *end = format + n, *eol;

	for (const char *p = format; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		if ((size_t)(eol - p) > word_len && !memcmp(p, word, word_len)) {
			*len = (size_t)(eol - p) - word_len;
			return p + word_len;
		}
	}
	return NULL;
}

bool tracing_name(const char *format, size_t n, const char **name, size_t *len, uint64_t *id)
{
	char digits[24] = "";
	size_t id_len;
	const char *text = line_value(format, n, "ID: ", &id_len);

	*name = line_value(format, n, "name: ", len);
	if (!*name || !text || id_len >= sizeof digits)
		return false;
	memcpy(digits, text, id_len);
	*id = strtoull(digits, NULL, 10);
	return true;
}
