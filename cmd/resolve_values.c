/* resolve_values.c - what the values of those options of `resolve` mean that set more than a field,
 * or that have a form of their own. */
#include "cmd/resolve_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cmd/args.h"
#include "cmd/resolve_options.h"
#include "symbolize/symbolize.h"

int resolve_set_count(void *target, const char *option, char *what, struct err *err)
{
	struct resolve *r = target;

	if (strcmp(what, "samples") && strcmp(what, "period"))
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is neither samples nor period",
			       option, what);
	r->output.count_samples = !strcmp(what, "samples");
	return 0;
}

int resolve_set_format(void *target, const char *option, char *name, struct err *err)
{
	struct resolve *r = target;
	const struct output_format *const *f;
	char names[256] = "", path[64];

	r->format = output_format_find(name);
	if (!r->format) {
		snprintf(path, sizeof path, "x.%s", name); /* svg, pb.gz: by the suffix */
		r->format = output_format_for_path(path);
	}
	if (r->format)
		return 0;
	for (f = output_formats; *f; f++)
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s", (*f)->name);
	return err_set(err, ERR_USAGE, NULL, "%s: '%s' is none of:%s", option, name, names);
}

int resolve_set_all(void *target, const char *option, char *unused, struct err *err)
{
	struct resolve *r = target;

	(void)option, (void)unused, (void)err;
	r->output.style.mark_kernel = r->output.style.mark_jit = true;
	return 0;
}

int resolve_set_debug_dir(void *target, const char *option, char *dir, struct err *err)
{
	(void)option;
	return vec_push(&((struct resolve *)target)->debug_dirs, dir) ? err_nomem(err) : 0;
}

int resolve_set_explain(void *target, const char *option, char *address, struct err *err)
{
	struct resolve *r = target;

	r->explain = true;
	r->load.keep |= PROFILE_KEEP_IPS;
	return args_address(option, address, &r->explain_ip, err);
}

int resolve_set_require(void *target, const char *option, char *list, struct err *err)
{
	struct resolve *r = target;

	(void)option;
	r->requires = true;
	return requirements_parse(&r->require, list, err);
}

int resolve_set_verify(void *target, const char *option, char *every, struct err *err)
{
	struct resolve *r = target;

	r->load.verify_every = 1;
	return every ? args_u64(option, every, 1, UINT32_MAX, &r->load.verify_every, err) : 0;
}

int resolve_set_template_depth(void *target, const char *option, char *levels, struct err *err)
{
	struct symbolizer_options *o = &((struct resolve *)target)->load.symbolizer;
	uint64_t v;
	int rc = args_u64(option, levels, 0, 1000, &v, err);

	if (!rc) {
		o->cut_templates = true;
		o->template_depth = (unsigned)v;
	}
	return rc;
}

/* The keys have the names of perf report. */
int resolve_set_sort(void *target, const char *option, char *keys, struct err *err)
{
	static const struct {
		const char *name;
		enum top_column column;
		unsigned keep;
	} names[] = {{"comm", TOP_COMM, 0},
		     {"pid", TOP_PID, PROFILE_KEEP_PIDS},
		     {"tid", TOP_TID, PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS},
		     {"cpu", TOP_CPU, PROFILE_KEEP_CPUS},
		     {"cgroup", TOP_CGROUP, PROFILE_KEEP_LABELS},
		     {"dso", TOP_DSO, 0},
		     {"srcline", TOP_LINE, 0},
		     {"symbol", TOP_SYMBOL, 0},
		     {"sym", TOP_SYMBOL, 0}};
	struct resolve *r = target;
	unsigned wanted = 0;
	char *key, *rest = NULL;
	size_t i;

	for (key = strtok_r(keys, ",", &rest); key; key = strtok_r(NULL, ",", &rest)) {
		for (i = 0; i < sizeof names / sizeof *names && strcmp(names[i].name, key); i++)
			;
		if (i == sizeof names / sizeof *names)
			return err_set(err, ERR_USAGE, NULL,
				       "%s: '%s' is none of comm, pid, tid, cpu, cgroup, dso, "
				       "srcline, symbol",
				       option, key);
		wanted |= names[i].column;
		r->load.keep |= names[i].keep;
	}
	if (!wanted)
		return err_set(err, ERR_USAGE, NULL,
			       "%s: wants some of comm,pid,tid,cpu,cgroup,dso,srcline,symbol",
			       option);
	r->output.top.columns = wanted;
	return 0;
}

int resolve_set_fields(void *target, const char *option, char *fields, struct err *err)
{
	(void)option;
	return script_fields_parse(&((struct resolve *)target)->output.fields, fields, err);
}

int resolve_set_colors(void *target, const char *option, char *name, struct err *err)
{
	char names[256] = "";
	unsigned i;

	for (i = 0; output_palette_name(i); i++) {
		if (!strcmp(output_palette_name(i), name)) {
			((struct resolve *)target)->output.picture.palette = i;
			return 0;
		}
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
			 output_palette_name(i));
	}
	return err_set(err, ERR_USAGE, NULL, "%s: '%s' is none of:%s", option, name, names);
}

int resolve_add_base(void *target, const char *option, char *path, struct err *err)
{
	(void)option;
	return sides_add(&((struct resolve *)target)->diff, 0, path, err);
}

int resolve_set_weigh(void *target, const char *option, char *what, struct err *err)
{
	struct resolve *r = target;

	if (!*what)
		return err_set(err, ERR_USAGE, NULL, "%s: count, duration, or a field", option);
	r->load.weigh = strcmp(what, "duration") ? LOAD_WEIGH_COUNT : LOAD_WEIGH_DURATION;
	r->load.weigh_field = strcmp(what, "duration") && strcmp(what, "count") ? what : NULL;
	return 0;
}

/* perf record's unit: milliseconds. */
int resolve_set_off_cpu_least(void *ns, const char *option, char *text, struct err *err)
{
	char *end;
	double ms = strtod(text, &end);

	if (end == text || *end || !(ms >= 0 && ms < 1e9))
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is not a number of milliseconds",
			       option, text);
	*(uint64_t *)ns = (uint64_t)(ms * 1e6);
	return 0;
}

int resolve_set_where(void *conditions, const char *option, char *text, struct err *err)
{
	(void)option;
	return value_conditions_parse(conditions, text, err);
}
