/* pipeline.h - the parts of load_profile() for recordings. Private to load/. */
#ifndef LOAD_PIPELINE_H
#define LOAD_PIPELINE_H

#include "load/load.h"
#include "profile/fill.h"

/* Opens the recording; after that its header can be read. All functions: 0, or negative with *err.
 */
/* perf_file_options.part_of of a struct loaded. */
bool pipeline_part_of(void *loaded, const struct map_source *src, struct map_part *ret);
int pipeline_open(struct loaded *p, const struct load_options *opt, struct err *err);
int pipeline_load(struct loaded *p, const struct load_options *opt, struct err *err);
int pipeline_symbolize(struct loaded *p, const struct load_options *opt, struct err *err);
/* Seconds since 1970 of the file's last modification; 0: there is no file. */
int64_t pipeline_written_s(const char *path);
/* Closes all but the profile. */
void pipeline_close(struct loaded *p);

bool sample_filter_match(const struct sample_filter *f, const struct perf_sample *s);
/* Percentages become times. */
int sample_filter_resolve(struct sample_filter *f, const struct perf_file_info *info,
			  struct err *err);

/* The number of threads, at most. */
unsigned pipeline_threads(const struct load_options *opt);
/* scheduler.c: reads p->file to its end; fills p->profile, p->unwind and p->filtered. */
int scheduler_run(struct loaded *p, const struct load_options *opt, struct err *err);
/* trace_names.c: names the kernel's functions in the fields of tracepoints, when samples are added
 * to the profile. The scheduler does not read at the same time (stages.c). NULL when out of memory.
 */
struct trace_names *trace_names_new(struct loaded *p, const struct load_options *opt);
void trace_names_free(struct trace_names *t);
/* check_code.c: rejects (module_reject()) files without recorded build id whose code is not the
 * recorded code any more, before names are looked up. */
int check_code(struct loaded *p, struct err *err);
/* prefetch_binaries.c: reads the recording once before everything else, and fetches the missing
 * binaries that its samples were in, the hottest first, four at a time. Binaries that only callers
 * are in are fetched later by unwinding, as are all those of a pipe, which can be read only once.
 */
int prefetch_binaries(struct loaded *p, const struct load_options *opt, struct err *err);
/* heap.c: reads a recording of allocations once before everything else, and tells p->file what its
 * samples stand for. Of a pipe, which can be read only once, they stand for what their periods say.
 */
int heap_weigh(struct loaded *p, const struct load_options *opt, struct err *err);
void heap_weights_done(struct heap_weights *w);
/* heap_words.c: says that a recording of allocations could not be weighed. */
void heap_note_estimates(struct loaded *l);
/* Why there are no samples of this event, if it is what is in use; 0: for another reason. Returns a
 * negative value with *err. */
int heap_none_in_use(const struct loaded *l, const char *event, struct err *err);
void dso_weights_sort(struct dso_weight *v, size_t n);
/* fetch.c: fetches the files that modules of the profile lack, heaviest first. */
int fetch_for_profile(struct loaded *p, const struct load_options *opt, struct err *err);

/* facts.c */
void facts_of_comments(struct load_facts *f, const struct profile *p, uint64_t *lost);
/* The times of the profile's samples; i: of a recording, else NULL. */
void facts_of_times(struct load_facts *f, const struct perf_file_info *i, const struct profile *p);
/* Returns 0, or -1 when out of memory. */
int facts_of_modules(struct load_facts *f, const struct perf_file *file);
void facts_done(struct load_facts *f);
void facts_of_recording(struct load_facts *f, const struct perf_file_info *i);

/* processes.c: cgroups of processes as the bundle tells them. *ret is NULL if it does not. Returns
 * 0 or -ERR_NOMEM. NULL is allowed for both. The path is the same pointer for the same path, and
 * lives until processes_free(); NULL: not known. */
struct bundle;
int processes_new(struct processes **ret, const struct bundle *b);
void processes_free(struct processes *p);
const char *processes_cgroup(const struct processes *p, uint32_t pid, uint64_t time_ns);

/* carried.c: opens the bundle of the recording, if it has one. Damage costs only what is damaged,
 * and is noted. Returns 0 or -ERR_NOMEM. */
int carried_open(struct loaded *l, struct err *err);
/* Notes what of it turned out to be unusable when it was needed: after all names are known. */
void carried_note_damage(struct loaded *l);
/* header_bundle.c: hands out lines about what the recording carries, and about the processes that
 * were sampled. NULL: nothing. */
void header_bundle(const struct bundle *b, void (*say)(void *arg, const char *line), void *arg);

/* chains.c: adds the chains of n samples. Returns 0 or -ERR_NOMEM. */
int chains_take(struct cut_chains *c, const struct perf_sample *const *samples,
		const struct stack_trace *traces, size_t n);

/* named.c: reads a profile of another tool. */
int load_named(struct loaded *l, const struct load_options *opt, struct err *err);
/* name_addresses.c: names for locations without one, by the files that their mappings name. What
 * has none is noted. Returns 0 or -ERR_NOMEM. */
int name_addresses(struct loaded *l, const struct load_options *opt, struct err *err);

/* load.c: adds a line; when out of memory it is missing. */
__attribute__((format(printf, 2, 3))) void loaded_note(struct loaded *l, const char *format, ...);
void listener_begin(const struct load_options *opt, enum load_step step, const char *path,
		    const uint64_t *records);
void listener_end(const struct load_options *opt, enum load_step step);

#endif
