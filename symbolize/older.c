/* older.c - back references and encodings; see older.h. */
#include "symbolize/older.h"

#include <ctype.h>
#include <string.h>

bool older_enter(struct older *o)
{
	return ++o->depth <= OLDER_DEPTH_MAX && ++o->steps <= OLDER_STEPS_MAX && !o->out->failed;
}

static size_t at_most_left(const struct older *o, size_t n)
{
	return n < (size_t)(o->end - o->p) ? n : (size_t)(o->end - o->p);
}

void older_copy(struct older *o, size_t n)
{
	n = at_most_left(o, n);
	if (!o->muted)
		namebuf_add(o->out, o->p, n);
	o->p += n;
}

void older_drop(struct older *o, size_t n)
{
	o->p += at_most_left(o, n);
}

void older_write(struct older *o, const char *s)
{
	if (!o->muted)
		namebuf_add(o->out, s, strlen(s));
}

void older_number(struct older *o)
{
	older_take(o, 'n');
	while (isdigit((unsigned char)older_peek(o, 0)))
		older_copy(o, 1);
}

bool older_number_end(struct older *o)
{
	older_number(o);
	return older_take(o, '_');
}

bool older_source_name(struct older *o)
{
	size_t n = 0;

	if (!isdigit((unsigned char)older_peek(o, 0)))
		return false;
	while (isdigit((unsigned char)older_peek(o, 0)) && n < (size_t)(o->end - o->p)) {
		n = n * 10 + (size_t)(*o->p - '0');
		older_copy(o, 1);
	}
	if (!n || n > (size_t)(o->end - o->p))
		return false;
	older_copy(o, n);
	return true;
}

/* ---- back references ---------------------------------------------------------------------- */

unsigned older_next(const struct older *o)
{
	return o->is_again ? o->again : o->n;
}

bool older_add(struct older *o, const char *start, unsigned first, enum older_kind kind)
{
	unsigned i = o->is_again ? o->again++ : o->n++;

	if (i >= OLDER_REFERENCES_MAX || (o->is_again && i >= o->n))
		return false;
	if (!o->is_again)
		o->references[i] =
			(struct older_reference){start, o->p, (uint16_t)first, -1, (uint8_t)kind};
	if (!o->muted)
		o->references[i].out = (int16_t)o->n_out++;
	return true;
}

/* S_, S0_, ... : which one, and behind it. */
static bool read_reference(struct older *o, unsigned *ret)
{
	unsigned n = 0;
	char c;

	older_drop(o, 1);
	if (older_peek(o, 0) != '_')
		n = 1;
	for (*ret = 0; (c = older_peek(o, 0)) != '_'; older_drop(o, 1)) {
		if (!isdigit((unsigned char)c) && !isupper((unsigned char)c))
			return false;
		*ret = *ret * 36 + (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'A' + 10);
		if (*ret > OLDER_REFERENCES_MAX)
			return false;
	}
	older_drop(o, 1);
	*ret += n;
	return *ret < o->n;
}

static void write_reference(struct older *o, unsigned n)
{
	char text[8], *s = text + sizeof text;

	*--s = 0;
	*--s = '_';
	if (n--)
		do
			*--s = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36];
		while (n /= 36);
	*--s = 'S';
	older_write(o, s);
}

/* Writes what reference i stands for, as a part of a nested name or as it was read. */
static bool write_again(struct older *o, unsigned i, bool in_prefix)
{
	const struct older_reference *r = &o->references[i];
	const char *p = o->p, *end = o->end;
	unsigned again = o->again;
	bool is_again = o->is_again, ok;

	if (!older_enter(o))
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
		ok = *o->p != 'Z' && older_prefix(o, o->end);
	else if (r->kind == OLDER_TYPE)
		ok = older_type(o);
	else
		ok = older_unscoped(o) && older_add(o, r->start, r->first, OLDER_TEMPLATE);
	ok = ok && o->p == o->end;
	o->p = p;
	o->end = end;
	o->again = again;
	o->is_again = is_again;
	return older_leave(o, ok);
}

bool older_reference_part(struct older *o, bool in_prefix, bool *is_new)
{
	unsigned i;
	bool wrap;

	if (!read_reference(o, &i))
		return false;
	*is_new = !in_prefix && older_peek(o, 0) == 'I';
	wrap = !in_prefix && !o->muted && o->references[i].out < 0 &&
	       o->references[i].kind == OLDER_PREFIX;
	if (wrap)
		older_write(o, "N");
	if (o->references[i].out >= 0)
		write_reference(o, (unsigned)o->references[i].out);
	else if (!o->muted && !write_again(o, i, in_prefix))
		return false;
	if (*is_new && !older_template_args(o))
		return false;
	if (wrap)
		older_write(o, "E");
	return true;
}

/* ---- encodings ---------------------------------------------------------------------------- */

/* h OFFSET _, v OFFSET _ OFFSET _ */
static bool call_offset(struct older *o)
{
	bool is_virtual = older_peek(o, 0) == 'v';

	if (!older_take(o, 'h') && !older_take(o, 'v'))
		return false;
	return older_number_end(o) && (!is_virtual || older_number_end(o));
}

/* Begins with T or G. */
static bool special(struct older *o)
{
	char a = older_peek(o, 0), b = older_peek(o, 1);

	older_copy(o, a == 'T' && (b == 'h' || b == 'v') ? 1 : 2);
	if (a == 'T' && b && strchr("VTIS", b))
		return older_type(o);
	if (a == 'T' && (b == 'h' || b == 'v'))
		return call_offset(o) && older_encoding(o);
	if (a == 'T' && b == 'c')
		return call_offset(o) && call_offset(o) && older_encoding(o);
	if (a == 'T' && b == 'A')
		return older_template_arg(o);
	if (a == 'T' && b == 'C')
		return older_type(o) && older_number_end(o) && older_type(o);
	if ((a == 'T' && (b == 'W' || b == 'H')) || (a == 'G' && b == 'V'))
		return older_name_part(o);
	if (a == 'G' && b == 'R') {
		if (!older_name_part(o))
			return false;
		while (isdigit((unsigned char)older_peek(o, 0)) ||
		       isupper((unsigned char)older_peek(o, 0)))
			older_copy(o, 1);
		return older_take(o, '_');
	}
	if (a == 'G' && b == 'T') {
		older_copy(o, 1);
		return older_encoding(o);
	}
	return false;
}

/* clang's attribute, behind a function's name: Ua9enable_ifI CONDITION E */
static bool enable_if(struct older *o)
{
	bool ok;

	if (!older_at(o, 'U', 'a'))
		return true;
	o->muted++;
	older_drop(o, 2);
	ok = older_source_name(o) && older_template_args(o);
	o->muted--;
	return ok;
}

bool older_encoding(struct older *o)
{
	char c = older_peek(o, 0);
	bool ok;

	if (!older_enter(o))
		return false;
	if ((c == 'T' && older_peek(o, 1)) || c == 'G') {
		ok = special(o);
	} else {
		ok = older_name_part(o);
		if (older_peek(o, 0) == 'J')
			older_copy(o, 1);
		ok = ok && enable_if(o) && older_types_until(o, "E.Q") && older_constraint(o);
	}
	return older_leave(o, ok);
}

bool older_name(struct namebuf *out, const char *name)
{
	struct older o;
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
	ok = older_encoding(&o) && (o.p == o.end || *o.p == '.');
	if (ok)
		namebuf_add(out, o.p, (size_t)(o.end - o.p));
	return ok && !out->failed;
}
