/* tracepoint.c - the fields of tracepoints in words, by libtraceevent, as in perf.
 *
 * The library believes what it reads: formats are checked before it gets them, and what they make
 * of them before a sample is printed by it. Raw bytes lie in front of as many zeros as their own
 * offsets can reach. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"
#include "reader/small_signed.h"
#include "reader/trace_text.h"
#include "reader/traceevent.h"
#include "reader/tracing.h"

#define OWN_SYSTEM "unspool_" /* of the probes of capture */

enum {
	FORMAT_MAX = 64 << 10,
	NESTED_MAX = 64,      /* parentheses, and operators in a row, of a print format */
	RAW_MAX = UINT16_MAX, /* a record is no longer */
	BEYOND = 3 *
		 UINT16_MAX, /* u16 offset and u16 size of a dynamic field, from the end of raw */
	DIGITS_MAX = 3,	     /* of a width in a print format */
};

struct tracepoints {
	const struct traceevent *lib;
	struct tep_handle *tep;
	struct trace_seq seq;
	/* Of the sample being printed. */
	const struct address_space *kernel;
	const struct function_namer *by;
	size_t used; /* bytes of raw that are not zero */
	uint8_t raw[RAW_MAX + BEYOND];
};

/* ---- is it to be trusted? -------------------------------------------------------------------- */

/* The parser of print formats goes down with each parenthesis and operator. */
static bool is_flat(const char *format, size_t n)
{
	size_t depth = 0, operators = 0;

	for (size_t i = 0; i < n; i++) {
		depth += format[i] == '(' || format[i] == '[' || format[i] == '{';
		depth -= depth && (format[i] == ')' || format[i] == ']' || format[i] == '}');
		operators = strchr("?:!~-+*&|<>=^%/", format[i]) && format[i] ? operators + 1
			    : format[i] == ',' || format[i] == '\n'	      ? 0
									      : operators;
		if (depth > NESTED_MAX || operators > 4 * NESTED_MAX)
			return false;
	}
	return true;
}

/* False if a conversion has a width that comes from the data or is long, which makes long texts, or
 * is a string with a length modifier ("%ls": wide characters). Checks everything that the library
 * may take for a conversion: after a backslash it does not know "%%". */
static bool has_plain_conversions(const char *s)
{
	for (; s && (s = strchr(s, '%')); s++) {
		const char *c = s + 1, *conversion = c + strspn(c, "#hlLzZ.+-*0123456789");
		unsigned digits = 0;

		for (; c < conversion; c++) {
			const bool is_digit = *c >= (digits ? '0' : '1') && *c <= '9';

			digits = is_digit ? digits + 1 : 0;
			if (*c == '*' || digits > DIGITS_MAX ||
			    (*conversion == 's' && strchr("hlLzZ", *c)))
				return false;
		}
	}
	return true;
}

/* Some fields are known only by name until the library prints them. The library is there: it has
 * made the event. */
static const struct tep_format_field *find_field(struct tep_event *e, const char *name,
						 const struct tep_format_field *found)
{
	return found || !name ? found : traceevent_library()->find_any_field(e, name);
}

/* Is there such a field, and does it have an offset and a length in the sample? The library does
 * not check that. */
static bool is_dynamic(struct tep_event *e, const char *name, const struct tep_format_field *found)
{
	const struct tep_format_field *f = find_field(e, name, found);

	return f && f->flags & TEP_FIELD_IS_DYNAMIC;
}

/* Is it an element of an array, by a number inside of the array? The library checks no index. */
static bool is_within(struct tep_event *e, const struct tep_print_arg *left,
		      const struct tep_print_arg *right)
{
	const struct tep_format_field *f;

	while (left->type == TEP_PRINT_TYPE && left->typecast.item)
		left = left->typecast.item;
	if (left->type != TEP_PRINT_FIELD || right->type != TEP_PRINT_ATOM)
		return false;
	f = find_field(e, left->field.name, left->field.field);
	return f && (uint64_t)f->arraylen * f->elementsize <= (uint64_t)f->size &&
	       strtoull(right->atom.atom, NULL, 0) < f->arraylen;
}

/* False for operations that read beyond an array, divide by something else than a positive number,
 * or are a condition without its two values. */
static bool is_safe_op(struct tep_event *e, const struct tep_print_arg *op)
{
	const struct tep_print_arg *left = op->op.left, *right = op->op.right;

	if (!left || !right)
		return false;
	switch (*op->op.op) {
	case '[':
		return is_within(e, left, right);
	case '/':
	case '%':
		return right->type == TEP_PRINT_ATOM && strtoll(right->atom.atom, NULL, 0) > 0;
	case '?':
		return right->type == TEP_PRINT_OP;
	default:
		return true;
	}
}

/* True for print arguments that are known to read only fields of the sample, which fit. False for
 * arrays whose length is a value of the sample, for functions, and for argument types of later
 * versions of the library. */
static bool is_safe(struct tep_event *e, const struct tep_print_arg *a, unsigned depth)
{
	bool safe = depth <= NESTED_MAX && (a || !depth);

	for (; a && safe; a = a->next) {
		switch (a->type) {
		case TEP_PRINT_NULL:
		case TEP_PRINT_ATOM:
		case TEP_PRINT_FIELD:
			break;
		case TEP_PRINT_STRING:
			safe = is_dynamic(e, a->string.string, a->string.field);
			break;
		case TEP_PRINT_BITMASK:
		case TEP_PRINT_CPUMASK:
			safe = is_dynamic(e, a->bitmask.bitmask, a->bitmask.field);
			break;
		case TEP_PRINT_FLAGS:
			safe = is_safe(e, a->flags.field, depth + 1);
			break;
		case TEP_PRINT_SYMBOL:
			safe = is_safe(e, a->symbol.field, depth + 1);
			break;
		case TEP_PRINT_TYPE:
			safe = is_safe(e, a->typecast.item, depth + 1);
			break;
		case TEP_PRINT_OP:
			safe = is_safe_op(e, a) && is_safe(e, a->op.left, depth + 1) &&
			       is_safe(e, a->op.right, depth + 1);
			break;
		default:
			safe = false;
			break;
		}
	}
	return safe;
}

/* Where dynamic fields are is u16 offset and u16 length; what is shorter the library takes for an
 * offset alone, and counts up to the end from behind it. */
static bool fields_fit(const struct tep_format_field *f, size_t n)
{
	for (; f; f = f->next)
		if (f->offset < 0 || f->size < 0 || (size_t)f->offset > n ||
		    (size_t)f->size > n - (size_t)f->offset ||
		    (f->flags & TEP_FIELD_IS_DYNAMIC && f->size != sizeof(uint32_t)))
			return false;
	return true;
}

/* Returns TEP_PRINT_INFO_RAW, which prints field by field, if the print format cannot be trusted.
 * The library uses its conversions for that, too, unless the format is marked as failed. */
static const char *how_to_print(struct tep_event *e)
{
	if (!has_plain_conversions(e->print_fmt.format)) {
		e->flags |= (int)TEP_EVENT_FL_FAILED;
		return TEP_PRINT_INFO_RAW;
	}
	if (e->flags & (int)TEP_EVENT_FL_FAILED)
		return TEP_PRINT_INFO;
	/* For bprint the library expects fields that the event may not have. */
	return !(e->flags & TEP_EVENT_FL_ISBPRINT) && is_safe(e, e->print_fmt.args, 0)
		       ? TEP_PRINT_INFO
		       : TEP_PRINT_INFO_RAW;
}

/* ---- formats --------------------------------------------------------------------------------- */

struct formats {
	VEC(struct tracing_format) list;
	size_t left_out; /* of all */
	struct arena altered;
};

static int take_format(void *arg, const char *system, const char *format, size_t n)
{
	struct formats *f = arg;
	struct tracing_format one = {.system = system, .text = format, .n = n};

	if (str_starts_with(system, OWN_SYSTEM) &&
	    !(one.text = small_signed_print(format, &one.n, &f->altered)))
		return -1;
	if (n <= FORMAT_MAX && is_flat(format, n))
		return vec_push(&f->list, one);
	f->left_out++;
	return 0;
}

/* Those that the library does not know are not printed. */
static void parse_formats(struct tracepoints *t, struct formats *f, struct tracing_loss *loss)
{
	loss->error = tracing_try(f->list.v, f->list.n);
	loss->n = f->left_out;
	for (size_t i = 0; i < f->list.n; i++) {
		const struct tracing_format *one = &f->list.v[i];

		if (one->is_good)
			t->lib->parse_event(t->tep, one->text, one->n, one->system);
		loss->n += !one->is_good;
	}
}

/* For the library, which copies the name. */
static char *name_function(void *arg, unsigned long long *addr, char **module)
{
	const struct tracepoints *t = arg;
	uint64_t start = *addr;
	const char *name;

	if (!t->by->namer || !t->kernel)
		return NULL;
	name = t->by->namer(t->by->arg, t->kernel, *addr, &start);
	*addr = start;
	*module = NULL;
	return (char *)(uintptr_t)name;
}

static int count_format(void *arg, const char *system, const char *format, size_t n)
{
	(void)system;
	(void)format;
	(void)n;
	++*(size_t *)arg;
	return 0;
}

struct tracepoints *tracepoints_new(const uint8_t *data, size_t n, struct tracing_loss *loss)
{
	const struct traceevent *lib = traceevent_library();
	struct tracing_head head;
	struct formats f = {0};
	struct tracepoints *t;

	*loss = (struct tracing_loss){.no_library = !lib};
	if (!lib) {
		tracing_walk(data, n, &head, count_format, &loss->n);
		return NULL;
	}
	t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->lib = lib;
	lib->set_loglevel(TEP_LOG_NONE);
	t->tep = lib->alloc();
	lib->seq_init(&t->seq);
	if (!t->tep || (tracing_walk(data, n, &head, take_format, &f) < 0 && !head.page)) {
		tracepoints_free(t);
		t = NULL;
	} else {
		/* Of damaged ones those that are there. */
		parse_formats(t, &f, loss);
		lib->set_function_resolver(t->tep, name_function, t);
	}
	vec_done(&f.list);
	arena_done(&f.altered);
	return t;
}

void tracepoints_free(struct tracepoints *t)
{
	if (!t)
		return;
	t->lib->seq_destroy(&t->seq);
	t->lib->free(t->tep);
	free(t);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void take_raw(struct tracepoints *t, const uint8_t *raw, size_t n)
{
	memcpy(t->raw, raw, n);
	if (t->used > n)
		memset(t->raw + n, 0, t->used - n);
	t->used = n;
}

/* Where a dynamic field is: offset and size. */
static uint32_t get_place(const struct tracepoints *t, const struct tep_format_field *f)
{
	uint32_t loc = 0;

	memcpy(&loc, t->raw + f->offset, sizeof loc);
	return tep_is_bigendian() != t->lib->is_file_bigendian(t->tep) ? __builtin_bswap32(loc)
								       : loc;
}

static void set_place(struct tracepoints *t, const struct tep_format_field *f, uint32_t loc)
{
	if (tep_is_bigendian() != t->lib->is_file_bigendian(t->tep))
		loc = __builtin_bswap32(loc);
	memcpy(t->raw + f->offset, &loc, sizeof loc);
}

/* A text of no bytes, not even its end, was not read: what the library would print is the next one.
 * It is told as the kernel does in its own trace. */
static void mark_unread(struct tracepoints *t, const struct tep_format_field *f)
{
	static const char fault[] = "(fault)";
	const uint32_t text = TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_STRING;
	const size_t at = t->used;
	uint32_t loc;

	if (at + sizeof fault > UINT16_MAX)
		return;
	for (; f; f = f->next) {
		if ((f->flags & text) != text || f->flags & TEP_FIELD_IS_RELATIVE)
			continue;
		loc = get_place(t, f);
		if (loc >> 16)
			continue;
		memcpy(t->raw + at, fault, sizeof fault);
		t->used = at + sizeof fault;
		set_place(t, f, (uint32_t)(sizeof fault << 16 | at));
	}
}

/* What capture --strings read may be any bytes, and quotes. Their escaped forms take their places
 * behind all else. */
static void escape_texts(struct tracepoints *t, const struct tep_event *e)
{
	const uint32_t text = TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_STRING;

	if (!str_starts_with(e->system, OWN_SYSTEM))
		return;
	for (const struct tep_format_field *f = e->format.fields; f; f = f->next) {
		const uint32_t loc = get_place(t, f);
		const size_t at = loc & 0xffff, size = loc >> 16, to = t->used;
		size_t n;

		if ((f->flags & text) != text || f->flags & TEP_FIELD_IS_RELATIVE ||
		    f->name[0] != 's' || f->name[1] < '0' || f->name[1] > '9' ||
		    at + size > t->used)
			continue;
		n = strnlen((const char *)t->raw + at, size);
		if (!n || to + n * TRACE_TEXT_ESCAPED + 1 > UINT16_MAX)
			continue;
		n = trace_text_escape((const char *)t->raw + at, n, (char *)t->raw + to);
		t->raw[to + n] = 0;
		t->used = to + n + 1;
		set_place(t, f, (uint32_t)((n + 1) << 16 | to));
	}
}

/* The library takes a length for a signed number: of 0x8000 bytes and more it makes room for
 * gigabytes (__get_cpumask()). The kernel's own limit is PERF_MAX_TRACE_SIZE, 8
 * KiB, for all of a sample. */
static bool lengths_are_positive(const struct tracepoints *t, const struct tep_format_field *f)
{
	for (; f; f = f->next)
		if (f->flags & TEP_FIELD_IS_DYNAMIC && get_place(t, f) >> 31)
			return false;
	return true;
}

/* The library prints by the event that the raw bytes name, and finds that name where the first of
 * all events has it. */
static bool is_of_event(struct tracepoints *t, const struct perf_sample *s,
			const struct tep_event *e)
{
	const struct tep_event *first = t->lib->get_first_event(t->tep);
	struct tep_record record = {.data = t->raw, .size = (int)s->extra->raw_size};

	if (!fields_fit(first->format.common_fields, s->extra->raw_size))
		return false;
	take_raw(t, s->extra->raw, s->extra->raw_size);
	return t->lib->data_type(t->tep, &record) == e->id;
}

bool tracepoints_print(struct tracepoints *t, const struct perf_sample *s,
		       const struct function_namer *by, struct text *out)
{
	const uint64_t id = s->event->attr.config;
	const size_t n = s->extra->raw_size;
	struct tep_event *e = id <= INT32_MAX ? t->lib->find_event(t->tep, (int)id) : NULL;
	struct tep_record record = {.data = t->raw, .size = (int)n};

	if (!e || n > RAW_MAX || !fields_fit(e->format.common_fields, n) ||
	    !fields_fit(e->format.fields, n) || !is_of_event(t, s, e) ||
	    !lengths_are_positive(t, e->format.fields))
		return false;
	mark_unread(t, e->format.fields);
	escape_texts(t, e);
	record.size = (int)t->used;
	t->kernel = s->kernel;
	t->by = by;
	t->lib->seq_reset(&t->seq);
	t->lib->print_event(t->tep, &t->seq, &record, "%s", how_to_print(e));
	t->lib->seq_terminate(&t->seq);
	text_clean(out, t->seq.buffer, t->seq.len);
	return true;
}
