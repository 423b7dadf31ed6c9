/* pprof_prune.c - drop_frames and keep_frames.
 *
 * The patterns are RE2's; those that occur are alternatives of names, which POSIX's extended
 * expressions read alike. Patterns come from files: repetitions with numbers, with which a few
 * bytes need gigabytes in regcomp(3), and references are not supported. */
#include "input/pprof_prune.h"

#include <stdlib.h>

#include "base/text.h"

/* profile_string() shortens what is longer. */
enum { PATTERN_MAX = 4000 };

/* "^(pattern)$" in POSIX's words. False: not supported. */
static bool translate(const char *pattern, struct text *to)
{
	text_str(to, "^(");
	for (const char *at = pattern; *at; at++)
		if (at[0] == '\\' && at[1] == 'd') {
			text_str(to, "[0-9]");
			at++;
		} else if (at[0] == '\\' && at[1]) {
			/* \1 refers, \A and others have no equal */
			if (!strchr("\\.()[]{}*+?|^$/-_:<>~&,; wsWSb", at[1]))
				return false;
			text_add(to, at++, 2);
		} else if (at[0] == '(' && at[1] == '?') {
			if (at[2] != ':')
				return false;
			text_char(to, '(');
			at += 2;
		} else if (at[0] == '{') {
			return false;
		} else {
			text_char(to, *at);
		}
	text_str(to, ")$");
	text_char(to, '\0');
	return !to->failed;
}

static bool compile(regex_t *to, const char *pattern, bool *has)
{
	struct text t = {0};

	*has = *pattern && strlen(pattern) <= PATTERN_MAX && translate(pattern, &t) &&
	       !regcomp(to, t.s, REG_EXTENDED | REG_NOSUB);
	text_done(&t);
	return *has || !*pattern;
}

bool pruner_begin(struct pruner *p, const char *drop, const char *keep)
{
	const bool fine = compile(&p->drop, drop, &p->has_drop);

	if (fine && compile(&p->keep, keep, &p->has_keep))
		return true;
	pruner_done(p);
	return false;
}

void pruner_done(struct pruner *p)
{
	if (p->has_drop)
		regfree(&p->drop);
	if (p->has_keep)
		regfree(&p->keep);
	p->has_drop = p->has_keep = false;
}

/* Without the arguments: cut at the first parenthesis that belongs to no name. */
static size_t bare_length(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
	size_t i;

	for (i = 0; name[i]; i++) {
		if (str_starts_with(name + i, anonymous))
			i += strlen(anonymous) - 1;
		else if (str_starts_with(name + i, call))
			i += strlen(call) - 1;
		else if (name[i] == '(')
			break;
	}
	return i;
}

bool pruner_drops(const struct pruner *p, const char *name)
{
	struct text bare = {0};
	bool drops;

	if (!p->has_drop || !*name)
		return false;
	name += *name == '.';
	text_add(&bare, name, bare_length(name));
	text_char(&bare, '\0');
	drops = !bare.failed && !regexec(&p->drop, bare.s, 0, NULL, 0) &&
		!(p->has_keep && !regexec(&p->keep, bare.s, 0, NULL, 0));
	text_done(&bare);
	return drops;
}

size_t pruned_first(const uint8_t *prunes, size_t n)
{
	bool has_user = false;
	size_t i;

	/* From the root on; what is above the first frame of the user stays. */
	for (i = n; i--;) {
		has_user |= prunes[i] == PRUNE_NOT;
		if (!has_user || prunes[i] == PRUNE_NOT)
			continue;
		return prunes[i] == PRUNE_ALL ? i + 1 : i;
	}
	return 0;
}
