/* reader.h - perf.data in all its forms, and the process model.
 *
 * The reader turns the bytes of a recording into samples in time order. Everything else in the file
 * (MMAP, COMM, FORK ...) is consumed here and becomes the process model: each sample comes with the
 * address space and the command name that were valid at its time. Sources of truth: the kernel's
 * include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt.
 *
 *	perf_file_open(&f, "perf.data", NULL, &err);
 *	while ((rc = perf_file_read(f, &batch, &err)) > 0) {
 *		for (i = 0; i < batch->n; i++) use(&batch->samples[i]);
 *		perf_batch_release(f, batch);
 *	}
 *	perf_file_close(f);
 *
 * Threads: only one thread at a time may read and release. Others may use the samples of a batch,
 * and every dso, map and address_space reachable from them, until the batch is released. Dsos and
 * names live on until perf_file_close(); address spaces and their maps do not, because a recording
 * may see any number of processes.
 */
#ifndef READER_READER_H
#define READER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "reader/event_kind.h"
#include "reader/heap_event.h"
#include "reader/stacks_event.h"

/* ---- identity of code -------------------------------------------------------------------- */

#define BUILD_ID_MAX 20

struct build_id {
	uint8_t size; /* 0: unknown; at most BUILD_ID_MAX */
	uint8_t bytes[BUILD_ID_MAX];
};

/* Do they name one build? False when one of them is unknown. Old recordings have no size for build
 * ids: shorter ones come padded with zeroes, which count as equal. */
bool build_id_equal(const struct build_id *a, const struct build_id *b);

/* Byte for byte, also when both are unknown: keys of tables. */
bool build_id_identical(const struct build_id *a, const struct build_id *b);

enum dso_kind {
	DSO_FILE,	   /* an ELF file by path */
	DSO_KERNEL,	   /* [kernel.kallsyms], vmlinux */
	DSO_KERNEL_MODULE, /* [nf_conntrack] or a .ko path */
	DSO_GUEST_KERNEL,
	DSO_VDSO, /* [vdso] */
	DSO_ANON, /* executable memory without a file: JIT code. path is /tmp/perf-PID.map */
	DSO_BPF,  /* a BPF program, trampoline or other KSYMBOL region; path is the symbol's name */
	DSO_UNKNOWN, /* [stack], [heap], [uprobes], devices ... : no file can be opened */
};

/* One distinct piece of code. Lives until perf_file_close(). Equal (path, build id, inode) is one
 * dso. */
struct dso {
	uint32_t id; /* dense, from 0 */
	enum dso_kind kind;
	const char *path; /* as recorded, e.g. "/usr/lib/libc.so.6", "[kernel.kallsyms]" */
	struct build_id build_id;
	uint32_t pid; /* DSO_ANON: whose map file */
	/* DSO_ANON: when that process was forked, or called exec, by the recording's clock; 0: not
	 * recorded. What it runs thereafter is another dso. */
	uint64_t began_ns;
	uint32_t mapped_by; /* DSO_FILE: the first process that mapped it; 0: unknown */
	/* DSO_FILE: the file range of its first executable map; code_size 0: unknown */
	uint64_t code_off, code_size;
	/* From MMAP2 without build id; all 0 if unknown. */
	uint32_t maj, min;
	uint64_t ino, ino_generation;
};

#define DSO_MODULE_NAME_BYTES 256
/* The name of a kernel module as kallsyms and perf write it: "[nf_nat]" for
 * "/lib/modules/6.1/kernel/net/nf-nat.ko.xz", written to buf. A name that has brackets already, or
 * does not fit into buf, is returned as it is, without its folders. */
const char *dso_module_name(const char *path, char buf[DSO_MODULE_NAME_BYTES]);

/* A bit of map.prot, set by simpleperf (OfflineUnwinder.h, map_flags): code that was compiled at
 * run time. The symbols of its file have runtime addresses. */
#define PERF_MAP_JIT_SYMBOLS (1u << 14)

/* The addresses [start, end) of an address space, which show a file from offset pgoff on.
 * Immutable. Lives as long as the address space in which it was found, or any later one with the
 * same layout id. After that its memory may be reused for another map, so to recognise a map later
 * keep map_number(), not the pointer. */
struct map {
	uint32_t id;	      /* from 1, unique over the file */
	uint32_t prot, flags; /* PROT_*, MAP_* from MMAP2; prot is PROT_EXEC for MMAP */
	uint64_t start, end;  /* runtime addresses */
	uint64_t pgoff;	      /* file offset of start. For kernel maps: as recorded */
	const struct dso *dso;
};

/* A number that identifies a map and is never reused; 0 for NULL. */
static inline uint32_t map_number(const struct map *m)
{
	return m ? m->id : 0;
}

/* The file offset that a runtime address shows. Only for maps with a file (DSO_FILE, DSO_VDSO,
 * DSO_KERNEL_MODULE); for other kinds use the runtime address itself. */
static inline uint64_t map_ip_to_off(const struct map *m, uint64_t ip)
{
	return ip - m->start + m->pgoff;
}

/* One version of the maps of one process, immutable once a sample refers to it. Opaque. */
struct address_space;

/* The map that contains ip, or NULL. Safe from any thread while the batch is held. */
const struct map *address_space_find(const struct address_space *as, uint64_t ip);
/* A number, never 0, that identifies one layout of one process. It changes whenever an existing map
 * is replaced, cut or removed (exec, overlap, munmap), but not when maps are added in free space:
 * so a successful lookup stays valid under the same layout id. */
uint64_t address_space_layout(const struct address_space *as);
size_t address_space_count(const struct address_space *as);
/* The i-th map, by rising address. */
const struct map *address_space_at(const struct address_space *as, size_t i);
/* The end (high address) of the stack of the process's first thread; 0: not recorded. */
uint64_t address_space_stack_end(const struct address_space *as);
/* The jitdump file of the process (jit-PID.dump), in which its JIT compiler describes the code it
 * made. JIT compilers map this file so that recorders see it. NULL: none was mapped so far. */
const struct dso *address_space_jitdump(const struct address_space *as);
/* Is this the name of a jitdump file? Sets *pid to the PID in it. */
bool jitdump_pid(const char *path, uint32_t *pid);

/* ---- events ------------------------------------------------------------------------------ */

/* The fields of perf_event_attr that are used here, in native byte order. `flags` has the bits as a
 * little-endian perf_event.h lays them out (bit 0 = disabled ...). Fields that the writer's attr
 * was too small to hold are 0. */
struct perf_attr {
	uint32_t type, size;
	uint64_t config, config1, config2;
	uint64_t sample_period; /* or frequency in Hz when PERF_ATTR_FREQ is set */
	uint64_t sample_type, read_format;
	uint64_t flags;
	uint32_t wakeup; /* wakeup_events or wakeup_watermark */
	uint32_t bp_type;
	uint64_t branch_sample_type;
	uint64_t sample_regs_user, sample_regs_intr;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint32_t aux_watermark, aux_sample_size;
	uint16_t sample_max_stack;
	uint64_t sig_data;
};

/* Bits of perf_attr.flags (perf_event.h, struct perf_event_attr bit field). */
#define PERF_ATTR_INHERIT		 (1ull << 1)
#define PERF_ATTR_EXCLUDE_USER		 (1ull << 4)
#define PERF_ATTR_EXCLUDE_KERNEL	 (1ull << 5)
#define PERF_ATTR_FREQ			 (1ull << 10)
#define PERF_ATTR_ENABLE_ON_EXEC	 (1ull << 12)
#define PERF_ATTR_SAMPLE_ID_ALL		 (1ull << 18)
#define PERF_ATTR_EXCLUDE_CALLCHAIN_USER (1ull << 22)
#define PERF_ATTR_USE_CLOCKID		 (1ull << 25)
#define PERF_ATTR_WRITE_BACKWARD	 (1ull << 27)
#define PERF_ATTR_BUILD_ID		 (1ull << 34)

struct perf_event {
	uint32_t index;	  /* dense, from 0, in file order */
	const char *name; /* from EVENT_DESC / EVENT_UPDATE, else made from type and config */
	struct perf_attr attr;
	const uint64_t *ids;
	size_t n_ids;
	bool is_ns; /* periods are nanoseconds that were made of other records */
	/* Of capture --alloc: periods are objects or bytes ("count", "bytes") that one sample of
	 * another event stands for; NULL: no such event. */
	const char *heap_unit;
	uint8_t heap; /* enum perf_heap_part */
};

/* ---- allocations of memory --------------------------------------------------------------- */

/* The events that capture --alloc records. All but the first say what happened, each time; of the
 * first are those entries that have a stack. */
enum perf_heap_part {
	PERF_HEAP_NONE,
	PERF_HEAP_STACK,
	PERF_HEAP_ENTRY,
	PERF_HEAP_RETURN,
	PERF_HEAP_FREE,
	PERF_HEAP_STORED,
};

/* The events that they are delivered as, with the names of pprof. */
enum perf_heap_value {
	PERF_HEAP_ALLOC_OBJECTS,
	PERF_HEAP_ALLOC_SPACE,
	PERF_HEAP_INUSE_OBJECTS,
	PERF_HEAP_INUSE_SPACE,
	PERF_HEAP_VALUES,
};

struct perf_sample;

/* What one of these samples says. */
struct perf_heap_call {
	uint64_t function;	   /* its address */
	uint64_t size, n, old, sp; /* STACK, ENTRY: n objects of this size; realloc's pointer */
	uint64_t ra;		   /* and where it returns to */
	uint64_t where;		   /* that it stores the pointer at; 0: it returns it */
	uint64_t pointer;	   /* RETURN, FREE; STORED: 0 or an error */
	const uint8_t *words;	   /* STORED: of the stack, from sp on */
};
/* False if it is none of these, or too short. */
bool perf_heap_call(const struct perf_sample *s, struct perf_heap_call *ret);
/* The pointer that is at this address, by a STORED one; 0: that has not recorded it. */
uint64_t perf_heap_stored(const struct perf_heap_call *stored, uint64_t where);

/* What a sample of PERF_HEAP_STACK stands for. */
struct perf_heap_weight {
	uint64_t file_off; /* of the sample */
	uint64_t values[PERF_HEAP_VALUES];
};

/* What stands for no sample, of a process. */
struct perf_heap_rest {
	uint32_t pid;
	uint64_t time_ns;
	uint64_t values[PERF_HEAP_VALUES];
};

/* ---- samples ----------------------------------------------------------------------------- */

/* Context markers inside call chains (PERF_CONTEXT_* of perf_event.h) are the values from here up.
 */
#define PERF_CHAIN_CONTEXT_MAX ((uint64_t)-4095)
#define PERF_CHAIN_KERNEL      ((uint64_t)-128)
#define PERF_CHAIN_USER	       ((uint64_t)-512)

enum perf_cpumode {
	PERF_CPUMODE_UNKNOWN,
	PERF_CPUMODE_KERNEL,
	PERF_CPUMODE_USER,
	PERF_CPUMODE_HYPERVISOR,
	PERF_CPUMODE_GUEST_KERNEL,
	PERF_CPUMODE_GUEST_USER,
};

enum { PERF_REGS_ABI_NONE_, PERF_REGS_ABI_32_, PERF_REGS_ABI_64_ };

/* Registers with the kernel's numbering (asm/perf_regs.h): regs[i] is the register of the i-th set
 * bit of mask. */
struct perf_regs {
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_*: 0 none, 1 32-bit task, 2 64-bit task */
	uint64_t mask;
	const uint64_t *regs;
};

/* The value of register `bit`; false when it was not recorded. */
static inline bool perf_regs_get(const struct perf_regs *r, unsigned bit, uint64_t *ret)
{
	if (!r->abi || bit > 63 || !(r->mask >> bit & 1))
		return false;
	*ret = r->regs[__builtin_popcountll(r->mask & ((1ull << bit) - 1))];
	return true;
}

struct perf_branch {
	uint64_t from, to, flags;
};

/* Fields that few recordings have. Each is 0 unless the event records it. */
struct perf_sample_extra {
	uint64_t addr, stream_id;
	uint64_t weight, data_src, transaction, phys_addr, cgroup;
	uint64_t data_page_size, code_page_size;
	struct perf_regs intr_regs;
	size_t n_branches;
	const struct perf_branch *branches;
	size_t raw_size;
	const uint8_t *raw;
};

/* One sample. Its pointers are valid until the batch is released. Fields whose bit is missing in
 * event->attr.sample_type are 0 (cpu: UINT32_MAX). Arrays are in native byte order and aligned. */
struct perf_sample {
	uint64_t ip;
	uint64_t time_ns; /* in the recording's clock */
	uint64_t id;
	uint64_t period; /* the event's fixed period when the sample has none */
	uint32_t pid, tid, cpu;
	uint16_t misc;	    /* of the record header */
	uint8_t cpumode;    /* enum perf_cpumode */
	bool has_callchain; /* the event records chains, even if this one is empty */
	uint32_t n_ips;
	/* Callers in the user part come from branch records: they are addresses of calls, not
	 * return addresses. */
	bool chain_is_lbr;
	/* All callers are addresses of calls, not return addresses (simpleperf). */
	bool chain_is_calls;
	/* It was taken in exec: chain and registers have no user part, which was of a program whose
	 * maps were not recorded. */
	bool user_is_gone;
	const struct perf_event *event;	   /* never NULL */
	const struct address_space *space; /* the maps of pid at time_ns; never NULL */
	/* The maps of the kernel, its modules and BPF programs at time_ns; never NULL. For a sample
	 * in a virtual machine: those of the guest's kernel, or, for the guest's processes, one map
	 * "[guest]", because nothing is known about them. */
	const struct address_space *kernel;
	/* The command name of tid at time_ns; ":TID" if no record has it; valid until close. */
	const char *comm;
	/* The path of its cgroup ("cgroup-25" if no record names that), equal paths by the same
	 * pointer; valid until close. NULL: not recorded. */
	const char *cgroup;
	/* Of a wait (perf_file_options.off_cpu): "sleeping", "uninterruptible" .., of a clock that
	 * is one event with waits "running"; of capture --stacks, which of them the thread was in
	 * ("running", or could run). Equal states by the same pointer. NULL: not known, or no wait.
	 */
	const char *state;
	/* The thread gave up its processor for that long; period counts waits of others, too, that
	 * this one stands for. 0 of a wait: time_ns is the end of several. */
	uint64_t wait_ns;
	bool is_wait;
	/* What the address that was accessed lies in: "[heap]", "[stack]", "[anon]", "[kernel]" or
	 * the path of a file; equal ones by the same pointer; valid until close. NULL: not known,
	 * or no address was recorded. */
	const char *data;
	/* Of the event "waker": the command of the thread that it woke; as long as comm. Else NULL.
	 */
	const char *wakes;
	const uint64_t *ips; /* call chain as recorded, leaf first, context markers included */
	struct perf_regs user_regs;
	const uint8_t *user_stack; /* copy of memory from the user stack pointer up */
	uint32_t user_stack_bytes; /* valid bytes (dyn_size) */
	/* Size of the copy that was asked for; if valid == asked the copy may be cut. */
	uint32_t user_stack_asked;
	const struct perf_sample_extra *extra; /* never NULL */
	uint64_t file_off; /* offset of the record in the (decompressed) data, for messages */
	uint64_t seq;	   /* number of the sample in delivery order, from 0 */
};

/* ---- the file ---------------------------------------------------------------------------- */

struct perf_file; /* opaque */

/* What a mapping shows of a file: from offset `off` on. As recorded; maj, min and ino are 0 if
 * unknown. */
struct map_source {
	const char *path;
	uint32_t pid; /* the process that mapped it */
	uint32_t maj, min;
	uint64_t ino, off;
};

/* A file inside of another one: the bytes [start, start + size) of that. */
struct map_part {
	const char *path; /* by which it is known: "base.apk!/lib/libx.so" */
	uint64_t start, size;
};

struct perf_file_options {
	/* Memory in bytes for reordering, before data is read twice or written to a temporary
	 * file; 0: 48 MiB. */
	size_t window_bytes;
	/* Map plain files instead of reading them: parts of stack copies that are never used are
	 * then not copied. If the file is changed meanwhile, the reader sees the changed bytes; if
	 * it is truncated, access raises SIGBUS, so the caller must have called
	 * pages_survive_cuts() before. */
	bool map;
	/* The caller will not call perf_file_ahead(), so that with `map` the reader takes all page
	 * faults itself: map only files that have large pages in the page cache. */
	bool alone;
	/* As root, refuse files of others. */
	bool only_trusted;
	/* For perf_file_trace_text(). */
	bool trace_fields;
	/* Samples of sched:sched_switch stand for the time that the thread does not run then, by
	 * the context switches that were recorded, as the event "off-cpu", and "runnable" where it
	 * could run. Samples of an event "off-cpu" always do. Those of sched:sched_waking stand
	 * for the waits that they end, as the event "waker". */
	bool off_cpu;
	/* These, and the samples of clocks, are one event "wall". */
	bool wall;
	/* Waits that are shorter are left out. */
	uint64_t off_cpu_least_ns;
	/* Samples of allocations are delivered as they were recorded, for perf_heap_call(). */
	bool heap_calls;
	/* When *stop becomes nonzero (in a signal handler), perf_file_read() comes to its end soon:
	 * it reads no more of a file; of a pipe it reads what the writer, who may have got
	 * the same signal, still sends, for some seconds at most. NULL: never stops. */
	const volatile int *stop;
	/* Is the file that was mapped as code an archive that holds the code as a file of its own?
	 * Then that is the dso. The path must stay valid until the next call, which may come from
	 * any thread that reads. NULL: no file is. */
	bool (*part_of)(void *arg, const struct map_source *src, struct map_part *ret);
	void *part_of_arg;
};

struct perf_thread {
	uint32_t pid, tid;
};

struct perf_batch {
	/* In time order, also across batches. Exception: a sample whose user chain was recorded
	 * later (Linux 6.19) is delivered when that chain is read, and one of a context switch when
	 * the thread has run again. */
	struct perf_sample *samples;
	size_t n; /* > 0 */
	/* Threads of samples in this or earlier batches that have ended since the last batch. The
	 * caller can drop what it remembers of their stacks: only the few samples that the kernel
	 * took while they exited can follow. */
	const struct perf_thread *ended;
	size_t n_ended;
};

/* Opens a file, a directory of `perf record --threads`, or standard input ("-"). The form (file,
 * pipe, compressed with gzip, xz or zstd) is recognised by content. Returns 0, or negative with
 * *err. */
int perf_file_open(struct perf_file **ret, const char *path, const struct perf_file_options *opt,
		   struct err *err);
/* Returns 1 and a batch, 0 at the end, or negative with *err after an error that stops reading
 * (memory, I/O). Damage in the data is not such an error: it is counted in the stats and noted. The
 * caller may hold at most 8 batches. */
int perf_file_read(struct perf_file *f, struct perf_batch **ret, struct err *err);
void perf_batch_release(struct perf_file *f, struct perf_batch *b);
/* Hands out the next piece of a mapped file that perf_file_read() will need soon; each piece once.
 * Another thread can take its page faults with pages_touch(), which saves the reader's time. False:
 * nothing to do now. May be called, and the piece touched, from any thread until close. */
bool perf_file_ahead(struct perf_file *f, const void **p, size_t *n);
/* NULL is allowed. */
void perf_file_close(struct perf_file *f);

size_t perf_file_event_count(const struct perf_file *f);
const struct perf_event *perf_file_event(const struct perf_file *f, size_t i);
size_t perf_file_dso_count(const struct perf_file *f);
const struct dso *perf_file_dso(const struct perf_file *f, size_t i);
/* The maps that are valid until close, ordered by id: those of the kernel, its modules and BPF
 * programs; in recordings by simpleperf that have symbols for single maps, all maps. */
size_t perf_file_map_count(const struct perf_file *f);
const struct map *perf_file_map(const struct perf_file *f, size_t i);
/* The recorded end of the kernel's own map, which is _etext. (In an address space that map reaches
 * up to the first module.) 0: unknown. */
uint64_t perf_file_kernel_end(const struct perf_file *f);

/* The header's description of the recorded machine; NULL or 0 if absent. */
struct perf_file_info {
	const char *path;
	const char *hostname, *os_release, *version, *arch, *cpu_desc, *cpu_id;
	const char *const *cmdline; /* argv of the recorder */
	size_t n_cmdline;
	uint32_t cpus_available, cpus_online;
	uint64_t total_mem_bytes;
	uint64_t first_sample_ns, last_sample_ns; /* feature SAMPLE_TIME; 0 if absent */
	uint64_t end_ns; /* when recording ended, by the clock of samples; 0: not known */
	/* What the first event's counters counted, in units of its periods, and what its samples
	 * stand for; 0: not known. The rest is of threads that ended before their first period had
	 * passed, or of time that a hypervisor took. */
	uint64_t counted, sampled;
	bool hypervisor_took;
	/* Feature CLOCK_DATA: one moment in wall clock time and in the clock of the samples. */
	uint64_t clock_wall_ns, clock_ref_ns;
	/* Modification time of the recording itself; 0 for standard input. */
	uint64_t file_mtime_ns;
	bool is_pipe, is_big_endian, is_simpleperf, is_compressed;
};
const struct perf_file_info *perf_file_info(const struct perf_file *f);

/* A wall-clock time, ns, before which the program of a DSO_ANON's process had not begun: a perf map
 * that was last written before is of an earlier process with this number, or of what this one ran
 * before. 0: not known. */
uint64_t perf_file_began_wall_ns(const struct perf_file *f, const struct dso *dso);

/* A thread that ended, or a process that became another program, in time order; with trace_fields,
 * valid until the next read. */
struct perf_task_end {
	uint64_t time_ns;
	uint32_t pid, tid; /* is_exec: tid is 0, it is all threads */
	bool is_exec;
};
size_t perf_file_task_ends(const struct perf_file *f, const struct perf_task_end **ret);

/* The feature section of bundle/. */
#define FEATURE_BUNDLE 200

/* The raw bytes of a header feature section (bits >= 200 are capture's own); NULL if absent. Valid
 * until close; of pipes, whose records can replace a section, only until the next read. */
const uint8_t *perf_file_feature(const struct perf_file *f, unsigned bit, size_t *size);

/* The code that capture wrote while it recorded, as a section: u32 magic, u32 version; then for
 * each zstd frame u32 pid, u32 flags (0), u64 bytes of the jitdump in it, u64 bytes of the frame,
 * and these. *ret is NULL if there is none, or if the recording is a stream that cannot be read
 * twice. Valid until close. Returns 0, or -ERR_NOMEM with *err. */
enum { RUNTIME_CODE_MAGIC = 0x43525355 /* "USRC" */, RUNTIME_CODE_VERSION = 1 };
int perf_file_recorded_code(struct perf_file *f, const uint8_t **ret, size_t *size,
			    struct err *err);

/* Appends the fields of a tracepoint's sample as text, cleaned, by the tracepoint's print format,
 * as perf script prints them. Returns false if the recording does not describe the tracepoint. Only
 * for files opened with trace_fields, while the sample's batch is held, from one thread at a time;
 * for tracepoints not while another thread is in perf_file_read(). */
struct text;
bool perf_file_trace_text(const struct perf_file *f, const struct perf_sample *s, struct text *out);

/* The address of the function that has returned, of a return probe's sample (uretprobe, perf
 * probe's FUNCTION%return), whose own address is the caller's. 0: it is of none. Any thread may ask
 * while the sample's batch is held. */
uint64_t perf_file_returned_from(const struct perf_file *f, const struct perf_sample *s);

/* Names kernel functions in this text (%pS of print formats): returns the name of the function at
 * ip, valid until the next call, and sets *start to the function's address, which is at most ip.
 * Returns NULL if there is no name, or when out of memory; the address is then printed as a number.
 * Called only by perf_file_trace_text(), in its thread and before it returns, so that it may use
 * all functions that are allowed between reads. `kernel` is the sample's and lives as long as its
 * batch is held; arg must live as long as it is set. */
typedef const char *perf_function_namer(void *arg, const struct address_space *kernel, uint64_t ip,
					uint64_t *start);
/* Sets the namer for later calls; NULL: functions are not named. Call it in the thread of
 * perf_file_trace_text(). */
void perf_file_name_functions(struct perf_file *f, perf_function_namer *namer, void *arg);

/* ---- symbols that came with the recording ------------------------------------------------- */

/* Symbols that simpleperf (Android) stores for the addresses of its samples. */
struct perf_symbol {
	uint64_t start, len; /* len > 0 */
	const char *name;    /* as in the file, mangled; not empty */
};

/* What the address of a symbol counts from. */
enum perf_symbol_base {
	PERF_SYMBOLS_BY_IP,  /* runtime address */
	PERF_SYMBOLS_BY_OFF, /* file offset (map_ip_to_off()) + delta */
	PERF_SYMBOLS_BY_MAP, /* distance from the start of the map + delta */
};

struct perf_symbol_file {
	const char *path;
	enum perf_symbol_base base;
	uint64_t delta; /* may stand for a negative number */
	const struct perf_symbol *symbols;
	size_t n;
	const struct perf_symbol_file *next; /* the next file of the same path; NULL: none */
};

/* The symbols of a dso; NULL: none. Complete when perf_file_read() has returned 0; valid until
 * close. */
const struct perf_symbol_file *perf_file_symbols(const struct perf_file *f, const struct dso *dso);
/* The recorded machine's /proc/kallsyms, *size bytes without a NUL at the end; NULL if the
 * recording has none. Complete when perf_file_read() has returned 0; valid until close. */
const char *perf_file_kallsyms(const struct perf_file *f, size_t *size);

/* ---- the header in words ------------------------------------------------------------------ */

/* Calls say() for each line (without newline) of what `perf report --header-only` prints. Of a
 * pipe: the features that have been read so far. */
void perf_file_header(const struct perf_file *f, void (*say)(void *arg, const char *line),
		      void *arg);

/* ---- accounting -------------------------------------------------------------------------- */

/* Reasons why records were not used. X(name, "text for users"). */
#define PERF_SKIPS(X)                                                    \
	X(UNKNOWN_TYPE, "record type unknown")                           \
	X(TOO_SHORT, "record shorter than its type needs")               \
	X(TOO_LONG, "record longer than its type is")                    \
	X(BAD_COUNT, "count or size field larger than the record")       \
	X(BAD_STRING, "string without end")                              \
	X(LEFTOVER, "bytes left over after the sample's last field")     \
	X(UNKNOWN_EVENT, "sample of an unknown event id")                \
	X(UNKNOWN_FIELD, "sample has fields this version does not know") \
	X(COMPRESSION, "compressed data is damaged")

#define X(name, text) PERF_SKIP_##name,
enum perf_skip { PERF_SKIPS(X) PERF_SKIP_N };
#undef X

/* Sums over all threads of which context switches were recorded and weighed; all 0: there are none.
 * wall = on + off + ready + unknown. */
struct perf_switch_times {
	uint64_t records, threads;
	uint64_t wall_ns;
	uint64_t on_ns, off_ns; /* on a processor; waiting, for something else than one */
	uint64_t ready_ns;	/* preempted: it could run */
	uint64_t unknown_ns;	/* records were lost */
	uint64_t carried_ns;	/* of off and ready: waits without a stack of their own */
	uint64_t bare_ns;	/* of off: nor of a wait that was about as long */
	uint64_t early_ns;	/* of off: waits that began before the recording, when no stack was
				   recorded */
	uint64_t woken_ns;	/* of off: ended by a thread whose stack was recorded */
	uint64_t unwoken_ns;	/* of off, if who ends waits was recorded: by none of these */
};

/* Has it allocations? Known once it is open, except of pipes. */
bool perf_file_has_heap(const struct perf_file *f);
/* What samples of allocations stand for, by rising file_off, and what no sample does. Without, each
 * stands for as many as its period says, and what is in use is not known. Both arrays must live
 * until the file is closed. */
void perf_file_set_heap(struct perf_file *f, const struct perf_heap_weight *weights, size_t n,
			const struct perf_heap_rest *rest, size_t n_rest);

struct perf_file_stats {
	uint64_t records; /* all records seen */
	/* The SAMPLE records among them; with groups one record can be several samples. */
	uint64_t sample_records;
	uint64_t samples;	  /* delivered */
	uint64_t period_sum;	  /* over delivered samples */
	uint64_t skipped_samples; /* SAMPLE records that were not delivered, for any reason */
	uint64_t skips[PERF_SKIP_N];
	/* Recordings that have both (perf >= 6.1) count the same losses in both: use perf_lost().
	 */
	uint64_t lost_records; /* by PERF_RECORD_LOST */
	uint64_t lost_samples; /* by PERF_RECORD_LOST_SAMPLES */
	/* Of these, what was taken, but could not be written: a full disk. */
	uint64_t unwritten_samples;
	uint64_t lost_bytes; /* unreadable tail or holes in the data */
	uint64_t throttled;
	/* Descriptions of tracepoints that are not used: their fields have no text. */
	uint64_t tracepoints_lost;
	bool no_traceevent; /* because libtraceevent is not installed */
	struct perf_switch_times switches;
	bool interrupted; /* the recorder was killed before it finished the header */
	bool truncated;	  /* the file ends before its data does */
	bool damaged;	  /* something could not be read: exit status 1 */
};
/* The number of samples lost while recording, as far as the recording tells. */
static inline uint64_t perf_lost(const struct perf_file_stats *s)
{
	return s->lost_samples > s->lost_records ? s->lost_samples : s->lost_records;
}
const struct perf_file_stats *perf_file_stats(const struct perf_file *f);
const char *perf_skip_text(enum perf_skip s);

/* One-line messages for users, without newline, about oddities of the file; one of each kind.
 * Complete when perf_file_read() has returned 0. */
size_t perf_file_note_count(const struct perf_file *f);
const char *perf_file_note(const struct perf_file *f, size_t i);

#endif
