/* dotnet.c - methods as .NET writes them into perf maps and jitdumps:
 *
 *	instance void [Assembly] System.Collections.Generic.List`1[System.__Canon]::Add(!0)[Tier0]
 *
 * Source of truth: PerfMap::LogJITCompiledMethod() of dotnet/runtime, src/coreclr/vm/perfmap.cpp:
 * what the method returns, its assembly, class and name, the types of its arguments, and with
 * DOTNET_PerfMapShowOptimizationTiers the tier that compiled it. */
#include <string.h>

#include "demangle/language.h"

/* Returns the text after "RETURNS [ASSEMBLY] ", or NULL. Types contain an assembly's name, too, but
 * without a space after it ("class [netstandard]System.Type"), and the brackets of arrays contain
 * no name. */
static const char *behind_assembly(const char *s)
{
	while ((s = strstr(s, " ["))) {
		s += 2;
		s += strcspn(s, "]");
		if (s[0] == ']' && s[1] == ' ')
			return s + 2;
	}
	return NULL;
}

/* Returns the text after the bracket that closes the one at s; the end if there is none. */
static const char *behind_bracket(const char *s)
{
	unsigned open = 0;

	do {
		open += *s == '[';
		open -= *s == ']';
		s++;
	} while (*s && open);
	return s;
}

/* Is it empty, or "[OptimizedTier1]"? */
static bool is_tier(const char *s)
{
	return !*s || (*s == '[' && !behind_bracket(s)[0] && s[strlen(s) - 1] == ']');
}

bool simplify_dotnet(struct namebuf *out, const char *name)
{
	const char *s = behind_assembly(name), *last = strrchr(name, ')'), *method, *end;

	if (!s || !last || last < s || !is_tier(last + 1))
		return false;
	method = strstr(s, "::");
	end = strchr(s, '(');
	if (!method || !end || method == s || method + 2 >= end)
		return false;
	while (s < end) {
		bool has_arguments = *s == '[' && s[1] != ']' && s[1] != ',';
		const char *next = *s == '[' ? behind_bracket(s) : s + strcspn(s, "[(");

		if (next > end)
			return false;
		if (has_arguments)
			namebuf_add(out, "[...]", 5);
		else
			namebuf_add(out, s, (size_t)(next - s));
		s = next;
	}
	return !out->failed;
}
