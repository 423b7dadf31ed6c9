/* embed.h - files of the source tree that become part of the program. Private to output/. */
#ifndef OUTPUT_EMBED_H
#define OUTPUT_EMBED_H

/* Defines `name` and `name_end`: the bytes of a file, whose path is from the top of the tree, where
 * the compiler runs. The Makefile says which object needs which file. */
#define EMBED(name, path)                                \
	__asm__(".pushsection .rodata\n" #name ":\n"     \
		".incbin \"" path "\"\n" #name "_end:\n" \
		".popsection\n");                        \
	extern const char name[], name##_end[]

#endif
