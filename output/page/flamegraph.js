// flamegraph.js - what makes the SVG of fmt_flamegraph.c answer: zoom, search, reset. No request is made.
//
// The picture is complete without it, and nothing of it is touched until something is asked for: then the list of boxes is read
// (<metadata id="list">; picture_list.c says how it is written), and #boxes is drawn anew from it, as that file draws it.
"use strict";
(function () {
	const svg = document.documentElement, {pad, width, row, head, rows, up, unit, hit, hidden} = svg.dataset;
	const PAD = +pad, WIDTH = +width, ROW = +row, HEAD = +head, ROWS = +rows, HIDDEN = +hidden, HIGH = ROW - 1, LEAST_LETTERS = 3, TOUCHES = 0.05, SVG = "http://www.w3.org/2000/svg";
	const $ = id => document.getElementById(id), isUp = up === "1";
	let boxes = null, zoomed = 0, pattern = "", matching = null, told = "", letter = 7.2, hasDrawn = false;

	// ---- the list ----

	// {names, colours, name, start, weight, depth, first: by depth; of a difference base, fresh, colour}, and of each box `hit`.
	function read() {
		const text = $("list").textContent, at = text.indexOf("\n\n"), lines = text.slice(0, at).split("\n"), list = text.slice(at + 2).split("\n");
		const b = {names: lines.map(l => l.slice(7)), colours: lines.map(l => "#" + l.slice(0, 6)), name: [], start: [], weight: [], depth: [], first: [], more: []};
		list.forEach((line, depth) => {
			let end = 0;
			b.first.push(b.name.length);
			for (const entry of line.split(" ")) {
				const [name, gap, weight, ...more] = entry.split(".").map(v => parseInt(v, 36));
				b.name.push(name);
				b.start.push(end += gap);
				b.weight.push(weight);
				b.depth.push(depth);
				b.more.push(more.length ? more : null);
				end += weight;
			}
		});
		b.first.push(b.name.length);
		b.hit = new Uint8Array(b.name.length);
		letter = measure();
		return b;
	}

	const all = () => boxes ||= read();

	function measure() {
		const text = document.querySelector("#boxes text");
		return text && text.textContent.length ? text.getComputedTextLength() / text.textContent.length : 7.2;
	}

	// The box of a row that has this place; -1. Exact: ends are sums of whole numbers.
	function find(depth, place) {
		let low = boxes.first[depth], high = boxes.first[depth + 1] - 1;
		while (low <= high) {
			const i = (low + high) >> 1;
			if (place < boxes.start[i])
				high = i - 1;
			else if (place >= boxes.start[i] + boxes.weight[i])
				low = i + 1;
			else
				return i;
		}
		return -1;
	}

	const parent = i => i > 0 ? find(boxes.depth[i] - 1, boxes.start[i]) : -1;

	// ---- words ----

	const group = v => String(v).replace(/\B(?=(\d{3})+$)/g, ",");

	function weightText(v) {
		if (unit === "ns")
			return v >= 1e9 ? (v / 1e9).toFixed(2) + " s" : (v / 1e6).toFixed(2) + " ms";
		if (unit !== "bytes")
			return `${group(v)} ${unit}`;
		const power = Math.min(4, Math.max(0, Math.floor(Math.log2(v || 1) / 10)));
		return `${power ? (v / 1024 ** power).toFixed(1) : v} ${["bytes", "KiB", "MiB", "GiB", "TiB"][power]}`;
	}

	function sidesText([base, fresh]) {
		const by = fresh - base, signed = (v, digits) => (v < 0 ? "-" : "+") + Math.abs(v).toFixed(digits);
		const itself = base <= 0 ? "new" : fresh <= 0 ? "gone" : `${signed(100 * (fresh / base - 1), 0)} %`;
		return `${(base / 1e7).toFixed(2)} % to ${(fresh / 1e7).toFixed(2)} %, ${signed(by / 1e7, 2)} points, ${itself}`;
	}

	function title(i) {
		const what = boxes.more[i] ? sidesText(boxes.more[i]) : weightText(boxes.weight[i]);
		return `${boxes.names[boxes.name[i]]} (${what}, ${(100 * boxes.weight[i] / boxes.weight[0]).toFixed(2)}%)`;
	}

	// ---- drawing ----

	const element = (name, attributes) => {
		const e = document.createElementNS(SVG, name);
		for (const [key, value] of Object.entries(attributes))
			e.setAttribute(key, value);
		return e;
	};
	const yOf = depth => HEAD + (isUp ? ROWS - 1 - depth : depth) * ROW;

	function scaleNow() {
		return (WIDTH - 2 * PAD) / boxes.weight[zoomed];
	}

	function place(i) {
		const isAround = boxes.depth[i] < boxes.depth[zoomed], x = isAround ? PAD : PAD + (boxes.start[i] - boxes.start[zoomed]) * scaleNow();
		return {x, w: isAround ? WIDTH - 2 * PAD : boxes.weight[i] * scaleNow(), isAround};
	}

	function colourOf(i) {
		if (matching && boxes.hit[i])
			return hit;
		return boxes.more[i] ? "#" + boxes.more[i][2].toString(16).padStart(6, "0") : boxes.colours[boxes.name[i]];
	}

	const classOf = (i, isAround) => [matching && !boxes.hit[i] ? "miss" : matching ? "hit" : "", isAround ? "around" : ""].filter(Boolean).join(" ");

	function wideBox(i, {x, w, isAround}) {
		const g = element("g", {class: classOf(i, isAround)}), y = yOf(boxes.depth[i]), text = element("text", {x: x + 3, y: y + 13});
		text.textContent = fitLabel(boxes.names[boxes.name[i]], Math.floor((w - 6) / letter));
		g.append(element("rect", {x, y, width: w, height: HIGH, fill: colourOf(i)}), text);
		return g;
	}

	// Narrow boxes of a row: a path of each look, as fmt_flamegraph.c has them.
	function addStripe(stripes, i, {x, w}) {
		const key = `${colourOf(i)} ${classOf(i, false)}`, last = stripes.last;
		if (last && w < 1 && last.key === key && x - last.end < TOUCHES) {
			last.end = x + w;
			return;
		}
		stripes.last = {key, x, end: x + w};
		if (!stripes.by.has(key))
			stripes.by.set(key, []);
		stripes.by.get(key).push(stripes.last);
	}

	function stripePaths({by}, depth) {
		const y = yOf(depth), n = v => v.toFixed(2);
		return [...by].map(([key, list]) => {
			const [fill, name] = key.split(" ");
			return element("path", {fill, class: name, d: list.map(s => `M${n(s.x)} ${y}h${n(s.end - s.x)}v${HIGH}h-${n(s.end - s.x)}z`).join("")});
		});
	}

	// From the first box of a row that ends behind `from` on.
	function firstBehind(depth, from) {
		let low = boxes.first[depth], high = boxes.first[depth + 1];
		while (low < high) {
			const i = (low + high) >> 1;
			if (boxes.start[i] + boxes.weight[i] <= from)
				low = i + 1;
			else
				high = i;
		}
		return low;
	}

	function drawRow(depth, out) {
		const from = boxes.start[zoomed], to = from + boxes.weight[zoomed], stripes = {by: new Map(), last: null}, least = LEAST_LETTERS * letter + 6;
		for (let i = firstBehind(depth, from); i < boxes.first[depth + 1] && boxes.start[i] < to; i++) {
			const where = place(i);
			if (where.w >= least)
				out.append(wideBox(i, where));
			else
				addStripe(stripes, i, where);
		}
		out.append(...stripePaths(stripes, depth));
	}

	function draw() {
		all();
		const out = document.createDocumentFragment();
		for (let d = 0; d + 1 < boxes.first.length; d++)
			drawRow(d, out);
		$("boxes").replaceChildren(out);
		$("reset").style.visibility = zoomed ? "visible" : "hidden";
		$("over").style.visibility = "hidden";
		hasDrawn = true;
	}

	// ---- search ----

	function compile(text) {
		try {
			return new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
		} catch {
			return null;
		}
	}

	// A stack counts once, however many of its frames match: only frames count that are around no other hit.
	function share() {
		let sum = 0;
		const covered = new Uint8Array(boxes.hit.length);
		for (let i = 0; i < covered.length; i++) {
			const p = parent(i);
			covered[i] = p >= 0 && (covered[p] || boxes.hit[p]) ? 1 : 0;
			sum += boxes.hit[i] && !covered[i] ? boxes.weight[i] : 0;
		}
		return 100 * sum / boxes.weight[0];
	}

	function search(text) {
		pattern = text;
		matching = text ? compile(text) : null;
		if (matching) {
			const hits = all().names.map(n => matching.test(n));
			boxes.name.forEach((n, i) => { boxes.hit[i] = hits[n] ? 1 : 0; });
		}
		$("matched").textContent = !text ? told : matching === null ? "no regular expression: " + text :
			"matched: " + share().toFixed(1) + " %" +
			(HIDDEN >= 0.05 ? " (boxes too narrow to be drawn, " + HIDDEN.toFixed(1) + " %, are not searched)" : "");
		$("search").textContent = text ? "Clear search" : "Search";
	}

	function ask() {
		if (pattern)
			return change(zoomed, "");
		const text = prompt("Functions to highlight (regular expression; capital letters make it exact):", "");
		if (text)
			change(zoomed, text);
	}

	// ---- the address: what is shown, by names, so that Back undoes a zoom and a link opens the same, in other pictures too ----

	const escapeName = name => encodeURIComponent(name).replace(/%(?:20|3A|2C|40|24)/g, decodeURIComponent).replace(/ /g, "%20");

	function remember() {
		const parts = [], path = [];
		for (let i = zoomed; i > 0; i = parent(i))
			path.unshift(escapeName(boxes.names[boxes.name[i]]));
		if (path.length)
			parts.push("z=" + path.join(";"));
		if (pattern)
			parts.push("s=" + encodeURIComponent(pattern));
		try {
			history.pushState(null, "", "#" + parts.join("&"));
		} catch {
			// a picture inside of another page has no history
		}
	}

	function decode(text) {
		try {
			return decodeURIComponent(text);
		} catch {
			return text;
		}
	}

	// {box, lost: the first name that is not there}
	function follow(names) {
		let at = 0;
		for (const name of names) {
			const depth = boxes.depth[at] + 1, end = boxes.start[at] + boxes.weight[at];
			let i = depth + 1 < boxes.first.length ? firstBehind(depth, boxes.start[at]) : boxes.name.length;
			while (i < boxes.first[depth + 1] && boxes.start[i] < end && boxes.names[boxes.name[i]] !== name)
				i++;
			if (!(i < boxes.first[depth + 1] && boxes.start[i] < end))
				return {box: at, lost: name};
			at = i;
		}
		return {box: at, lost: ""};
	}

	function restore() {
		const state = {};
		for (const part of location.hash.slice(1).split("&")) {
			const at = part.indexOf("=");
			if (at > 0)
				state[part.slice(0, at)] = part.slice(at + 1);
		}
		all();
		const {box, lost} = follow((state.z || "").split(";").filter(Boolean).map(decode));
		told = lost ? `not in this picture: “${lost}”` : "";
		show(box, decode(state.s || ""));
	}

	function show(box, text) {
		zoomed = box;
		search(text);
		draw();
	}

	function change(box, text) {
		all();
		told = "";
		show(box, text);
		remember();
	}

	// ---- mouse and keys ----

	// The box under the mouse; -1.
	function boxAt(e) {
		const r = svg.getBoundingClientRect(), scale = r.width / WIDTH, x = (e.clientX - r.left) / scale, line = Math.floor(((e.clientY - r.top) / scale - HEAD) / ROW);
		const depth = isUp ? ROWS - 1 - line : line;
		if (depth < 0 || depth >= ROWS || x < PAD || x >= WIDTH - PAD)
			return -1;
		all();
		if (depth + 1 >= boxes.first.length)
			return -1;
		return find(depth, depth < boxes.depth[zoomed] ? boxes.start[zoomed] : boxes.start[zoomed] + (x - PAD) / scaleNow());
	}

	function hover(e) {
		const i = boxAt(e), over = $("over");
		over.style.visibility = i < 0 ? "hidden" : "visible";
		$("details").textContent = i < 0 ? "" : title(i);
		if (i < 0)
			return;
		const {x, w} = place(i);
		for (const [key, value] of Object.entries({x, y: yOf(boxes.depth[i]), width: Math.max(w, 1)}))
			over.setAttribute(key, value);
	}

	svg.addEventListener("click", e => {
		const i = boxAt(e);
		if (i >= 0)
			change(i, pattern);
		else if (e.target.id === "reset")
			change(0, pattern);
		else if (e.target.id === "search")
			ask();
	});
	svg.addEventListener("mousemove", hover);
	addEventListener("keydown", e => {
		if (e.key === "/" || (e.key === "f" && (e.ctrlKey || e.metaKey))) {
			e.preventDefault();
			ask();
		} else if (e.key === "Escape") {
			change(pattern ? zoomed : 0, "");
		} else if (e.key === "Backspace" && zoomed) {
			change(Math.max(0, parent(zoomed)), pattern);
		}
	});
	addEventListener("popstate", restore);

	// ---- at the beginning ----

	// What was cut at its end without this script, when nothing else is to be done.
	function relabel() {
		const later = self.requestIdleCallback || (run => setTimeout(run, 50)), cut = [...document.querySelectorAll("#boxes text")].filter(t => t.textContent.endsWith("…"));
		const some = () => {
			if (hasDrawn)
				return;
			for (const text of cut.splice(0, 200)) {
				const name = text.parentNode.firstChild.textContent.replace(/ \([^()]*\)$/, "");
				if (!name.endsWith("…"))
					text.textContent = fitLabel(name, Math.floor((text.previousSibling.getAttribute("width") - 6) / letter));
			}
			if (cut.length)
				later(some);
			else
				svg.dataset.ready = "1";
		};
		later(some);
	}

	relabel();
	if (location.hash.length > 1)
		restore();
	// Where flames burn upwards the root may be below the first screen.
	if (isUp && +svg.getAttribute("height") > innerHeight)
		scrollTo(0, +svg.getAttribute("height"));
})();
