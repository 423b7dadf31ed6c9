// link.js - frames by name: what an address holds of them, so that another recording of the program understands it too.
//
// A frame is its name, with " @ MODULE" and " @ FILE:LINE" where several have that; "=" stands before commands, processes
// and threads. A place in the tree is frames with ";" between them, from the root on, or from a sandwich's function to a
// caller if it begins with "^". "+N" at its end: all but the N heaviest below.

// Of longer paths the outermost frames are only hashes of their names.
const LONG_PATH = 3000;
const escapeFrame = name => name.replace(/[%;]|^[~^=+]/g, c => c === "~" ? "%7E" : encodeURIComponent(c));

class Links {
	constructor(profile) {
		Object.assign(this, {profile, named: null, byLabel: null, byHash: null});
	}

	text(column, f) { return this.profile.strings[this.profile.frames[column][f]]; }
	isTask(f) { return f >= this.profile.frames.functions; }

	// How many functions have a name, and a name in a module.
	count() {
		const {name, module, functions} = this.profile.frames;
		this.named = new Map();
		for (let f = 0; f < functions; f++)
			for (const key of [name[f], `${name[f]} ${module[f]}`])
				this.named.set(key, (this.named.get(key) || 0) + 1);
	}

	plain(f) {
		return this.isTask(f) ? `=${escapeFrame(this.text("name", f))}` : escapeFrame(this.text("name", f));
	}

	labelOf(f) {
		const {name, module, line} = this.profile.frames;
		if (!this.named)
			this.count();
		if (this.isTask(f) || this.named.get(name[f]) === 1)
			return this.plain(f);
		const label = `${this.plain(f)} @ ${escapeFrame(this.text("module", f))}`;
		return this.named.get(`${name[f]} ${module[f]}`) === 1 ? label : `${label} @ ${escapeFrame(this.text("file", f))}:${line[f]}`;
	}

	// Made when an address is read.
	index() {
		this.byLabel = new Map();
		this.byName = new Map();
		for (let f = 0; f < this.profile.frames.n; f++) {
			put(this.byLabel, this.labelOf(f), f);
			put(this.byName, this.plain(f), f);
		}
	}

	// The frames that a label means: one of this profile, or what another one calls so.
	framesOf(label) {
		if (!this.byLabel)
			this.index();
		if (/^~[0-9a-z]+$/.test(label))
			return this.hashed(label);
		return this.byLabel.get(label) || this.byName.get(label) || this.byName.get(label.split(" @ ")[0]) || (label.startsWith("=") ? this.sameCommand(label) : []);
	}

	// Numbers of processes and threads are others in each recording.
	sameCommand(label) {
		const comm = label.replace(/ \d+$/, ""), {functions, n} = this.profile.frames, out = [];
		for (let f = functions; f < n; f++)
			if (this.plain(f).replace(/ \d+$/, "") === comm)
				out.push(f);
		return out;
	}

	hashed(label) {
		if (!this.byHash) {
			this.byHash = new Map();
			for (const [text, frames] of this.byLabel)
				this.byHash.set(hashLabel(text), frames);
		}
		return this.byHash.get(label) || [];
	}

	// path: frames; isCaller: of a sandwich; skip: "+N".
	write(path, isCaller, skip) {
		let room = LONG_PATH;
		const parts = path.map(f => this.labelOf(f)).reverse().map(label => (room -= label.length + 1) > 0 ? label : hashLabel(label)).reverse();
		return (isCaller ? "^" : "") + [...parts, ...(skip ? [`+${skip}`] : [])].join(";");
	}

	// {isCaller, labels, skip} of what write() wrote.
	static read(text) {
		const isCaller = text.startsWith("^"), labels = text.slice(isCaller ? 1 : 0).split(";").filter(Boolean), last = labels[labels.length - 1] || "";
		const skip = /^\+\d{1,9}$/.test(last) ? +labels.pop().slice(1) : 0;
		return {isCaller, labels, skip};
	}
}

const hashLabel = label => `~${hashText(label).toString(36)}`;

function put(map, key, value) {
	const list = map.get(key);
	if (list)
		list.push(value);
	else
		map.set(key, [value]);
}

// As people read it.
const readableLabel = label => decodeText(label.replace(/^=/, ""));
