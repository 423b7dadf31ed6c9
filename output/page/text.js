// text.js - numbers and names as people read them.

function formatWeight(value, unit) {
	if (unit === "share")
		return formatShare(value, 1);
	if (unit === "bytes" && value >= 1024) {
		const power = Math.min(Math.floor(Math.log2(value) / 10), 4),
		      v = value / 1024 ** power;
		return `${v.toFixed(v >= 100 ? 0 : 1)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`;
	}
	if (unit !== "ns")
		return `${Math.round(value).toLocaleString("en")} ${unit}`;
	if (value <= 0)
		return "0 s";
	const steps = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
	const [scale, name] = steps.find(([s]) => value >= s) || steps[3];
	const v = value / scale;
	return `${v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)} ${name}`;
}

function formatShare(part, whole) {
	return whole > 0 ? `${(100 * part / whole).toFixed(part / whole < 0.1 ? 2 : 1)} %` : "0 %";
}

// Without the arguments of templates: they go before letters of the name do.
function withoutTemplates(name) {
	let out = "", depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i], isOperator = (c === "<" || c === ">") && /operator[<>=-]*$/.test(name.slice(Math.max(0, i - 10), i));
		if (c === "<" && !isOperator && i > 0) {
			if (depth++ === 0)
				out += "<…>";
		} else if (c === ">" && !isOperator && depth > 0) {
			depth--;
		} else if (depth === 0) {
			out += c;
		}
	}
	return depth === 0 ? out : name;
}

// What a label loses first: arguments of templates, and the type that functions made of them return.
function shortName(name) {
	const short = withoutTemplates(name), type = /^(?:(?:unsigned|signed|const) )*[\w:<>…]+(?: const)?[*&]* (?=[\w~(])/.exec(short);
	return type && short.includes("<") && !/operator/.test(type[0]) ? short.slice(type[0].length) : short;
}

// Where the parts of a qualified name begin: "ns::A<…>::f", and packages of Go; JavaScript's names end with a file.
function partsOf(name) {
	const parts = [0], hasPath = !name.includes(" ");
	for (let i = 0, depth = 0; i < name.length; i++) {
		const c = name[i];
		if ("([{<".includes(c))
			depth++;
		else if (")]}>".includes(c))
			depth--;
		else if (depth === 0 && (name.startsWith("::", i) || (c === "/" && hasPath)))
			parts.push(i + (c === "/" ? 1 : 2));
	}
	return parts;
}

function cutMiddle(text, room) {
	const head = Math.ceil((room - 1) * 0.6);
	return text.length <= room ? text : text.slice(0, head) + "…" + text.slice(text.length - (room - 1 - head));
}

// A label of at most `room` letters: what a function belongs to goes before letters of its own name do, the outermost first;
// then the middle. short: shortName(name), where it is known.
function fitLabel(name, room, short = name.length > room ? shortName(name) : name) {
	if (name.length <= room)
		return name;
	if (short.length <= room)
		return short;
	if (room < 3)
		return "";
	const parts = partsOf(short), from = parts.find(i => i > 0 && short.length - i < room), own = short.slice(parts[parts.length - 1]);
	if (from !== undefined)
		return "…" + short.slice(from);
	return cutMiddle(own.startsWith("operator") ? short : own.replace(/<…>$/, ""), room);
}

// What a reader must know to believe the picture, and whether something is bad.
function honesty({facts, events}) {
	const {diff} = facts, parts = [], names = events.map(e => e.name).join(", ");
	const share = (n, what) => n > 0.0005 && parts.push(`${(100 * n).toFixed(1)} % ${what}`);
	if (diff)
		parts.push(diff.summary || (diff.sides.some(s => s.runs > 1) ? "grey is noise, by the spread of the runs" : "grey is noise, by the number of samples; several runs a side tell more"));
	else if (facts.sums)
		parts.push(`sums of ${names}; how many samples is not known`);
	else
		parts.push(`${facts.samples.toLocaleString("en")} samples${names === "samples" ? "" : ` of ${names}`}`);
	if (facts.lost)
		parts.push(`${facts.lost.toLocaleString("en")} lost`);
	share(facts.cut, "cut");
	share(facts.stitched, "with callers of another sample");
	share(facts.nameless, "without a name");
	parts.push(...["host", "arch", "when"].map(k => facts[k]).filter(Boolean));
	return {parts, isBad: facts.lost > 0 || facts.cut > 0.1 || facts.nameless > 0.1};
}

// A regular expression of what was typed; capital letters make it exact. null: it is none.
function compileSearch(text) {
	try {
		return new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
	} catch {
		return null;
	}
}
