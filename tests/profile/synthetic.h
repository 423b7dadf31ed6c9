/* synthetic.h - profiles made by hand: a small program, its libraries, a kernel and a JIT, with
 * frames and names as the earlier stages would give them. For the tests of profile/ and output/. */
#ifndef TESTS_PROFILE_SYNTHETIC_H
#define TESTS_PROFILE_SYNTHETIC_H

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "profile/fill.h"

enum { DSO_APP, DSO_LIBC, DSO_KERN, DSO_MOD, DSO_VDSO_, DSO_JIT, DSO_STRIPPED, N_DSOS };

static const struct dso synthetic_dsos[N_DSOS] = {
	[DSO_APP] = {.id = 0,
		     .kind = DSO_FILE,
		     .path = "/opt/app/server",
		     .build_id = {4, {0xab, 0xcd, 0xef, 0x01}}},
	[DSO_LIBC] = {.id = 1,
		      .kind = DSO_FILE,
		      .path = "/usr/lib/libc.so.6",
		      .build_id = {2, {0x12, 0x34}}},
	[DSO_KERN] = {.id = 2, .kind = DSO_KERNEL, .path = "[kernel.kallsyms]_text"},
	[DSO_MOD] = {.id = 3,
		     .kind = DSO_KERNEL_MODULE,
		     .path = "/lib/modules/6.1/kernel/net/nf-nat.ko.xz"},
	[DSO_VDSO_] = {.id = 4, .kind = DSO_VDSO, .path = "[vdso]"},
	[DSO_JIT] = {.id = 5, .kind = DSO_ANON, .path = "/tmp/perf-100.map", .pid = 100},
	[DSO_STRIPPED] = {.id = 6, .kind = DSO_FILE, .path = "/opt/app/libx.so (deleted)"},
};

/* Maps 7 and 8 show the program and libc again, elsewhere: another process. Map 9 equals map 1: a
 * third process that was forked. */
static const struct map synthetic_maps[] = {
	{.id = 1,
	 .start = 0x401000,
	 .end = 0x409000,
	 .pgoff = 0x1000,
	 .dso = &synthetic_dsos[DSO_APP]},
	{.id = 2,
	 .start = 0x7f0000010000,
	 .end = 0x7f0000190000,
	 .pgoff = 0x10000,
	 .dso = &synthetic_dsos[DSO_LIBC]},
	{.id = 3,
	 .start = 0xffffffff81000000,
	 .end = 0xffffffffc0000000,
	 .pgoff = 0xffffffff81000000,
	 .dso = &synthetic_dsos[DSO_KERN]},
	{.id = 4,
	 .start = 0xffffffffc0100000,
	 .end = 0xffffffffc0110000,
	 .pgoff = 0,
	 .dso = &synthetic_dsos[DSO_MOD]},
	{.id = 5,
	 .start = 0x7fff00001000,
	 .end = 0x7fff00003000,
	 .pgoff = 0,
	 .dso = &synthetic_dsos[DSO_VDSO_]},
	{.id = 6,
	 .start = 0x20000000,
	 .end = 0x20100000,
	 .pgoff = 0,
	 .dso = &synthetic_dsos[DSO_JIT]},
	{.id = 7,
	 .start = 0x7f0000400000,
	 .end = 0x7f0000401000,
	 .pgoff = 0,
	 .dso = &synthetic_dsos[DSO_STRIPPED]},
	{.id = 8,
	 .start = 0x501000,
	 .end = 0x509000,
	 .pgoff = 0x1000,
	 .dso = &synthetic_dsos[DSO_APP]},
	{.id = 9,
	 .start = 0x7f1000010000,
	 .end = 0x7f1000190000,
	 .pgoff = 0x10000,
	 .dso = &synthetic_dsos[DSO_LIBC]},
	{.id = 10,
	 .start = 0x7f0000010000,
	 .end = 0x7f0000190000,
	 .pgoff = 0x10000,
	 .dso = &synthetic_dsos[DSO_LIBC]},
};

#define SYNTHETIC_STYPE                                                             \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | \
	 PERF_SAMPLE_CALLCHAIN)

static const struct perf_event synthetic_events[] = {
	{.index = 0,
	 .name = "cpu-clock:pppH",
	 .attr = {.type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_CPU_CLOCK,
		  .sample_period = 1000,
		  .flags = PERF_ATTR_FREQ,
		  .sample_type = SYNTHETIC_STYPE}},
	{.index = 1,
	 .name = "cycles:P",
	 .attr = {.type = PERF_TYPE_HARDWARE,
		  .sample_period = 100000,
		  .sample_type = SYNTHETIC_STYPE | PERF_SAMPLE_CPU}},
};

/* A function: [off, off + size) of a dso. `inlined`, when set, is inlined into it everywhere. */
struct synthetic_function {
	int dso;
	uint64_t off, size;
	const char *name, *system_name, *file;
	const char *inlined; /* "outer<inner" gives two levels */
};

static const struct synthetic_function synthetic_functions[] = {
	{DSO_APP, 0x1000, 0x100, "main", "main", "main.cc", NULL},
	{DSO_APP, 0x1100, 0x100, "ns::W<int>::run(int) [clone .isra.0]", "_ZN2ns1WIiE3runEi.isra.0",
	 "w.cc", "mid(int)<leaf(std::vector<int> const&)"},
	{DSO_APP, 0x1200, 0x100, "(anonymous namespace)::Bar<int>::baz()",
	 "_ZN12_GLOBAL__N_13BarIiE3bazEv", NULL, NULL},
	{DSO_APP, 0x1300, 0x100, "<alloc::vec::Vec<(u8, u8)> as core::ops::drop::Drop>::drop",
	 "_ZN4core3ptr4drop17h0123456789abcdefE", "vec.rs", NULL},
	{DSO_APP, 0x1400, 0x100, "net/http.(*conn).serve", "net/http.(*conn).serve", "server.go",
	 NULL},
	/* What a hostile file may call its functions. */
	{DSO_APP, 0x1500, 0x100, "bad\xff;name\n\x1b[31m 12", "bad\xff;name\n\x1b[31m 12", "\xc3(",
	 NULL},
	{DSO_LIBC, 0x10000, 0x1000, "__libc_start_call_main", "__libc_start_call_main", NULL, NULL},
	{DSO_LIBC, 0x20000, 0x100, "memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", NULL, NULL},
	{DSO_KERN, 0xffffffff81000100, 0x100, "do_syscall_64", "do_syscall_64", NULL, NULL},
	{DSO_KERN, 0xffffffff81000200, 0x100, "entry_SYSCALL_64_after_hwframe",
	 "entry_SYSCALL_64_after_hwframe", NULL, NULL},
	{DSO_MOD, 0x100, 0x100, "nf_nat_packet", "nf_nat_packet", NULL, NULL},
	{DSO_JIT, 0x20000100, 0x100, "Lcom/example/Main;::run->Lcom/example/Main;::step",
	 "Lcom/example/Main;::run->Lcom/example/Main;::step", NULL, NULL},
	{DSO_JIT, 0x20000200, 0x100, "LazyCompile:*tick /srv/app.js:12",
	 "LazyCompile:*tick /srv/app.js:12", NULL, NULL},
};

/* A recorded sample, as text: "map+offset ..." leaf first. Letters before a frame: r return
 * address, k kernel chain, u user chain as recorded, g found by frame pointer. "!addr" is in no
 * map. */
struct synthetic_sample {
	int event;
	const char *comm;
	uint32_t pid, tid;
	uint64_t time_ns, period;
	const char *frames;
};

#define SYNTHETIC_ROOT " r0+20 r1+10"

static const struct synthetic_sample synthetic_samples[] = {
	{0, "server", 100, 100, 1001002003, 10, "0+150" SYNTHETIC_ROOT},
	{0, "server", 300, 300, 1001003000, 5, "0+150 r0+20 r9+10"},
	{0, "server", 200, 200, 1001003999, 30, "7+150 r7+20 r8+10"},
	{0, "server", 100, 101, 1001005000, 7, "0+20 r1+10"},
	{0, "my app;1\n", 100, 102, 2000000000, 1, "k3+110 rk2+110 rk2+220 u1+10010 ru0+20"},
	{0, "server", 100, 100, 2000000001, 2, "5+210 r5+110 r4+10 r6+30 !5" SYNTHETIC_ROOT},
	{0, "server", 100, 100, 2000000002, 3, "0+210 r0+310 r0+410" SYNTHETIC_ROOT},
	{1, "server", 100, 100, 2000000003, 50, "0+50" SYNTHETIC_ROOT},
	{0, "a", 100, 100, 2000000004, 0, "0+20"},
	{0, "a b", 100, 100, 2000000005, 1, "0+20"},
};
#define N_SYNTHETIC_SAMPLES (sizeof synthetic_samples / sizeof *synthetic_samples)

#define SYNTHETIC_FRAMES_MAX 64

static inline size_t synthetic_frames(const char *text, struct frame *frames)
{
	size_t n = 0;

	while (*text && n < SYNTHETIC_FRAMES_MAX) {
		struct frame f = {.how = FRAME_CFI};
		char *end;

		for (; *text == ' '; text++)
			;
		for (; *text && strchr("rkug", *text); text++) {
			f.is_return_address |= *text == 'r';
			f.is_kernel |= *text == 'k';
			f.how = *text == 'k'   ? FRAME_KERNEL_CHAIN
				: *text == 'u' ? FRAME_USER_CHAIN
				: *text == 'g' ? FRAME_FRAME_POINTER
					       : f.how;
		}
		if (*text == '!') {
			f.ip = strtoull(text + 1, &end, 16);
		} else {
			f.map = &synthetic_maps[strtoul(text, &end, 10)];
			f.ip = f.map->start + strtoull(end + 1, &end, 16);
		}
		frames[n++] = f;
		text = end;
	}
	return n;
}

/* 0 or a negative error code. */
static inline int synthetic_add(struct profile *p, const struct synthetic_sample *s)
{
	struct frame frames[SYNTHETIC_FRAMES_MAX];
	struct stack_trace t = {.frames = frames, .stop = UNWIND_STOP_END};
	struct perf_sample sample = {
		.event = &synthetic_events[s->event],
		.comm = s->comm,
		.pid = s->pid,
		.tid = s->tid,
		.time_ns = s->time_ns,
		.period = s->period,
		.cpu = s->tid % 4,
		.has_callchain =
			synthetic_events[s->event].attr.sample_type & PERF_SAMPLE_CALLCHAIN,
		.seq = s->time_ns,
	};

	t.n = synthetic_frames(s->frames, frames);
	sample.ip = t.n ? frames[0].ip : 0;
	return profile_add(p, &sample, &t, NULL);
}

/* Adds one function to an answer. 0 or -ERR_NOMEM. */
static inline int synthetic_line(struct sym_result *r, struct sym_line *lines,
				 struct strtab *strings, const char *name, size_t n,
				 const struct synthetic_function *f)
{
	bool real = !strncmp(name, f->name, n) && !f->name[n];
	struct sym_line l = {
		.name = strtab_add(strings, name, n),
		.system_name = real ? strtab_add_cstr(strings, f->system_name)
				    : strtab_add(strings, name, n),
		.file = f->file ? strtab_add_cstr(strings, f->file) : 0,
		.line = f->file ? 7 : 0,
		.start_line = f->file ? 5 : 0,
	};

	lines[r->n_lines++] = l;
	r->symbol = l.name;
	return l.name == STRTAB_FAILED || l.system_name == STRTAB_FAILED || l.file == STRTAB_FAILED
		       ? -ERR_NOMEM
		       : 0;
}

static inline int synthetic_answer(struct sym_result *r, struct sym_line *lines,
				   struct strtab *strings, const struct sym_query *q)
{
	const struct synthetic_function *f = synthetic_functions;
	const struct synthetic_function *end = f + sizeof synthetic_functions / sizeof *f;
	const char *cut;
	int rc = 0;

	*r = (struct sym_result){.miss = q->dso ? SYM_MISS_NO_SYMBOLS : SYM_MISS_NO_MAP,
				 .lines = lines};
	while (f < end && (q->dso != &synthetic_dsos[f->dso] || q->off - f->off >= f->size))
		f++;
	if (f == end)
		return 0;
	if (f->inlined) {
		cut = strchr(f->inlined, '<');
		rc |= synthetic_line(r, lines, strings, cut + 1, strlen(cut + 1), f);
		rc |= synthetic_line(r, lines, strings, f->inlined, (size_t)(cut - f->inlined), f);
	}
	rc |= synthetic_line(r, lines, strings, f->name, strlen(f->name), f);
	r->offset = q->off - f->off;
	r->miss = SYM_MISS_FOUND;
	return rc;
}

/* What a symbolizer would do: names every location. */
static inline int synthetic_name(struct profile *p)
{
	struct strtab strings = {0};
	struct sym_line lines[3];
	struct sym_result r;
	size_t i;
	int rc = strtab_add_cstr(&strings, "") == STRTAB_FAILED ? -ERR_NOMEM : 0;

	for (i = 0; !rc && i < p->locations.n; i++) {
		struct sym_query q = profile_query(p, i);

		rc = synthetic_answer(&r, lines, &strings, &q);
		if (!rc)
			rc = profile_set_lines(p, i, &r, &strings, NULL);
	}
	strtab_done(&strings);
	return rc;
}

#endif
