// state.js - what is shown, and the address that remembers it.

const EMPTY = {
	zoom: "", search: "", event: "", task: "", range: null, invert: false, sandwich: -1, hidden: [], dropped: [], focus: -1, collapse: false, side: "mean",
	flames: false, palette: "kind", heat: false, table: false,
};
// What filters can be taken back to.
const UNDOABLE = ["hidden", "dropped", "focus", "collapse", "task", "range", "zoom"];
// What does not change which picture it is: Back goes past it.
const LOOKS = ["flames", "palette", "heat", "table"];

// How each part is written behind the #, and read: undefined where it says nothing sensible.
const isNumber = text => /^\d+$/.test(text);
const list = {write: v => v.map(encodeURIComponent).join("|"), read: text => text.split("|").map(decodeText).filter(x => /^(f:\d+|m:.*)$/s.test(x))};
const flag = {write: v => v ? "1" : "", read: text => text === "1"};
const oneOf = (...values) => ({write: v => v, read: text => values.includes(text) ? text : undefined});
const frame = {write: v => v < 0 ? "" : String(v), read: (text, profile) => isNumber(text) && +text < profile.frames.n ? +text : undefined};
const PARTS = {
	zoom: {key: "z", write: v => v, read: text => /^\^?[\d.]*$/.test(text) ? text : undefined},
	search: {key: "s", write: v => v, read: text => text},
	event: {key: "e", write: v => v, read: (text, profile) => isNumber(text) && +text < profile.events.length ? text : undefined},
	task: {key: "t", write: v => v, read: text => /^(comm|pid|tid):/.test(text) ? text : undefined},
	range: {key: "r", write: v => v ? v.map(Math.round).join("-") : "", read: text => /^\d+-\d+$/.test(text) ? text.split("-").map(Number) : undefined},
	hidden: {key: "h", ...list}, dropped: {key: "x", ...list},
	invert: {key: "i", ...flag}, collapse: {key: "c", ...flag}, flames: {key: "u", ...flag}, heat: {key: "g", ...flag}, table: {key: "b", ...flag},
	sandwich: {key: "w", ...frame}, focus: {key: "f", ...frame},
	side: {key: "d", ...oneOf("mean", "base", "new")}, palette: {key: "p", ...oneOf("kind", "safe", "module")},
};

// What differs from `start`.
function writeState(state, start) {
	const out = [];
	for (const [name, part] of Object.entries(PARTS)) {
		const text = part.write(state[name]);
		if (text !== part.write(start[name]))
			out.push(`${part.key}=${encodeURIComponent(text)}`);
	}
	return `#${out.join("&")}`;
}

function readState(hash, start, profile) {
	const state = {...start}, given = new Map(hash.replace(/^#/, "").split("&").map(p => [p.slice(0, p.indexOf("=")), p.slice(p.indexOf("=") + 1)]));
	for (const [name, part] of Object.entries(PARTS)) {
		const value = given.has(part.key) ? part.read(decodeText(given.get(part.key)), profile) : undefined;
		if (value !== undefined)
			state[name] = value;
	}
	return state;
}

function decodeText(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
