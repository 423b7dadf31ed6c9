/* facts.c - the machine that an input is from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "load/pipeline.h"
#include "reader/reader.h"

static void keep(char *to, size_t size, const char *s)
{
	snprintf(to, size, "%s", s ? s : "");
}

/* What `sh -c` gets, without the folder of the program, which differs from side to side. */
static const char *without_folder(const char *command)
{
	/* Words that the shell would change are kept. */
	size_t n = strcspn(command, " \t\n\"'`$&|;<>(){}*?[]~=\\#!");

	if (command[n] && command[n] != ' ' && command[n] != '\t')
		return command;
	while (n && command[n - 1] != '/')
		n--;
	return command + n;
}

/* Hashes the words after PROGRAM of "perf record .. -- PROGRAM WORD..". Without "--" it is unknown
 * where they begin. */
static uint64_t hash_arguments(const struct perf_file_info *info)
{
	uint64_t hash = 1;
	const char *word;
	size_t i, first;

	for (i = 0; i < info->n_cmdline && strcmp(info->cmdline[i], "--"); i++)
		;
	if (i + 1 >= info->n_cmdline)
		return 0;
	first = i + 1;
	for (i += 2; i < info->n_cmdline; i++) {
		word = info->cmdline[i];
		if (i == first + 2 && !strcmp(info->cmdline[first], "sh") &&
		    !strcmp(info->cmdline[first + 1], "-c"))
			word = without_folder(word);
		hash = hash_u64(hash ^ hash_bytes(word, strlen(word)));
	}
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

int facts_of_modules(struct load_facts *f, const struct perf_file *file)
{
	size_t i;

	for (i = 0; i < perf_file_dso_count(file); i++) {
		const struct dso *dso = perf_file_dso(file, i);
		struct load_module m = {.id = dso->build_id};

		f->made_code |= dso->kind == DSO_ANON;
		if (dso->kind != DSO_FILE || !dso->code_size)
			continue;
		m.path = strdup(dso->path);
		if (!m.path || vec_push(&f->modules, m)) {
			free(m.path);
			return -1;
		}
	}
	return 0;
}

void facts_done(struct load_facts *f)
{
	size_t i;

	for (i = 0; i < f->modules.n; i++)
		free(f->modules.v[i].path);
	vec_done(&f->modules);
}

void facts_of_times(struct load_facts *f, const struct perf_file_info *i, const struct profile *p)
{
	const uint64_t duration = p->last_ns - p->first_ns;

	if (i && i->clock_wall_ns)
		f->began_ns = i->clock_wall_ns - i->clock_ref_ns + p->first_ns;
	else if (i && i->file_mtime_ns > duration)
		f->began_ns = i->file_mtime_ns - duration;
	else if (!i)
		f->began_ns = p->wall_ns;
	f->ended_ns = f->began_ns ? f->began_ns + duration : 0;
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
