// tasks.js - commands, processes, threads and a label of samples, as the cgroup: what samples are grouped by, as levels above the stacks and in a list.

// What can be chosen: levels above the stacks, from the outermost on; each is a key of LEVELS.
const GROUPINGS = {"": [], comm: ["comm"], pid: ["pid"], tid: ["pid", "tid"], label: ["label"], "label-comm": ["label", "comm"]};

// key: what is equal in a group. text: its name, by the command that most of it has. filter: as the address has it.
const LEVELS = {
	comm: {title: "command", key: t => t.comm, text: t => t.comm, filter: t => `comm:${t.comm}`},
	pid: {title: "process", key: t => t.pid || t.comm, text: t => t.pid ? `${t.comm} ${t.pid}` : t.comm, filter: t => t.pid ? `pid:${t.pid}` : `comm:${t.comm}`},
	tid: {title: "thread", key: t => `${t.pid}/${t.tid}/${t.pid ? "" : t.comm}`, text: t => t.tid ? `${t.comm} ${t.tid}` : t.comm,
		filter: t => t.tid ? `tid:${t.pid}/${t.tid}` : `comm:${t.comm}`},
	// Called as it is in the recording: facts.by.
	label: {title: "label", key: t => t.label, text: t => t.label, filter: t => `label:${t.label}`},
};
const levelsOf = ({facts}) => Object.keys(LEVELS).filter(l => l !== "label" || facts.by);
const titleOf = (level, {facts}) => level === "label" ? facts.by : LEVELS[level].title;

// Of each level the groups {level, text, filter, tasks: ids} and the group of each task. weights: by task.
function groupTasks(profile, weights) {
	const {tasks} = profile, out = {};
	for (const level of levelsOf(profile)) {
		const {key, text, filter} = LEVELS[level], groups = new Map(), of = tasks.map((t, i) => {
			const k = key(t), g = groups.get(k);
			if (g)
				g.tasks.push(i);
			else
				groups.set(k, {level, tasks: [i], number: groups.size});
			return groups.get(k).number;
		});
		for (const g of groups.values()) {
			const name = namingTask(g.tasks, tasks, weights, level);
			Object.assign(g, {text: text(name), filter: filter(name), comm: name.comm});
		}
		out[level] = {groups: [...groups.values()], of};
	}
	return out;
}

// A process is called as its first thread is, a thread as it was called most of the time.
function namingTask(ids, tasks, weights, level) {
	const first = level === "pid" ? ids.filter(i => tasks[i].tid === tasks[i].pid) : [], list = first.length ? first : ids;
	return tasks[list.reduce((a, b) => weights[b] > weights[a] ? b : a)];
}

// Do stacks of several programs lie side by side, so that only their commands tell them apart?
function hasManyPrograms({groups}) {
	return new Set(groups.map(g => g.comm)).size > 1;
}

// Adds a frame for each group behind the frames of functions, which are the first `functions`.
function addTaskFrames(profile) {
	const {frames, strings, tasks, samples} = profile, weights = new Float64Array(tasks.length);
	for (let i = 0; i < samples.n; i++)
		weights[samples.task[i]] += samples.weight[i] + samples.count[i] * Number(Boolean(profile.facts.diff));
	const levels = groupTasks(profile, weights), all = Object.values(levels).flatMap(l => l.groups), none = strings.push("") - 1;
	const longer = (array, value) => {
		const out = new array.constructor(frames.n + all.length);
		out.set(array);
		all.forEach((g, i) => { out[frames.n + i] = value(g); });
		return out;
	};
	all.forEach((g, i) => { g.frame = frames.n + i; });
	profile.levels = levels;
	profile.frames = {
		functions: frames.n, n: frames.n + all.length, name: longer(frames.name, g => strings.push(g.text) - 1),
		module: longer(frames.module, () => none), file: longer(frames.file, () => none), line: longer(frames.line, () => 0), kind: longer(frames.kind, () => 0),
	};
}

// Samples by group of the outermost level, and of the ones below it: [{group, samples, inner}]
function groupSamples(samples, ids, [level, ...below]) {
	const byGroup = new Map();
	for (const i of ids) {
		const g = level.of[samples.task[i]];
		if (!byGroup.has(g))
			byGroup.set(g, []);
		byGroup.get(g).push(i);
	}
	return [...byGroup].sort(([a], [b]) => a - b).map(([g, list]) =>
		({frame: level.groups[g].frame, ids: list, inner: below.length ? groupSamples(samples, list, below) : null}));
}

// Builds the tree that has groups of tasks above its stacks. weights: columns, by sample; in preorder, as the profile's own.
class Grouping {
	constructor(nodes, samples, weights) {
		Object.assign(this, {nodes, samples, weights, parent: [-1], frame: [-1], own: weights.map(() => [0])});
		this.seen = new Int32Array(nodes.n).fill(-1);
		this.place = new Int32Array(nodes.n);
	}

	add(parent, frame) {
		this.frame.push(frame);
		this.own.forEach(column => column.push(0));
		return this.parent.push(parent) - 1;
	}

	groups(list, parent) {
		for (const {frame, ids, inner} of list) {
			const id = this.add(parent, frame);
			if (inner)
				this.groups(inner, id);
			else
				this.stacks(ids, id);
		}
	}

	// What of the profile's tree these samples are in.
	stacks(ids, root) {
		const {nodes, samples, seen, place} = this, used = [];
		for (const i of ids)
			for (let k = samples.node[i]; k > 0 && seen[k] !== root; k = nodes.parent[k]) {
				seen[k] = root;
				used.push(k);
			}
		place[0] = root;
		for (const k of used.sort((a, b) => a - b))
			place[k] = this.add(place[nodes.parent[k]], nodes.frame[k]);
		for (const i of ids)
			this.own.forEach((column, c) => { column[place[samples.node[i]]] += this.weights[c][i]; });
	}

	result() {
		const n = this.parent.length, parent = Int32Array.from(this.parent), end = new Int32Array(n).fill(0);
		for (let i = n - 1; i >= 0; i--) {
			end[i] = Math.max(end[i], i + 1);
			if (i)
				end[parent[i]] = Math.max(end[parent[i]], end[i]);
		}
		return {nodes: {n, parent, frame: Int32Array.from(this.frame), end}, own: this.own.map(column => Float64Array.from(column))};
	}
}

// levels: of profile.levels, the outermost first.
function groupedTree(profile, weights, levels) {
	const {nodes, samples} = profile, g = new Grouping(nodes, samples, weights), ids = [];
	for (let i = 0; i < samples.n; i++)
		if (weights.some(column => column[i] > 0))
			ids.push(i);
	g.groups(groupSamples(samples, ids, levels), 0);
	return g.result();
}
