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

const uint8_t *features_get(struct features *fs, unsigned bit, size_t *size)
{
	struct feature_section *s;
	uint8_t *data;
	ssize_t n;

	*size = 0;
	if (bit >= FEATURE_N || !fs->v[bit].present)
		return NULL;
	s = &fs->v[bit];
	if (!s->data) {
		data = malloc(s->at.size ? s->at.size : 1);
		if (!data)
			return NULL;
		n = source_pread(fs->source, s->at.offset, data, s->at.size, NULL);
		if (n < 0) {
			free(data);
			return NULL;
		}
		s->data = data;
		s->size = (size_t)n;
	}
	*size = s->size;
	return s->data;
}

void features_done(struct features *fs)
{
	for (unsigned i = 0; i < FEATURE_N; i++)
		free(fs->v[i].data);
}
