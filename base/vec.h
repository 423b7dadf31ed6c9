/* vec.h - growable array of any type.
 *
 *	VEC(uint64_t) ips = {0};
 *	if (vec_push(&ips, ip)) return err_nomem(err);
 *	... ips.v[i], ips.n ...
 *	vec_done(&ips);
 *
 * A zeroed vec is empty. Growth moves the elements: pointers into v die at the next push. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)              \
	struct {               \
		type *v;       \
		size_t n, cap; \
	}

/* 0, or -1 when out of memory (the vec is unchanged). The pointer goes through memcpy because its
 * type is not void *. */
static inline int vec_grow_(void *v_addr, size_t *cap, size_t need, size_t elem)
{
	size_t c = *cap ? *cap : 8;
	void *p;

	while (c < need) {
		if (c > SIZE_MAX / 2 / elem)
			return -1;
		c *= 2;
	}
	memcpy(&p, v_addr, sizeof p);
	p = realloc(p, c * elem);
	if (!p)
		return -1;
	memcpy(v_addr, &p, sizeof p);
	*cap = c;
	return 0;
}

/* Room for at least n_total elements. */
#define vec_reserve(vec, n_total)        \
	((size_t)(n_total) <= (vec)->cap \
		 ? 0                     \
		 : vec_grow_(&(vec)->v, &(vec)->cap, (size_t)(n_total), sizeof *(vec)->v))

/* Appends; 0 or -1 (out of memory). The value is evaluated once, after the growth. */
#define vec_push(vec, ...) \
	(vec_reserve((vec), (vec)->n + 1) ? -1 : ((vec)->v[(vec)->n++] = (__VA_ARGS__), 0))

/* Gives back the room that is not used. Cannot fail. */
static inline void vec_shrink_(void *v_addr, size_t *cap, size_t n, size_t elem)
{
	void *p;

	if (!n || n == *cap)
		return;
	memcpy(&p, v_addr, sizeof p);
	p = realloc(p, n * elem);
	if (!p)
		return;
	memcpy(v_addr, &p, sizeof p);
	*cap = n;
}

#define vec_shrink(vec) vec_shrink_(&(vec)->v, &(vec)->cap, (vec)->n, sizeof *(vec)->v)

#define vec_done(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#endif
