// tree.js - what can be drawn: trees over the profile's nodes, in several orders. All have
//	frame(i), total(i), self(i), parent(i), children(i) heaviest first, of which none is empty; 0 is the root;
//	top() the first that is drawn; callers(i) heaviest first, and isCaller(i): what a sandwich has on its other side.
// Weights come as a list of columns: one, or of a difference three: what is drawn, base, new. total() and self() take
// the number of the column, which children() are sorted by the first of.

// Weight of every sample that passes, of the others 0. side: "count" or "weight".
function sampleWeights(profile, passes, side = passes.byCount ? "count" : "weight") {
	const {samples, log} = profile, out = new Float64Array(samples.n);
	if (passes.range && log.n) {
		const [from, to] = passes.range, sideNumber = side === "count" ? 0 : 1;
		for (let i = 0; i < log.n; i++)
			if (log.time[i] >= from && log.time[i] <= to && passes.sample(log.sample[i]) && (!log.side || log.side[i] === sideNumber))
				out[log.sample[i]] += passes.byCount && !log.side ? 1 : log.weight[i];
		return out;
	}
	for (let i = 0; i < samples.n; i++)
		if (passes.sample(i))
			out[i] = samples[side][i];
	return out;
}

// Own weight of every node.
function ownWeights({nodes, samples}, weights) {
	const own = new Float64Array(nodes.n);
	for (let i = 0; i < samples.n; i++)
		own[samples.node[i]] += weights[i];
	return own;
}

function totalWeights(nodes, own) {
	const total = own.slice();
	for (let i = nodes.n - 1; i > 0; i--)
		total[nodes.parent[i]] += total[i];
	return total;
}

// The profile's own tree, root first.
class TopDown {
	constructor(nodes, own, totals = own.map(column => totalWeights(nodes, column))) {
		this.nodes = nodes;
		this.own = own;
		this.totals = totals;
		this.sorted = new Map();
	}

	top() { return 0; }
	isCaller() { return false; }
	callers() { return []; }
	frame(i) { return this.nodes.frame[i]; }
	total(i, column = 0) { return this.totals[column][i]; }
	self(i, column = 0) { return this.own[column][i]; }
	parent(i) { return this.nodes.parent[i]; }

	children(i) {
		let list = this.sorted.get(i);
		if (!list) {
			const totals = this.totals[0];
			list = [];
			for (let c = i + 1; c < this.nodes.end[i]; c = this.nodes.end[c])
				if (totals[c] > 0)
					list.push(c);
			list.sort((a, b) => totals[b] - totals[a] || this.nodes.frame[a] - this.nodes.frame[b]);
			this.sorted.set(i, list);
		}
		return list;
	}
}

// Which nodes have a frame among those that are around them, or are of it themselves.
function nodesInside(nodes, frame) {
	const inside = new Uint8Array(nodes.n);
	for (let i = 1; i < nodes.n; i++)
		inside[i] = inside[nodes.parent[i]] || nodes.frame[i] === frame ? 1 : 0;
	return inside;
}

// Which nodes have a frame somewhere below them.
function nodesAbove(nodes, total, frame) {
	const above = new Uint8Array(nodes.n);
	for (let i = nodes.n - 1; i > 0; i--)
		if (above[i] || (nodes.frame[i] === frame && total[i] > 0))
			above[nodes.parent[i]] = 1;
	return above;
}

const STAYS = 0, MOVES_UP = 1, GOES = 2, IS_AROUND = 3;

// What becomes of every node; by node, too: does anything happen below it?
function fates(nodes, total, {hidden, dropped, collapse, focus, root}) {
	const {n, parent, frame} = nodes, fate = new Uint8Array(n), isTouched = new Uint8Array(n);
	const inside = focus >= 0 && !root ? nodesInside(nodes, focus) : null, above = inside && nodesAbove(nodes, total, focus);
	for (let i = n - 1; i > 0; i--) {
		const f = frame[i];
		if (dropped[f] || (inside && !inside[i] && !above[i]))
			fate[i] = GOES;
		else if (hidden[f])
			fate[i] = MOVES_UP;
		else if (inside && !inside[i])
			fate[i] = IS_AROUND;
		if (fate[i] || isTouched[i] || (collapse && f === frame[parent[i]] && parent[i] > 0))
			isTouched[parent[i]] = 1;
	}
	fate[0] = inside ? IS_AROUND : STAYS;
	return {fate, isTouched};
}

// Groups nodes anew, in preorder: what nothing happens below is copied as it is.
class Regrouping {
	constructor(nodes, own, what) {
		Object.assign(this, {nodes, own, collapse: what.collapse, n: 0, todo: []});
		this.total = totalWeights(nodes, own[0]);
		Object.assign(this, fates(nodes, this.total, what));
		this.out = {parent: new Int32Array(nodes.n + 2), frame: new Int32Array(nodes.n + 2), end: new Int32Array(nodes.n + 2)};
		this.weights = own.map(() => new Float64Array(nodes.n + 2));
	}

	add(parent, frame) {
		this.out.parent[this.n] = parent;
		this.out.frame[this.n] = frame;
		return this.n++;
	}

	weigh(id, node) {
		if (this.fate[node] !== IS_AROUND)
			this.own.forEach((column, k) => this.weights[k][id] += column[node]);
	}

	// A node and all below it.
	copy(node, parent) {
		const {nodes, out} = this, by = this.n - node, end = nodes.end[node];
		for (let i = node; i < end; i++) {
			out.parent[i + by] = nodes.parent[i] + by;
			out.frame[i + by] = nodes.frame[i];
			out.end[i + by] = nodes.end[i] + by;
		}
		out.parent[this.n] = parent;
		this.own.forEach((column, k) => this.weights[k].set(column.subarray(node, end), this.n));
		this.n += end - node;
	}

	// The children of several nodes that are one now, by frame; `sources` grows by those that move up.
	children(sources, id, frame) {
		const groups = new Map(), {nodes} = this;
		for (let k = 0; k < sources.length; k++) {
			this.weigh(id, sources[k]);
			for (let c = sources[k] + 1; c < nodes.end[sources[k]]; c = nodes.end[c]) {
				const f = nodes.frame[c];
				if (this.total[c] <= 0 || this.fate[c] === GOES)
					continue;
				if (this.fate[c] === MOVES_UP || (this.collapse && f === frame))
					sources.push(c);
				else if (groups.has(f))
					groups.get(f).push(c);
				else
					groups.set(f, [c]);
			}
		}
		return groups;
	}

	// Makes one node of several, and asks for its children.
	merge(sources, parent, frame) {
		if (sources.length === 1 && sources[0] > 0 && !this.isTouched[sources[0]] && this.fate[sources[0]] !== IS_AROUND)
			return this.copy(sources[0], parent);
		const id = this.add(parent, frame), groups = this.children(sources, id, frame);
		this.todo.push({id});
		for (const [f, nodes] of [...groups].reverse())
			this.todo.push({sources: nodes, parent: id, frame: f});
		return undefined;
	}

	run() {
		while (this.todo.length) {
			const t = this.todo.pop();
			if (t.sources)
				this.merge(t.sources, t.parent, t.frame);
			else
				this.out.end[t.id] = this.n;
		}
		const {n, out} = this;
		return {
			nodes: {n, parent: out.parent.subarray(0, n), frame: out.frame.subarray(0, n), end: out.end.subarray(0, n)},
			own: this.weights.map(column => column.subarray(0, n)),
		};
	}
}

// The tree without some frames (hidden), without stacks that have some (dropped), with recursion collapsed, or only of
// stacks with `focus` (a frame; -1: all), which with `root` begin with it.
function transformed(nodes, own, what) {
	const g = new Regrouping(nodes, own, what);
	if (!what.root) {
		g.merge([0], -1, -1);
		return g.run();
	}
	const {at} = occurrences(nodes, [g.total], what.focus);
	g.add(-1, -1);
	g.todo.push({id: 0});
	if (at.length)
		g.todo.push({sources: at, parent: 0, frame: what.focus});
	return g.run();
}

// Leaf first: who called what ran. A node's children are made when they are asked for. `starts`: where stacks begin
// (nodes, and their weights by column); without, where samples were taken.
class BottomUp {
	constructor(nodes, own, starts = leaves(nodes, own)) {
		this.nodes = nodes;
		this.weights = starts.weights;
		// at: how far the stacks of an item have been followed; start: which of the starts they are.
		this.items = [this.item(-1, -1)];
		this.items[0].at = starts.at;
		this.items[0].start = starts.at.map((_, k) => k);
		this.items[0].total = this.weights.map(column => column.reduce((a, b) => a + b, 0));
	}

	item(frame, parent) {
		return {frame, parent, at: [], start: [], total: this.weights.map(() => 0), children: null};
	}

	top() { return 0; }
	isCaller() { return false; }
	callers() { return []; }
	frame(i) { return this.items[i].frame; }
	total(i, column = 0) { return this.items[i].total[column]; }
	parent(i) { return this.items[i].parent; }

	self(i, column = 0) {
		return this.total(i, column) - this.children(i).reduce((sum, c) => sum + this.total(c, column), 0);
	}

	children(i) {
		const item = this.items[i], groups = new Map();
		if (item.children)
			return item.children;
		for (let k = 0; k < item.at.length; k++) {
			const node = i === 0 ? item.at[k] : this.nodes.parent[item.at[k]];
			if (node <= 0)
				continue;
			const f = this.nodes.frame[node];
			let g = groups.get(f);
			if (!g)
				groups.set(f, g = this.item(f, i));
			g.at.push(node);
			g.start.push(item.start[k]);
			for (let c = 0; c < this.weights.length; c++)
				g.total[c] += this.weights[c][item.start[k]];
		}
		item.children = [...groups.values()].sort((a, b) => b.total[0] - a.total[0] || a.frame - b.frame).map(g => this.items.push(g) - 1);
		return item.children;
	}
}

// A function between all that calls it and all that it calls: two trees that share one node. Those of the callers have
// the numbers behind the last of the callees.
class Sandwich {
	// callees: a TopDown whose root has the function as its only child; callers: a BottomUp of the same.
	constructor(callees, callers) {
		Object.assign(this, {below: callees, above: callers, n: callees.nodes.n, shared: callers.children(0)[0]});
	}

	top() { return this.n > 1 ? 1 : 0; }
	isCaller(i) { return i >= this.n; }
	of(i) { return i < this.n ? [this.below, i] : [this.above, i - this.n]; }
	frame(i) { const [tree, k] = this.of(i); return tree.frame(k); }
	total(i, column = 0) { const [tree, k] = this.of(i); return tree.total(k, column); }
	self(i, column = 0) { const [tree, k] = this.of(i); return tree.self(k, column); }

	parent(i) {
		const [tree, k] = this.of(i), p = tree.parent(k);
		return i < this.n ? p : p === this.shared ? this.top() : p + this.n;
	}

	children(i) { return i < this.n ? this.below.children(i) : this.callers(i); }

	callers(i) {
		if (this.shared === undefined || (i < this.n && i !== this.top()))
			return [];
		return this.above.children(i < this.n ? this.shared : i - this.n).map(k => k + this.n);
	}
}

// Where samples were taken.
function leaves(nodes, own) {
	const at = [];
	for (let i = 1; i < nodes.n; i++)
		if (own[0][i] > 0)
			at.push(i);
	return {at, weights: own.map(column => at.map(i => column[i]))};
}

// Where a function begins, the outermost of it on each stack, with all that is below. totals: columns.
function occurrences(nodes, totals, frame) {
	const at = [];
	for (let i = 1; i < nodes.n;)
		if (nodes.frame[i] === frame && totals[0][i] > 0) {
			at.push(i);
			i = nodes.end[i];
		} else {
			i++;
		}
	return {at, weights: totals.map(column => at.map(i => column[i]))};
}

// Own and total weight by frame; a stack counts once, however often the function is on it.
function functionSums(nodes, own, totals, nFrames) {
	const self = new Float64Array(nFrames), total = new Float64Array(nFrames), open = new Uint32Array(nFrames), path = [];
	for (let i = 1; i < nodes.n; i++) {
		while (path.length && nodes.end[path[path.length - 1]] <= i)
			open[nodes.frame[path.pop()]]--;
		const f = nodes.frame[i];
		self[f] += own[i];
		if (open[f]++ === 0)
			total[f] += totals[i];
		path.push(i);
	}
	return {self, total};
}

// Weight of the stacks with a frame that matches, each counted once.
function matchedWeight(nodes, totals, matches) {
	let sum = 0;
	for (let i = 1; i < nodes.n;)
		if (matches[nodes.frame[i]]) {
			sum += totals[i];
			i = nodes.end[i];
		} else {
			i++;
		}
	return sum;
}
