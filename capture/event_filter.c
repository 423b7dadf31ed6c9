/* event_filter.c - filters of probes that the kernel would take, or not, without telling why they
 * match nothing. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "capture/event.h"

/* The fields of probes that hold registers (probe_event.c): "a0" .. and "ret". */
static bool is_register(const char *name, size_t n)
{
	return (n == 2 && *name == 'a' && isdigit((unsigned char)name[1])) ||
	       (n == 3 && !memcmp(name, "ret", 3));
}

static int refuse(const struct event *e, const char *name, size_t n, const char *test,
		  long long value, struct err *err)
{
	const int len = (int)n;

	if (*test == '=' || *test == '!')
		return err_set(err, ERR_USAGE, NULL,
			       "%s: --filter: %.*s is an unsigned number of 64 bits: %lld is "
			       "written 0x%llx, or 0x%x where it is an int",
			       e->name, len, name, value, (unsigned long long)value,
			       (unsigned)value);
	return err_set(err, ERR_USAGE, NULL,
		       "%s: --filter: %.*s is an unsigned number of 64 bits, which none is below "
		       "0: negative ones are '%.*s > 0x7fffffffffffffff', of an int '%.*s > "
		       "0x7fffffff'",
		       e->name, len, name, len, name, len, name);
}

int event_check_filter(const struct event *e, struct err *err)
{
	const char *at = e->filter;

	while (*at) {
		const size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
		const char *test = at + n + strspn(at + n, " "), *value;
		char *end;
		long long v;

		if (*at == '"') { /* a text, which may have anything */
			at = strchr(at + 1, '"');
			if (!at)
				return 0;
		}
		value = test + strspn(test, "=!<>");
		value += strspn(value, " ");
		v = strtoll(value, &end, 0);
		if (is_register(at, n) && strchr("=!<>", *test) && *test && end > value &&
		    (v < 0 || (!v && test[0] == '<' && test[1] != '=')))
			return refuse(e, at, n, test, v, err);
		at += n ? n : 1;
	}
	return 0;
}
