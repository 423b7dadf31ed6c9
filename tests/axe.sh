#!/bin/sh
# axe.sh FILE - fetches axe-core, which checks pages for accessibility, by npm. Without npm or a network the test that wants it says so.
set -u
version=4.10.3
command -v npm >/dev/null 2>&1 || { echo "deps: no npm here; the page's accessibility is not checked" >&2; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$(dirname "$1")"
(cd "$dir" && npm pack --silent "axe-core@$version" >/dev/null && tar xzf axe-core-*.tgz package/axe.min.js) 2>/dev/null &&
	mv "$dir/package/axe.min.js" "$1" || echo "deps: npm could not fetch axe-core@$version; the page's accessibility is not checked" >&2
