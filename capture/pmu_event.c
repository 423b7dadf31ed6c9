/* pmu_event.c - events by the terms of a PMU. */
#include "capture/pmu_event.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/sysfile.h"

struct term {
	const char *key, *value; /* value: NULL if there is none */
	size_t key_len, value_len;
};

struct pmu {
	const char *spec; /* for messages */
	int spec_len;
	const char *name; /* of the PMU or event */
	int name_len;
	bool is_event; /* "cpu-clock/freq=99/" */
	uint32_t type;
	uint64_t configs[3];
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

size_t pmu_event_length(const char *list)
{
	const char *end, *s = list;

	if (*s == '.')
		return 0;
	while (is_word(*s))
		s++;
	end = s > list && *s == '/' ? strchr(s + 1, '/') : NULL;
	return end ? (size_t)(end - list) + strcspn(end, ",{}") : 0;
}

/* ---- bits ----------------------------------------------------------------------------------- */

/* The next range of "0-7,32-35", which is behind. */
static bool next_range(const char **at, unsigned *from, unsigned *to)
{
	char *end;

	*from = *to = (unsigned)strtoul(*at, &end, 10);
	if (end == *at)
		return false;
	if (*end == '-') {
		*at = end + 1;
		*to = (unsigned)strtoul(*at, &end, 10);
		if (end == *at)
			return false;
	}
	*at = *end == ',' ? end + 1 : end;
	return *from <= *to && *to < 64 && (!*end || *end == ',' || *end == '\n');
}

int pmu_place_bits(const char *format, uint64_t value, uint64_t configs[3])
{
	static const char config[] = "config";
	const char *at = format + sizeof config - 1;
	unsigned which = 0, from, to;

	if (!str_starts_with(format, config))
		return -1;
	if (*at == '1' || *at == '2')
		which = (unsigned)(*at++ - '0');
	if (*at++ != ':')
		return -1;
	do {
		if (!next_range(&at, &from, &to))
			return -1;
		for (unsigned bit = from; bit <= to; bit++, value >>= 1)
			configs[which] = (configs[which] & ~(1ull << bit)) | (value & 1) << bit;
	} while (*at && *at != '\n');
	return value != 0;
}

/* ---- terms ---------------------------------------------------------------------------------- */

static int number(const struct pmu *p, const struct term *t, uint64_t *ret, struct err *err)
{
	char text[24], *end;

	*ret = 1;
	if (!t->value)
		return 0;
	if (t->value_len && t->value_len < sizeof text && isdigit((unsigned char)*t->value)) {
		snprintf(text, sizeof text, "%.*s", (int)t->value_len, t->value);
		*ret = strtoull(text, &end, 0);
		if (!*end)
			return 0;
	}
	return err_set(err, ERR_USAGE, NULL, "event '%.*s': %.*s=%.*s is no number", p->spec_len,
		       p->spec, (int)t->key_len, t->key, (int)t->value_len, t->value);
}

static bool key_is(const struct term *t, const char *name)
{
	return strlen(name) == t->key_len && !memcmp(name, t->key, t->key_len);
}

static bool is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]))
			return false;
	return n;
}

/* What each event takes. Returns 1 if it is none of these. */
static int general_term(struct pmu *p, struct event *e, const struct term *t, struct err *err)
{
	static const char *const configs[] = {"config", "config1", "config2"};
	uint64_t value;
	int rc;

	if (t->value && key_is(t, "name")) {
		if (!is_name(t->value, t->value_len) || t->value_len >= sizeof e->name)
			return err_set(err, ERR_USAGE, NULL,
				       "event '%.*s': a name has printable characters, without "
				       "spaces",
				       p->spec_len, p->spec);
		snprintf(e->name, sizeof e->name, "%.*s", (int)t->value_len, t->value);
		return 0;
	}
	if (t->value && key_is(t, "call-graph") && t->value_len == 2 &&
	    !memcmp(t->value, "no", 2)) {
		e->no_stack = true;
		return 0;
	}
	for (size_t i = 0; i < 3 && !p->is_event; i++)
		if (t->value && key_is(t, configs[i]))
			return number(p, t, &p->configs[i], err);
	if (!t->value || (!key_is(t, "period") && !key_is(t, "freq")))
		return 1;
	rc = number(p, t, &value, err);
	if (!rc && (!value || (key_is(t, "freq") && value > UINT32_MAX)))
		rc = err_set(err, ERR_USAGE, NULL, "event '%.*s': %.*s is at least 1", p->spec_len,
			     p->spec, (int)t->key_len, t->key);
	if (!rc && key_is(t, "period"))
		e->period = value;
	else if (!rc)
		e->frequency_hz = (unsigned)value;
	if (!rc && e->period && e->frequency_hz)
		rc = err_set(err, ERR_USAGE, NULL, "event '%.*s': freq= or period=, not both",
			     p->spec_len, p->spec);
	return rc;
}

/* A file format/TERM. Returns 1 if there is none. */
static int format_term(struct pmu *p, const struct term *t, struct err *err)
{
	char path[512], text[256];
	uint64_t value;
	int rc;

	snprintf(path, sizeof path, PMU_DEVICES "/%.*s/format/%.*s", p->name_len, p->name,
		 (int)t->key_len, t->key);
	if (sysfile_line(path, text, sizeof text))
		return 1;
	rc = number(p, t, &value, err);
	if (rc)
		return rc;
	switch (pmu_place_bits(text, value, p->configs)) {
	case 0:
		return 0;
	case 1:
		return err_set(err, ERR_USAGE, NULL, "event '%.*s': %.*s has room for less: %s",
			       p->spec_len, p->spec, (int)t->key_len, t->key, text);
	default:
		return err_set(err, ERR_UNSUPPORTED, path, "'%s' is not understood", text);
	}
}

/* "cpu/cycles/": perf_event.h, enum perf_type_id, has the PMU's type in the upper half. */
static bool general_name(struct pmu *p, const struct term *t)
{
	const bool is_core = p->name_len >= 3 && !memcmp(p->name, "cpu", 3);
	struct event named = {0};

	if (t->value || !event_find_name(&named, t->key, t->key_len))
		return false;
	if (named.type == PERF_TYPE_HARDWARE && is_core) {
		named.config |= p->name_len > 3 ? (uint64_t)p->type << PERF_PMU_TYPE_SHIFT : 0;
		p->type = PERF_TYPE_HARDWARE;
	} else if (named.type != p->type) {
		return false;
	}
	p->configs[0] = named.config;
	return true;
}

static int unknown_term(const struct pmu *p, const struct term *t, struct err *err)
{
	if (p->is_event)
		return err_set(err, ERR_USAGE, NULL,
			       "event '%.*s': '%.*s' is not known; freq=, period=, name= and "
			       "call-graph=no are",
			       p->spec_len, p->spec, (int)t->key_len, t->key);
	return err_set(
		err, ERR_USAGE, NULL,
		"event '%.*s': '%.*s' is neither in " PMU_DEVICES
		"/%.*s/events nor in its format; config=, config1=, config2=, freq=, period=, "
		"name= and call-graph=no are known for each PMU",
		p->spec_len, p->spec, (int)t->key_len, t->key, p->name_len, p->name);
}

static int terms(struct pmu *p, struct event *e, const char *s, size_t len, bool of_sysfs,
		 struct err *err);

/* A file events/TERM, which has terms of format. Returns 1 if there is none. */
static int event_term(struct pmu *p, struct event *e, const struct term *t, struct err *err)
{
	char path[512], text[512];

	if (t->value)
		return 1;
	snprintf(path, sizeof path, PMU_DEVICES "/%.*s/events/%.*s", p->name_len, p->name,
		 (int)t->key_len, t->key);
	return sysfile_line(path, text, sizeof text) ? 1
						     : terms(p, e, text, strlen(text), true, err);
}

static int one_term(struct pmu *p, struct event *e, const struct term *t, bool of_sysfs,
		    struct err *err)
{
	int rc = general_term(p, e, t, err);

	if (rc <= 0)
		return rc;
	/* It is part of a path. */
	for (size_t i = 0; i < t->key_len; i++)
		if (!is_word(t->key[i]) || *t->key == '.')
			return unknown_term(p, t, err);
	if (!t->key_len || p->is_event)
		return unknown_term(p, t, err);
	if (!of_sysfs) /* an event of sysfs does not name another */
		rc = event_term(p, e, t, err);
	if (rc == 1)
		rc = format_term(p, t, err);
	if (rc == 1 && general_name(p, t))
		rc = 0;
	return rc == 1 ? unknown_term(p, t, err) : rc;
}

static int terms(struct pmu *p, struct event *e, const char *s, size_t len, bool of_sysfs,
		 struct err *err)
{
	const char *const end = s + len;
	int rc = 0;

	while (s < end && !rc) {
		const char *comma = memchr(s, ',', (size_t)(end - s));
		const size_t n = (size_t)((comma ? comma : end) - s);
		const char *equal = memchr(s, '=', n);
		struct term t = {.key = s, .key_len = equal ? (size_t)(equal - s) : n};

		if (equal) {
			t.value = equal + 1;
			t.value_len = n - t.key_len - 1;
		}
		rc = one_term(p, e, &t, of_sysfs, err);
		s += n + 1;
	}
	return rc;
}

int pmu_event_parse(struct event *e, const char *spec, size_t len, const char **mods,
		    size_t *n_mods, struct err *err)
{
	const char *open = memchr(spec, '/', len);
	const char *close = memchr(open + 1, '/', len - (size_t)(open + 1 - spec));
	struct pmu p = {
		.spec = spec, .spec_len = (int)len, .name = spec, .name_len = (int)(open - spec)};
	char path[512];
	uint64_t type;
	int rc;

	snprintf(e->name, sizeof e->name, "%.*s", (int)len, spec);
	p.is_event = event_find_name(e, spec, (size_t)p.name_len);
	snprintf(path, sizeof path, PMU_DEVICES "/%.*s/type", p.name_len, p.name);
	if (!p.is_event && sysfile_u64(path, &type))
		return err_set(err, ERR_NOT_FOUND, NULL,
			       "event '%.*s': there is no PMU '%.*s' here (virtual machines often "
			       "have none); `capture --list` names the events that there are",
			       (int)len, spec, p.name_len, p.name);
	if (p.is_event) {
		p.configs[0] = e->config;
		type = e->type;
	}
	p.type = (uint32_t)type;
	rc = terms(&p, e, open + 1, (size_t)(close - open - 1), false, err);
	e->type = p.type;
	e->config = p.configs[0];
	e->config1 = p.configs[1];
	e->config2 = p.configs[2];
	*mods = close + 1 + (close[1] == ':');
	*n_mods = len - (size_t)(*mods - spec);
	return rc;
}
