/* probe_event.c - probes as events of perf_event_open: of tracefs (probe_tracefs.h), or of the
 * uprobe PMU. */
#include "capture/probe_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "capture/attr.h"
#include "capture/perf_rights.h"
#include "capture/probe_tracefs.h"
#include "capture/sysfile.h"
#include "capture/tracefs.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe"

/* ---- tracefs -------------------------------------------------------------------------------- */

int probe_events_tracefs(struct probe_events *set, struct err *err)
{
	const char *dir = *set->tracefs ? set->tracefs : tracefs_find(err);

	if (!dir)
		return -(int)(err ? err->code : ERR_NOT_FOUND);
	if (dir != set->tracefs)
		snprintf(set->tracefs, sizeof set->tracefs, "%s", dir);
	return 0;
}

static int open_for_probes(struct probe_events *set, struct err *err)
{
	const bool is_first = !*set->tracefs || !set->is_clean;
	struct perf_rights rights;
	int rc;

	perf_rights_read(&rights);
	if (!rights.may_admin)
		return err_set(err, ERR_PERMISSION, NULL,
			       "probes change the code of programs, which needs CAP_SYS_ADMIN: "
			       "run capture with sudo");
	rc = probe_events_tracefs(set, err);
	if (!rc && is_first)
		probe_tracefs_remove_stale(set);
	set->is_clean |= !rc;
	return rc;
}

void probe_events_init(struct probe_events *set)
{
	*set = (struct probe_events){0};
}

void probe_events_done(struct probe_events *set)
{
	for (size_t i = 0; i < set->made.n; i++) {
		if (set->made.v[i]->keeper)
			close(set->made.v[i]->keeper - 1);
		if (*set->made.v[i]->tracefs_name)
			probe_tracefs_remove(set, set->made.v[i]->tracefs_name);
		probe_places_done(&set->made.v[i]->found);
		text_done(&set->made.v[i]->fields);
		free(set->made.v[i]);
	}
	vec_done(&set->made);
	probe_events_init(set);
}

/* ---- events --------------------------------------------------------------------------------- */

/* The registers by which both ends of a span are known to be of one call: where its return address
 * is, and Go's goroutine, which may move to another thread and whose stack may move. And what a
 * function returns. Names are those of the kernel (regs_query_register_offset()). */
#if defined __aarch64__
static const char field_sp[] = " sp=%sp:x64", field_g[] = " g=%x28:x64",
		  field_result[] = " ret=%x0:x64";
static const char *const arg_registers[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", NULL};
#define go_registers arg_registers
#else
static const char field_sp[] = " sp=%sp:x64", field_g[] = " g=%r14:x64",
		  field_result[] = " ret=%ax:x64";
static const char *const arg_registers[] = {"di", "si", "dx", "cx", "r8", "r9", NULL};
static const char *const go_registers[] = {"ax", "bx", "cx",  "di",  "si",
					   "r8", "r9", "r10", "r11", NULL};
#endif

/* psABI AMD64 3.2.3; AAPCS64 6.4; Go's src/cmd/compile/abi-internal.md, whose strings have a length
 * instead of an end. */
static void argument_fields(struct text *t, const struct probe_target *target, bool is_go)
{
	const char *const *names = is_go ? go_registers : arg_registers;
	char field[64];

	for (size_t i = 0; names[i]; i++) {
		snprintf(field, sizeof field, " a%zu=%%%s:x64", i, names[i]);
		text_str(t, field);
	}
	for (size_t i = 0; target->strings && !is_go && names[i]; i++) {
		snprintf(field, sizeof field, " s%zu=+0(%%%s):ustring", i, names[i]);
		text_str(t, field);
	}
	/* The kernel has a page for all of them, and measures those that are longer as empty: what
	 * it then lacks is missing at the end, where the name of the thread is known. */
	text_str(t, target->strings && !is_go ? " end=$comm:string" : "");
}

static void span_fields(struct text *t, const struct probe_target *target,
			const struct probe_spec *spec, const struct probe_places *found)
{
	const bool is_go = found->is_go, is_start = found->is_start;

	if (spec->kind == PROBE_CALL || spec->kind == PROBE_LEAVE) {
		text_str(t, field_sp);
		text_str(t, is_go ? field_g : "");
		text_str(t, spec->kind == PROBE_LEAVE ? field_result : "");
	}
	if (target->sp && (spec->kind == PROBE_RETURN ||
			   (spec->kind == PROBE_ENTRY && (!spec->plus || is_start))))
		text_str(t, field_sp);
	text_str(t, target->args && spec->kind == PROBE_RETURN ? " ret=$retval:x64" : "");
	if (target->args && (!spec->plus || is_start) &&
	    (spec->kind == PROBE_CALL || spec->kind == PROBE_ENTRY))
		argument_fields(t, target, is_go);
	text_char(t, 0);
}

/* Returns a descriptor, or -1. */
static int open_keeper(uint64_t id)
{
	struct perf_event_attr a = {.size = ATTR_SIZE,
				    .type = PERF_TYPE_TRACEPOINT,
				    .config = id,
				    .sample_period = 1,
				    .disabled = 1};
	const int cpu = sched_getcpu();

	return attr_open(&a, -1, cpu < 0 ? 0 : cpu, 0);
}

static int make_in_tracefs(struct probe_events *set, struct event *e, struct probe_event *p,
			   const struct probe_spec *spec, const struct probe_target *target,
			   struct err *err)
{
	struct probe_batch b = {.set = set,
				.name = p->tracefs_name,
				.path = p->found.path,
				.letter = spec->kind == PROBE_RETURN ? 'r' : 'p',
				.event = e->name,
				.is_span_end = spec->kind == PROBE_LEAVE,
				.says_loops = spec->kind == PROBE_CALL && p->found.n_looping,
				.with_fields = target->args};
	int rc;

	snprintf(p->tracefs_name, sizeof p->tracefs_name, PROBE_GROUP "%d/p%zu", (int)getpid(),
		 set->made.n);
	span_fields(&p->fields, target, spec, &p->found);
	if (p->fields.failed)
		return err_nomem(err);
	b.fields = e->fields = p->fields.s;
	rc = probe_batch_add_passing(b, p, err);
	if (rc)
		return rc;
	if (probe_tracefs_id(set, p->tracefs_name, &e->config))
		return err_errno(err, errno, p->tracefs_name, "read the id");
	e->type = PERF_TYPE_TRACEPOINT;
	e->tracefs_name = p->tracefs_name;
	return 0;
}

/* The PMU's format/retprobe and format/ref_ctr_offset: bit 0 and bits 32 to 63 of config. */
static int make_in_pmu(struct event *e, const struct probe_event *p, enum probe_kind kind,
		       uint64_t type, struct err *err)
{
	const struct probe_place *place = &p->found.places.v[0];

	if (place->ref_ctr_off > UINT32_MAX)
		return err_set(err, ERR_UNSUPPORTED, p->found.path, "%s: its counter lies too far",
			       place->name);
	e->type = (uint32_t)type;
	e->config = (uint64_t)(kind == PROBE_RETURN) | place->ref_ctr_off << 32;
	e->config1 = (uintptr_t)p->found.path;
	e->config2 = place->off;
	return 0;
}

/* Inherited events have the fault of the uprobe PMU. */
static int make_kernel_probe(struct event *e, struct probe_event *p,
			     const struct probe_target *target, struct err *err)
{
	const char *what = strchr(e->name, ':') + 1;
	const size_t n = strcspn(what, "+");

	if (target->is_inherited)
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "%s: kernel probes are recorded with -a (and a command beside it)",
			       e->name);
	if (n >= sizeof p->found.path)
		return err_set(err, ERR_USAGE, NULL, "%s: too long", e->name);
	memcpy(p->found.path, what, n);
	p->found.path[n] = 0;
	e->config1 = (uintptr_t)p->found.path;
	e->config2 = what[n] ? strtoull(what + n + 1, NULL, 0) : 0;
	e->n_places = 1;
	return 0;
}

static bool has_place(const struct probe_places *p, uint64_t off)
{
	size_t lo = 0, hi = p->places.n;

	while (lo < hi) { /* they are sorted */
		const size_t mid = lo + (hi - lo) / 2;

		if (p->places.v[mid].off == off)
			return true;
		if (p->places.v[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) ||
	       (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Leaves out the places that are probed for an event before it, all of whose hits are recorded. */
static void leave_out_known(const struct probe_events *set, struct probe_event *p)
{
	for (size_t i = 0; i < set->made.n && !p->event->is_trigger && !*p->event->filter; i++) {
		const struct probe_event *other = set->made.v[i];
		struct probe_places *mine = &p->found;
		size_t n = 0;

		if (other == p || !other->event || other->kind != p->kind ||
		    *other->event->filter || other->event->is_trigger ||
		    !is_same_file(other->found.path, mine->path))
			continue;
		for (size_t k = 0; k < mine->places.n; k++)
			if (!has_place(&other->found, mine->places.v[k].off))
				mine->places.v[n++] = mine->places.v[k];
		p->known_by = n < mine->places.n ? other->event : p->known_by;
		p->n_known += mine->places.n - n;
		mine->places.n = n;
	}
}

int probe_event_make(struct probe_events *set, struct event *e, const struct probe_target *target,
		     struct err *err)
{
	struct probe_event *p = calloc(1, sizeof *p);
	struct probe_spec spec;
	uint64_t type;
	int rc;

	if (!p || vec_push(&set->made, p)) {
		free(p);
		return err_nomem(err);
	}
	if (e->is_kernel_probe)
		return make_kernel_probe(e, p, target, err);
	rc = probe_parse(&spec, e->name, strlen(e->name), err);
	if (!rc)
		rc = probe_find(&spec, target->pid, &p->found, err);
	if (rc)
		return rc;
	if (stat(p->found.path, &p->file))
		p->file.st_ino = 0;
	p->kind = spec.kind;
	p->event = e;
	leave_out_known(set, p);
	e->n_places = p->found.places.n;
	if (!e->n_places) { /* the ends of what never returns: an event that does not come */
		e->type = PERF_TYPE_SOFTWARE;
		e->config = PERF_COUNT_SW_DUMMY;
		return 0;
	}
	rc = open_for_probes(set, err);
	if (!rc)
		return make_in_tracefs(set, e, p, &spec, target, err);
	if (target->args || target->is_inherited || p->found.places.n > 1 ||
	    spec.kind == PROBE_CALL || spec.kind == PROBE_LEAVE ||
	    sysfile_u64(UPROBE_PMU "/type", &type))
		return rc;
	return make_in_pmu(e, p, spec.kind, type, err);
}

enum probe_file_change probe_event_file_change(const struct probe_event *p)
{
	struct stat now;

	if (!p->file.st_ino || stat(p->found.path, &now))
		return PROBE_FILE_SAME;
	if (now.st_ino != p->file.st_ino || now.st_dev != p->file.st_dev)
		return PROBE_FILE_REPLACED;
	return now.st_size != p->file.st_size || now.st_mtim.tv_sec != p->file.st_mtim.tv_sec ||
			       now.st_mtim.tv_nsec != p->file.st_mtim.tv_nsec
		       ? PROBE_FILE_WRITTEN
		       : PROBE_FILE_SAME;
}

void probe_events_keep(struct probe_events *set)
{
	for (size_t i = 0; i < set->made.n; i++) {
		struct probe_event *p = set->made.v[i];

		if (*p->tracefs_name && p->event && p->event->type == PERF_TYPE_TRACEPOINT)
			p->keeper = open_keeper(p->event->config) + 1;
	}
}

/* ---- system calls --------------------------------------------------------------------------- */

static struct probe_event *add_event(struct probe_events *set)
{
	struct probe_event *p = calloc(1, sizeof *p);

	if (p && vec_push(&set->made, p)) {
		free(p);
		return NULL;
	}
	return p;
}

int probe_event_for_syscalls(struct probe_events *set, struct event *e, const char *const *files,
			     size_t n_files, probe_wants_syscall *wants, void *arg,
			     const char *fields, struct err *err)
{
	struct probe_batch b = {.set = set, .letter = 'p', .fields = fields};
	size_t n = 0;

	if (open_for_probes(set, NULL))
		return 0;
	for (size_t i = 0; i < n_files; i++) {
		struct probe_event *p = add_event(set);

		if (!p)
			return err_nomem(err);
		if (!i) {
			snprintf(p->tracefs_name, sizeof p->tracefs_name, PROBE_GROUP "%d/p%zu",
				 (int)getpid(), set->made.n);
			b.name = p->tracefs_name;
		}
		if (probe_find_syscalls(files[i], wants, arg, &p->found, NULL))
			continue; /* a script, or not readable */
		b.path = p->found.path;
		b.places = p->found.places.v;
		b.n = p->found.places.n;
		n += b.n && !probe_batch_add(&b, NULL) ? b.n : 0;
	}
	if (!n || !probe_tracefs_opens(set, b.name, &e->config))
		return 0;
	e->type = PERF_TYPE_TRACEPOINT;
	e->tracefs_name = b.name;
	return 1;
}

int probe_event_at(struct probe_events *set, struct event *e, char letter,
		   const struct probe_site *sites, size_t n, struct err *err)
{
	struct probe_batch b = {
		.set = set, .letter = letter, .with_fields = true, .n = 1, .fields = ""};
	struct probe_event *p;
	int rc = open_for_probes(set, err);

	if (rc)
		return rc;
	p = add_event(set);
	if (!p)
		return err_nomem(err);
	snprintf(p->tracefs_name, sizeof p->tracefs_name, PROBE_GROUP "%d/p%zu", (int)getpid(),
		 set->made.n);
	b.name = p->tracefs_name;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct probe_place place = {
			.off = sites[i].off, .name = sites[i].name, .fields = sites[i].fields};

		b.path = sites[i].path;
		b.places = &place;
		rc = probe_batch_add(&b, err);
	}
	if (!rc && !probe_tracefs_opens(set, b.name, &e->config))
		rc = err_set(err, ERR_UNSUPPORTED, NULL, "%s: the kernel does not open the probes",
			     e->name);
	e->type = PERF_TYPE_TRACEPOINT;
	e->is_probe = true;
	e->tracefs_name = b.name;
	e->n_places = n;
	return rc;
}
