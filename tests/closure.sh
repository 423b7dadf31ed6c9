#!/bin/sh
# closure.sh FILE - fetches the Closure Compiler, a program that GraalVM's native-image made (46 MB), by npm. Without npm or a network the test
# that wants it says so.
set -u
version=20261015.0.0
[ "$(uname -m)" = x86_64 ] || exit 0
command -v npm >/dev/null 2>&1 || { echo "deps: no npm here; no program of native-image is unwound" >&2; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$(dirname "$1")"
(cd "$dir" && npm pack --silent "google-closure-compiler-linux@$version" >/dev/null && tar xzf google-closure-*.tgz package/compiler) 2>/dev/null &&
	mv "$dir/package/compiler" "$1" || echo "deps: npm could not fetch Closure Compiler $version; no program of native-image is unwound" >&2
