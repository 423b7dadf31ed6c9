/* nonstring.h - arrays of characters without a zero at the end, which gcc 15 and clang 21 want
 * marked. */
#ifndef BASE_NONSTRING_H
#define BASE_NONSTRING_H

#ifdef __has_attribute
#if __has_attribute(nonstring)
#define NONSTRING __attribute__((nonstring))
#endif
#endif
#ifndef NONSTRING
#define NONSTRING
#endif

#endif
