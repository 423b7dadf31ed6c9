/* header_machine.c - the machine that was recorded: processors, memory, PMUs. */
#include "reader/header_text.h"

/* ---- processors -------------------------------------------------------------------------- */

static void tell_list(struct teller *t, struct buf *b, const char *what)
{
	for (uint32_t n = take_count(b, 4); n && buf_ok(b); n--) {
		struct header_string text = take_text(b);

		tell(t, "# %s : %.*s", what, TEXT(text));
	}
}

static void skip_list(struct buf *b)
{
	for (uint32_t n = take_count(b, 4); n && buf_ok(b); n--)
		buf_skip(b, buf_u32(b));
}

/* Siblings; then core and socket of every processor; then, since perf 5.2, dies likewise. */
void tell_cpu_topology(struct teller *t, struct buf *b)
{
	uint32_t cpus = t->f->info.cpus_available;
	struct buf cores, dies;

	tell_list(t, b, "sibling sockets");
	cores = *b;
	skip_list(&cores);
	dies = cores;
	buf_skip(&dies, (uint64_t)cpus * 8);
	if (buf_ok(&dies) && buf_left(&dies))
		tell_list(t, &dies, "sibling dies   ");
	else
		dies.bad = true;
	tell_list(t, b, "sibling threads");
	if (buf_left(&cores) < 8)
		tell(t, "# Core ID and Socket ID information is not available");
	for (uint32_t i = 0; i < cpus && buf_left(&cores) >= 8; i++) {
		uint32_t core = buf_u32(&cores), socket = buf_u32(&cores);

		tell_part(t, "# CPU %" PRIu32 ": Core ID %" PRIu32, i, core);
		if (buf_ok(&dies))
			tell_part(t, ", Die ID %" PRIu32, buf_u32(&dies));
		tell(t, ", Socket ID %" PRIu32, socket);
	}
}

/* u32 level, line size, sets, ways; type, size, map. */
void tell_caches(struct teller *t, struct buf *b)
{
	if (buf_u32(b) != 1) /* the version */
		return;
	tell(t, "# CPU cache info:");
	for (uint32_t n = take_count(b, 28); n && buf_ok(b); n--) {
		uint32_t level = buf_u32(b);
		struct header_string type, size, map;

		buf_skip(b, 12);
		type = take_text(b);
		size = take_text(b);
		map = take_text(b);
		tell(t, "#  L%" PRIu32 " %-15.*s %8.*s [%.*s]", level, TEXT(type), TEXT(size),
		     TEXT(map));
	}
}

void tell_hybrid(struct teller *t, struct buf *b)
{
	tell(t, "# hybrid cpu system:");
	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--) {
		struct header_string pmu = take_text(b), cpus = take_text(b);

		tell(t, "# %.*s cpu list : %.*s", TEXT(pmu), TEXT(cpus));
	}
}

/* One domain of the scheduler: u32 number, name if it has any, map and list of its processors. */
static void tell_domain(struct teller *t, struct buf *b, uint32_t version)
{
	uint32_t number = buf_u32(b);
	struct header_string name = version >= 17 ? take_text(b) : (struct header_string){0, ""};
	struct header_string map = take_text(b), list = take_text(b);

	tell(t, "# Domain\t\t: %" PRIu32, number);
	if (version >= 17)
		tell(t, "# Domain name      : %.*s", TEXT(name));
	tell(t, "# Domain cpu map   : %.*s", TEXT(map));
	tell(t, "# Domain cpu list  : %.*s", TEXT(list));
}

/* u32 version of /proc/schedstat, most domains; u32 cpu, number of its domains, and these. */
void tell_domains(struct teller *t, struct buf *b)
{
	uint32_t version = buf_u32(b), most = buf_u32(b);

	tell(t, "# schedstat version\t: %" PRIu32, version);
	tell(t, "# Maximum sched domains\t: %" PRIu32, most);
	while (buf_left(b) >= 8) {
		uint32_t cpu = buf_u32(b), n = take_count(b, 12);

		tell(t, "# cpu\t\t: %" PRIu32, cpu);
		tell(t, "# nr_domains\t: %" PRIu32, n);
		for (; n && buf_ok(b); n--)
			tell_domain(t, b, version);
	}
}

/* ---- memory ------------------------------------------------------------------------------ */

void tell_numa(struct teller *t, struct buf *b)
{
	for (uint32_t n = take_count(b, 24); n && buf_ok(b); n--) {
		uint32_t node = buf_u32(b);
		uint64_t total = buf_u64(b), free = buf_u64(b);
		struct header_string cpus = take_text(b);

		tell(t,
		     "# node%" PRIu32 " meminfo  : total = %" PRIu64 " kB, free = %" PRIu64 " kB",
		     node, total, free);
		tell(t, "# node%" PRIu32 " cpu list : %.*s", node, TEXT(cpus));
	}
}

/* u64 number of bits, and as many words as they need; which may be fewer in the section. */
static struct buf take_bitmap(struct buf *b)
{
	uint64_t bits = buf_u64(b);

	return buf_sub(b, (bits / 64 + (bits % 64 != 0)) * 8);
}

static uint64_t count_bits(struct buf bitmap)
{
	uint64_t set = 0;

	while (buf_left(&bitmap))
		set += (uint64_t)__builtin_popcountll(buf_u64(&bitmap));
	return set;
}

/* The numbers of the set bits, as ranges. */
static void tell_bitmap(struct teller *t, struct buf bitmap)
{
	const uint64_t bits = buf_left(&bitmap) * 8;
	uint64_t word = 0, start = 0;
	const char *before = "";
	bool in = false;

	for (uint64_t i = 0; i <= bits; i++) {
		bool on;

		if (i % 64 == 0)
			word = i < bits ? buf_u64(&bitmap) : 0;
		on = word >> i % 64 & 1;
		if (on && !in)
			start = i;
		if (in && !on) {
			tell_part(t, "%s%" PRIu64, before, start);
			if (start + 1 < i)
				tell_part(t, "-%" PRIu64, i - 1);
			before = ",";
		}
		in = on;
	}
	tell_end(t);
}

/* As perf: the largest unit that leaves a whole number above 0, cut. */
static void tell_bytes(struct teller *t, uint64_t n)
{
	const char *unit = "BKMG";

	for (; n >= 1024 && unit[1]; unit++)
		n /= 1024;
	tell_part(t, "%" PRIu64 "%c", n, *unit);
}

/* u64 node, number of blocks that there is room for, bitmap of its blocks. */
void tell_memory(struct teller *t, struct buf *b)
{
	uint64_t version = buf_u64(b), block = buf_u64(b), n = buf_u64(b);

	if (version != 1 || n > buf_left(b) / 24)
		return;
	tell(t, "# memory nodes (nr %" PRIu64 ", block size 0x%" PRIx64 "):", n, block);
	for (; n && buf_ok(b); n--) {
		uint64_t node = buf_u64(b);
		struct buf bitmap;

		buf_skip(b, 8);
		bitmap = take_bitmap(b);
		tell_part(t, "#  %3" PRIu64 " [", node);
		tell_bytes(t, block * count_bits(bitmap));
		tell_part(t, "]: ");
		tell_bitmap(t, bitmap);
	}
}

/* ---- PMUs -------------------------------------------------------------------------------- */

void tell_pmus(struct teller *t, struct buf *b)
{
	const char *before = "# pmu mappings: ";
	uint32_t n = take_count(b, 8);

	if (!n)
		tell_part(t, "# pmu mappings: not available");
	for (; n && buf_ok(b); n--, before = ", ") {
		uint32_t type = buf_u32(b);
		struct header_string name = take_text(b);

		tell_part(t, "%s%.*s = %" PRIu32, before, TEXT(name), type);
	}
	tell_end(t);
}

/* n pairs of strings. */
static void tell_caps(struct teller *t, struct buf caps, uint32_t n, struct header_string pmu)
{
	const char *before = "";

	tell_part(t, "# %.*s pmu capabilities: %s", TEXT(pmu), n ? "" : "not available");
	for (; n && buf_ok(&caps); n--, before = ", ") {
		struct header_string name = take_text(&caps), value = take_text(&caps);

		tell_part(t, "%s%.*s=%.*s", before, TEXT(name), TEXT(value));
	}
	tell_end(t);
}

void tell_cpu_caps(struct teller *t, struct buf *b)
{
	uint32_t n = take_count(b, 8);

	tell_caps(t, *b, n, (struct header_string){3, "cpu"});
}

/* The name of the PMU stands behind its capabilities. */
void tell_pmu_caps(struct teller *t, struct buf *b)
{
	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--) {
		uint32_t n_caps = take_count(b, 8);
		struct buf caps = *b;
		struct header_string pmu;

		for (uint32_t i = 0; i < n_caps * 2u && buf_ok(b); i++)
			(void)take_text(b);
		pmu = take_text(b);
		if (buf_ok(b))
			tell_caps(t, caps, n_caps, pmu);
	}
}
