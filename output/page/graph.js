// graph.js - draws a tree on a canvas: only what is wide enough, only the rows on the screen.

const ROW = 19, FONT = 12, NARROW = 1, MIN_LETTERS = 3;

// Rows of boxes {node (-1: n narrow ones), x, width, depth, above: it is around what is zoomed}, callers of a sandwich first.
function layoutTree(tree, zoomed, width) {
	const boxes = [], top = tree.top(), isCaller = tree.isCaller(zoomed);
	const path = [];
	for (let i = zoomed; i > top;)
		path.push(i = tree.parent(i));
	const around = path.reverse().map((node, k) => ({node, x: 0, width, depth: isCaller ? -k : k, above: true}));
	boxes.push(...around);
	const depth = around.length * (isCaller ? -1 : 1);
	// Downwards from what is zoomed, or of zoomed callers from the function itself.
	const from = isCaller ? {node: top, x: 0, width, depth: 0} : {node: zoomed, x: 0, width, depth};
	spread(tree, from, 1, i => tree.children(i), boxes, !isCaller);
	const up = isCaller ? {node: zoomed, x: 0, width, depth} : {node: top, x: 0, width, depth: 0};
	spread(tree, up, -1, i => tree.callers(i), boxes, isCaller);
	return toRows(boxes);
}

// All below (or above) a box, and the box itself if it is not there yet.
function spread(tree, from, step, next, boxes, withItself) {
	const todo = [from];
	while (todo.length) {
		const box = todo.pop();
		if (box !== from || withItself)
			boxes.push(box);
		const scale = box.width / tree.total(box.node);
		let x = box.x, rest = null;
		for (const node of next(box.node)) {
			const width = tree.total(node) * scale, depth = box.depth + step;
			if (width >= NARROW) {
				todo.push({node, x, width, depth});
			} else {
				rest ||= {node: -1, x, width: 0, depth, n: 0};
				rest.width += width;
				rest.n++;
			}
			x += width;
		}
		if (rest && rest.width >= NARROW / 2)
			boxes.push(rest);
	}
}

function toRows(boxes) {
	const first = boxes.reduce((least, b) => Math.min(least, b.depth), 0), rows = [];
	for (const box of boxes) {
		box.depth -= first;
		(rows[box.depth] ||= []).push(box);
	}
	for (const row of rows)
		row.sort((a, b) => a.x - b.x);
	return rows;
}

class Graph {
	// look: {name(frame), colour(frame, node), matches: Uint8Array or null}; on: {zoom(node), point(node, box), menu(node, x, y)}
	constructor(canvas, scroll, tall, look, on) {
		Object.assign(this, {canvas, scroll, tall, look, on, tree: null, zoomed: 0, chosen: -1, flames: false, rows: [], width: 0, height: 0, pending: 0});
		this.context = canvas.getContext("2d");
		this.font = `${FONT}px ui-monospace, Menlo, Consolas, monospace`;
		this.context.font = this.font;
		this.letter = this.context.measureText("mmmmmmmmmm").width / 10;
		this.dark = matchMedia("(prefers-color-scheme: dark)");
		this.labels = new Map();
		scroll.addEventListener("scroll", () => this.schedule());
		canvas.addEventListener("mousemove", e => this.hover(e));
		canvas.addEventListener("mouseleave", () => on.point(this.chosen));
		canvas.addEventListener("click", e => this.click(e));
		canvas.addEventListener("contextmenu", e => this.askMenu(e));
		for (const what of ["focus", "blur"])
			canvas.addEventListener(what, () => this.schedule());
		this.dark.addEventListener("change", () => this.schedule());
		new ResizeObserver(() => this.layout()).observe(scroll);
	}

	show(tree, zoomed) {
		this.tree = tree;
		this.zoomed = zoomed;
		this.chosen = zoomed;
		this.layout();
		this.scroll.scrollTop = this.home();
	}

	// Where to begin to look: at the root, or at what a sandwich is of.
	home() {
		const box = this.tree.top() > 0 ? this.boxOf(this.zoomed) : undefined;
		return box ? this.y(box.depth) - this.height / 3 : this.flames ? this.scroll.scrollHeight : 0;
	}

	get boxes() { return this.rows; }

	layout() {
		if (!this.tree)
			return;
		this.width = this.scroll.clientWidth;
		this.height = this.scroll.clientHeight;
		this.rows = layoutTree(this.tree, this.zoomed, this.width);
		const height = `${this.fullHeight()}px`;
		if (this.tall.style.height !== height)
			this.tall.style.height = height;
		this.schedule();
	}

	fullHeight() {
		return Math.max(this.rows.length * ROW + 4, this.height);
	}

	y(depth) {
		return this.flames ? this.fullHeight() - (depth + 1) * ROW : depth * ROW;
	}

	depthAt(y) {
		return Math.floor((this.flames ? this.fullHeight() - y : y) / ROW);
	}

	// ---- painting: once a frame, whatever happened ----

	schedule() {
		this.pending ||= requestAnimationFrame(() => {
			this.pending = 0;
			this.paint();
		});
	}

	resize(ratio) {
		const {canvas} = this, width = Math.round(this.width * ratio), height = Math.round(this.height * ratio);
		if (canvas.width === width && canvas.height === height)
			return;
		canvas.width = width;
		canvas.height = height;
		canvas.style.width = `${this.width}px`;
		canvas.style.height = `${this.height}px`;
	}

	paint() {
		if (!this.tree)
			return;
		const c = this.context, ratio = devicePixelRatio || 1, top = this.scroll.scrollTop;
		this.resize(ratio);
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, this.width, this.height);
		c.font = this.font;
		c.textBaseline = "middle";
		this.rows.forEach((row, depth) => {
			const y = this.y(depth) - top;
			if (y > -ROW && y < this.height)
				for (const box of row)
					this.paintBox(box, y);
		});
		this.paintChosen(top);
	}

	fillOf(box, frame, isHit) {
		return box.node < 0 ? "#9a9a9a" : isHit ? "#ff5cf4" : frame < 0 ? "#dcdcdc" : this.look.colour(frame, box.node);
	}

	paintBox(box, y) {
		// Dimmed boxes show the page behind them, so their letters follow the page.
		const c = this.context, {matches} = this.look, frame = box.node > 0 ? this.tree.frame(box.node) : -1;
		const width = Math.max(box.width - (box.width > 3 ? 1 : 0), 0.6), isHit = matches && frame >= 0 && matches[frame], dimmed = matches && !isHit;
		const alpha = dimmed ? 0.35 : box.above ? 0.75 : 1;
		c.globalAlpha = alpha;
		c.fillStyle = this.fillOf(box, frame, isHit);
		c.fillRect(box.x, y, width, ROW - 1);
		const room = Math.floor((width - 6) / this.letter);
		if (room < MIN_LETTERS)
			return;
		c.globalAlpha = 1;
		c.fillStyle = dimmed && this.dark.matches ? "#fff" : "#000";
		c.fillText(this.labelOf(box, frame, room), box.x + 3, y + ROW / 2);
	}

	labelOf(box, frame, room) {
		if (frame < 0)
			return fitLabel(box.node < 0 ? `${box.n} smaller` : "all", room);
		let label = this.labels.get(frame);
		if (!label)
			this.labels.set(frame, label = {name: this.look.name(frame), short: null});
		if (label.name.length > room)
			label.short ??= shortName(label.name);
		return fitLabel(label.name, room, label.short);
	}

	// What the keyboard is at, and the function that a sandwich is of.
	paintChosen(top) {
		const at = document.activeElement === this.canvas ? this.chosen : this.tree.top() > 0 ? this.tree.top() : -1, box = this.boxOf(at);
		if (!box || at < 0)
			return;
		this.context.strokeStyle = "#000";
		this.context.lineWidth = 2;
		this.context.strokeRect(box.x + 1, this.y(box.depth) - top + 1, Math.max(box.width - 3, 1), ROW - 3);
	}

	// ---- the mouse ----

	boxAt(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, row = this.rows[this.depthAt(e.clientY - r.top + this.scroll.scrollTop)];
		return row && row.find(b => x >= b.x && x < b.x + b.width);
	}

	hover(e) {
		const box = this.boxAt(e);
		if (box === this.hovered)
			return;
		this.hovered = box;
		this.canvas.style.cursor = box && box.node >= 0 ? "pointer" : "default";
		this.on.point(box ? box.node : this.chosen, box);
	}

	click(e) {
		const box = this.boxAt(e);
		if (box && box.node >= 0)
			this.on.zoom(box.node);
	}

	askMenu(e) {
		const box = this.boxAt(e);
		if (!box || box.node <= 0)
			return;
		e.preventDefault();
		this.choose(box.node);
		this.on.menu(box.node, e.clientX, e.clientY);
	}

	// ---- walking ----

	boxOf(node) {
		for (const row of this.rows)
			for (const box of row)
				if (box.node === node)
					return box;
		return undefined;
	}

	choose(node) {
		const box = this.boxOf(node);
		if (!box)
			return;
		this.chosen = node;
		const y = this.y(box.depth);
		if (y < this.scroll.scrollTop || y + ROW > this.scroll.scrollTop + this.height)
			this.scroll.scrollTop = y - this.height / 2;
		this.schedule();
		this.on.point(node, box);
	}

	// Arrow keys: to what touches the frame in the next row, or to its neighbours.
	walk(key) {
		const box = this.boxOf(this.chosen) || this.boxOf(this.zoomed), step = {ArrowDown: 1, ArrowUp: -1}[key];
		if (step) {
			const row = this.rows[box.depth + (this.flames ? -step : step)] || [];
			const next = row.find(b => b.node >= 0 && b.x < box.x + box.width - 1e-6 && b.x + b.width > box.x + 1e-6);
			return next && this.choose(next.node);
		}
		const named = this.rows[box.depth].filter(b => b.node >= 0), next = named[named.indexOf(box) + (key === "ArrowRight" ? 1 : -1)];
		return next && this.choose(next.node);
	}

	// Boxes whose frames match, in reading order.
	hits() {
		const {matches} = this.look;
		return matches ? this.rows.flat().filter(b => b.node > 0 && matches[this.tree.frame(b.node)]) : [];
	}
}
