// graph.js - draws a tree on a canvas: only what is wide enough, only the rows on the screen.

const ROW = 19, FONT = 12, NARROW = 1;

class Graph {
	// look: {name(frame), colour(frame, node), matches: Uint8Array or null}; on: {zoom(node), point(node)}
	constructor(canvas, scroll, tall, look, on) {
		Object.assign(this, {canvas, scroll, tall, look, on, tree: null, zoomed: 0, chosen: -1, flames: false, boxes: [], rows: 0, context: canvas.getContext("2d")});
		this.font = `${FONT}px ui-monospace, Menlo, Consolas, monospace`;
		this.context.font = this.font;
		this.letter = this.context.measureText("mmmmmmmmmm").width / 10;
		scroll.addEventListener("scroll", () => this.paint());
		canvas.addEventListener("mousemove", e => this.hover(e));
		canvas.addEventListener("mouseleave", () => on.point(this.chosen));
		canvas.addEventListener("click", e => this.click(e));
		canvas.addEventListener("focus", () => this.paint());
		canvas.addEventListener("blur", () => this.paint());
		new ResizeObserver(() => this.layout()).observe(scroll);
	}

	show(tree, zoomed) {
		this.tree = tree;
		this.zoomed = zoomed;
		this.chosen = zoomed;
		this.layout();
		this.scroll.scrollTop = this.flames ? this.scroll.scrollHeight : 0;
	}

	// Boxes of what is wide enough: {node (-1: several narrow ones), x, width, depth, n}
	layout() {
		if (!this.tree)
			return;
		const width = this.scroll.clientWidth, boxes = [], above = [];
		for (let i = this.zoomed; i > 0;)
			above.push(i = this.tree.parent(i));
		above.reverse().forEach((node, depth) => boxes.push({node, x: 0, width, depth, above: true}));
		const todo = [{node: this.zoomed, x: 0, width, depth: above.length}];
		let rows = above.length + 1;
		while (todo.length) {
			const box = todo.pop();
			boxes.push(box);
			rows = Math.max(rows, box.depth + 1);
			this.addChildren(box, todo, boxes);
		}
		this.width = width;
		this.rows = rows;
		this.boxes = [];
		for (const box of boxes)
			(this.boxes[box.depth] ||= []).push(box);
		for (const row of this.boxes)
			row.sort((a, b) => a.x - b.x);
		this.tall.style.height = `${Math.max(rows * ROW + 4, this.scroll.clientHeight)}px`;
		this.paint();
	}

	addChildren(box, todo, boxes) {
		const scale = box.width / this.tree.total(box.node);
		let x = box.x, rest = null;
		for (const node of this.tree.children(box.node)) {
			const width = this.tree.total(node) * scale;
			if (width >= NARROW) {
				todo.push({node, x, width, depth: box.depth + 1});
			} else {
				rest ||= {node: -1, x, width: 0, depth: box.depth + 1, n: 0};
				rest.width += width;
				rest.n++;
			}
			x += width;
		}
		if (rest && rest.width >= NARROW / 2)
			boxes.push(rest);
	}

	y(depth) {
		return this.flames ? Math.max(this.rows * ROW + 4, this.scroll.clientHeight) - (depth + 1) * ROW : depth * ROW;
	}

	paint() {
		if (!this.tree)
			return;
		const {canvas, context: c, scroll} = this, ratio = devicePixelRatio || 1, height = scroll.clientHeight, top = scroll.scrollTop;
		if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(this.width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = `${this.width}px`;
			canvas.style.height = `${height}px`;
		}
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, this.width, height);
		c.font = this.font;
		c.textBaseline = "middle";
		for (let depth = 0; depth < this.rows; depth++) {
			const y = this.y(depth) - top;
			if (y > -ROW && y < height)
				for (const box of this.boxes[depth] || [])
					this.paintBox(box, y);
		}
	}

	paintBox(box, y) {
		// Dimmed boxes show the page behind them, so their letters follow the page.
		const c = this.context, {matches} = this.look, dark = matchMedia("(prefers-color-scheme: dark)").matches, frame = box.node > 0 ? this.tree.frame(box.node) : -1;
		const width = Math.max(box.width - (box.width > 3 ? 1 : 0), 0.6), isHit = matches && frame >= 0 && matches[frame];
		const dimmed = matches && !isHit;
		c.globalAlpha = dimmed ? 0.35 : box.above ? 0.75 : 1;
		c.fillStyle = box.node < 0 ? "#9a9a9a" : isHit ? "#ff5cf4" : frame < 0 ? "#dcdcdc" : this.look.colour(frame, box.node);
		c.fillRect(box.x, y, width, ROW - 1);
		c.globalAlpha = 1;
		if (box.node === this.chosen && document.activeElement === this.canvas) {
			c.strokeStyle = "#000";
			c.lineWidth = 2;
			c.strokeRect(box.x + 1, y + 1, Math.max(width - 2, 1), ROW - 3);
		}
		const room = Math.floor((width - 6) / this.letter);
		if (room < 3)
			return;
		const text = box.node < 0 ? `${box.n} smaller` : box.node === 0 ? "all" : this.look.name(frame);
		c.fillStyle = dimmed && dark ? "#fff" : "#000";
		c.fillText(fitLabel(text, room), box.x + 3, y + ROW / 2);
	}

	boxAt(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top + this.scroll.scrollTop;
		for (let depth = 0; depth < this.rows; depth++)
			if (y >= this.y(depth) && y < this.y(depth) + ROW)
				return (this.boxes[depth] || []).find(b => x >= b.x && x < b.x + b.width);
		return undefined;
	}

	hover(e) {
		const box = this.boxAt(e);
		this.canvas.style.cursor = box && box.node >= 0 ? "pointer" : "default";
		this.on.point(box ? box.node : this.chosen, box);
	}

	click(e) {
		const box = this.boxAt(e);
		if (box && box.node >= 0)
			this.on.zoom(box.node);
	}

	boxOf(node) {
		for (const row of this.boxes)
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
		if (y < this.scroll.scrollTop || y + ROW > this.scroll.scrollTop + this.scroll.clientHeight)
			this.scroll.scrollTop = y - this.scroll.clientHeight / 2;
		this.paint();
		this.on.point(node, box);
	}

	// Arrow keys: towards the leaves, the root, and to neighbours on the same row.
	walk(key) {
		const box = this.boxOf(this.chosen) || this.boxOf(this.zoomed);
		const inwards = this.flames ? "ArrowUp" : "ArrowDown", outwards = this.flames ? "ArrowDown" : "ArrowUp";
		if (key === outwards && box.node > 0)
			return this.choose(this.tree.parent(box.node));
		const row = this.boxes[box.depth + (key === inwards ? 1 : 0)] || [], named = row.filter(b => b.node >= 0);
		if (key === inwards) {
			const below = named.filter(b => this.tree.parent(b.node) === box.node);
			return below.length ? this.choose(below[0].node) : undefined;
		}
		const at = named.findIndex(b => b.node === box.node) + (key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0);
		return named[at] ? this.choose(named[at].node) : undefined;
	}

	// Boxes whose frames match, in reading order.
	hits() {
		const {matches} = this.look;
		return matches ? this.boxes.flat().filter(b => b.node > 0 && matches[this.tree.frame(b.node)]) : [];
	}
}
