#!/bin/sh
# fuzz_seeds.sh NAME - small ELF files for tests/modules/fuzz_NAME.c, into the working directory.
set -e
printf 'int f(int x) { return x; }\nvoid _start(void) { f(1); }\n' >s.c
link='-nostdlib -Wl,-z,noseparate-code,-z,max-page-size=16'
# shellcheck disable=SC2086 # $link is several words
{
	gcc -g $link s.c -o linked
	gcc -shared -fPIC -nostdlib -Wl,--build-id=sha1,-z,noseparate-code,-z,max-page-size=16 s.c -o shared
	gcc -g -gz=zlib $link s.c -o zlib
	gcc -g -gz=zlib-gnu $link s.c -o zlib-gnu || true
	gcc -g -c s.c -o object
	gcc -m32 -c s.c -o object32 || true
}
objcopy --strip-section-headers shared sectionless 2>/dev/null || cp shared sectionless
# e_shoff = e_shnum = e_shstrndx = 0: what is there is told by the dynamic table
printf '\0\0\0\0\0\0\0\0' | dd of=sectionless bs=1 seek=40 conv=notrunc 2>/dev/null
printf '\0\0\0\0' | dd of=sectionless bs=1 seek=60 conv=notrunc 2>/dev/null
objcopy --only-keep-debug linked linked.debug
cp linked linked.link
objcopy --strip-debug --add-gnu-debuglink=linked.debug linked.link
xz -c linked.debug >mini.xz
objcopy --strip-all --add-section .gnu_debugdata=mini.xz linked with-mini
rm -f s.c mini.xz
