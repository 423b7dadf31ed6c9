/* hotspot_tables.c - the tables of libjvm.so: where the fields of its structures are.
 *
 * Source of truth: src/hotspot/share/runtime/vmStructs.hpp (the tables) and vmStructs.cpp (the rows
 * of each release). */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "runtimes/hotspot.h"
#include "runtimes/remote_symbols.h"

/* Limits on what the process says: entries of a table. */
enum { ENTRIES_MAX = 8192, STRIDE_MAX = 256 };

static const struct {
	enum hotspot_field field;
	const char *type, *name;
} fields[] = {
	{AT_HEAP, "CodeCache", "_heap"},
	{AT_HEAPS, "CodeCache", "_heaps"},
	{AT_ARRAY_LEN, "GenericGrowableArray", "_len"},
	{AT_ARRAY_LEN, "GrowableArrayBase", "_len"},
	{AT_ARRAY_DATA, "GrowableArray<int>", "_data"},
	{AT_HEAP_MEMORY, "CodeHeap", "_memory"},
	{AT_HEAP_SEGMAP, "CodeHeap", "_segmap"},
	{AT_HEAP_LOG2, "CodeHeap", "_log2_segment_size"},
	{AT_SPACE_LOW, "VirtualSpace", "_low"},
	{AT_SPACE_HIGH, "VirtualSpace", "_high"},
	{AT_BLOCK_LENGTH, "HeapBlock::Header", "_length"},
	{AT_BLOCK_USED, "HeapBlock::Header", "_used"},
	{AT_BLOB_NAME, "CodeBlob", "_name"},
	{AT_BLOB_SIZE, "CodeBlob", "_size"},
	{AT_BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset"},
	{AT_BLOB_FRAME, "CodeBlob", "_frame_size"},
	{AT_BLOB_BEGIN, "CodeBlob", "_code_begin"},
	{AT_BLOB_END, "CodeBlob", "_code_end"},
	{AT_BLOB_BEGIN_OFF, "CodeBlob", "_code_offset"},
	{AT_BLOB_DATA_OFF, "CodeBlob", "_data_offset"},
	{AT_BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size"},
	{AT_BLOB_MUTABLE, "CodeBlob", "_mutable_data"},
	{AT_BLOB_MUTABLE_SIZE, "CodeBlob", "_mutable_data_size"},
	{AT_NM_METHOD, "CompiledMethod", "_method"},
	{AT_NM_METHOD, "nmethod", "_method"},
	{AT_NM_ID, "nmethod", "_compile_id"},
	{AT_NM_PCS, "nmethod", "_scopes_pcs_offset"},
	{AT_NM_PCS_END, "nmethod", "_dependencies_offset"},
	{AT_NM_SCOPES, "CompiledMethod", "_scopes_data_begin"},
	{AT_NM_SCOPES_OFF, "nmethod", "_scopes_data_offset"},
	{AT_NM_METADATA, "nmethod", "_metadata_offset"},
	{AT_NM_IMMUTABLE, "nmethod", "_immutable_data"},
	{AT_NM_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size"},
	{AT_PC_OFFSET, "PcDesc", "_pc_offset"},
	{AT_PC_SCOPE, "PcDesc", "_scope_decode_offset"},
	{AT_M_CONST, "Method", "_constMethod"},
	{AT_CM_POOL, "ConstMethod", "_constants"},
	{AT_CM_BYTES, "ConstMethod", "_constMethod_size"},
	{AT_CM_FLAGS, "ConstMethod", "_flags"},
	{AT_CM_FLAGS, "ConstMethod", "_flags._flags"},
	{AT_CM_CODE_SIZE, "ConstMethod", "_code_size"},
	{AT_CM_NAME, "ConstMethod", "_name_index"},
	{AT_CM_SIGNATURE, "ConstMethod", "_signature_index"},
	{AT_POOL_HOLDER, "ConstantPool", "_pool_holder"},
	{AT_POOL_LENGTH, "ConstantPool", "_length"},
	{AT_POOL_SOURCE, "ConstantPool", "_source_file_name_index"},
	{AT_KLASS_SOURCE, "InstanceKlass", "_source_file_name_index"},
	{AT_KLASS_METHODS, "InstanceKlass", "_methods"},
	{AT_KLASS_NAME, "Klass", "_name"},
	{AT_SYMBOL_LENGTH, "Symbol", "_length"},
	{AT_SYMBOL_LENGTH_HIGH, "Symbol", "_length_and_refcount"},
	{AT_SYMBOL_BODY, "Symbol", "_body"},
	{AT_INTERPRETER, "AbstractInterpreter", "_code"},
	{AT_QUEUE_BUFFER, "StubQueue", "_stub_buffer"},
	{AT_QUEUE_LIMIT, "StubQueue", "_buffer_limit"},
	{AT_QUEUE_N, "StubQueue", "_number_of_stubs"},
	{AT_CODELET_SIZE, "InterpreterCodelet", "_size"},
	{AT_CODELET_TEXT, "InterpreterCodelet", "_description"},
	{AT_PERF_START, "PerfMemory", "_start"},
	{AT_PERF_FIRST, "PerfDataPrologue", "entry_offset"},
	{AT_PERF_N, "PerfDataPrologue", "num_entries"},
	{AT_ENTRY_LENGTH, "PerfDataEntry", "entry_length"},
	{AT_ENTRY_NAME, "PerfDataEntry", "name_offset"},
	{AT_ENTRY_DATA, "PerfDataEntry", "data_offset"},
	{AT_RELEASE, "Abstract_VM_Version", "_s_vm_release"},
	{AT_MAJOR, "Abstract_VM_Version", "_vm_major_version"},
};

/* Widths, by the names of types. Pointers and structures are as wide as they are read. */
static const struct {
	const char *type;
	int8_t bytes;
} widths[] = {
	{"u2", 2},	 {"uint16_t", 2}, {"unsigned short", 2},
	{"int16_t", -2}, {"short", -2},	  {"int", 4},
	{"uint32_t", 4}, {"u4", 4},	  {"size_t", 8},
};

static const char *const types[SIZE_N] = {
	[SIZE_BLOCK] = "HeapBlock",   [SIZE_BLOB] = "CodeBlob",
	[SIZE_NMETHOD] = "nmethod",   [SIZE_PC] = "PcDesc",
	[SIZE_METHOD] = "Method",     [SIZE_CONST_METHOD] = "ConstMethod",
	[SIZE_POOL] = "ConstantPool", [SIZE_CODELET] = "InterpreterCodelet",
};

/* The last name is of release 21 and later. */
static const char *const line_flags[] = {"ConstMethod::_has_linenumber_table",
					 "ConstMethodFlags::_misc_has_linenumber_table"};

/* ---- tables ------------------------------------------------------------------------------ */

/* Where the columns of one table are. */
struct table {
	uint64_t rows, stride, type, field, of, value, address;
};

static bool column(struct remote_symbols *s, const char *prefix, const char *name, uint64_t *ret)
{
	char text[64];

	snprintf(text, sizeof text, "%s%s", prefix, name);
	return remote_symbol_u64(s, text, ret) && *ret < STRIDE_MAX;
}

static bool structs_open(struct remote_symbols *s, struct table *t)
{
	static const char entry[] = "gHotSpotVMStructEntry";

	return remote_symbol_u64(s, "gHotSpotVMStructs", &t->rows) &&
	       column(s, entry, "ArrayStride", &t->stride) &&
	       column(s, entry, "TypeNameOffset", &t->type) &&
	       column(s, entry, "FieldNameOffset", &t->field) &&
	       column(s, entry, "TypeStringOffset", &t->of) &&
	       column(s, entry, "OffsetOffset", &t->value) &&
	       column(s, entry, "AddressOffset", &t->address) && t->stride;
}

static bool types_open(struct remote_symbols *s, struct table *t)
{
	static const char entry[] = "gHotSpotVMTypeEntry";

	return remote_symbol_u64(s, "gHotSpotVMTypes", &t->rows) &&
	       column(s, entry, "ArrayStride", &t->stride) &&
	       column(s, entry, "TypeNameOffset", &t->type) &&
	       column(s, entry, "SizeOffset", &t->value) && t->stride;
}

static bool constants_open(struct remote_symbols *s, struct table *t)
{
	static const char entry[] = "gHotSpotVMIntConstantEntry";

	return remote_symbol_u64(s, "gHotSpotVMIntConstants", &t->rows) &&
	       column(s, entry, "ArrayStride", &t->stride) &&
	       column(s, entry, "NameOffset", &t->type) &&
	       column(s, entry, "ValueOffset", &t->value) && t->stride;
}

/* The text that a column of a row points to; false: NULL, the end of the table. */
static bool cell_text(struct hotspot *h, uint64_t row, uint64_t col, char *to, size_t size)
{
	uint64_t at;

	return remote_u64(&h->mem, row + col, &at) && at && remote_text(&h->mem, at, to, size);
}

/* "_jint_disjoint_arraycopy" and the like hold addresses of code. */
static void note_stub(struct hotspot *h, const char *name, uint64_t address)
{
	if (!address || h->n_stubs == HOTSPOT_STUBS_MAX || strstr(name, "_table") ||
	    strstr(name, "_count"))
		return;
	h->stubs[h->n_stubs].at = address;
	snprintf(h->stubs[h->n_stubs++].name, sizeof h->stubs->name, "%s", name + (*name == '_'));
}

static int8_t width_of(const char *type)
{
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
		if (!strcmp(widths[i].type, type))
			return widths[i].bytes;
	return 0;
}

static void read_structs(struct hotspot *h, const struct table *t)
{
	char type[64], name[64], of[64];

	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t row = t->rows + i * t->stride, value = 0, address = 0;

		if (!cell_text(h, row, t->type, type, sizeof type))
			break;
		if (!cell_text(h, row, t->field, name, sizeof name) ||
		    !remote_u64(&h->mem, row + t->value, &value) ||
		    !remote_u64(&h->mem, row + t->address, &address))
			continue;
		if (!cell_text(h, row, t->of, of, sizeof of))
			*of = 0;
		if (!strcmp(type, "StubRoutines"))
			note_stub(h, name, address);
		for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
			if (!strcmp(fields[k].type, type) && !strcmp(fields[k].name, name)) {
				h->at[fields[k].field] = address ? address : value;
				h->bytes[fields[k].field] = width_of(of);
			}
	}
}

static void read_types(struct hotspot *h, const struct table *t)
{
	char type[64];

	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t row = t->rows + i * t->stride;

		if (!cell_text(h, row, t->type, type, sizeof type))
			break;
		for (size_t k = 0; k < SIZE_N; k++)
			if (!strcmp(types[k], type))
				remote_u64(&h->mem, row + t->value, &h->size[k]);
	}
}

static void read_constants(struct hotspot *h, const struct table *t)
{
	char name[64];
	uint32_t value;

	for (unsigned i = 0; i < ENTRIES_MAX; i++) {
		uint64_t row = t->rows + i * t->stride;

		if (!cell_text(h, row, t->type, name, sizeof name))
			break;
		for (size_t k = 0; k < sizeof line_flags / sizeof *line_flags; k++)
			if (!strcmp(line_flags[k], name) &&
			    remote_u32(&h->mem, row + t->value, &value))
				h->has_lines = value;
	}
}

/* Of what all releases have. */
static bool has_all(const struct hotspot *h)
{
	static const enum hotspot_field needed[] = {
		AT_HEAP_MEMORY,	 AT_HEAP_SEGMAP, AT_HEAP_LOG2,	AT_SPACE_LOW,	  AT_SPACE_HIGH,
		AT_BLOCK_LENGTH, AT_BLOCK_USED,	 AT_BLOB_NAME,	AT_BLOB_COMPLETE, AT_BLOB_FRAME,
		AT_NM_METHOD,	 AT_M_CONST,	 AT_CM_POOL,	AT_CM_CODE_SIZE,  AT_CM_NAME,
		AT_CM_SIGNATURE, AT_POOL_HOLDER, AT_KLASS_NAME, AT_SYMBOL_BODY,
	};
	static const enum hotspot_type sized[] = {SIZE_BLOCK, SIZE_POOL, SIZE_CONST_METHOD};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!hotspot_has(h, needed[i]))
			return false;
	for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
		if (!h->size[sized[i]] || h->size[sized[i]] > REMOTE_PAGE)
			return false;
	return (hotspot_has(h, AT_HEAPS) || hotspot_has(h, AT_HEAP)) &&
	       (hotspot_has(h, AT_SYMBOL_LENGTH) || hotspot_has(h, AT_SYMBOL_LENGTH_HIGH));
}

static void read_release(struct hotspot *h)
{
	uint64_t at;
	uint32_t major = 0;

	if (hotspot_has(h, AT_RELEASE) && remote_u64(&h->mem, h->at[AT_RELEASE], &at))
		remote_text(&h->mem, at, h->release, sizeof h->release);
	if (hotspot_has(h, AT_MAJOR))
		remote_u32(&h->mem, h->at[AT_MAJOR], &major);
	/* Until release 8 this was HotSpot's own number, 25. */
	h->major = hotspot_has(h, AT_HEAP) ? 8 : major;
}

/* A library that is being loaded: its symbols are there before their values are. */
static int not_ready(struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, "libjvm.so",
		       "has tables of its structures that could not be read, or not yet");
}

int hotspot_read_tables(struct hotspot *h, uint64_t libjvm, struct err *err)
{
	struct remote_symbols s;
	struct table structs = {0}, sizes = {0}, constants = {0};
	bool opened;
	uint64_t at;

	for (size_t i = 0; i < AT_N; i++)
		h->at[i] = HOTSPOT_NONE;
	opened = remote_symbols_open(&s, &h->mem, libjvm);
	if (opened && !remote_symbol(&s, "gHotSpotVMStructs", &at) && !h->mem.is_gone)
		return err_set(err, ERR_UNSUPPORTED, "libjvm.so",
			       "has no tables of its structures (gHotSpotVMStructs)");
	if (!opened || !structs_open(&s, &structs) || !types_open(&s, &sizes))
		return not_ready(err);
	read_structs(h, &structs);
	read_types(h, &sizes);
	if (constants_open(&s, &constants))
		read_constants(h, &constants);
	read_release(h);
	if (has_all(h))
		return 0;
	if (!*h->release)
		return not_ready(err);
	return err_set(err, ERR_UNSUPPORTED, "libjvm.so", "release %s has other structures",
		       h->release);
}
