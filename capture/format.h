/* format.h - private: the numbers of perf.data that the kernel's headers do not have.
 * Law: tools/perf/Documentation/perf.data-file-format.txt. */
#ifndef CAPTURE_FORMAT_H
#define CAPTURE_FORMAT_H

#include <linux/perf_event.h>
#include <stdint.h>

/* Record types of user space. */
enum {
	RECORD_FINISHED_ROUND = 68,
	RECORD_HEADER_FEATURE = 80,
	RECORD_COMPRESSED = 81,
};

/* Bits of misc that perf itself sets in records it makes up. */
#define MISC_FORK_EXEC (1u << 13) /* FORK: the child does not begin with its parent's maps */

#define PERFDATA_MAGIC "PERFILE2"

struct perfdata_section {
	uint64_t offset, size;
};

struct perfdata_header {
	char magic[8];
	uint64_t size, attr_size;
	struct perfdata_section attrs, data, event_types;
	uint64_t features[4]; /* a bit per feature section, which stand behind the data */
};

_Static_assert(sizeof(struct perfdata_header) == 104, "as on disk");

enum perfdata_feature {
	FEATURE_TRACING_DATA = 1,
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
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
};

#define COMPRESSED_ZSTD 1

#endif
