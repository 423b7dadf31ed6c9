# processes, kernel work: what a whole machine shows
i=0
while [ $i -lt 60 ]; do
	i=$((i + 1))
	seq 1 2000 | sort -rn | head -n 1 >/dev/null
done
