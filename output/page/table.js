// table.js - functions with their own and total weight, or commands, processes and threads with theirs; of a difference those
// of both sides. Rows are made for the first ones only.

const TABLE_ROWS = 500;
// Pixels: of columns (page.css: n and v, m, and what a cell has around its text), and of a letter on average.
const WIDTHS = {n: 84, v: 84, m: 120, "": 12}, LETTER_WIDTH = 6.9;

// Columns: key, title, class, the value that is sorted by, the text of a cell. `of`: "self" or "total", of a difference.
const share = (v, t) => t.unit === "share" ? formatShare(v, 1) : formatWeight(v, t.unit);
const PLAIN_COLUMNS = [
	{key: "self", title: "Own", kind: "n", value: r => r.self, text: (r, t) => formatShare(r.self, t.whole), hint: (r, t) => formatWeight(r.self, t.unit)},
	{key: "total", title: "Total", kind: "n", value: r => r.total, text: (r, t) => formatShare(r.total, t.whole), hint: (r, t) => formatWeight(r.total, t.unit)},
];
const CHANGE_COLUMNS = [
	{key: "base", title: "Base", kind: "n", value: (r, t) => r.base[t.of], text: (r, t) => share(r.base[t.of], t)},
	{key: "fresh", title: "New", kind: "n", value: (r, t) => r.fresh[t.of], text: (r, t) => share(r.fresh[t.of], t)},
	{key: "change", title: "Change", kind: "n", value: (r, t) => r.fresh[t.of] - r.base[t.of],
		text: (r, t) => t.unit === "share" ? signed(100 * (r.fresh[t.of] - r.base[t.of]), 2) : formatDelta(r.fresh[t.of] - r.base[t.of], t.unit),
		hint: (r, t) => formatChange(r.base[t.of], r.fresh[t.of], t.unit), isColoured: true},
];
const VERDICT = {key: "verdict", title: "Verdict", kind: "v", value: r => r.verdict, text: r => r.verdict};
const NAMES = [
	{key: "name", title: "Function", kind: "", value: r => r.name},
	{key: "module", title: "Module", kind: "m", value: r => r.module, text: r => r.module},
];
const TASK_COLUMNS = [
	{key: "total", title: "Weight", kind: "n", value: r => r.total, text: (r, t) => formatShare(r.total, t.whole), hint: (r, t) => formatWeight(r.total, t.unit)},
	{key: "amount", title: "", kind: "n", value: r => r.total, text: (r, t) => formatWeight(r.total, t.unit)},
];

class FunctionTable {
	// on: {choose(frame), sandwich(frame), task(row), list(name), level(name), colour(row, of)}
	constructor(element, on, isDiff) {
		Object.assign(this, {element, on, isDiff, keys: {functions: isDiff ? "change" : "self", tasks: isDiff ? "change" : "total"}, isUp: false, of: "total", rows: []});
		Object.assign(this, {unit: "", whole: 0, columns: [], width: 0, list: "functions", filter: "", level: "comm"});
		new ResizeObserver(() => this.element.clientWidth !== this.width && this.columns.length && this.draw()).observe(element);
	}

	// what: {list: "functions" or "tasks", rows, unit, whole, isJudged, lists: which there are, level: of tasks, levels: [key, title]}
	show(what) {
		const names = what.list === "tasks" ? [{...NAMES[0], title: new Map(what.levels).get(what.level).replace(/^./, c => c.toUpperCase())}] : NAMES;
		const numbers = this.isDiff ? CHANGE_COLUMNS : what.list === "tasks" ? TASK_COLUMNS : PLAIN_COLUMNS;
		Object.assign(this, what, {columns: [...numbers, ...(what.isJudged && what.list === "functions" ? [VERDICT] : []), ...names]});
		this.draw();
	}

	get key() { return this.keys[this.list]; }

	// Numbers begin with the largest, names with A; the same again turns it round.
	sort(column) {
		this.isUp = column.key === this.key ? !this.isUp : column.kind !== "n" && column.kind !== "v";
		this.keys[this.list] = column.key;
		this.draw();
	}

	sorted() {
		const {value} = this.columns.find(c => c.key === this.key), up = this.isUp ? 1 : -1, re = this.list === "tasks" && this.filter ? compileSearch(this.filter) : null;
		const keyed = this.rows.filter(r => !re || re.test(r.name)).map(r => ({r, v: value(r, this)}));
		keyed.sort((a, b) => up * (a.v < b.v ? -1 : a.v > b.v ? 1 : 0) || a.r.f - b.r.f);
		return keyed.map(k => k.r);
	}

	draw() {
		const typing = document.activeElement && document.activeElement.id === "task-search";
		this.width = this.element.clientWidth;
		this.room = Math.floor((this.width - this.columns.reduce((sum, c) => sum + WIDTHS[c.kind], 0)) / LETTER_WIDTH);
		this.element.replaceChildren(this.choices(), this.makeTable());
		if (typing)
			document.getElementById("task-search")?.focus();
	}

	makeTable() {
		const rows = this.sorted(), table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
		head.append(...this.columns.map(c => this.heading(c)));
		for (const r of rows.slice(0, TABLE_ROWS))
			this.addRow(body.insertRow(), r);
		const rest = rows.length > TABLE_ROWS ? `${rows.length - TABLE_ROWS} more: search for them` : rows.length ? "" : "none";
		if (rest)
			Object.assign(body.insertRow().insertCell(), {colSpan: this.columns.length, textContent: rest});
		return table;
	}

	// Which list; of tasks, which level of them and a search; of a difference, shares with or without callees.
	choices() {
		const bar = document.createElement("div");
		bar.className = "choices";
		if (this.lists.length > 1)
			bar.append(...this.lists.map(l => pressed(l === "tasks" ? "Tasks" : "Functions", l === this.list, () => this.on.list(l))));
		if (this.list === "tasks")
			bar.append(...this.levels.map(([l, title]) => pressed(title, l === this.level, () => this.on.level(l))), this.taskSearch());
		else if (this.isDiff)
			bar.append(this.ownOnly());
		return bar;
	}

	taskSearch() {
		const input = Object.assign(document.createElement("input"), {id: "task-search", type: "search", placeholder: "Search tasks", value: this.filter});
		input.setAttribute("aria-label", "Search tasks by regular expression");
		input.addEventListener("input", () => {
			this.filter = input.value;
			this.element.replaceChild(this.makeTable(), this.element.lastChild);
		});
		return input;
	}

	ownOnly() {
		const label = document.createElement("label"), box = document.createElement("input");
		box.type = "checkbox";
		box.checked = this.of === "self";
		box.addEventListener("change", () => {
			this.of = box.checked ? "self" : "total";
			this.draw();
		});
		label.append(box, " own only, without callees");
		return label;
	}

	heading(column) {
		const th = document.createElement("th"), b = document.createElement("button"), isKey = column.key === this.key;
		th.className = column.kind;
		th.scope = "col";
		th.setAttribute("aria-sort", isKey ? (this.isUp ? "ascending" : "descending") : "none");
		b.textContent = column.title + (isKey ? (this.isUp ? " ▴" : " ▾") : "");
		b.addEventListener("click", () => this.sort(column));
		th.append(b);
		return th;
	}

	addRow(tr, r) {
		for (const c of this.columns) {
			const td = tr.insertCell();
			td.className = c.kind;
			if (c.text)
				td.textContent = c.text(r, this);
			else
				td.append(this.nameButton(r));
			if (c.hint)
				td.title = c.hint(r, this);
			if (c.isColoured)
				Object.assign(td.style, {backgroundColor: this.on.colour(r, this.of), color: "#000"});
		}
	}

	nameButton(r) {
		const b = document.createElement("button"), isTask = this.list === "tasks";
		b.textContent = this.room > 8 ? fitLabel(r.name, this.room) : r.name;
		b.setAttribute("aria-label", r.name);
		b.title = `${r.name}\nclick: ${isTask ? "only its stacks" : "sandwich of callers and callees"}`;
		b.addEventListener("click", () => isTask ? this.on.task(r) : this.on.sandwich(r.f));
		if (!isTask)
			b.addEventListener("mouseenter", () => this.on.choose(r.f));
		return b;
	}
}

function pressed(text, isOn, run) {
	const b = button(text, run);
	b.setAttribute("aria-pressed", isOn);
	return b;
}
