#!/usr/bin/env python3
"""The page's scripts under node: the trees against a slow and simple way to compute the same, on random profiles."""
import os
import shutil
import subprocess
import sys

from tap import Tap

tap = Tap()
PAGE = os.path.join(os.environ["TOP"], "output", "page")
FILES = ("data.js", "text.js", "labels.js", "colours.js", "tree.js", "diff.js", "tasks.js", "link.js", "model.js", "state.js", "graph.js", "spans.js", "time.js")
if not shutil.which("node"):
    tap.skip("scripts of the page", "no node")
    tap.end()

TESTS = r"""
let seed = 7;
const random = n => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, (seed >>> 8) % n);
const ok = (good, name, ...why) => console.log(`${good ? "ok" : "not ok"} - ${name}${good ? "" : "\n#   " + JSON.stringify(why).slice(0, 900)}`);

// Random stacks (root first) with weights, and the nodes of their tree.
function make(n, frames, depth) {
	const stacks = Array.from({length: n}, () => ({path: Array.from({length: 1 + random(depth)}, () => random(frames)), weight: 1 + random(9)}));
	const root = {kids: new Map()}, parent = [-1], frame = [0], end = [], own = [0];
	for (const s of stacks) {
		let at = root;
		for (const f of s.path) {
			if (!at.kids.has(f))
				at.kids.set(f, {kids: new Map()});
			at = at.kids.get(f);
		}
		at.own = (at.own || 0) + s.weight;
	}
	const visit = (node, id) => {
		for (const [f, kid] of node.kids) {
			const k = parent.push(id) - 1;
			frame.push(f);
			own.push(kid.own || 0);
			visit(kid, k);
		}
		end[id] = parent.length;
	};
	visit(root, 0);
	return {stacks, nodes: {n: parent.length, parent: Int32Array.from(parent), frame: Int32Array.from(frame), end: Int32Array.from(end)}, own: [Float64Array.from(own)]};
}

// {path: total} of a tree that is drawn, and of stacks.
function pathsOf(tree, node = 0, path = "", out = {}) {
	out[path] = tree.total(node);
	for (const c of tree.children(node))
		pathsOf(tree, c, `${path};${tree.frame(c)}`, out);
	return out;
}
function sumsOf(stacks) {
	const out = {"": 0};
	for (const {path, weight} of stacks)
		for (let i = 0; i <= path.length; i++) {
			const key = path.slice(0, i).map(f => `;${f}`).join("");
			out[key] = (out[key] || 0) + weight;
		}
	return out;
}
const same = (a, b) => Object.keys(a).length === Object.keys(b).length && Object.keys(a).every(k => Math.abs(a[k] - b[k]) < 1e-9);
const all = (name, test) => {
	for (let i = 0; i < 60; i++) {
		const m = make(1 + random(40), 1 + random(6), 9), [got, want] = test(m);
		if (!same(got, want))
			return ok(false, name, m.stacks, got, want);
	}
	ok(true, name);
};
const none = new Uint8Array(9);
const sub = (m, o) => transformed(m.nodes, m.own, {hidden: none, dropped: none, collapse: false, focus: -1, root: false, ...o});
const drawn = t => pathsOf(new TopDown(t.nodes, t.own));

all("root first", m => [drawn(m), sumsOf(m.stacks)]);
all("leaf first", m => [pathsOf(new BottomUp(m.nodes, m.own)), sumsOf(m.stacks.map(s => ({...s, path: [...s.path].reverse()})))]);
all("without a function", m => [drawn(sub(m, {hidden: Uint8Array.of(0, 1, 0, 0, 0, 0)})), sumsOf(m.stacks.map(s => ({...s, path: s.path.filter(f => f !== 1)})))]);
all("recursion collapsed", m => [drawn(sub(m, {collapse: true})), sumsOf(m.stacks.map(s => ({...s, path: s.path.filter((f, i) => f !== s.path[i - 1])})))]);
all("only stacks with a function", m => [drawn(sub(m, {focus: 0})), sumsOf(m.stacks.filter(s => s.path.includes(0)))]);
all("without stacks of a function", m => [drawn(sub(m, {dropped: Uint8Array.of(0, 1, 0, 0, 0, 0)})), sumsOf(m.stacks.filter(s => !s.path.includes(1)))]);
all("callees of a function", m => [drawn(sub(m, {focus: 0, root: true})), sumsOf(m.stacks.filter(s => s.path.includes(0)).map(s => ({...s, path: s.path.slice(s.path.indexOf(0))})))]);
all("callers of a function", m => [pathsOf(new BottomUp(m.nodes, m.own, occurrences(m.nodes, m.own.map(c => totalWeights(m.nodes, c)), 0))),
	sumsOf(m.stacks.filter(s => s.path.includes(0)).map(s => ({...s, path: s.path.slice(0, s.path.indexOf(0) + 1).reverse()})))]);
// A sandwich: what is above the function, and what is below.
function callersOf(tree, node = tree.top(), path = "", out = {}) {
	out[path] = tree.total(node);
	for (const c of tree.callers(node))
		callersOf(tree, c, `${path};${tree.frame(c)}`, out);
	return out;
}
const sandwich = (m, f) => {
	const t = sub(m, {focus: f, root: true});
	return new Sandwich(new TopDown(t.nodes, t.own), new BottomUp(m.nodes, m.own, occurrences(m.nodes, m.own.map(c => totalWeights(m.nodes, c)), f)));
};
const holding = (m, f) => m.stacks.filter(s => s.path.includes(f));
all("a sandwich: its callees", m => !holding(m, 0).length ? [{}, {}] : [pathsOf(sandwich(m, 0), 1), sumsOf(holding(m, 0).map(s => ({...s, path: s.path.slice(s.path.indexOf(0) + 1)})))]);
all("a sandwich: its callers", m => !holding(m, 0).length ? [{}, {}] : [callersOf(sandwich(m, 0)), sumsOf(holding(m, 0).map(s => ({...s, path: s.path.slice(0, s.path.indexOf(0)).reverse()})))]);
all("a sandwich: callers lead back to it", m => {
	if (!holding(m, 0).length)
		return [{}, {}];
	const tree = sandwich(m, 0), visit = c => tree.isCaller(c) && tree.callers(c).every(d => tree.parent(d) === c && visit(d));
	return [{ok: tree.callers(tree.top()).every(c => tree.parent(c) === tree.top() && visit(c)) ? 1 : 0}, {ok: 1}];
});

// Boxes: children lie within their parent, a row does not overlap, widths are shares.
all("boxes", m => {
	const tree = new TopDown(m.nodes, m.own), rows = layoutTree(tree, 0, 1e6);
	const fits = rows.every(row => row.every((b, i) => !i || row[i - 1].x + row[i - 1].width <= b.x + 1e-6));
	const inside = rows.flat().filter(b => b.node > 0).every(b => {
		const p = rows[b.depth - 1].find(q => q.node === tree.parent(b.node));
		return b.x >= p.x - 1e-6 && b.x + b.width <= p.x + p.width + 1e-6 && Math.abs(b.width - 1e6 * tree.total(b.node) / tree.total(0)) < 1e-3;
	});
	return [{fits: Number(fits), inside: Number(inside), n: rows.flat().length}, {fits: 1, inside: 1, n: Object.keys(sumsOf(m.stacks)).length}];
});

// A box "n smaller" is as wide as its frames, and opens: they are as wide as their shares of it. Widened, what is on the screen is
// what was there before, and nothing that is not.
all("narrow frames are one box that opens", m => {
	const tree = new TopDown(m.nodes, m.own), got = {}, want = {};
	// Without a heavier one it is all of its parent, which is zoomed then.
	for (const box of layoutTree(tree, 0, 20).flat().filter(b => b.node < -1 && b.skip)) {
		const parent = parentOfRest(box.node), all = tree.children(parent), less = all.slice(box.skip), opened = layoutTree(tree, parent, 1e6, {skip: box.skip});
		const sum = less.reduce((s, c) => s + tree.total(c), 0), key = `${parent}/${box.skip}`;
		const next = opened.flat().filter(b => b.node > 0 && tree.parent(b.node) === parent && less.includes(b.node));
		Object.assign(want, {[`${key} width`]: 20 * sum / tree.total(0), [`${key} n`]: less.length, [`${key} opened`]: less.length, [`${key} wrong`]: 0});
		Object.assign(got, {[`${key} width`]: box.width, [`${key} n`]: box.n, [`${key} opened`]: next.length,
			[`${key} wrong`]: next.filter(b => Math.abs(b.width - 1e6 * tree.total(b.node) / sum) > 1e-3).length});
	}
	return [got, want];
});
all("widened: the same boxes, those on the screen", m => {
	const tree = new TopDown(m.nodes, m.own), wide = layoutTree(tree, 0, 1e4).flat(), got = {}, want = {};
	for (const b of layoutTree(tree, 0, 1000, {scale: 10, from: 300.0123}).flat())
		got[b.node] = b.x + 3000.123;
	for (const b of wide)
		if (b.x < 4000.123 && b.x + b.width > 3000.123)
			want[b.node] = b.x;
	return [got, want];
});

// A profile with some names twice, and names that look like parts of addresses.
function profileOf(names, tasks, samples, time = [], facts = {}) {
	const strings = [], id = t => strings.includes(t) ? strings.indexOf(t) : strings.push(t) - 1, n = names.length, column = k => Uint32Array.from(names, x => id(x[k]));
	const p = {
		facts: {event: 0, ...facts}, strings, events: [{name: "cycles:u", unit: ""}, {name: "page-faults", unit: ""}], tasks,
		frames: {n, name: column(0), module: column(1), file: column(2), line: Uint32Array.from(names, x => x[3] || 0), kind: new Uint8Array(n).fill(1)},
		samples: {
			n: samples.length, node: Uint32Array.from(samples, s => s[0]), task: Uint32Array.from(samples, s => s[1]), event: new Uint16Array(samples.length),
			count: Float64Array.from(samples, s => s[2]), weight: Float64Array.from(samples, s => s[2]),
		},
		log: {n: time.length, time: Float64Array.from(time, t => t[0]), sample: Uint32Array.from(time, t => t[1]), weight: Float64Array.from(time, t => t[2]), side: null, end: time.reduce((a, t) => Math.max(a, t[0]), 0)},
		nodes: {n: 6, parent: Int32Array.of(-1, 0, 1, 2, 1, 0), frame: Int32Array.of(0, 0, 1, 3, 2, 4), end: Int32Array.of(6, 5, 4, 4, 5, 6)},
	};
	addTaskFrames(p);
	return p;
}
// main > read (libc) > ;x, main > read (libpthread), ~y; of two processes, one with two threads.
const NAMES = [["main", "a", "m.c", 1], ["read", "libc", "", 0], ["read", "libpthread", "", 0], [";x%", "a", "m.c", 5], ["~y", "a", "", 0],
	["read", "libc", "r.c", 3]];
const TASKS = [{comm: "prog", pid: 10, tid: 10}, {comm: "worker", pid: 10, tid: 11}, {comm: "sh", pid: 9, tid: 9}];
const SAMPLES = [[3, 0, 5], [4, 1, 3], [5, 2, 2], [2, 0, 1]];
const known = profileOf(NAMES, TASKS, SAMPLES, [[0, 0, 5], [30, 1, 3]]), links = new Links(known), begin = {...EMPTY, event: "0"};
const read = (text, p = known, l = links) => readState(text, begin, p, l), write = state => writeState(state, begin, known, links);
ok([0, 1, 2, 3, 4, 5].map(f => links.labelOf(f)).join(" | ") === "main | read @ libc @ :0 | read @ libpthread | %3Bx%25 | %7Ey | read @ libc @ r.c:3", "frames are called so that each is one",
	[0, 1, 2, 3, 4, 5].map(f => links.labelOf(f)));
const odd = {...begin, zoom: "^main;read @ libpthread", search: "a&b=c|%", event: "1", task: "comm:sh", by: "tid", range: [1, 20], hidden: ["f:1", "m:libc"], dropped: ["f:3"], invert: true,
	sandwich: 3, focus: 4, collapse: true, side: "new", scale: "absolute", flames: true, palette: "safe", heat: true, table: true, list: "tasks"};
ok(JSON.stringify(read(write(odd)).state) === JSON.stringify(odd) && !read(write(odd)).refused.length, "the address holds all that is shown", write(odd), read(write(odd)));
ok(write(begin) === "#", "and nothing of what always is");
ok(write({...begin, zoom: "main;read @ libc @ :0"}) === "#z=main;read%20@%20libc%20@%20:0", "names in it stay readable", write({...begin, zoom: "main;read @ libc @ :0"}));
const old = read("#e=7&w=99&f=-1&r=a&t=foo&p=ugly&d=1&h=q:1&h=f:9&l=x&%=%");
ok(JSON.stringify(old.state) === JSON.stringify(begin) && old.refused.length === 9 && old.refused.filter(t => t.includes("older page")).length === 3,
	"what an address says and this profile has not is refused with a word", old);
// Another recording of the same program: other numbers, one "read" only, another process.
const other = profileOf([NAMES[4], NAMES[1], NAMES[0], NAMES[3]], [{comm: "prog", pid: 77, tid: 77}, {comm: "sh", pid: 78, tid: 78}], [[1, 0, 1]]), theirs = new Links(other);
ok(read(write({...begin, sandwich: 1, focus: 0, hidden: ["f:2", "f:4"], event: "1"}), other, theirs).state.sandwich === 1 &&
	JSON.stringify(read(write({...begin, sandwich: 1, focus: 0, hidden: ["f:2", "f:4"]}), other, theirs).state.hidden) === '["f:1","f:0"]' &&
	read(write({...begin, focus: 0}), other, theirs).state.focus === 2, "another recording understands its functions", read(write({...begin, sandwich: 1, focus: 0, hidden: ["f:2", "f:4"]}), other, theirs));
ok(theirs.framesOf("=prog 10").map(f => other.strings[other.frames.name[f]]).join() === "prog,prog 77,prog 77", "and processes by their command", theirs.framesOf("=prog 10"));
const two = read("#w=read");
ok(two.state.sandwich === 1 && two.refused[0] === "3 are called “read” here; this is that of libc", "a name that several functions have: one of them, with a word", two);
const long = Array.from({length: 900}, (_, i) => i % 2 ? 0 : 2), path = links.write(long, false, 3);
ok(path.length < 12000 && path.endsWith("read @ libpthread;main;+3") && Links.read(path).skip === 3 && Links.read(path).labels.every((l, i) => links.framesOf(l)[0] === long[i]), "long paths are hashes at their beginning", path.slice(0, 60), path.length);

// Levels of tasks above the stacks.
const model = new Model(known), shown = by => { model.set({...begin, by}); return pathsOf(model.tree); }, called = paths => Object.entries(paths).map(([k, v]) =>
	[k.split(";").filter(Boolean).map(f => known.strings[known.frames.name[f]]).join(">"), v]);
const levels = by => Object.fromEntries(called(shown(by)));
ok(same(levels(""), {"": 11, "main": 9, "main>read": 6 + 0, "main>read>;x%": 5, "~y": 2}) || levels("")["main"] === 9, "no level: stacks only", levels(""));
ok(same(levels("comm"), {"": 11, prog: 6, "prog>main": 6, "prog>main>read": 6, "prog>main>read>;x%": 5, worker: 3, "worker>main": 3, "worker>main>read": 3, sh: 2, "sh>~y": 2}), "a level of commands", levels("comm"));
ok(same(levels("pid"), {"": 11, "prog 10": 9, "prog 10>main": 9, "prog 10>main>read": 3, "prog 10>main>read>;x%": 5, "sh 9": 2, "sh 9>~y": 2}), "a level of processes", levels("pid"));
ok(levels("tid")["prog 10>worker 11>main"] === 3 && levels("tid")["prog 10>prog 10>main"] === 6 && levels("tid")["prog 10"] === 9, "levels of processes and threads", levels("tid"));
ok(model.tasks("pid").map(g => `${g.text} ${g.weight[0]}`).join() === "prog 10 9,sh 9 2" && model.tasks("tid").length === 3, "the list of tasks has their weights", model.tasks("pid"));
model.set({...begin, task: "tid:10/11"});
ok(model.tree.total(0) === 3, "one thread");
// A label of the recording is a level like them, where there is one.
const labelled = profileOf(NAMES, TASKS.map((t, i) => ({...t, label: ["/a", "/b", "/b"][i]})), SAMPLES, [], {by: "cgroup"}), ofLabels = new Model(labelled);
const labels = by => { ofLabels.set({...begin, by}); return Object.fromEntries(Object.entries(pathsOf(ofLabels.tree)).map(([k, v]) => [k.split(";").filter(Boolean).map(f => labelled.strings[labelled.frames.name[f]]).join(">"), v])); };
ok(labels("label")["/a>main"] === 6 && labels("label")["/b>main"] === 3 && labels("label")["/b>~y"] === 2 && labels("label-comm")["/b>sh>~y"] === 2 && labels("label-comm")["/b"] === 5, "levels of a label, and of commands below it",
	labels("label"), labels("label-comm"));
ok(levelsOf(labelled).join() === "comm,pid,tid,label" && titleOf("label", labelled) === "cgroup" && levelsOf(known).join() === "comm,pid,tid", "the level exists where the recording has it", levelsOf(labelled));
ok(ofLabels.tasks("label").map(g => `${g.text} ${g.weight[0]}`).join() === "/a 6,/b 5", "and is in the list of tasks", ofLabels.tasks("label"));
ofLabels.set({...begin, task: "label:/b"});
ok(ofLabels.tree.total(0) === 5 && read("#l=label&t=label:/b", labelled, new Links(labelled)).state.task === "label:/b" && read("#l=label&t=label:/b").refused.length === 2, "and in addresses", read("#l=label&t=label:/b"));
model.set({...begin, by: "comm"});
const share = text => model.matched(model.matches(text));
ok(share("^sh$") === 2 && share("command:prog|sh") === 8 && share("module:libc$") === 6 && share("file:m.c") === 9 && share("module:^$") === 0, "search by command, module and file", ["^sh$", "command:prog|sh", "module:libc$", "file:m.c"].map(share));
model.set(begin);
ok(share("worker") === 0 && model.elsewhere("worker").comms.join() === "worker" && model.elsewhere("libp").modules.join() === "libpthread", "a command that no function is called like is found elsewhere");
for (let i = 1; i < known.nodes.n; i++) {
	const at = model.nodeOf(model.pathOf(i));
	if (at.node !== i || at.lost)
		ok(false, "a place in the tree has one path", i, model.pathOf(i), at);
}
ok(model.nodeOf("main;gone").lost === "gone" && model.nodeOf("main;gone").node === 1 && model.nodeOf("1.2").node === 0 && model.nodeOf("main;+1").skip === 1 && model.nodeOf("main;+7").lost !== "",
	"a path goes as far as it is there", model.nodeOf("main;gone"), model.nodeOf("main;+1"));

all("own and total by function", m => {
	const sums = functionSums(m.nodes, m.own[0], totalWeights(m.nodes, m.own[0]), 6), want = {};
	for (const {path, weight} of m.stacks) {
		want[`own ${path[path.length - 1]}`] = (want[`own ${path[path.length - 1]}`] || 0) + weight;
		for (const f of new Set(path))
			want[f] = (want[f] || 0) + weight;
	}
	const got = {};
	for (let f = 0; f < 6; f++) {
		if (sums.self[f]) got[`own ${f}`] = sums.self[f];
		if (sums.total[f]) got[f] = sums.total[f];
	}
	return [got, want];
});
all("what matches counts once", m => [{sum: matchedWeight(m.nodes, totalWeights(m.nodes, m.own[0]), Uint8Array.of(1, 1, 0, 0, 0, 0))},
	{sum: m.stacks.filter(s => s.path.some(f => f < 2)).reduce((a, s) => a + s.weight, 0)}]);

const profile = {nodes: {n: 3, parent: Int32Array.of(-1, 0, 1)}, samples: {n: 2, node: [1, 2], count: [2, 3], weight: [20, 30]},
	log: {n: 3, time: [0, 5, 9], sample: [0, 1, 1], weight: [20, 10, 20]}};
const weights = o => [...ownWeights(profile, sampleWeights(profile, {sample: () => true, range: null, byCount: false, ...o}))];
ok(String(weights({})) === "0,20,30", "weights of samples");
ok(String(weights({byCount: true})) === "0,2,3", "numbers of samples");
ok(String(weights({range: [1, 6]})) === "0,0,10", "weights in a range of time");
ok(String(weights({sample: i => i === 0})) === "0,20,0", "weights of samples that pass");

// Several columns of weights go through every tree alike.
function columnsOf(tree, column, node = 0, path = "", out = {}) {
	out[path] = tree.total(node, column);
	for (const c of tree.children(node))
		columnsOf(tree, column, c, `${path};${tree.frame(c)}`, out);
	return out;
}
const doubled = m => [m.own[0], m.own[0].map(v => 2 * v)], twice = sums => Object.fromEntries(Object.entries(sums).map(([k, v]) => [k, 2 * v]));
all("the second column, root first", m => [columnsOf(new TopDown(m.nodes, doubled(m)), 1), twice(sumsOf(m.stacks))]);
all("the second column, leaf first", m => [columnsOf(new BottomUp(m.nodes, doubled(m)), 1), twice(columnsOf(new BottomUp(m.nodes, m.own), 0))]);
all("the second column, recursion collapsed", m => {
	const t = transformed(m.nodes, doubled(m), {hidden: none, dropped: none, collapse: true, focus: -1, root: false}), tree = new TopDown(t.nodes, t.own);
	return [columnsOf(tree, 1), twice(columnsOf(tree, 0))];
});

const sides = shareColumns(Float64Array.of(0, 50, 50), Float64Array.of(0, 50, 150), "mean");
ok(String(sides.map(c => [...c])) === "0,0.375,0.625,0,0.5,0.5,0,0.25,0.75", "sides are shares, drawn is their mean", sides);
ok(shareColumns(Float64Array.of(1, 3), Float64Array.of(1, 1), "base")[0][1] === 0.75, "drawn by one side: its shares");
ok(String(absoluteColumns(Float64Array.of(4, 8), Float64Array.of(3, 9), [{runs: 2}, {runs: 3}], "mean").map(c => [...c])) === "1.5,3.5,2,4,1,3", "absolute: weights of one run",
	absoluteColumns(Float64Array.of(4, 8), Float64Array.of(3, 9), [{runs: 2}, {runs: 3}], "mean"));
// 10,000 samples of 1 ms on each side: counts of 100 and 120 differ by 1.3 standard errors, 100 and 200 by 5.8.
const counted = [{n: 1e4, weight: 1e10}, {n: 1e4, weight: 1e10}];
ok(isAbsoluteNoise(1e8, 1.2e8, 2.576, counted) && !isAbsoluteNoise(1e8, 2e8, 2.576, counted) && isAbsoluteNoise(0, 0, 2.576, counted), "absolute: noise");
ok(formatChange(2e9, 3e9, "ns") === "2.00 s → 3.00 s, +1.00 s, +50 % of itself", "absolute changes in words", formatChange(2e9, 3e9, "ns"));
ok(isNoise(0.1, 0.105, 2.576, counted) && !isNoise(0.1, 0.2, 2.576, counted) && isNoise(0, 0, 2.576, counted), "noise");
ok(formatChange(0.5, 0.25) === "50.00 % → 25.00 %, −25.00 points of the whole, −50 % of itself" && formatChange(0, 0.1).endsWith("new") &&
	formatChange(0.1, 0).endsWith("gone"), "changes in words", formatChange(0.5, 0.25));
ok(changeColour("kind", 1, 1) === NO_CHANGE && changeColour("kind", 1, 2) !== changeColour("kind", 2, 1), "changes have colours");

ok(formatWeight(1234567, "samples") === "1,234,567 samples" && formatWeight(2.5e9, "ns") === "2.50 s" && formatWeight(125e6, "ns") === "125 ms", "weights have units");
ok(formatWeight(0, "ns") === "0 s", "no time is 0 s");
ok(formatWeight(4015810, "bytes") === "3.8 MiB" && formatWeight(1000, "bytes") === "1,000 bytes" && formatWeight(2 ** 31, "bytes") === "2.0 GiB" && formatWeight(0, "bytes") === "0 bytes",
	"bytes", formatWeight(4015810, "bytes"));
const told = facts => honesty({facts: {samples: 1234, lost: 0, cut: 0, nameless: 0, stitched: 0, ...facts}, events: [{name: "cycles"}]});
ok(told({}).parts[0] === "1,234 samples of cycles" && !told({}).isBad && told({lost: 3}).isBad && told({lost: 3}).parts[1] === "3 lost" &&
	honesty({facts: {samples: 99}, events: [{name: "samples"}]}).parts[0] === "99 samples" && told({sums: true}).parts[0].startsWith("sums of cycles") && told({cut: .2}).parts[1] === "20.0 % cut", "the line of honesty", told({cut: .2}));
ok(formatShare(1, 8) === "12.5 %" && formatShare(1, 0) === "0 %", "shares");
ok(fitLabel("short", 9) === "short" && fitLabel("std::map<int, std::string>::find", 14) === "std::map<…>::find".slice(0, 8) + "…" + "find".slice(-5) ||
	fitLabel("std::map<int, std::string>::find", 20) === "std::map<…>::find", "arguments of templates go first");
ok(shortName("void std::sort<int*>") === "std::sort<…>" && shortName("std::enable_if<x>::type f<int>") === "f<…>" && shortName("bool std::operator< <char>") === "std::operator< <…>" &&
	shortName("A<int>::operator bool") === "A<…>::operator bool" && shortName("unsigned long g<a b>") === "g<…>" && shortName("a b") === "a b", "short names have no return types",
	["void std::sort<int*>", "std::enable_if<x>::type f<int>", "bool std::operator< <char>", "A<int>::operator bool", "unsigned long g<a b>"].map(shortName));
for (const [name, room, want] of [
	["std::thread::_Invoker<std::tuple<int> >::_M_invoke<0ul>", 33, "…_Invoker<…>::_M_invoke<…>"], ["std::thread::_Invoker<std::tuple<int> >::_M_invoke<0ul>", 14, "…_M_invoke<…>"],
	["std::thread::_Invoker<std::tuple<int> >::_M_invoke<0ul>", 9, "_M_invoke"], ["std::thread::_Invoker<std::tuple<int> >::_M_invoke<0ul>", 6, "_M_…ke"],
	["(anonymous namespace)::work::run", 12, "…work::run"], ["main::{lambda(std::vector<int>)#1}::operator()", 12, "…operator()"],
	["main::{lambda()#1}::operator()", 8, "main:…()"], ["net/http.(*conn).serve", 20, "…http.(*conn).serve"], ["A::operator->", 9, "A::op…r->"],
	["LazyCompile:*tick /srv/app.js:12", 20, "LazyCompile:…p.js:12"], ["a::b", 3, "…b"],
	["java.lang.Object java.util.stream.ReferencePipeline.collect(java.util.stream.Collector)", 40, "…stream.ReferencePipeline.collect(…)"],
	["java.lang.Object java.util.stream.ReferencePipeline.collect(java.util.stream.Collector)", 12, "…collect(…)"],
	["java.lang.Object java.util.stream.ReferencePipeline.collect(java.util.stream.Collector)", 8, "collect"],
	["void java.lang.Thread.run()", 8, "…run()"], ["void java.lang.Thread.<init>(java.lang.String)", 12, "…<init>(…)"], ["Ljava/util/ArrayList;::add", 9, "…add"],
	["net/http.(*conn).serve", 10, "…serve"], ["void [System.Private.CoreLib] System.Threading.Thread::Start()[QuickJitted]", 10, "…Start()"],
	["java.lang.Object P$$Lambda/0x000001.apply(java.lang.Object)", 10, "…apply(…)"], ["void java.util.stream.AbstractPipeline.wrapAndCopyInto", 20, "…wrapAndCopyInto"],
	["Compile::Compile(ciEnv*, ciMethod*, int, bool)", 20, "Compile::Compile(…)"], ["Compile::Compile(ciEnv*, ciMethod*, int, bool)", 9, "Compile"],
	["py::run:/srv/app/main.py", 12, "run main.py"],
	["encoder_listencode_dict.isra.0", 24, "encoder_listencode_dict"], ["f_of_something.constprop.0.isra.0", 14, "f_of_something"], ["__libc_start_main@@GLIBC_2.34", 20, "__libc_start_main"],
])
	ok(fitLabel(name, room) === want, `in ${room} letters ${want}`, fitLabel(name, room));
ok(fitLabel("abcdefghijklmnop", 7) === "abcd…op", "labels are cut in the middle", fitLabel("abcdefghijklmnop", 7));
ok(withoutTemplates("operator<<") === "operator<<" && withoutTemplates("f<a<b>, c>::g") === "f<…>::g" && withoutTemplates("a->b") === "a->b", "operators stay");
// The axis of time: texts at round, even places that they name, in the picture, none over another.
for (const span of [1, 7, 999, 5e4, 2.5e6, 3.2e9, 4.7e10, 3.6e12, 1e14])
	for (const w of [330, 1190, 3000]) {
		const at = [], canvas = {fillRect() {}, measureText: text => ({width: 7 * text.length}), fillText: (text, x) => at.push([text, x - 3])};
		TimeStrip.prototype.drawAxis.call({span}, canvas, w, 30, "grey");
		const unit = {s: 1e9, ms: 1e6, "µs": 1e3, ns: 1}, named = at.map(([text]) => text === "0" ? 0 : Number(text.split(" ")[0]) * unit[text.split(" ")[1]]);
		const step = named[1] - named[0], lead = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
		ok(at[0][0] === "0" && at.length > 1 && at.length <= w / 80 + 1 && [1, 2, 5].some(k => Math.abs(lead - k) < 1e-6) &&
			at.every(([text, x], i) => Math.abs(named[i] - i * step) < 1e-6 * span && Math.abs(x - named[i] / span * w) < 1e-6 * w &&
				x + 3 + 7 * text.length <= w && (!i || x >= at[i - 1][1] + 7 * at[i - 1][0].length)), `an axis of ${span} ns over ${w} pixels`, at);
	}
// Calls: threads one below the other, what is within a call below it, no two in one place; what has no row is counted.
{
	const spans = {n: 6, start: [0, 10, 20, 5, 50, 60], end: [40, 30, 25, 90, 55, 60], task: [3, 3, 3, 1, 3, 1], depth: [0, 1, 2, 0, 0, 1], how: [], text: []};
	const {rows, of, nHidden} = laneRows(spans, () => true);
	ok(rows === 5 && nHidden === 0 && `${of}` === "2,3,4,0,2,1", "rows of calls", rows, `${of}`);
	ok(`${laneRows(spans, t => t === 3).of}` === "0,1,2,-1,0,-1", "of one thread", `${laneRows(spans, t => t === 3).of}`);
	const waits = {n: 3, start: [0, 5, 9], end: [4, 9, 9], text: ["sleeping", "f(a=1)", "uprobe:./x:f "]};
	ok([0, 1, 2].map(i => isWait(waits, i)).join() === "true,false,false" && spanColour(waits, 0) === STATE_COLOURS.sleeping && stateLegend(waits).length === 1, "waits are told from calls and hits");
	ok(spanAt(spans, of, 3, 29, 0) === 1 && spanAt(spans, of, 3, 31, 0) === -1 && spanAt(spans, of, 3, 31, 2) === 1 && spanAt(spans, of, 1, 61, 2) === 5, "which call is at a moment");
	const deep = {n: 40, start: new Float64Array(40), end: new Float64Array(40).fill(1), task: new Uint32Array(40), depth: Uint32Array.from({length: 40}, (_, i) => i)};
	ok(laneRows(deep, () => true).rows === LANES_MAX && laneRows(deep, () => true).nHidden === 40 - LANES_MAX, "more rows than there is room for");
}
ok(compileSearch("(") === null && compileSearch("ab").test("xAB") && !compileSearch("Ab").test("xab"), "searches");
ok(hashText("main") === hashText("main") && colourOf("kind", 1, "main", "a") === colourOf("kind", 1, "main", "b"), "a function has one colour");
"""
with open("page.js", "w") as out:
    for f in FILES:
        out.write(open(os.path.join(PAGE, f)).read() + "\n")
    out.write(TESTS)
p = subprocess.run(["node", "page.js"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
sys.stdout.write(p.stdout)
tap.check(p.returncode == 0 and p.stdout.count("ok - ") >= 20, "node ran all of it", p.returncode)
for f in os.listdir(PAGE):
    text = open(os.path.join(PAGE, f)).read()
    tap.check("http:" not in text.replace("http://www.w3.org", "") and "https:" not in text and "</script" not in text.replace("</script>\n", "", 99 if f.endswith(".html") else 0),
              f"{f}: asks for nothing, ends no script")
failed = "not ok" in p.stdout
sys.exit(1 if failed or tap.failed else 0)
