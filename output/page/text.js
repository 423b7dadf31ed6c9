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

// What a reader must know to believe the picture, and whether something is bad.
function honesty({facts, events}) {
	const {diff} = facts, parts = [], names = events.map(e => e.name).join(", ");
	const share = (n, what) => n > 0.0005 && parts.push(`${(100 * n).toFixed(1)} % ${what}`);
	if (diff)
		parts.push(diff.summary || (diff.sides.some(s => s.runs > 1) ? "grey is noise, by the spread of the runs" : "grey is noise, by the number of samples; several runs a side show more"));
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
