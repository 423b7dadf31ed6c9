/* mark.h - MARK(n): an instruction whose address stands in section .debug_marks, as (address, n).
 *
 * The name makes linkers treat the section like debug sections: what refers to dropped code gets a dead
 * address. What the index must answer at the mark is written in the sources, innermost function first:
 *	//= n: function @tag <- caller @tag <- ...
 * @= is the line of MARK(n) itself, @tag the line that ends with that tag in any of the files. When
 * a mark is in code that is copied into several callers it has one such line for each. */
#if __SIZEOF_POINTER__ == 8
#define MARK_WORD ".quad "
#else
#define MARK_WORD ".long "
#endif
#define MARK(n)                                                                                    \
	__asm__ volatile("1:\n\tnop\n\t.pushsection .debug_marks,\"\"\n\t" MARK_WORD "1b\n\t" MARK_WORD #n \
			 "\n\t.popsection" ::                                                      \
				 : "memory")

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
