/* event.c - converts names of events to perf_event_open's type and config. */
#include "capture/event.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/pmu_event.h"
#include "capture/sysfile.h"
#include "capture/tracefs.h"
#include "probe/probe.h"
#include "reader/format.h"
#include "reader/reader.h"

/* perf_event.h: enum perf_hw_id, perf_sw_ids; the names are perf's. */
static const struct event_name {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
} event_names[] = {
	{"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
	{"dummy", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
};

const char *event_name_at(size_t i)
{
	return i < sizeof event_names / sizeof *event_names ? event_names[i].name : NULL;
}

static bool token_is(const char *name, const char *s, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, s, len);
}

bool event_find_name(struct event *e, const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof event_names / sizeof *event_names; i++) {
		const struct event_name *n = &event_names[i];

		if (!token_is(n->name, s, len) && !token_is(n->alias, s, len))
			continue;
		e->type = n->type;
		e->config = n->config;
		return true;
	}
	return false;
}

static int unknown_event(const char *name, struct err *err)
{
	const char *near = NULL;
	size_t best = 3, d;

	for (size_t i = 0; i < sizeof event_names / sizeof *event_names; i++) {
		d = str_distance(name, event_names[i].name);
		if (d < best && d < strlen(event_names[i].name) / 2) {
			best = d;
			near = event_names[i].name;
		}
	}
	return err_set(err, ERR_USAGE, NULL,
		       "event '%s' is not known%s%s%s `capture --list` names them all", name,
		       near ? "; did you mean " : ";", near ? near : "", near ? "?" : "");
}

/* "uprob:./prog:f": which kind of probe was meant; NULL: none. */
static const char *near_prefix(const char *spec, size_t len)
{
	static const char *const words[] = {"uprobe", "uretprobe", "usdt",	"call",
					    "return", "kprobe",	   "kretprobe", "tracepoint"};
	const char *colon = memchr(spec, ':', len);
	size_t n = colon ? (size_t)(colon - spec) : 0;
	size_t best = 3, d;
	const char *ret = NULL;
	char word[16];

	/* probe:NAME is what perf probe makes. */
	if (n < 3 || n >= sizeof word || str_starts_with(spec, "probe"))
		return NULL;
	memcpy(word, spec, n);
	word[n] = 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		d = str_distance(word, words[i]);
		if (d < best && d <= strlen(words[i]) / 3) {
			best = d;
			ret = words[i];
		}
	}
	return ret;
}

static int unknown_probe(const char *spec, size_t len, const char *prefix, struct err *err)
{
	const char *colon = memchr(spec, ':', len);

	return err_set(err, ERR_USAGE, NULL, "event '%.*s' is not known; did you mean %s%.*s?",
		       (int)len, spec, prefix, (int)(spec + len - colon), colon);
}

/* "r1a8": the CPU's own event number in hexadecimal. */
static bool find_raw(struct event *e, const char *s, size_t len)
{
	char digits[17];
	char *end;

	if (len < 2 || len > sizeof digits || s[0] != 'r')
		return false;
	memcpy(digits, s + 1, len - 1);
	digits[len - 1] = 0;
	if (strspn(digits, "0123456789abcdefABCDEF") != len - 1)
		return false;
	e->type = PERF_TYPE_RAW;
	e->config = strtoull(digits, &end, 16);
	return true;
}

static bool tracepoint_word(const char *s, size_t len)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t i;

	for (i = 0; i < len && memchr(ok, s[i], sizeof ok - 1); i++)
		;
	return len && i == len;
}

/* "sys:name" through tracefs. sys_len is the length before the colon. */
static int find_tracepoint(struct event *e, const char *s, size_t sys_len, size_t len,
			   struct err *err)
{
	const char *tracefs, *name = s + sys_len + 1;
	size_t name_len = len - sys_len - 1;
	char path[256];
	uint64_t id;

	if (!tracepoint_word(s, sys_len) || !tracepoint_word(name, name_len))
		return err_set(err, ERR_USAGE, NULL, "event '%.*s' is not known", (int)len, s);
	tracefs = tracefs_find(err);
	if (!tracefs)
		return -(int)(err ? err->code : ERR_NOT_FOUND);
	snprintf(path, sizeof path, "%s/events/%.*s/%.*s/id", tracefs, (int)sys_len, s,
		 (int)name_len, name);
	if (sysfile_u64(path, &id))
		return err_set(err, ERR_NOT_FOUND, NULL,
			       "tracepoint '%.*s' does not exist (no %s in tracefs)%s%.*s",
			       (int)len, s, path + strlen(tracefs) + 1,
			       strncmp(s, "probe", 5)
				       ? ""
				       : "; `perf probe` makes such, and lists them by -l; without "
					 "it: -e uprobe:FILE:",
			       strncmp(s, "probe", 5) ? 0 : (int)name_len, name);
	e->type = PERF_TYPE_TRACEPOINT;
	e->config = id;
	return 0;
}

/* perf-list(1) "EVENT MODIFIERS": u, k and h name privilege levels to count, and exclude those that
 * are not named. I excludes the idle task. */
static int apply_modifiers(struct event *e, const char *mods, size_t len, struct err *err)
{
	const bool named = e->exclude_user || e->exclude_kernel || e->exclude_hv;
	bool user = false, kernel = false, hv = false;

	for (size_t i = 0; i < len; i++) {
		switch (mods[i]) {
		case 'u':
			user = true;
			break;
		case 'k':
			kernel = true;
			break;
		case 'h':
			hv = true;
			break;
		case 'I':
			e->exclude_idle = true;
			break;
		case 'p':
			if (e->precise < 3)
				e->precise++;
			break;
		case 'P':
			e->precise = 3;
			break;
		default:
			return err_set(err, ERR_USAGE, NULL,
				       "event '%s': modifier '%c' is not known (u k h I p P are)%s",
				       e->name, mods[i],
				       mods[i] == 'S' ? "; a group is not read by its leader: "
							"-e A,B samples each event"
						      : "");
		}
	}
	if (user || kernel || hv) {
		e->exclude_user = !user && (!named || e->exclude_user);
		e->exclude_kernel = !kernel && (!named || e->exclude_kernel);
		e->exclude_hv = !hv && (!named || e->exclude_hv);
	}
	return 0;
}

/* "kprobe:FUNCTION+OFFSET", "kretprobe:FUNCTION". */
static bool is_kernel_probe(const char *spec)
{
	return str_starts_with(spec, "kprobe:") || str_starts_with(spec, "kretprobe:");
}

/* The kernel looks the name up itself; config1 is set to the name when the event is opened. */
static int parse_kernel_probe(struct event *ret, const char *spec, size_t len, struct err *err)
{
	struct event e = {0};
	uint64_t type;

	if (sysfile_u64("/sys/bus/event_source/devices/kprobe/type", &type))
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "'%.*s': this kernel was built without kprobes "
			       "(CONFIG_KPROBE_EVENTS); tracepoints are what it has: capture "
			       "--list 'sched:*'",
			       (int)len, spec);
	memcpy(e.name, spec, len);
	e.type = (uint32_t)type;
	e.config = str_starts_with(spec, "kretprobe:");
	e.is_probe = e.is_kernel_probe = true;
	*ret = e;
	return 0;
}

int event_set_filter(struct event *e, const char *filter, size_t len, struct err *err)
{
	if (!event_is_tracepoint(e->type) && !e->is_probe)
		return err_set(err, ERR_USAGE, NULL,
			       "%s: only tracepoints are filtered, by their fields", e->name);
	if (str_starts_with(e->name, "call:") || str_starts_with(e->name, "return:"))
		return err_set(err, ERR_USAGE, NULL,
			       "%s: where some starts are left out, not all ends can be told from "
			       "those of others: record all calls, and see `resolve --where 'NAME "
			       "== 1'`; or filter uprobe:%s",
			       e->name, strchr(e->name, ':') + 1);
	if (!len || len >= sizeof e->filter)
		return err_set(err, ERR_USAGE, NULL, "%s: a filter has 1 to %zu characters",
			       e->name, sizeof e->filter - 1);
	memcpy(e->filter, filter, len);
	e->filter[len] = 0;
	return e->is_probe ? event_check_filter(e, err) : 0;
}

/* "SYSTEM:NAME/FILTER/": the length of the name; len if there is no filter. */
static size_t before_filter(const char *spec, size_t len)
{
	const char *colon = memchr(spec, ':', len), *slash = memchr(spec, '/', len);

	return colon && slash && colon < slash && spec[len - 1] == '/' && slash + 1 < spec + len
		       ? (size_t)(slash - spec)
		       : len;
}

static int parse_probe(struct event *ret, const char *spec, size_t len, struct err *err)
{
	const size_t n = probe_before_filter(spec, len);
	struct event e = {.is_probe = true};
	struct probe_spec probe;
	int rc;

	memcpy(e.name, spec, n);
	rc = probe_parse(&probe, e.name, n, err);
	e.no_stack = !rc && probe.kind == PROBE_LEAVE;
	if (!rc && n < len)
		rc = event_set_filter(&e, spec + n + 1, len - n - 2, err);
	if (!rc)
		*ret = e;
	return rc;
}

static int parse_pmu(struct event *ret, const char *spec, size_t len, struct err *err)
{
	struct event e = {0};
	const char *mods;
	size_t n_mods;
	int rc;

	if (pmu_event_length(spec) != len)
		return err_set(err, ERR_USAGE, NULL,
			       "event '%.*s' is not known; events of PMUs are written "
			       "PMU/TERM=VALUE,.../, as in cpu/event=0x3c,umask=0/",
			       (int)len, spec);
	rc = pmu_event_parse(&e, spec, len, &mods, &n_mods, err);
	if (!rc)
		rc = apply_modifiers(&e, mods, n_mods, err);
	if (!rc)
		*ret = e;
	return rc;
}

int event_parse(struct event *ret, const char *spec, size_t len, struct err *err)
{
	struct event e = {0};
	const char *colon = memchr(spec, ':', len);
	size_t word = colon ? (size_t)(colon - spec) : len;
	int rc;

	if (!len || len >= sizeof e.name)
		return err_set(err, ERR_USAGE, NULL, "event '%.*s' is not known", (int)len, spec);
	if (probe_is_spec(spec))
		return parse_probe(ret, spec, len, err);
	if (is_kernel_probe(spec))
		return parse_kernel_probe(ret, spec, len, err);
	if (before_filter(spec, len) < len) {
		const size_t n = before_filter(spec, len);

		rc = event_parse(&e, spec, n, err);
		if (!rc)
			rc = event_set_filter(&e, spec + n + 1, len - n - 2, err);
		if (!rc)
			*ret = e;
		return rc;
	}
	if (memchr(spec, '/', len) && near_prefix(spec, len))
		return unknown_probe(spec, len, near_prefix(spec, len), err);
	if (memchr(spec, '/', len) && (*spec == '/' || *spec == '.') && memchr(spec, ':', len))
		return err_set(
			err, ERR_USAGE, NULL,
			"event '%.*s': a function of a file is uprobe:%.*s, or call:%.*s with "
			"durations",
			(int)len, spec, (int)len, spec, (int)len, spec);
	if (memchr(spec, '/', len))
		return parse_pmu(ret, spec, len, err);
	memcpy(e.name, spec, len);
	if (!event_find_name(&e, spec, word) && !find_raw(&e, spec, word)) {
		const char *mods;

		if (!colon)
			return unknown_event(e.name, err);
		mods = memchr(colon + 1, ':', len - word - 1);
		rc = find_tracepoint(&e, spec, word, mods ? (size_t)(mods - spec) : len, err);
		if (rc && near_prefix(spec, len))
			return unknown_probe(spec, len, near_prefix(spec, len), err);
		if (rc)
			return rc;
		colon = mods;
	}
	if (colon) {
		rc = apply_modifiers(&e, colon + 1, len - (size_t)(colon + 1 - spec), err);
		if (rc)
			return rc;
	}
	*ret = e;
	return 0;
}

/* Is it a pattern of names of tracepoints, as sys:* or sched:sched_proc*? */
static bool is_wild(const char *s, size_t len)
{
	return memchr(s, ':', len) && (memchr(s, '*', len) || memchr(s, '?', len));
}

static int by_text(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Appends all tracepoints of a system that match, sorted by name. */
static int expand(const char *s, size_t len, struct event *events, size_t max, size_t *n,
		  struct err *err)
{
	const size_t sys_len = strcspn(s, ":");
	const char *tracefs = tracefs_find(err);
	char pattern[128], path[256], name[300];
	struct dirent **found = NULL;
	const size_t before = *n;
	int count, rc = 0;

	if (!tracefs)
		return -(int)(err ? err->code : ERR_NOT_FOUND);
	if (!tracepoint_word(s, sys_len) || len - sys_len >= sizeof pattern)
		return err_set(err, ERR_USAGE, NULL, "event '%.*s' is not known", (int)len, s);
	snprintf(pattern, sizeof pattern, "%.*s", (int)(len - sys_len - 1), s + sys_len + 1);
	snprintf(path, sizeof path, "%s/events/%.*s", tracefs, (int)sys_len, s);
	count = scandir(path, &found, NULL, by_text);
	for (int i = 0; i < count; i++) {
		const char *entry = found[i]->d_name;

		snprintf(name, sizeof name, "%.*s:%s", (int)sys_len, s, entry);
		if (!rc && *entry != '.' && !fnmatch(pattern, entry, 0) &&
		    tracepoint_word(entry, strlen(entry)) && strcmp(entry, "enable") &&
		    strcmp(entry, "filter"))
			rc = *n == max ? err_set(err, ERR_USAGE, NULL,
						 "'%.*s' is more than %zu events", (int)len, s, max)
				       : event_parse(&events[(*n)++], name, strlen(name), err);
		free(found[i]);
	}
	free(found);
	if (!rc && *n == before)
		rc = err_set(err, ERR_NOT_FOUND, NULL, "no tracepoint is like '%.*s' (in %s)",
			     (int)len, s, path);
	return rc;
}

/* Applies the modifiers of a group: "{a,b:p}:u" is "a:u,b:pu". *at is after the closing bracket,
 * and advances past the modifiers. */
static int modify_group(const char **at, struct event *events, size_t n, struct err *err)
{
	const char *mods = *at + 1;
	size_t len = strcspn(mods, ",{}");

	if (**at != ':')
		return 0;
	*at = mods + len;
	for (struct event *e = events; e < events + n; e++) {
		size_t used = strlen(e->name), room = sizeof e->name - used;
		const char *colon = strchr(e->name, ':');
		int rc = apply_modifiers(e, mods, len, err);

		if (colon && event_is_tracepoint(e->type))
			colon = strchr(colon + 1, ':');
		if (rc)
			return rc;
		if (e->is_probe) /* its name says what is probed */
			continue;
		if ((size_t)snprintf(e->name + used, room, "%s%.*s", colon ? "" : ":", (int)len,
				     mods) >= room)
			return err_set(err, ERR_USAGE, NULL, "event '%s...' has a name too long",
				       e->name);
	}
	return 0;
}

/* "call:FILE:F" is two events: where F begins, and where it is left. */
static int parse_call(const char *s, size_t len, struct event *events, size_t max, size_t *n,
		      struct err *err)
{
	static const char call[] = "call:", leave[] = "return:";
	char other[EVENT_NAME_MAX];
	int rc = event_parse(&events[(*n)++], s, len, err);

	if (rc)
		return rc;
	if (*n == max)
		return err_set(err, ERR_USAGE, NULL, "more than %zu events", max);
	if (snprintf(other, sizeof other, "%s%.*s", leave, (int)(len - (sizeof call - 1)),
		     s + sizeof call - 1) >= (int)sizeof other)
		return err_set(err, ERR_USAGE, NULL, "event '%.*s' has a name too long", (int)len,
			       s);
	return event_parse(&events[(*n)++], other, strlen(other), err);
}

/* GROWTH_EVENT is where system calls begin, and where they return. What has no access is only
 * reserved; 32: MAP_ANONYMOUS. */
static int parse_growth(struct event *events, size_t max, size_t *n, struct err *err)
{
	static const struct {
		const char *tracepoint, *tracefs_name, *name, *filter;
	} parts[] = {
#define PART(call, name, filter) {"syscalls:" call, "syscalls/" call, name, filter}
		PART("sys_exit_mmap", GROWTH_EXIT_MMAP, ""),
		PART("sys_exit_mremap", GROWTH_EXIT_MREMAP, ""),
		PART("sys_exit_brk", GROWTH_EXIT_BRK, ""),
		PART("sys_enter_mmap", GROWTH_ENTER_MMAP, "prot != 0 && flags & 32"),
		PART("sys_enter_mremap", GROWTH_ENTER_MREMAP, ""),
#undef PART
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts && !rc; i++) {
		struct event *e = &events[*n];

		if (*n == max)
			return err_set(err, ERR_USAGE, NULL, "more than %zu events", max);
		rc = event_parse(e, parts[i].tracepoint, strlen(parts[i].tracepoint), err);
		if (rc)
			return rc;
		(*n)++;
		snprintf(e->name, sizeof e->name, "%s", parts[i].name);
		snprintf(e->filter, sizeof e->filter, "%s", parts[i].filter);
		e->tracefs_name = parts[i].tracefs_name;
		e->period = 1;
		e->no_stack = i > 2; /* they return with the same */
	}
	return rc;
}

static int parse_one(const char *s, size_t len, struct event *events, size_t max, size_t *n,
		     struct err *err)
{
	static const char tracepoint[] = "tracepoint:"; /* bpftrace's spelling */

	if (*n == max)
		return err_set(err, ERR_USAGE, NULL, "more than %zu events", max);
	if (len > sizeof tracepoint - 1 && str_starts_with(s, tracepoint)) {
		s += sizeof tracepoint - 1;
		len -= sizeof tracepoint - 1;
	}
	if (str_starts_with(s, "call:"))
		return parse_call(s, len, events, max, n, err);
	if (len == sizeof GROWTH_EVENT - 1 && str_starts_with(s, GROWTH_EVENT))
		return parse_growth(events, max, n, err);
	if (!probe_is_spec(s) && is_wild(s, before_filter(s, len)))
		return expand(s, len, events, max, n, err);
	return event_parse(&events[(*n)++], s, len, err);
}

/* Up to a comma or bracket that is in no filter. */
static size_t name_length(const char *list)
{
	const char *colon = strchr(list, ':');
	size_t n = pmu_event_length(list);

	if (n)
		return n;
	n = strcspn(list, ",{}/");

	if (list[n] == '/' && colon && colon < list + n && strchr(list + n + 1, '/'))
		n = (size_t)(strchr(list + n + 1, '/') - list);
	return n + strcspn(list + n, ",{}");
}

/* The events of a group {a,b} are sampled like single ones. */
int event_parse_list(const char *list, struct event *events, size_t max, size_t *n, struct err *err)
{
	bool is_open = false;
	size_t group, len;
	int rc;

	for (group = *n;; list++) {
		if (*list == '{' && !is_open) {
			is_open = true;
			group = *n;
			list++;
		}
		len = probe_is_spec(list) ? probe_spec_length(list) : name_length(list);
		rc = parse_one(list, len, events, max, n, err);
		list += len;
		if (!rc && *list == '}' && is_open) {
			is_open = false;
			list++;
			rc = modify_group(&list, events + group, *n - group, err);
			group = *n;
		}
		if (!rc && !*list && is_open)
			return err_set(err, ERR_USAGE, NULL, "events: a } is missing at the end");
		if (rc || !*list)
			return rc;
		if (*list == '}')
			return err_set(err, ERR_USAGE, NULL, "events: a { is missing before '%s'",
				       list);
		if (*list != ',')
			return err_set(err, ERR_USAGE, NULL,
				       "events: a comma is missing before '%s'", list);
	}
}
