/* script_fields.c - which fields script shows: -F, as perf script takes it. */
#include "base/err.h"
#include "base/strtab.h"
#include "output/script.h"
#include "profile/profile.h"

#include <linux/perf_event.h>
#include <string.h>

#include "reader/reader.h"

static const struct {
	const char *name;
	unsigned bit;
} field_names[] = {
	{"comm", SCRIPT_COMM},
	{"pid", SCRIPT_PID},
	{"tid", SCRIPT_TID},
	{"cpu", SCRIPT_CPU},
	{"time", SCRIPT_TIME},
	{"period", SCRIPT_PERIOD},
	{"event", SCRIPT_EVENT},
	{"addr", SCRIPT_ADDR},
	{"trace", SCRIPT_TRACE},
	{"ip", SCRIPT_IP},
	{"sym", SCRIPT_SYM},
	{"symoff", SCRIPT_SYMOFF},
	{"dso", SCRIPT_DSO},
	{"srcline", SCRIPT_SRCLINE},
	{"dsoff", SCRIPT_DSOFF},
	{"weight", SCRIPT_WEIGHT},
	{"brstack", SCRIPT_BRSTACK},
	{"iregs", SCRIPT_IREGS},
	{"uregs", SCRIPT_UREGS},
	{"misc", SCRIPT_MISC},
	{"phys_addr", SCRIPT_PHYS_ADDR},
	{"data_page_size", SCRIPT_DATA_PAGE_SIZE},
	{"code_page_size", SCRIPT_CODE_PAGE_SIZE},
	{"ins_lat", SCRIPT_INS_LAT},
};

/* Fields of perf that are refused, with the reason. */
static const struct {
	const char *names, *why;
} refused_fields[] = {
	{"brstacksym brstackoff brstackinsn brstackinsnlen brstackdisasm",
	 "branches are shown as addresses, by brstack"},
	{"insn insnlen disasm ipc srccode", "instructions are shown by --annotate FUNCTION"},
	{"flags synth callindent cycles", "only Intel PT and its like have it, which is not read"},
	{"retire_lat local_weight p_stage_cyc", "it is a part of weight in -f jsonl"},
	{"data_src", "-f jsonl has its number"},
	{"cgroup", "--by cgroup shows it in folded and flamegraph, -f otlp as an attribute"},
	{"tod", "-f firefox and perfetto have the time of day"},
	{"bpf-output metric machine_pid vcpu brcntr", "it is not kept"},
};

enum { FIELD_NAMES = sizeof field_names / sizeof *field_names };

static unsigned field_bit(const char *name, size_t n)
{
	for (size_t i = 0; i < FIELD_NAMES; i++)
		if (strlen(field_names[i].name) == n && !strncmp(field_names[i].name, name, n))
			return field_names[i].bit;
	return 0;
}

/* Is it one of these words? */
static bool has_word(const char *words, const char *name, size_t n)
{
	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == n && !strncmp(at, name, n))
			return true;
	return false;
}

static int unknown_field(const char *name, size_t n, struct err *err)
{
	char names[200] = "";

	for (size_t i = 0; i < sizeof refused_fields / sizeof *refused_fields; i++)
		if (has_word(refused_fields[i].names, name, n))
			return err_set(err, ERR_USAGE, NULL, "-F: '%.*s': %s", (int)n, name,
				       refused_fields[i].why);

	for (size_t i = 0; i < FIELD_NAMES; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
			 field_names[i].name);
	return err_set(err, ERR_USAGE, NULL,
		       "-F: '%.*s' is none of:%s (-f jsonl has more, by name)", (int)n, name,
		       names);
}

/* "sw:ip,sym": of events of this type. Returns what follows. */
static const char *take_type(struct script_fields *f, const char *list, struct err *err)
{
	static const struct {
		const char *name;
		uint32_t type;
	} types[] = {{"hw", PERF_TYPE_HARDWARE},
		     {"sw", PERF_TYPE_SOFTWARE},
		     {"trace", PERF_TYPE_TRACEPOINT},
		     {"raw", PERF_TYPE_RAW},
		     {"break", PERF_TYPE_BREAKPOINT}};
	const size_t n = strcspn(list, ":");

	if (!list[n])
		return list;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].name) == n && !strncmp(types[i].name, list, n)) {
			f->has_type = true;
			f->type = types[i].type;
			return list + n + 1;
		}
	err_set(err, ERR_USAGE, NULL, "-F: '%.*s:' is none of hw: sw: trace: raw: break:", (int)n,
		list);
	return NULL;
}

static int take_fields(struct script_fields *f, const char *list, struct err *err)
{
	const bool changes = *list == '+' || *list == '-';

	for (const char *at = list;; at++) {
		const char sign = *at == '+' || *at == '-' ? *at++ : 0;
		const size_t n = strcspn(at, ",");
		const unsigned bit = field_bit(at, n);

		if (!bit)
			return unknown_field(at, n, err);
		if (!sign != !changes)
			return err_set(err, ERR_USAGE, NULL,
				       "-F: '%s': either all fields with + or -, or none", list);
		*(sign == '-' ? &f->remove : sign ? &f->add : &f->only) |= bit;
		at += n;
		if (!*at)
			return 0;
	}
}

int script_fields_parse(struct script_fields *f, const char *list, struct err *err)
{
	*f = (struct script_fields){.given = true};
	list = take_type(f, list, err);
	if (!list)
		return -ERR_USAGE;
	if (f->has_type && !*list)
		f->only = SCRIPT_NOTHING;
	else if (take_fields(f, list, err))
		return -ERR_USAGE;
	/* dsoff is of dso, as perf has it. */
	f->only |= f->only & SCRIPT_DSOFF ? SCRIPT_DSO : 0;
	f->add |= f->add & SCRIPT_DSOFF ? SCRIPT_DSO : 0;
	if ((f->only & (SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO | SCRIPT_SRCLINE)) &&
	    !(f->only & SCRIPT_IP))
		return err_set(err, ERR_USAGE, NULL,
			       "-F: sym, symoff, dso, dsoff and srcline are of ip: add that");
	return 0;
}

/* Fields asked for by name must have been recorded, as perf demands; samples from text formats may
 * have any of those that they can hold. */
int script_fields_check(const struct profile *p, const struct script_fields *fields,
			const struct event_set *events, struct err *err)
{
	static const struct {
		unsigned field;
		uint64_t sample;
		const char *name;
	} needs[] = {
		{SCRIPT_PID, PERF_SAMPLE_TID, "pid"},
		{SCRIPT_TID, PERF_SAMPLE_TID, "tid"},
		{SCRIPT_CPU, PERF_SAMPLE_CPU, "cpu"},
		{SCRIPT_TIME, PERF_SAMPLE_TIME, "time"},
		{SCRIPT_ADDR, PERF_SAMPLE_ADDR, "addr"},
		{SCRIPT_IP, PERF_SAMPLE_IP, "ip"},
		{SCRIPT_WEIGHT, PERF_SAMPLE_WEIGHT_TYPE, "weight"},
		{SCRIPT_BRSTACK, PERF_SAMPLE_BRANCH_STACK, "brstack"},
		{SCRIPT_IREGS, PERF_SAMPLE_REGS_INTR, "iregs"},
		{SCRIPT_UREGS, PERF_SAMPLE_REGS_USER, "uregs"},
		{SCRIPT_PHYS_ADDR, PERF_SAMPLE_PHYS_ADDR, "phys_addr"},
		{SCRIPT_DATA_PAGE_SIZE, PERF_SAMPLE_DATA_PAGE_SIZE, "data_page_size"},
		{SCRIPT_CODE_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE, "code_page_size"},
		{SCRIPT_INS_LAT, PERF_SAMPLE_WEIGHT_STRUCT, "ins_lat"},
	};
	const unsigned asked = fields->only | fields->add;

	if (asked & (SCRIPT_IREGS | SCRIPT_UREGS) && p->info && !script_knows_registers(p))
		return err_set(err, ERR_USAGE, NULL,
			       "-F: names of the registers of %s are not known",
			       p->info->arch ? p->info->arch : "an unknown machine");
	for (size_t i = 0; i < events->n; i++) {
		const struct profile_event *e = &p->events.v[events->ids[i]];

		if (fields->has_type && fields->type != e->attr.type)
			continue;
		for (size_t k = 0; k < sizeof needs / sizeof *needs; k++)
			if (asked & needs[k].field && !(e->attr.sample_type & needs[k].sample) &&
			    (e->attr.sample_type || needs[k].field & SCRIPT_ONLY))
				return err_set(err, ERR_USAGE, NULL, "-F: samples of %s have no %s",
					       strtab_get(&p->strings, e->name), needs[k].name);
	}
	return 0;
}
