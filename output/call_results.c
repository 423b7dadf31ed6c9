/* call_results.c - what calls return, in words. */
#include "output/call_results.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The name that an enumerator of the type " NAME VALUE NAME VALUE" has; NULL: none. */
static const char *enumerator(const char *type, size_t n, int64_t v, size_t *n_name)
{
	char value[32];
	const int n_value = snprintf(value, sizeof value, "%" PRId64, v);
	const char *end = type + n, *at = memchr(type, ' ', n);

	while (at && at < end) {
		const char *name = at + 1, *behind = memchr(name, ' ', (size_t)(end - name));

		if (!behind)
			return NULL;
		at = memchr(behind + 1, ' ', (size_t)(end - behind - 1));
		*n_name = (size_t)(behind - name);
		if ((at ? at : end) - behind - 1 == n_value &&
		    !memcmp(behind + 1, value, (size_t)n_value))
			return name;
	}
	return NULL;
}

void call_typed_add(struct text *t, const char *type, size_t n, int64_t v)
{
	const unsigned bytes =
		n > 1 && type[1] >= '1' && type[1] <= '8' ? (unsigned)type[1] - '0' : 0;
	const unsigned unused = bytes ? 64 - 8 * bytes : 0;
	const bool is_signed = strchr("ice", *type);
	const char *name;
	size_t n_name;

	if (!bytes) {
		text_char(t, '?');
		return;
	}
	v = is_signed ? (int64_t)((uint64_t)v << unused) >> unused
		      : (int64_t)((uint64_t)v << unused >> unused);
	name = enumerator(type, n, v, &n_name);
	if (*type == 'p') {
		text_str(t, "0x");
		text_hex(t, (uint64_t)v, 0);
	} else if (*type == 'b' && (uint64_t)v < 2) {
		text_str(t, v ? "true" : "false");
	} else if (name) {
		text_clean(t, name, n_name);
	} else if (is_signed) {
		text_int(t, v, 0);
	} else {
		text_dec(t, (uint64_t)v, 0);
	}
	if ((*type == 'c' || *type == 'C') && v >= ' ' && v < 0x7f) {
		text_str(t, " '");
		text_str(t, v == '\'' || v == '\\' ? "\\" : "");
		text_char(t, (char)v);
		text_char(t, '\'');
	}
}

/* The kernel's own, by which it begins the call again (include/linux/errno.h), as strace has them.
 */
static const struct restart {
	int error;
	const char *text;
} restarts[] = {
	{512, "ERESTARTSYS (To be restarted if SA_RESTART is set)"},
	{513, "ERESTARTNOINTR (To be restarted)"},
	{514, "ERESTARTNOHAND (To be restarted if no handler)"},
	{516, "ERESTART_RESTARTBLOCK (Interrupted by signal)"},
};

void call_error_add(struct text *t, int error)
{
	const char *name = strerrorname_np(error);

	for (size_t i = 0; i < sizeof restarts / sizeof *restarts; i++)
		if (restarts[i].error == error) {
			text_str(t, "? ");
			text_str(t, restarts[i].text);
			return;
		}
	text_str(t, "-1 ");
	if (name) {
		text_str(t, name);
		text_str(t, " (");
		text_str(t, strerrordesc_np(error));
		text_char(t, ')');
	} else {
		text_str(t, "errno ");
		text_dec(t, (uint64_t)error, 0);
	}
}
