/* java.c - what --stats says of Java: frames of interpreted methods that have no name. */
#include "report/java.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/strtab.h"
#include "base/text.h"
#include "profile/profile.h"

/* Where the method is known its frame has its name, else that of the interpreter's part: as
 * runtimes/hotspot.c calls them. */
static bool is_interpreter(const struct profile *p, const struct profile_location *l)
{
	const struct profile_line *line = l->n_lines ? &p->lines.v[l->first_line] : NULL;

	return line &&
	       str_starts_with(strtab_get(&p->strings, p->functions.v[line->function].system_name),
			       "Interpreter: ");
}

/* Frames of all samples; 0 when out of memory. *stacks: how many samples have one. */
static uint64_t unnamed_frames(const struct profile *p, uint64_t *stacks)
{
	uint32_t *in = calloc(p->nodes.n + 1, sizeof *in);
	uint64_t sum = 0;

	*stacks = 0;
	for (size_t i = 1; in && i < p->nodes.n; i++) { /* a parent's id is smaller */
		const struct profile_node *n = &p->nodes.v[i];

		in[i] = in[n->parent] + is_interpreter(p, &p->locations.v[n->location]);
	}
	for (size_t i = 0; in && i < p->samples.n; i++) {
		sum += p->samples.v[i].count * in[p->samples.v[i].node];
		*stacks += in[p->samples.v[i].node] ? p->samples.v[i].count : 0;
	}
	free(in);
	return sum;
}

void text_java(const struct loaded *p, FILE *out)
{
	uint64_t stacks;
	const uint64_t frames = unnamed_frames(p->profile, &stacks);

	if (frames)
		fprintf(out,
			"Java frames of interpreted methods without a name: %" PRIu64
			", in %" PRIu64
			" stacks; their classes were unloaded or redefined, or the JVM ended, "
			"before they were read\n",
			frames, stacks);
}

void json_java(const struct loaded *p, FILE *out)
{
	uint64_t stacks;
	const uint64_t frames = unnamed_frames(p->profile, &stacks);

	fprintf(out, "\"java\":{\"unnamed_frames\":%" PRIu64 ",\"unnamed_stacks\":%" PRIu64 "},",
		frames, stacks);
}
