#!/bin/bash
# comment-github.sh SUMMARY.md - one comment on the pull request: updates the one that it has written before, else writes one. When
# nothing got slower and there is none yet, it writes none.
#	GITHUB_REPOSITORY PR GH_TOKEN	where, and by what right
#	NAME	tells the comments of several comparisons apart
#	STATUS	of regress; 0: nothing got slower
#	AUTHOR	who writes, if it is not the workflow's own token
#	UNTRUSTED=yes	the summary comes from a fork: nobody is mentioned by it, and it says where it comes from
set -eu
marker="<!-- unspool regress: ${NAME:-profile} -->"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
if [ ! -f "$1" ] || [ -L "$1" ]; then
	echo "comment-github.sh: $1: no such file; nothing to say" >&2
	exit 0
fi
if [ "${UNTRUSTED:-}" = yes ]; then
	# An invisible character behind each @, and no comment of HTML, which could look like a marker.
	head -c 16000 "$1" | iconv -f UTF-8 -t UTF-8 -c | sed -e 's/@/@\xe2\x80\x8b/g' -e 's/<!--/< !--/g' > "$body"
	printf '\n\nRecorded by the workflow of the fork itself.\n' >> "$body"
else
	cat "$1" > "$body"
fi
printf '\n%s\n' "$marker" >> "$body"
id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PR/comments" --jq '.[] | select(.user.login == "'"${AUTHOR:-github-actions[bot]}"'" and (.body | contains("'"$marker"'"))) | .id' | head -n 1)
if [ -n "$id" ]; then
	gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body" --jq .html_url
elif [ "${STATUS:-1}" = 0 ]; then
	echo "nothing got slower, and there is no comment yet: none is written"
else
	gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PR/comments" -F "body=@$body" --jq .html_url
fi
