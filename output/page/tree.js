// tree.js - what can be drawn: trees over the profile's nodes, in several orders. All have
//	frame(i), total(i), self(i), parent(i), children(i) heaviest first, of which none is empty; 0 is the root.

// Own weight of every node: of the samples that pass.
function selfWeights(profile, passes) {
	const own = new Float64Array(profile.nodes.n), {samples, log} = profile;
	if (passes.range && log.n) {
		const [from, to] = passes.range;
		for (let i = 0; i < log.n; i++)
			if (log.time[i] >= from && log.time[i] <= to && passes.sample(log.sample[i]))
				own[samples.node[log.sample[i]]] += passes.byCount ? 1 : log.weight[i];
		return own;
	}
	for (let i = 0; i < samples.n; i++)
		if (passes.sample(i))
			own[samples.node[i]] += passes.byCount ? samples.count[i] : samples.weight[i];
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
	constructor(nodes, own) {
		this.nodes = nodes;
		this.own = own;
		this.totals = totalWeights(nodes, own);
		this.sorted = new Map();
	}

	frame(i) { return this.nodes.frame[i]; }
	total(i) { return this.totals[i]; }
	self(i) { return this.own[i]; }
	parent(i) { return this.nodes.parent[i]; }

	children(i) {
		let list = this.sorted.get(i);
		if (!list) {
			list = [];
			for (let c = i + 1; c < this.nodes.end[i]; c = this.nodes.end[c])
				if (this.totals[c] > 0)
					list.push(c);
			list.sort((a, b) => this.totals[b] - this.totals[a] || this.nodes.frame[a] - this.nodes.frame[b]);
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

	// As the nodes of a TopDown: children follow their parents, in preorder.
	nodes(own) {
		const n = this.parent.length, first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
		for (let i = n - 1; i > 0; i--) {
			next[i] = first[this.parent[i]];
			first[this.parent[i]] = i;
		}
		const out = {n, parent: new Int32Array(n), frame: new Int32Array(n), end: new Int32Array(n)}, weights = new Float64Array(n);
		let count = 0;
		const path = []; // [new id, next child]
		const enter = (i, parent) => {
			out.parent[count] = parent;
			out.frame[count] = this.frame[i];
			weights[count] = own[i] || 0;
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

// The tree without some frames, with recursion collapsed, or only below `focus` (a frame; -1: everywhere).
function transformed(nodes, own, {hidden, collapse, focus, root}) {
	const total = totalWeights(nodes, own), merger = new Merger(nodes.n), to = new Int32Array(nodes.n), weights = [];
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
		if (total[i] <= 0 || to[p] < 0) {
			to[i] = -1;
			continue;
		}
		if (hidden[f] || (collapse && to[p] > 0 && merger.frame[to[p]] === f))
			to[i] = to[p];
		else
			to[i] = merger.child(to[p], f);
		if (!inside || inside[i])
			weights[to[i]] = (weights[to[i]] || 0) + own[i];
	}
	if (!inside)
		weights[0] = (weights[0] || 0) + own[0];
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
// (node, weight); without, where samples were taken.
class BottomUp {
	constructor(nodes, own, starts) {
		const at = [], weight = [];
		this.nodes = nodes;
		for (let i = 1; !starts && i < nodes.n; i++)
			if (own[i] > 0) {
				at.push(i);
				weight.push(own[i]);
			}
		this.items = [{frame: -1, parent: -1, at: starts ? starts.at : at, weight: starts ? starts.weight : weight, children: null}];
		this.items[0].total = this.items[0].weight.reduce((a, b) => a + b, 0);
	}

	frame(i) { return this.items[i].frame; }
	total(i) { return this.items[i].total; }
	parent(i) { return this.items[i].parent; }

	self(i) {
		return this.total(i) - this.children(i).reduce((sum, c) => sum + this.total(c), 0);
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
				groups.set(f, g = {frame: f, parent: i, at: [], weight: [], total: 0, children: null});
			g.at.push(node);
			g.weight.push(item.weight[k]);
			g.total += item.weight[k];
		}
		item.children = [...groups.values()].sort((a, b) => b.total - a.total || a.frame - b.frame).map(g => this.items.push(g) - 1);
		return item.children;
	}
}

// Where a function begins, the outermost of it on each stack, with all that is below.
function occurrences(nodes, total, frame) {
	const at = [], weight = [];
	for (let i = 1; i < nodes.n;)
		if (nodes.frame[i] === frame && total[i] > 0) {
			at.push(i);
			weight.push(total[i]);
			i = nodes.end[i];
		} else {
			i++;
		}
	return {at, weight};
}

// Own and total weight by frame; a stack counts once, however often the function is on it.
function functionSums(nodes, own, nFrames) {
	const self = new Float64Array(nFrames), total = new Float64Array(nFrames), open = new Uint32Array(nFrames), path = [];
	const totals = totalWeights(nodes, own);
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
