/* tool_dump.c - prints what the reader's public functions tell of a recording, for scripts to
 *compare.
 *
 *	tool_dump [-s] [-c] [-m] [-w WINDOW_BYTES] [-i] [-y] FILE
 *
 * A line per sample (not with -s): comm, pid/tid, cpu, time, event, period, ip, file offset; -c
 *adds call chain, registers and a checksum of the stack copy; -m maps the file. Then lines `name
 *value` of statistics, -i: of the header, -y: the symbols in the recording; notes last. Exits like
 *resolve: 1 when the input was damaged, 2 when nothing could be read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "reader/reader.h"

struct totals {
	uint64_t samples, period_sum, last_time, backwards, spaces;
};

static void print_chain(const struct perf_sample *s)
{
	printf(" chain");
	for (size_t i = 0; i < s->n_ips; i++)
		printf(" %" PRIx64, s->ips[i]);
	printf(" regs %" PRIu64, s->user_regs.abi);
	if (s->user_regs.abi)
		for (int i = 0; i < __builtin_popcountll(s->user_regs.mask); i++)
			printf(" %" PRIx64, s->user_regs.regs[i]);
	printf(" stack %u/%u %016" PRIx64 " raw %zu %016" PRIx64 " branches", s->user_stack_bytes,
	       s->user_stack_asked, hash_bytes(s->user_stack, s->user_stack_bytes),
	       s->extra->raw_size, hash_bytes(s->extra->raw, s->extra->raw_size));
	for (size_t i = 0; i < s->extra->n_branches; i++)
		printf(" %" PRIx64 "/%" PRIx64 "/%" PRIx64, s->extra->branches[i].from,
		       s->extra->branches[i].to, s->extra->branches[i].flags);
}

static void print_sample(const struct perf_sample *s, bool chains)
{
	const struct map *m = address_space_find(s->space, s->ip);

	printf("%s\t%d/%d\t%d\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIx64 "\t%s\t%#" PRIx64, s->comm,
	       (int)s->pid, (int)s->tid, (int)s->cpu, s->time_ns, s->event->name, s->period, s->ip,
	       m ? m->dso->path : "-", s->file_off);
	if (chains)
		print_chain(s);
	putchar('\n');
}

static void print_stats(const struct perf_file *f, const struct totals *t)
{
	const struct perf_file_stats *s = perf_file_stats(f);

	printf("records %" PRIu64 "\nsample_records %" PRIu64 "\nsamples %" PRIu64
	       "\nperiod_sum %" PRIu64 "\nskipped_samples %" PRIu64 "\n",
	       s->records, s->sample_records, s->samples, s->period_sum, s->skipped_samples);
	for (unsigned i = 0; i < PERF_SKIP_N; i++)
		if (s->skips[i])
			printf("skip %" PRIu64 " %s\n", s->skips[i], perf_skip_text(i));
	printf("lost_records %" PRIu64 "\nlost_samples %" PRIu64 "\nlost_bytes %" PRIu64
	       "\nthrottled %" PRIu64 "\ninterrupted %d\ntruncated %d\ndamaged %d\n",
	       s->lost_records, s->lost_samples, s->lost_bytes, s->throttled, s->interrupted,
	       s->truncated, s->damaged);
	printf("seen %" PRIu64 "\nseen_period %" PRIu64 "\nbackwards %" PRIu64 "\nevents %zu\n",
	       t->samples, t->period_sum, t->backwards, perf_file_event_count(f));
	printf("dsos %zu\nmaps %zu\n", perf_file_dso_count(f), perf_file_map_count(f));
}

static void print_info(const struct perf_file *f)
{
	const struct perf_file_info *i = perf_file_info(f);

	printf("hostname %s\nos_release %s\nversion %s\narch %s\ncpu_desc %s\ncpu_id %s\n",
	       i->hostname, i->os_release, i->version, i->arch, i->cpu_desc, i->cpu_id);
	printf("cpus %u %u\nmem %" PRIu64 "\ncmdline", i->cpus_available, i->cpus_online,
	       i->total_mem_bytes);
	for (size_t k = 0; k < i->n_cmdline; k++)
		printf(" %s", i->cmdline[k]);
	printf("\ntimes %" PRIu64 " %" PRIu64 "\nclock %" PRIu64 " %" PRIu64 "\n",
	       i->first_sample_ns, i->last_sample_ns, i->clock_wall_ns, i->clock_ref_ns);
	printf("form%s%s%s%s\n", i->is_pipe ? " pipe" : "", i->is_big_endian ? " big-endian" : "",
	       i->is_simpleperf ? " simpleperf" : "", i->is_compressed ? " compressed" : "");
	for (size_t k = 0; k < perf_file_event_count(f); k++) {
		const struct perf_event *e = perf_file_event(f, k);

		printf("event %s type %u config %#" PRIx64 " sample_type %#" PRIx64
		       " flags %#" PRIx64 " ids %zu\n",
		       e->name, e->attr.type, e->attr.config, e->attr.sample_type, e->attr.flags,
		       e->n_ids);
	}
	for (size_t k = 0; k < perf_file_dso_count(f); k++) {
		const struct dso *d = perf_file_dso(f, k);

		printf("dso %s ", d->path);
		for (unsigned n = 0; n < d->build_id.size; n++)
			printf("%02x", d->build_id.bytes[n]);
		putchar('\n');
	}
}

static void print_symbols(const struct perf_file *f)
{
	static const char *const bases[] = {"ip", "off", "map"};
	size_t size;
	const char *kallsyms = perf_file_kallsyms(f, &size);

	for (size_t k = 0; k < perf_file_dso_count(f); k++) {
		const struct perf_symbol_file *y = perf_file_symbols(f, perf_file_dso(f, k));

		for (; y; y = y->next) {
			printf("symbols %s\t%s\t%" PRIx64 "\t%zu\n", y->path, bases[y->base],
			       y->delta, y->n);
			for (size_t i = 0; i < y->n; i++)
				printf("symbol %" PRIx64 " %" PRIx64 " %s\n", y->symbols[i].start,
				       y->symbols[i].len, y->symbols[i].name);
		}
	}
	if (kallsyms)
		printf("kallsyms %zu %016" PRIx64 "\n", size, hash_bytes(kallsyms, size));
}

int main(int argc, char **argv)
{
	bool quiet = false, chains = false, info = false, symbols = false;
	struct perf_file_options opt = {0};
	struct totals t = {0};
	struct perf_file *f;
	struct perf_batch *b;
	struct err err = {0};
	char line[1024];
	int c, rc;

	while ((c = getopt(argc, argv, "sciymw:")) > 0) {
		quiet |= c == 's';
		chains |= c == 'c';
		info |= c == 'i';
		symbols |= c == 'y';
		opt.map |= c == 'm';
		if (c == 'w')
			opt.window_bytes = strtoull(optarg, NULL, 0);
	}
	if (optind >= argc)
		return 2;
	rc = perf_file_open(&f, argv[optind], &opt, &err);
	if (rc) {
		err_format(&err, line, sizeof line);
		fprintf(stderr, "%s\n", line);
		return 2;
	}
	while ((rc = perf_file_read(f, &b, &err)) > 0) {
		for (size_t i = 0; i < b->n; i++) {
			const struct perf_sample *s = &b->samples[i];

			if (!quiet)
				print_sample(s, chains);
			t.samples++;
			t.period_sum += s->period;
			t.backwards += s->time_ns < t.last_time;
			t.last_time = s->time_ns;
		}
		perf_batch_release(f, b);
	}
	if (rc < 0) {
		err_format(&err, line, sizeof line);
		printf("error %s\n", line);
	}
	print_stats(f, &t);
	if (info)
		print_info(f);
	if (symbols)
		print_symbols(f);
	for (size_t i = 0; i < perf_file_note_count(f); i++)
		printf("note %s\n", perf_file_note(f, i));
	rc = rc < 0 ? 2 : perf_file_stats(f)->damaged;
	perf_file_close(f);
	return rc;
}
