/* synth_kernel.c - MMAP2 records for the kernel and its modules. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/kernel_range.h"
#include "capture/synth.h"
#include "capture/sysfile.h"

/* The kernel is no process. */
#define KERNEL_PID ((pid_t)-1)

#define MODULES_BYTES_MAX ((size_t)16 << 20)

/* ---- the kernel -------------------------------------------------------------------------- */

int synth_kernel(struct synth *s, bool *ret_hidden)
{
	struct synth_map m = {
		.pid = KERNEL_PID,
		.misc = PERF_RECORD_MISC_KERNEL,
		.path = "[kernel.kallsyms]_text",
	};
	struct kernel_range r;
	char path[128];

	snprintf(path, sizeof path, "%s/kernel/notes", s->sys);
	m.id = buildid_from_note_file(path);
	kernel_range_read(&r, s->proc, &m.id, s->cache_dir);
	if (!r.text)
		m.path = "[kernel.kallsyms]_stext";
	m.start = r.text ? r.text : r.stext;
	m.end = r.etext;
	*ret_hidden = !m.start || m.end <= m.start;
	if (*ret_hidden)
		return 0;
	/* With the address of the symbol in the name readers compute the relocation. */
	m.pgoff = m.start;
	return synth_map_emit(s, &m);
}

/* ---- modules ----------------------------------------------------------------------------- */

/* As modprobe compares: file names have '-' or '_', module names only '_'. */
static bool is_module_file(const char *file, size_t len, const char *name)
{
	const char *base = memrchr(file, '/', len);
	size_t i;

	base = base ? base + 1 : file;
	len -= (size_t)(base - file);
	for (i = 0; i < len && name[i]; i++)
		if (base[i] != name[i] && !(base[i] == '-' && name[i] == '_'))
			return false;
	return !name[i] && len - i >= 3 && !memcmp(base + i, ".ko", 3);
}

/* The file of a module by modules.dep; if it is not there, the name in brackets. */
static void module_path(const struct synth *s, const char *dep, const char *name, char *ret,
			size_t size)
{
	for (const char *line = dep; line && *line;) {
		size_t len = strcspn(line, ":\n");
		const char *end = strchr(line, '\n');

		if (is_module_file(line, len, name)) {
			if (line[0] == '/')
				snprintf(ret, size, "%.*s", (int)len, line);
			else
				snprintf(ret, size, "%s/%.*s", s->modules, (int)len, line);
			return;
		}
		line = end ? end + 1 : NULL;
	}
	snprintf(ret, size, "[%s]", name);
}

static int synth_module(struct synth *s, const char *dep, const char *line)
{
	char name[128], path[4096], notes[256];
	unsigned long long size, addr;
	struct synth_map m = {.pid = KERNEL_PID, .misc = PERF_RECORD_MISC_KERNEL, .path = path};

	/* proc(5), /proc/modules: name size uses users state address */
	if (sscanf(line, "%127s %llu %*s %*s %*s %llx", name, &size, &addr) != 3 || !addr || !size)
		return 0;
	module_path(s, dep, name, path, sizeof path);
	m.start = addr;
	m.end = addr + size;
	snprintf(notes, sizeof notes, "%s/module/%s/notes/.note.gnu.build-id", s->sys, name);
	m.id = buildid_from_note_file(notes);
	return m.end > m.start ? synth_map_emit(s, &m) : 0;
}

int synth_modules(struct synth *s)
{
	char path[4096], *dep, *text, *line, *next;
	int rc = 0;

	snprintf(path, sizeof path, "%s/modules", s->proc);
	text = sysfile_read_all(path, MODULES_BYTES_MAX, NULL);
	if (!text)
		return 0;
	snprintf(path, sizeof path, "%s/modules.dep", s->modules);
	dep = sysfile_read_all(path, MODULES_BYTES_MAX, NULL);
	for (line = text; line && *line && !rc; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		rc = synth_module(s, dep, line);
	}
	free(dep);
	free(text);
	return rc;
}
