// model.js - from the profile and what is asked of it to what is drawn: weights, the stacks that are left, their tree. Each
// step is done again only when what it depends on has changed.

class Model {
	constructor(profile) {
		Object.assign(this, {profile, diff: profile.facts.diff || null, memo: {}});
	}

	// make(), unless it was made of equal inputs the last time.
	once(name, inputs, make) {
		const key = JSON.stringify(inputs), last = this.memo[name];
		if (!last || last.key !== key)
			this.memo[name] = {key, value: make()};
		return this.memo[name].value;
	}

	set(state) {
		const {event, task, range, side, hidden, dropped, focus, collapse, invert, sandwich} = state;
		const taken = [event, task, range, side], kept = [taken, hidden, dropped, focus, collapse];
		this.state = state;
		this.kept = kept;
		Object.assign(this, this.once("stacks", kept, () => this.stacks(this.once("columns", taken, () => this.columns()))));
		this.tree = this.once("tree", [kept, invert, sandwich], () => this.makeTree());
		this.whole = this.diff ? 1 : this.totals[0][0];
	}

	// ---- names ----

	name(f) { return this.profile.strings[this.profile.frames.name[f]]; }
	module(f) { return this.profile.strings[this.profile.frames.module[f]]; }
	file(f) { return this.profile.strings[this.profile.frames.file[f]]; }
	kind(f) { return this.profile.frames.kind[f] % 8; }

	// "f:NUMBER" is a function, "m:NAME" all of a module. By frame: is it one of these?
	framesOf(list) {
		const {n} = this.profile.frames, is = new Uint8Array(n), all = new Set(list);
		for (let f = 0; f < n && all.size; f++)
			if (all.has(`f:${f}`) || all.has(`m:${this.module(f)}`))
				is[f] = 1;
		return is;
	}

	// ---- weights ----

	unit() {
		const event = this.profile.events[+this.state.event];
		if (this.diff)
			return "share";
		return this.profile.facts.counts ? "samples" : event.unit || event.name;
	}

	// By number of the sample: is it of the event and task that are asked for?
	passes() {
		const {event, task} = this.state, {samples, tasks} = this.profile, e = +event, [kind, value] = task.split(/:(.*)/s);
		const isOf = {
			"": () => true, comm: t => t.comm === value, pid: t => t.pid === +value, tid: t => `${t.pid}/${t.tid}` === value,
		}[kind], wanted = tasks.map(isOf);
		return i => samples.event[i] === e && wanted[samples.task[i]];
	}

	columns() {
		const {profile} = this, passes = {sample: this.passes(), range: this.state.range, byCount: profile.facts.counts};
		if (!this.diff)
			return [selfWeights(profile, passes)];
		return differenceColumns(selfWeights(profile, passes, "count"), selfWeights(profile, passes, "weight"), this.state.side);
	}

	// ---- stacks and trees ----

	stacks(own) {
		const {hidden, dropped, focus, collapse} = this.state;
		let {nodes} = this.profile;
		if (hidden.length || dropped.length || collapse || focus >= 0)
			({nodes, own} = transformed(nodes, own, {hidden: this.framesOf(hidden), dropped: this.framesOf(dropped), collapse, focus, root: false}));
		return {nodes, own, totals: own.map(column => totalWeights(nodes, column))};
	}

	makeTree() {
		const {nodes, own, totals} = this, {invert, sandwich} = this.state;
		if (sandwich < 0)
			return invert ? new BottomUp(nodes, own) : new TopDown(nodes, own, totals);
		const none = new Uint8Array(this.profile.frames.n), callees = transformed(nodes, own, {hidden: none, dropped: none, collapse: false, focus: sandwich, root: true});
		return new Sandwich(new TopDown(callees.nodes, callees.own), new BottomUp(nodes, own, occurrences(nodes, totals, sandwich)));
	}

	// Of each column, own and total weight by function.
	get sums() {
		return this.once("sums", this.kept, () => this.own.map((column, k) => functionSums(this.nodes, column, this.totals[k], this.profile.frames.n)));
	}

	// By their own weight.
	heaviestModules(n) {
		const weights = new Map(), {self} = this.sums[0];
		self.forEach((w, f) => w > 0 && weights.set(this.module(f), (weights.get(this.module(f)) || 0) + w));
		return [...weights].sort((a, b) => b[1] - a[1]).slice(0, n).map(([name]) => name);
	}

	// Which functions match; null: all.
	matches(search) {
		const re = search ? compileSearch(search) : null;
		return re ? Uint8Array.from({length: this.profile.frames.n}, (_, f) => re.test(this.name(f)) ? 1 : 0) : null;
	}

	matched(matches) {
		return matchedWeight(this.nodes, this.totals[0], matches);
	}

	// ---- places in the tree: frames from the root on; "^" and those that call, of a sandwich ----

	pathOf(node) {
		const path = [], {tree} = this, isCaller = tree.isCaller(node);
		for (let i = node; i > 0 && !(isCaller && i === tree.top()); i = tree.parent(i))
			path.push(tree.frame(i));
		return (isCaller ? "^" : "") + path.reverse().join(".");
	}

	nodeOf(path) {
		const {tree} = this, isCaller = path.startsWith("^");
		let node = isCaller ? tree.top() : 0;
		for (const f of path.replace("^", "").split(".").filter(Boolean).map(Number)) {
			const next = (isCaller ? tree.callers(node) : tree.children(node)).find(c => tree.frame(c) === f);
			if (next === undefined)
				break;
			node = next;
		}
		return Math.max(node, tree.top());
	}

	// ---- changes of a difference ----

	// Is it no more than noise, or was it found not to be significant?
	isQuiet(f, base, fresh) {
		const {limit, verdicts} = this.profile.changes;
		return this.diff.judged ? !verdicts[f].isSignificant : isNoise(base, fresh, limit[f], this.diff.variance);
	}

	verdict(f) {
		return this.diff && this.diff.judged ? this.profile.changes.verdicts[f] : {text: "", details: ""};
	}

	// ---- the table ----

	// Functions that weigh something, of those that match.
	rows(matches) {
		const rows = [], {sums} = this;
		for (let f = 0; f < this.profile.frames.n; f++)
			if (sums.some(s => s.total[f] > 0) && (!matches || matches[f]))
				rows.push(this.row(f));
		return rows;
	}

	row(f) {
		const [drawn, base, fresh] = this.sums, row = {f, name: this.name(f), module: this.module(f), self: drawn.self[f], total: drawn.total[f]};
		if (!this.diff)
			return row;
		return {
			...row, verdict: this.verdict(f).text, isQuiet: this.isQuiet(f, base.total[f], fresh.total[f]),
			base: {self: base.self[f], total: base.total[f]}, fresh: {self: fresh.self[f], total: fresh.total[f]},
		};
	}
}
