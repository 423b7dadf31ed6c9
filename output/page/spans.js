// spans.js - calls and waits below the bars of time: a row for each depth of each thread; of a chosen range of time, what is in it.

const LANE = 12, LANES_MAX = 24, LANE_FONT = "10px system-ui, sans-serif", LANE_TEXT_MIN = 24, LETTER = 6, HIT_PIXELS = 2;
// States of waits; between them a thread ran, or nothing is known.
const STATE_COLOURS = {sleeping: "hsl(210 45% 82%)", runnable: "hsl(45 95% 58%)", uninterruptible: "hsl(0 70% 58%)"}, OTHER_STATE = "hsl(0 0% 70%)";
// enum span_end
const SPAN_ENDS = ["", "left without an event that tells it", "left or suspended without an event that tells it", "had not ended"];

// Which row each call is in, of those for which takes(number of a task): {rows, of (by call; -1: none), nHidden: calls beyond the last row}
function laneRows(spans, takes) {
	const deepest = new Map(), first = new Map(), of = new Int32Array(spans.n).fill(-1);
	let rows = 0, nHidden = 0;
	for (let i = 0; i < spans.n; i++)
		if (takes(spans.task[i]))
			deepest.set(spans.task[i], Math.max(spans.depth[i], deepest.get(spans.task[i]) || 0));
	for (const [task, depth] of [...deepest].sort((a, b) => a[0] - b[0])) {
		first.set(task, rows);
		rows += depth + 1;
	}
	for (let i = 0; i < spans.n; i++) {
		const row = first.has(spans.task[i]) ? first.get(spans.task[i]) + spans.depth[i] : -1;
		of[i] = row < LANES_MAX ? row : -1;
		nHidden += row >= LANES_MAX;
	}
	return {rows: Math.min(rows, LANES_MAX), of, nHidden};
}

// The call at a moment in a row, give or take some nanoseconds; of several the shortest. -1: none.
function spanAt(spans, of, row, time, slack) {
	let found = -1;
	for (let i = 0; i < spans.n; i++)
		if (of[i] === row && spans.start[i] - slack <= time && time <= spans.end[i] + slack &&
		    (found < 0 || spans.end[i] - spans.start[i] < spans.end[found] - spans.start[found]))
			found = i;
	return found;
}

const taskName = task => [task.comm, task.tid >= 0 ? `thread ${task.tid}` : ""].filter(Boolean).join(", ");
// Calls have parentheses, hits of probes no length.
const isWait = (spans, i) => spans.end[i] > spans.start[i] && !spans.text[i].includes("(");
const spanColour = (spans, i) => isWait(spans, i) ? STATE_COLOURS[spans.text[i]] || OTHER_STATE : colourOf("kind", 1, spans.text[i].split("(", 1)[0], "");

// [[state, colour]] of the waits that there are.
const stateLegend = spans => Object.entries(STATE_COLOURS).filter(([state]) => spans.text.includes(state));

class SpanLanes {
	constructor(spans, tasks) {
		Object.assign(this, {spans, tasks, rows: 0, of: new Int32Array(spans.n), nHidden: 0});
	}

	get height() { return this.rows * LANE; }

	// takes(number of a task)
	choose(takes) {
		Object.assign(this, laneRows(this.spans, takes));
	}

	draw(c, top, width, [from, to], colours) {
		const {spans, of} = this, scale = width / Math.max(1, to - from);
		c.font = LANE_FONT;
		c.textBaseline = "middle";
		const threads = new Map();
		for (let i = 0; i < spans.n; i++) {
			if (of[i] < 0 || spans.end[i] < from || spans.start[i] > to)
				continue;
			const x = Math.max(0, (spans.start[i] - from) * scale), w = Math.max(1, Math.min(width, (spans.end[i] - from) * scale) - x), y = top + of[i] * LANE;
			c.fillStyle = spanColour(spans, i);
			c.fillRect(x, y, w > 3 ? w - 0.5 : w, LANE - 1);
			if (isWait(spans, i)) {
				threads.set(of[i], spans.task[i]);
				continue;
			}
			const room = Math.floor((w - 4) / LETTER), text = spans.text[i], label = w < LANE_TEXT_MIN ? "" : text.length <= room ? text : `${text.slice(0, room - 1)}…`;
			if (label) {
				c.fillStyle = colours.letters;
				c.fillText(label, x + 2, y + LANE / 2);
			}
		}
		for (const [row, task] of threads)
			this.drawName(c, top + row * LANE, taskName(this.tasks[task]), colours);
	}

	// At the left end of a row of waits.
	drawName(c, y, name, colours) {
		c.fillStyle = "rgb(255 255 255 / 75%)";
		c.fillRect(0, y, c.measureText(name).width + 6, LANE - 1);
		c.fillStyle = colours.letters;
		c.fillText(name, 2, y + LANE / 2);
	}

	at(y, time, slack) {
		return spanAt(this.spans, this.of, Math.floor(y / LANE), time, slack);
	}

	// Lines for the tip: the call or wait, how long, when and whose.
	lines(i) {
		const {spans} = this, task = this.tasks[spans.task[i]], took = spans.end[i] - spans.start[i], isCall = took > 0 || spans.text[i].includes("(");
		return [spans.text[i], isCall ? `${formatWeight(took, "ns")}${spans.how[i] ? `, ${SPAN_ENDS[spans.how[i]]}` : ""}` : "",
			`at ${formatWeight(spans.start[i], "ns")}`, taskName(task)];
	}

	// What is not shown.
	missing() {
		const n = this.nHidden + this.spans.nLeftOut;
		const what = this.spans.n && isWait(this.spans, 0) ? "wait" : "call";
		return n ? `${formatWeight(n, n === 1 ? what : `${what}s`)} not shown here (the shortest, or in more rows)` : "";
	}
}
