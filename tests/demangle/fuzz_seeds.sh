#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/demangle/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

demangle() {
	for n in _ZN2ns1WIiE3runEi.isra.0 _ZZ4mainENKUliE_clEi _RINvNtC3std3mem8align_ofdE \
		_ZN4core3fmt9Formatter3pad17h0123456789abcdefE _D3foo3barFiZv; do
		printf %s $n >$n
	done
	printf %s 'Lp/C;m([[ILp/C;J)Lp/R;' >java
	# Packs of types in each other's arguments by substitutions: exponential for who does not measure first; and 200 KB of what nests.
	python3 - <<'END'
CHARS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
def sub(k):
    text = ""
    while True:
        text = CHARS[k % 36] + text
        k //= 36
        if not k:
            return "S" + text + "_"
t = "S_IiiE"
for k in range(1, 60):
    t = "S_I" + t + sub(k) + "E"
open("exponential", "w").write("_Z1fDp1A" + t[2:])
for name, text in (("deep", "_Z1f" + "P" * 4000 + "i"), ("angles", "f" + "<" * 100000 + ">" * 100000), ("spaces", "(anonymous namespace)::" * 9000),
                   ("operators", "operator<" * 22000), ("mangled", "_Z" + "N1a" * 66000)):
    open(name, "w").write(text)
END
}

$1
