// graph.js - draws a tree on a canvas: only what is wide enough, only what is on the screen.

const ROW = 19, FONT = 12, NARROW = 1, MIN_LETTERS = 3;
// How far a picture can be widened beside zooming.
const MAX_SCALE = 2e4;
// How wide the first frame of an opened box "n smaller" is at least.
const OPENED_PIXELS = 12;

// Frames that are too narrow are one box, "n smaller". Its node is that of its parent, told apart by a negative number.
const restOf = (parent, isCaller) => -2 - 2 * parent - Number(isCaller);
const parentOfRest = node => -2 - node >> 1;
const isCallerRest = node => (-2 - node & 1) === 1;
// What is above the frames of such a box when it is opened.
const OPENED = -1;

// Rows of boxes {node, x, width, depth, above: it is around what is zoomed; of narrow ones n and skip: how many are wider}, callers
// of a sandwich first. what: skip, up: the frames below (or above) what is zoomed without the heaviest; scale, from: what is on the
// screen of a picture that is `scale` times as wide, from where on.
function layoutTree(tree, zoomed, width, {skip = 0, up = false, scale = 1, from = 0} = {}) {
	const boxes = [], top = tree.top(), isCaller = up || tree.isCaller(zoomed), wide = width * scale, x = -from * scale;
	const path = [], draw = {tree, boxes, width};
	for (let i = zoomed; i > top;)
		path.push(i = tree.parent(i));
	path.reverse();
	if (skip)
		path.push(zoomed);
	boxes.push(...path.map((node, k) => ({node, x, width: wide, depth: isCaller ? -k : k, above: true})));
	const depth = path.length * (isCaller ? -1 : 1), topBox = {node: top, x, width: wide, depth: 0}, zoomedBox = {node: zoomed, x, width: wide, depth};
	if (skip) {
		spreadRest(draw, {node: OPENED, of: restOf(zoomed, isCaller), skip, x, width: wide, depth}, isCaller);
		return toRows(boxes);
	}
	// Downwards from what is zoomed, or of zoomed callers from the function itself.
	spread(draw, [isCaller ? topBox : zoomedBox], false, !isCaller);
	spread(draw, [isCaller ? zoomedBox : topBox], true, isCaller);
	return toRows(boxes);
}

const nextTo = (tree, node, up) => up ? tree.callers(node) : tree.children(node);

// The frames of a box "n smaller", which is opened.
function spreadRest(draw, box, up) {
	const nodes = nextTo(draw.tree, parentOfRest(box.of), up).slice(box.skip), total = nodes.reduce((sum, n) => sum + draw.tree.total(n), 0), todo = [];
	Object.assign(box, {n: nodes.length, total});
	draw.boxes.push(box);
	place(draw, box, nodes, {up, scale: box.width / total, of: box.of, skipped: box.skip}, todo);
	spread(draw, todo, up, true);
}

// All below (or above) some boxes, and the boxes themselves if they are not there yet.
function spread(draw, todo, up, withThem) {
	const first = new Set(withThem ? [] : todo);
	while (todo.length) {
		const box = todo.pop();
		if (!first.has(box))
			draw.boxes.push(box);
		place(draw, box, nextTo(draw.tree, box.node, up), {up, scale: box.width / draw.tree.total(box.node), of: restOf(box.node, up), skipped: 0}, todo);
	}
}

// Places frames next to a box: what is wide enough goes to `todo`, what is not is one box; what is off the screen is left out.
// Heavier frames come first: once one is narrow, all are.
function place({tree, boxes, width: screen}, box, nodes, {up, scale, of, skipped}, todo) {
	const depth = box.depth + (up ? -1 : 1);
	let x = box.x, k = 0;
	for (; k < nodes.length && x < screen; k++) {
		const width = tree.total(nodes[k]) * scale;
		if (width < NARROW)
			break;
		if (x + width > 0)
			todo.push({node: nodes[k], x, width, depth});
		x += width;
	}
	if (k === nodes.length || x >= screen)
		return;
	const rest = {node: of, x, width: 0, depth, n: nodes.length - k, skip: skipped + k, total: 0};
	for (; k < nodes.length; k++)
		rest.total += tree.total(nodes[k]);
	rest.width = rest.total * scale;
	if (rest.width >= NARROW / 2 && rest.x + rest.width > 0)
		boxes.push(rest);
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
	// look: {name(frame), colour(frame, node), palette, matches: Uint8Array or null}; on: {zoom(node, box), point(node, box), tip(box, event),
	// menu(node, x, y)}
	constructor(canvas, scroll, tall, look, on) {
		Object.assign(this, {canvas, scroll, tall, look, on, tree: null, zoomed: 0, skip: 0, up: false, scale: 1, from: 0, chosen: 0, flames: false});
		Object.assign(this, {rows: [], width: 0, height: 0, pending: 0, drag: null});
		this.context = canvas.getContext("2d");
		this.font = `${FONT}px ui-monospace, Menlo, Consolas, monospace`;
		this.context.font = this.font;
		this.letter = this.context.measureText("mmmmmmmmmm").width / 10;
		this.dark = matchMedia("(prefers-color-scheme: dark)");
		this.labels = new Map();
		this.listen();
	}

	listen() {
		const {canvas, scroll, on} = this, listeners = {
			mousemove: e => this.hover(e), mouseleave: () => this.leave(), click: e => this.click(e), contextmenu: e => this.askMenu(e),
			focus: () => this.schedule(), blur: () => this.schedule(),
			pointerdown: e => this.beginDrag(e), pointermove: e => this.moveDrag(e), pointerup: () => { this.drag = null; }, pointercancel: () => { this.drag = null; },
		};
		for (const [what, run] of Object.entries(listeners))
			canvas.addEventListener(what, run);
		canvas.addEventListener("wheel", e => this.wheel(e), {passive: false});
		scroll.addEventListener("scroll", () => {
			on.tip(null);
			this.schedule();
		});
		this.dark.addEventListener("change", () => this.schedule());
		new ResizeObserver(() => this.layout()).observe(scroll);
	}

	// place: {node, skip, up}: skip 0, or of the box "n smaller" that is opened (layoutTree()).
	show(tree, {node, skip = 0, up = false}) {
		Object.assign(this, {tree, zoomed: node, skip, up, chosen: skip ? OPENED : node, scale: 1, from: 0, hovered: undefined});
		if (skip)
			this.scale = this.openedScale();
		this.layout();
		this.scroll.scrollTop = this.home();
	}

	// The widest of the frames that were too narrow can be seen now.
	openedScale() {
		const weights = nextTo(this.tree, this.zoomed, this.up).slice(this.skip).map(n => this.tree.total(n)), sum = weights.reduce((a, b) => a + b, 0);
		return Math.max(1, Math.min(MAX_SCALE, OPENED_PIXELS * sum / (weights[0] * this.scroll.clientWidth)));
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
		this.from = Math.max(0, Math.min(this.from, this.width - this.width / this.scale));
		this.rows = layoutTree(this.tree, this.zoomed, this.width, this);
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

	// ---- widening: Ctrl and the wheel, two fingers, + and - ----

	// x: on the screen, what stays where it is.
	widen(by, x = this.width / 2) {
		const at = this.from + x / this.scale;
		this.scale = Math.max(1, Math.min(MAX_SCALE, this.scale * by));
		this.from = at - x / this.scale;
		this.layout();
	}

	shift(pixels) {
		this.from += pixels / this.scale;
		this.layout();
	}

	wheel(e) {
		const isAcross = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY), lines = e.deltaMode === 1 ? 16 : 1;
		if (e.ctrlKey || e.metaKey)
			this.widen(Math.exp(-Math.max(-240, Math.min(240, e.deltaY * lines)) / 240), e.clientX - this.canvas.getBoundingClientRect().left);
		else if (this.scale > 1 && isAcross)
			this.shift((e.deltaX || e.deltaY) * lines);
		else
			return;
		this.on.tip(null);
		e.preventDefault();
	}

	beginDrag(e) {
		this.moved = false;
		if (e.button === 0 && this.scale > 1)
			this.drag = {x: e.clientX, from: this.from};
	}

	moveDrag(e) {
		if (!this.drag || !(this.moved ||= Math.abs(e.clientX - this.drag.x) > 4))
			return;
		this.canvas.setPointerCapture(e.pointerId);
		this.from = this.drag.from - (e.clientX - this.drag.x) / this.scale;
		this.layout();
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
		const {palette} = this.look;
		return box.node < 0 ? smallerColour(palette) : isHit ? hitColour(palette) : frame < 0 ? wholeColour : this.look.colour(frame, box.node);
	}

	paintBox(box, y) {
		// Dimmed boxes show the page behind them, so their letters follow the page.
		const c = this.context, {matches} = this.look, frame = box.node > 0 ? this.tree.frame(box.node) : -1;
		const x = Math.max(box.x, -1), width = Math.max(Math.min(box.x + box.width, this.width + 2) - x - (box.width > 3 ? 1 : 0), 0.6);
		const isHit = matches && frame >= 0 && matches[frame], dimmed = matches && !isHit;
		c.globalAlpha = dimmed ? 0.35 : box.above ? 0.75 : 1;
		c.fillStyle = this.fillOf(box, frame, isHit);
		c.fillRect(x, y, width, ROW - 1);
		const start = Math.max(box.x, 0) + 3, room = Math.floor((Math.min(x + width, this.width) - start - 3) / this.letter);
		if (room < MIN_LETTERS)
			return;
		c.globalAlpha = 1;
		c.fillStyle = dimmed && this.dark.matches ? "#fff" : "#000";
		c.fillText(this.labelOf(box, frame, room), start, y + ROW / 2);
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
		const hasFocus = document.activeElement === this.canvas, box = hasFocus || this.tree.top() > 0 ? this.boxOf(hasFocus ? this.chosen : this.tree.top()) : undefined;
		if (!box)
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
		const box = this.drag && this.moved ? undefined : this.boxAt(e);
		if (box === this.hovered)
			return;
		this.hovered = box;
		this.canvas.style.cursor = this.scale > 1 && this.drag ? "grabbing" : box ? "pointer" : "default";
		this.on.point(box ? box.node : this.chosen, box || this.boxOf(this.chosen));
		this.on.tip(box, e);
	}

	leave() {
		this.hovered = undefined;
		this.on.tip(null);
		this.on.point(this.chosen, this.boxOf(this.chosen));
	}

	click(e) {
		const box = this.boxAt(e);
		if (box && !this.moved)
			this.on.zoom(box.node, box);
	}

	askMenu(e) {
		const box = this.boxAt(e);
		if (!box || box.node <= 0)
			return;
		e.preventDefault();
		this.choose(box.node);
		this.on.tip(null);
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
		const box = this.boxOf(this.chosen) || this.boxOf(this.zoomed) || this.rows[0][0], step = {ArrowDown: 1, ArrowUp: -1}[key];
		if (step) {
			const row = this.rows[box.depth + (this.flames ? -step : step)] || [];
			const next = row.find(b => b.x < box.x + box.width - 1e-6 && b.x + b.width > box.x + 1e-6);
			return next && this.choose(next.node);
		}
		const row = this.rows[box.depth], next = row[row.indexOf(box) + (key === "ArrowRight" ? 1 : -1)];
		return next && this.choose(next.node);
	}

	// Boxes whose frames match, in reading order.
	hits() {
		const {matches} = this.look;
		return matches ? this.rows.flat().filter(b => b.node > 0 && matches[this.tree.frame(b.node)]) : [];
	}
}
