/* inputs.c - the table of inputs. A new one is a file in_NAME.c and a row here. */
#include "input/unpacked_lines.h"

/* In the order in which they are tried; the last one accepts almost any text. */
#define INPUTS(X)   \
	X(pprof)    \
	X(bpftrace) \
	X(script)   \
	X(folded)

#define X(name) extern const struct input_format input_##name;
INPUTS(X)
#undef X

#define X(name) &input_##name,
const struct input_format *const input_formats[] = {INPUTS(X) NULL};
#undef X

enum { HEAD = 1 << 16 };

const struct input_format *input_detect(const char *path)
{
	const struct input_format *const *f;
	char *head = malloc(HEAD + 1);
	size_t n = head ? input_peek(path, head, HEAD) : 0;
	bool found = false;

	for (f = input_formats; n && *f && !found;)
		if (!(found = (*f)->detect(head, n)))
			f++;
	free(head);
	return found ? *f : NULL;
}

int input_read(const struct input_format *f, struct profile *p, const char *path,
	       const struct input_options *opt, struct input_result *ret, struct err *err)
{
	struct input_source s;
	int rc = input_open(&s, path, err);

	*ret = (struct input_result){0};
	if (!rc)
		rc = f->read(p, &s, opt, ret, err);
	ret->cut |= s.damaged;
	input_close(&s);
	return rc;
}
