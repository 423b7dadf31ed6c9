/* bundle_leave.c - lets file systems go that are not capture's own, and keeps copies of their
 * files.
 *
 * Who waits for a process may unmount as soon as it has ended, before any record of that is read:
 * so files are copied while they are mapped. What is too much for that is copied when its process
 * has ended, at once. A process that has ended maps nothing any more. Whether others, its children,
 * map a file still is not looked for: that they do not see whether we have it open or a copy. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/threads.h"
#include "base/vec.h"
#include "capture/bundle_pins.h"

#define LOOK_NS	  1000000ull	 /* when a process has ended */
#define LOOK_PART 50		 /* looking takes at most this part of the time */
#define IDLE_NS	  2000000000ull	 /* libraries are unmapped without a record */
#define EARLY_MAX (128ull << 20) /* bytes of all copies while processes live */
#define COPY_MAX  (256ull << 20) /* and after these */
#define CHUNK	  (1u << 20)

void pins_begin_leaving(struct pins *p)
{
	static const char *const own[] = {"/", ".", "/proc/self/exe"};
	struct stat st;
	size_t i;

	for (i = 0; i < sizeof own / sizeof *own; i++)
		p->home[i] = stat(own[i], &st) ? 0 : st.st_dev;
	p->mounts = stat("/proc/self/ns/mnt", &st) ? 0 : st.st_ino;
}

bool pins_is_foreign(const struct pins *p, int fd)
{
	struct stat st;
	size_t i;

	if (fstat(fd, &st))
		return false;
	for (i = 0; i < sizeof p->home / sizeof *p->home; i++)
		if (st.st_dev == p->home[i])
			return false;
	return true;
}

bool pins_is_foreign_root(const struct pins *p, const struct pinned_root *r)
{
	struct stat st;

	if (r->mounts >= 0 && !fstat(r->mounts, &st) && st.st_ino != p->mounts)
		return true;
	return r->root >= 0 && pins_is_foreign(p, r->root);
}

int pins_find_text(const struct pins *p, uint32_t pid, const char *path)
{
	size_t i;

	for (i = 0; i < p->texts.n; i++) {
		const struct pinned_text *t = &p->texts.v[i];

		if (t->pid == pid && !t->path == !path && (!path || !strcmp(t->path, path)))
			return t->fd;
	}
	return -1;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int copy_file(int from)
{
	int to = memfd_create("capture", MFD_CLOEXEC);
	off_t at = 0;
	ssize_t n = 1;
	struct stat st;

	while (to >= 0 && n > 0)
		n = sendfile(to, from, &at, CHUNK);
	/* It is as old as the file: see is_as_pinned(). */
	if (to >= 0 && !fstat(from, &st))
		(void)futimens(to, (const struct timespec[]){st.st_atim, st.st_mtim});
	if (to >= 0 && n < 0) {
		close(to);
		to = -1;
	}
	return to;
}

static void *copy_all(void *pins)
{
	struct pins *p = pins;
	size_t i;

	for (i = 0; i < p->copies.n; i++) {
		struct pinned_copy *c = &p->copies.v[i];
		const int to = copy_file(c->fd);

		/* The copy takes the place of the file, which is closed. */
		c->is_done = to >= 0 && dup3(to, c->fd, O_CLOEXEC) >= 0;
		if (to >= 0)
			close(to);
	}
	atomic_store(&p->has_copied, true);
	return NULL;
}

static void end_copy(struct pins *p, const struct pinned_copy *c)
{
	struct pinned_file *f = c->is_text ? NULL : &p->files.v[c->index];

	if (f && c->is_done)
		f->is_copy = true;
	if (c->is_done)
		return;
	if (c->is_early) { /* later */
		f->is_foreign = true;
		p->n_foreign++;
		p->copied_bytes -= c->bytes;
		return;
	}
	close(c->fd);
	*(f ? &f->fd : &p->texts.v[c->index].fd) = -1;
	if (f)
		f->is_copy = true;
	p->too_much++;
}

static void end_copies(struct pins *p)
{
	size_t i;

	if (!p->copies_now)
		return;
	pthread_join(p->copier, NULL);
	p->copies_now = false;
	for (i = 0; i < p->copies.n; i++)
		end_copy(p, &p->copies.v[i]);
	p->copies.n = 0;
}

static void start_copies(struct pins *p)
{
	if (!p->copies.n)
		return;
	atomic_store(&p->has_copied, false);
	p->copies_now = true;
	if (threads_start(&p->copier, copy_all, p)) {
		p->copies_now = false;
		p->looks = true; /* later */
	}
}

/* True: it was taken on. */
static bool add_copy(struct pins *p, struct pinned_copy c, uint64_t max)
{
	struct stat st;

	if (fstat(c.fd, &st) || max < p->copied_bytes ||
	    (uint64_t)st.st_size > max - p->copied_bytes)
		return false;
	c.bytes = (uint64_t)st.st_size;
	if (vec_push(&p->copies, c))
		return false;
	p->copied_bytes += c.bytes;
	return true;
}

/* Those that were mapped since the last time. */
static void copy_early(struct pins *p)
{
	for (; p->n_early < p->files.n; p->n_early++) {
		struct pinned_file *f = &p->files.v[p->n_early];
		const struct pinned_copy c = {.index = p->n_early, .fd = f->fd, .is_early = true};

		if (!f->is_foreign || !add_copy(p, c, EARLY_MAX))
			continue;
		f->is_foreign = false;
		p->n_foreign--;
	}
}

/* ---- what has ended -------------------------------------------------------------------------- */

static bool is_mapped(const struct pinned_file *f)
{
	char name[96];
	struct stat st;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, f->pid,
		 f->start, f->end);
	return !lstat(name, &st);
}

static void leave_file(struct pins *p, size_t i)
{
	struct pinned_file *f = &p->files.v[i];

	f->is_foreign = false;
	p->n_foreign--;
	if (add_copy(p, (struct pinned_copy){.index = i, .fd = f->fd}, COPY_MAX))
		return;
	p->too_much++;
	close(f->fd);
	f->fd = -1;
	f->is_copy = true;
}

/* Of a zombie nothing is left, too. */
static bool lives(uint32_t pid)
{
	char name[64], byte;

	snprintf(name, sizeof name, "/proc/%" PRIu32 "/exe", pid);
	return readlink(name, &byte, 1) > 0;
}

static void leave_text(struct pins *p, const struct pinned_root *r, const char *path)
{
	struct pinned_text t = {.pid = r->pid, .fd = pins_open_text(r, path)};

	if (t.fd < 0)
		return;
	t.path = path ? strdup(path) : NULL;
	if ((path && !t.path) || vec_push(&p->texts, t)) {
		close(t.fd);
		free(t.path);
	} else if (!add_copy(p,
			     (struct pinned_copy){
				     .index = p->texts.n - 1, .fd = t.fd, .is_text = true},
			     COPY_MAX)) {
		p->too_much++;
		close(t.fd);
		p->texts.v[p->texts.n - 1].fd = -1;
	}
}

static void leave_root(struct pins *p, struct pinned_root *r)
{
	size_t i;

	leave_text(p, r, NULL);
	for (i = 0; i < p->dumps.n; i++)
		if (p->dumps.v[i].pid == r->pid)
			leave_text(p, r, p->dumps.v[i].path);
	if (r->root >= 0)
		close(r->root);
	if (r->mounts >= 0)
		close(r->mounts);
	r->root = r->mounts = -1;
	r->is_foreign = false;
	p->n_foreign--;
}

static void look_for_ended(struct pins *p, uint64_t now_ns)
{
	size_t i;

	p->looks = false;
	p->looked_ns = now_ns;
	for (i = 0; i < p->files.n; i++)
		if (p->files.v[i].is_foreign && !is_mapped(&p->files.v[i]))
			leave_file(p, i);
	for (i = 0; i < p->roots.n; i++)
		if (p->roots.v[i].is_foreign && !lives(p->roots.v[i].pid))
			leave_root(p, &p->roots.v[i]);
	p->look_ns = (clock_ns() - now_ns) * LOOK_PART;
}

static bool is_due(const struct pins *p, uint64_t now_ns)
{
	const uint64_t wait_ns = p->look_ns > LOOK_NS ? p->look_ns : LOOK_NS;

	return now_ns - p->looked_ns >= (p->looks ? wait_ns : IDLE_NS);
}

void pins_look(struct pins *p, uint64_t now_ns)
{
	if (p->copies_now && atomic_load(&p->has_copied))
		end_copies(p);
	if (!p->n_foreign || p->copies_now)
		return;
	copy_early(p);
	if (is_due(p, now_ns))
		look_for_ended(p, now_ns);
	start_copies(p);
}

void pins_done_leaving(struct pins *p)
{
	size_t i;

	end_copies(p);
	for (i = 0; i < p->texts.n; i++) {
		if (p->texts.v[i].fd >= 0)
			close(p->texts.v[i].fd);
		free(p->texts.v[i].path);
	}
	for (i = 0; i < p->dumps.n; i++)
		free(p->dumps.v[i].path);
	vec_done(&p->texts);
	vec_done(&p->dumps);
	vec_done(&p->copies);
}
