// time.js - when samples were taken: a strip of bars or a heat map, of which a range can be chosen; and calls below the bars (spans.js).

const HEAT_ROWS = 20;
// Of the canvas, for the axis.
const AXIS = 12, BARS = 32, AXIS_FONT = "10px system-ui, sans-serif", TICK_PIXELS = 80;

// "0", "1.5 s", "20 ms"
function tickText(ns) {
	const [scale, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([s]) => ns >= s) || [1, "ns"];
	return ns === 0 ? "0" : `${Number((ns / scale).toPrecision(10))} ${unit}`;
}

class TimeStrip {
	// on: {range([from, to] or null), hover(text), tip(lines or null, event)}; lanes: SpanLanes
	constructor(canvas, strip, lanes, on) {
		Object.assign(this, {canvas, strip, lanes, on, log: null, span: 0, range: null, heat: false, passes: null});
		canvas.addEventListener("pointerdown", e => this.begin(e));
		canvas.addEventListener("pointermove", e => this.move(e));
		canvas.addEventListener("pointerup", () => this.finish());
		canvas.addEventListener("pointerleave", () => on.tip(null));
		canvas.addEventListener("keydown", e => this.key(e));
		new ResizeObserver(() => this.draw()).observe(canvas);
	}

	// takes(number of a task): are its calls to be shown?
	show(log, passes, takes, range, heat) {
		if (log === this.log && passes === this.passes && range === this.range && heat === this.heat && this.drawn)
			return;
		Object.assign(this, {log, passes, range, heat});
		this.lanes.choose(takes);
		this.strip.classList.toggle("heat", heat);
		this.canvas.style.height = heat || !this.lanes.rows ? "" : `${BARS + 4 + this.lanes.height}px`;
		this.span = log.n ? Math.max(log.end, 1) : 1;
		this.draw();
	}

	// Columns of the heat map are whole seconds, or what makes some hundred of them.
	columns() {
		return Math.max(20, Math.min(Math.floor(this.canvas.clientWidth / 4), Math.ceil(this.span / 1e9) || 1));
	}

	// side: of a difference, 0 or 1.
	bins(n, side) {
		const bins = new Float64Array(n), {log, span} = this;
		for (let i = 0; i < log.n; i++)
			if (this.passes(log.sample[i]) && (!log.side || side === undefined || log.side[i] === side))
				bins[Math.min(n - 1, Math.floor(log.time[i] / span * n))] += log.weight[i];
		return bins;
	}

	// Without the axis and the calls.
	barsHeight() {
		return this.heat || !this.lanes.rows ? this.canvas.clientHeight - AXIS : BARS - AXIS;
	}

	draw() {
		if (!this.log || !this.canvas.clientWidth)
			return;
		this.drawn = true;
		const {canvas} = this, c = canvas.getContext("2d"), ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = this.barsHeight();
		const style = getComputedStyle(document.documentElement), accent = style.getPropertyValue("--accent");
		canvas.width = w * ratio;
		canvas.height = canvas.clientHeight * ratio;
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = accent;
		if (this.heat)
			this.drawHeat(c, w, h);
		else
			this.drawBars(c, w, h);
		c.globalAlpha = 1;
		if (this.range) {
			c.fillStyle = style.getPropertyValue("--bg");
			c.globalAlpha = 0.7;
			const [a, b] = this.range.map(t => t / this.span * w);
			c.fillRect(0, 0, a, h);
			c.fillRect(b, 0, w - b, h);
			c.globalAlpha = 1;
		}
		this.drawAxis(c, w, h, style.getPropertyValue("--soft"));
		if (!this.heat && this.lanes.rows)
			this.lanes.draw(c, h + AXIS + 4, w, this.lanesRange(), {letters: "#000"});
		canvas.setAttribute("aria-valuetext", this.text());
	}

	lanesRange() {
		return this.range || [0, this.span];
	}

	// Of a pointer below the axis: where among the calls, and when there. null: it is on the bars.
	inLanes(e) {
		const r = this.canvas.getBoundingClientRect(), y = e.clientY - r.top - BARS - 4, [from, to] = this.lanesRange();
		if (this.heat || !this.lanes.rows || y < 0)
			return null;
		return {y, time: from + (e.clientX - r.left) / r.width * (to - from), slack: HIT_PIXELS * (to - from) / r.width};
	}

	// At round times: 1, 2 or 5 of a unit.
	drawAxis(c, w, h, colour) {
		const least = this.span * TICK_PIXELS / w, power = 10 ** Math.floor(Math.log10(least)), step = power * [1, 2, 5, 10].find(k => k * power >= least);
		c.font = AXIS_FONT;
		c.fillStyle = colour;
		c.textBaseline = "bottom";
		for (let t = 0; t <= this.span; t += step) {
			const x = t / this.span * w, text = tickText(t), width = c.measureText(text).width;
			c.fillRect(Math.min(x, w - 1), h, 1, 3);
			if (x + width + 6 < w)
				c.fillText(text, x + 3, h + AXIS);
		}
	}

	// Of a difference the base above, the new side below.
	drawBars(c, w, h) {
		const n = Math.max(1, Math.floor(w / 3)), rows = this.log.side ? [this.bins(n, 0), this.bins(n, 1)] : [this.bins(n)], high = h / rows.length;
		const most = Math.max(...rows.map(bins => bins.reduce((a, b) => Math.max(a, b), 0)));
		rows.forEach((bins, k) => bins.forEach((v, i) => c.fillRect(i * w / n, high * (k + 1) - v / most * (high - 2), w / n - 0.5, v / most * (high - 2))));
	}

	drawHeat(c, w, h) {
		const columns = this.columns(), bins = this.bins(columns * HEAT_ROWS), most = bins.reduce((a, b) => Math.max(a, b), 0);
		bins.forEach((v, i) => {
			c.globalAlpha = v ? 0.15 + 0.85 * v / most : 0;
			c.fillRect(Math.floor(i / HEAT_ROWS) * w / columns, i % HEAT_ROWS * h / HEAT_ROWS, w / columns - 0.5, h / HEAT_ROWS - 0.5);
		});
	}

	text() {
		const seconds = t => (t / 1e9).toFixed(this.span < 2e9 ? 3 : 2);
		return this.range ? `${seconds(this.range[0])} to ${seconds(this.range[1])} s` : `all ${seconds(this.span)} s`;
	}

	// How many samples there are about a moment.
	describe(time) {
		const step = this.span / (this.heat ? this.columns() * HEAT_ROWS : Math.max(1, Math.floor(this.canvas.clientWidth / 3)));
		const from = Math.floor(time / step) * step, {log} = this;
		let n = 0;
		for (let i = 0; i < log.n; i++)
			if (log.time[i] >= from && log.time[i] < from + step && this.passes(log.sample[i]))
				n++;
		return `at ${formatWeight(from, "ns")}: ${formatWeight(n, n === 1 ? "sample" : "samples")} in ${formatWeight(step, "ns")}; drag to take a range`;
	}

	timeAt(e) {
		const r = this.canvas.getBoundingClientRect(), x = Math.min(Math.max(0, e.clientX - r.left), r.width) / r.width, lane = this.inLanes(e);
		if (lane)
			return Math.min(Math.max(0, lane.time), this.span);
		if (!this.heat)
			return x * this.span;
		const column = Math.min(this.columns() - 1, Math.floor(x * this.columns())), high = r.height - AXIS, y = Math.min(Math.max(0, e.clientY - r.top), high - 1) / high;
		return (column + Math.floor(y * HEAT_ROWS) / HEAT_ROWS) / this.columns() * this.span;
	}

	begin(e) {
		this.from = this.timeAt(e);
		this.moved = false;
		this.canvas.setPointerCapture(e.pointerId);
	}

	move(e) {
		const to = this.timeAt(e);
		if (this.from === undefined)
			return this.hover(e, to);
		this.moved ||= Math.abs(to - this.from) > this.span / 300;
		if (this.moved) {
			this.range = [Math.min(this.from, to), Math.max(this.from, to)];
			this.draw();
		}
	}

	// A call in words, or how many samples there are.
	hover(e, time) {
		const lane = this.inLanes(e), i = lane ? this.lanes.at(lane.y, lane.time, lane.slack) : -1, lines = i < 0 ? null : this.lanes.lines(i);
		this.on.tip(lines, e);
		this.on.hover(lines ? lines.filter(Boolean).join(", ") : [this.describe(time), lane ? this.lanes.missing() : ""].filter(Boolean).join("; "));
	}

	finish() {
		const moved = this.moved;
		this.from = undefined;
		this.set(moved ? this.range : null);
	}

	set(range) {
		this.range = range;
		this.draw();
		this.on.range(range);
	}

	key(e) {
		const step = this.span / 20, [a, b] = this.range || [0, this.span];
		const moves = {ArrowLeft: -step, ArrowRight: step};
		if (e.key === "Escape" && this.range)
			this.set(null);
		else if (e.key in moves && e.shiftKey)
			this.set([a, Math.max(a + step, Math.min(this.span, b + moves[e.key]))]);
		else if (e.key in moves)
			this.set(this.range ? [Math.max(0, a + moves[e.key]), Math.min(this.span, b + moves[e.key])] : [0, this.span / 4]);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}
}
