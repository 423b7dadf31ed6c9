#!/bin/bash
# bare.sh [RELEASE..] - `make demo` and `make check` of a fresh clone of HEAD on machines with nothing installed:
# chroots that debootstrap makes (minbase + git make ca-certificates). In bookworm also as a user with sudo.
#	CHECK="tests/base"	less than all tests
#	ROOT_CHECK="tests/base"	the same for root alone
#	BARE_LOGS=DIR		where what the steps print is kept
#	SHARED=DIR		recordings to be seen as ../shared
# Bootstraps and packages are kept in ${XDG_CACHE_HOME:-~/.cache}/unspool-bare. Mounts are in a namespace of their own
# and end with this script. A mirror that cannot be reached is a loud skip; all else that goes wrong is a failure.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/unspool-bare
[ $# -gt 0 ] || set -- bookworm
if [ "$(id -u)" != 0 ]; then
	echo "bare: SKIP: chroots need root"
	exit 0
fi
if [ -z "${BARE_INSIDE:-}" ]; then
	exec env BARE_INSIDE=1 unshare --mount --propagation private -- bash "$0" "$@"
fi
mkdir -p "$cache"

# The machine's own mirror: the first Debian address of its lists.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	grep -oE '(https?|file):/[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ')
mirror=${mirror:-http://deb.debian.org/debian}
work=$(mktemp -d "${TMPDIR:-/tmp}/bare-XXXXXX")
root=$work/root
finish() {
	release
	rm -rf --one-file-system "$work"
}
# Ends the chroot: $root is a mount point itself, with others on it.
release() {
	while mountpoint -q "$root"; do umount -Rl "$root"; done
}
trap finish EXIT
trap 'exit 1' INT TERM

inside() { # COMMAND.. as root in the chroot
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" "$@"
}

# Makes $root: 0; 1: no mirror.
bootstrap() { # RELEASE
	local tar=$cache/$1.tar
	# `/` of the machine is a mount point, as everywhere.
	mkdir -p "$root" && mount --bind "$root" "$root" && mount --make-private "$root" || return 2
	if [ ! -f "$tar" ] || [ -n "$(find "$tar" -mtime +14)" ]; then
		curl -fsSI --max-time 20 "${mirror%/}/dists/$1/Release" >/dev/null 2>&1 ||
			wget -q --timeout=20 --spider "${mirror%/}/dists/$1/Release" ||
			python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20)' "${mirror%/}/dists/$1/Release" 2>/dev/null || return 1
		debootstrap --variant=minbase --include=git,make,ca-certificates "$1" "$root" "$mirror" >"$work/log" 2>&1 || {
			tail -n 5 "$work/log"
			return 2
		}
		rm -f "$root"/var/cache/apt/archives/*.deb
		tar -C "$root" -cf "$tar.new" . && mv "$tar.new" "$tar"
	else
		tar -C "$root" -xf "$tar"
	fi
	mkdir -p "$cache/$1-packages/partial"
	mount --bind "$cache/$1-packages" "$root/var/cache/apt/archives"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
	cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null
	# Downloads stay for the next time.
	echo 'Binary::apt-get::APT::Keep-Downloaded-Packages "true"; APT::Keep-Downloaded-Packages "true";' >"$root/etc/apt/apt.conf.d/01keep"
}

failed=0
step() { # RELEASE USER COMMAND
	local log=$work/step.log start=$SECONDS
	echo "bare: $1, $2: $3 .."
	if [ "$2" = root ]; then
		inside bash -c "cd /root/unspool && $3"
	else
		inside su - "$2" -c "cd unspool && $3"
	fi >"$log" 2>&1
	local rc=$?
	grep -aE '^deps: installing|^[0-9]+ (passed|skipped)|^left behind' "$log"
	if [ $rc = 0 ]; then
		echo "bare: ok: $1, $2: $3 ($((SECONDS - start)) s)"
	else
		grep -aE 'not ok|FAILED|rror' "$log" | head -n 60
		tail -n 20 "$log"
		echo "bare: FAILED: $1, $2: $3 (status $rc, $((SECONDS - start)) s)"
		failed=1
	fi
	sed -nE "s/^ +skipped: /$1, $2: /p; s/^unsteady: /$1, $2, once: /p" "$log" >>"$work/depends"
	[ -z "${BARE_LOGS:-}" ] || cp "$log" "$BARE_LOGS/$(printf "%.100s" "$1-$2-${3//[^a-z]/_}").log"
}

for release in "$@"; do
	bootstrap "$release"
	case $? in
	1)
		echo "bare: SKIP: $release: ${mirror%/}/dists/$release cannot be reached"
		continue
		;;
	2)
		echo "bare: FAILED: $release: debootstrap"
		failed=1
		continue
		;;
	esac
	git clone -q --no-hardlinks "$top" "$root/root/unspool" || exit 1
	if [ -n "${SHARED:-}" ]; then
		mkdir -p "$root/root/shared" && mount --bind "$SHARED" "$root/root/shared"
	fi
	inside apt-get update -q >/dev/null 2>&1
	step "$release" root "make demo"
	step "$release" root "make check T='${ROOT_CHECK-${CHECK:-}}'"
	if [ "$release" = bookworm ]; then
		inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends build-essential debhelper lintian >/dev/null 2>&1
		step "$release" root "make deb && lintian --fail-on error build/dist/*.changes && dpkg -i build/dist/unspool_*.deb && (cd / && capture --version && resolve --help >/dev/null && regress --version && man -w resolve) && dpkg -r unspool && ! command -v capture"
		inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends sudo >/dev/null 2>&1
		inside sh -c 'useradd -m -s /bin/bash ann && echo "ann ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/ann'
		git clone -q --no-hardlinks "$top" "$root/home/ann/unspool" && inside chown -R ann: /home/ann
		step "$release" ann "make demo"
		step "$release" ann "make check T='${CHECK:-}'"
	fi
	release
	rm -rf --one-file-system "$root"
done
# What the others all ran: these hung on the machine, the user or the moment.
if [ -s "$work/depends" ]; then
	echo "bare: what depended on the machine:"
	sort -u "$work/depends" | cut -c -200 | sed 's/^/  /'
else
	echo "bare: nothing depended on the machine"
fi
exit $failed
