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
}

$1
