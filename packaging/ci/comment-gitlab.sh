#!/bin/bash
# comment-gitlab.sh SUMMARY.md - one note on the merge request: updates the one that it has written before, else writes one. When
# nothing got slower and there is none yet, it writes none.
#	UNSPOOL_TOKEN	an access token of the project with the scope api (a masked variable). Without it, as in pipelines of forks, no note is
#			written: the merge request shows the Code Quality report all the same.
#	UNSPOOL_NAME	tells the notes of several comparisons apart
#	STATUS	of regress; 0: nothing got slower
set -eu
if [ -z "${UNSPOOL_TOKEN:-}" ] || [ -z "${CI_MERGE_REQUEST_IID:-}" ]; then
	echo "no note: UNSPOOL_TOKEN is not set here, or this is no merge request"
	exit 0
fi
if [ ! -f "$1" ]; then
	echo "comment-gitlab.sh: $1: no such file; nothing to say" >&2
	exit 0
fi
marker="<!-- unspool regress: ${UNSPOOL_NAME:-profile} -->"
notes="$CI_API_V4_URL/projects/${CI_MERGE_REQUEST_PROJECT_ID:-$CI_PROJECT_ID}/merge_requests/$CI_MERGE_REQUEST_IID/notes"
# The token is not among the arguments, which other users of the machine could read.
call() { curl --silent --show-error --fail --config <(printf 'header = "PRIVATE-TOKEN: %s"\n' "$UNSPOOL_TOKEN") "$@"; }
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{ cat "$1"; printf '\n%s\n' "$marker"; } > "$body"
id=
for page in $(seq 50); do
	found=$(call "$notes?per_page=100&page=$page")
	id=$(jq -r --arg marker "$marker" 'map(select(.system | not) | select(.body | contains($marker))) | .[0].id // empty' <<< "$found")
	if [ -n "$id" ] || [ "$(jq length <<< "$found")" -lt 100 ]; then break; fi
done
if [ -n "$id" ]; then
	call --request PUT --data-urlencode "body@$body" "$notes/$id" | jq -r '"updated note \(.id)"'
elif [ "${STATUS:-1}" = 0 ]; then
	echo "nothing got slower, and there is no note yet: none is written"
else
	call --request POST --data-urlencode "body@$body" "$notes" | jq -r '"wrote note \(.id)"'
fi
