// data.js - reads the profile that page_data.c wrote: a deflated stream of numbers (LEB128) and strings.

async function inflate(base64) {
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = text.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A cursor over the bytes.
class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	number() {
		let value = 0, scale = 1, b;
		do {
			b = this.bytes[this.at++];
			value += (b & 127) * scale;
			scale *= 128;
		} while (b > 127);
		return value;
	}

	signed() {
		const v = this.number();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	}

	column(n, array) {
		for (let i = 0; i < n; i++)
			array[i] = this.number();
		return array;
	}

	strings() {
		const n = this.number(), lengths = this.column(n, new Uint32Array(n)), decoder = new TextDecoder();
		return Array.from(lengths, length => decoder.decode(this.bytes.subarray(this.at, this.at += length)));
	}
}

// What weights of an event are; "": events.
const UNITS = [ "", "ns", "bytes" ];

// {facts, strings, frames {functions, n, name, module, file, line, kind}, levels, nodes {parent, frame, end}, changes, events, tasks, samples, log, spans}
// Nodes are in preorder, node 0 is the root; the nodes below i are those from i + 1 to end[i] - 1.
function decodeProfile(bytes) {
	const r = new Reader(bytes), p = {strings: r.strings()};
	p.facts = JSON.parse(p.strings[r.number()]);
	let n = r.number();
	p.frames = {
		n,
		name: r.column(n, new Uint32Array(n)), module: r.column(n, new Uint32Array(n)), file: r.column(n, new Uint32Array(n)),
		line: r.column(n, new Uint32Array(n)), kind: r.column(n, new Uint8Array(n)),
	};
	p.nodes = decodeNodes(r);
	p.changes = p.facts.diff ? decodeChanges(r, p) : null;
	n = r.number();
	p.events = Array.from({length : n},
			      () => ({name : p.strings[r.number()], unit : UNITS[r.number()]}));
	n = r.number();
	p.tasks = Array.from({length: n}, () => ({comm: p.strings[r.number()], pid: r.signed(), tid: r.signed(), label: p.facts.by ? p.strings[r.number()] : ""}));
	n = r.number();
	p.samples = {
		n,
		node: r.column(n, new Uint32Array(n)), event: r.column(n, new Uint16Array(n)), task: r.column(n, new Uint32Array(n)),
		count: r.column(n, new Float64Array(n)), weight: r.column(n, new Float64Array(n)),
	};
	p.log = decodeLog(r, Boolean(p.facts.diff));
	p.spans = decodeSpans(r, p);
	addTaskFrames(p);
	return p;
}

// By frame: how many standard errors of a change are noise; what a comparison found out.
function decodeChanges(r, {frames, strings, facts}) {
	const limit = r.column(frames.n, new Float64Array(frames.n)).map(v => v / 100), verdicts = [];
	for (let f = 0; f < frames.n && facts.diff.judged; f++)
		verdicts.push({text: strings[r.number()], details: strings[r.number()], isSignificant: r.number() === 1});
	return {limit, verdicts};
}

function decodeNodes(r) {
	const n = r.number(), parent = new Int32Array(n), frame = new Int32Array(n), end = new Int32Array(n), path = [];
	const ups = r.column(n, new Uint32Array(n));
	r.column(n, frame);
	for (let i = 0; i < n; i++) {
		for (let up = ups[i]; up; up--)
			end[path.pop()] = i;
		parent[i] = path.length ? path[path.length - 1] : -1;
		path.push(i);
	}
	for (const i of path)
		end[i] = n;
	return {n, parent, frame, end};
}

// Every sample in time order: when (nanoseconds since the first), which of the samples it is, its weight. Of a difference run by run,
// with its side: 0 base, 1 new. end: the last time.
function decodeLog(r, isDiff) {
	const n = r.number(), time = new Float64Array(n), sample = new Uint32Array(n), weight = new Float64Array(n);
	let now = 0;
	for (let i = 0; i < n; i++)
		time[i] = now += r.signed();
	r.column(n, sample);
	r.column(n, weight);
	return {n, time, sample, weight, side: isDiff ? r.column(n, new Uint8Array(n)) : null, end: time.reduce((a, b) => Math.max(a, b), 0)};
}

// Calls: when they begin and end, how many are around them, whose they are (number of the task), what is known of their end, and in words.
function decodeSpans(r, {log, samples, strings}) {
	const nLeftOut = r.number(), n = r.number(), start = new Float64Array(n), end = new Float64Array(n), task = new Uint32Array(n);
	let entry = 0;
	for (let i = 0; i < n; i++) {
		entry += r.number();
		start[i] = log.time[entry];
		task[i] = samples.task[log.sample[entry]];
	}
	for (let i = 0; i < n; i++)
		end[i] = start[i] + r.number();
	const depth = r.column(n, new Uint32Array(n)), how = r.column(n, new Uint8Array(n));
	return {n, nLeftOut, start, end, task, depth, how, text: Array.from({length: n}, () => strings[r.number()])};
}
