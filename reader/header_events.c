/* header_events.c - events with all of their attributes, as perf prints them
 * (tools/perf/util/perf_event_attr_fprintf.c), and groups. */
#include <string.h>

#include "reader/header_text.h"
#include "reader/reader.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* The names of bits, in perf's order; perf_event.h: enum perf_event_sample_format, _read_format,
 * perf_branch_sample_type. */
struct bit_name {
	unsigned bit;
	const char *name;
};

static const struct bit_name sample_types[] = {
	{0, "IP"},
	{1, "TID"},
	{2, "TIME"},
	{3, "ADDR"},
	{4, "READ"},
	{5, "CALLCHAIN"},
	{6, "ID"},
	{7, "CPU"},
	{8, "PERIOD"},
	{9, "STREAM_ID"},
	{10, "RAW"},
	{11, "BRANCH_STACK"},
	{12, "REGS_USER"},
	{13, "STACK_USER"},
	{16, "IDENTIFIER"},
	{18, "REGS_INTR"},
	{15, "DATA_SRC"},
	{14, "WEIGHT"},
	{19, "PHYS_ADDR"},
	{20, "AUX"},
	{21, "CGROUP"},
	{22, "DATA_PAGE_SIZE"},
	{23, "CODE_PAGE_SIZE"},
	{24, "WEIGHT_STRUCT"},
	{17, "TRANSACTION"},
};

static const struct bit_name read_formats[] = {
	{0, "TOTAL_TIME_ENABLED"}, {1, "TOTAL_TIME_RUNNING"}, {2, "ID"}, {3, "GROUP"}, {4, "LOST"},
};

static const struct bit_name branch_types[] = {
	{0, "USER"},	   {1, "KERNEL"},     {2, "HV"},	 {3, "ANY"},
	{4, "ANY_CALL"},   {5, "ANY_RETURN"}, {6, "IND_CALL"},	 {7, "ABORT_TX"},
	{8, "IN_TX"},	   {9, "NO_TX"},      {10, "COND"},	 {11, "CALL_STACK"},
	{12, "IND_JUMP"},  {13, "CALL"},      {14, "NO_FLAGS"},	 {15, "NO_CYCLES"},
	{16, "TYPE_SAVE"}, {17, "HW_INDEX"},  {18, "PRIV_SAVE"}, {19, "COUNTERS"},
};

/* One name per bit; precise_ip has two bits. */
static const char *const flags[] = {
	"disabled",
	"inherit",
	"pinned",
	"exclusive",
	"exclude_user",
	"exclude_kernel",
	"exclude_hv",
	"exclude_idle",
	"mmap",
	"comm",
	"freq",
	"inherit_stat",
	"enable_on_exec",
	"task",
	"watermark",
	"precise_ip",
	NULL,
	"mmap_data",
	"sample_id_all",
	"exclude_host",
	"exclude_guest",
	"exclude_callchain_kernel",
	"exclude_callchain_user",
	"mmap2",
	"comm_exec",
	"use_clockid",
	"context_switch",
	"write_backward",
	"namespaces",
	"ksymbol",
	"bpf_event",
	"aux_output",
	"cgroup",
	"text_poke",
	"build_id",
	"inherit_thread",
	"remove_on_exec",
	"sigtrap",
	"defer_callchain",
	"defer_output",
};

static void print_bits(struct header_printer *t, const char *what, uint64_t bits,
		       const struct bit_name *names, size_t n)
{
	const char *before = "";

	if (!bits)
		return;
	print_part(t, ", %s = ", what);
	for (size_t i = 0; i < n; i++)
		if (bits >> names[i].bit & 1) {
			print_part(t, "%s%s", before, names[i].name);
			before = "|";
		}
}

static void print_flags(struct header_printer *t, uint64_t all)
{
	for (unsigned bit = 0; bit < LENGTH(flags); bit++) {
		const unsigned width =
			flags[bit] && bit + 1 < LENGTH(flags) && !flags[bit + 1] ? 2 : 1;
		const uint64_t value = all >> bit & ((1u << width) - 1);

		if (flags[bit] && value)
			print_part(t, ", %s = %" PRIu64, flags[bit], value);
	}
}

static void print_number(struct header_printer *t, const char *what, uint64_t value)
{
	if (value)
		print_part(t, ", %s = %" PRIu64, what, value);
}

static void print_hex(struct header_printer *t, const char *what, uint64_t value)
{
	if (value)
		print_part(t, ", %s = 0x%" PRIx64, what, value);
}

static void print_attr(struct header_printer *t, const struct perf_attr *a)
{
	print_number(t, "type", a->type);
	print_number(t, "size", a->size);
	print_hex(t, "config", a->config);
	print_number(t, "{ sample_period, sample_freq }", a->sample_period);
	print_bits(t, "sample_type", a->sample_type, sample_types, LENGTH(sample_types));
	print_bits(t, "read_format", a->read_format, read_formats, LENGTH(read_formats));
	print_flags(t, a->flags);
	print_number(t, "{ wakeup_events, wakeup_watermark }", a->wakeup);
	print_number(t, "bp_type", a->bp_type);
	print_hex(t, "{ bp_addr, config1 }", a->config1);
	print_hex(t, "{ bp_len, config2 }", a->config2);
	print_bits(t, "branch_sample_type", a->branch_sample_type, branch_types,
		   LENGTH(branch_types));
	print_hex(t, "sample_regs_user", a->sample_regs_user);
	print_number(t, "sample_stack_user", a->sample_stack_user);
	if (a->clockid)
		print_part(t, ", clockid = %" PRId32, a->clockid);
	print_hex(t, "sample_regs_intr", a->sample_regs_intr);
	print_number(t, "aux_watermark", a->aux_watermark);
	print_number(t, "sample_max_stack", a->sample_max_stack);
	print_number(t, "aux_sample_size", a->aux_sample_size);
	print_number(t, "sig_data", a->sig_data);
}

void print_events(struct header_printer *t)
{
	for (size_t k = 0; k < perf_file_event_count(t->f); k++) {
		const struct perf_event *e = perf_file_event(t->f, k);

		print_part(t, "# event : name = %s, ", e->name);
		if (e->n_ids) {
			print_part(t, ", id = {");
			for (size_t i = 0; i < e->n_ids; i++)
				print_part(t, "%s %" PRIu64, i ? "," : "", e->ids[i]);
			print_part(t, " }");
		}
		print_attr(t, &e->attr);
		print_end(t);
	}
}

/* Each group: name, u32 index of the leader, u32 number of members: the leader and the events after
 * it. An event is in one group only, so all groups together cannot have more members than there are
 * events. */
void print_groups(struct header_printer *t, struct buf *b)
{
	static const char nameless[] = "{anon_group}";
	const size_t n_events = perf_file_event_count(t->f);
	size_t printed = 0;

	for (uint32_t n = take_count(b, 12); n && buf_ok(b) && printed < n_events; n--) {
		struct header_string name = take_text(b);
		uint64_t i = buf_u32(b), end = i + buf_u32(b);
		const char *before = "{";

		if ((size_t)name.n == strlen(nameless) && !memcmp(name.s, nameless, (size_t)name.n))
			name.n = 0;
		print_part(t, "# group: %.*s", TEXT(name));
		for (; i < end && i < n_events && printed < n_events; i++, printed++, before = ",")
			print_part(t, "%s%s", before, perf_file_event(t->f, i)->name);
		put_line(t, "}");
	}
}
