/* runtime_env.c - what each runtime is asked for, by its own documentation. Each was tried (Debian
 * 12, CPython 3.12 and 3.13); none changes what a program does. */
#include "cmd/runtime_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *value;
	bool is_list; /* of options, separated by spaces */
} variables[] = {
	{"PYTHONPERFSUPPORT", "1", false},
	{"NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack", true},
	{"ERL_AFLAGS", "+JPperf true", true},
	{"MONO_ENV_OPTIONS", "--jitmap", true},
};

int runtime_env_set(struct err *err)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *old = getenv(variables[i].name), *value = variables[i].value;
		char *both = NULL;
		int rc;

		if (old && *old && (!variables[i].is_list || strstr(old, value)))
			continue;
		if (old && *old && asprintf(&both, "%s %s", old, value) < 0)
			return err_nomem(err);
		rc = setenv(variables[i].name, both ? both : value, 1);
		free(both);
		if (rc)
			return err_nomem(err);
	}
	return 0;
}
