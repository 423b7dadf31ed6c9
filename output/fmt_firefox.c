/* fmt_firefox.c - a "processed profile" for profiler.firefox.com, which also Perfetto reads: the
 * threads of all processes with the samples of the main event over time, markers for those of other
 * events and for calls, counters. Names, inlined functions and lines are in it.
 *
 * Members whose meaning is not obvious: src/types/profile.ts of the profiler. Times are
 * milliseconds since the first sample. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/firefox.h"
#include "output/output.h"
#include "profile/profile.h"

#include <linux/perf_event.h>

#include "reader/reader.h"

static void add_string(struct firefox *f, const char *key, const char *s)
{
	if (!s || !*s)
		return;
	text_str(&f->out, key);
	text_json(&f->out, s, strlen(s));
}

static void add_categories(struct firefox *f)
{
	static const struct {
		const char *name, *colour;
	} rows[FIREFOX_CATEGORIES] = {
		[FIREFOX_OTHER] = {"Other", "grey"},
		[FIREFOX_USER] = {"User", "yellow"},
		[FIREFOX_KERNEL] = {"Kernel", "orange"},
		[FIREFOX_JIT] = {"JIT", "green"},
		[FIREFOX_UNKNOWN] = {"Without a name", "lightblue"},
	};

	text_str(&f->out, ",\n\"categories\":[");
	for (size_t i = 0; i < FIREFOX_CATEGORIES; i++) {
		text_str(&f->out, i ? ",\n{\"name\":\"" : "\n{\"name\":\"");
		text_str(&f->out, rows[i].name);
		text_str(&f->out, "\",\"color\":\"");
		text_str(&f->out, rows[i].colour);
		text_str(&f->out, "\",\"subcategories\":[\"Other\",\"Callers of another sample\","
				  "\"Found without unwind tables\"]}");
	}
	text_char(&f->out, ']');
}

/* How the viewer shows markers: with which fields. */
static void add_marker_schema(struct firefox *f)
{
	text_str(
		&f->out,
		",\n\"markerSchema\":["
		"{\"name\":\"event\",\"tooltipLabel\":\"{marker.name}\","
		"\"tableLabel\":\"{marker.data.fields}\",\"chartLabel\":\"{marker.name}\","
		"\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"fields\":[{\"key\":\"fields\",\"label\":\"Fields\",\"format\":\"string\"},"
		"{\"key\":\"weight\",\"label\":\"Weight\",\"format\":\"integer\"},"
		"{\"key\":\"cpu\",\"label\":\"CPU\",\"format\":\"integer\"}],"
		"\"description\":\"A sample of an event.\"},\n"
		"{\"name\":\"call\",\"tooltipLabel\":\"{marker.name}\","
		"\"tableLabel\":\"{marker.data.arguments} = {marker.data.result}\","
		"\"chartLabel\":\"{marker.name}\","
		"\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"fields\":[{\"key\":\"arguments\",\"label\":\"Arguments\",\"format\":\"string\"},"
		"{\"key\":\"result\",\"label\":\"Result\",\"format\":\"string\"},"
		"{\"key\":\"end\",\"label\":\"End\",\"format\":\"string\"},"
		"{\"key\":\"cpu\",\"label\":\"CPU\",\"format\":\"integer\"}],"
		"\"description\":\"A call, from its beginning to its end.\"}]");
}

/* Nanoseconds between samples; 0: there is no fixed distance. */
static uint64_t interval_of(const struct profile_event *e)
{
	if (!e->attr.sample_period)
		return 0;
	if (e->attr.flags & PERF_ATTR_FREQ)
		return 1000000000 / e->attr.sample_period;
	return profile_event_is_clock(e) ? e->attr.sample_period : 0;
}

/* The words behind the recorder's "--"; else all. */
static void add_command(struct firefox *f, const struct perf_file_info *info)
{
	size_t i, from = 0;

	for (i = 0; i + 1 < info->n_cmdline && !from; i++)
		from = strcmp(info->cmdline[i], "--") ? 0 : i + 1;
	f->words.n = 0;
	for (i = from; i < info->n_cmdline; i++) {
		text_str(&f->words, i > from ? " " : "");
		text_str(&f->words, info->cmdline[i]);
	}
	if (f->words.n) {
		text_str(&f->out, ",\n\"arguments\":");
		text_json(&f->out, f->words.s, f->words.n);
	}
	f->words.n = 0;
}

static void add_machine(struct firefox *f, const struct perf_file_info *info)
{
	if (!f->opt->no_cmdline)
		add_command(f, info);
	add_string(f, ",\n\"abi\":", info->arch);
	add_string(f, ",\"oscpu\":", info->os_release);
	add_string(f, ",\"CPUName\":", info->cpu_desc);
	if (info->cpus_online) {
		text_str(&f->out, ",\"logicalCPUs\":");
		text_dec(&f->out, info->cpus_online, 0);
	}
	if (info->total_mem_bytes && info->total_mem_bytes < 1ull << 53) {
		text_str(&f->out, ",\"mainMemory\":");
		text_dec(&f->out, info->total_mem_bytes, 0);
	}
}

/* Facts for the viewer's page about the profile. */
static void add_extra(struct firefox *f)
{
	const double share = format_stitched_share(f->p, f->opt, f->events->has);
	char buf[160];

	text_str(&f->out, ",\n\"extra\":[{\"label\":\"Recording\",\"entries\":["
			  "{\"label\":\"Samples are of\",\"format\":\"string\",\"value\":");
	text_json_string(&f->out, f->p, f->p->events.v[f->main_event].name);
	snprintf(buf, sizeof buf,
		 "},\n{\"label\":\"Lost samples\",\"format\":\"integer\",\"value\":%llu},\n"
		 "{\"label\":\"With callers of another sample\",\"format\":\"percentage\","
		 "\"value\":%.4f}]}]",
		 (unsigned long long)f->opt->lost, share);
	text_str(&f->out, buf);
}

static void add_meta(struct firefox *f)
{
	const struct profile *p = f->p;
	const uint64_t interval = interval_of(&p->events.v[f->main_event]);
	const char *generator = f->opt->generator ? f->opt->generator : "unspool";

	text_str(&f->out, "{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":");
	text_dec(&f->out, FIREFOX_VERSION, 0);
	text_str(&f->out, ",\"interval\":");
	firefox_add_ms(&f->out, interval ? interval : 1000000);
	text_str(&f->out, ",\"startTime\":");
	firefox_add_ms(&f->out, format_wall_ns(p));
	text_str(&f->out, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	firefox_add_ms(&f->out, p->last_ns - p->first_ns);
	text_str(&f->out,
		 ",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
		 "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		 "\"initialSelectedThreads\":[0],\"product\":");
	f->words.n = 0;
	text_str(&f->words, f->opt->source ? f->opt->source : "profile");
	text_json(&f->out, f->words.s, f->words.n);
	f->words.n = 0;
	text_str(&f->out, ",\"importedFrom\":");
	text_json(&f->out, generator, strlen(generator));
	text_str(&f->out, ",\n\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
			  "\"threadCPUDelta\":\"ns\"},"
			  "\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0}");
	if (p->info)
		add_machine(f, p->info);
	add_categories(f);
	add_marker_schema(f);
	add_extra(f);
	text_str(&f->out, "},\n");
}

static int write_all(struct firefox *f, FILE *out)
{
	if (firefox_number(f) || firefox_sort(f))
		return -1;
	add_meta(f);
	firefox_write_libs(f, out);
	firefox_write_threads(f, out);
	if (firefox_write_counters(f, out))
		return -1;
	firefox_write_shared(f, out);
	text_flush(&f->out, out);
	return f->out.failed || f->words.failed || f->calls.paths.failed ? -1 : 0;
}

static void firefox_done(struct firefox *f)
{
	calls_done(&f->calls);
	text_done(&f->out);
	text_done(&f->words);
	strtab_done(&f->strings);
	free(f->stack_of);
	free(f->first_frame);
	free(f->lib_of);
	free(f->source_of);
	free(f->order);
	strtab_done(&f->texts);
	free(f->arguments);
	vec_done(&f->frames);
	vec_done(&f->funcs);
	vec_done(&f->natives);
	vec_done(&f->libs);
	vec_done(&f->sources);
	vec_done(&f->threads);
	vec_done(&f->names_of_task);
	hash_done(&f->func_of);
	hash_done(&f->native_of);
	hash_done(&f->tasks);
	hash_done(&f->thread_of);
	hash_done(&f->process_of);
}

static int write_firefox(const struct profile *p, const struct output_options *opt,
			 struct event_set *events, FILE *out, struct err *err)
{
	struct firefox f = {.p = p, .opt = opt, .events = events};
	int rc = calls_init(&f.calls, p, err);

	f.main_event = event_set_main(events, p);
	if (!rc && write_all(&f, out))
		rc = err_nomem(err);
	firefox_done(&f);
	return rc;
}

const struct output_format format_firefox = {
	.name = "firefox",
	.help = "for profiler.firefox.com: threads over time, markers",
	.suffixes = ".firefox.json .firefox",
	.takes_sums = true,
	.keep = PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE,
	.names_events = true,
	.write = write_firefox,
};
