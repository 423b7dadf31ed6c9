/* recording_synth.c - writes what was there before the recording began. */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "capture/perf_rights.h"
#include "capture/probe_maps.h"
#include "capture/recording.h"
#include "capture/synth.h"

static int emit_synthesized(void *arg, const void *rec, size_t n)
{
	struct recording *r = arg;

	r->result->other_records++;
	runtime_watch_record(r->drain.runtimes, rec, n);
	probe_maps_take(&r->session.probes, rec, n);
	pins_note(&r->drain.pins, rec, n);
	if (r->drain.past)
		past_add(r->drain.past, rec, n);
	return record_writer_append(r->drain.writer, rec, n) ? -ERR_NOMEM : 0;
}

static int drain_between(void *arg)
{
	struct recording *r = arg;

	return drain_sideband(&r->drain, NULL);
}

static int synthesize_processes(struct recording *r, struct synth *s)
{
	const struct tid_list *p = &r->session.processes;
	int rc = 0;

	if (r->session.all_processes)
		return synth_all(s, drain_between, r);
	for (size_t i = 0; i < p->tids.n && !rc; i++)
		rc = synth_process(s, p->tids.v[i]);
	return rc; /* a command is reported by its exec */
}

int recording_synthesize_cgroups(struct recording *r)
{
	struct synth s = {.proc = "/proc", .sys = "/sys", .emit = emit_synthesized, .arg = r};
	int rc = r->opt->all_cgroups ? synth_cgroups(&s) : 0;

	synth_done(&s);
	return rc;
}

/* Live records are held meanwhile, so that they come later in the file. */
int recording_synthesize(struct recording *r, struct err *err)
{
	bool hidden = false, wants_kernel = false;
	struct utsname u = {0};
	char modules[128];
	struct synth s = {
		.proc = "/proc",
		.sys = "/sys",
		.modules = modules,
		.cache_dir = r->opt->cache.dir,
		.emit = emit_synthesized,
		.arg = r,
		.with_data = r->session.policy.call_graph == CALL_GRAPH_DWARF,
		.all_data = r->session.policy.data,
	};
	int rc;

	uname(&u);
	snprintf(modules, sizeof modules, "/lib/modules/%s", u.release);
	for (size_t i = 0; i < r->session.n_events; i++)
		wants_kernel |= !r->session.attrs[i].exclude_kernel;
	r->drain.holding = true;
	rc = synth_kernel(&s, &hidden);
	if (!rc)
		rc = synth_modules(&s);
	if (!rc)
		rc = recording_synthesize_cgroups(r);
	if (!rc)
		rc = synthesize_processes(r, &s);
	synth_done(&s);
	if (r->session.all_processes && !namespace_is_machines(MACHINE_PID))
		capture_note(r->result,
			     "processes outside of this container (PID namespace) have no ids and "
			     "names here, and count as swapper; record outside, or with docker's "
			     "--pid=host");
	if (hidden && wants_kernel && access("/proc/self", F_OK))
		capture_note(r->result,
			     "/proc is not mounted here, so kernel frames will have no names: "
			     "mount -t proc proc /proc");
	else if (hidden && wants_kernel)
		capture_note(r->result,
			     "kernel addresses are hidden from this user, so kernel "
			     "frames will have no names: sudo sysctl kernel.kptr_restrict=0");
	return rc ? err_nomem(err) : drain_release_held(&r->drain, err);
}
