/* machine_code.c - from the image of a module, or from what a JIT compiler wrote. */
#include "report/machine_code.h"

#include "base/err.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "profile/profile.h"
#include "reader/reader.h"

enum { CANDIDATES = 64, FUNCTION_BYTES_MAX = 16 << 20 };

/* The end of the function by its symbol, or else by its unwind table; 0: not known. */
static uint64_t find_end(const struct loaded *l, const struct profile_location *location,
			 struct elf_image *image, const struct dso *dso, uint64_t start)
{
	const struct sym_query q = {.dso = dso, .off = location->off};
	struct sym_candidate v[CANDIDATES];
	const size_t n = symbolizer_candidates(l->symbolizer, &q, v, CANDIDATES);
	struct cfi_index cfi;
	struct cfi_fde fde;
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].start == start && (!end || v[i].has_size))
			end = v[i].end;
	if (end)
		return end;
	cfi_index_open_eh(&cfi, image);
	if (cfi_index_find(&cfi, start, &fde) == 1 && fde.start == start)
		end = fde.end;
	cfi_index_done(&cfi);
	return end;
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

static int no_code(const struct dso *dso, const char *why, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, dso->path, "no machine code: %s", why);
}

static int find_in_image(const struct loaded *l, const struct profile_location *location,
			 struct machine_code *ret, struct err *err)
{
	struct module *m = modules_get(l->modules, ret->dso);
	uint64_t vaddr, end;
	size_t left;

	if (!m)
		return err_nomem(err);
	if (!m->image)
		return no_code(ret->dso, module_miss_text(m->image_miss), err);
	if (!module_off_to_vaddr(m, location->off, &vaddr))
		return no_code(ret->dso, "the address is outside of it", err);
	ret->image = m->image;
	ret->start = vaddr - location->symbol_offset;
	end = find_end(l, location, m->image, ret->dso, ret->start);
	ret->bytes = elf_image_at_vaddr(m->image, ret->start, &left);
	if (end <= ret->start || !ret->bytes)
		return no_code(ret->dso, "the end of the function is not known", err);
	ret->n = end - ret->start < left ? end - ret->start : left;
	ret->e_machine = elf_image_machine(m->image);
	ret->is_64 = elf_image_is_64(m->image);
	/* Of files in recordings only what unwinding and naming need is kept. */
	if (is_zero(ret->bytes, ret->n))
		return no_code(ret->dso,
			       "the recording does not carry it (capture --bundle=full does)", err);
	return 0;
}

/* What a jitdump or the recording has about the code at this address. */
static int find_jit_info(const struct loaded *l, const struct profile_location *location,
			 const struct dso *dso, struct jit_unwind_info *ret, struct err *err)
{
	const size_t n = l->file ? perf_file_dso_count(l->file) : 0;
	const struct jitdump *d;
	uint32_t pid;

	if (!l->jit)
		return -ERR_NOT_FOUND;
	if (jit_codes_recorded(l->jit, dso->pid, &d, err))
		return -ERR_NOMEM;
	for (size_t i = 0;; i++) {
		if (d && jitdump_unwind_info(d, location->off, location->made_ns, ret) && ret->code)
			return 0;
		while (i < n && !jitdump_pid(perf_file_dso(l->file, i)->path, &pid))
			i++;
		if (i >= n)
			return -ERR_NOT_FOUND;
		if (jit_codes_open(l->jit, perf_file_dso(l->file, i), dso->pid, &d, err))
			return -ERR_NOMEM;
	}
}

static int find_jit(const struct loaded *l, const struct profile_location *location,
		    struct machine_code *ret, struct err *err)
{
	const struct perf_file_info *info = l->file ? perf_file_info(l->file) : NULL;
	const struct processor *cpu = info && info->arch ? processor_find(info->arch, 8) : NULL;
	struct jit_unwind_info jit;
	const int rc = find_jit_info(l, location, ret->dso, &jit, err);

	if (rc == -ERR_NOT_FOUND || !cpu)
		return no_code(ret->dso,
			       "its JIT compiler has written no jitdump with the bytes, and the "
			       "recording does not carry them",
			       err);
	if (rc)
		return rc;
	ret->bytes = jit.code;
	ret->n = jit.end - jit.start;
	ret->start = jit.start;
	ret->time_ns = location->made_ns;
	ret->e_machine = cpu->e_machine;
	ret->is_64 = cpu->word_bytes == 8;
	return 0;
}

/* The kernel's own, from its vmlinux: /proc/kcore is not read, as few may, and it is of this boot.
 */
static int find_in_kernel(const struct loaded *l, const struct profile_location *location,
			  struct machine_code *ret, struct err *err)
{
	struct sym_kernel_code code;
	size_t left;

	if (!symbolizer_kernel_code(l->symbolizer, ret->dso, location->ip - location->symbol_offset,
				    &code))
		return no_code(ret->dso,
			       "it is in the kernel's vmlinux, which is not here: --vmlinux FILE "
			       "(the package of the kernel's debug symbols has it)",
			       err);
	ret->image = code.image;
	ret->is_kernel = true;
	ret->shift = code.shift;
	ret->start = code.vaddr;
	ret->bytes = elf_image_at_vaddr(code.image, code.vaddr, &left);
	if (!ret->bytes || code.end <= code.vaddr)
		return no_code(ret->dso, "its vmlinux has only symbols of it", err);
	ret->n = code.end - code.vaddr < left ? code.end - code.vaddr : left;
	ret->e_machine = elf_image_machine(code.image);
	ret->is_64 = elf_image_is_64(code.image);
	return 0;
}

int machine_code_find(const struct loaded *l, const struct profile_location *location,
		      struct machine_code *ret, struct err *err)
{
	const struct profile_mapping *m = &l->profile->mappings.v[location->mapping];
	int rc;

	*ret = (struct machine_code){.dso = m->dso};
	if (!m->dso)
		return err_set(err, ERR_NOT_FOUND, NULL, "no machine code: in no file");
	if (m->kind == DSO_ANON)
		rc = find_jit(l, location, ret, err);
	else if (m->kind == DSO_FILE || m->kind == DSO_VDSO)
		rc = find_in_image(l, location, ret, err);
	else if (m->kind == DSO_KERNEL)
		rc = find_in_kernel(l, location, ret, err);
	else
		rc = no_code(m->dso, "that of kernel modules and guests is not read", err);
	if (!rc && ret->n > FUNCTION_BYTES_MAX)
		return no_code(m->dso, "the function has more than 16 MiB", err);
	return rc;
}

struct sym_query machine_code_query(const struct machine_code *c, uint64_t vaddr)
{
	struct sym_query q = {.dso = c->dso, .off = vaddr, .ip = vaddr, .time_ns = c->time_ns};

	if (c->is_kernel)
		q.off = q.ip = vaddr + c->shift;
	else if (c->image && !elf_image_vaddr_to_off(c->image, vaddr, &q.off))
		q.dso = NULL;
	return q;
}
