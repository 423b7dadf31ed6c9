/* debug_sup.c - reads .gnu_debugaltlink and .debug_sup. */
#include "modules/debug_sup.h"

#include <string.h>

#include "base/buf.h"

static struct build_id take_id(struct buf *b, uint64_t n)
{
	struct build_id id = {0};

	if (n > buf_left(b))
		return id;
	id.size = n < BUILD_ID_MAX ? (uint8_t)n : BUILD_ID_MAX;
	memcpy(id.bytes, b->p, id.size);
	return id;
}

static bool open_section(struct elf_image *img, const char *name, struct buf *b)
{
	struct elf_section s;

	if (!elf_image_section(img, name, &s, NULL) || !s.data)
		return false;
	*b = buf_make(s.data, s.size, s.off, elf_image_swapped(img));
	return true;
}

static bool read_sup(struct elf_image *img, bool *is_supplementary, struct debug_sup_link *ret)
{
	struct buf b;

	if (!open_section(img, ".debug_sup", &b) || buf_u16(&b) != 5)
		return false;
	*is_supplementary = buf_u8(&b);
	ret->path = buf_cstr(&b);
	ret->id = take_id(&b, buf_uleb(&b));
	return buf_ok(&b) && ret->path && ret->id.size;
}

bool debug_sup_link(struct elf_image *img, struct debug_sup_link *ret)
{
	bool is_supplementary;
	struct buf b;

	if (open_section(img, ".gnu_debugaltlink", &b)) {
		ret->path = buf_cstr(&b);
		ret->id = take_id(&b, buf_left(&b));
		return ret->path && *ret->path && ret->id.size;
	}
	return read_sup(img, &is_supplementary, ret) && !is_supplementary && *ret->path;
}

bool debug_sup_id(struct elf_image *img, struct build_id *ret)
{
	struct debug_sup_link link;
	bool is_supplementary;

	if (!read_sup(img, &is_supplementary, &link) || !is_supplementary)
		return false;
	*ret = link.id;
	return true;
}
