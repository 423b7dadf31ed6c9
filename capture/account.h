/* account.h - private: exact numbers of lost samples, read from the counters. */
#ifndef CAPTURE_ACCOUNT_H
#define CAPTURE_ACCOUNT_H

#include "capture/drain.h"

/* perf_event.h: PERF_RECORD_LOST_SAMPLES, with our sample_id trailer. */
struct lost_samples {
	struct perf_event_header header;
	uint64_t lost;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

/* Reads every counter: sets lost, lost_sideband and period_total, and appends
 * PERF_RECORD_LOST_SAMPLES with the exact numbers. PERF_RECORD_LOST alone is not enough: losses
 * after the last record that fitted are never reported by it. Kernels before 6.0 have nothing
 * better. */
int account_losses(struct drain *d, struct err *err);
/* What the counters of the first event counted, and what its samples stand for. */
struct account_counted {
	uint64_t counted, sampled; /* in units of its periods */
	bool hypervisor_took;	   /* a hypervisor is why that is less, not short-lived threads */
};
/* After account_losses(). Returns false where the two cannot be compared, or are too small. */
bool account_counted(const struct drain *d, struct account_counted *ret);
/* What the samples have lost until now. */
uint64_t account_lost_now(const struct drain *d);
/* Makes the record that reports `lost` samples of a counter. */
void account_lost_record(const struct drain *d, const struct counter *c, uint64_t lost,
			 struct lost_samples *ret);

#endif
