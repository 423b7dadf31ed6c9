/* text_frame.c - frames of bpftrace and bcc. */
#include "input/text_frame.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/strtab.h"
#include "profile/profile.h"
#include "reader/reader.h"

static bool has_prefix(const char *s, size_t n, const char *prefix)
{
	return n >= strlen(prefix) && !memcmp(s, prefix, strlen(prefix));
}

static bool is_kernel_entry(const char *s, size_t n)
{
	static const char *const entries[] = {"entry_SYSCALL",	"entry_INT80",
					      "do_syscall_64",	"asm_",
					      "ret_from_fork",	"secondary_startup",
					      "start_kernel",	"el0t_64_",
					      "el1h_64_",	"el0_",
					      "common_startup", "entry_SYSENTER",
					      "x86_64_start",	"apic_timer_interrupt",
					      "page_fault",	"error_entry",
					      "kthread"};
	size_t i;

	for (i = 0; i < sizeof entries / sizeof *entries; i++)
		if (has_prefix(s, n, entries[i]))
			return true;
	return false;
}

/* Cuts "+20" or "+0x14" off. */
static void cut_offset(struct text_frame *f)
{
	size_t at = f->n;

	while (at && isxdigit((unsigned char)f->name[at - 1]))
		at--;
	if (at > 3 && at < f->n && !memcmp(f->name + at - 3, "+0x", 3)) {
		f->n = at - 3;
		return;
	}
	for (at = f->n; at && isdigit((unsigned char)f->name[at - 1]);)
		at--;
	if (at > 1 && at < f->n && f->name[at - 1] == '+')
		f->n = at - 1;
}

/* Takes " (/usr/bin/x)" or " [libc.so.6]" from the end. */
static void cut_module(struct text_frame *f, char open, char close)
{
	const char *at = f->n && f->name[f->n - 1] == close ? memrchr(f->name, open, f->n) : NULL;

	if (!at || at == f->name || at[-1] != ' ')
		return;
	f->module = at + 1;
	f->n_module = (size_t)(f->name + f->n - 1 - f->module);
	for (f->n = (size_t)(at - f->name); f->n && f->name[f->n - 1] == ' ';)
		f->n--;
}

void text_frame_parse(const char *s, size_t n, struct text_frame *f)
{
	size_t skip = has_prefix(s, n, "0x") ? 2 : 0, digits;

	*f = (struct text_frame){.module = ""};
	/* An address before the name, after which there is a space. */
	for (digits = skip; digits < n && isxdigit((unsigned char)s[digits]);)
		digits++;
	if (digits - skip >= 6) {
		f->ip = strtoull(s + skip, NULL, 16);
		if (digits < n && (s[digits] == ' ' || s[digits] == '\t')) {
			n -= digits + 1;
			s += digits + 1;
		} else if (digits < n || !skip) {
			f->ip = 0;
		} else {
			s += n;
			n = 0;
		}
	}
	if (n > 3 && s[0] == 'b' && s[1] == '\'' && s[n - 1] == '\'') {
		s += 2;
		n -= 3;
	}
	f->name = s;
	f->n = n;
	cut_module(f, '(', ')');
	if (!f->n_module)
		cut_module(f, '[', ']');
	cut_offset(f);
	f->is_kernel_entry = is_kernel_entry(f->name, f->n);
	if (has_prefix(f->name, f->n, "[unknown]"))
		f->n = 0;
}

int text_frame_add(struct profile *p, const struct text_frame *f, bool is_kernel,
		   uint32_t *location, struct err *err)
{
	const bool is_module = f->n_module && !memchr(f->module, '/', f->n_module) && is_kernel;
	struct profile_mapping m = {.kind = is_module ? DSO_KERNEL_MODULE : DSO_FILE};
	struct profile_location l = {
		.how = FRAME_USER_CHAIN, .ip = f->ip, .off = f->ip, .is_kernel = is_kernel};
	struct profile_function fn = {0};
	struct profile_line line = {0};

	if (f->n_module)
		m.path = profile_string(p, f->module, f->n_module);
	if (m.path == STRTAB_FAILED || profile_add_mapping(p, &m, &l.mapping, err))
		return err_nomem(err);
	fn.name = f->n ? profile_string(p, f->name, f->n) : 0;
	if (f->n && profile_add_function(p, &fn, &line.function, err))
		return -ERR_NOMEM;
	return profile_add_location(p, &l, &line, f->n > 0, location, err);
}
