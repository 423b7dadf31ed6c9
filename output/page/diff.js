// diff.js - two sides of a difference: what is drawn of them, what is noise, how a change is described and coloured.

const CHANGES = {mean: "mean of both", base: "base", new: "new"};

// What is drawn, base, new; as shares of each side's whole. side: a key of CHANGES.
function differenceColumns(base, fresh, side) {
	const whole = column => column.reduce((a, b) => a + b, 0) || 1, wholes = [whole(base), whole(fresh)];
	const columns = [base.map(v => v / wholes[0]), fresh.map(v => v / wholes[1])];
	const drawn = side === "base" ? columns[0] : side === "new" ? columns[1] : columns[0].map((v, i) => (v + columns[1][i]) / 2);
	return [drawn, ...columns];
}

// Is the change smaller than `limit` standard errors of counting? (diff.h)
function isNoise(base, fresh, limit, variance) {
	const mean = (base + fresh) / 2;
	return Math.abs(fresh - base) <= limit * Math.sqrt(Math.max(0, mean * (1 - mean)) * variance);
}

const signed = (v, digits) => (v >= 0 ? "+" : "−") + Math.abs(v).toFixed(digits);

// "50.00 % → 25.00 %, −25.00 points of the whole, −50 % of itself"
function formatChange(base, fresh) {
	const itself = base <= 0 ? "new" : fresh <= 0 ? "gone" : `${signed(100 * (fresh / base - 1), 0)} % of itself`;
	return `${(100 * base).toFixed(2)} % → ${(100 * fresh).toFixed(2)} %, ${signed(100 * (fresh - base), 2)} points of the whole, ${itself}`;
}

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
