/* format.h - the constants of perf.data that the kernel's header does not define.
 *
 * Sources of truth: include/uapi/linux/perf_event.h for records below 64; for the container and the
 * records of user space tools/perf/Documentation/perf.data-file-format.txt and
 * tools/lib/perf/include/perf/event.h. */
#ifndef READER_FORMAT_H
#define READER_FORMAT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/nonstring.h"
#include "reader/event_kind.h"
#include "reader/growth_event.h"
#include "reader/heap_event.h"
#include "reader/packed_switches.h"
#include "reader/recorded_code.h"
#include "reader/stacks_event.h"
#include "reader/switch_marks.h"

/* The first eight bytes, as text. A writer of the other byte order leaves them reversed. */
#define PERFDATA_MAGIC	  "PERFILE2"
#define PERFDATA_MAGIC_V1 "PERFFILE"

struct perfdata_section {
	uint64_t offset, size;
};

/* Both headers begin with magic and size, and are distinguished by the size. */
struct perfdata_pipe_header {
	char magic[8] NONSTRING;
	uint64_t size;
};

struct perfdata_header {
	char magic[8] NONSTRING;
	uint64_t size, attr_size;
	struct perfdata_section attrs, data, event_types;
	uint64_t features[4]; /* a bit per feature section; their table stands behind the data */
};

/* What capture knows at the start: between the attributes and the data, as perf looks at neither
 * side of them, come these bits, their table and their sections, as the finished file has them
 * behind its data. */
#define PERFDATA_EARLY_MAGIC "EARLYFEA"

struct perfdata_early {
	char magic[8] NONSTRING;
	uint64_t features[4];
};

_Static_assert(sizeof(struct perfdata_pipe_header) == 16, "as on disk");
_Static_assert(sizeof(struct perfdata_early) == 40, "as on disk");
_Static_assert(sizeof(struct perfdata_header) == 104, "as on disk");

/* Record types of the kernel that older headers lack. */
enum { RECORD_CALLCHAIN_DEFERRED = 22, RECORD_KERNEL_END = 23 };

/* Record types of user space. */
enum {
	RECORD_HEADER_ATTR = 64,
	RECORD_EVENT_TYPE = 65,
	RECORD_TRACING_DATA = 66,
	RECORD_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE_INFO = 70,
	RECORD_AUXTRACE = 71,
	RECORD_AUXTRACE_ERROR = 72,
	RECORD_THREAD_MAP = 73,
	RECORD_CPU_MAP = 74,
	RECORD_STAT_CONFIG = 75,
	RECORD_STAT = 76,
	RECORD_STAT_ROUND = 77,
	RECORD_EVENT_UPDATE = 78,
	RECORD_TIME_CONV = 79,
	RECORD_HEADER_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_FINISHED_INIT = 82,
	RECORD_COMPRESSED2 = 83,
	RECORD_BPF_METADATA = 84,
	RECORD_SCHEDSTAT_CPU = 85,
	RECORD_SCHEDSTAT_DOMAIN = 86,
	RECORD_USER_END = 87,
	/* simpleperf (Android) has its own types from here on. */
	RECORD_SIMPLEPERF = 32768,
	RECORD_SIMPLEPERF_KERNEL_SYMBOL = 32769,
	RECORD_SIMPLEPERF_DSO = 32770,
	RECORD_SIMPLEPERF_SYMBOL = 32771,
	RECORD_SIMPLEPERF_SPLIT = 32772,
	RECORD_SIMPLEPERF_SPLIT_END = 32773,
	RECORD_SIMPLEPERF_EVENT_ID = 32774,
	RECORD_SIMPLEPERF_CALLCHAIN = 32775,
	RECORD_SIMPLEPERF_UNWINDING_RESULT = 32776,
	RECORD_SIMPLEPERF_TRACING_DATA = 32777,
	RECORD_SIMPLEPERF_DEBUG = 32778,
	RECORD_SIMPLEPERF_END = 32779,
};

/* Bits of perf_event_header.misc that perf itself sets or that older headers lack. */
#define MISC_FORK_EXEC	   (1u << 13) /* FORK: made up; its maps follow as MMAPs */
#define MISC_BUILD_ID_SIZE (1u << 15) /* BUILD_ID: byte 20 of the id field is its size */

#define SAMPLE_KNOWN_BITS   ((1ull << 25) - 1)
#define BRANCH_HW_INDEX	    (1ull << 17)
#define BRANCH_CALL_STACK   (1ull << 11)
#define BRANCH_COUNTERS	    (1ull << 19)
#define CHAIN_USER_DEFERRED ((uint64_t)-640) /* the next word is a cookie, no address */
#define READ_FORMAT_LOST    (1u << 4)
#define EVENT_UPDATE_NAME   2
#define COMPRESSED_ZSTD	    1

enum perfdata_feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_PMU_MAPPINGS = 16,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_DIR_FORMAT = 24,
	FEATURE_BPF_BTF = 26,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_SIMPLEPERF_FILE = 128,
	FEATURE_SIMPLEPERF_META_INFO = 129,
	FEATURE_SIMPLEPERF_DEBUG_UNWIND = 130,
	FEATURE_SIMPLEPERF_DEBUG_UNWIND_FILE = 131,
	FEATURE_SIMPLEPERF_FILE2 = 132,
	FEATURE_SIMPLEPERF_ETM_BRANCH_LIST = 133,
	FEATURE_SIMPLEPERF_INIT_MAP = 134,
	/* Of capture; perf ignores them. 200-207: what a recording carries of its machine. */
	FEATURE_RUNTIME_CODE = 208, /* functions.h, jit_codes_give() */
	FEATURE_END_TIME = 209,	    /* u64: when recording ended, by the clock of samples */
	/* u64: what the counters of the first event counted; what its samples stand for; 1 if a
	 * hypervisor is why that is less, 0 if short-lived threads are. */
	FEATURE_COUNTED = 210,
	FEATURE_N = 256,
};

/* One that the kernel counts itself, as page faults. Kernels (6.18) fill in the fields of a sample
 * once for all recordings that count such an event, and reserve room for what those of all take:
 * the second has the first one's id, and its time by whatever clock the first has, and is longer
 * than its fields. */
static inline bool event_is_shared(uint32_t type, uint64_t config)
{
	return type == PERF_TYPE_SOFTWARE && !event_is_clock(type, config) &&
	       config != PERF_COUNT_SW_DUMMY;
}

#endif
