#!/usr/bin/env python3
"""The page's scripts under node: the trees against a slow and simple way to compute the same, on random profiles."""
import os
import shutil
import subprocess
import sys

from tap import Tap

tap = Tap()
PAGE = os.path.join(os.environ["TOP"], "output", "page")
FILES = ("data.js", "text.js", "labels.js", "colours.js", "tree.js", "diff.js", "model.js", "state.js", "graph.js")
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

const known = {frames: {n: 9}, events: [1, 2]}, begin = {...EMPTY, event: "0"};
const odd = {...begin, zoom: "^1.2", search: "a&b=c|%", event: "1", task: "comm:x y", range: [1, 20], hidden: ["f:1", "m:lib|x"], dropped: ["f:3"], invert: true,
	sandwich: 3, focus: 4, collapse: true, side: "new", flames: true, palette: "safe", heat: true, table: true};
ok(JSON.stringify(readState(writeState(odd, begin), begin, known)) === JSON.stringify(odd), "the address holds all that is shown", writeState(odd, begin));
ok(writeState(begin, begin) === "#", "and nothing of what always is");
ok(JSON.stringify(readState("#z=x&e=7&w=99&f=-1&r=a&t=foo&p=ugly&d=1&h=q:1&%=%", begin, known)) === JSON.stringify(begin), "an address that says nonsense is ignored",
	readState("#z=x&e=7&w=99&f=-1&r=a&t=foo&p=ugly&d=1&h=q:1&%=%", begin, known));

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
const weights = o => [...selfWeights(profile, {sample: () => true, range: null, byCount: false, ...o})];
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

const sides = differenceColumns(Float64Array.of(0, 50, 50), Float64Array.of(0, 50, 150), "mean");
ok(String(sides.map(c => [...c])) === "0,0.375,0.625,0,0.5,0.5,0,0.25,0.75", "sides are shares, drawn is their mean", sides);
ok(differenceColumns(Float64Array.of(1, 3), Float64Array.of(1, 1), "base")[0][1] === 0.75, "drawn by one side: its shares");
ok(isNoise(0.1, 0.105, 2.576, 2e-4) && !isNoise(0.1, 0.2, 2.576, 2e-4) && isNoise(0, 0, 2.576, 2e-4), "noise");
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
])
	ok(fitLabel(name, room) === want, `in ${room} letters ${want}`, fitLabel(name, room));
ok(fitLabel("abcdefghijklmnop", 7) === "abcd…op", "labels are cut in the middle", fitLabel("abcdefghijklmnop", 7));
ok(withoutTemplates("operator<<") === "operator<<" && withoutTemplates("f<a<b>, c>::g") === "f<…>::g" && withoutTemplates("a->b") === "a->b", "operators stay");
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
