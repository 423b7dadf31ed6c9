/* embed.h - embeds files of the source tree in the program. Private to output/. */
#ifndef OUTPUT_EMBED_H
#define OUTPUT_EMBED_H

/* Defines `name` and `name_end`: the bytes of a file. Its path is relative to the top of the tree,
 * where the compiler runs. The Makefile lists which object depends on which file. The symbols are
 * global because -flto may put the asm text and the code that uses it into different objects. */
#define EMBED_SYMBOL(name) ".globl " #name "\n.hidden " #name "\n" #name ":\n"
#define EMBED(name, path)                                                                          \
	__asm__(".pushsection .rodata\n" EMBED_SYMBOL(name) ".incbin \"" path "\"\n" EMBED_SYMBOL( \
		name##_end) ".popsection\n");                                                      \
	extern const char name[], name##_end[]

#endif
