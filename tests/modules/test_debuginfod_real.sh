#!/bin/bash
# A real debuginfod server, in a network namespace of its own (it listens on all interfaces), gives the names
# of a stripped program: only when asked, checked, and from the cache the next time.
skip() {
	echo "ok - debuginfod # SKIP $1"
	exit 0
}
command -v debuginfod >/dev/null || skip "the server is not installed"
command -v curl >/dev/null || skip "curl is not installed"
unshare -n true 2>/dev/null || skip "no network namespace of our own: needs root"

mkdir srv
gcc -O2 -g -fno-optimize-sibling-calls "$TOP/tests/programs/calls.c" -o calls &&
	objcopy --only-keep-debug calls srv/calls.debug && strip calls || exit 1
"$BIN/capture" -q -F 999 -o p.data -- ./calls 0.4 || exit 1

cat >inside.sh <<'S'
ip link set lo up
debuginfod -p 18002 -d "$PWD/index.sqlite" -F -t 0 -g 0 "$PWD/srv" >server.log 2>&1 &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do
	curl -s 127.0.0.1:18002/metrics 2>/dev/null | grep -q 'scanned_files_total.*debuginfo' && break
	sleep 0.1
done
sleep 0.5
export DEBUGINFOD_URLS=http://127.0.0.1:18002 DEBUGINFOD_CACHE_PATH=$PWD/cache
"$BIN/resolve" p.data >off.folded 2>off.err
ls cache >off.cache 2>/dev/null
"$BIN/resolve" --debuginfod p.data >on.folded 2>on.err
export DEBUGINFOD_URLS=
"$BIN/resolve" -q p.data >again.folded
S
timeout 60 unshare -n bash inside.sh

status=0
check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@"; then echo "ok - $name"; else
		echo "not ok - $name"; status=1; cat off.err on.err server.log 2>/dev/null | tail -20
	fi
}
none() { ! grep -q "$1" "$2"; }
check "without --debuginfod there are no names" none chain_leaf off.folded
check "and nothing is fetched" test ! -s off.cache
check "but a line says what would help" grep -q -e --debuginfod off.err
check "with --debuginfod there are" grep -q "chain_top;chain_middle;chain_leaf" on.folded
check "later the cache has them" cmp -s on.folded again.folded
exit $status
