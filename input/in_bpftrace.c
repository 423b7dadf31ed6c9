/* in_bpftrace.c - the maps that bpftrace prints at its end:
 *
 *	@samples[
 *	    finish_task_switch+5
 *	    schedule+44
 *	,
 *	    main+20
 *	, bash]: 12
 *
 * Keys are separated by commas: stacks, whose frames are indented, leaf first, and words (comm,
 * pid). Of several stacks one is the kernel's: the one that ends in an entry of the kernel; else
 * they are taken in their order, the first called by the second. Empty stacks are left out. The
 * name of the map is the event. */
#include "input/unpacked_lines.h"

#include <ctype.h>
#include <stdlib.h>

enum { STACKS = 4 };

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	bool inside; /* a map's entry */
	uint32_t event;
	VEC(uint32_t) stacks[STACKS]; /* locations, leaf first */
	bool is_kernel[STACKS];
	size_t at;	     /* the stack that is being read */
	VEC(uint32_t) names; /* string ids of the words among the keys */
	VEC(uint32_t) root_first;
};

static bool has_prefix(const char *s, size_t n, const char *prefix)
{
	return n >= strlen(prefix) && !memcmp(s, prefix, strlen(prefix));
}

/* Is it a function with which the kernel is entered, or with which its threads begin? */
static bool is_kernel_entry(const char *s, size_t n)
{
	static const char *const entries[] = {"entry_SYSCALL",	"entry_INT80",
					      "do_syscall_64",	"asm_",
					      "ret_from_fork",	"secondary_startup",
					      "start_kernel",	"el0t_64_",
					      "el1h_64_",	"el0_",
					      "common_startup", "entry_SYSENTER",
					      "x86_64_start",	"apic_timer_interrupt",
					      "page_fault",	"error_entry",
					      "kthread"};
	size_t i;

	for (i = 0; i < sizeof entries / sizeof *entries; i++)
		if (has_prefix(s, n, entries[i]))
			return true;
	return false;
}

static int add_frame(struct reader *r, const char *s, size_t n, struct err *err)
{
	struct profile_function f = {.is_foreign = true};
	struct profile_mapping m = {.kind = DSO_FILE};
	struct profile_location l = {.how = FRAME_USER_CHAIN};
	struct profile_line line = {0};
	size_t end = n, digits;
	bool has_name;
	uint32_t id;

	if (r->at >= STACKS)
		return 1;
	/* "main+20"; in perf's form "55c9c5a101c9 main+9 (/usr/bin/x)"; without a name "0x7f.." */
	digits = strspn(s, "0123456789abcdef");
	if (digits >= 6 && digits < n && s[digits] == ' ') {
		l.ip = l.off = strtoull(s, NULL, 16);
		s += digits + 1;
		n -= digits + 1;
		end = n;
	}
	if (n && s[n - 1] == ')') {
		const char *open = memrchr(s, '(', n);

		if (open && open > s && open[-1] == ' ') {
			m.path = profile_string(r->p, open + 1, (size_t)(s + n - 1 - open - 1));
			end = (size_t)(open - 1 - s);
		}
	}
	for (digits = end; digits && isdigit((unsigned char)s[digits - 1]);)
		digits--;
	if (digits > 1 && digits < end && s[digits - 1] == '+')
		end = digits - 1;
	r->is_kernel[r->at] = is_kernel_entry(s, end);
	if (m.path == STRTAB_FAILED || profile_add_mapping(r->p, &m, &l.mapping, err))
		return err_nomem(err);
	has_name = !has_prefix(s, end, "0x") && !has_prefix(s, end, "[unknown]");
	if (has_prefix(s, end, "0x"))
		l.ip = l.off = strtoull(s, NULL, 16);
	if (l.ip >> 48 == 0xffff)
		r->is_kernel[r->at] = true;
	f.name = profile_string(r->p, s, end);
	if (profile_add_function(r->p, &f, &line.function, err) ||
	    profile_add_location(r->p, &l, &line, has_name, &id, err))
		return -ERR_NOMEM;
	return vec_push(&r->stacks[r->at], id) ? err_nomem(err) : 0;
}

/* Reads the words between the commas of a line. */
static int add_keys(struct reader *r, const char *s, size_t n, struct err *err)
{
	while (n) {
		const char *comma = memchr(s, ',', n);
		size_t len = comma ? (size_t)(comma - s) : n, i, end;
		uint32_t id;

		for (i = 0; i < len && isspace((unsigned char)s[i]); i++)
			;
		for (end = len; end > i && isspace((unsigned char)s[end - 1]); end--)
			;
		if (end > i) {
			id = profile_string(r->p, s + i, end - i);
			if (id == STRTAB_FAILED || vec_push(&r->names, id))
				return err_nomem(err);
		}
		/* A comma after a stack ends it. */
		if (comma && r->at < STACKS && r->stacks[r->at].n)
			r->at++;
		n -= len + (comma != NULL);
		s += len + (comma != NULL);
	}
	return 0;
}

/* Replaces *id by the location of the same name in the kernel. */
static int to_kernel(struct reader *r, uint32_t *id, struct err *err)
{
	struct profile_location l = r->p->locations.v[*id];
	struct profile_line line = {0};

	l.is_kernel = true;
	if (l.n_lines)
		line = r->p->lines.v[l.first_line];
	return profile_add_location(r->p, &l, &line, l.n_lines, id, err);
}

static int push_stack(struct reader *r, size_t i, struct err *err)
{
	size_t j;

	for (j = r->stacks[i].n; j--;) {
		uint32_t id = r->stacks[i].v[j];

		if (r->is_kernel[i] && to_kernel(r, &id, err))
			return -ERR_NOMEM;
		if (vec_push(&r->root_first, id))
			return err_nomem(err);
	}
	return 0;
}

/* Puts the user's stack before the kernel's, which it has called. */
static int order_stacks(struct reader *r, struct err *err)
{
	size_t i;

	r->root_first.n = 0;
	for (i = STACKS; i--;)
		if (!r->is_kernel[i] && push_stack(r, i, err))
			return -ERR_NOMEM;
	for (i = STACKS; i--;)
		if (r->is_kernel[i] && push_stack(r, i, err))
			return -ERR_NOMEM;
	return 0;
}

/* The first word that is not a number is the command's name, the first number is the process. */
static void take_names(struct reader *r, struct profile_sample *s, struct input_sample *seen)
{
	size_t i;

	for (i = 0; i < r->names.n; i++) {
		const char *name = strtab_get(&r->p->strings, r->names.v[i]);

		if (strspn(name, "0123456789") == strlen(name))
			s->pid = s->pid == PROFILE_NO_PID ? (uint32_t)strtoul(name, NULL, 10)
							  : s->pid;
		else if (!s->comm)
			s->comm = r->names.v[i];
	}
	seen->comm = strtab_get(&r->p->strings, s->comm);
	seen->event = strtab_get(&r->p->strings, r->p->events.v[r->event].name);
	seen->pid = s->pid;
}

static int end_entry(struct reader *r, uint64_t weight, struct err *err)
{
	struct profile_sample s = {.event = r->event,
				   .pid = PROFILE_NO_PID,
				   .tid = PROFILE_NO_PID,
				   .count = weight,
				   .period = weight};
	struct input_sample seen = {.tid = PROFILE_NO_PID};
	int rc = 0;

	take_names(r, &s, &seen);
	r->inside = false;
	if (weight && input_accepts(r->opt, &seen, r->ret)) {
		if (order_stacks(r, err))
			return -ERR_NOMEM;
		rc = profile_add_stack(r->p, r->root_first.v, r->root_first.n, &s.node, err);
		if (!rc)
			rc = profile_add_sample(r->p, &s, err);
	}
	return rc;
}

/* Finds "]: 12", which ends an entry, and its weight. NULL: there is none. */
static const char *find_end(const char *line, size_t n, uint64_t *weight)
{
	size_t i = n;
	char *end;

	while (i && isdigit((unsigned char)line[i - 1]))
		i--;
	if (i == n || i < 3 || line[i - 1] != ' ' || line[i - 2] != ':' || line[i - 3] != ']')
		return NULL;
	*weight = strtoull(line + i, &end, 10);
	return line + i - 3;
}

static int begin_entry(struct reader *r, const char *line, const char *bracket, struct err *err)
{
	/* "@" has no name */
	size_t i, n = (size_t)(bracket - line);
	uint32_t name =
		n > 1 ? profile_string(r->p, line + 1, n - 1) : profile_string(r->p, "samples", 7);

	if (name == STRTAB_FAILED)
		return err_nomem(err);
	r->inside = true;
	r->at = 0;
	r->names.n = 0;
	for (i = 0; i < STACKS; i++) {
		r->stacks[i].n = 0;
		r->is_kernel[i] = false;
	}
	return profile_add_event(r->p, name, 0, &r->event, err);
}

static int read_line(void *reader, char *line, size_t n, struct err *err)
{
	struct reader *r = reader;
	char *bracket = *line == '@' ? memchr(line, '[', n) : NULL;
	const char *end;
	uint64_t weight = 0;
	size_t blank;
	int rc = 0;

	if (bracket) {
		rc = begin_entry(r, line, bracket, err);
		n -= (size_t)(bracket + 1 - line);
		line = bracket + 1;
	} else if (!r->inside) {
		/* "Attaching 1 probe...", other maps, output of the script */
		return 0;
	}
	if (rc)
		return rc;
	end = find_end(line, n, &weight);
	blank = strspn(line, " \t");
	if (!end && blank >= (*line == '\t' ? 1 : 2) && blank < n && line[blank] != ',')
		return add_frame(r, line + blank, n - blank, err);
	rc = add_keys(r, line, end ? (size_t)(end - line) : n, err);
	return rc || !end ? rc : end_entry(r, weight, err);
}

static bool detect(const char *head, size_t n)
{
	size_t len;

	if (memchr(head, '\0', n))
		return false;
	for (; *head; head += len + (head[len] != '\0')) {
		len = strcspn(head, "\n");
		if (*head == '@')
			return memchr(head, '[', len) != NULL;
		if (len && strncmp(head, "Attach", 6) && strncmp(head, "Tracing", 7) &&
		    strncmp(head, "Lost", 4))
			return false;
	}
	return false;
}

static int read_bpftrace(struct profile *p, struct input_source *s, const struct input_options *opt,
			 struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	size_t i;
	int rc;

	rc = input_each_line(s, ret, read_line, &r, err);
	if (r.inside)
		ret->cut = true;
	for (i = 0; i < STACKS; i++)
		vec_done(&r.stacks[i]);
	vec_done(&r.names);
	vec_done(&r.root_first);
	return rc;
}

const struct input_format input_bpftrace = {
	.name = "bpftrace",
	.help = "what bpftrace prints of maps with stacks as keys",
	.detect = detect,
	.read = read_bpftrace,
};
