/* cfi_entry.c - CIE and FDE headers, encoded pointers. */
#include "functions/functions.h"

#include <dwarf.h>

/* Known strings have at most five letters. The limit matters because many entries may all refer to
 * one CIE. */
#define AUGMENTATION_MAX 16

static bool is_signed_format(unsigned format)
{
	return format == DW_EH_PE_sleb128 || format == DW_EH_PE_signed ||
	       (format >= DW_EH_PE_sdata2 && format <= DW_EH_PE_sdata8);
}

/* Reads a value in the format given by the low four bits of an encoding. */
static uint64_t format_read(struct buf *b, unsigned format, unsigned address_bytes)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_signed:
		return address_bytes == 4 ? buf_u32(b) : buf_u64(b);
	case DW_EH_PE_uleb128:
		return buf_uleb(b);
	case DW_EH_PE_sleb128:
		return (uint64_t)buf_sleb(b);
	case DW_EH_PE_udata2:
		return buf_u16(b);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)buf_u16(b);
	case DW_EH_PE_udata4:
		return buf_u32(b);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)buf_u32(b);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return buf_u64(b);
	}
	b->bad = true;
	return 0;
}

bool cfi_pointer_read(const struct cfi_section *sec, struct buf *b, uint8_t encoding,
		      uint64_t data_base, uint64_t *ret)
{
	unsigned address_bytes = sec->address_bytes;
	uint64_t base = 0, pos = sec->vaddr + (uint64_t)(b->p - sec->data);

	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		base = pos;
		break;
	case DW_EH_PE_datarel:
		if (!data_base)
			return false;
		base = data_base;
		break;
	case DW_EH_PE_aligned:
		buf_skip(b, -pos & (address_bytes - 1));
		break;
	default: /* textrel and funcrel have no defined base in a linked file */
		return false;
	}
	if (encoding & DW_EH_PE_indirect)
		return false;
	*ret = base + format_read(b, encoding & 0x0f, address_bytes);
	if (address_bytes == 4)
		*ret = (uint32_t)*ret;
	return buf_ok(b);
}

/* The header that CIE and FDE share. body: what the length field covers, after the id. */
struct entry {
	struct buf body;
	uint64_t id_off; /* offset of the id field in the section */
	uint64_t id;
	bool is_64; /* 64-bit DWARF */
};

static enum cfi_entry_kind entry_read(const struct cfi_section *sec, uint64_t off, uint64_t *next,
				      struct entry *e)
{
	struct buf b = buf_make(sec->data, sec->size, sec->base_off, sec->swap);
	uint64_t length, cie_id;

	buf_seek(&b, off);
	*next = sec->size;
	length = buf_u32(&b);
	e->is_64 = length == 0xffffffff;
	if (e->is_64)
		length = buf_u64(&b);
	if (!buf_ok(&b))
		return off < sec->size ? CFI_ENTRY_BAD : CFI_ENTRY_END;
	if (length > buf_left(&b))
		return CFI_ENTRY_BAD;
	*next = (uint64_t)(b.p - sec->data) + length;
	if (!length)
		return CFI_ENTRY_END;
	e->body = buf_sub(&b, length);
	e->id_off = (uint64_t)(e->body.p - sec->data);
	e->id = e->is_64 ? buf_u64(&e->body) : buf_u32(&e->body);
	if (!buf_ok(&e->body))
		return CFI_ENTRY_BAD;
	cie_id = sec->is_eh ? 0 : e->is_64 ? UINT64_MAX : UINT32_MAX;
	return e->id == cie_id ? CFI_ENTRY_CIE : CFI_ENTRY_FDE;
}

enum cfi_entry_kind cfi_entry_at(const struct cfi_section *sec, uint64_t off, uint64_t *next)
{
	struct entry e;

	return entry_read(sec, off, next, &e);
}

/* The augmentation data that 'z' announces (LSB, "Augmentation String Format"). */
static bool augmentation_read(const struct cfi_section *sec, const char *chars, struct buf *data,
			      struct cfi_cie *cie)
{
	uint8_t encoding;

	for (; *chars; chars++) {
		switch (*chars) {
		case 'L':
			cie->lsda_encoding = buf_u8(data);
			cie->has_lsda = cie->lsda_encoding != DW_EH_PE_omit;
			break;
		case 'P':
			/* The pointer is only skipped, so its base does not matter. */
			encoding = buf_u8(data);
			if ((encoding & 0x70) == DW_EH_PE_aligned)
				buf_skip(data, -(sec->vaddr + (uint64_t)(data->p - sec->data)) &
						       (cie->address_bytes - 1u));
			if (encoding != DW_EH_PE_omit)
				format_read(data, encoding & 0x0f, cie->address_bytes);
			break;
		case 'R':
			cie->pointer_encoding = buf_u8(data);
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* aarch64: which key signs return addresses */
		case 'G': /* aarch64: the frame's memory is tagged */
			break;
		default:
			return false; /* its data may hide an 'R' */
		}
	}
	return buf_ok(data);
}

/* The augmentation string of a CIE. NULL: there is none, or it is not plausible. */
static const char *augmentation_string(struct buf *b)
{
	struct buf head = *b;
	const char *s;

	if (buf_left(&head) > AUGMENTATION_MAX)
		head.end = head.p + AUGMENTATION_MAX;
	s = buf_cstr(&head);
	if (s)
		buf_skip(b, strlen(s) + 1);
	return s;
}

static bool cie_read(const struct cfi_section *sec, uint64_t off, struct cfi_cie *cie)
{
	const char *augmentation;
	struct entry e;
	struct buf data, *b = &e.body;
	uint64_t next;

	if (off >= sec->size || entry_read(sec, off, &next, &e) != CFI_ENTRY_CIE)
		return false;
	*cie = (struct cfi_cie){.address_bytes = sec->address_bytes};
	cie->version = buf_u8(b);
	augmentation = augmentation_string(b);
	if (!augmentation || (cie->version != 1 && cie->version != 3 && cie->version != 4))
		return false;
	if (cie->version == 4) {
		cie->address_bytes = buf_u8(b);
		if (buf_u8(b) != 0 || cie->address_bytes != sec->address_bytes)
			return false; /* segment selectors; addresses of another class */
	}
	if (augmentation[0] == 'e' && augmentation[1] == 'h') { /* g++ before 3.0 */
		buf_skip(b, cie->address_bytes);
		augmentation += 2;
	}
	cie->code_align = buf_uleb(b);
	cie->data_align = buf_sleb(b);
	cie->ra_reg = cie->version == 1 ? buf_u8(b) : buf_uleb(b);
	if (augmentation[0] == 'z') {
		cie->has_augmentation_data = true;
		data = buf_sub(b, buf_uleb(b));
		if (!augmentation_read(sec, augmentation + 1, &data, cie))
			return false;
	} else if (augmentation[0]) {
		return false;
	}
	cie->insns = *b;
	return buf_ok(b);
}

/* The FDE's augmentation data: the pointer to the table of landing pads, if it has one. A damaged
 * one counts as none. */
static uint64_t lsda_read(const struct cfi_section *sec, const struct cfi_cie *cie, struct buf *b)
{
	struct buf data = buf_sub(b, buf_uleb(b));
	uint64_t at = sec->vaddr + (uint64_t)(data.p - sec->data), lsda;

	if (!cie->has_lsda || !buf_ok(&data) ||
	    !cfi_pointer_read(sec, &data, cie->lsda_encoding, 0, &lsda))
		return 0;
	return lsda == at ? 0 : lsda; /* a pointer of 0 relative to itself */
}

bool cfi_fde_read(const struct cfi_section *sec, uint64_t off, struct cfi_fde *ret)
{
	struct entry e;
	struct buf *b = &e.body;
	uint64_t next, size;

	if (off >= sec->size || entry_read(sec, off, &next, &e) != CFI_ENTRY_FDE)
		return false;
	ret->sec = sec;
	/* .eh_frame counts back from the id field, .debug_frame from the start of the section. If
	 * the subtraction wraps, the offset is outside of the section. */
	if (!cie_read(sec, sec->is_eh ? e.id_off - e.id : e.id, &ret->cie))
		return false;
	if (!cfi_pointer_read(sec, b, ret->cie.pointer_encoding, 0, &ret->start))
		return false;
	/* The length has the same format, but no base, and is never negative. */
	size = format_read(b, ret->cie.pointer_encoding & 0x0f, sec->address_bytes);
	if (sec->address_bytes == 4)
		size = (uint32_t)size;
	if (is_signed_format(ret->cie.pointer_encoding & 0x0f) && (int64_t)size < 0)
		return false;
	ret->end = ret->start + size;
	ret->lsda = ret->cie.has_augmentation_data ? lsda_read(sec, &ret->cie, b) : 0;
	ret->insns = *b;
	return buf_ok(b) && ret->end >= ret->start;
}
