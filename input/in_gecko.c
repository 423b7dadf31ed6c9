/* in_gecko.c - files of the Firefox Profiler: reads them into tables. See gecko.h. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/gecko.h"
#include "input/input.h"

#include <stdlib.h>
#include <string.h>

static uint32_t string_of(struct gecko *g, const struct json_value *v)
{
	return v->kind == JSON_STRING ? profile_string(g->p, v->string, v->n) : 0;
}

static double number_of(const struct json_value *v)
{
	return v->kind == JSON_NUMBER ? v->number : NAN;
}

/* Ids of processes and threads are numbers or texts ("1234", "1234.1"). */
static uint32_t task_of(const struct json_value *v)
{
	const double n = v->kind == JSON_STRING ? strtod(v->string, NULL) : number_of(v);

	return n >= 0 && n <= INT32_MAX ? (uint32_t)n : PROFILE_NO_PID;
}

/* ---- tables --------------------------------------------------------------------------------- */

static const struct {
	const char *path;
	enum gecko_column column;
} columns[] = {
	{"stackTable.frame[]", STACK_FRAME},
	{"stackTable.prefix[]", STACK_PREFIX},
	{"stackTable.prefixOffset[]", STACK_PREFIX_OFFSET},
	{"frameTable.func[]", FRAME_FUNC},
	{"frameTable.line[]", FRAME_LINE},
	{"frameTable.address[]", FRAME_ADDRESS},
	{"frameTable.category[]", FRAME_CATEGORY},
	{"funcTable.name[]", FUNC_NAME},
	{"funcTable.resource[]", FUNC_RESOURCE},
	{"funcTable.fileName[]", FUNC_FILE},
	{"funcTable.source[]", FUNC_SOURCE},
	{"resourceTable.name[]", RESOURCE_NAME},
	{"resourceTable.lib[]", RESOURCE_LIB},
	{"sources.filename[]", SOURCE_FILE},
	{"samples.stack[]", SAMPLE_STACK},
	{"samples.time[]", SAMPLE_TIME},
	{"samples.timeDeltas[]", SAMPLE_DELTA},
	{"samples.weight[]", SAMPLE_WEIGHT},
};

/* Tables with rows: their columns have these names in the schema. */
static const char *const row_tables[] = {"stackTable", "frameTable", "samples"};
static const struct {
	const char *name;
	enum gecko_column column;
} places[][5] = {
	{{"frame", STACK_FRAME}, {"prefix", STACK_PREFIX}},
	{{"location", FRAME_LOCATION}, {"line", FRAME_LINE}, {"category", FRAME_CATEGORY}},
	{{"stack", SAMPLE_STACK}, {"time", SAMPLE_TIME}, {"weight", SAMPLE_WEIGHT}},
};

enum { PLACES = 32 };

/* "schema.NAME" of a table: at which place of rows the column is. */
static void take_schema(struct gecko *g, size_t table, const char *name, double place)
{
	const uint32_t at = gecko_index(place, PLACES);

	for (size_t i = 0; at < PLACES && places[table][i].name; i++)
		if (!strcmp(places[table][i].name, name))
			g->of_place[table][at] = places[table][i].column;
}

/* Where the row that is read begins in g->cells. */
static size_t row_begin(const struct gecko *g)
{
	return g->row_ends.n ? g->row_ends.v[g->row_ends.n - 1] : 0;
}

/* The rows become columns. What a row has not is unknown. */
static int end_table(struct gecko *g, struct gecko_tables *t, size_t table)
{
	enum gecko_column *of_place = g->of_place[table];
	bool known = false;
	int rc = 0;

	for (size_t i = 0; i < PLACES; i++) {
		if (of_place[i] == GECKO_COLUMNS)
			continue;
		for (size_t r = 0, begin = 0; !rc && r < g->row_ends.n; r++) {
			const size_t end = g->row_ends.v[r];

			rc = vec_push(&t->columns[of_place[i]],
				      i < end - begin ? g->cells.v[begin + i] : NAN);
			begin = end;
		}
		of_place[i] = GECKO_COLUMNS;
		known = true;
	}
	g->ret->damaged += known ? 0 : g->row_ends.n;
	g->row_ends.n = g->cells.n = 0;
	return rc;
}

/* `path` is that below the table; "" is its end. */
static int take_row(struct gecko *g, struct gecko_tables *t, size_t table, const char *path,
		    const struct json_value *v)
{
	if (!*path)
		return end_table(g, t, table);
	if (!strncmp(path, ".schema.", 8))
		take_schema(g, table, path + 8, number_of(v));
	else if (!strcmp(path, ".data[][]") && g->cells.n - row_begin(g) < PLACES)
		return vec_push(&g->cells, number_of(v));
	else if (!strcmp(path, ".data[]") && v->kind == JSON_END)
		return vec_push(&g->row_ends, g->cells.n);
	return 0;
}

/* A value of the tables of a thread, or of those that are shared. */
static int take_table(struct gecko *g, struct gecko_tables *t, const char *path,
		      const struct json_value *v)
{
	int rc = 0;

	if (!strcmp(path, "stringArray[]") || !strcmp(path, "stringTable[]"))
		rc = vec_push(&t->strings, string_of(g, v));
	for (size_t i = 0; !rc && i < sizeof columns / sizeof *columns; i++)
		if (!strcmp(columns[i].path, path) && v->kind != JSON_END)
			return vec_push(&t->columns[columns[i].column], number_of(v));
	for (size_t i = 0; !rc && i < sizeof row_tables / sizeof *row_tables; i++)
		if (!strncmp(path, row_tables[i], strlen(row_tables[i])))
			return take_row(g, t, i, path + strlen(row_tables[i]), v);
	return rc;
}

/* ---- threads, and what is of all ------------------------------------------------------------ */

static void begin_thread(struct gecko *g)
{
	g->at = (struct gecko_thread){.pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < PLACES; k++)
			g->of_place[i][k] = GECKO_COLUMNS;
}

static int visit(void *gecko, const struct json_value *v);

/* A process of Firefox before 53 is a text among the threads: a file of its own. */
static int take_inner(struct gecko *g, const struct json_value *v)
{
	const double start = g->start_ms;
	struct err err;
	int rc;

	if (g->is_inner) {
		g->ret->damaged++;
		return 0;
	}
	g->is_inner = true;
	rc = json_read(v->string, v->n, "", visit, g, &err);
	g->is_inner = false;
	g->process_ms = start;
	g->ret->damaged += rc == -ERR_FORMAT;
	return rc == -ERR_FORMAT ? 0 : rc;
}

static int take_thread(struct gecko *g, const char *path, const struct json_value *v)
{
	if (!*path && v->kind == JSON_STRING)
		return take_inner(g, v);
	if (!*path && v->kind == JSON_END) {
		g->at.shift_ms = g->process_ms > 0 ? g->process_ms - g->start_ms : 0;
		if (vec_push(&g->threads, g->at))
			return -1;
		begin_thread(g);
		return 0;
	}
	path += *path == '.';
	if (!strcmp(path, "name"))
		g->at.name = string_of(g, v);
	else if (!strcmp(path, "processName"))
		g->at.process = string_of(g, v);
	else if (!strcmp(path, "pid"))
		g->at.pid = task_of(v);
	else if (!strcmp(path, "tid"))
		g->at.tid = task_of(v);
	else if (!strcmp(path, "samples.weightType"))
		g->at.weight_type = string_of(g, v);
	else if (!strcmp(path, "markers.length") ||
		 (!strcmp(path, "markers.data[]") && v->kind == JSON_END))
		g->n_markers += v->kind == JSON_END ? 1 : v->number > 0 ? (uint64_t)v->number : 0;
	else
		return take_table(g, &g->at.tables, path, v);
	return 0;
}

static int take_meta(struct gecko *g, const char *path, const struct json_value *v)
{
	if (!strcmp(path, "startTime") && number_of(v) > 0 && number_of(v) < 1e13) {
		g->process_ms = number_of(v);
		if (!(g->start_ms > 0))
			g->start_ms = g->process_ms;
	}
	if (!strcmp(path, "importedFrom") && v->kind == JSON_STRING)
		g->is_own = !strncmp(v->string, "unspool", strlen("unspool"));
	else if (!strcmp(path, "categories[].name"))
		return vec_push(&g->categories, string_of(g, v));
	else if (!strcmp(path, "extra[].entries[].label"))
		g->label = string_of(g, v);
	else if (!strcmp(path, "extra[].entries[].value") &&
		 !strcmp(strtab_get(&g->p->strings, g->label), "Samples are of"))
		g->event = string_of(g, v);
	return 0;
}

static int take(struct gecko *g, const char *path, const struct json_value *v)
{
	static const char processes[] = "processes[].", threads[] = "threads[]", meta[] = "meta.",
			  shared[] = "shared.", libs[] = "libs[]", wrapped[] = "profile.";

	if (!strncmp(path, wrapped, sizeof wrapped - 1)) /* Firefox's own tool, until 2021 */
		path += sizeof wrapped - 1;
	while (!strncmp(path, processes, sizeof processes - 1))
		path += sizeof processes - 1;
	if (!strcmp(path, "processes[]"))
		g->process_ms = g->start_ms;
	if (!strncmp(path, threads, sizeof threads - 1))
		return take_thread(g, path + sizeof threads - 1, v);
	if (!strncmp(path, meta, sizeof meta - 1))
		return take_meta(g, path + sizeof meta - 1, v);
	if (!strncmp(path, shared, sizeof shared - 1))
		return take_table(g, &g->shared, path + sizeof shared - 1, v);
	if (strncmp(path, libs, sizeof libs - 1))
		return 0;
	if (!strcmp(path, "libs[].path"))
		g->lib = string_of(g, v);
	if (strcmp(path, libs) || v->kind != JSON_END)
		return 0;
	if (vec_push(&g->libs, g->lib))
		return -1;
	g->lib = 0;
	return 0;
}

static int visit(void *arg, const struct json_value *v)
{
	struct gecko *g = arg;

	return take(g, v->path, v) ? err_nomem(g->err) : 0;
}

static void free_tables(struct gecko_tables *t)
{
	vec_done(&t->strings);
	vec_done(&t->locations);
	vec_done(&t->nodes);
	for (size_t i = 0; i < GECKO_COLUMNS; i++)
		vec_done(&t->columns[i]);
}

static int read_gecko(struct profile *p, struct input_source *s, const struct input_options *opt,
		      struct input_result *ret, struct err *err)
{
	struct gecko g = {.p = p, .opt = opt, .ret = ret, .err = err};
	int rc;

	begin_thread(&g);
	rc = json_input_read(s, visit, &g, err);
	if (!rc)
		rc = gecko_add_samples(&g);
	input_note(ret, "samples without a stack were left out", g.n_without_stack, false);
	input_note(ret,
		   "addresses have no names: samply finds them in the browser, which can save them",
		   g.n_nameless, false);
	input_note(ret, "markers of the Firefox Profiler were not read", g.n_markers, false);
	if (rc && err && !*err->source)
		snprintf(err->source, sizeof err->source, "%s", s->name);
	for (size_t i = 0; i < g.threads.n; i++)
		free_tables(&g.threads.v[i].tables);
	free_tables(&g.at.tables);
	free_tables(&g.shared);
	vec_done(&g.threads);
	vec_done(&g.libs);
	vec_done(&g.categories);
	vec_done(&g.path);
	vec_done(&g.cells);
	vec_done(&g.row_ends);
	return rc;
}

static bool detect(const char *head, size_t n)
{
	(void)n;
	if (json_input_has(head, "\"profileJSONWithSymbolicationTable"))
		return false; /* Firefox's form before there were versions */
	return json_input_has(head, "\"isOffMainThread\"") ||
	       json_input_has(head, "\"preprocessedProfileVersion\"") ||
	       (json_input_has(head, "\"meta\"") && strstr(head, "\"processType\""));
}

const struct input_format input_gecko = {
	.name = "gecko",
	.help = "files of the Firefox Profiler: samply, perf script report gecko, Firefox, resolve",
	.is_json = true,
	.detect = detect,
	.read = read_gecko,
};
