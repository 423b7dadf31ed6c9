/* tool_verdicts.c - the page of two made-up profiles that were judged, on standard output: main
 * calls f, which is twice as much on the new side, and g, which is half of it. f is significant. */
#include <stdio.h>
#include <string.h>

#include "output/output.h"

static uint32_t text(struct profile *p, const char *s)
{
	return profile_string(p, s, strlen(s));
}

/* A location of the function, which has no module. */
static uint32_t location(struct profile *p, const char *name, struct err *err)
{
	struct profile_function f = {.name = text(p, name)};
	struct profile_line line = {0};
	struct profile_location l = {0};
	uint32_t id = 0;

	if (profile_add_function(p, &f, &line.function, err) ||
	    profile_add_location(p, &l, &line, 1, &id, err))
		return 0;
	return id;
}

static struct profile *make(uint64_t f, uint64_t g, struct err *err)
{
	struct profile *p = profile_new(0);
	struct profile_sample s = {0};
	const char *const names[] = {"f", "g"};
	uint64_t weights[] = {f, g};
	uint32_t stack[2];
	size_t i;

	if (!p || profile_add_event(p, text(p, "cycles"), 0, &s.event, err))
		return NULL;
	for (i = 0; i < 2; i++) {
		stack[0] = location(p, "main", err);
		stack[1] = location(p, names[i], err);
		if (profile_add_stack(p, stack, 2, &s.node, err))
			return NULL;
		s.count = s.period = weights[i];
		if (profile_add_sample(p, &s, err))
			return NULL;
	}
	return p;
}

int main(void)
{
	struct output_options opt = {.generator = "test", .diff.summary = "1 function got slower"};
	struct diff_verdict verdicts[16] = {{0}};
	struct err err = {0};
	struct profile *base = make(100, 300, &err), *new = make(200, 150, &err);
	struct profile *both = profile_new(PROFILE_KEEP_TIDS);
	struct event_set of_base = {0}, of_new = {0};
	size_t i;
	int rc = 1;

	if (base && new &&both && !event_set_make(&of_base, base, NULL, &err) &&
	    !event_set_make(&of_new, new, NULL, &err) &&
	    !output_add_run(&opt.diff, both, base, &of_base, false, &err) &&
	    !output_add_run(&opt.diff, both, new, &of_new, true, &err) && both->functions.n <= 16) {
		for (i = 0; i < both->functions.n; i++) {
			const char *name = strtab_get(&both->strings, both->functions.v[i].name);

			if (!strcmp(name, "f"))
				verdicts[i] = (struct diff_verdict){"REGRESSED",
								    "+100 % (80 to 120)", true};
			if (!strcmp(name, "g"))
				verdicts[i] = (struct diff_verdict){"MOVED", NULL, false};
		}
		opt.diff.verdicts = verdicts;
		rc = output_write(output_format_find("html"), both, &opt, stdout, &err) != 0;
	}
	event_set_done(&of_base);
	event_set_done(&of_new);
	profile_free(base);
	profile_free(new);
	profile_free(both);
	return rc;
}
