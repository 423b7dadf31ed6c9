// state.js - what is shown, and the address that remembers it.

const EMPTY = {
	zoom: "", search: "", event: "", task: "", by: "", range: null, invert: false, sandwich: -1, hidden: [], dropped: [], focus: -1, collapse: false,
	side: "mean", scale: "share", flames: false, palette: "kind", heat: false, table: false, list: "functions",
};
// What filters can be taken back to.
const UNDOABLE = ["hidden", "dropped", "focus", "collapse", "task", "range", "zoom"];

// How each part is written behind the #, and read. A reader gets the text, the profile, its links and refuse(what): what it
// refuses is told; undefined where it says nothing sensible.
const flag = {write: v => v ? "1" : "", read: text => text === "1"};
const oneOf = (...values) => ({write: v => v, read: (text, p, links, refuse) => values.includes(text) ? text : refuse(`“${text}” is none of its choices`)});
const frame = {
	write: (v, p, links) => v < 0 ? "" : links.labelOf(v),
	read: (text, p, links, refuse) => oneFrame(text, links, refuse),
};
// Functions, and modules with all that is in them.
const list = {
	write: (v, p, links) => v.map(x => x.startsWith("f:") ? `f:${links.labelOf(+x.slice(2))}` : `m:${escapeFrame(x.slice(2))}`).join(";"),
	read: (text, p, links, refuse) => text.split(";").filter(Boolean).flatMap(x => x.startsWith("m:") ? oneModule(decodeText(x.slice(2)), p, refuse) :
		x.startsWith("f:") ? someFrames(x.slice(2), links, refuse).map(f => `f:${f}`) : refuse(oldAddress(x)) || []),
};
const PARTS = {
	zoom: {key: "z", write: v => v, read: text => text},
	search: {key: "s", write: v => v, read: text => text},
	event: {key: "e", write: (v, p) => p.events[+v] ? p.events[+v].name : "", read: (text, p, links, refuse) => oneEvent(text, p, refuse)},
	task: {key: "t", write: v => v, read: (text, p, links, refuse) => oneTask(text, p, refuse)},
	by: {key: "l", write: v => v, read: (text, p, links, refuse) => GROUPINGS[text] && (p.facts.by || !GROUPINGS[text].includes("label")) ? text : refuse(`“${text}” is none of its choices`)},
	range: {key: "r", write: v => v ? v.map(Math.round).join("-") : "", read: (text, p, links, refuse) => oneRange(text, p, refuse)},
	hidden: {key: "h", ...list}, dropped: {key: "x", ...list},
	invert: {key: "i", ...flag}, collapse: {key: "c", ...flag}, flames: {key: "u", ...flag}, heat: {key: "g", ...flag}, table: {key: "b", ...flag},
	sandwich: {key: "w", ...frame}, focus: {key: "f", ...frame},
	side: {key: "d", ...oneOf("mean", "base", "new")}, scale: {key: "a", ...oneOf("share", "absolute")}, palette: {key: "p", ...oneOf("kind", "safe", "module")},
	list: {key: "o", ...oneOf("functions", "tasks")},
};

const oldAddress = text => /^\^?\d[\d.]*$/.test(text) ? `“${text}” is a number of an older page, which means nothing in another one` : `“${text}” is not understood`;

function someFrames(label, links, refuse) {
	const frames = links.framesOf(label);
	if (!frames.length)
		refuse(/^\d+$/.test(label) ? oldAddress(label) : `no “${readableLabel(label)}” in this profile`);
	return frames;
}

function oneFrame(label, links, refuse) {
	const frames = someFrames(label, links, refuse);
	if (frames.length > 1)
		refuse(`${frames.length} are called “${readableLabel(label)}” here; this is that of ${links.text("module", frames[0]) || "no module"}`);
	return frames[0];
}

function oneModule(name, {frames, strings}, refuse) {
	if (frames.module.some(m => strings[m] === name))
		return [`m:${name}`];
	refuse(`no module “${name}” in this profile`);
	return [];
}

// "cycles" is also "cycles:u".
function oneEvent(text, {events}, refuse) {
	const plain = name => name.replace(/[:/][a-zA-Z]*\/?$/, "");
	let at = events.findIndex(e => e.name === text);
	if (at < 0)
		at = events.findIndex(e => plain(e.name) === plain(text));
	return at < 0 ? refuse(/^\d+$/.test(text) ? oldAddress(text) : `no event “${text}” in this profile`) : String(at);
}

function oneTask(text, {levels}, refuse) {
	const [level] = text.split(":", 1);
	if (levels[level] && levels[level].groups.some(g => g.filter === text))
		return text;
	return refuse(`no ${levels[level] ? LEVELS[level].title : "task"} “${text.replace(/^\w+:/, "")}” in this profile`);
}

function oneRange(text, {log}, refuse) {
	const [from, to] = text.split("-").map(Number), last = log.n ? log.end : 0;
	if (!/^\d+-\d+$/.test(text) || from > to)
		return refuse(`“${text}” is no range of nanoseconds`);
	return from <= last ? [from, to] : refuse("its time is after the end of this recording");
}

// Letters that an address may hold as they are stay readable.
const encodeText = text => encodeURIComponent(text).replace(/%(?:3B|3A|2F|2C|40|24|3D|2B)/g, decodeURIComponent);

// What differs from `start`.
function writeState(state, start, profile, links) {
	const out = [];
	for (const [name, part] of Object.entries(PARTS)) {
		const text = part.write(state[name], profile, links);
		if (text !== part.write(start[name], profile, links))
			out.push(`${part.key}=${encodeText(text)}`);
	}
	return `#${out.join("&")}`;
}

// {state, refused: sentences}
function readState(hash, start, profile, links) {
	const state = {...start}, refused = [];
	const given = new Map(hash.replace(/^#/, "").split("&").filter(Boolean).map(p => [p.split("=", 1)[0], p.includes("=") ? p.slice(p.indexOf("=") + 1) : ""]));
	for (const [name, part] of Object.entries(PARTS)) {
		const refuse = why => void refused.push(why);
		const value = given.has(part.key) ? part.read(decodeText(given.get(part.key)), profile, links, refuse) : undefined;
		if (value !== undefined)
			state[name] = value;
	}
	return {state, refused};
}

function decodeText(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
