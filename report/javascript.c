/* javascript.c - what --stats says of JavaScript: frames with a name, functions that lost theirs.
 */
#include "report/javascript.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/text.h"
#include "functions/functions.h"
#include "profile/profile.h"
#include "reader/reader.h"

/* As V8 names its functions, in perf maps, too. */
static bool is_javascript(const struct profile *p, const struct profile_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines.v[l->first_line + i];
		const uint32_t name = p->functions.v[line->function].system_name;

		if (str_starts_with(strtab_get(&p->strings, name), "JS:"))
			return true;
	}
	return false;
}

/* Frames of all samples; 0 when out of memory. */
static uint64_t named_frames(const struct profile *p)
{
	uint32_t *in = calloc(p->nodes.n + 1, sizeof *in);
	uint64_t sum = 0;

	for (size_t i = 1; in && i < p->nodes.n; i++) { /* a parent's id is smaller */
		const struct profile_node *n = &p->nodes.v[i];

		in[i] = in[n->parent] + is_javascript(p, &p->locations.v[n->location]);
	}
	for (size_t i = 0; in && i < p->samples.n; i++)
		sum += p->samples.v[i].count * in[p->samples.v[i].node];
	free(in);
	return sum;
}

static bool is_interpreter(const struct profile *p, const struct profile_location *l)
{
	const struct profile_line *line = l->n_lines ? &p->lines.v[l->first_line] : NULL;

	return line && !strcmp(strtab_get(&p->strings, p->functions.v[line->function].system_name),
			       "Builtins_InterpreterEntryTrampoline");
}

/* C++ that enters JavaScript; it is exported, so a stripped V8 has its name, too. */
static bool is_entry(const struct profile *p, const struct profile_location *l)
{
	const char *name;

	if (!l->n_lines)
		return false;
	name = strtab_get(&p->strings,
			  p->functions.v[p->lines.v[l->first_line].function].system_name);
	return str_starts_with(name, "_ZN2v88internal9Execution4Call") ||
	       str_starts_with(name, "_ZN2v88internal9Execution7TryCall");
}

/* Where V8 has made no code and no function has a name: is it a frame of the interpreter? Without
 * its symbols that is nameless code behind an entry. */
static bool is_interpreted(const struct profile *p, const struct profile_node *n, uint8_t *entered,
			   size_t i)
{
	const struct profile_location *l = &p->locations.v[n->location];

	entered[i] = entered[n->parent] || is_entry(p, l);
	return is_interpreter(p, l) || (entered[i] && !l->n_lines);
}

static bool has_code_without_file(const struct profile *p)
{
	for (size_t i = 1; i < p->mappings.n; i++)
		if (p->mappings.v[i].dso && p->mappings.v[i].dso->kind == DSO_ANON)
			return true;
	return false;
}

double javascript_interpreted_percent(const struct loaded *l)
{
	const struct profile *p = l->profile;
	const bool none = !has_code_without_file(p) && !named_frames(p);
	uint8_t *in = none ? calloc(p->nodes.n + 1, 1) : NULL;
	uint8_t *entered = none ? calloc(p->nodes.n + 1, 1) : NULL;
	double sum = 0, all = 0;

	for (size_t i = 1; in && entered && i < p->nodes.n; i++)
		in[i] = is_interpreted(p, &p->nodes.v[i], entered, i) || in[p->nodes.v[i].parent];
	for (size_t i = 0; in && entered && i < p->samples.n; i++) {
		all += (double)p->samples.v[i].count;
		sum += in[p->samples.v[i].node] ? (double)p->samples.v[i].count : 0;
	}
	free(in);
	free(entered);
	return all > 0 ? 100 * sum / all : 0;
}

static struct jit_names names_of(const struct loaded *p)
{
	return p->jit ? jit_codes_names(p->jit) : (struct jit_names){0};
}

void text_javascript(const struct loaded *p, FILE *out)
{
	const uint64_t frames = named_frames(p->profile);
	const struct jit_names n = names_of(p);

	if (frames)
		fprintf(out, "JavaScript frames with a name: %" PRIu64 "\n", frames);
	if (n.named || n.torn)
		fprintf(out,
			"JavaScript functions named from outside: %" PRIu64 "; %" PRIu64
			" times one had no name, as it changed while it was read; %" PRIu64
			" were freed, moved or replaced later\n",
			n.named, n.torn, n.changed);
}

void json_javascript(const struct loaded *p, FILE *out)
{
	const struct jit_names n = names_of(p);

	fprintf(out,
		"\"javascript\":{\"named_frames\":%" PRIu64 ",\"functions\":%" PRIu64
		",\"torn\":%" PRIu64 ",\"changed\":%" PRIu64 "},",
		named_frames(p->profile), n.named, n.torn, n.changed);
}
