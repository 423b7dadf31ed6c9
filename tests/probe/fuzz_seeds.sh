#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/probe/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

spec() {
	printf 'uprobe:./hello:func_?+0x10\nfunc_d\nfunc_d.isra.0\nfunc_d.cold\n' >c
	printf 'uprobe:./w:ns::W<int>::run(int, char)\n_ZN2ns1WIiE3runEic\n_ZN2ns1WIiE3runEi.isra.0\n' >cxx
	printf 'call:./g:main.(*T).*\nmain.(*T).Method\nmain.F[go.shape.int]\n' >go
	printf 'uretprobe:libz.so.1:*ompress*\ncompress\nuncompress2\n' >wild
	printf 'usdt:./us:app:step\n' >usdt
	printf 'uprobe:./rs:<a::S as a::Work>::work\n_ZN1a4Work4work17h0123456789abcdefE\n' >rust
	printf 'uprobe:./a:src/x.c:42\nx\n' >line
	printf 'u:/bin/x:0x12e0\nx\n' >address
	python3 - <<'END'
open("stars", "w").write("uprobe:a:" + "*a" * 1500 + "b\n" + "a" * 4000 + "\n")
open("brackets", "w").write("uprobe:a:" + "f(<[{" * 800 + "\n" + "_Z1f" + "P" * 3000 + "i\n")
END
}

$1
