/* firefox_tables.c - the tables that all threads of a Firefox profile share: strings, libraries,
 * functions, frames, stacks. A row of a table is a value in each of its columns. */
#include "base/strtab.h"
#include "base/vec.h"
#include "output/firefox.h"
#include "profile/profile.h"

#include <inttypes.h>

#include "base/pair.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

/* ---- numbers -------------------------------------------------------------------------------- */

uint32_t firefox_string(struct firefox *f, const char *s, size_t n)
{
	uint32_t id;

	if (!strtab_count(&f->strings) && strtab_add(&f->strings, "", 0) == STRTAB_FAILED)
		f->out.failed = true;
	id = strtab_add(&f->strings, s, n);
	f->out.failed |= id == STRTAB_FAILED;
	return id == STRTAB_FAILED ? 0 : id;
}

uint32_t firefox_our_string(struct firefox *f, uint32_t id)
{
	return firefox_string(f, strtab_get(&f->p->strings, id), strtab_len(&f->p->strings, id));
}

static void mark_used(struct firefox *f)
{
	const struct profile *p = f->p;

	for (size_t i = 0; i < p->log.n; i++)
		if (f->events->has[p->log.v[i].event])
			f->stack_of[p->log.v[i].node] = 1;
	for (size_t i = p->nodes.n; i-- > 1;)
		if (f->stack_of[i]) {
			f->stack_of[p->nodes.v[i].parent] = 1;
			f->first_frame[p->nodes.v[i].location] = 1;
		}
}

static int use_mapping(struct firefox *f, uint32_t mapping)
{
	if (f->lib_of[mapping])
		return 0;
	f->lib_of[mapping] = (uint32_t)f->libs.n + 1;
	return vec_push(&f->libs, mapping);
}

static int use_source(struct firefox *f, uint32_t file)
{
	if (!file || f->source_of[file])
		return 0;
	f->source_of[file] = (uint32_t)f->sources.n + 1;
	return vec_push(&f->sources, file);
}

static uint32_t use_func(struct firefox *f, uint32_t symbol, uint32_t mapping)
{
	const uint32_t id = pair_intern(&f->func_of, symbol, mapping);

	if (id == HASH_NONE || id < f->funcs.n)
		return id;
	if (vec_push(&f->funcs, ((struct firefox_func){symbol, mapping})) ||
	    (symbol < f->p->functions.n && use_source(f, f->p->functions.v[symbol].file)))
		return HASH_NONE;
	return id;
}

/* The symbol that the machine code belongs to, for code of files: its address counts from the
 * beginning of the file. *ret: its index, and 1. */
static int use_native(struct firefox *f, const struct profile_location *l, uint32_t *ret)
{
	const struct firefox_native n = {l->mapping, l->symbol, l->off - l->symbol_offset};
	uint32_t id;

	*ret = 0;
	if (!l->symbol || l->symbol_offset > l->off ||
	    !mapping_has_offsets(f->p->mappings.v[l->mapping].kind))
		return 0;
	id = pair_intern(&f->native_of, l->mapping,
			 (uint32_t)hash_mix(hash_mix(1, n.name), n.address));
	if (id == HASH_NONE || (id == f->natives.n && vec_push(&f->natives, n)))
		return -1;
	/* Two symbols with one hash: the second has none. */
	if (f->natives.v[id].name == n.name && f->natives.v[id].address == n.address)
		*ret = id + 1;
	return 0;
}

/* Frames of a location, root first. */
static int add_frames(struct firefox *f, uint32_t location)
{
	const struct profile *p = f->p;
	const struct profile_location *l = &p->locations.v[location];
	size_t n, i;
	const struct profile_line *lines = profile_lines(p, l, f->opt->style.no_inline, &n);
	struct firefox_frame frame = {.location = location};

	f->first_frame[location] = (uint32_t)f->frames.n + 1;
	if (use_mapping(f, l->mapping) || use_native(f, l, &frame.native))
		return -1;
	for (i = n ? n : 1; i--; frame.depth++) {
		const bool has_name = n && p->functions.v[lines[i].function].name;

		frame.line = n ? lines[i].line : 0;
		frame.func = use_func(f,
				      has_name ? lines[i].function
					       : (uint32_t)p->functions.n +
							 (l->how == FRAME_OTHER_STACK),
				      l->mapping);
		if (frame.func == HASH_NONE || vec_push(&f->frames, frame))
			return -1;
	}
	return 0;
}

static uint32_t frames_of(const struct firefox *f, uint32_t location)
{
	size_t n;

	profile_lines(f->p, &f->p->locations.v[location], f->opt->style.no_inline, &n);
	return n ? (uint32_t)n : 1;
}

int firefox_number(struct firefox *f)
{
	const struct profile *p = f->p;
	uint64_t n = 0;

	f->stack_of = calloc(p->nodes.n + 1, sizeof *f->stack_of);
	f->first_frame = calloc(p->locations.n + 1, sizeof *f->first_frame);
	f->lib_of = calloc(p->mappings.n + 1, sizeof *f->lib_of);
	f->source_of = calloc(strtab_count(&p->strings) + 1, sizeof *f->source_of);
	if (!f->stack_of || !f->first_frame || !f->lib_of || !f->source_of)
		return -1;
	mark_used(f);
	for (uint32_t i = 0; i < p->locations.n; i++)
		if (f->first_frame[i] && add_frames(f, i))
			return -1;
	/* Parents have smaller numbers than their children. */
	f->stack_of[0] = 0;
	for (size_t i = 1; i < p->nodes.n; i++)
		if (f->stack_of[i]) {
			n += frames_of(f, p->nodes.v[i].location);
			f->stack_of[i] = (uint32_t)n;
		}
	f->n_stacks = (uint32_t)n;
	return n < UINT32_MAX ? 0 : -1;
}

/* ---- columns -------------------------------------------------------------------------------- */

static void flush_some(struct firefox *f, FILE *out)
{
	if (f->out.n > FLUSH_BYTES)
		text_flush(&f->out, out);
}

static void begin_column(struct firefox *f, const char *name)
{
	text_str(&f->out, "\"");
	text_str(&f->out, name);
	text_str(&f->out, "\":[");
}

static void end_column(struct firefox *f)
{
	text_str(&f->out, "],\n");
}

static void end_table(struct firefox *f, const char *name, size_t n)
{
	text_str(&f->out, "\"length\":");
	text_dec(&f->out, n, 0);
	text_str(&f->out, *name ? "},\n\"" : "}");
	text_str(&f->out, name);
	text_str(&f->out, *name ? "\":{" : "");
}

/* A column that has the same value in all rows. */
static void add_constant(struct firefox *f, const char *name, const char *value, size_t n,
			 FILE *out)
{
	begin_column(f, name);
	for (size_t i = 0; i < n; i++) {
		firefox_comma(&f->out, i);
		text_str(&f->out, value);
		flush_some(f, out);
	}
	end_column(f);
}

/* Appends row i of a column. */
typedef void add_value(struct firefox *f, size_t i);

static void add_column(struct firefox *f, const char *name, add_value *add, size_t n, FILE *out)
{
	begin_column(f, name);
	for (size_t i = 0; i < n; i++) {
		firefox_comma(&f->out, i);
		add(f, i);
		flush_some(f, out);
	}
	end_column(f);
}

static void add_or_null(struct firefox *f, uint64_t and_1)
{
	if (and_1)
		text_dec(&f->out, and_1 - 1, 0);
	else
		text_str(&f->out, "null");
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Writes a column of the stack table: frames, or the distance to the row of the caller. */
static void add_stacks(struct firefox *f, const char *name, bool distances, FILE *out)
{
	const struct profile *p = f->p;
	uint32_t row = 0;

	begin_column(f, name);
	for (size_t i = 1; i < p->nodes.n; i++) {
		const struct profile_node *node = &p->nodes.v[i];
		const uint32_t first = f->first_frame[node->location] - 1;
		const uint32_t parent = f->stack_of[node->parent];

		if (!f->stack_of[i])
			continue;
		for (uint32_t k = 0; row < f->stack_of[i]; k++, row++) {
			firefox_comma(&f->out, row);
			text_dec(&f->out,
				 !distances ? first + k
				 : k	    ? 1
				 : parent   ? row + 1 - parent
					    : 0,
				 0);
		}
		flush_some(f, out);
	}
	end_column(f);
}

/* ---- frames --------------------------------------------------------------------------------- */

static const struct profile_location *location_of(const struct firefox *f, size_t frame)
{
	return &f->p->locations.v[f->frames.v[frame].location];
}

static void add_address(struct firefox *f, size_t i)
{
	const struct profile_location *l = location_of(f, i);

	if (mapping_has_offsets(f->p->mappings.v[l->mapping].kind))
		text_dec(&f->out, l->off, 0);
	else
		text_str(&f->out, "-1");
}

static void add_depth(struct firefox *f, size_t i)
{
	text_dec(&f->out, f->frames.v[i].depth, 0);
}

static void add_category(struct firefox *f, size_t i)
{
	const struct profile_location *l = location_of(f, i);
	const bool is_jit = f->p->mappings.v[l->mapping].kind == DSO_ANON;
	const bool has_name = f->funcs.v[f->frames.v[i].func].symbol < f->p->functions.n;

	text_dec(&f->out,
		 l->is_kernel ? FIREFOX_KERNEL
		 : !has_name  ? FIREFOX_UNKNOWN
		 : is_jit     ? FIREFOX_JIT
			      : FIREFOX_USER,
		 0);
}

static void add_subcategory(struct firefox *f, size_t i)
{
	const struct profile_location *l = location_of(f, i);

	text_dec(&f->out,
		 l->how == FRAME_STITCHED     ? FIREFOX_STITCHED
		 : frame_how_is_guess(l->how) ? FIREFOX_GUESSED
					      : FIREFOX_SURE,
		 0);
}

static void add_frame_func(struct firefox *f, size_t i)
{
	text_dec(&f->out, f->frames.v[i].func, 0);
}

static void add_frame_native(struct firefox *f, size_t i)
{
	add_or_null(f, f->frames.v[i].native);
}

static void add_frame_line(struct firefox *f, size_t i)
{
	add_or_null(f, f->frames.v[i].line ? f->frames.v[i].line + 1ull : 0);
}

static void add_frame_table(struct firefox *f, FILE *out)
{
	const size_t n = f->frames.n;

	add_column(f, "address", add_address, n, out);
	add_column(f, "inlineDepth", add_depth, n, out);
	add_column(f, "category", add_category, n, out);
	add_column(f, "subcategory", add_subcategory, n, out);
	add_column(f, "func", add_frame_func, n, out);
	add_column(f, "nativeSymbol", add_frame_native, n, out);
	add_constant(f, "innerWindowID", "0", n, out);
	add_column(f, "line", add_frame_line, n, out);
	add_constant(f, "column", "null", n, out);
	add_constant(f, "originalLocation", "null", n, out);
}

/* ---- functions ------------------------------------------------------------------------------ */

static void add_func_name(struct firefox *f, size_t i)
{
	const struct firefox_func *func = &f->funcs.v[i];
	const char *module;

	if (func->symbol < f->p->functions.n) {
		text_dec(&f->out, firefox_our_string(f, f->p->functions.v[func->symbol].name), 0);
		return;
	}
	module = profile_mapping_short_name(f->p, func->mapping);
	f->words.n = 0;
	if (func->symbol > f->p->functions.n) {
		text_str(&f->words, FOLD_OTHER_STACK);
	} else {
		text_char(&f->words, '[');
		text_str(&f->words, module);
		text_char(&f->words, ']');
	}
	if (!f->words.failed)
		text_dec(&f->out, firefox_string(f, f->words.s, f->words.n), 0);
	f->words.n = 0;
}

static void add_func_resource(struct firefox *f, size_t i)
{
	text_dec(&f->out, f->lib_of[f->funcs.v[i].mapping] - 1, 0);
}

static const struct profile_function *function_of(const struct firefox *f, size_t i)
{
	static const struct profile_function none;
	const uint32_t symbol = f->funcs.v[i].symbol;

	return symbol < f->p->functions.n ? &f->p->functions.v[symbol] : &none;
}

static void add_func_source(struct firefox *f, size_t i)
{
	add_or_null(f, f->source_of[function_of(f, i)->file]);
}

static void add_func_line(struct firefox *f, size_t i)
{
	const uint32_t line = function_of(f, i)->start_line;

	add_or_null(f, line ? line + 1ull : 0);
}

static void add_func_table(struct firefox *f, FILE *out)
{
	const size_t n = f->funcs.n;

	add_column(f, "name", add_func_name, n, out);
	add_constant(f, "isJS", "false", n, out);
	add_constant(f, "relevantForJS", "false", n, out);
	add_column(f, "resource", add_func_resource, n, out);
	add_column(f, "source", add_func_source, n, out);
	add_column(f, "lineNumber", add_func_line, n, out);
	add_constant(f, "columnNumber", "null", n, out);
	add_constant(f, "originalLocation", "null", n, out);
}

/* ---- libraries ------------------------------------------------------------------------------ */

static void add_lib_index(struct firefox *f, size_t i)
{
	text_dec(&f->out, i, 0);
}

static void add_lib_name(struct firefox *f, size_t i)
{
	const char *name = profile_mapping_short_name(f->p, f->libs.v[i]);

	text_dec(&f->out, firefox_string(f, name, strlen(name)), 0);
}

static void add_native_lib(struct firefox *f, size_t i)
{
	text_dec(&f->out, f->lib_of[f->natives.v[i].mapping] - 1, 0);
}

static void add_native_address(struct firefox *f, size_t i)
{
	text_dec(&f->out, f->natives.v[i].address, 0);
}

static void add_native_name(struct firefox *f, size_t i)
{
	text_dec(&f->out, firefox_our_string(f, f->natives.v[i].name), 0);
}

static void add_source_name(struct firefox *f, size_t i)
{
	text_dec(&f->out, firefox_our_string(f, f->sources.v[i]), 0);
}

/* Breakpad's form of a build id: its first 16 bytes as a GUID, of which three parts are little
 * endian, and an age of 0. */
static void add_breakpad_id(struct text *t, const struct build_id *id)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	char buf[3];

	for (size_t i = 0; id->size && i < 16; i++) {
		snprintf(buf, sizeof buf, "%02X", order[i] < id->size ? id->bytes[order[i]] : 0);
		text_add(t, buf, 2);
	}
	if (id->size)
		text_char(t, '0');
}

static void add_lib(struct firefox *f, const struct profile_mapping *m)
{
	const struct perf_file_info *info = f->p->info;
	const char *arch = info && info->arch ? info->arch : "";
	const char *base = base_name(strtab_get(&f->p->strings, m->path));
	static const char *const keys[2] = {"name", "debugName"};
	static const char *const paths[2] = {"path", "debugPath"};

	text_str(&f->out, "{\"arch\":");
	text_json(&f->out, arch, strlen(arch));
	for (size_t i = 0; i < 2; i++) {
		text_str(&f->out, ",\"");
		text_str(&f->out, keys[i]);
		text_str(&f->out, "\":");
		text_json(&f->out, base, strlen(base));
		text_str(&f->out, ",\"");
		text_str(&f->out, paths[i]);
		text_str(&f->out, "\":");
		text_json_string(&f->out, f->p, m->path);
	}
	text_str(&f->out, ",\"breakpadId\":\"");
	add_breakpad_id(&f->out, &m->build_id);
	text_str(&f->out, m->build_id.size ? "\",\"codeId\":\"" : "\",\"codeId\":null}");
	if (m->build_id.size) {
		text_build_id(&f->out, &m->build_id);
		text_str(&f->out, "\"}");
	}
}

void firefox_write_libs(struct firefox *f, FILE *out)
{
	text_str(&f->out, "\"libs\":[");
	for (size_t i = 0; i < f->libs.n; i++) {
		text_str(&f->out, i ? ",\n" : "\n");
		add_lib(f, &f->p->mappings.v[f->libs.v[i]]);
		flush_some(f, out);
	}
	text_str(&f->out, "],\n");
}

static void add_libs_tables(struct firefox *f, FILE *out)
{
	const size_t n = f->libs.n;

	add_column(f, "lib", add_lib_index, n, out);
	add_column(f, "name", add_lib_name, n, out);
	add_constant(f, "host", "null", n, out);
	add_constant(f, "type", "1", n, out); /* a library */
	end_table(f, "nativeSymbols", n);
	add_column(f, "libIndex", add_native_lib, f->natives.n, out);
	add_column(f, "address", add_native_address, f->natives.n, out);
	add_column(f, "name", add_native_name, f->natives.n, out);
	add_constant(f, "functionSize", "null", f->natives.n, out);
	end_table(f, "sources", f->natives.n);
	add_constant(f, "id", "null", f->sources.n, out);
	add_column(f, "filename", add_source_name, f->sources.n, out);
	add_constant(f, "startLine", "1", f->sources.n, out);
	add_constant(f, "startColumn", "1", f->sources.n, out);
	add_constant(f, "sourceMapURL", "null", f->sources.n, out);
	add_constant(f, "content", "null", f->sources.n, out);
	end_table(f, "sourceLocationTable", f->sources.n);
	text_str(&f->out, "\"source\":[],\"line\":[],\"column\":[],");
	end_table(f, "", 0);
}

void firefox_write_shared(struct firefox *f, FILE *out)
{
	text_str(&f->out, "\"shared\":{\"stackTable\":{");
	add_stacks(f, "frame", false, out);
	add_stacks(f, "prefixOffset", true, out);
	end_table(f, "frameTable", f->n_stacks);
	add_frame_table(f, out);
	end_table(f, "funcTable", f->frames.n);
	add_func_table(f, out);
	end_table(f, "resourceTable", f->funcs.n);
	add_libs_tables(f, out);
	/* Last: now all strings are known. */
	text_str(&f->out, ",\n\"stringArray\":[");
	for (uint32_t i = 0; i < strtab_count(&f->strings); i++) {
		text_str(&f->out, i ? ",\n" : "\n");
		text_json(&f->out, strtab_get(&f->strings, i), strtab_len(&f->strings, i));
		flush_some(f, out);
	}
	text_str(&f->out, "]}}\n");
}
