// model.js - from the profile and what is asked of it to what is drawn: weights, the stacks that are left, their tree. Each
// step is done again only when what it depends on has changed.

class Model {
	constructor(profile) {
		Object.assign(this, {profile, diff: profile.facts.diff || null, links: new Links(profile), memo: {}});
	}

	// make(), unless it was made of equal inputs the last time.
	once(name, inputs, make) {
		const key = JSON.stringify(inputs), last = this.memo[name];
		if (!last || last.key !== key)
			this.memo[name] = {key, value: make()};
		return this.memo[name].value;
	}

	set(state) {
		const {event, task, by, range, side, scale, hidden, dropped, focus, collapse, invert, sandwich} = state;
		const taken = [event, task, range, side, scale], kept = [taken, by, hidden, dropped, focus, collapse];
		this.state = state;
		this.kept = kept;
		this.weights = this.once("weights", taken, () => this.columns());
		Object.assign(this, this.once("stacks", kept, () => this.stacks(this.once("grouped", [taken, by], () => this.grouped()))));
		this.tree = this.once("tree", [kept, invert, sandwich], () => this.makeTree());
		this.whole = this.isShare() ? 1 : this.totals[0][0];
	}

	// ---- names ----

	name(f) { return this.profile.strings[this.profile.frames.name[f]]; }
	module(f) { return this.profile.strings[this.profile.frames.module[f]]; }
	file(f) { return this.profile.strings[this.profile.frames.file[f]]; }
	kind(f) { return this.profile.frames.kind[f] % 8; }
	isTask(f) { return f >= this.profile.frames.functions; }

	// "f:NUMBER" is a function, "m:NAME" all of a module. By frame: is it one of these?
	framesOf(list) {
		const {n} = this.profile.frames, is = new Uint8Array(n), all = new Set(list);
		for (let f = 0; f < n && all.size; f++)
			if (all.has(`f:${f}`) || all.has(`m:${this.module(f)}`))
				is[f] = 1;
		return is;
	}

	// ---- weights ----

	isShare() { return this.diff !== null && this.state.scale === "share"; }

	unit() { return this.isShare() ? "share" : this.eventUnit(); }

	eventUnit() {
		const event = this.profile.events[+this.state.event];
		return this.profile.facts.counts ? "samples" : event.unit || event.name;
	}

	// By number of the sample: is it of the event and task that are asked for?
	passes() {
		const {event, task} = this.state, {samples, levels} = this.profile, e = +event, [kind] = task.split(":", 1);
		const level = levels[kind], group = level ? level.groups.findIndex(g => g.filter === task) : -1;
		return level ? i => samples.event[i] === e && level.of[samples.task[i]] === group : i => samples.event[i] === e;
	}

	// By number of a task: is it one that is asked for?
	takesTask() {
		const {task} = this.state, level = this.profile.levels[task.split(":", 1)[0]], group = level ? level.groups.findIndex(g => g.filter === task) : -1;
		return level ? t => level.of[t] === group : () => true;
	}

	// What samples weigh: of a difference three columns.
	columns() {
		const {profile} = this, passes = {sample: this.passes(), range: this.state.range, byCount: profile.facts.counts};
		if (!this.diff)
			return [sampleWeights(profile, passes)];
		const sides = [sampleWeights(profile, passes, "count"), sampleWeights(profile, passes, "weight")];
		this.taken = sides.map(sumOf);
		return this.state.scale === "share" ? shareColumns(...sides, this.state.side) : absoluteColumns(...sides, this.diff.sides, this.state.side);
	}

	// The tree, with the levels of tasks that are asked for above its stacks.
	grouped() {
		const {profile, weights} = this, levels = GROUPINGS[this.state.by];
		if (levels.length)
			return groupedTree(profile, weights, levels.map(l => profile.levels[l]));
		return {nodes: profile.nodes, own: weights.map(column => ownWeights(profile, column))};
	}

	// Weight of each group of a level, heaviest first: [{...group, weight: by column}]
	tasks(level) {
		const {groups, of} = this.profile.levels[level], {samples} = this.profile, rows = groups.map(g => ({...g, weight: this.weights.map(() => 0)}));
		this.weights.forEach((column, c) => {
			for (let i = 0; i < samples.n; i++)
				rows[of[samples.task[i]]].weight[c] += column[i];
		});
		return rows;
	}

	// ---- stacks and trees ----

	stacks({nodes, own}) {
		const {hidden, dropped, focus, collapse} = this.state;
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

	// Which frames match; null: all. "module:", "file:" and "command:" say what of a frame is searched.
	matches(search) {
		const [, where, text] = /^(?:(module|file|command):)?(.*)$/s.exec(search), re = text ? compileSearch(text) : null;
		const of = {module: f => this.module(f), file: f => this.file(f), command: f => this.isTask(f) ? this.name(f) : ""}[where] || (f => this.name(f));
		return re ? Uint8Array.from({length: this.profile.frames.n}, (_, f) => where && !of(f) ? 0 : re.test(of(f)) ? 1 : 0) : null;
	}

	matched(matches) {
		return matchedWeight(this.nodes, this.totals[0], matches);
	}

	// Where else is what was searched for among names? How many commands and modules are called so.
	elsewhere(search) {
		const re = search && !/^(module|file|command):/.test(search) ? compileSearch(search) : null, {profile} = this;
		if (!re)
			return {comms: [], modules: []};
		return {
			comms: this.state.by ? [] : profile.levels.comm.groups.map(g => g.text).filter(t => re.test(t)),
			modules: [...new Set(profile.frames.module)].map(m => profile.strings[m]).filter(m => m && re.test(m)),
		};
	}

	// ---- places in the tree, by the names of their frames (link.js) ----

	// skip: how many of its callees (up: callers) are left out, the heaviest first.
	pathOf(node, skip = 0, up = false) {
		const path = [], {tree} = this, isCaller = up || tree.isCaller(node);
		for (let i = node; i > 0 && !(isCaller && i === tree.top()); i = tree.parent(i))
			path.push(tree.frame(i));
		return this.links.write(path.reverse(), isCaller, skip);
	}

	// {node, skip, up, lost: the first label that is not there; ""}
	nodeOf(path) {
		const {tree} = this, {isCaller, labels, skip} = Links.read(path), next = i => isCaller ? tree.callers(i) : tree.children(i);
		let node = isCaller ? tree.top() : 0;
		for (const label of labels) {
			const frames = this.links.framesOf(label), child = next(node).find(c => frames.includes(tree.frame(c)));
			if (child === undefined)
				return {node: Math.max(node, tree.top()), skip: 0, up: false, lost: label};
			node = child;
		}
		const shown = Math.max(node, tree.top()), isLess = skip > 0 && skip < next(shown).length;
		return {node: shown, skip: isLess ? skip : 0, up: isLess && isCaller, lost: skip && !isLess ? "smaller ones" : ""};
	}

	// ---- changes of a difference ----

	// Is it no more than noise, or was it found not to be significant?
	isQuiet(f, base, fresh) {
		const {limit, verdicts} = this.profile.changes;
		if (this.diff.judged)
			return this.isTask(f) || !verdicts[f].isSignificant;
		const most = this.isTask(f) ? NORMAL_LIMIT : limit[f], counted = this.once("counted", this.kept[0], () => [0, 1].map(k => this.counted(k)));
		return this.isShare() ? isNoise(base, fresh, most, counted) : isAbsoluteNoise(base, fresh, most, counted);
	}

	// Of a side: how many samples are drawn, all runs together, and what they weigh, per run.
	counted(side) {
		const {runs} = this.diff.sides[side], samples = this.diff.counts[+this.state.event][side], weights = this.profile.samples[side ? "weight" : "count"], {event} = this.profile.samples;
		const whole = weights.reduce((sum, w, i) => sum + (event[i] === +this.state.event ? w : 0), 0), part = this.taken[side];
		return {n: (samples || SAMPLES_SUPPOSED * Math.max(1, runs)) * (whole > 0 ? part / whole : 1), weight: part / Math.max(1, runs)};
	}

	// What base and new weigh all in all: shares, or per run.
	wholes() { return [this.totals[1][0], this.totals[2][0]]; }

	verdict(f) {
		return this.diff && this.diff.judged && !this.isTask(f) ? this.profile.changes.verdicts[f] : {text: "", details: ""};
	}

	// ---- the table ----

	// Functions that weigh something, of those that match.
	rows(matches) {
		const rows = [], {sums} = this;
		for (let f = 0; f < this.profile.frames.functions; f++)
			if (sums.some(s => s.total[f] > 0) && (!matches || matches[f]))
				rows.push(this.row(f));
		return rows;
	}

	row(f) {
		const [drawn, base, fresh] = this.sums, row = {f, name: this.name(f), module: this.module(f), self: drawn.self[f], total: drawn.total[f]};
		if (!this.diff)
			return row;
		return {
			...row, verdict: this.verdict(f).text, base: {self: base.self[f], total: base.total[f]}, fresh: {self: fresh.self[f], total: fresh.total[f]},
		};
	}
}
