/* fuzz_values.c - libFuzzer target: values of parameters. The input is u16 n, an expression of n
 * bytes, and an ELF file: the expression is evaluated where the file has functions, and all their
 * parameters are told, for frames of each function called by each other. */
#include <elf.h>
#include <string.h>

#include "reader/machine.h"
#include "tests/fuzz.h"
#include "values/frame_view.h"

/* Seeds have their code there. */
enum { VADDR = 0x1000, VADDRS = 96, STEP = 3, STACK_BYTES = 512, STEPS = 4096 };
static const uint64_t stack_at = 0x7ffe0000;

struct scene {
	struct values *v;
	struct perf_sample sample;
	struct frame frames[2];
	struct frame_registers regs[2];
	uint8_t stack[STACK_BYTES];
	struct dwarf_params *params;
	struct elf_image *img;
};

static void set_view(struct scene *m, size_t i, uint64_t vaddr)
{
	struct frame_view *f = &m->v->views.v[i];

	m->frames[i].ip = vaddr;
	m->frames[i].is_return_address = i;
	*f = (struct frame_view){.frame = &m->frames[i],
				 .regs = &m->regs[i],
				 .params = m->params,
				 .image = m->img,
				 .vaddr = vaddr,
				 .cfa = stack_at + 64 * (i + 1),
				 .has_cfa = true,
				 .machine = EM_X86_64};
	if (dwarf_params_at(m->params, vaddr, &f->site))
		f->site = NULL;
}

static void tell_all(struct scene *m, size_t view, struct text *t)
{
	const struct dwarf_site *site = m->v->views.v[view].site;
	struct value_bytes b;
	bool is_entry;

	for (size_t level = 0; site && level < site->n; level++)
		for (size_t i = 0; i < site->levels[level].n; i++) {
			m->v->steps = STEPS;
			param_value(m->v, view, level, i, &b, &is_entry);
			FUZZ_CHECK(b.n <= VALUE_BYTES_MAX && m->v->steps <= STEPS && !m->v->depth);
			value_print(m->v, t, site->levels[level].v[i].type, &b, false);
			value_print_type(t, site->levels[level].v[i].type);
			t->n = 0;
		}
}

static void evaluate(struct scene *m, const struct dwarf_expr *e, struct text *t)
{
	struct value_bytes b;

	for (size_t i = 0; i < VADDRS; i++) {
		set_view(m, 0, VADDR + i * STEP);
		set_view(m, 1, VADDR + (i * 31 + 7) % (VADDRS * STEP));
		if (!m->v->views.v[0].site)
			continue;
		for (size_t n = 0; n <= 16; n += 4) {
			m->v->steps = STEPS;
			eval_value(m->v, 0, e, n & 4, n, &b);
			FUZZ_CHECK(b.n == n && m->v->steps <= STEPS);
		}
		tell_all(m, 0, t);
		tell_all(m, 1, t);
	}
}

static void run_scene(struct scene *m, const struct dwarf_expr *e)
{
	static const struct values_options opt = {.all = true};
	struct modules *modules;
	struct unwinder *u;
	struct text t = {0};

	FUZZ_CHECK(!modules_new(&modules, NULL, NULL));
	FUZZ_CHECK(!unwinder_new(&u, modules, NULL, NULL));
	FUZZ_CHECK(!values_new(&m->v, modules, u, &opt, NULL));
	FUZZ_CHECK(!vec_reserve(&m->v->views, 2));
	m->v->views.n = 2;
	m->v->sample = &m->sample;
	evaluate(m, e, &t);
	text_done(&t);
	values_free(m->v);
	unwinder_free(u);
	modules_free(modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scene m;
	struct module mod = {0};
	struct dwarf_expr e;
	struct machine *empty;

	if (size < 2)
		return 0;
	e.n = (size_t)data[0] | (size_t)data[1] << 8;
	e.n = e.n < size - 2 ? e.n : size - 2;
	e.code = data + 2;
	memset(&m, 0, sizeof m);
	if (elf_image_open_memory(&m.img, data + 2 + e.n, size - 2 - e.n, "fuzz", NULL))
		return 0;
	mod.image = mod.debug = m.img;
	for (size_t i = 0; i < STACK_BYTES; i++)
		m.stack[i] = (uint8_t)(i * 7 / 8);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < UNWIND_REGISTERS_MAX; k++) {
			m.regs[i].v[k] = k == 6 || k == 7 ? stack_at + 64 * i : VADDR + k;
			m.regs[i].known |= (uint64_t)(k != 3) << k;
		}
	m.sample.user_stack = m.stack;
	m.sample.user_stack_bytes = STACK_BYTES;
	m.sample.user_regs.abi = 2; /* PERF_SAMPLE_REGS_ABI_64 */
	FUZZ_CHECK(!machine_new(&empty));
	m.sample.space = machine_space(empty, 7);
	if (!dwarf_params_open(&m.params, &mod, NULL) && m.params)
		run_scene(&m, &e);
	dwarf_params_free(m.params);
	elf_image_close(m.img);
	machine_free(empty);
	return 0;
}
