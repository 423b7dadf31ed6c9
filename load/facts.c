/* facts.c - the machine that an input is from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "load/pipeline.h"

static void keep(char *to, size_t size, const char *s)
{
	snprintf(to, size, "%s", s ? s : "");
}

/* Hashes the words after PROGRAM of "perf record .. -- PROGRAM WORD..". Without "--" it is unknown
 * where they begin. */
static uint64_t hash_arguments(const struct perf_file_info *info)
{
	uint64_t hash = 1;
	size_t i;

	for (i = 0; i < info->n_cmdline && strcmp(info->cmdline[i], "--"); i++)
		;
	if (i + 1 >= info->n_cmdline)
		return 0;
	for (i += 2; i < info->n_cmdline; i++)
		hash = hash_u64(hash ^ hash_bytes(info->cmdline[i], strlen(info->cmdline[i])));
	return hash | 1;
}

/* The comments that resolve writes into pprof files: "kernel:6.1.0". */
static void fact_of_comment(struct load_facts *f, const char *s, uint64_t *lost)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
		uint64_t *number;
	} rows[] = {
		{"cpu:", f->cpu, sizeof f->cpu, NULL},
		{"arch:", f->arch, sizeof f->arch, NULL},
		{"kernel:", f->kernel, sizeof f->kernel, NULL},
		{"processors:", NULL, 0, &f->cpus},
		{"frequency:", NULL, 0, &f->frequency},
		{"lost:", NULL, 0, lost},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = strlen(rows[i].key);

		if (strncmp(s, rows[i].key, n))
			continue;
		if (rows[i].text)
			keep(rows[i].text, rows[i].size, s + n);
		else
			*rows[i].number = strtoull(s + n, NULL, 10);
	}
}

void facts_of_comments(struct load_facts *f, const struct profile *p, uint64_t *lost)
{
	size_t i;

	for (i = 0; i < p->comments.n; i++)
		fact_of_comment(f, strtab_get(&p->strings, p->comments.v[i]), lost);
}

void facts_of_recording(struct load_facts *f, const struct perf_file_info *i)
{
	keep(f->cpu, sizeof f->cpu, i->cpu_desc);
	keep(f->kernel, sizeof f->kernel, i->os_release);
	keep(f->arch, sizeof f->arch, i->arch);
	keep(f->host, sizeof f->host, i->hostname);
	f->cpus = i->cpus_online;
	f->arguments = hash_arguments(i);
}
