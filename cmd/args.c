/* args.c - values of command line options. */
#include "cmd/args.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/clean.h"

void args_hold_standard_files(void)
{
	int fd;

	do /* O_PATH: writing fails as to a closed one */
		fd = open("/", O_PATH);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	clean_stderr();
}

static void on_file_limit(int sig)
{
	(void)sig;
}

void args_fail_at_file_limit(void)
{
	/* Not SIG_IGN, which would remain after an exec. */
	struct sigaction sa = {.sa_handler = on_file_limit, .sa_flags = SA_RESTART};

	sigaction(SIGXFSZ, &sa, NULL);
}

int args_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
	     struct err *err)
{
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	char *end;
	unsigned long long v;

	errno = 0;
	v = isdigit((unsigned char)text[0]) ? strtoull(text, &end, base) : 0;
	if (!isdigit((unsigned char)text[0]) || *end || errno || v < min || v > max)
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is not a number from %llu to %llu",
			       option, text, (unsigned long long)min, (unsigned long long)max);
	*ret = v;
	return 0;
}

int args_real(const char *option, const char *text, double top, double percents, const char *what,
	      double *ret, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (percents > 0 && end != text && !strcmp(end, "%")) {
		v /= percents;
		end++;
	}
	if (end == text || *end || !(v >= 0 && v <= top))
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is not a %s from 0 to %g", option,
			       text, what, top);
	*ret = v;
	return 0;
}

bool args_size(const char *text, uint64_t unit, uint64_t *ret)
{
	static const char letters[] = "BKMG";
	const char *letter;
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	letter = *end ? strchr(letters, *end) : NULL;
	if (!isdigit((unsigned char)text[0]) || errno || (*end && (!letter || end[1])))
		return false;
	if (letter)
		unit = 1ull << 10 * (letter - letters);
	return !__builtin_mul_overflow(*ret, unit, ret);
}

int args_address(const char *option, const char *text, uint64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 16);
	if (!isxdigit((unsigned char)text[0]) || *end || errno)
		return err_set(err, ERR_USAGE, NULL, "%s: '%s' is no hexadecimal address", option,
			       text);
	return 0;
}

/* Copies the next item of a comma-separated list to item[]; false at the end. An item that is too
 * long is cut, and then fails to parse as a number. */
static bool next_item(const char **text, char *item, size_t size)
{
	size_t n, kept;

	if (!**text)
		return false;
	n = strcspn(*text, ",");
	kept = n < size ? n : size - 1;
	memcpy(item, *text, kept);
	item[kept] = '\0';
	*text += n;
	if (**text == ',')
		++*text;
	return true;
}

/* The list is often the output of another command. If that printed nothing, it does not mean
 * everything. */
static int empty_list(const char *option, struct err *err)
{
	return err_set(err, ERR_USAGE, NULL, "%s: the list is empty", option);
}

int args_numbers(void *list, const char *option, char *text, struct err *err)
{
	struct number_list *numbers = list;
	const char *rest = text;
	char item[32];
	uint64_t v;
	int rc;

	if (!*text)
		return empty_list(option, err);
	while (next_item(&rest, item, sizeof item)) {
		rc = args_u64(option, item, 0, UINT32_MAX, &v, err);
		if (rc)
			return rc;
		if (vec_push(numbers, (uint32_t)v))
			return err_nomem(err);
	}
	return 0;
}

int args_cpus(void *list, const char *option, char *text, struct err *err)
{
	struct cpu_ranges *cpus = list;
	const char *rest = text;
	char item[32], *dash;
	uint64_t first, last;
	int rc;

	if (!*text)
		return empty_list(option, err);
	while (next_item(&rest, item, sizeof item)) {
		dash = strchr(item, '-');
		if (dash)
			*dash++ = '\0';
		rc = args_u64(option, item, 0, UINT32_MAX, &first, err);
		if (!rc)
			rc = args_u64(option, dash ? dash : item, 0, UINT32_MAX, &last, err);
		if (!rc && first > last)
			rc = err_set(err, ERR_USAGE, NULL, "%s: '%s-%s' ends before it begins",
				     option, item, dash);
		if (rc)
			return rc;
		if (vec_push(cpus, (struct cpu_range){(uint32_t)first, (uint32_t)last}))
			return err_nomem(err);
	}
	return 0;
}

int args_names(void *list, const char *option, char *text, struct err *err)
{
	struct name_list *names = list;
	char *save = NULL, *item;

	for (item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save))
		if (vec_push(names, item))
			return err_nomem(err);
	return names->n ? 0 : empty_list(option, err);
}

static int bad_time(const char *text, struct err *err)
{
	return err_set(err, ERR_USAGE, NULL,
		       "--time: '%s' is neither START,STOP in seconds nor P%%-Q%% of the recording",
		       text);
}

/* Converts seconds to ns, without the rounding error of a double with 10 digits before the point.
 */
static bool parse_seconds(const char *text, size_t n, uint64_t *ret)
{
	uint64_t whole = 0, frac = 0, scale = 1000000000;
	size_t i = 0;

	for (; i < n && isdigit((unsigned char)text[i]); i++) {
		if (whole > UINT64_MAX / 20000000000)
			return false;
		whole = whole * 10 + (uint64_t)(text[i] - '0');
	}
	if (i < n && text[i] == '.')
		for (i++; i < n && isdigit((unsigned char)text[i]); i++) {
			scale /= 10;
			frac += scale * (uint64_t)(text[i] - '0');
		}
	*ret = whole * 1000000000 + frac;
	return n > 0 && i == n;
}

int args_time(void *span, const char *option, char *text, struct err *err)
{
	struct time_span *t = span;
	const char *comma = strchr(text, ',');
	char rest;

	(void)option;
	*t = (struct time_span){0};
	if (sscanf(text, "%lf%%-%lf%%%c", &t->from, &t->to, &rest) == 2) {
		t->is_percent = true;
		return t->from >= 0 && t->from <= t->to && t->to <= 100 ? 0 : bad_time(text, err);
	}
	if (!comma)
		return bad_time(text, err);
	if (comma != text && !parse_seconds(text, (size_t)(comma - text), &t->start_ns))
		return bad_time(text, err);
	if (comma[1] && !parse_seconds(comma + 1, strlen(comma + 1), &t->end_ns))
		return bad_time(text, err);
	if (t->end_ns && t->start_ns > t->end_ns)
		return err_set(err, ERR_USAGE, NULL, "--time: '%s' ends before it begins", text);
	return 0;
}

void args_complain(const char *command, const struct err *err)
{
	char text[ERR_SOURCE_MAX + ERR_WHAT_MAX + 64];

	err_format(err, text, sizeof text);
	fprintf(stderr, "%s: %s\n", command, text);
}

/* A stream remembers that a write has failed, but not why: errno may be another call's by then. */
int args_flush(FILE *out, const char *name, struct err *err)
{
	int earlier = errno;

	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	if (!errno && !earlier) { /* it is broken already: another byte tells why */
		clearerr(out);
		fputc('\n', out);
		fflush(out);
	}
	return err_errno(err, errno ? errno : earlier ? earlier : EIO, name, "write");
}
