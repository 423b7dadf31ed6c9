/* features.c - bytes of feature sections, read on demand. */
#include "reader/features.h"

#include <stdlib.h>
#include <string.h>

int features_give(struct features *fs, unsigned bit, const uint8_t *p, size_t n)
{
	struct feature_section *s = &fs->v[bit];
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		return -1;
	if (n)
		memcpy(copy, p, n);
	free(s->data);
	*s = (struct feature_section){.present = true, .data = copy, .size = n};
	return 0;
}

int features_load(struct features *fs, unsigned bit, struct err *err)
{
	struct feature_section *s = &fs->v[bit];
	uint8_t *data;
	ssize_t n;

	if (!s->present || s->data)
		return 0;
	data = malloc(s->at.size ? s->at.size : 1);
	if (!data)
		return err_nomem(err);
	n = byte_source_pread(fs->source, s->at.offset, data, s->at.size, err);
	if (n < 0) {
		free(data);
		return (int)n;
	}
	if ((size_t)n < s->at.size) { /* it fitted when the file was opened */
		free(data);
		return err_set(err, ERR_DAMAGED, fs->source->name, "the file was cut meanwhile");
	}
	s->data = data;
	s->size = (size_t)n;
	return 0;
}

const uint8_t *features_get(struct features *fs, unsigned bit, size_t *size)
{
	*size = 0;
	if (bit >= FEATURE_N || features_load(fs, bit, NULL))
		return NULL;
	*size = fs->v[bit].size;
	return fs->v[bit].data;
}

void features_done(struct features *fs)
{
	for (unsigned i = 0; i < FEATURE_N; i++)
		free(fs->v[i].data);
}
