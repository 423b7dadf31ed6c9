/* same_code.c - is the code of two files equal? Build ids can be given to the linker, so that
 * builds of different code have one; and strip leaves the build id as it is. */
#include <string.h>

#include "modules/image.h"

/* Holes of a file from a recording are zeros. */
static bool has_holes(const struct elf_image *img)
{
	return image_has(img, MODULE_PART_SECTION);
}

/* Do bytes differ that both have? */
static bool differ_outside_of_holes(const uint8_t *a, const uint8_t *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (a[i] && b[i] && a[i] != b[i])
			return true;
	return false;
}

bool image_is_same_code(const struct elf_image *file, const struct elf_image *recorded)
{
	const struct elf_segment *s;
	const size_t n = elf_image_segments(recorded, &s);
	size_t size, recorded_size, same = 0;
	const uint8_t *a = elf_image_bytes(file, &size);
	const uint8_t *b = elf_image_bytes(recorded, &recorded_size);

	for (size_t i = 0; i < n; i++) {
		uint64_t at = s[i].off;
		const uint64_t end = s[i].off + s[i].filesz;

		if (!(s[i].flags & PF_X) || end < at || end > size || end > recorded_size)
			continue;
		/* The first lines say where the sections are. */
		for (at = at < sizeof(Elf64_Ehdr) ? sizeof(Elf64_Ehdr) : at; at < end; at++) {
			if (b[at] && a[at] != b[at])
				return false;
			same += b[at] != 0;
		}
	}
	return same;
}

static bool is_same_segment(const struct elf_segment *a, const struct elf_segment *b)
{
	return a->off == b->off && a->vaddr == b->vaddr && a->filesz == b->filesz &&
	       a->memsz == b->memsz && a->flags == b->flags;
}

static bool is_same_file(const struct elf_image *a, const struct elf_image *b)
{
	return a == b || (a->file.ino && a->file.ino == b->file.ino && a->file.dev == b->file.dev);
}

/* Is it known that the code of two files with one build id differs? */
static bool has_other_code(const struct elf_image *a, const struct elf_image *b)
{
	const bool holes = has_holes(a) || has_holes(b);

	if (is_same_file(a, b))
		return false;
	if (a->n_segments != b->n_segments)
		return true;
	for (size_t i = 0; i < a->n_segments; i++) {
		const struct elf_segment *s = &a->segments[i];
		const uint64_t skip = s->off < sizeof(Elf64_Ehdr) ? sizeof(Elf64_Ehdr) - s->off : 0;
		const uint64_t n = s->filesz > skip ? s->filesz - skip : 0;
		const uint8_t *x, *y;

		if (!is_same_segment(s, &b->segments[i]))
			return true;
		if (!(s->flags & PF_X) || !n)
			continue;
		x = image_bytes_at(a, s->off + skip, n);
		y = image_bytes_at(b, s->off + skip, n);
		/* What was cut off tells nothing. */
		if (x && y && (holes ? differ_outside_of_holes(x, y, n) : memcmp(x, y, n) != 0))
			return true;
	}
	return false;
}

bool module_has_other_code(const struct module *a, const struct module *b)
{
	return a->image && b->image && has_other_code(a->image, b->image);
}
