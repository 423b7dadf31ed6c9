/* embed.h - files of the source tree that become part of the program. Private to output/. */
#ifndef OUTPUT_EMBED_H
#define OUTPUT_EMBED_H

/* Defines `name` and `name_end`: the bytes of a file, whose path is from the top of the tree, where
 * the compiler runs. The Makefile says which object needs which file. The symbols are global,
 * because with -flto the text of asm and what refers to it may become parts of different objects.
 */
#define EMBED_SYMBOL(name) ".globl " #name "\n.hidden " #name "\n" #name ":\n"
#define EMBED(name, path)                                                                          \
	__asm__(".pushsection .rodata\n" EMBED_SYMBOL(name) ".incbin \"" path "\"\n" EMBED_SYMBOL( \
		name##_end) ".popsection\n");                                                      \
	extern const char name[], name##_end[]

#endif
