/* drain.c - moves records from the rings to the writer. */
#include "capture/probe_maps.h"
#include "capture/drain.h"

#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "capture/mmap2.h"
#include "capture/reopen.h"
#include "capture/switch_event.h"
#include "capture/syscall_event.h"
#include "reader/format.h"

/* Room in the ring is returned to the kernel after this many bytes, not only when the ring is
 * empty. */
#define RELEASE_BYTES ((size_t)256 << 10)

/* perf_event.h, PERF_RECORD_LOST: u64 id, u64 lost. */
static uint64_t lost_count(const uint8_t *rec, size_t n)
{
	struct buf b = buf_make(rec, n, 0, false);

	buf_skip(&b, sizeof(struct perf_event_header) + 8);
	return buf_u64(&b);
}

static void count_sample(struct drain *d, uint32_t event, const struct sample_facts *f)
{
	struct capture_result *r = d->result;

	r->samples++;
	d->switch_samples += d->session->events[event].is_switch;
	if (!event && !f->period) {
		d->first_event_samples++;
		d->first_event_periods += d->session->attrs[0].sample_period;
	} else if (!event) {
		d->first_event_samples++;
		d->first_event_periods += f->period;
	}
	r->user_stacks += f->has_user_stack;
	r->truncated_stacks += f->stack_full;
	if (!d->first_sample_ns || f->time_ns < d->first_sample_ns)
		d->first_sample_ns = f->time_ns;
	if (f->time_ns > d->last_sample_ns)
		d->last_sample_ns = f->time_ns;
}

/* The event of a sample whose id is none of ours: the event that may be shared with another
 * recording. HASH_NONE: there are several, so it is unknown. */
static uint32_t event_of_foreign(const struct session *s)
{
	uint32_t found = HASH_NONE;

	for (uint32_t i = 0; i < s->n_events; i++) {
		if (!event_is_shared(s->attrs[i].type, s->attrs[i].config))
			continue;
		if (found != HASH_NONE)
			return HASH_NONE;
		found = i;
	}
	return found;
}

/* Inside of execve() there is a moment when a process has its new memory, with new strings where
 * its old stack was, but no auxiliary vector, and no record tells of it yet (begin_new_exec() of
 * fs/exec.c): where addresses are not random, the copy holds them. */
static bool may_be_in_exec(const struct drain *d, const struct sample_facts *f)
{
	const bool is_cut = f->stack_bytes >= d->session->attrs[0].sample_stack_user;

	return f->in_kernel && f->pid == f->tid && f->strings_at == f->stack_bytes &&
	       (!is_cut || environs_execs_later(&d->environs, f->pid, f->time_ns));
}

/* In the copies of registers and stack, which stand behind each other. */
static void hide_environment(struct drain *d, const struct sample_fields *l, const uint8_t *rec,
			     uint8_t *to, const struct sample_facts *f)
{
	struct environ_bytes regs = {0}, stack = {0};

	if (!d->environs.on || !f->stack)
		return;
	stack.v = to + (f->stack - rec);
	stack.n = f->stack_bytes;
	/* Between them is the size of the stack. */
	regs.n = f->abi ? 8 * (size_t)__builtin_popcountll(l->user_regs) : 0;
	regs.v = stack.v - 8 - regs.n;
	environs_learn(&d->environs, f->pid, f->time_ns, f->stack + f->strings_at,
		       f->stack_bytes - f->strings_at, f->strings_whole);
	environs_hide(&d->environs, f->pid, f->time_ns, regs, stack);
	if (may_be_in_exec(d, f))
		environs_hide_texts(stack.v, stack.n);
}

static int take_sample(struct drain *d, const uint8_t *rec, size_t n)
{
	uint32_t event = hash_get(&d->session->by_id, sample_id(rec, n));
	const bool is_foreign = event == HASH_NONE;
	struct sample_facts facts;
	bool reads;
	uint8_t *to;

	if (is_foreign)
		event = event_of_foreign(d->session);
	if (event == HASH_NONE) {
		d->foreign++;
		return 0;
	}
	if (d->session->events[event].texts) {
		syscall_texts_note(d->session->texts, &d->session->layouts[event], rec, n,
				   d->session->events[event].texts);
		return 0;
	}
	reads = d->session->events[event].reads_memory;
	/* sample_pack() rounds up */
	to = record_writer_reserve(d->writer, n + 7 + (reads ? SYSCALL_TEXT_MAX : 0));
	if (!to)
		return -1;
	n = sample_pack(&d->session->layouts[event], rec, n, to, &facts);
	hide_environment(d, &d->session->layouts[event], rec, to, &facts);
	if (reads)
		n = syscall_text_add(d->session->texts, &d->session->layouts[event], to, n);
	if (is_foreign)
		sample_set_id(to, session_any_id(d->session, event));
	record_writer_commit(d->writer, n);
	count_sample(d, event, &facts);
	d->triggered |= d->session->events[event].is_trigger;
	runtime_watch_sample(d->runtimes, &facts);
	processes_note(&d->processes, facts.pid, facts.time_ns);
	if (d->touches && facts.sp)
		touch_note_sample(&d->touch, (pid_t)facts.pid, (pid_t)facts.tid, facts.sp);
	if (d->touches && facts.short_at)
		touch_stack(&d->touch, (pid_t)facts.pid, (pid_t)facts.tid, facts.short_at,
			    facts.short_bytes);
	return 0;
}

/* Of the maps without code only those that show a file read-only say anything about code (see
 * attr_for_sideband), and [stack], which exec makes, where a first thread's stack ends: it
 * separates a copy that broke off from a stack that is damaged. Heaps and thread stacks are most of
 * the rest.
 * With addresses of data, they say what these lie in. */
static bool is_useless_map(const struct drain *d, const uint8_t *rec, size_t n)
{
	struct mmap2 m;

	if (d->session->policy.data || !mmap2_parse(rec, n, &m) || !mmap2_is_data(&m) ||
	    !strcmp(m.path, "[stack]"))
		return false;
	return m.prot != PROT_READ || m.path[0] != '/' || m.path[1] == '/'; /* "//anon" */
}

static int append(struct drain *d, const uint8_t *rec, size_t n)
{
	if (!d->holding)
		return record_writer_append(d->writer, rec, n);
	bytes_put(&d->held, rec, n);
	return d->held.failed ? -1 : 0;
}

static int take_other(struct drain *d, enum ring_kind kind, const uint8_t *rec, size_t n)
{
	struct perf_event_header h;

	memcpy(&h, rec, sizeof h);
	d->sideband_records += kind == RING_SIDEBAND;
	if (d->touches)
		touch_note_record(&d->touch, rec, n, d->session->attrs[0].sample_stack_user);
	if (d->session->command_pid)
		alive_note_record(&d->alive, rec, n);
	runtime_watch_record(d->runtimes, rec, n);
	environs_note(&d->environs, rec, n);
	processes_note_record(&d->processes, rec, n);
	if (is_useless_map(d, rec, n))
		return 0;
	if (h.type == PERF_RECORD_LOST && kind == RING_SWITCHES) {
		d->switches_refused = true; /* others stand for them */
		return 0;
	}
	if (h.type == PERF_RECORD_LOST && kind == RING_SAMPLES)
		d->lost_reported += lost_count(rec, n);
	else if (h.type == PERF_RECORD_THROTTLE)
		d->result->throttled++;
	else if (kind == RING_SIDEBAND)
		d->result->other_records++;
	d->forks += h.type == PERF_RECORD_FORK;
	exchange_note_record(&d->session->exchange, rec, n);
	probe_maps_take(&d->session->probes, rec, n);
	pins_note(&d->pins, rec, n);
	if (d->switched && switch_note_record(d->switched, rec, n))
		return -1;
	if (file_ids_note(&d->file_ids, rec, n))
		return -1;
	if (d->past)
		past_add(d->past, rec, n);
	return append(d, rec, n);
}

static int write_pack(struct drain *d)
{
	uint8_t *to;
	size_t n;

	if (!d->pack.n)
		return 0;
	if (d->switched && switch_pack_note(&d->pack, d->switched))
		return -1;
	to = d->holding ? bytes_room(&d->held, SWITCH_PACK_BYTES)
			: record_writer_reserve(d->writer, SWITCH_PACK_BYTES);
	if (!to)
		return -1;
	n = switch_pack_write(&d->pack, to);
	switch_pack_clear(&d->pack);
	if (d->holding)
		d->held.vec.n += n;
	else
		record_writer_commit(d->writer, n);
	return 0;
}

/* There are very many of these, and nothing else is to be learnt from them. */
static int take_switch(struct drain *d, enum ring_kind kind, const uint8_t *rec, size_t n)
{
	if (switch_pack_add(&d->pack, rec, n))
		return 0;
	if (write_pack(d))
		return -1;
	return switch_pack_add(&d->pack, rec, n) ? 0 : take_other(d, kind, rec, n);
}

static int take_record(struct drain *d, enum ring_kind kind, const uint8_t *rec,
		       const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_SAMPLE)
		return take_sample(d, rec, h->size);
	if (d->packs_switches && is_switch_record(h->type))
		return take_switch(d, kind, rec, h->size);
	return take_other(d, kind, rec, h->size);
}

static bool is_switch_out(const struct perf_event_header *h)
{
	return is_switch_record(h->type) && h->misc & PERF_RECORD_MISC_SWITCH_OUT;
}

/* 0 when the ring is empty, 1 when the writer has no room for the rest, or negative. */
static int read_ring(struct drain *d, enum ring_kind kind, struct cpu_ring *cpu, struct err *err)
{
	struct ring *r = &cpu->ring;
	uint64_t head = ring_head(r), released = r->pos;

	while (r->pos < head) {
		struct perf_event_header h = ring_peek(r);
		size_t at = (size_t)(r->pos & (r->size - 1));
		const uint8_t *rec = r->data + at;

		if (h.size < sizeof h || h.size > head - r->pos)
			return err_set(err, ERR_DAMAGED, NULL,
				       "the kernel's ring buffer holds a record of %u bytes",
				       h.size);
		if (at + h.size > r->size) {
			ring_copy(r, 0, d->scratch, h.size);
			rec = d->scratch;
		}
		rec = session_known_id(d->session, rec, h.size, d->scratch);
		if (take_record(d, kind, rec, &h))
			return err_nomem(err);
		cpu->switches += is_switch_out(&h);
		r->pos += h.size;
		if (r->pos - released >= RELEASE_BYTES) {
			ring_release(r);
			released = r->pos;
			if (kind != RING_SIDEBAND && record_writer_is_full(d->writer))
				return 1;
		}
	}
	ring_release(r);
	return 0;
}

/* The same; then nothing is left in the pack. */
static int drain_ring(struct drain *d, enum ring_kind kind, struct cpu_ring *cpu, struct err *err)
{
	const int rc = read_ring(d, kind, cpu, err);

	if (rc >= 0 && write_pack(d))
		return err_nomem(err);
	return rc;
}

/* What comes later than this wakes us again. */
static void empty_alarm(struct ring_set *set)
{
	for (size_t slot = 0; slot < set->cpus.cpus.n; slot++) {
		struct ring *r = &set->rings[slot].ring;

		if (!r->control)
			continue;
		r->pos = ring_head(r);
		ring_release(r);
	}
}

int drain_sideband(struct drain *d, struct err *err)
{
	struct ring_set *set = &d->session->sets[RING_SIDEBAND];
	int rc = 0;

	empty_alarm(&d->session->sets[RING_ALARM]);
	for (size_t slot = 0; slot < set->cpus.cpus.n && !rc; slot++)
		if (set->rings[slot].ring.control)
			rc = drain_ring(d, RING_SIDEBAND, &set->rings[slot], err);
	return rc;
}

/* Empties the ring, and decides whether it takes samples from now on. */
static int drain_switches(struct drain *d, size_t slot, uint64_t switches, struct err *err)
{
	struct cpu_ring *r = &d->session->sets[RING_SWITCHES].rings[slot];
	const bool was_paused = r->rate.paused;
	int rc = drain_ring(d, RING_SWITCHES, r, err);

	d->switches += switches;
	if (d->is_over)
		return rc;
	switch_rate_take(&r->rate, switches, clock_ns());
	d->switches_thinned |= r->rate.paused;
	if (r->rate.paused != was_paused)
		session_enable_slot(d->session, RING_SWITCHES, slot, !r->rate.paused);
	if (r->rate.turn_ns && (!d->turn_ns || r->rate.turn_ns < d->turn_ns))
		d->turn_ns = r->rate.turn_ns;
	return rc;
}

/* Empties the rings of a CPU. 0 when they are empty, 1 when the writer has no room for the rest, or
 * negative. */
static int drain_cpu(struct drain *d, size_t slot, struct err *err)
{
	struct cpu_ring *samples = &d->session->sets[RING_SAMPLES].rings[slot];
	int rc = 0;

	if (record_writer_is_full(d->writer))
		return 1;
	samples->switches = 0;
	if (samples->ring.control)
		rc = drain_ring(d, RING_SAMPLES, samples, err);
	if (!rc && d->session->sets[RING_SWITCHES].rings[slot].ring.control)
		rc = drain_switches(d, slot, samples->switches, err);
	return rc;
}

int drain_all(struct drain *d, bool *ret_complete, struct err *err)
{
	const size_t n = d->session->sets[RING_SAMPLES].cpus.cpus.n, first = d->turn++ % n;
	int rc = drain_sideband(d, err);

	d->turn_ns = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = drain_cpu(d, (first + i) % n, err);
	*ret_complete = !rc;
	return rc < 0 ? rc : 0;
}

void drain_begin_part(struct drain *d)
{
	*d->result = (struct capture_result){0};
	d->writer = NULL;
	d->first_sample_ns = d->last_sample_ns = 0;
	d->first_event_samples = d->first_event_periods = 0;
	d->foreign = d->forks = d->lost_reported = 0;
	d->switches = d->switch_samples = 0;
	d->switches_thinned = d->switches_refused = false;
	d->touch.pages = 0;
	processes_begin_part(&d->processes);
	file_ids_done(&d->file_ids);
	d->file_ids = (struct file_ids){0};
	if (d->switched)
		hash_done(d->switched);
}

int drain_release_held(struct drain *d, struct err *err)
{
	struct buf b = buf_make(d->held.vec.v, d->held.vec.n, 0, false);
	int rc = 0;

	d->holding = false;
	while (buf_left(&b) && !rc) {
		struct perf_event_header h;

		memcpy(&h, b.p, sizeof h);
		rc = record_writer_append(d->writer, buf_take(&b, h.size), h.size);
	}
	bytes_done(&d->held);
	return rc ? err_nomem(err) : 0;
}
