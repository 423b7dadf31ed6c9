// diff.js - two sides of a difference: what is drawn of them, what is noise, how a change is described and coloured.

const CHANGES = {mean: "mean of both", base: "base", new: "new"};

const NO_WHOLE = 1;
const sumOf = column => column.reduce((a, b) => a + b, 0);

function withDrawn(base, fresh, side) {
	return [side === "base" ? base : side === "new" ? fresh : base.map((v, i) => (v + fresh[i]) / 2), base, fresh];
}

// What is drawn, base, new; as shares of each side's whole. side: a key of CHANGES.
function shareColumns(base, fresh, side) {
	const wholes = [sumOf(base) || NO_WHOLE, sumOf(fresh) || NO_WHOLE];
	return withDrawn(base.map(v => v / wholes[0]), fresh.map(v => v / wholes[1]), side);
}

// The same as weights of one run.
function absoluteColumns(base, fresh, sides, side) {
	return withDrawn(base.map(v => v / Math.max(1, sides[0].runs)), fresh.map(v => v / Math.max(1, sides[1].runs)), side);
}

// Up to how many standard errors is noise where runs say nothing: the 0.995 quantile of the normal distribution (diff.c).
const NORMAL_LIMIT = 2.576, SAMPLES_SUPPOSED = 10000;

// Is the change smaller than `limit` standard errors of counting (diff.h)? counted: of each side, samples n and their weight.
function isNoise(base, fresh, limit, counted) {
	const mean = (base + fresh) / 2;
	return Math.abs(fresh - base) <= limit * Math.sqrt(Math.max(0, mean * (1 - mean)) * (1 / counted[0].n + 1 / counted[1].n));
}

// The same of weights: what n samples weigh has a standard error of sqrt(n) of them.
function isAbsoluteNoise(base, fresh, limit, counted) {
	return Math.abs(fresh - base) <= limit * Math.sqrt(base * counted[0].weight / counted[0].n + fresh * counted[1].weight / counted[1].n);
}

const signed = (v, digits) => (v >= 0 ? "+" : "−") + Math.abs(v).toFixed(digits);

// "50.00 % → 25.00 %, −25.00 points of the whole, −50 % of itself"; of weights "2.00 s → 1.00 s, −1.00 s, ..".
function formatChange(base, fresh, unit = "share") {
	const itself = base <= 0 ? "new" : fresh <= 0 ? "gone" : `${signed(100 * (fresh / base - 1), 0)} % of itself`;
	if (unit !== "share")
		return `${formatWeight(base, unit)} → ${formatWeight(fresh, unit)}, ${formatDelta(fresh - base, unit)}, ${itself}`;
	return `${(100 * base).toFixed(2)} % → ${(100 * fresh).toFixed(2)} %, ${signed(100 * (fresh - base), 2)} points of the whole, ${itself}`;
}

const formatDelta = (v, unit) => `${v >= 0 ? "+" : "−"}${formatWeight(Math.abs(v), unit)}`;

const CHANGE_COLOURS = {kind: {more: 8, less: 215}, safe: {more: 32, less: 205}};
CHANGE_COLOURS.module = CHANGE_COLOURS.kind;
const NO_CHANGE = "#cfcfcf";

// More is red, less is blue, the larger the change of itself the stronger; black letters stay readable.
function changeColour(palette, base, fresh) {
	const most = Math.max(base, fresh), by = most > 0 ? (fresh - base) / most : 0, {more, less} = CHANGE_COLOURS[palette];
	return by === 0 ? NO_CHANGE : `hsl(${by > 0 ? more : less} 90% ${Math.round(88 - 24 * Math.min(1, Math.abs(by) * 1.25))}%)`;
}

function changeLegend(palette) {
	return [["more", changeColour(palette, 1, 1.6)], ["only in new", changeColour(palette, 0, 1)], ["less", changeColour(palette, 1.6, 1)],
		["only in base", changeColour(palette, 1, 0)], ["no change that is more than noise", NO_CHANGE]];
}
