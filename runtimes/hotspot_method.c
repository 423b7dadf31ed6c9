/* hotspot_method.c - names and lines of methods.
 *
 * Sources of truth: oops/method.hpp, oops/constMethod.hpp (the bytecode follows the structure, and
 * the compressed table of lines the bytecode), oops/symbol.hpp, code/compressedStream.hpp. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "runtimes/hotspot.h"

/* Limits of the class file format (JVMS 4.7.3, 4.4.7), and on the compressed table. */
enum { CODE_MAX = 65535, SYMBOL_MAX = 65535, LINES_MAX = 64 << 10 };

/* A field that is 16 bits wide. */
static bool read_half(struct hotspot *h, uint64_t at, enum hotspot_field f, uint32_t *ret)
{
	uint16_t half;

	if (!remote_u16(&h->mem, at, &half))
		return false;
	*ret = h->bytes[f] < 0 ? (uint32_t)(int32_t)(int16_t)half : half;
	return true;
}

bool hotspot_u32(struct hotspot *h, uint64_t addr, enum hotspot_field f, uint32_t *ret)
{
	*ret = 0;
	if (!hotspot_has(h, f))
		return false;
	return abs(h->bytes[f]) == 2 ? read_half(h, addr + h->at[f], f, ret)
				     : remote_u32(&h->mem, addr + h->at[f], ret);
}

bool hotspot_u64(struct hotspot *h, uint64_t addr, enum hotspot_field f, uint64_t *ret)
{
	uint32_t word;

	*ret = 0;
	if (!hotspot_has(h, f))
		return false;
	if (!h->bytes[f] || h->bytes[f] == 8)
		return remote_u64(&h->mem, addr + h->at[f], ret);
	if (!hotspot_u32(h, addr, f, &word))
		return false;
	*ret = word;
	return true;
}

bool hotspot_u16(struct hotspot *h, uint64_t addr, enum hotspot_field f, uint16_t *ret)
{
	*ret = 0;
	return hotspot_has(h, f) && remote_u16(&h->mem, addr + h->at[f], ret);
}

/* At most five bytes of six bits each; a byte below 192 ends it. */
uint32_t hotspot_number(struct hotspot_numbers *n)
{
	uint32_t sum = 0;

	for (unsigned shift = 0; shift <= 24; shift += 6) {
		if (n->p == n->end || *n->p < n->excluded) {
			n->bad = true;
			return 0;
		}
		sum += (uint32_t)(*n->p - n->excluded) << shift;
		if (*n->p++ < 192)
			break;
	}
	return sum;
}

/* ---- names ------------------------------------------------------------------------------- */

/* Appends a symbol; false: it is none, or there is no room. */
static bool add_symbol(struct hotspot *h, uint64_t at, char *to, size_t size, size_t *len)
{
	uint32_t both;
	uint16_t n;

	if (hotspot_has(h, AT_SYMBOL_LENGTH)) {
		if (!hotspot_u16(h, at, AT_SYMBOL_LENGTH, &n))
			return false;
	} else {
		if (!hotspot_u32(h, at, AT_SYMBOL_LENGTH_HIGH, &both))
			return false;
		n = (uint16_t)(both >> 16);
	}
	if (!n || n >= size - *len ||
	    !remote_read(&h->mem, at + h->at[AT_SYMBOL_BODY], to + *len, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)to[*len + i] <= ' ' || to[*len + i] == 0x7f)
			return false;
	*len += n;
	to[*len] = 0;
	return true;
}

static bool add_entry(struct hotspot *h, uint64_t pool, uint32_t index, char *to, size_t size,
		      size_t *len)
{
	uint32_t n = UINT16_MAX;
	uint64_t at;

	if (hotspot_has(h, AT_POOL_LENGTH) && !hotspot_u32(h, pool, AT_POOL_LENGTH, &n))
		return false;
	return index && index < n &&
	       remote_u64(&h->mem, pool + h->size[SIZE_POOL] + 8ull * index, &at) &&
	       add_symbol(h, at & ~(uint64_t)1, to, size, len);
}

/* "Ljava/util/Map;get(Ljava/lang/Object;)I", as perf's agent for the JVM writes it. */
static bool method_name(struct hotspot *h, uint64_t pool, uint64_t klass, uint16_t name,
			uint16_t signature, char *to, size_t size)
{
	uint64_t symbol;
	size_t len = 1;

	to[0] = 'L';
	if (!hotspot_u64(h, klass, AT_KLASS_NAME, &symbol) ||
	    !add_symbol(h, symbol, to, size - 2, &len))
		return false;
	to[len++] = ';';
	return add_entry(h, pool, name, to, size, &len) &&
	       add_entry(h, pool, signature, to, size, &len);
}

/* The source file's name; the class file need not have one. */
static void source_name(struct hotspot *h, uint64_t pool, uint64_t klass, char *to, size_t size)
{
	uint16_t index;
	size_t len = 0;

	*to = 0;
	if (!hotspot_u16(h, pool, AT_POOL_SOURCE, &index) &&
	    !hotspot_u16(h, klass, AT_KLASS_SOURCE, &index))
		return;
	if (!add_entry(h, pool, index, to, size, &len))
		*to = 0;
}

/* ---- methods ----------------------------------------------------------------------------- */

/* True if the class has this method: then it is one, whatever else its words may look like. */
static bool has_method(struct hotspot *h, uint64_t klass, uint64_t method)
{
	uint64_t array, words[64];
	uint32_t n;

	/* Array<Method*>: the number, then, aligned, the pointers. */
	if (!hotspot_u64(h, klass, AT_KLASS_METHODS, &array) || !remote_u32(&h->mem, array, &n) ||
	    n > UINT16_MAX)
		return false;
	for (uint32_t i = 0; i < n; i += 64) {
		uint32_t part = n - i < 64 ? n - i : 64;

		if (!remote_read(&h->mem, array + 8 + 8ull * i, words, part * sizeof *words))
			return false;
		for (uint32_t k = 0; k < part; k++)
			if (words[k] == method)
				return true;
	}
	return false;
}

static void read_lines(struct hotspot *h, uint64_t cm, struct hotspot_method *m)
{
	uint32_t words = 0, flags = 0;
	uint64_t end, at = m->code + m->code_bytes;
	uint8_t *copy;

	if (!h->has_lines || !hotspot_u32(h, cm, AT_CM_FLAGS, &flags) ||
	    !((h->major < 21 ? flags & 0xffff : flags) & h->has_lines) ||
	    !hotspot_u32(h, cm, AT_CM_BYTES, &words))
		return;
	end = cm + 8ull * words;
	if (end <= at || end - at > LINES_MAX)
		return;
	copy = arena_alloc(&h->names, (size_t)(end - at));
	if (!copy || !remote_read(&h->mem, at, copy, (size_t)(end - at)))
		return;
	m->lines = copy;
	m->n_lines = (size_t)(end - at);
}

static bool read_method(struct hotspot *h, uint64_t method, struct hotspot_method *m, char *name,
			char *file, size_t size)
{
	uint64_t cm, pool, klass;
	uint16_t bytes, name_index, signature_index;

	if (!hotspot_u64(h, method, AT_M_CONST, &cm) || !hotspot_u64(h, cm, AT_CM_POOL, &pool) ||
	    !hotspot_u64(h, pool, AT_POOL_HOLDER, &klass) ||
	    !hotspot_u16(h, cm, AT_CM_CODE_SIZE, &bytes) ||
	    !hotspot_u16(h, cm, AT_CM_NAME, &name_index) ||
	    !hotspot_u16(h, cm, AT_CM_SIGNATURE, &signature_index) ||
	    !method_name(h, pool, klass, name_index, signature_index, name, size))
		return false;
	source_name(h, pool, klass, file, size);
	*m = (struct hotspot_method){
		.method = method,
		.code = cm + h->size[SIZE_CONST_METHOD],
		.code_bytes = bytes,
	};
	read_lines(h, cm, m);
	return true;
}

void hotspot_forget_methods(struct hotspot *h)
{
	h->known.n = 0;
	hash_done(&h->name_of);
	hash_done(&h->klasses);
	arena_done(&h->names);
}

const struct hotspot_method *hotspot_method_at(struct hotspot *h, uint64_t method, bool *nomem)
{
	uint32_t i = hash_get(&h->name_of, method);
	char name[HOTSPOT_NAME_MAX], file[HOTSPOT_NAME_MAX];
	struct hotspot_method m;

	if (i != HASH_NONE)
		return &h->known.v[i];
	if (!method || method % 8 || !read_method(h, method, &m, name, file, sizeof name))
		return NULL;
	m.name = arena_strndup(&h->names, name, strlen(name));
	m.file = *file ? arena_strndup(&h->names, file, strlen(file)) : NULL;
	if (!m.name || (*file && !m.file) || vec_push(&h->known, m) ||
	    hash_put(&h->name_of, method, (uint32_t)h->known.n - 1)) {
		*nomem = true;
		return NULL;
	}
	return &h->known.v[h->known.n - 1];
}

/* ---- lines ------------------------------------------------------------------------------- */

/* The next pair of the compressed table. */
static bool next_line(struct hotspot_numbers *n, uint32_t *bci, uint32_t *line)
{
	uint8_t byte = n->p == n->end ? 0 : *n->p++;
	uint32_t v;

	if (!byte)
		return false;
	if (byte != 0xff) {
		*bci += byte >> 3;
		*line += byte & 7;
		return true;
	}
	v = hotspot_number(n);
	*bci += (v >> 1) ^ -(v & 1);
	v = hotspot_number(n);
	*line += (v >> 1) ^ -(v & 1);
	return !n->bad;
}

uint32_t hotspot_line(const struct hotspot *h, const struct hotspot_method *m, uint32_t bci)
{
	struct hotspot_numbers n = hotspot_numbers(h, m->lines, m->n_lines);
	uint32_t at = 0, line = 0, found = 0, found_at = 0;

	while (m->lines && next_line(&n, &at, &line))
		if (at <= bci && (at >= found_at || !found)) {
			found = line;
			found_at = at;
		}
	return found <= UINT16_MAX ? found : 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct code_log_line *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* A native method has no bytecode: it stands for itself. */
static int write_method(struct hotspot *h, const struct hotspot_method *m, uint64_t now_ns,
			struct code_log *log)
{
	struct hotspot_numbers n = hotspot_numbers(h, m->lines, m->n_lines);
	const struct code_log_frame frame = {.kind = JIT_FRAME_BYTECODE, .method = m->method};
	VEC(struct code_log_line) lines = {0};
	uint32_t bci = 0, line = 0;
	int rc = 0;

	while (m->lines && !rc && lines.n < CODE_MAX && next_line(&n, &bci, &line))
		if (bci < m->code_bytes && line <= UINT16_MAX)
			rc = vec_push(&lines, (struct code_log_line){m->code + bci, line});
	if (lines.n)
		qsort(lines.v, lines.n, sizeof *lines.v, by_addr);
	if (!rc)
		code_log_add(log, now_ns,
			     &(struct code_log_piece){.start = m->code_bytes ? m->code : m->method,
						      .size = m->code_bytes ? m->code_bytes : 8,
						      .name = m->name,
						      .frame = &frame,
						      .lines = lines.v,
						      .n_lines = lines.n,
						      .file = m->file});
	vec_done(&lines);
	return rc || log->failed ? -ERR_NOMEM : 0;
}

/* ---- which are written --------------------------------------------------------------------- */

static bool method_parts(struct hotspot *h, uint64_t method, uint64_t *cm, uint64_t *klass)
{
	uint64_t pool;

	return hotspot_u64(h, method, AT_M_CONST, cm) && hotspot_u64(h, *cm, AT_CM_POOL, &pool) &&
	       hotspot_u64(h, pool, AT_POOL_HOLDER, klass);
}

static bool is_method(struct hotspot *h, uint64_t method)
{
	uint64_t cm, klass;

	return method_parts(h, method, &cm, &klass) && has_method(h, klass, method);
}

/* What a class is called, in 31 bits; 0: it is none. */
static uint32_t klass_print(struct hotspot *h, uint64_t klass, bool *nomem)
{
	uint32_t print = hash_get(&h->klasses, klass);
	char name[HOTSPOT_NAME_MAX];
	uint64_t symbol;
	size_t len = 0;

	if (print != HASH_NONE)
		return print;
	print = 0;
	if (hotspot_u64(h, klass, AT_KLASS_NAME, &symbol) &&
	    add_symbol(h, symbol, name, sizeof name, &len))
		print = (uint32_t)(hash_bytes(name, len) >> 33) | 1;
	*nomem |= hash_put(&h->klasses, klass, print) != 0;
	return print;
}

/* Which of its class: a class that is redefined has other methods at the same places. */
static uint64_t which_method(struct hotspot *h, uint64_t cm)
{
	uint16_t name = 0, signature = 0;
	uint64_t pool = 0;

	(void)hotspot_u64(h, cm, AT_CM_POOL, &pool);
	(void)hotspot_u16(h, cm, AT_CM_NAME, &name);
	(void)hotspot_u16(h, cm, AT_CM_SIGNATURE, &signature);
	return hash_mix(pool, (uint64_t)name << 16 | signature);
}

static struct hotspot_written written_of(struct hotspot *h, const struct hotspot_method *m,
					 bool *nomem)
{
	struct hotspot_written w = {
		.method = m->method,
		.start = m->code_bytes ? m->code : m->method,
		.size = m->code_bytes ? m->code_bytes : 8,
		.print = hash_mix(hash_bytes(m->name, strlen(m->name)), m->code ^ m->code_bytes),
	};

	if (method_parts(h, m->method, &w.cm, &w.klass))
		w.klass_print = klass_print(h, w.klass, nomem);
	w.which = which_method(h, w.cm);
	return w;
}

/* Is it the method of the class that it was of? Less is read than for its name. */
static bool is_where_it_was(struct hotspot *h, const struct hotspot_written *w, bool *nomem)
{
	uint64_t cm, klass;

	return method_parts(h, w->method, &cm, &klass) && cm == w->cm && klass == w->klass &&
	       klass_print(h, klass, nomem) == w->klass_print && which_method(h, cm) == w->which;
}

void hotspot_unname(const struct hotspot *h, uint64_t method, uint64_t start, uint64_t size,
		    struct code_log *log)
{
	const struct code_log_frame frame = {.kind = JIT_FRAME_BYTECODE, .method = method};

	if (h->before_ns)
		code_log_add(log, h->before_ns,
			     &(struct code_log_piece){.start = start,
						      .size = size,
						      .name = "",
						      .frame = method ? &frame : NULL});
}

static void unname(const struct hotspot *h, const struct hotspot_written *w, struct code_log *log)
{
	hotspot_unname(h, w->method, w->start, w->size, log);
}

/* Of a method that was written: when it was one, it has to be the same. */
static int check_method(struct hotspot *h, uint64_t method, uint32_t i, uint64_t now_ns,
			struct code_log *log)
{
	struct hotspot_written *w = &h->written.v[i];
	const struct hotspot_method *m = NULL;
	bool nomem = false;

	if (is_method(h, method))
		m = hotspot_method_at(h, method, &nomem);
	if (nomem || h->mem.is_gone || !h->mem.budget)
		return nomem ? -ERR_NOMEM : 0;
	if (m && written_of(h, m, &nomem).print == w->print)
		return 0;
	h->has_unloaded = true;
	hash_done(&h->others);
	unname(h, w, log);
	w->print = 0;
	if (!m)
		return 0;
	*w = written_of(h, m, &nomem);
	return write_method(h, m, now_ns, &h->later);
}

static int add_method(struct hotspot *h, uint64_t method, uint64_t now_ns, bool unloaded,
		      struct code_log *log, struct hotspot_counts *counts)
{
	const struct hotspot_method *m = NULL;
	struct hotspot_written w;
	bool nomem = false;

	if (is_method(h, method))
		m = hotspot_method_at(h, method, &nomem);
	if (nomem)
		return -ERR_NOMEM;
	if (!m)
		return hash_put(&h->others, method, 0) ? -ERR_NOMEM : 0;
	w = written_of(h, m, &nomem);
	if (vec_push(&h->written, w) || hash_put(&h->methods, method, (uint32_t)h->written.n - 1))
		return -ERR_NOMEM;
	/* What had its memory before may be what the samples until now were of. */
	if (unloaded)
		unname(h, &w, log);
	counts->methods++;
	return write_method(h, m, now_ns, &h->later);
}

/* Those that are known first: they tell whether classes were unloaded. */
int hotspot_write_methods(struct hotspot *h, const uint64_t *methods, size_t n, uint64_t now_ns,
			  struct code_log *log, struct hotspot_counts *counts)
{
	const bool unloaded_before = h->has_unloaded;
	bool unloaded, nomem = false;
	int rc = 0;

	h->has_unloaded = false;
	/* No sample may have shown those that were unloaded. */
	for (size_t i = 0; i < h->written.n && !rc; i++)
		if (h->written.v[i].print && !is_where_it_was(h, &h->written.v[i], &nomem))
			rc = check_method(h, h->written.v[i].method, (uint32_t)i, now_ns, log);
	for (size_t i = 0; i < n && !rc; i++) {
		const uint32_t known = hash_get(&h->methods, methods[i]);

		if (known != HASH_NONE)
			rc = check_method(h, methods[i], known, now_ns, log);
	}
	rc = nomem ? -ERR_NOMEM : rc;
	unloaded = h->has_unloaded;
	h->has_unloaded |= unloaded_before;
	for (size_t i = 0; i < n && !rc && h->mem.budget && !h->mem.is_gone; i++)
		if (methods[i] && methods[i] % 8 == 0 &&
		    hash_get(&h->methods, methods[i]) == HASH_NONE &&
		    hash_get(&h->others, methods[i]) == HASH_NONE)
			rc = add_method(h, methods[i], now_ns, unloaded, log, counts);
	return rc;
}

bool hotspot_has_seen(const struct hotspot *h, uint64_t method)
{
	return hash_get(&h->methods, method) != HASH_NONE ||
	       hash_get(&h->others, method) != HASH_NONE;
}

int hotspot_end(struct hotspot *h, struct code_log *log)
{
	const bool loses_code = hotspot_may_lose_code(h);

	for (size_t i = 0; h->has_unloaded && i < h->written.n; i++)
		unname(h, &h->written.v[i], log);
	for (size_t i = 0; loses_code && i < h->codes.n; i++)
		hotspot_unname(h, 0, h->codes.v[i].begin, h->codes.v[i].end - h->codes.v[i].begin,
			       log);
	return log->failed ? -ERR_NOMEM : 0;
}
