/* tool_code.c - code.h from the command line: `tool_code A B` prints a line for each function of A
 * that B does not have the same, and what all of it is; `tool_code A B ADDRESS..` what the function
 * of A is that begins there. */
#include <stdio.h>
#include <stdlib.h>

#include "regress/code.h"

int main(int argc, char **argv)
{
	static const char *const words[] = {
		[CODE_SAME] = "same", [CODE_UNKNOWN] = "unknown", [CODE_CHANGED] = "changed"};
	struct elf_image *img[2] = {0};
	struct code_image c[2] = {0};
	struct err err = {0};
	size_t i;
	int s;

	for (s = 0; s < 2 && argc >= 3; s++)
		if (elf_image_open(&img[s], argv[1 + s], &err) ||
		    code_image_open(&c[s], img[s], img[s])) {
			fprintf(stderr, "%s: %s\n", argv[1 + s], err.what);
			return 2;
		}
	for (i = 3; i < (size_t)argc; i++)
		puts(words[code_compare(&c[0], &c[1], strtoull(argv[i], NULL, 16))]);
	for (i = 0; argc == 3 && i < c[0].by_address.n; i++) {
		const struct code_symbol *f = &c[0].by_address.v[i];
		enum code_state state =
			f->is_function ? code_compare(&c[0], &c[1], f->start) : CODE_SAME;

		if (state != CODE_SAME)
			printf("%s %s\n", words[state], f->name);
	}
	if (argc == 3)
		printf("all %s\n", words[code_compare_all(&c[0], &c[1])]);
	for (s = 0; s < 2; s++) {
		code_image_done(&c[s]);
		elf_image_close(img[s]);
	}
	return 0;
}
