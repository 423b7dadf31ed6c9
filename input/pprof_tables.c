/* pprof_tables.c - what samples of a profile.proto refer to: mappings, functions, locations. */
#include "input/pprof_reader.h"

#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"

uint32_t pprof_string(struct pprof_reader *r, uint64_t index)
{
	if (!index)
		return 0;
	if (index < r->strings.n)
		return r->strings.v[index];
	r->ret->cut = true;
	return 0;
}

const char *pprof_text(struct pprof_reader *r, uint64_t index)
{
	return strtab_get(&r->p->strings, pprof_string(r, index));
}

static int know(struct hash_table *k, uint64_t id, uint32_t ours, struct err *err)
{
	return hash_put(k, id, ours) ? err_nomem(err) : 0;
}

static bool build_id_of(const char *hex, struct build_id *ret)
{
	size_t i, n = strlen(hex);
	unsigned byte;

	if (n % 2 || n / 2 > BUILD_ID_MAX || strspn(hex, "0123456789abcdefABCDEF") != n)
		return false;
	for (i = 0; i < n / 2; i++) {
		char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		byte = (unsigned)strtoul(digits, NULL, 16);
		ret->bytes[i] = (uint8_t)byte;
	}
	ret->size = (uint8_t)(n / 2);
	return true;
}

static enum dso_kind kind_of(const char *path)
{
	if (!strncmp(path, "[kernel", 7) || !strcmp(path, "[guest.kernel.kallsyms]"))
		return DSO_KERNEL;
	if (!strcmp(path, "[vdso]"))
		return DSO_VDSO;
	if (!strcmp(path, "//anon") || (!strncmp(path, "/tmp/perf-", 10) && strstr(path, ".map")))
		return DSO_ANON;
	if (!strcmp(path, "[stack]") || !strcmp(path, "[heap]") || !strcmp(path, "[unknown]"))
		return DSO_UNKNOWN;
	return *path == '[' ? DSO_KERNEL_MODULE : DSO_FILE;
}

int pprof_read_mapping(struct pprof_reader *r, struct buf b, struct err *err)
{
	struct profile_mapping m = {.kind = DSO_UNKNOWN};
	uint64_t v[7];
	uint32_t ours;

	if (!pb_numbers(b, v, 7))
		return 1;
	m.map.start = v[2];
	m.map.end = v[3];
	m.map.pgoff = v[4];
	m.path = pprof_string(r, v[5]);
	build_id_of(pprof_text(r, v[6]), &m.build_id);
	if (m.path)
		m.kind = kind_of(strtab_get(&r->p->strings, m.path));
	if (profile_add_mapping(r->p, &m, &ours, err))
		return -ERR_NOMEM;
	return know(&r->mappings, v[1], ours, err);
}

int pprof_read_function(struct pprof_reader *r, struct buf b, struct err *err)
{
	struct profile_function fn;
	uint64_t v[6];
	uint32_t ours;

	if (!pb_numbers(b, v, 6))
		return 1;
	fn = (struct profile_function){
		.name = pprof_string(r, v[2]),
		.system_name = pprof_string(r, v[3]),
		.file = pprof_string(r, v[4]),
		.start_line = (uint32_t)v[5],
		.is_foreign = true,
	};
	if (profile_add_function(r->p, &fn, &ours, err))
		return -ERR_NOMEM;
	return know(&r->functions, v[1], ours, err);
}

static int read_line(struct pprof_reader *r, struct buf b, struct err *err)
{
	struct profile_line line;
	uint64_t v[3];

	if (!pb_numbers(b, v, 3))
		return 1;
	line = (struct profile_line){.function = hash_get(&r->functions, v[1]),
				     .line = (uint32_t)v[2]};
	if (line.function == HASH_NONE)
		return 1;
	return vec_push(&r->lines, line) ? err_nomem(err) : 0;
}

/* Is the only function "[libfoo.so]", which stands for code without a name in that mapping? */
static bool is_nameless(const struct pprof_reader *r, const struct profile_location *l)
{
	const struct profile_function *f = &r->p->functions.v[r->lines.v[0].function];
	const char *name = strtab_get(&r->p->strings, f->name);
	const char *module = profile_mapping_short_name(r->p, l->mapping);
	size_t n = strlen(module);

	return !f->file && name[0] == '[' && !strncmp(name + 1, module, n) &&
	       !strcmp(name + 1 + n, "]");
}

/* Removes the inlined functions that a dropped one has called, and itself. */
static int prune_lines(struct pprof_reader *r, uint64_t id, struct err *err)
{
	size_t i;

	for (i = r->lines.n; i--;) {
		const struct profile_function *f = &r->p->functions.v[r->lines.v[i].function];

		if (pruner_drops(&r->pruner, strtab_get(&r->p->strings, f->name)))
			break;
	}
	if (i == SIZE_MAX)
		return 0;
	if (i + 1 < r->lines.n) {
		r->lines.n -= i + 1;
		memmove(r->lines.v, r->lines.v + i + 1, r->lines.n * sizeof *r->lines.v);
		return know(&r->prunes, id, PRUNE_BELOW, err);
	}
	return know(&r->prunes, id, PRUNE_ALL, err);
}

int pprof_read_location(struct pprof_reader *r, struct buf b, struct err *err)
{
	struct profile_location l = {.how = FRAME_USER_CHAIN};
	struct pb_field f;
	uint64_t id = 0, mapping = 0;
	uint32_t ours;
	int bad = 0;

	r->lines.n = 0;
	while (pb_next(&b, &f))
		switch (f.number) {
		case 1:
			id = f.value;
			break;
		case 2:
			mapping = f.value;
			break;
		case 3:
			l.ip = l.off = f.value;
			break;
		case 4:
			bad = read_line(r, f.bytes, err);
			if (bad < 0)
				return bad;
			break;
		}
	if (!buf_ok(&b))
		return 1;
	ours = hash_get(&r->mappings, mapping);
	l.mapping = ours == HASH_NONE ? 0 : ours;
	switch (r->p->mappings.v[l.mapping].kind) {
	case DSO_KERNEL:
	case DSO_KERNEL_MODULE:
	case DSO_GUEST_KERNEL:
		l.is_kernel = true;
		break;
	default:
		break;
	}
	if (r->lines.n == 1 && is_nameless(r, &l))
		r->lines.n = 0;
	if (r->pruner.has_drop && prune_lines(r, id, err))
		return -ERR_NOMEM;
	if (profile_add_location(r->p, &l, r->lines.v, r->lines.n, &ours, err))
		return -ERR_NOMEM;
	return know(&r->locations, id, ours, err);
}
