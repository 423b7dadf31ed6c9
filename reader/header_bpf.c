/* header_bpf.c - BPF programs of the kernel, and what the functions of a program are called.
 *
 * Source: struct perf_bpil in tools/perf/util/bpf-utils.h, struct bpf_prog_info in uapi/linux/bpf.h,
 * uapi/linux/btf.h. */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <string.h>

#include "reader/header_text.h"

/* Types of BTF stand behind each other without an index. A recording that makes us walk over more
 * gets no more names. */
#define STEPS_MAX (4u << 20)

/* No function's name is longer (KSYM_NAME_LEN). */
#define NAME_MAX_BYTES 512

/* What is told of a program. Arrays are offsets in `data`. */
struct program {
	uint32_t id, n, n_lens, n_tags, btf_id, func_info_size;
	uint64_t addrs, lens, tags, func_infos;
	struct header_string name;
	struct buf data;
};

/* Names of functions: by BTF. */
struct lookup {
	struct buf types; /* section BPF_BTF: u32 n, {u32 id, u32 size, bytes} each */
	uint32_t steps;
};

static uint32_t u32_at(struct buf b, uint64_t pos)
{
	buf_seek(&b, pos);
	return buf_u32(&b);
}

#define FIELD(name) offsetof(struct bpf_prog_info, name)

/* u32 size of the info, u32 size of the data, u64 which arrays there are; info; data. */
static bool take_program(struct buf *b, struct program *p)
{
	uint32_t info_size = buf_u32(b), data_size = buf_u32(b);
	struct buf info;

	buf_skip(b, 8);
	info = buf_sub(b, info_size);
	*p = (struct program){
		.id = u32_at(info, FIELD(id)),
		.n = u32_at(info, FIELD(nr_jited_ksyms)),
		.n_lens = u32_at(info, FIELD(nr_jited_func_lens)),
		.n_tags = u32_at(info, FIELD(nr_prog_tags)),
		.btf_id = u32_at(info, FIELD(btf_id)),
		.func_info_size = u32_at(info, FIELD(func_info_rec_size)),
		.addrs = buf_u64_at(&info, FIELD(jited_ksyms)),
		.lens = buf_u64_at(&info, FIELD(jited_func_lens)),
		.tags = buf_u64_at(&info, FIELD(prog_tags)),
		.func_infos = buf_u64_at(&info, FIELD(func_info)),
		.data = buf_sub(b, data_size),
	};
	buf_seek(&info, FIELD(name));
	p->name.s = (const char *)buf_take(&info, BPF_OBJ_NAME_LEN);
	p->name.n = p->name.s ? (int)strnlen(p->name.s, BPF_OBJ_NAME_LEN) : 0;
	return buf_ok(b);
}

/* The BTF of an id: its header, and all that follows. Empty: there is none. */
static struct buf find_btf(struct lookup *l, uint32_t id)
{
	struct buf b = l->types;

	for (uint32_t n = take_count(&b, 8); n && buf_ok(&b) && l->steps++ < STEPS_MAX; n--) {
		uint32_t this = buf_u32(&b), size = buf_u32(&b);
		struct buf btf = buf_sub(&b, size);

		if (this == id)
			return btf;
	}
	return (struct buf){0};
}

/* Bytes behind the three words that all types begin with. */
static uint32_t type_rest(uint32_t info)
{
	const uint32_t n = BTF_INFO_VLEN(info);

	switch (BTF_INFO_KIND(info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* DECL_TAG */
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case 19: /* ENUM64 */
		return n * 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return n * 8;
	default:
		return 0;
	}
}

/* The name of type number `id`, counted from 1. False: not found. */
static bool type_name(struct lookup *l, struct buf btf, uint32_t id, struct header_string *ret)
{
	const uint64_t head = u32_at(btf, offsetof(struct btf_header, hdr_len));
	const uint64_t types = head + u32_at(btf, offsetof(struct btf_header, type_off));
	const uint64_t strings = head + u32_at(btf, offsetof(struct btf_header, str_off));
	uint32_t name = 0, info;
	const char *s;

	buf_seek(&btf, types);
	for (uint32_t i = 0; i < id; i++) {
		if (!buf_left(&btf) || l->steps++ >= STEPS_MAX)
			return false;
		name = buf_u32(&btf);
		info = buf_u32(&btf);
		buf_skip(&btf, 4 + type_rest(info));
	}
	if (!id || !buf_ok(&btf))
		return false;
	buf_seek(&btf, strings + name);
	s = buf_cstr(&btf);
	if (!s)
		return false;
	*ret = (struct header_string){(int)strnlen(s, NAME_MAX_BYTES), s};
	return true;
}

/* As perf calls it: tag, and the function's name from BTF or, of a single one, the program's. */
static void tell_name(struct teller *t, struct lookup *l, const struct program *p, uint32_t i)
{
	struct buf data = p->data, btf = p->btf_id ? find_btf(l, p->btf_id) : (struct buf){0};
	const uint8_t *tag;
	struct header_string name = p->name;

	buf_seek(&data, p->tags + (uint64_t)BPF_TAG_SIZE * i);
	tag = buf_take(&data, BPF_TAG_SIZE);
	tell_part(t, "bpf_prog_");
	for (unsigned k = 0; tag && k < BPF_TAG_SIZE; k++)
		tell_part(t, "%02x", tag[k]);
	if (buf_left(&btf)) {
		/* struct bpf_func_info: u32 offset, u32 type */
		uint64_t at = p->func_infos + (uint64_t)p->func_info_size * i;

		if (!type_name(l, btf, u32_at(p->data, at + 4), &name))
			return;
	} else if (p->n > 1) {
		name = (struct header_string){1, "F"};
	} else if (!name.n) {
		return;
	}
	tell_part(t, "_%.*s", TEXT(name));
}

static void tell_function(struct teller *t, struct lookup *l, const struct program *p, uint32_t i)
{
	tell_name(t, l, p, i);
	tell(t, " addr 0x%" PRIx64 " size %" PRIu32, buf_u64_at(&p->data, p->addrs + 8ull * i),
	     u32_at(p->data, p->lens + 4ull * i));
}

static void tell_program(struct teller *t, struct lookup *l, const struct program *p)
{
	if (p->n != p->n_lens || p->n != p->n_tags || p->n > buf_left(&p->data) / BPF_TAG_SIZE)
		return;
	if (p->n == 1) {
		tell_part(t, "# bpf_prog_info %" PRIu32 ": ", p->id);
		tell_function(t, l, p, 0);
		return;
	}
	tell(t, "# bpf_prog_info %" PRIu32 ":", p->id);
	for (uint32_t i = 0; i < p->n; i++) {
		tell_part(t, "# \tsub_prog %" PRIu32 ": ", i);
		tell_function(t, l, p, i);
	}
}

void tell_bpf_programs(struct teller *t, struct buf *b)
{
	size_t size;
	const uint8_t *types = perf_file_feature(t->f, FEATURE_BPF_BTF, &size);
	struct lookup l = {.types = buf_make(types, size, 0, t->f->swap)};

	for (uint32_t n = take_count(b, 16); n; n--) {
		struct program p;

		if (!take_program(b, &p))
			return;
		tell_program(t, &l, &p);
	}
}

void tell_bpf_types(struct teller *t, struct buf *b)
{
	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--) {
		uint32_t id = buf_u32(b);

		buf_skip(b, buf_u32(b));
		if (buf_ok(b))
			tell(t, "# btf info of id %" PRIu32, id);
	}
}
