#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/modules/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

if [ "$1" = debuginfod_log ]; then
	printf '\002server urls "http://a http://b"\nurl 0 http://a/x\nurl 1 http://b/x\ncommitted to url 1\nserver response No error\n' >ok
	printf '\002url 0 http://a/x\nurl 1 http://b/x\nserver response HTTP response code said error\nurl 0 The requested URL returned error: 404\nserver response Timeout was reached\nurl 1 Operation too slow\n' >bad
	exit
fi
if [ "$1" = zip ]; then
	python3 - <<-'P'
		import zipfile
		for name, comment in (("plain", b""), ("comment", b"PK" * 20)):
		    with zipfile.ZipFile(name, "w") as z:
		        z.comment = comment
		        for i, kind in enumerate((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)):
		            z.writestr(f"lib/{i}.so", b"\177ELF" + bytes(100 * i), kind)
	P
	exit
fi
if [ "$1" = fetched ]; then
	printf 'int f(int x) { return x; }\nvoid _start(void) { f(1); }\n' >s.c
	python3 - <<-'P'
		import os, struct, subprocess, sys
		sys.path.insert(0, os.environ["TOP"] + "/tests/modules")
		from elfsections import section
		LINK = ["-nostdlib", "-Wl,--build-id,-z,noseparate-code,-z,max-page-size=16"]
		NAMES = (".symtab", ".strtab", ".debug_line", ".debug_line_str", ".debug_str")
		for name, flags in (("v5", ["-gdwarf-5", "-static"]), ("v4", ["-gdwarf-4", "-static"]), ("shared", ["-g", "-shared"]),
		                    ("packed", ["-gdwarf-5", "-gz=zlib", "-static"])):
		    subprocess.run(["gcc", *flags, *LINK, "s.c", "-o", "s"], check=True)
		    subprocess.run(["strip", "-o", "stripped", "s"], check=True)
		    with open("stripped", "rb") as f:
		        parts = [f.read()] + [section("s", n) or b"" for n in NAMES]
		    with open(name, "wb") as f:
		        f.write(b"".join(struct.pack("<H", len(p)) + p for p in parts))
	P
	rm -f s s.c stripped
	exit
fi
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
