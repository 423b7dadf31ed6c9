/* places.h - between the files of probe/. Private to it. */
#ifndef PROBE_PLACES_H
#define PROBE_PLACES_H

#include "functions/functions.h"
#include "modules/modules.h"
#include "probe/match.h"
#include "probe/probe.h"
#include "reader/reader.h"

/* Copies the name. Returns 0, or -1 when out of memory. */
int places_add(struct probe_places *p, uint64_t off, uint64_t ref_ctr_off, const char *name);

/* Sorts them; of several names of one place the first stays. */
void places_finish(struct probe_places *p);

/* The file that probes are in. */
struct probe_file {
	struct dso dso;
	struct modules *modules;
	struct module *mod; /* with its image, and debug information if there is some */
};
/* Returns 0, or a negative value with *err: then nothing stays open. The path must live as long. */
int probe_file_open(struct probe_file *f, const char *path, struct err *err);
void probe_file_close(struct probe_file *f);

/* Leaves out those at instructions that the kernel executes wrongly below a probe, and counts them
 * in n_vector. */
void places_drop_vector(struct probe_places *p, struct elf_image *img);
/* Is the instruction at this offset of a file encoded with VEX, EVEX or XOP, or a far call? */
bool is_vector_at(struct elf_image *img, uint64_t off);
/* The same of its bytes. */
bool is_vector_insn(const uint8_t *insn, size_t n, bool is_64_bit);
bool is_far_call(const uint8_t *insn, size_t n, bool is_64_bit);

/* All functions of a file that have a name. Returns 0, or -1 when out of memory. */
int functions_read(const struct module *m, struct functab *tab);

/* Adds the tracing points of a file that a spec names. Returns 0, or a negative value with *err. */
int usdt_find(struct elf_image *img, const struct probe_spec *spec, struct probe_places *ret,
	      struct err *err);

/* Adds the places of a line of a source file. Returns 0, or a negative value with *err. */
int lines_find(struct module *mod, const struct probe_spec *spec, struct probe_places *ret,
	       struct err *err);

/* "file.c:12, file.c:20 .." */
enum { INLINED_BYTES = 240 };
/* Counts the inlined copies of the functions that a pattern means in ret->n_inlined, says in `at`
 * which calls the first ones stand for, and adds where they begin, if is_taken. Returns 0, or a
 * negative value with *err. */
int inlined_find(struct module *mod, struct pattern *p, bool is_taken, struct probe_places *ret,
		 char at[INLINED_BYTES], struct err *err);

#endif
