/* elf_image.c - opens an ELF file, validates its headers, finds its segments.
 *
 * Everything from the file is read through struct buf or image_bytes_at(). Fields are widened to 64
 * bits and converted to native byte order once, here. Source: ELF gABI chapters 4 (header) and 5
 * (program loading), with the extended numbering of e_phnum, e_shnum and e_shstrndx. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rooted.h"
#include "modules/decompress.h"
#include "modules/image.h"
#include "modules/zip.h"

/* In private mappings, of data too, the kernel shows its probes in place of the code (valid_vma()
 * in kernel/events/uprobes.c). */
#define SHOWN_AS_IS MAP_SHARED

/* ---- headers ----------------------------------------------------------------------------- */

const uint8_t *image_bytes_at(const struct elf_image *img, uint64_t off, uint64_t size)
{
	if (off > img->size || size > img->size - off)
		return NULL;
	return img->bytes + off;
}

/* Elf32_Addr, Elf32_Off or their 64-bit forms. */
static uint64_t read_word(struct buf *b, bool is_64)
{
	return is_64 ? buf_u64(b) : buf_u32(b);
}

static int read_ehdr(struct elf_image *img, struct err *err)
{
	struct buf b = buf_make(img->bytes, img->size, 0, false);
	const uint8_t *ident = buf_take(&b, EI_NIDENT);
	Elf64_Ehdr *h = &img->ehdr;

	if (!ident || memcmp(ident, ELFMAG, SELFMAG))
		return err_set(err, ERR_FORMAT, img->path, "not an ELF file");
	if ((ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
	    (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
		return err_set(err, ERR_DAMAGED, img->path, "ELF class or byte order is unknown");
	img->is_64 = ident[EI_CLASS] == ELFCLASS64;
	img->swapped = (ident[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER == __BIG_ENDIAN);
	b.swap = img->swapped;
	memcpy(h->e_ident, ident, EI_NIDENT);
	h->e_type = buf_u16(&b);
	h->e_machine = buf_u16(&b);
	h->e_version = buf_u32(&b);
	h->e_entry = read_word(&b, img->is_64);
	h->e_phoff = read_word(&b, img->is_64);
	h->e_shoff = read_word(&b, img->is_64);
	h->e_flags = buf_u32(&b);
	h->e_ehsize = buf_u16(&b);
	h->e_phentsize = buf_u16(&b);
	h->e_phnum = buf_u16(&b);
	h->e_shentsize = buf_u16(&b);
	h->e_shnum = buf_u16(&b);
	h->e_shstrndx = buf_u16(&b);
	if (!buf_ok(&b))
		return err_set(err, ERR_DAMAGED, img->path, "ELF header is cut");
	return 0;
}

static Elf64_Phdr read_phdr(struct buf *b, bool is_64)
{
	Elf64_Phdr p = {0};

	p.p_type = buf_u32(b);
	if (is_64)
		p.p_flags = buf_u32(b);
	p.p_offset = read_word(b, is_64);
	p.p_vaddr = read_word(b, is_64);
	p.p_paddr = read_word(b, is_64);
	p.p_filesz = read_word(b, is_64);
	p.p_memsz = read_word(b, is_64);
	if (!is_64)
		p.p_flags = buf_u32(b);
	p.p_align = read_word(b, is_64);
	return p;
}

/* PN_XNUM: the count is in sh_info of section 0. */
static size_t phdr_count(const struct elf_image *img)
{
	uint64_t info_at = img->is_64 ? 44 : 28;
	struct buf b;
	const uint8_t *p;

	if (img->ehdr.e_phnum != PN_XNUM)
		return img->ehdr.e_phnum;
	p = img->ehdr.e_shoff ? image_bytes_at(img, img->ehdr.e_shoff, info_at + 4) : NULL;
	if (!p)
		return 0;
	b = buf_make(p + info_at, 4, 0, img->swapped);
	return buf_u32(&b);
}

static int read_phdrs(struct elf_image *img, struct err *err)
{
	size_t entsize = img->ehdr.e_phentsize, n = phdr_count(img), i;
	const uint8_t *table;

	if (!n)
		return 0;
	if (entsize < (img->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return err_set(err, ERR_DAMAGED, img->path, "program header size is wrong");
	table = image_bytes_at(img, img->ehdr.e_phoff, (uint64_t)n * entsize);
	if (!table)
		return err_at(err, ERR_DAMAGED, img->path, img->ehdr.e_phoff,
			      "program headers lie outside of the file");
	img->phdrs = calloc(n, sizeof *img->phdrs);
	img->segments = calloc(n, sizeof *img->segments);
	if (!img->phdrs || !img->segments)
		return err_nomem(err);
	for (i = 0; i < n; i++) {
		struct buf b = buf_make(table + i * entsize, entsize, 0, img->swapped);
		Elf64_Phdr p = read_phdr(&b, img->is_64);

		img->phdrs[img->n_phdrs++] = p;
		if (p.p_type == PT_LOAD)
			img->segments[img->n_segments++] = (struct elf_segment){
				p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, p.p_flags};
	}
	return 0;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Takes ownership of the bytes. */
static int image_make(struct elf_image **ret, const uint8_t *bytes, size_t size,
		      size_t mapped_bytes, const char *name, struct err *err)
{
	struct elf_image *img = calloc(1, sizeof *img);
	int rc;

	if (!img) {
		if (mapped_bytes)
			munmap((void *)(uintptr_t)bytes, mapped_bytes);
		else
			free((void *)(uintptr_t)bytes);
		return err_nomem(err);
	}
	img->bytes = bytes;
	img->size = img->stored_bytes = size;
	img->mapped_bytes = mapped_bytes;
	pthread_mutex_init(&img->lock, NULL);
	pthread_cond_init(&img->inflated, NULL);
	img->path = strdup(name);
	rc = img->path ? read_ehdr(img, err) : err_nomem(err);
	if (!rc)
		rc = read_phdrs(img, err);
	if (!rc)
		rc = image_read_sections(img, err);
	if (!rc && !img->n_sections)
		rc = image_sections_from_dynamic(img, err);
	if (rc) {
		elf_image_close(img);
		return rc;
	}
	img->build_id = image_note_build_id(img);
	*ret = img;
	return 0;
}

int elf_image_open_unpacked(struct elf_image **ret, uint8_t *bytes, size_t size,
			    size_t stored_bytes, const char *name, struct err *err)
{
	int rc = image_make(ret, bytes, size, 0, name, err);

	if (!rc)
		(*ret)->stored_bytes = stored_bytes;
	return rc;
}

int elf_image_open_memory(struct elf_image **ret, const void *data, size_t size, const char *name,
			  struct err *err)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return err_nomem(err);
	memcpy(copy, data, size);
	return image_make(ret, copy, size, 0, name, err);
}

int image_open_mapped(struct elf_image **ret, struct bundle_bytes *bytes, const char *name,
		      struct err *err)
{
	const struct bundle_bytes b = *bytes;

	*bytes = (struct bundle_bytes){0};
	return image_make(ret, b.v, b.n, b.mapped, name, err);
}

static uint64_t mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

/* A file in an archive: a mapping of its own if it lies where one can begin, which loaders demand,
 * else a copy. */
static int open_part(struct elf_image **ret, int fd, const struct zip_part *part, const char *name,
		     struct err *err)
{
	const size_t size = (size_t)part->size;
	void *p = mmap(NULL, size, PROT_READ, SHOWN_AS_IS, fd, (off_t)part->start);
	uint8_t *copy;

	if (p != MAP_FAILED)
		return image_make(ret, p, size, size, name, err);
	copy = malloc(size);
	if (!copy)
		return err_nomem(err);
	if (pread(fd, copy, size, (off_t)part->start) == (ssize_t)size)
		return image_make(ret, copy, size, 0, name, err);
	free(copy);
	return err_set(err, ERR_DAMAGED, name, "cannot be read from its archive");
}

static int open_in_archive(struct elf_image **ret, int fd, const struct stat *st, const char *name,
			   struct err *err)
{
	const char *wanted = zip_name_in(name);
	struct zip_part part;
	struct zip *z = NULL;
	int rc = zip_open(&z, fd);

	if (rc == -ERR_NOMEM)
		return err_nomem(err);
	if (rc)
		return err_set(err, ERR_DAMAGED, name,
			       "the archive has no directory that is understood");
	if (zip_named(z, fd, wanted, &part))
		rc = open_part(ret, fd, &part, name, err);
	else
		rc = err_set(err, ERR_NOT_FOUND, name, "not in the archive, or compressed there");
	zip_free(z);
	if (!rc)
		(*ret)->mtime_ns = mtime_ns(st);
	return rc;
}

/* If a file is truncated while it is mapped, reading it kills a process that has not called
 * pages_survive_cuts(); otherwise its end reads as zeros, like any damaged file. The file is not
 * copied instead, because copying debug files of hundreds of megabytes would cost time in every
 * run. */
int elf_image_open_fd(struct elf_image **ret, int fd, const char *name, struct err *err)
{
	struct stat st;
	uint8_t *plain;
	size_t size, plain_size;
	void *p;
	int rc;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return err_set(err, ERR_FORMAT, name, "empty, or not a regular file");
	if (zip_name_in(name) && zip_is_one(fd))
		return open_in_archive(ret, fd, &st, name, err);
	/* The kernel runs files with anything behind their segments. */
	size = (size_t)rooted_data_end(fd, &st);
	p = mmap(NULL, size, PROT_READ, SHOWN_AS_IS, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(err, errno, name, "map");
	if (decompress_is_stream(p, size)) {
		/* Kernel modules come as .ko.xz, .ko.gz and .ko.zst. */
		rc = decompress_stream(p, size, &plain, &plain_size);
		munmap(p, size);
		if (rc)
			return err_set(err, (enum err_code) - rc, name,
				       "cannot be decompressed: %s",
				       err_code_text((enum err_code) - rc));
		rc = elf_image_open_unpacked(ret, plain, plain_size, size, name, err);
	} else {
		rc = image_make(ret, p, size, size, name, err);
	}
	if (rc)
		return rc;
	(*ret)->mtime_ns = mtime_ns(&st);
	if ((*ret)->mapped_bytes)
		(*ret)->file = (struct image_file){st.st_dev, st.st_ino};
	return 0;
}

int image_open_below(struct elf_image **ret, const char *root, const char *path, struct err *err)
{
	int fd = zip_rooted_open(root, path), rc;

	if (fd < 0)
		return rooted_error(err, errno, path);
	rc = elf_image_open_fd(ret, fd, path, err);
	close(fd);
	if (!rc && root && *root) {
		(*ret)->root = strdup(root);
		if (!(*ret)->root) {
			elf_image_close(*ret);
			return err_nomem(err);
		}
	}
	return rc;
}

int elf_image_open(struct elf_image **ret, const char *path, struct err *err)
{
	return image_open_below(ret, NULL, path, err);
}

int elf_image_open_named(struct elf_image **ret, const struct elf_image *by, const char *path,
			 struct err *err)
{
	const size_t n = rooted_process_root(by->path);
	char below[PATH_MAX];

	if (n && strncmp(path, by->path, n)) {
		if (snprintf(below, sizeof below, "%.*s%s", (int)n, by->path, path) >= PATH_MAX)
			return rooted_error(err, ENAMETOOLONG, path);
		path = below;
	}
	return image_open_below(ret, by->root, path, err);
}

int elf_image_reopen(const struct elf_image *img)
{
	int fd = img->file.ino ? rooted_open_to_data_end(img->root, img->path) : -1;
	struct stat st;

	if (fd < 0 ||
	    (!fstat(fd, &st) && st.st_dev == img->file.dev && st.st_ino == img->file.ino &&
	     (uint64_t)rooted_data_end(fd, &st) == img->size && mtime_ns(&st) == img->mtime_ns))
		return fd;
	close(fd);
	return -1;
}

void elf_image_close(struct elf_image *img)
{
	size_t i;

	if (!img)
		return;
	for (i = 0; i < img->n_sections; i++)
		free(img->sections[i].inflated);
	free(img->sections);
	free(img->phdrs);
	free(img->segments);
	if (img->mapped_bytes)
		munmap((void *)(uintptr_t)img->bytes, img->mapped_bytes);
	else
		free((void *)(uintptr_t)img->bytes);
	pthread_cond_destroy(&img->inflated);
	pthread_mutex_destroy(&img->lock);
	free(img->path);
	free(img->root);
	free(img);
}

/* ---- questions ---------------------------------------------------------------------------- */

bool image_is_cut(const struct elf_image *img)
{
	uint64_t table = (uint64_t)img->ehdr.e_shnum * img->ehdr.e_shentsize;

	return img->ehdr.e_shoff && !image_bytes_at(img, img->ehdr.e_shoff, table ? table : 1);
}

bool image_is_whole(const struct elf_image *img)
{
	size_t i;

	if (!img->ehdr.e_shoff || image_is_cut(img))
		return false;
	for (i = 0; i < img->n_sections; i++) {
		const struct elf_section *s = &img->sections[i].s;

		if (s->type != SHT_NOBITS && s->type != SHT_NULL && s->size && !s->data)
			return false;
	}
	return img->n_sections;
}

bool image_has_code(const struct elf_image *img)
{
	bool absent = false;
	size_t i;

	for (i = 0; i < img->n_sections; i++) {
		const struct elf_section *s = &img->sections[i].s;

		if (!(s->flags & SHF_EXECINSTR))
			continue;
		if (s->type != SHT_NOBITS)
			return true;
		absent = true;
	}
	return !absent;
}

uint64_t elf_image_mtime_ns(const struct elf_image *img)
{
	return img->mtime_ns;
}

const char *elf_image_path(const struct elf_image *img)
{
	return img->path;
}

bool elf_image_is_64(const struct elf_image *img)
{
	return img->is_64;
}

bool elf_image_swapped(const struct elf_image *img)
{
	return img->swapped;
}

uint16_t elf_image_machine(const struct elf_image *img)
{
	return img->ehdr.e_machine;
}

uint16_t elf_image_type(const struct elf_image *img)
{
	return img->ehdr.e_type;
}

uint64_t elf_image_entry(const struct elf_image *img)
{
	Elf64_Phdr dynamic;

	return img->ehdr.e_type == ET_DYN && !elf_image_phdr(img, PT_DYNAMIC, &dynamic)
		       ? 0
		       : img->ehdr.e_entry;
}

const struct build_id *elf_image_build_id(const struct elf_image *img)
{
	return &img->build_id;
}

size_t elf_image_segments(const struct elf_image *img, const struct elf_segment **ret)
{
	*ret = img->segments;
	return img->n_segments;
}

const uint8_t *elf_image_bytes(const struct elf_image *img, size_t *size)
{
	*size = img->size;
	return img->bytes;
}

bool elf_image_phdr(const struct elf_image *img, uint32_t type, Elf64_Phdr *ret)
{
	size_t i;

	for (i = 0; i < img->n_phdrs; i++)
		if (img->phdrs[i].p_type == type) {
			*ret = img->phdrs[i];
			return true;
		}
	return false;
}

const uint8_t *elf_image_at_vaddr(const struct elf_image *img, uint64_t vaddr, size_t *left)
{
	size_t i;

	for (i = 0; i < img->n_segments; i++) {
		const struct elf_segment *g = &img->segments[i];
		uint64_t skip = vaddr - g->vaddr, off = g->off + skip, n;

		if (vaddr < g->vaddr || skip >= g->filesz || off < g->off || off >= img->size)
			continue;
		n = g->filesz - skip;
		*left = (size_t)(n < img->size - off ? n : img->size - off);
		return img->bytes + off;
	}
	return NULL;
}

/* Does the segment, widened to pages, contain the offset? */
static bool segment_shows(const struct elf_segment *g, uint64_t off, uint64_t page)
{
	uint64_t first = g->off & ~(page - 1), last = g->off + g->filesz - 1;

	if (!g->filesz || last < g->off)
		return false;
	return off >= first && off <= (last | (page - 1));
}

/* The segment, of those with all of `flags`, that contains the offset. An exact match wins over
 * page padding (files of lld and mold have the same page in two segments), code wins over data. */
static const struct elf_segment *segment_at(const struct elf_image *img, uint64_t off,
					    uint32_t flags)
{
	/* 64 KiB: pages of arm64 and ppc64 kernels. */
	static const uint64_t pages[] = {1, 4096, 65536};
	const struct elf_segment *found = NULL;
	size_t p, i;

	for (p = 0; p < sizeof pages / sizeof *pages && !found; p++)
		for (i = 0; i < img->n_segments; i++) {
			const struct elf_segment *g = &img->segments[i];

			if ((g->flags & flags) == flags && segment_shows(g, off, pages[p]) &&
			    (!found || (g->flags & PF_X && !(found->flags & PF_X))))
				found = g;
		}
	return found;
}

bool image_off_to_vaddr(const struct elf_image *img, uint64_t off, uint32_t flags, uint64_t *ret)
{
	const struct elf_segment *g = segment_at(img, off, flags);

	if (!g)
		return false;
	*ret = off - g->off + g->vaddr;
	return true;
}

bool elf_image_off_to_vaddr(const struct elf_image *img, uint64_t off, uint64_t *ret)
{
	return image_off_to_vaddr(img, off, 0, ret);
}

bool elf_image_vaddr_to_off(const struct elf_image *img, uint64_t vaddr, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < img->n_segments; i++) {
		const struct elf_segment *g = &img->segments[i];

		if (vaddr >= g->vaddr && vaddr - g->vaddr < g->filesz) {
			*ret = vaddr - g->vaddr + g->off;
			return true;
		}
	}
	return false;
}
