/* cxx20.c - back references and encodings; see cxx20.h. */
#include "demangle/cxx20.h"

#include <ctype.h>
#include <string.h>

bool cxx20_enter(struct cxx20 *o)
{
	return ++o->depth <= OLDER_DEPTH_MAX && ++o->steps <= OLDER_STEPS_MAX && !o->out->failed;
}

static size_t at_most_left(const struct cxx20 *o, size_t n)
{
	return n < (size_t)(o->end - o->p) ? n : (size_t)(o->end - o->p);
}

void cxx20_copy(struct cxx20 *o, size_t n)
{
	n = at_most_left(o, n);
	if (!o->muted)
		namebuf_add(o->out, o->p, n);
	o->p += n;
}

void cxx20_drop(struct cxx20 *o, size_t n)
{
	o->p += at_most_left(o, n);
}

void cxx20_write(struct cxx20 *o, const char *s)
{
	if (!o->muted)
		namebuf_add(o->out, s, strlen(s));
}

void cxx20_number(struct cxx20 *o)
{
	cxx20_take(o, 'n');
	while (isdigit((unsigned char)cxx20_peek(o, 0)))
		cxx20_copy(o, 1);
}

bool cxx20_number_end(struct cxx20 *o)
{
	cxx20_number(o);
	return cxx20_take(o, '_');
}

bool cxx20_source_name(struct cxx20 *o)
{
	size_t n = 0;

	if (!isdigit((unsigned char)cxx20_peek(o, 0)))
		return false;
	while (isdigit((unsigned char)cxx20_peek(o, 0)) && n < (size_t)(o->end - o->p)) {
		n = n * 10 + (size_t)(*o->p - '0');
		cxx20_copy(o, 1);
	}
	if (!n || n > (size_t)(o->end - o->p))
		return false;
	cxx20_copy(o, n);
	return true;
}

/* ---- back references ---------------------------------------------------------------------- */

unsigned cxx20_next(const struct cxx20 *o)
{
	return o->is_again ? o->again : o->n;
}

bool cxx20_add(struct cxx20 *o, const char *start, unsigned first, enum cxx20_kind kind)
{
	unsigned i = o->is_again ? o->again++ : o->n++;

	if (i >= OLDER_REFERENCES_MAX || (o->is_again && i >= o->n))
		return false;
	if (!o->is_again)
		o->references[i] =
			(struct cxx20_reference){start, o->p, (uint16_t)first, -1, (uint8_t)kind};
	if (!o->muted)
		o->references[i].out = (int16_t)o->n_out++;
	return true;
}

/* Reads S_, S0_, ... and sets *ret to its number. */
static bool read_reference(struct cxx20 *o, unsigned *ret)
{
	unsigned n = 0;
	char c;

	cxx20_drop(o, 1);
	if (cxx20_peek(o, 0) != '_')
		n = 1;
	for (*ret = 0; (c = cxx20_peek(o, 0)) != '_'; cxx20_drop(o, 1)) {
		if (!isdigit((unsigned char)c) && !isupper((unsigned char)c))
			return false;
		*ret = *ret * 36 + (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'A' + 10);
		if (*ret > OLDER_REFERENCES_MAX)
			return false;
	}
	cxx20_drop(o, 1);
	*ret += n;
	return *ret < o->n;
}

static void write_reference(struct cxx20 *o, unsigned n)
{
	char text[8], *s = text + sizeof text;

	*--s = 0;
	*--s = '_';
	if (n--)
		do
			*--s = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36];
		while (n /= 36);
	*--s = 'S';
	cxx20_write(o, s);
}

/* Parses the text of reference i again and writes it: as a part of a nested name, or as it was. */
static bool write_again(struct cxx20 *o, unsigned i, bool in_prefix)
{
	const struct cxx20_reference *r = &o->references[i];
	const char *p = o->p, *end = o->end;
	unsigned again = o->again;
	bool is_again = o->is_again, ok;

	if (!cxx20_enter(o))
		return false;
	o->p = r->start;
	o->end = r->end;
	o->again = r->first;
	o->is_again = true;
	if (in_prefix && r->kind == OLDER_TYPE && *o->p == 'N') {
		o->p++;
		o->end--;
	}
	if (in_prefix || r->kind == OLDER_PREFIX)
		ok = *o->p != 'Z' && cxx20_prefix(o, o->end);
	else if (r->kind == OLDER_TYPE)
		ok = cxx20_type(o);
	else
		ok = cxx20_unscoped(o) && cxx20_add(o, r->start, r->first, OLDER_TEMPLATE);
	ok = ok && o->p == o->end;
	o->p = p;
	o->end = end;
	o->again = again;
	o->is_again = is_again;
	return cxx20_leave(o, ok);
}

bool cxx20_reference_part(struct cxx20 *o, bool in_prefix, bool *is_new)
{
	unsigned i;
	bool wrap;

	if (!read_reference(o, &i))
		return false;
	*is_new = !in_prefix && cxx20_peek(o, 0) == 'I';
	wrap = !in_prefix && !o->muted && o->references[i].out < 0 &&
	       o->references[i].kind == OLDER_PREFIX;
	if (wrap)
		cxx20_write(o, "N");
	if (o->references[i].out >= 0)
		write_reference(o, (unsigned)o->references[i].out);
	else if (!o->muted && !write_again(o, i, in_prefix))
		return false;
	if (*is_new && !cxx20_template_args(o))
		return false;
	if (wrap)
		cxx20_write(o, "E");
	return true;
}

/* ---- encodings ---------------------------------------------------------------------------- */

/* h OFFSET _, v OFFSET _ OFFSET _ */
static bool call_offset(struct cxx20 *o)
{
	bool is_virtual = cxx20_peek(o, 0) == 'v';

	if (!cxx20_take(o, 'h') && !cxx20_take(o, 'v'))
		return false;
	return cxx20_number_end(o) && (!is_virtual || cxx20_number_end(o));
}

/* Special names, which begin with T or G. */
static bool special(struct cxx20 *o)
{
	char a = cxx20_peek(o, 0), b = cxx20_peek(o, 1);

	cxx20_copy(o, a == 'T' && (b == 'h' || b == 'v') ? 1 : 2);
	if (a == 'T' && b && strchr("VTIS", b))
		return cxx20_type(o);
	if (a == 'T' && (b == 'h' || b == 'v'))
		return call_offset(o) && cxx20_encoding(o);
	if (a == 'T' && b == 'c')
		return call_offset(o) && call_offset(o) && cxx20_encoding(o);
	if (a == 'T' && b == 'A')
		return cxx20_template_arg(o);
	if (a == 'T' && b == 'C')
		return cxx20_type(o) && cxx20_number_end(o) && cxx20_type(o);
	if ((a == 'T' && (b == 'W' || b == 'H')) || (a == 'G' && b == 'V'))
		return cxx20_name_part(o);
	if (a == 'G' && b == 'R') {
		if (!cxx20_name_part(o))
			return false;
		while (isdigit((unsigned char)cxx20_peek(o, 0)) ||
		       isupper((unsigned char)cxx20_peek(o, 0)))
			cxx20_copy(o, 1);
		return cxx20_take(o, '_');
	}
	if (a == 'G' && b == 'T') {
		cxx20_copy(o, 1);
		return cxx20_encoding(o);
	}
	return false;
}

/* clang's attribute, after a function's name: Ua9enable_ifI CONDITION E */
static bool enable_if(struct cxx20 *o)
{
	bool ok;

	if (!cxx20_at(o, 'U', 'a'))
		return true;
	o->muted++;
	cxx20_drop(o, 2);
	ok = cxx20_source_name(o) && cxx20_template_args(o);
	o->muted--;
	return ok;
}

bool cxx20_encoding(struct cxx20 *o)
{
	char c = cxx20_peek(o, 0);
	bool ok;

	if (!cxx20_enter(o))
		return false;
	if ((c == 'T' && cxx20_peek(o, 1)) || c == 'G') {
		ok = special(o);
	} else {
		ok = cxx20_name_part(o);
		if (cxx20_peek(o, 0) == 'J')
			cxx20_copy(o, 1);
		ok = ok && enable_if(o) && cxx20_types_until(o, "E.Q") && cxx20_constraint(o);
	}
	return cxx20_leave(o, ok);
}

bool cxx20_name(struct namebuf *out, const char *name)
{
	struct cxx20 o;
	bool ok;

	o.name = name;
	o.p = name + 2;
	o.end = name + strlen(name);
	o.out = out;
	o.muted = o.depth = o.steps = o.n = o.again = o.n_out = 0;
	o.is_again = false;
	memset(o.looked, 0, sizeof o.looked);
	memset(o.levels, 0, sizeof o.levels);
	namebuf_add(out, "_Z", 2);
	ok = cxx20_encoding(&o) && (o.p == o.end || *o.p == '.');
	if (ok)
		namebuf_add(out, o.p, (size_t)(o.end - o.p));
	return ok && !out->failed;
}
