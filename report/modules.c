/* modules.c - the table of modules of --stats: sources of names, failures, and what to do.
 */
#include "report/modules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "report/package.h"
#include "symbolize/symbolize.h"

enum { TEXT_MODULES_MAX = 40 };

/* Facts about a module. Texts are "" if there is nothing to say. */
struct module_report {
	const struct dso *dso;
	const struct module *module; /* NULL: not a file */
	enum sym_tier tier;
	enum sym_miss miss;
	const char *source;
	bool has_locals;
	const char *lacks; /* beyond the names that it has: why there is no more */
	const char *lacks_detail;
	const char *help;
	const char *fetch;
	bool is_in_package; /* help is report_package_help() */
};

/* The kernel's list of symbols names all of it, and fetching a vmlinux of a gigabyte is no good
 * advice. */
static bool needs_no_fetch(const struct loaded *p, const struct dso *dso)
{
	return dso->kind == DSO_KERNEL && symbolizer_miss(p->symbolizer, dso) == SYM_MISS_FOUND;
}

/* The answer of servers about a module that they were, or could have been, asked for; else "". */
static const char *fetch_text(const struct loaded *p, const struct dso *dso)
{
	const struct module *m = modules_get(p->modules, dso);
	enum fetch_result r = !m || dso->kind == DSO_VDSO ? FETCH_NOT_ASKED
			      : m->image		  ? m->debug_fetch
							  : m->image_fetch;

	if (m && m->debug && !m->alt && m->alt_fetch != FETCH_OFF &&
	    (r == FETCH_DONE || r == FETCH_NOT_ASKED))
		r = m->alt_fetch;
	if (r == FETCH_NOT_ASKED || r == FETCH_DONE ||
	    (r == FETCH_OFF && (needs_no_fetch(p, dso) || !module_wants_fetch(m))))
		return "";
	return fetch_result_text(r);
}

/* ---- what to do ---------------------------------------------------------------------------- */

static const char *const miss_help[SYM_MISS_N] = {
	[SYM_MISS_BUILD_ID_DIFFERS] =
		"the file was replaced after the recording: give the one that ran by --symfs DIR "
		"or `perf buildid-cache --add FILE`, or fetch it with --debuginfod",
	[SYM_MISS_NO_BUILD_ID] = "build ids stand at the end of a recording, which may be cut off: "
				 "resolve one that is whole",
	[SYM_MISS_OTHER_CODE] = "it was built again after the recording: give the one that ran by "
				"--symfs DIR; with a build id (-Wl,--build-id) a rebuilt file is "
				"recognized at once",
	[SYM_MISS_OTHER_MACHINE] =
		"it was recorded on a machine of another kind: give the files of that machine by "
		"--symfs DIR",
	[SYM_MISS_NO_KALLSYMS] = "give --kallsyms FILE or --vmlinux FILE of the recorded kernel",
	[SYM_MISS_OTHER_KERNEL] = "give --kallsyms FILE or --vmlinux FILE of the recorded kernel",
	[SYM_MISS_KPTR_RESTRICT] =
		"run as root, or `sysctl kernel.kptr_restrict=0`; or give --kallsyms FILE",
	[SYM_MISS_NO_JIT_MAP] =
		"let the program write /tmp/perf-PID.map: node --perf-basic-prof, python3 -X perf, "
		"java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
		"-XX:+PreserveFramePointer (JDK 17 or later; of one that still runs: "
		"jcmd PID Compiler.perfmap). In a container it writes its own PID there: resolve "
		"while it runs, or copy that map to the PID of the recording",
};

static const char *no_file_help(const struct dso *dso)
{
	if (str_ends_with(dso->path, " (deleted)") || !strncmp(dso->path, "/memfd:", 7))
		return "the file was deleted while it ran: give a copy by --symfs DIR or `perf "
		       "buildid-cache --add FILE`";
	if (!dso->build_id.size)
		return "it was deleted, or is from a container or another machine: give the root "
		       "of its file system by --symfs DIR";
	return "it was deleted, or is from a container or another machine: give the root of its "
	       "file system by --symfs DIR, or let --debuginfod fetch it by its build id";
}

/* Is it a file of a distribution, for which there are packages with symbols? */
static bool is_packaged(const char *path)
{
	static const char *const dirs[] = {"bin/",   "sbin/",	"lib/",	    "lib32/",
					   "lib64/", "libx32/", "libexec/", "games/"};
	size_t i;

	if (!strncmp(path, "/usr/", 5))
		path += 4;
	for (i = 0; *path == '/' && i < sizeof dirs / sizeof *dirs; i++)
		if (!strncmp(path + 1, dirs[i], strlen(dirs[i])))
			return true;
	return false;
}

static const char *unreadable_help(const struct module *m)
{
	switch (m ? m->image_miss : MODULE_MISS_UNREADABLE) {
	case MODULE_MISS_PERMISSION:
	case MODULE_MISS_UNREADABLE:
		return "make the file readable, or run resolve as its owner";
	case MODULE_MISS_NOT_TRUSTED:
		return "give the file by --symfs DIR if you trust it, or remove it";
	default:
		return "it is damaged, or replaced after the recording: give the one that ran by "
		       "--symfs DIR or `perf buildid-cache --add FILE`";
	}
}

static const char *no_debug_help(const struct module *m)
{
	static const char *const by_miss[MODULE_MISS_N] = {
		[MODULE_MISS_CRC_DIFFERS] =
			"the debug file is of another build: install the one of this build",
		[MODULE_MISS_BUILD_ID_DIFFERS] =
			"the debug file is of another build: install the one of this build",
		[MODULE_MISS_PERMISSION] =
			"make the debug file readable, or run resolve as its owner",
		[MODULE_MISS_UNREADABLE] =
			"make the debug file readable, or run resolve as its owner",
		[MODULE_MISS_NOT_ELF] = "the debug file is damaged: install or copy it again",
		[MODULE_MISS_DAMAGED] = "the file is damaged: install or copy it again",
		[MODULE_MISS_NOT_TRUSTED] =
			"give the file by --debug-dir DIR if you trust it, or remove it",
	};

	if (m->debug_miss == MODULE_MISS_DAMAGED && m->image && !elf_image_mtime_ns(m->image))
		return "what the recording carries of it is damaged: give the file by --symfs DIR";
	if (by_miss[m->debug_miss])
		return by_miss[m->debug_miss];
	if (is_packaged(m->dso->path))
		return report_package_help();
	return "build it with -g and do not strip it, or give its debug file by --debug-dir DIR";
}

static struct elf_image *dwarf_image_of(const struct module *m)
{
	return m->debug ? m->debug : m->image;
}

/* The name of a section that is too large, among .debug_info and those that were read; NULL: none.
 */
static const char *refused_section(const struct module *m, enum err_code trouble)
{
	struct elf_image *img = dwarf_image_of(m);

	return trouble == ERR_LIMIT ? ".debug_info" : img ? elf_image_refused(img) : NULL;
}

/* The reason why existing sections cannot be read: unknown compression, damage, or size. ERR_OK:
 * they can. */
static enum err_code dwarf_trouble(const struct module *m)
{
	struct elf_image *img = dwarf_image_of(m);
	enum err_code why = ERR_DAMAGED;
	struct elf_section s;
	const char *name;
	size_t i, n = img ? elf_image_section_count(img) : 0;

	for (i = 0; i < n; i++)
		if (elf_image_section_at(img, i, &name, &s) && s.type != SHT_NOBITS && s.size &&
		    !strcmp(name, ".debug_info"))
			return elf_image_section(img, name, &s, &why) && s.data ? ERR_OK : why;
	return ERR_OK;
}

static const char *no_debug_text(const struct module_report *r)
{
	enum module_miss miss = r->module->debug_miss;

	if (!*r->source || (miss != MODULE_MISS_STRIPPED && miss != MODULE_MISS_NO_FILE))
		return module_miss_text(miss);
	return r->has_locals ? "no debug information: no lines, no inlined functions"
			     : "stripped: only exported functions have names";
}

static const char *alt_help(const struct module *m)
{
	return m->alt_miss == MODULE_MISS_BUILD_ID_DIFFERS
		       ? "install the one of the same build, or fetch it with --debuginfod"
		       : "install the whole debug package, or fetch the file with --debuginfod";
}

static void judge(struct module_report *r, bool wants_dwarf)
{
	const struct module *m = r->module;
	bool stripped = m && m->image && m->debug_miss != MODULE_MISS_NONE;
	enum err_code trouble =
		m && wants_dwarf && r->tier != SYM_TIER_INLINE ? dwarf_trouble(m) : ERR_OK;
	const char *refused = m ? refused_section(m, trouble) : NULL;

	if (r->miss == SYM_MISS_NO_FILE) {
		r->help = no_file_help(r->dso);
	} else if (r->miss == SYM_MISS_UNREADABLE) {
		r->help = unreadable_help(m);
	} else if (r->miss && miss_help[r->miss]) {
		r->help = miss_help[r->miss];
	} else if (refused) {
		r->lacks_detail = refused;
		r->lacks = "debug information is refused: unpacked it would be more than 32 times "
			   "as large as the file";
		r->help = "if that is right, `objcopy --decompress-debug-sections` it, and give it "
			  "by --debug-dir DIR";
	} else if (trouble) {
		r->lacks = "debug information cannot be unpacked: damaged, or compressed in an "
			   "unknown way";
		r->help = "rewrite it with `objcopy --decompress-debug-sections`, given by "
			  "--debug-dir DIR";
	} else if (stripped && r->tier < SYM_TIER_LINE) {
		r->lacks = no_debug_text(r);
		r->help = no_debug_help(m);
		r->is_in_package = r->help == report_package_help();
		if (m->debug_link && !r->module->debug)
			r->lacks_detail = m->debug_link;
	} else if (m && m->debug && m->alt_miss) {
		r->lacks = "the file that dwz moved common parts to is missing: some inlined "
			   "functions are, too";
		r->lacks_detail = m->alt_link;
		r->help = alt_help(m);
	}
}

/* Judges debug information that exists and was read. */
static void judge_dwarf(struct module_report *r, const struct loaded *p)
{
	static const char *const help[SYM_LACKS_N] = {
		[SYM_LACKS_SPLIT] = "keep the .dwo files where the compiler wrote them, or beside "
				    "the program, or put them into FILE.dwp with `dwp -e FILE`",
		[SYM_LACKS_OTHER_SPLIT] = "put the .dwo files of this build where the compiler "
					  "wrote them, or beside the program, or build it again",
		[SYM_LACKS_DAMAGED] = "install or copy the file again, or build it anew",
	};
	const char *detail;
	enum sym_lack lack = symbolizer_lacks(p->symbolizer, r->dso, &detail);

	if (!lack || *r->lacks)
		return;
	r->lacks = sym_lack_text(lack);
	r->lacks_detail = detail;
	r->help = help[lack];
}

static struct module_report report_of(const struct loaded *p, const struct dso *dso)
{
	bool is_file = dso->kind == DSO_FILE;
	struct module_report r = {
		.dso = dso,
		.module = is_file ? modules_get(p->modules, dso) : NULL,
		.tier = symbolizer_tier(p->symbolizer, dso),
		.miss = symbolizer_miss(p->symbolizer, dso),
		.source = symbolizer_source(p->symbolizer, dso),
		.has_locals = symbolizer_has_locals(p->symbolizer, dso),
		.lacks = "",
		.lacks_detail = "",
		.help = "",
		.fetch = fetch_text(p, dso),
	};

	judge(&r, !p->no_inline);
	judge_dwarf(&r, p);
	if (r.miss == SYM_MISS_NO_JIT_MAP && report_code_help(p, dso))
		r.help = report_code_help(p, dso);
	/* A runtime's image of its memory, with code (SBCL's); not an ELF file. */
	if (is_file && str_ends_with(dso->path, ".core") && report_runtime_help(p, dso->mapped_by))
		r.help = report_runtime_help(p, dso->mapped_by);
	return r;
}

const char *report_module_lacks(const struct loaded *p, const struct dso *dso, const char **help)
{
	struct module_report r = report_of(p, dso);

	if (!r.is_in_package)
		*help = r.help;
	else
		*help = "--debuginfod fetches them, --stats says more";
	return r.is_in_package && !r.has_locals ? "stripped" : r.lacks;
}

/* Was there something at this place that could not be used? */
static bool is_telling(const struct module_tried *t)
{
	return t->by_servers ? t->fetch != FETCH_OFF
			     : t->why != MODULE_MISS_NONE && t->why != MODULE_MISS_NO_FILE;
}

/* ---- for people ---------------------------------------------------------------------------- */

/* Each advice is printed once, at the first module for which it is useful. */
static void text_why(const struct module_report *r, bool says_help, FILE *out)
{
	size_t i, n = r->module && *r->help ? module_tried_count(r->module) : 0, n_places = 0;
	char package[128];

	for (i = 0; i < n; i++) {
		struct module_tried t = module_tried(r->module, i);

		n_places += !t.by_servers && t.why == MODULE_MISS_NO_FILE;
		if (is_telling(&t))
			fprintf(out, "             tried %s\n", t.text);
	}
	if (n_places && says_help)
		fprintf(out, "             tried %zu place%s without such a file\n", n_places,
			n_places == 1 ? "" : "s");
	if (*r->help && says_help)
		fprintf(out, "             %s\n", r->help);
	if (r->is_in_package && package_with_symbols(r->dso->path, package, sizeof package))
		fprintf(out, "             package of its symbols: %s\n", package);
}

static void text_module(const struct module_report *r, double share, bool says_help, FILE *out)
{
	fprintf(out, "  %5.1f %%  %-6s  %-50s ", share, sym_tier_text(r->tier), r->dso->path);
	fprintf(out, "%s%s%s%s%s%s%s%s%s\n", r->source, *r->source && r->miss ? "; " : "",
		r->miss ? sym_miss_text(r->miss) : "",
		*r->lacks && (*r->source || r->miss) ? "; " : "", r->lacks,
		*r->lacks_detail ? ": " : "", r->lacks_detail, *r->fetch ? "; debuginfod: " : "",
		r->fetch);
	text_why(r, says_help, out);
}

/* Adds the text; returns false if it was there already. */
static bool is_new(const char *said[], size_t *n, const char *help)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(said[i], help))
			return false;
	said[(*n)++] = help;
	return true;
}

void report_modules_text(const struct loaded *p, FILE *out)
{
	const char *said[TEXT_MODULES_MAX];
	size_t n_said = 0;
	size_t n, i;
	struct dso_weight *w = weigh_dsos(p, &n);
	uint64_t total = perf_file_stats(p->file)->samples - p->filtered;

	fprintf(out, "modules by samples:\n");
	for (i = 0; i < n && i < TEXT_MODULES_MAX; i++) {
		struct module_report r = report_of(p, w[i].dso);

		text_module(&r, percent(w[i].samples, total), is_new(said, &n_said, r.help), out);
	}
	if (n > TEXT_MODULES_MAX)
		fprintf(out, "  ... and %zu more\n", n - TEXT_MODULES_MAX);
	free(w);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_string(FILE *out, const char *s)
{
	struct text t = {0};

	text_json(&t, s, strlen(s));
	text_flush(&t, out);
	text_done(&t);
}

static void json_member(FILE *out, const char *name, const char *value)
{
	fprintf(out, ",\"%s\":", name);
	json_string(out, value);
}

static void json_tried(const struct module *m, FILE *out)
{
	size_t i, n = m ? module_tried_count(m) : 0;

	fprintf(out, ",\"tried\":[");
	for (i = 0; i < n; i++) {
		fputs(i ? "," : "", out);
		json_string(out, module_tried(m, i).text);
	}
	fputc(']', out);
}

static void json_module(const struct module_report *r, uint64_t samples,
			const struct quality *whole, const struct quality *part, FILE *out)
{
	size_t i;

	fprintf(out, "{\"path\":");
	json_string(out, r->dso->path);
	fprintf(out, ",\"build_id\":\"");
	for (i = 0; i < r->dso->build_id.size; i++)
		fprintf(out, "%02x", r->dso->build_id.bytes[i]);
	fprintf(out, "\",\"samples\":%" PRIu64, samples);
	if (part) {
		fprintf(out, ",\"quality\":");
		quality_json(whole, part, out);
	}
	json_member(out, "tier", sym_tier_text(r->tier));
	json_member(out, "source", r->source);
	json_member(out, "missing_reason", r->miss ? sym_miss_text(r->miss) : "");
	json_member(out, "lacks", r->lacks);
	json_member(out, "lacks_detail", r->lacks_detail);
	json_member(out, "help", r->help);
	json_member(out, "debuginfod", r->fetch);
	json_tried(r->module, out);
	fputc('}', out);
}

void report_modules_json(const struct loaded *p, const struct quality *whole, FILE *out)
{
	struct quality *parts = quality_by_dso(p);
	size_t n, i;
	struct dso_weight *w = weigh_dsos(p, &n);

	fprintf(out, "\"modules\":[");
	for (i = 0; i < n; i++) {
		struct module_report r = report_of(p, w[i].dso);

		fputs(i ? "," : "", out);
		json_module(&r, w[i].samples, whole, parts ? &parts[w[i].dso->id] : NULL, out);
	}
	fprintf(out, "]");
	free(parts);
	free(w);
}
