#!/bin/sh
# duckdb.sh FILE - fetches DuckDB's library, which reads jsonl2 in a test, by npm. Without npm or a network the test says so.
set -u
version=1.5.6-r.1
case $(uname -m) in
x86_64) arch=x64 ;;
aarch64) arch=arm64 ;;
*) exit 0 ;;
esac
command -v npm >/dev/null 2>&1 || { echo "deps: no npm here; jsonl2 is not read by DuckDB" >&2; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$(dirname "$1")"
(cd "$dir" && npm pack --silent "@duckdb/node-bindings-linux-$arch@$version" >/dev/null && tar xzf duckdb-*.tgz package/libduckdb.so) 2>/dev/null &&
	mv "$dir/package/libduckdb.so" "$1" || echo "deps: npm could not fetch DuckDB $version; jsonl2 is not read by it" >&2
