#!/bin/bash
# portable.sh [RELEASE..] - recordings of other releases of Debian: the tests of bundles in chroots of trixie and sid, with their compilers,
# interpreters, loaders and perf, and the programs that are built here. What is recorded there says byte for byte the same in an empty root.
# The kernel is this machine's.
#	TESTS="tests/e2e/test_bundle_kinds"	which tests
#	WITH="g++ dwz linux-perf"	with which compilers, interpreters and tools; tests say what they do without
#	KEEP=DIR	keeps the chroots in DIR/RELEASE, for the next time
# Needs root and a mirror; minutes for each release, most of them for packages, which are kept as tests/bare.sh keeps them.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/unspool-bare
tests=${TESTS:-tests/e2e/test_bundle}
[ $# -gt 0 ] || set -- trixie sid
if [ "$(id -u)" != 0 ]; then
	echo "portable: SKIP: chroots need root"
	exit 0
fi
if [ -z "${PORTABLE_INSIDE:-}" ]; then
	exec env PORTABLE_INSIDE=1 unshare --mount --propagation private -- bash "$0" "$@"
fi
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	grep -oE '(https?|file):/[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ')
mirror=${mirror:-http://deb.debian.org/debian}
work=${KEEP:-$(mktemp -d "${TMPDIR:-/tmp}/portable-XXXXXX")}
packages="${WITH-g++ dwz golang-go clang nodejs default-jdk-headless linux-perf gdb llvm elfutils}
	python3 binutils procps util-linux file libdw1t64 libelf1t64 libncursesw6 libtinfo6 libzstd1 liblzma5 zlib1g libisal2 libtraceevent1"
failed=0

inside() { # RELEASE COMMAND.. as root in the chroot
	local root=$work/$1
	shift
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${LONG:+LONG="$LONG"} chroot "$root" "$@"
}

prepare() { # RELEASE: 0; 1: no mirror; 2: failed
	local root=$work/$1 tar=$cache/$1.tar
	mkdir -p "$root" "$cache/$1-packages/partial"
	if [ ! -d "$root/usr" ]; then
		if [ -f "$tar" ]; then
			tar -C "$root" -xf "$tar" || return 2
		else
			debootstrap --variant=minbase --include=ca-certificates "$1" "$root" "$mirror" >"$root/log" 2>&1 || { tail -n 3 "$root/log"; return 1; }
		fi
	fi
	# `/` of the machine is a mount point, as everywhere.
	mount --bind "$root" "$root" && mount --bind "$cache/$1-packages" "$root/var/cache/apt/archives" &&
		mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" || return 2
	cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
	cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null
	echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "true"; APT::Keep-Downloaded-Packages "true";' >"$root/etc/apt/apt.conf.d/01keep"
	# A mirror may be a snapshot, or the clock of this machine ahead.
	inside "$1" apt-get -o Acquire::Check-Valid-Until=false update -q >"$root/log" 2>&1 || { tail -n 3 "$root/log"; return 1; }
	# shellcheck disable=SC2086 # several words
	inside "$1" apt-get install -y -q --no-install-recommends $packages >"$root/log" 2>&1 || { tail -n 5 "$root/log"; return 2; }
	mkdir -p "$root/unspool" && mount --bind "$top" "$root/unspool"
}

for release in "$@"; do
	prepare "$release"
	case $? in
	0) ;;
	1)
		echo "portable: SKIP: $release: no packages"
		continue
		;;
	*)
		echo "portable: FAILED: $release cannot be made"
		failed=1
		continue
		;;
	esac
	echo "portable: $release: $(inside "$release" sh -c 'gcc --version | head -n 1; perf --version; go version; node --version' 2>/dev/null | tr '\n' ';')"
	# shellcheck disable=SC2086 # several words
	inside "$release" sh -c "cd /unspool && python3 tests/run.py --once --no-times --build build/gcc --bin bin $tests" || failed=1
	umount -Rl "$work/$release"
done
[ -n "${KEEP:-}" ] || rm -rf --one-file-system "$work"
exit $failed
