/* probe.h - where probes go: from the names that people write to places in files.
 *
 * The spellings are those of bpftrace ("uprobe:FILE:FUNCTION", Documentation "Probes") and perf
 * ("FUNCTION+OFFSET", tools/perf/Documentation/perf-probe.txt). Places are what uprobes want: an
 * offset in a file (Documentation/trace/uprobetracer.rst). Nothing here talks to the kernel.
 *
 *	struct probe_spec spec;
 *	struct probe_places found;
 *
 *	rc = probe_parse(&spec, text, strlen(text), &err);
 *	if (!rc)
 *		rc = probe_find(&spec, 0, &found, &err);
 *	... found.path, found.places.v[i].off ...
 *	probe_places_done(&found);
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum probe_kind {
	PROBE_ENTRY,  /* uprobe: the first instruction of a function, or another one in it */
	PROBE_RETURN, /* uretprobe: where it returns to */
	PROBE_USDT,   /* usdt: a tracing point that the program's source has (sys/sdt.h) */
	/* The two ends of a span: call: and return:. The start of a function (in Go's behind the
	 * check of the stack's size, to which a function that had to grow it comes back), and all
	 * instructions that leave it, as its code shows. Nothing is put on the stack, as uretprobes
	 * do, whose traces other samples would meet, and which ends Go's programs. */
	PROBE_CALL,
	PROBE_LEAVE,
};

/* A place as it was written. The texts point into what was parsed and are not terminated. */
struct probe_spec {
	enum probe_kind kind;
	const char *file, *what; /* what: name or pattern of functions; PROVIDER:NAME of USDT */
	size_t file_len, what_len;
	uint32_t line;	  /* of the source file `what`: "file.c:42"; 0: none */
	bool has_address; /* instead of a name: a vaddr of the file, in `plus` */
	uint64_t plus;	  /* bytes behind the start of the function */
};

/* Does a text begin as a probe: "uprobe:", "uretprobe:", "usdt:", bpftrace's "u:", "ur:", "U:", or
 * "call:", "return:"? */
bool probe_is_spec(const char *text);
/* The length of the probe at the start of a list that commas separate: commas in brackets, as in
 * f(int, char), are part of a name, those of "/FILTER/" behind it of that. */
size_t probe_spec_length(const char *list);
/* The length of the probe text[0..len) without the "/FILTER/" at its end; len: there is none. */
size_t probe_before_filter(const char *text, size_t len);
/* Parses text[0..len). Returns 0, or -ERR_USAGE with *err. */
int probe_parse(struct probe_spec *ret, const char *text, size_t len, struct err *err);
/* "uprobe:" and the like at the start of a text; 0: it is no probe. */
size_t probe_prefix_length(const char *text);

struct probe_place {
	uint64_t off;	      /* in the file */
	uint64_t ref_ctr_off; /* of the counter that switches a USDT probe on; 0: none */
	const char *name;     /* as people read it; lives in probe_places.names */
	bool is_loop;	      /* one that n_looping counts */
	bool is_jump;	      /* PROBE_LEAVE: a jump to another function, which returns for it */
	/* PROBE_USDT: where its arguments are, as tracefs takes it (" arg1=%di:s32"); lives in
	 * probe_places.names; NULL: none are known */
	const char *fields;
	/* Of a copy that was inlined: "f, inlined into main at f.c:12"; lives in
	 * probe_places.names; NULL: it is none */
	const char *inlined;
};

struct probe_places {
	char path[PATH_MAX];		/* of the file, as this process opens it */
	VEC(struct probe_place) places; /* by rising off, each once */
	struct arena names;
	/* No function has just this name; these have it behind a namespace, class or package, or
	 * with more template arguments, or const behind it. */
	bool by_last_part;
	/* The function is chosen when a program starts (STT_GNU_IFUNC): these are all that may be.
	 */
	bool is_chosen;
	bool may_be_vdso; /* or the kernel's, in which no probe can be */
	bool is_go;	  /* a program that Go's compiler made */
	bool is_start;	  /* an address that was given is the start of a function */
	/* Of PROBE_USDT: its points have arguments that are not in places[].fields: they are where
	 * tracefs cannot read, or points differ in them, which one event cannot. */
	bool lacks_fields;
	/* Copies of the function that were inlined, as debug information says: of PROBE_ENTRY they
	 * are among the places, others do not have them. */
	size_t n_inlined;
	/* Of PROBE_LEAVE: functions whose code is not understood, and instructions that leave a
	 * function only under a condition: no probe tells that they were left there. */
	size_t n_unread, n_conditional;
	/* Functions that are meant, where no instruction begins so far behind the start. */
	size_t n_left_out;
	/* Places at vector instructions, which would do something else below a probe. */
	size_t n_vector;
	/* Functions that jump to their first instruction, where the probe is: of PROBE_LEAVE,
	 * PROBE_USDT and Go's programs 0. looping: the first of their names; lives in `names`. */
	size_t n_looping;
	const char *looping;
	/* Functions without an instruction that leaves them: if all are such, there is no place. */
	size_t n_endless;
};

/* Looks for what a spec names. The file is found as a shell and the loader do: a path, a command in
 * PATH, or a library by its soname ("libz.so.1"); with `pid` (not 0) a path is one of the process's
 * own file system, and a soname is first looked for among what it has mapped. Names come from
 * .symtab, .dynsym, .gnu_debugdata, the separate debug file, and Go's own table; they match with or
 * without arguments, template arguments and the suffixes of clones (.isra.0). `*` and `?` are
 * wildcards, which take functions only, not what compilers add to each file; a name also takes the
 * copies that were inlined. Returns 0, or a negative value with *err, which names what comes near.
 * *ret must be given to probe_places_done() in any case. */
int probe_find(const struct probe_spec *spec, pid_t pid, struct probe_places *ret, struct err *err);
void probe_places_done(struct probe_places *p);

/* Looks through a file's functions once, and calls each() for those whose names, as in the file,
 * are one of these: its index, and where the function begins in the file. Returns 0, or a negative
 * value with *err. */
typedef void probe_named(void *arg, size_t name, uint64_t off);
int probe_find_named(const char *path, const char *const *names, size_t n, probe_named *each,
		     void *arg, struct err *err);

struct dwarf_declaration;
/* Calls each() for each place with the declaration of the function that it is in (dwarf/dwarf.h),
 * valid until it returns; NULL: debug information does not say. Returns 0, or a negative value with
 * *err. */
typedef void probe_declared(void *arg, const struct probe_place *place,
			    const struct dwarf_declaration *d);
int probe_declarations(struct probe_places *found, probe_declared *each, void *arg,
		       struct err *err);

/* Is this system call meant? With this bit: may the probe be on the call itself? It is executed
 * elsewhere then (Documentation/trace/uprobetracer.rst), which a new program in its place is not
 * prepared for. */
#define PROBE_AT_CALL ((uint64_t)1 << 32)
typedef bool probe_wants_syscall(void *arg, uint64_t nr);
/* The instructions of a file that make those system calls: those whose number is set just before
 * them, and Go's, which serves all. Returns 0 also if there are none, or a negative value with
 * *err. *ret must be given to probe_places_done() in any case. */
int probe_find_syscalls(const char *path, probe_wants_syscall *wants, void *arg,
			struct probe_places *ret, struct err *err);
/* The file of a command or of a library, as probe_find() says. */
int probe_locate(const char *name, pid_t pid, char ret[PATH_MAX], struct err *err);
/* The loader that a program names (PT_INTERP), "": none, it is static. */
int probe_loader_of(const char *path, char ret[PATH_MAX], struct err *err);

#endif
