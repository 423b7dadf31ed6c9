/* account.h - private: what was lost, from the counters themselves. */
#ifndef CAPTURE_ACCOUNT_H
#define CAPTURE_ACCOUNT_H

#include "capture/drain.h"

/* Reads every counter: fills lost, lost_sideband and period_total, and appends
 * PERF_RECORD_LOST_SAMPLES with the exact numbers. PERF_RECORD_LOST alone is not enough: what is
 * lost after the last record that fitted is never told by it. Kernels before 6.0 have nothing
 * better. */
int account_losses(struct drain *d, struct err *err);

#endif
