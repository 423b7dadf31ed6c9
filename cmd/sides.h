/* sides.h - the files of two sides on a command line: --base A B .. --new C D .. */
#ifndef CMD_SIDES_H
#define CMD_SIDES_H

#include "base/err.h"
#include "base/vec.h"

typedef VEC(char *) path_list;

/* Zeroed at first. The paths are in argv or in `owned`. */
struct sides {
	path_list paths[2];
	path_list owned; /* to be freed with the rest */
};

/* Removes the two options, and all arguments that follow them up to the next option, from argv. A
 * folder stands for all its files, sorted, unless it is a recording itself. Returns 0, or negative
 * with *err. */
int sides_take(struct sides *s, const char *const names[2], int *argc, char **argv,
	       struct err *err);
/* Adds one path in the same way. */
int sides_add(struct sides *s, int side, char *path, struct err *err);
/* Sorts the paths from the one at `first` on. */
void paths_sort(path_list *paths, size_t first);
void sides_done(struct sides *s);

#endif
