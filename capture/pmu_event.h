/* pmu_event.h - private: events by the terms of a PMU, "cpu/event=0x3c,umask=1/u", as its folder in
 * /sys/bus/event_source/devices explains them (Documentation/ABI/testing/
 * sysfs-bus-event_source-devices-format and -events in the kernel's tree). */
#ifndef CAPTURE_PMU_EVENT_H
#define CAPTURE_PMU_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/event.h"

/* The folder of all PMUs. */
#define PMU_DEVICES "/sys/bus/event_source/devices"

/* The length of "PMU/TERMS/MODIFIERS", or "EVENT/TERMS/MODIFIERS", at the start of a list; 0 if it
 * begins with something else. */
size_t pmu_event_length(const char *list);

/* Sets all but the modifiers, which are left in *mods[0..*n_mods). spec[0..len) has such a
 * length. */
int pmu_event_parse(struct event *e, const char *spec, size_t len, const char **mods,
		    size_t *n_mods, struct err *err);

/* Puts a value into the bits that the text of a file format/TERM names, as "config:0-7,32-35": the
 * lowest bits of the value into the first range. configs are config, config1, config2. Returns 0;
 * -1 if the text means nothing known, 1 if the value has more bits than there are. */
int pmu_place_bits(const char *format, uint64_t value, uint64_t configs[3]);

#endif
