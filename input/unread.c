/* unread.c - names the files that people give to resolve by mistake, and says what to do instead.
 *
 * A file is recognised by its first bytes, or by one of its first lines: patterns are those of
 * fnmatch(3). A row that also fits lines of the formats that are read would hide them, so the
 * patterns are long, and what is short must fit several lines. */
#include "input/unread.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/err.h"
#include "input/unpacked_lines.h"

enum { LINES = 40, LINE_BYTES = 400, SHOWN = 60, HEAD = 1 << 16 };

#define FETCH_PPROF "fetch it without debug=, which is pprof"
#define NOT_STACKS  "it has no call stacks"

struct row {
	const char *pattern, *what, *cure;
	unsigned lines; /* that must fit; 0: the file begins with the bytes of the pattern */
	bool (*is)(const char *line); /* what the pattern cannot tell; NULL: it tells all */
};

/* strace's "read(3, .., 8) = 8", with a thread's id in front or not: lines of programs have more
 * before the first parenthesis, or between the last and the sign. */
static bool is_system_call(const char *line)
{
	const char *name = line + strspn(line, "0123456789 "), *end, *sign;
	const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	for (sign = name; (sign = strstr(sign, "= ")); sign++) {
		for (end = sign; end > name && end[-1] == ' ';)
			end--;
		if (n && name[n] == '(' && end > name && end[-1] == ')' && end < sign)
			return sign[2] == '?' || sign[2] == '-' || isdigit((unsigned char)sign[2]);
	}
	return false;
}

static const struct row rows[] = {
	{"\x7f"
	 "ELF",
	 "a program, library or core dump", "record it with capture or perf record", 0, NULL},
	{"gmon", "gprof's gmon.out", "record the program with capture instead", 0, NULL},
	{"FLR", "a recording of Java's Flight Recorder",
	 "async-profiler's jfrconv makes folded stacks of it", 0, NULL},
	{"JAVA PROFILE", "a dump of Java's heap", NOT_STACKS, 0, NULL},
	{"SQLite format", "a database (Nsight Systems, ..)", "export stacks from it as folded text",
	 0, NULL},
	{"\x17\x08\x44tracing", "trace-cmd's trace.dat",
	 "record with perf record -e, or capture -e", 0, NULL},
	{"JiTD", "a jitdump", "resolve finds it by the recording of the program that wrote it", 0,
	 NULL},
	{"DTiJ", "a jitdump", "resolve finds it by the recording of the program that wrote it", 0,
	 NULL},
	{"<svg", "a picture", "give the stacks it was made of", 0, NULL},
	{"<?xml", "XML (a picture, or a report)", "give the stacks it was made of", 0, NULL},
	{"<!DOCTYPE", "a page", "give the recording or the stacks it was made of", 0, NULL},
	{"<html", "a page", "give the recording or the stacks it was made of", 0, NULL},
	{"PK\3\4", "a zip archive", "unpack it", 0, NULL},
	{"*version", "a trace of Android's method tracing", "ui.perfetto.dev opens it", 0, NULL},
	{"SLOW\xf3", "a trace of Android's method tracing", "ui.perfetto.dev opens it", 0, NULL},
	{"heap profile: * @ heap/*", "the text of Go's heap profile", FETCH_PPROF, 1, NULL},
	{"goroutine profile: total *", "the text of Go's goroutine profile", FETCH_PPROF, 1, NULL},
	{"threadcreate profile: total *", "the text of Go's profile of threads", FETCH_PPROF, 1,
	 NULL},
	{"allocs profile: *", "the text of Go's profile of allocations", FETCH_PPROF, 1, NULL},
	{"--- contention:*", "the text of Go's profile of blocking", FETCH_PPROF, 1, NULL},
	{"--- mutex:*", "the text of Go's profile of mutexes", FETCH_PPROF, 1, NULL},
	{"goroutine [0-9]* \\[*\\]:*", "a dump of Go's stacks",
	 "/debug/pprof/goroutine without debug= is pprof", 1, NULL},
	{"desc: --*", "massif's output", "ms_print reads it", 1, NULL},
	{"snapshot=[0-9]*", "massif's output", "ms_print reads it", 1, NULL},
	{"==[0-9]*== *", "the messages of valgrind", "its results are in another file", 2, NULL},
	{"Showing nodes accounting for *", "a report of pprof", "give the profile itself", 1, NULL},
	{"digraph *{", "a graph for dot", "give the profile that it was made of", 1, NULL},
	{"--- contentionz *", "a C++ server's profile of locks",
	 "go tool pprof -proto makes pprof of it", 1, NULL},
	{"*Time and Allocation Profiling Report*", "a profile of GHC",
	 "inferno-collapse-ghcprof makes folded stacks of it", 1, NULL},
	{"Function Stack,CPU Time:Self*", "a table of VTune",
	 "inferno-collapse-vtune makes folded stacks of it", 1, NULL},
	{"Level,Function Name,Number of Calls,*", "a table of Visual Studio",
	 "inferno-collapse-vsprof makes folded stacks of it", 1, NULL},
	{"*Self*Symbol Name*", "a table of Instruments",
	 "stackcollapse-instruments.pl makes folded stacks of it", 1, NULL},
	{"Bytes Used\tCount\t*Symbol Name*", "a table of Instruments", "speedscope opens it", 1,
	 NULL},
	{"@ * \\[[0-9]* samples\\]", "the call graph of pmcstat",
	 "stackcollapse-pmc.pl makes folded stacks of it", 1, NULL},
	{"v8-version,*", "V8's log (node --prof)",
	 "node --prof-process reads it; --cpu-prof is read here", 1, NULL},
	{"Flat profile:*", "gprof's report", "record the program with capture instead", 1, NULL},
	{"*Call graph (explanation follows)*", "gprof's report",
	 "record the program with capture instead", 1, NULL},
	{"0x[0-9a-f]* \\[0x[0-9a-f]*\\]: event: *", "perf script -D (a dump of records)",
	 "leave out -D, or give the recording", 1, NULL},
	{"*0x[0-9a-f]* \\[0x[0-9a-f]*\\]: PERF_RECORD_*", "perf script -D (a dump of records)",
	 "leave out -D, or give the recording", 1, NULL},
	{". ... raw event: size *", "perf script -D (a dump of records)",
	 "leave out -D, or give the recording", 1, NULL},
	{"# Overhead *", "the table of perf report", "give the recording, or perf script's text", 1,
	 NULL},
	{"# Children * Self *", "the table of perf report",
	 "give the recording, or perf script's text", 1, NULL},
	{"# To display the perf.data header info*", "the table of perf report",
	 "give the recording, or perf script's text", 1, NULL},
	{"# Baseline *Delta*", "the table of perf diff",
	 "give both recordings: resolve --diff BASE NEW", 1, NULL},
	{"*Percent |*Source code & Disassembly*", "perf annotate's listing", "give the recording",
	 1, NULL},
	{"Performance counter stats for *", "perf stat's counters", NOT_STACKS, 1, NULL},
	{"# started on *", "perf stat's counters", NOT_STACKS, 1, NULL},
	{"[a-z]*(*) *= [-0-9?]*", "strace's output",
	 NOT_STACKS
	 " unless -k is given, which is not read; perf trace or capture -e syscalls:.. record them",
	 2, is_system_call},
	{"\\[pid *\\] *(*", "strace's output", NOT_STACKS "; capture -e syscalls:.. records them",
	 2, NULL},
	{"[0-9]* [a-z]*(*) *= [-0-9?]*", "strace's output",
	 NOT_STACKS "; capture -e syscalls:.. records them", 2, is_system_call},
	{"[0-9]*[0-9] (*ms*): *(*", "perf trace's output", "perf trace record makes a recording", 1,
	 NULL},
	{"% time     seconds  usecs/call*", "strace's summary", NOT_STACKS, 1, NULL},
	{"#0  *0x* in *(*", "a debugger's stacks", "record the program with capture", 1, NULL},
	{"Thread [0-9]* (*", "a debugger's stacks", "record the program with capture", 1, NULL},
	{"Full thread dump *", "a dump of Java's threads",
	 "async-profiler -o collapsed makes folded stacks", 1, NULL},
	{"\"*\" *prio=*tid=*", "a dump of Java's threads",
	 "async-profiler -o collapsed makes folded stacks", 1, NULL},
	{"# tracer: *", "ftrace's output", "perf record -e, or capture -e, record the same events",
	 1, NULL},
	{"Traceback (most recent call last):*", "a program's error", "", 1, NULL},
	{"Analysis of sampling *", "the report of macOS's sample",
	 "stackcollapse-sample.awk makes folded stacks of it", 1, NULL},
	{"* function calls *in *seconds*", "the table of Python's cProfile",
	 "py-spy -f raw makes folded stacks", 1, NULL},
	{"* [TtDdRrBbWwAaVv] _*text*", "a symbol table (kallsyms, System.map)",
	 "resolve takes it with --kallsyms", 2, NULL},
};

/* Files of JSON: a key that only they have. */
static const struct row json_rows[] = {
	{"\"traceEvents\"", "a trace for chrome://tracing", "ui.perfetto.dev opens it", 0, NULL},
	{"\"profileJSONWithSymbolicationTable", "a profile of Firefox from before 2016",
	 "profiler.firefox.com opens it", 0, NULL},
	{"\"ph\"", "a trace for chrome://tracing", "ui.perfetto.dev opens it", 0, NULL},
	{"\"bailoutReason\"", "a .cpuprofile of V8 from before 2017",
	 "speedscope opens it; node --cpu-prof writes what is read", 0, NULL},
	{"\"missed_samples\"", "a profile of Ruby's stackprof",
	 "stackprof --stackcollapse makes folded stacks of it", 0, NULL},
	{"\"callFrame\"", "V8's .heapprofile", "speedscope and Chrome open it", 0, NULL},
	{"\"node_fields\"", "V8's heap snapshot", NOT_STACKS, 0, NULL},
	{"\"geckoProfile\"", "a file of the Firefox Profiler", "profiler.firefox.com opens it", 0,
	 NULL},
	{"\"linux-perf-json-version\"", "perf data convert --to-json", "give the recording itself",
	 0, NULL},
	{"\"counter-value\"", "perf stat's counters", NOT_STACKS, 0, NULL},
	{"\"resourceProfiles\"", "profiles of OpenTelemetry", "export pprof", 0, NULL},
	{"\"dhatFileVersion\"", "DHAT's output", "dh_view.html reads it", 0, NULL},
	{"\"cost_centres\"", "a profile of GHC (+RTS -pj)",
	 "speedscope opens it; inferno-collapse-ghcprof makes folded stacks of that of -p", 0,
	 NULL},
	{"\"timeline-record-type-", "a recording of Safari's timelines", "speedscope opens it", 0,
	 NULL},
	{"", "JSON of a kind that is not known", "resolve --inputs lists what is read", 0, NULL},
};

bool input_is_text(const char *head, size_t n)
{
	size_t i, odd = 0;

	for (i = 0; i < n; i++)
		odd += (unsigned char)head[i] < ' ' &&
		       !strchr("\t\n\r\f\033\b", head[i] ? head[i] : 1);
	return n && odd <= 2 + n / 1000;
}

/* ---- recognising ----------------------------------------------------------------------------- */

struct found {
	const struct row *row;
	size_t line; /* from 1 */
};

static bool is_json(const char *head)
{
	head += strspn(head, " \t\r\n");
	if (*head == '[')
		head += 1 + strspn(head + 1, " \t\r\n");
	else if (*head == '{' && head[1 + strspn(head + 1, " \t\r\n")] == '"')
		return true;
	return *head == '{' && head[1 + strspn(head + 1, " \t\r\n")] == '"';
}

static bool find_json(const char *head, struct found *f)
{
	size_t i;

	for (i = 0; is_json(head) && i < sizeof json_rows / sizeof *json_rows; i++) {
		const char *at = strstr(head, json_rows[i].pattern);

		if (!at)
			continue;
		*f = (struct found){&json_rows[i], 1};
		for (; at > head; at--)
			f->line += at[-1] == '\n';
		return true;
	}
	return false;
}

static bool find_magic(const char *head, size_t n, struct found *f)
{
	size_t i, len;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		len = strlen(rows[i].pattern);
		if (!rows[i].lines && n > len && !memcmp(head, rows[i].pattern, len)) {
			*f = (struct found){&rows[i], 1};
			return true;
		}
	}
	return false;
}

static bool find_line(const char *head, struct found *f)
{
	unsigned fits[sizeof rows / sizeof *rows] = {0};
	char line[LINE_BYTES];
	size_t i, k, len;

	for (k = 1; *head && k <= LINES; k++, head += len + (head[len] != '\0')) {
		const char *at = head + strspn(head, " \t");

		len = strcspn(head, "\n");
		snprintf(line, sizeof line, "%.*s", at < head + len ? (int)(head + len - at) : 0,
			 at);
		for (i = 0; i < sizeof rows / sizeof *rows; i++)
			if (rows[i].lines && !fnmatch(rows[i].pattern, line, 0) &&
			    (!rows[i].is || rows[i].is(line)) && ++fits[i] >= rows[i].lines) {
				*f = (struct found){&rows[i], k};
				return true;
			}
	}
	return false;
}

/* Lines as Mac OS had them before X. */
static bool find_returns(const char *head, struct found *f)
{
	static const struct row row = {"", "text with lines that end in CR only",
				       "tr '\\r' '\\n' < FILE mends it", 1, NULL};
	const char *first = strchr(head, '\r');

	if (!first || !strchr(first + 1, '\r') || strchr(head, '\n'))
		return false;
	*f = (struct found){&row, 1};
	return true;
}

static bool find(const char *head, size_t n, struct found *f)
{
	return find_magic(head, n, f) ||
	       (input_is_text(head, n) &&
		(find_json(head, f) || find_line(head, f) || find_returns(head, f)));
}

/* ---- refusing -------------------------------------------------------------------------------- */

/* Reads the beginning again; the caller frees it. */
static char *read_head(struct input_source *s, size_t *n, struct err *err)
{
	char *head = malloc(HEAD + 1);
	ssize_t got = 1;

	for (*n = 0; head && got > 0 && *n<HEAD; *n += got> 0 ? (size_t)got : 0)
		got = input_bytes(s, head + *n, HEAD - *n, err);
	if (!head)
		err_nomem(err);
	else
		head[*n] = '\0';
	return head;
}

static bool detect_known(const char *head, size_t n)
{
	struct found f;

	return find(head, n, &f);
}

static int refuse_known(struct profile *p, struct input_source *s, const struct input_options *opt,
			struct input_result *ret, struct err *err)
{
	struct found f;
	size_t n;
	char *head = read_head(s, &n, err);

	(void)p, (void)opt, (void)ret;
	if (!head)
		return -ERR_NOMEM;
	if (find(head, n, &f))
		err_set(err, ERR_FORMAT, s->name, "line %zu: this is %s, which is not read%s%s",
			f.line, f.row->what, *f.row->cure ? ": " : "", f.row->cure);
	else
		err_set(err, ERR_FORMAT, s->name, "the file has changed");
	free(head);
	return -ERR_FORMAT;
}

/* How many of the first lines end in a number, as folded stacks do? *negative: in one below zero.
 */
static size_t count_weights(const char *head, size_t *lines, size_t *negative)
{
	size_t n = 0, len, digits;

	for (*lines = *negative = 0; *head && *lines < LINES; head += len + (head[len] != '\0')) {
		len = strcspn(head, "\r\n");
		*lines += len > 0;
		for (digits = 0; digits < len && isdigit((unsigned char)head[len - 1 - digits]);)
			digits++;
		n += len > 2 && digits && memchr(head, ' ', len);
		*negative += digits && digits + 1 < len && head[len - digits - 1] == '-' &&
			     head[len - digits - 2] == ' ';
	}
	return n;
}

static int refuse_text(struct profile *p, struct input_source *s, const struct input_options *opt,
		       struct input_result *ret, struct err *err)
{
	size_t n, lines, weights, negative = 0, line = 1, i;
	char *head = read_head(s, &n, err), *at = head, names[128] = "";

	(void)p, (void)opt, (void)ret;
	if (!head)
		return -ERR_NOMEM;
	weights = count_weights(head, &lines, &negative);
	for (; *at == '\n' || *at == '\r' || *at == ' ' || *at == '\t'; at++)
		line += *at == '\n';
	for (i = 0; input_formats[i]; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), ", %s",
			 input_formats[i]->name);
	for (i = 0; at[i] && at[i] != '\n' && i < SHOWN; i++)
		if ((unsigned char)at[i] < ' ')
			at[i] = ' ';
	err_set(err, ERR_FORMAT, s->name,
		"this is no perf.data, and its line %zu '%.*s%s' begins nothing else that is read "
		"(%s: "
		"see resolve --inputs)%s",
		line, (int)i, at, at[i] && at[i] != '\n' ? ".." : "", names + 2,
		negative * 2 > lines
			? "; its lines end in numbers below zero: a difference of two profiles is "
			  "none itself, resolve --diff BASE NEW makes one of both"
		: weights * 2 > lines
			? "; its lines end in numbers, but in folded stacks a ';' stands "
			  "between functions: \"comm;main;f 12\""
			: "");
	free(head);
	return -ERR_FORMAT;
}

const struct input_format input_known_unread = {
	.name = "known",
	.help = "",
	.detect = detect_known,
	.read = refuse_known,
};

const struct input_format input_unknown_text = {
	.name = "text",
	.help = "",
	.detect = input_is_text,
	.read = refuse_text,
};
