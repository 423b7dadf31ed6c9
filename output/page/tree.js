// tree.js - what can be drawn: trees over the profile's nodes, in several orders. All have
//	frame(i), total(i), self(i), parent(i), children(i) heaviest first, of which none is empty; 0 is the root;
//	top() the first that is drawn; callers(i) heaviest first, and isCaller(i): what a sandwich has on its other side.
// Weights come as a list of columns: one, or of a difference three: what is drawn, base, new. total() and self() take
// the number of the column, which children() are sorted by the first of.

// Own weight of every node: of the samples that pass. side: "count" or "weight".
function selfWeights(profile, passes, side = passes.byCount ? "count" : "weight") {
	const own = new Float64Array(profile.nodes.n), {samples, log} = profile;
	if (passes.range && log.n) {
		const [from, to] = passes.range;
		for (let i = 0; i < log.n; i++)
			if (log.time[i] >= from && log.time[i] <= to && passes.sample(log.sample[i]))
				own[samples.node[log.sample[i]]] += passes.byCount ? 1 : log.weight[i];
		return own;
	}
	const weights = samples[side];
	for (let i = 0; i < samples.n; i++)
		if (passes.sample(i))
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

// Nodes with equal parent and frame become one.
class Merger {
	constructor(capacity) {
		this.parent = [-1];
		this.frame = [-1];
		this.size = 1 << Math.max(10, Math.ceil(Math.log2(capacity * 2 + 1)));
		this.table = new Int32Array(this.size);
	}

	child(parent, frame) {
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b)) >>> 0 & this.size - 1;
		for (let i; (i = this.table[at]) !== 0; at = at + 1 & this.size - 1)
			if (this.parent[i] === parent && this.frame[i] === frame)
				return i;
		this.parent.push(parent);
		this.frame.push(frame);
		return this.table[at] = this.parent.length - 1;
	}

	// As the nodes of a TopDown: children follow their parents, in preorder. own: columns by id, which may be short.
	nodes(own) {
		const n = this.parent.length, first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
		for (let i = n - 1; i > 0; i--) {
			next[i] = first[this.parent[i]];
			first[this.parent[i]] = i;
		}
		const out = {n, parent: new Int32Array(n), frame: new Int32Array(n), end: new Int32Array(n)}, weights = own.map(() => new Float64Array(n));
		let count = 0;
		const path = []; // [new id, next child]
		const enter = (i, parent) => {
			out.parent[count] = parent;
			out.frame[count] = this.frame[i];
			own.forEach((column, k) => weights[k][count] = column[i] || 0);
			path.push([count++, first[i]]);
		};
		enter(0, -1);
		while (path.length) {
			const top = path[path.length - 1];
			if (top[1] < 0) {
				out.end[top[0]] = count;
				path.pop();
				continue;
			}
			const child = top[1];
			top[1] = next[child];
			enter(child, top[0]);
		}
		return {nodes: out, own: weights};
	}
}

// The tree without some frames (hidden), without stacks that have some (dropped), with recursion collapsed, or only of
// stacks with `focus` (a frame; -1: all), which with `root` begin with it.
function transformed(nodes, own, {hidden, dropped, collapse, focus, root}) {
	const total = totalWeights(nodes, own[0]), merger = new Merger(nodes.n), to = new Int32Array(nodes.n), weights = own.map(() => []);
	const add = (id, i) => own.forEach((column, k) => weights[k][id] = (weights[k][id] || 0) + column[i]);
	const inside = focus >= 0 ? new Uint8Array(nodes.n) : null;
	for (let i = 1; i < nodes.n; i++) {
		const p = nodes.parent[i], f = nodes.frame[i];
		if (inside) {
			const begins = f === focus && !inside[p];
			inside[i] = inside[p] || begins ? 1 : 0;
			if (begins && root)
				to[p] = 0;
			if (!inside[i] && (root || !holds(nodes, total, i, focus))) {
				to[i] = root ? 0 : -1;
				continue;
			}
		}
		if (total[i] <= 0 || to[p] < 0 || dropped[f]) {
			to[i] = -1;
			continue;
		}
		if (hidden[f] || (collapse && to[p] > 0 && merger.frame[to[p]] === f))
			to[i] = to[p];
		else
			to[i] = merger.child(to[p], f);
		if (!inside || inside[i])
			add(to[i], i);
	}
	if (!inside)
		add(0, 0);
	return merger.nodes(weights);
}

// Is the frame somewhere below the node?
function holds(nodes, total, i, frame) {
	const known = holds.known;
	if (known.nodes !== nodes || known.total !== total || known.frame !== frame) {
		const below = new Uint8Array(nodes.n);
		for (let k = nodes.n - 1; k > 0; k--)
			if (below[k] || (nodes.frame[k] === frame && total[k] > 0))
				below[nodes.parent[k]] = 1;
		holds.known = {nodes, total, frame, below};
	}
	return holds.known.below[i];
}
holds.known = {};

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
