// table.js - functions with their own and total weight; rows are made for the heaviest ones only.

const TABLE_ROWS = 500;

class FunctionTable {
	// on: {choose(frame), sandwich(frame)}
	constructor(element, on) {
		Object.assign(this, {element, on, key: "self", rows: [], unit: "", whole: 0});
	}

	show(frames, profile, sums, unit, matches) {
		const rows = [];
		for (let f = 0; f < frames.n; f++)
			if (sums.total[f] > 0 && (!matches || matches[f]))
				rows.push({f, name: profile.strings[frames.name[f]], module: profile.strings[frames.module[f]], self: sums.self[f], total: sums.total[f]});
		this.rows = rows;
		this.unit = unit;
		this.whole = sums.whole;
		this.draw();
	}

	sort(key) {
		this.key = key;
		this.draw();
	}

	draw() {
		const {key, rows, element} = this;
		rows.sort((a, b) => typeof a[key] === "string" ? a[key].localeCompare(b[key]) : b[key] - a[key] || a.f - b.f);
		const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
		for (const [k, title, kind] of [["self", "Own", "n"], ["total", "Total", "n"], ["name", "Function", ""], ["module", "Module", "m"]]) {
			const th = document.createElement("th"), b = document.createElement("button");
			th.className = kind;
			th.scope = "col";
			th.setAttribute("aria-sort", k === key ? (kind === "n" ? "descending" : "ascending") : "none");
			b.textContent = title + (k === key ? " ▾" : "");
			b.addEventListener("click", () => this.sort(k));
			th.append(b);
			head.append(th);
		}
		for (const r of rows.slice(0, TABLE_ROWS))
			this.addRow(body.insertRow(), r);
		if (rows.length > TABLE_ROWS)
			body.insertRow().insertCell().textContent = `${rows.length - TABLE_ROWS} more`;
		element.replaceChildren(table);
	}

	addRow(tr, r) {
		for (const k of ["self", "total"]) {
			const td = tr.insertCell();
			td.className = "n";
			td.textContent = formatShare(r[k], this.whole);
			td.title = formatWeight(r[k], this.unit);
		}
		const b = document.createElement("button");
		b.textContent = r.name;
		b.title = `${r.name}\nclick: sandwich of callers and callees`;
		b.addEventListener("click", () => this.on.sandwich(r.f));
		b.addEventListener("mouseenter", () => this.on.choose(r.f));
		tr.insertCell().append(b);
		tr.insertCell().textContent = r.module;
	}
}
