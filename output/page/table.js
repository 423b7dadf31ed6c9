// table.js - functions with their own and total weight, or of a difference those of both sides; rows are made for the
// first ones only.

const TABLE_ROWS = 500;
// Pixels: of columns (page.css: n and v, m, and what a cell has around its text), and of a letter on average.
const WIDTHS = {n: 84, v: 84, m: 120, "": 12}, LETTER_WIDTH = 6.9;

// Columns: key, title, class, the value that is sorted by, the text of a cell. `of`: "self" or "total", of a difference.
const PLAIN_COLUMNS = [
	{key: "self", title: "Own", kind: "n", value: r => r.self, text: (r, t) => formatShare(r.self, t.whole), hint: (r, t) => formatWeight(r.self, t.unit)},
	{key: "total", title: "Total", kind: "n", value: r => r.total, text: (r, t) => formatShare(r.total, t.whole), hint: (r, t) => formatWeight(r.total, t.unit)},
];
const CHANGE_COLUMNS = [
	{key: "base", title: "Base", kind: "n", value: (r, t) => r.base[t.of], text: (r, t) => formatShare(r.base[t.of], 1)},
	{key: "fresh", title: "New", kind: "n", value: (r, t) => r.fresh[t.of], text: (r, t) => formatShare(r.fresh[t.of], 1)},
	{key: "change", title: "Change", kind: "n", value: (r, t) => r.fresh[t.of] - r.base[t.of],
		text: (r, t) => signed(100 * (r.fresh[t.of] - r.base[t.of]), 2), hint: (r, t) => formatChange(r.base[t.of], r.fresh[t.of]), isColoured: true},
];
const VERDICT = {key: "verdict", title: "Verdict", kind: "v", value: r => r.verdict, text: r => r.verdict};
const NAMES = [
	{key: "name", title: "Function", kind: "", value: r => r.name},
	{key: "module", title: "Module", kind: "m", value: r => r.module, text: r => r.module},
];

class FunctionTable {
	// on: {choose(frame), sandwich(frame), colour(row)}
	constructor(element, on, isDiff) {
		Object.assign(this, {element, on, isDiff, key: isDiff ? "change" : "self", isUp: false, of: "total", rows: [], unit: "", whole: 0, columns: [], width: 0});
		new ResizeObserver(() => this.element.clientWidth !== this.width && this.columns.length && this.draw()).observe(element);
	}

	show(rows, unit, whole, isJudged) {
		Object.assign(this, {rows, unit, whole, columns: this.isDiff ? [...CHANGE_COLUMNS, ...(isJudged ? [VERDICT] : []), ...NAMES] : [...PLAIN_COLUMNS, ...NAMES]});
		this.draw();
	}

	// Numbers begin with the largest, names with A; the same again turns it round.
	sort(column) {
		this.isUp = column.key === this.key ? !this.isUp : column.kind !== "n" && column.kind !== "v";
		this.key = column.key;
		this.draw();
	}

	sorted() {
		const {value} = this.columns.find(c => c.key === this.key), up = this.isUp ? 1 : -1, keyed = this.rows.map(r => ({r, v: value(r, this)}));
		keyed.sort((a, b) => up * (a.v < b.v ? -1 : a.v > b.v ? 1 : 0) || a.r.f - b.r.f);
		return keyed.map(k => k.r);
	}

	draw() {
		this.width = this.element.clientWidth;
		this.room = Math.floor((this.width - this.columns.reduce((sum, c) => sum + WIDTHS[c.kind], 0)) / LETTER_WIDTH);
		const rows = this.sorted(), table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
		head.append(...this.columns.map(c => this.heading(c)));
		for (const r of rows.slice(0, TABLE_ROWS))
			this.addRow(body.insertRow(), r);
		if (rows.length > TABLE_ROWS)
			Object.assign(body.insertRow().insertCell(), {colSpan: this.columns.length, textContent: `${rows.length - TABLE_ROWS} more: search for them`});
		this.element.replaceChildren(...(this.isDiff ? [this.choice()] : []), table);
	}

	// Of a difference: shares with or without callees.
	choice() {
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
				Object.assign(td.style, {backgroundColor: this.on.colour(r), color: "#000"});
		}
	}

	nameButton(r) {
		const b = document.createElement("button");
		b.textContent = this.room > 8 ? fitLabel(r.name, this.room) : r.name;
		b.setAttribute("aria-label", r.name);
		b.title = `${r.name}\nclick: sandwich of callers and callees`;
		b.addEventListener("click", () => this.on.sandwich(r.f));
		b.addEventListener("mouseenter", () => this.on.choose(r.f));
		return b;
	}
}
