#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/input/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

inputs() {
	for f in "$TOP"/testdata/inputs/*.txt "$TOP"/testdata/inputs/*.gz; do
		{ printf '\0'; cat "$f"; } >"$(basename "$f")"
	done
	for f in "$TOP"/testdata/inputs/*.gz; do
		{ printf '\1'; gzip -dc "$f"; } >"$(basename "$f").plain"
	done
	printf '\0a;b;c_[k] 10\na;[libc.so.6];d_[i] 3 4\n' >folded
	printf '\0x y 12/13 [001] 5.000001: 10 cycles:P: \n\tff00 f+0x1 (/bin/x)\n\tff01 g(int) (inlined)\n\n' >script
	printf '\0dd  1201   100.000001:    2000000 cpu-clock:  ffffffff816b94a7 f+0x2 ([kernel.kallsyms])\n             cc1  1202 [001] U     100.004001:          1 page-faults:     55a6ae76e5c0 n+0x0 (/x)           a1b2c3 y (/cc1)\n' >script-leaves
	printf '\0x 12 cpu-clock: \n\t            ff00 f (/x)\n  a.c:7 (inlined)\n\t            ff01 g (/x)\n  ??:0\n ABI:2 AX:0x1\n\nsh 3 1.000001: PERF_RECORD_MMAP2 3/3: [0x1] r-xp /x\n' >script-lines
	printf '\0    bash 16052   1 50164.439685:   10101010 s:e: a=1\n\tffffffff822009ee f ([kernel.kallsyms])\n\n' >script-latency
	printf '\0\tffffffff816bb652 f (x)\n\n\tffffffff816bb652 f (x)\n' >script-frames
	printf '\0m;a 0.25\nm;b 1e+06 2.5\nm;c 18446744073709551615\nm;d 1e-9\n' >folded-fractions
	printf '\0\377\376m\0;\0a\0 \0003\0\n\0' >folded-utf16
	printf '\0Sampling\n\n    vfs\n    entry_SYSCALL_64\n    --\n    main+0x1 [m]\n    -                a b (7)\n        17\n\n' >bcc-profile
	printf '\0blocked time (us)\n\n    waker:           a 7\n    f\n    --               --\n    target:          b 12\n        99\n\n' >bcc-waker
	printf "\\0\\n  b'f'\\n    b'sh' [1]\\n    12\\n\\n" >bcc-stackcount
	printf '\0[1] Top:\n\taddr = 1 size = 2\n\t10 bytes in 2 allocations from stack\n\t\t0x0000563b2f3b5169\tm+0x3a [a]\n' >bcc-memleak
	printf '\0{"type": "stats", "data": {"@s": {"sh,\\n    f+1\\n": {"count": 1, "average": 2, "total": 3}}}}\n{"type": "hist", "data": {"@": {"": [{"min": 1, "count": 8}]}}}\n' >bpftrace-json
	printf '\0@us[\n    f+2\n, sh]: count 4, average 25, total 100\n@h[\n    f\n]: \n[2, 4)   5 |@@|\n@n: 3\n' >bpftrace-values
	printf '\0@[\n    f+1\n\tff00 g+2 (/x)\n, \n    do_syscall_64+1\n, x, 7]: 3\n' >bpftrace
	printf '\0{"nodes":[{"id":1,"callFrame":{"functionName":"a","url":"x","lineNumber":1},"children":[2]},{"id":2,"callFrame":{"functionName":""}}],"startTime":1,"endTime":9,"samples":[2,1],"timeDeltas":[1,2]}' >cpuprofile
	printf '\0{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{"type":"sampled","name":"t","unit":"seconds","samples":[[0,1],[]],"weights":[1,2]},{"type":"evented","unit":"bytes","events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":5}]}],"shared":{"frames":[{"name":"f","file":"x","line":3},{"name":"g"}]}}' >speedscope
	printf '\0{"meta":{"processType":0,"preprocessedProfileVersion":48,"importedFrom":"unspool","startTime":9,"categories":[{"name":"Kernel"}]},"libs":[{"path":"/x"}],"threads":[{"name":"t","pid":"1","tid":2,"stringArray":["f","x","y.c"],"resourceTable":{"lib":[0],"name":[1]},"funcTable":{"name":[0],"resource":[0],"fileName":[2]},"frameTable":{"address":[16],"func":[0],"line":[7],"category":[0]},"stackTable":{"frame":[0,0],"prefix":[null,0]},"samples":{"stack":[1,0,null],"timeDeltas":[1,2,3],"weight":[1.5,2,3],"weightType":"tracing-ms"}}]}' >gecko
	printf '\0{"meta":{"processType":0},"threads":[{"name":"t","tid":2,"samples":{"schema":{"stack":0,"time":1},"data":[[1,3.0],[0]]},"frameTable":{"schema":{"location":0,"line":1},"data":[[0],[1,7]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},"stringTable":["f (in /x)","g (y.js:12:5)"]}],"processes":[]}' >gecko-raw
	printf '\0{"v":1,"t_ns":5,"pid":1,"tid":1,"comm":"c","cpu":0,"event":"e","period":7,"stop":"NO_CFI","stack":[{"ip":"0x10","sym":"f","inlined":true},{"ip":"0x10","sym":"g","off":3,"dso":"/x","build_id":"12ab","file":"y.c","line":7,"how":"stitched"}]}\n' >jsonl
	printf '\0{"v":2,"generator":"u"}\n{"event":1,"name":"e","unit":"nanoseconds"}\n{"task":1,"pid":1,"tid":1,"comm":"c"}\n{"module":1,"dso":"/x"}\n{"function":1,"sym":"f","module":1,"file":"y"}\n{"frame":1,"function":1,"ip":"0x10","off":3,"line":7}\n{"stack":1,"frames":[1]}\n{"t_ns":1,"task":1,"event":1,"period":5,"stack":1}\n' >jsonl2
	printf '\0# callgrind format\nversion: 1\ncreator: x\ncmd: /bin/p a\npositions: instr line\nevents: Ir Dr\nob=(1) /bin/p\nfl=(1) a.c\nfn=(1) f\n0x10 7 5 2\n+2 * 3\ncfn=(2) g\ncalls=1 0x20 9\n0x12 +1 100 7\nfn=(2)\n0x20 9 100 7\ntotals: 108 9\n' >callgrind
	printf '\0heap profile: 1: 64 [2: 96] @ heap_v2/1024\n 1: 64 [2: 96] @ 0x401156 0x401160\nMAPPED_LIBRARIES:\n00401000-00402000 r-xp 00001000 08:01 42 /bin/p\n' >heap
	printf '\0heap_v2/1024\n  t*: 1: 64 [0: 0]\n@ 0x401156 0x401160\n  t*: 1: 64 [0: 0]\n  t3: 1: 64 [0: 0]\n\nMAPPED_LIBRARIES:\n00401000-00402000 r-xp 00001000 08:01 42 /bin/p\n' >heap-jemalloc
	printf '\0--- symbol\nbinary=/bin/p\n0x401156 a--b\n---\n--- heap\nheap profile: 1: 64 [2: 96] @ heapprofile\n 1: 64 [2: 96] @ 0x401156 0x401160\n' >heap-raw
	printf '\0{"meta":{"processType":0,"preprocessedProfileVersion":60,"startTime":9,"categories":[{"name":"Kernel"}]},"libs":[{"path":"/x"}],"shared":{"stringArray":["f","g","y.js"],"resourceTable":{"lib":[0],"name":[1]},"funcTable":{"name":[0,1],"resource":[0,-1],"source":[null,0]},"frameTable":{"address":[16,-1],"func":[0,1],"line":[null,7],"category":[0,null]},"stackTable":{"frame":[0,1],"prefixOffset":[0,1]},"sources":{"filename":[2]}},"threads":[{"name":"t","processName":"p","pid":"1.2","tid":2,"markers":{"length":3},"samples":{"stack":[1,0,null],"time":[1,2,3],"weight":[1,-2,3],"weightType":"bytes"}}]}' >gecko-shared
	printf '\0{"profile":{"meta":{"processType":0,"startTime":5},"threads":[{"name":"GeckoMain","processName":"p","tid":2,"markers":{"data":[[0,1]]},"samples":{"schema":{"stack":0,"time":1},"data":[[0,3.0]]},"frameTable":{"schema":{"location":0,"line":1,"category":2},"data":[[0,null,0]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},"stringTable":["0x10"]}],"processes":[{"meta":{"startTime":9},"threads":[],"processes":[]}]}}' >gecko-wrapped
	printf '\0{"meta":{"processType":0},"threads":["{\\"meta\\":{\\"processType\\":2},\\"threads\\":[{\\"name\\":\\"t\\",\\"samples\\":{\\"schema\\":{\\"stack\\":0,\\"time\\":1},\\"data\\":[[0,3]]},\\"frameTable\\":{\\"schema\\":{\\"location\\":0},\\"data\\":[[0]]},\\"stackTable\\":{\\"schema\\":{\\"prefix\\":0,\\"frame\\":1},\\"data\\":[[null,0]]},\\"stringTable\\":[\\"f\\"]}]}"]}' >gecko-inner
	printf '\0# callgrind format\nversion: 1\npid: 7\nthread: 2\npart: 1\npositions: line\nevents: Ir Size(bytes)\nsummary: 9 9\nob=/p\nfi=(1) a.h\nfe=(1)\nfn=(2)\nfn=(2) f\n7 5 -1\ncob=(3) q\ncfi=(4) b.c\ncfl=(4)\ncfn=(5) ???\ncalls=2 9\n+1 0x10\njfi=(1)\njfn=(2)\njump=3 9\n* \njcnd=1/2 9\n-1\n' >callgrind-jumps
	printf '\0heap profile: 2: 96 [5: 240] @ growthz\n 1: 64 [2: 96] @ 0x401156\nMAPPED_LIBRARIES:\n00401000-00402000 r-xp 00001000 08:01 42 /bin/p (deleted)\nbuild=/x\n' >heap-growth
	printf '\0heap profile: 2: 96 [5: 240] @ heap/524288\n 1: 64 [2: 96] @ 0x401156 0x0\n' >heap-sampled
	# The same for each reader, which the content does not choose then.
	printf '\013a;b 1\n' >folded-chosen
	printf '\010@[\n    f+1\n]: 3\n' >bpftrace-chosen
	printf '\011x 12 1.0: cycles: \n\tff00 f (/x)\n\n' >script-chosen
	printf '\012    f\n    main [1]\n        17\n\n' >bcc-chosen
}

$1
