// main.js - the page: what is shown, what the controls change, and the address that remembers it.

const $ = id => document.getElementById(id);
const EMPTY = {zoom: "", search: "", event: "", task: "", range: null, invert: false, sandwich: -1, hidden: [], focus: -1, collapse: false, side: "mean"};

class Page {
	constructor(profile) {
		Object.assign(this, {profile, state: {...EMPTY}, undo: [], matches: null, flames: false, palette: "kind"});
		this.look = {name: f => this.nameOf(f), colour: (f, node) => this.colourOf(f, node), matches: null};
		this.diff = profile.facts.diff || null;
		this.graph = new Graph($("graph"), $("scroll"), $("tall"), this.look, {zoom: n => this.zoom(n), point: (n, b) => this.point(n, b)});
		this.table = new FunctionTable($("table"), {choose: f => this.tell(f), sandwich: f => this.change({sandwich: f, zoom: ""})}, Boolean(profile.facts.diff));
		this.strip = new TimeStrip($("time"), $("strip"), {range: range => this.change({range, zoom: ""})});
		this.colours = new Map();
		this.state.event = String(this.heaviestEvent());
	}

	// ---- names and colours ----

	nameOf(f) {
		const {frames, strings} = this.profile;
		return strings[frames.name[f]];
	}

	colourOf(f, node) {
		const {frames, strings} = this.profile;
		if (this.diff)
			return this.changeColourOf(f, this.tree.total(node, 1), this.tree.total(node, 2));
		let c = this.colours.get(f);
		if (!c)
			this.colours.set(f, c = colourOf(this.palette, frames.kind[f] % 8, this.nameOf(f), strings[frames.module[f]]));
		return c;
	}

	// Only what is more than noise, or was found to be significant, is coloured.
	changeColourOf(f, base, fresh) {
		const {limit, verdicts} = this.profile.changes;
		const isQuiet = this.diff.judged ? !verdicts[f].isSignificant : isNoise(base, fresh, limit[f], this.diff.variance);
		return isQuiet ? NO_CHANGE : changeColour(this.palette, base, fresh);
	}

	// ---- which samples, and the tree of them ----

	heaviestEvent() {
		const sums = this.profile.events.map(() => 0), {samples} = this.profile;
		for (let i = 0; i < samples.n; i++)
			sums[samples.event[i]] += samples.weight[i];
		return sums.indexOf(Math.max(...sums));
	}

	passes() {
		const {event, task} = this.state, {samples, tasks} = this.profile, e = +event, [kind, value] = task.split(/:(.*)/s);
		const isOf = {
			"": () => true, comm: t => t.comm === value, pid: t => t.pid === +value, tid: t => `${t.pid}/${t.tid}` === value,
		}[kind], wanted = tasks.map(isOf);
		return i => samples.event[i] === e && wanted[samples.task[i]];
	}

	unit() {
		const event = this.profile.events[+this.state.event];
		if (this.diff)
			return "share";
		return event.isClock ? "ns" : this.profile.facts.counts ? "samples" : event.name;
	}

	// Rebuilds what depends on the state.
	build() {
		const {profile, state} = this, passes = this.passes();
		let {nodes} = profile, own = this.columns({sample: passes, range: state.range, byCount: profile.facts.counts});
		const hidden = new Uint8Array(profile.frames.n);
		for (const h of state.hidden)
			this.framesOf(h).forEach(f => hidden[f] = 1);
		if (state.hidden.length || state.collapse || state.focus >= 0)
			({nodes, own} = transformed(nodes, own, {hidden, collapse: state.collapse, focus: state.focus, root: false}));
		this.nodes = nodes;
		this.own = own;
		this.totals = own.map(column => totalWeights(nodes, column));
		this.sums = own.map(column => functionSums(nodes, column, profile.frames.n));
		this.whole = this.totals[0][0];
		this.tree = this.makeTree();
		this.strip.show(profile.log, passes);
	}

	columns(passes) {
		const {profile} = this;
		if (!this.diff)
			return [selfWeights(profile, passes)];
		return differenceColumns(selfWeights(profile, passes, "count"), selfWeights(profile, passes, "weight"), this.state.side);
	}

	makeTree() {
		const {state, nodes, own} = this;
		if (state.sandwich < 0)
			return state.invert ? new BottomUp(nodes, own) : new TopDown(nodes, own);
		if (state.invert)
			return new BottomUp(nodes, own, occurrences(nodes, this.totals, state.sandwich));
		const sub = transformed(nodes, own, {hidden: new Uint8Array(this.profile.frames.n), collapse: false, focus: state.sandwich, root: true});
		return new TopDown(sub.nodes, sub.own);
	}

	// "f:NUMBER" is a function, "m:NAME" all of a module.
	framesOf(what) {
		const {frames, strings} = this.profile, all = [];
		for (let f = 0; f < frames.n; f++)
			if (what === `f:${f}` || what === `m:${strings[frames.module[f]]}`)
				all.push(f);
		return all;
	}

	// ---- zoom: a path of frames from the root on ----

	pathOf(node) {
		const path = [];
		for (let i = node; i > 0; i = this.tree.parent(i))
			path.push(this.tree.frame(i));
		return path.reverse().join(".");
	}

	nodeOf(path) {
		let node = 0;
		for (const f of path ? path.split(".").map(Number) : []) {
			const next = this.tree.children(node).find(c => this.tree.frame(c) === f);
			if (next === undefined)
				break;
			node = next;
		}
		return node;
	}

	zoom(node) {
		this.change({zoom: this.pathOf(node)});
	}

	// ---- what is told ----

	point(node, box) {
		if (!this.tree || node === undefined)
			return;
		if (node < 0)
			$("details").textContent = box ? `${box.n} frames too narrow to be drawn` : "";
		else if (node === 0)
			$("details").textContent = this.describeAll();
		else
			$("details").textContent = this.describe(this.tree.frame(node), k => this.tree.total(node, k), k => this.tree.self(node, k));
	}

	describeAll() {
		if (!this.diff)
			return `all: ${formatWeight(this.tree.total(0), this.unit())}`;
		const [base, fresh] = this.diff.sides, runs = s => `${s.name} (${s.runs} ${s.runs === 1 ? "run" : "runs"}${s.samples ? `, ${formatWeight(s.samples, "samples")}` : ""})`;
		return `all: from ${runs(base)} to ${runs(fresh)}; widths: ${CHANGES[this.state.side]}`;
	}

	// total, self: by column
	describe(f, total, self) {
		const {frames, strings} = this.profile, file = strings[frames.file[f]], flags = frames.kind[f] >> 3;
		const words = [KINDS[frames.kind[f] % 8], flags & 1 ? "guessed" : "", flags & 2 ? "from another sample" : ""].filter(Boolean).join(", ");
		const what = this.diff ? `${formatChange(total(1), total(2))}${this.verdictOf(f)}` :
			`${formatShare(total(0), this.whole)}, ${formatWeight(total(0), this.unit())}, own ${formatWeight(self(0), this.unit())}`;
		return `${this.nameOf(f)}  ${what}` +
			`  ${strings[frames.module[f]]} (${words})${file ? `  ${file}${frames.line[f] ? `:${frames.line[f]}` : ""}` : ""}`;
	}

	verdictOf(f) {
		const v = this.diff.judged ? this.profile.changes.verdicts[f] : {};
		return [v.text, v.details].filter(Boolean).map(s => `, ${s}`).join("");
	}

	tell(f) {
		$("details").textContent = this.describe(f, k => this.sums[k].total[f], k => this.sums[k].self[f]);
	}

	drawCrumbs() {
		const list = [], {state} = this;
		const add = (text, change) => {
			const b = document.createElement("button");
			b.textContent = text;
			b.addEventListener("click", () => this.change(change));
			list.push(b);
		};
		if (state.sandwich >= 0) {
			add("all functions", {sandwich: -1, zoom: ""});
			add(`${state.invert ? "callers" : "callees"} of ${this.nameOf(state.sandwich)}`, {zoom: ""});
			add(state.invert ? "its callees" : "its callers", {invert: !state.invert, zoom: ""});
		}
		if (state.zoom) {
			const path = state.zoom.split(".");
			if (state.sandwich < 0)
				add("all", {zoom: ""});
			path.slice(-4).forEach((f, i, last) => add(`› ${fitLabel(this.nameOf(+f), 40)}`, {zoom: path.slice(0, path.length - last.length + i + 1).join(".")}));
		}
		$("crumbs").replaceChildren(...list);
	}

	drawFilters() {
		const {state} = this, list = state.hidden.map(h => {
			const b = document.createElement("button"), name = h.startsWith("f:") ? this.nameOf(+h.slice(2)) : `module ${h.slice(2)}`;
			b.textContent = `without ${fitLabel(name, 40)} ×`;
			b.addEventListener("click", () => this.filter({hidden: state.hidden.filter(x => x !== h)}));
			return b;
		});
		if (state.focus >= 0) {
			const b = document.createElement("button");
			b.textContent = `only with ${fitLabel(this.nameOf(state.focus), 40)} ×`;
			b.addEventListener("click", () => this.filter({focus: -1}));
			list.push(b);
		}
		$("filters").replaceChildren(...list);
		$("clear").disabled = !list.length && !state.collapse && !state.task && !state.range;
		$("undo").disabled = !this.undo.length;
		$("collapse").checked = state.collapse;
	}

	drawLegend() {
		const kinds = new Set();
		for (let f = 0; f < this.profile.frames.n; f++)
			if (this.sums[0].total[f] > 0)
				kinds.add(this.profile.frames.kind[f] % 8);
		const entries = this.diff ? changeLegend(this.palette) : legendOf(this.palette, [...kinds].sort());
		$("legend").replaceChildren(...entries.map(([text, colour]) => {
			const s = document.createElement("span");
			s.textContent = text;
			s.style.setProperty("--c", colour);
			return s;
		}));
	}

	// ---- changes ----

	change(part, remember = true) {
		const before = this.state;
		this.state = {...before, ...part};
		const same = ["event", "task", "range", "invert", "sandwich", "hidden", "focus", "collapse", "side"].every(k => this.state[k] === before[k]);
		if (!same)
			this.build();
		if (!same || this.state.search !== before.search)
			this.search();
		this.graph.flames = this.flames;
		this.graph.show(this.tree, this.nodeOf(this.state.zoom));
		this.point(this.graph.zoomed);
		this.drawControls();
		if (remember)
			history.pushState(null, "", this.address());
	}

	filter(part) {
		this.undo.push({hidden: this.state.hidden, focus: this.state.focus, collapse: this.state.collapse, zoom: this.state.zoom});
		this.change({...part, zoom: ""});
	}

	drawControls() {
		const {state} = this;
		$("invert").setAttribute("aria-pressed", state.invert);
		$("event").value = state.event;
		$("side").value = state.side;
		$("task").value = state.task;
		if ($("search").value !== state.search)
			$("search").value = state.search;
		this.strip.range = state.range;
		this.strip.draw();
		this.drawCrumbs();
		this.drawFilters();
		this.drawLegend();
		if (!$("table").hidden)
			this.table.show(this.rows(), this.unit(), this.whole, this.diff && this.diff.judged);
	}

	// What the table has: functions that weigh something, of those that are searched for.
	rows() {
		const {frames, strings} = this.profile, rows = [], [drawn, base, fresh] = this.sums;
		for (let f = 0; f < frames.n; f++) {
			if (!(this.diff ? base.total[f] + fresh.total[f] > 0 : drawn.total[f] > 0) || (this.matches && !this.matches[f]))
				continue;
			const row = {f, name: this.nameOf(f), module: strings[frames.module[f]], self: drawn.self[f], total: drawn.total[f]};
			rows.push(this.diff ? {...row, ...this.changesOf(f)} : row);
		}
		return rows;
	}

	changesOf(f) {
		const [, base, fresh] = this.sums, {verdicts} = this.profile.changes;
		return {
			base: {self: base.self[f], total: base.total[f]}, fresh: {self: fresh.self[f], total: fresh.total[f]},
			verdict: this.diff.judged ? verdicts[f].text : "",
			colour: this.changeColourOf(f, base.total[f], fresh.total[f]),
		};
	}

	search() {
		const {search} = this.state, re = search ? compileSearch(search) : null;
		this.matches = null;
		$("matched").textContent = search && !re ? "no regular expression" : "";
		if (re) {
			this.matches = Uint8Array.from({length: this.profile.frames.n}, (_, f) => re.test(this.nameOf(f)) ? 1 : 0);
			$("matched").textContent = formatShare(matchedWeight(this.nodes, this.totals[0], this.matches), this.whole);
		}
		this.look.matches = this.matches;
	}

	address() {
		const s = this.state, parts = [];
		for (const [k, v] of Object.entries({z: s.zoom, s: s.search, t: s.task, r: s.range ? s.range.map(Math.round).join("-") : "", h: s.hidden.join("|"), d: s.side === "mean" ? "" : s.side}))
			if (v)
				parts.push(`${k}=${encodeURIComponent(v)}`);
		for (const [k, on] of Object.entries({i: s.invert, c: s.collapse}))
			if (on)
				parts.push(`${k}=1`);
		for (const [k, v, none] of [["e", +s.event, this.heaviestEvent()], ["w", s.sandwich, -1], ["f", s.focus, -1]])
			if (v !== none)
				parts.push(`${k}=${v}`);
		return `#${parts.join("&")}`;
	}

	restore() {
		const q = Object.fromEntries(location.hash.slice(1).split("&").filter(Boolean).map(p => {
			const at = p.indexOf("=");
			return [p.slice(0, at), decodeURIComponent(p.slice(at + 1))];
		}));
		const within = (text, n, otherwise) => text !== undefined && +text >= 0 && +text < n ? +text : otherwise;
		this.change({
			zoom: /^[\d.]*$/.test(q.z || "") ? q.z || "" : "", search: q.s || "", task: /^(comm|pid|tid):/.test(q.t || "") ? q.t : "",
			range: /^\d+-\d+$/.test(q.r || "") ? q.r.split("-").map(Number) : null, hidden: q.h ? q.h.split("|") : [],
			side: this.diff && q.d in CHANGES ? q.d : "mean", invert: q.i === "1", collapse: q.c === "1", event: String(within(q.e, this.profile.events.length, this.heaviestEvent())),
			sandwich: within(q.w, this.profile.frames.n, -1), focus: within(q.f, this.profile.frames.n, -1),
		}, false);
	}

	// ---- controls ----

	fillSelects() {
		const {events, tasks} = this.profile, option = (value, text) => Object.assign(document.createElement("option"), {value, textContent: text});
		$("event").replaceChildren(...events.map((e, i) => option(String(i), e.name)));
		const unique = list => [...new Set(list)].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
		const group = (label, kind, values) => {
			const g = document.createElement("optgroup");
			g.label = label;
			g.append(...values.map(v => option(`${kind}:${v}`, v)));
			return g;
		};
		$("task").replaceChildren(option("", "all"), group("command", "comm", unique(tasks.map(t => t.comm))),
			...(tasks.some(t => t.pid) ? [group("process", "pid", unique(tasks.map(t => String(t.pid)))),
				group("thread", "tid", unique(tasks.map(t => `${t.pid}/${t.tid}`)))] : []));
	}

	wire() {
		const toggle = (id, on) => $(id).addEventListener("click", () => on($(id)));
		toggle("invert", () => this.change({invert: !this.state.invert, zoom: ""}));
		toggle("flip", b => {
			this.flames = !this.flames;
			b.setAttribute("aria-pressed", this.flames);
			this.change({}, false);
		});
		toggle("table-button", b => {
			$("table").hidden = !$("table").hidden;
			b.setAttribute("aria-pressed", !$("table").hidden);
			this.drawControls();
		});
		toggle("more", b => {
			$("menu").hidden = !$("menu").hidden;
			b.setAttribute("aria-expanded", !$("menu").hidden);
		});
		toggle("heat", b => {
			this.strip.heat = !this.strip.heat;
			$("strip").classList.toggle("heat", this.strip.heat);
			b.setAttribute("aria-pressed", this.strip.heat);
			this.strip.draw();
		});
		toggle("help-button", () => $("help").showModal());
		toggle("undo", () => this.undo.length && this.change(this.undo.pop()));
		toggle("clear", () => this.filter({hidden: [], focus: -1, collapse: false, task: "", range: null}));
		$("collapse").addEventListener("change", e => this.filter({collapse: e.target.checked}));
		$("event").addEventListener("change", e => this.change({event: e.target.value, zoom: ""}));
		$("side").addEventListener("change", e => this.change({side: e.target.value}));
		$("task").addEventListener("change", e => this.change({task: e.target.value, zoom: ""}));
		$("palette").addEventListener("change", e => {
			this.palette = e.target.value;
			this.colours.clear();
			this.change({}, false);
		});
		$("search").addEventListener("input", e => {
			clearTimeout(this.typing);
			this.typing = setTimeout(() => this.change({search: e.target.value}), 80);
		});
		$("search").addEventListener("keydown", e => {
			if (e.key === "Escape" || e.key === "Enter") {
				if (e.key === "Escape")
					this.change({search: ""});
				$("graph").focus();
				e.stopPropagation();
			}
		});
		addEventListener("popstate", () => this.restore());
		addEventListener("keydown", e => this.key(e));
	}

	key(e) {
		if (e.key === "/" && e.target.id !== "search" || e.key === "f" && (e.ctrlKey || e.metaKey)) {
			$("search").focus();
			$("search").select();
			e.preventDefault();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName) || $("help").open)
			return;
		const node = this.graph.chosen, f = node > 0 ? this.tree.frame(node) : -1, onGraph = document.activeElement === $("graph");
		const hide = what => this.filter({hidden: [...this.state.hidden, what]});
		const keys = {
			i: () => $("invert").click(), t: () => $("table-button").click(), "?": () => $("help").showModal(),
			n: () => this.walkHits(1), N: () => this.walkHits(-1), u: () => $("undo").click(),
			Escape: () => this.state.search ? this.change({search: ""}) : this.change({zoom: "", sandwich: -1}),
			Backspace: () => this.zoom(Math.max(0, this.tree.parent(this.graph.zoomed))),
			...(f < 0 ? {} : {
				s: () => this.change({sandwich: f, zoom: ""}), h: () => hide(`f:${f}`), f: () => this.filter({focus: f}),
				m: () => hide(`m:${this.profile.strings[this.profile.frames.module[f]]}`), c: () => this.copy(this.nameOf(f)),
			}),
			...(onGraph ? {
				Enter: () => this.zoom(node), ArrowUp: () => this.graph.walk("ArrowUp"), ArrowDown: () => this.graph.walk("ArrowDown"),
				ArrowLeft: () => this.graph.walk("ArrowLeft"), ArrowRight: () => this.graph.walk("ArrowRight"),
			} : {}),
		};
		if (keys[e.key]) {
			keys[e.key]();
			e.preventDefault();
		}
	}

	walkHits(step) {
		const hits = this.graph.hits(), at = hits.findIndex(b => b.node === this.graph.chosen);
		if (hits.length)
			this.graph.choose(hits[(at + step + hits.length) % hits.length].node);
	}

	async copy(text) {
		try {
			await navigator.clipboard.writeText(text);
			$("details").textContent = `copied: ${text}`;
		} catch {
			$("details").textContent = `the browser does not let pages copy: ${text}`;
		}
	}

	// What a reader must know to believe the picture.
	drawHonesty() {
		const {facts, events} = this.profile, parts = [];
		const share = (n, what) => n > 0.0005 && parts.push(`${(100 * n).toFixed(1)} % ${what}`);
		if (this.diff && this.diff.summary)
			parts.push(this.diff.summary);
		else if (this.diff)
			parts.push(this.diff.sides.some(s => s.runs > 1) ? "grey: noise by the spread of the runs" : "grey: noise by the number of samples; several runs a side tell more");
		else
			parts.push(`${facts.samples.toLocaleString("en")} samples of ${events.map(e => e.name).join(", ")}`);
		if (facts.lost)
			parts.push(`${facts.lost.toLocaleString("en")} lost`);
		share(facts.cut, "cut");
		share(facts.stitched, "with callers of another sample");
		share(facts.nameless, "without a name");
		for (const k of ["host", "arch", "when"])
			if (facts[k])
				parts.push(facts[k]);
		$("honesty").textContent = parts.join(" · ");
		$("honesty").title = parts.join("\n");
		$("honesty").classList.toggle("bad", facts.lost > 0 || facts.cut > 0.1 || facts.nameless > 0.1);
	}

	start() {
		$("side").parentNode.hidden = !this.diff;
		$("event").parentNode.hidden = $("task").parentNode.hidden = this.diff !== null;
		this.fillSelects();
		this.drawHonesty();
		$("strip").hidden = this.profile.log.n < 2;
		this.wire();
		this.build();
		this.restore();
		document.documentElement.dataset.ready = "1";
	}
}

if (typeof document !== "undefined")
	inflate($("profile").textContent).then(bytes => (window.page = new Page(decodeProfile(bytes))).start()).catch(e => {
		$("details").textContent = `the profile cannot be read: ${e.message}`;
		throw e;
	});
