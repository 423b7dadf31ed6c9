// main.js - the page: what is shown, what the controls change, and the address that remembers it.

const $ = id => document.getElementById(id);
const EMPTY = {zoom: "", search: "", event: "", task: "", range: null, invert: false, sandwich: -1, hidden: [], focus: -1, collapse: false};

class Page {
	constructor(profile) {
		Object.assign(this, {profile, state: {...EMPTY}, undo: [], matches: null, flames: false, palette: "kind"});
		this.look = {name: f => this.nameOf(f), colour: f => this.colourOf(f), matches: null};
		this.graph = new Graph($("graph"), $("scroll"), $("tall"), this.look, {zoom: n => this.zoom(n), point: (n, b) => this.point(n, b)});
		this.table = new FunctionTable($("table"), {choose: f => this.tell(f), sandwich: f => this.change({sandwich: f, zoom: ""})});
		this.strip = new TimeStrip($("time"), $("strip"), {range: range => this.change({range, zoom: ""})});
		this.colours = new Map();
		this.state.event = String(this.heaviestEvent());
	}

	// ---- names and colours ----

	nameOf(f) {
		const {frames, strings} = this.profile;
		return strings[frames.name[f]];
	}

	colourOf(f) {
		const {frames, strings} = this.profile;
		let c = this.colours.get(f);
		if (!c)
			this.colours.set(f, c = colourOf(this.palette, frames.kind[f] % 8, this.nameOf(f), strings[frames.module[f]]));
		return c;
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
		return event.isClock ? "ns" : this.profile.facts.counts ? "samples" : event.name;
	}

	// Rebuilds what depends on the state.
	build() {
		const {profile, state} = this, passes = this.passes();
		let {nodes} = profile, own = selfWeights(profile, {sample: passes, range: state.range, byCount: profile.facts.counts});
		const hidden = new Uint8Array(profile.frames.n);
		for (const h of state.hidden)
			this.framesOf(h).forEach(f => hidden[f] = 1);
		if (state.hidden.length || state.collapse || state.focus >= 0)
			({nodes, own} = transformed(nodes, own, {hidden, collapse: state.collapse, focus: state.focus, root: false}));
		this.nodes = nodes;
		this.own = own;
		this.totals = totalWeights(nodes, own);
		this.sums = functionSums(nodes, own, profile.frames.n);
		this.sums.whole = this.totals[0];
		this.tree = this.makeTree();
		this.strip.show(profile.log, passes);
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
			$("details").textContent = `all: ${formatWeight(this.tree.total(0), this.unit())}`;
		else
			$("details").textContent = this.describe(this.tree.frame(node), this.tree.total(node), this.tree.self(node));
	}

	describe(f, total, self) {
		const {frames, strings} = this.profile, file = strings[frames.file[f]], flags = frames.kind[f] >> 3;
		const words = [KINDS[frames.kind[f] % 8], flags & 1 ? "guessed" : "", flags & 2 ? "from another sample" : ""].filter(Boolean).join(", ");
		return `${this.nameOf(f)}  ${formatShare(total, this.totals[0])}, ${formatWeight(total, this.unit())}, own ${formatWeight(self, this.unit())}` +
			`  ${strings[frames.module[f]]} (${words})${file ? `  ${file}${frames.line[f] ? `:${frames.line[f]}` : ""}` : ""}`;
	}

	tell(f) {
		$("details").textContent = this.describe(f, this.sums.total[f], this.sums.self[f]);
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
			if (this.sums.total[f] > 0)
				kinds.add(this.profile.frames.kind[f] % 8);
		$("legend").replaceChildren(...legendOf(this.palette, [...kinds].sort()).map(([text, colour]) => {
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
		const same = ["event", "task", "range", "invert", "sandwich", "hidden", "focus", "collapse"].every(k => this.state[k] === before[k]);
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
		$("task").value = state.task;
		if ($("search").value !== state.search)
			$("search").value = state.search;
		this.strip.range = state.range;
		this.strip.draw();
		this.drawCrumbs();
		this.drawFilters();
		this.drawLegend();
		if (!$("table").hidden)
			this.table.show(this.profile.frames, this.profile, this.sums, this.unit(), this.matches);
	}

	search() {
		const {search} = this.state, re = search ? compileSearch(search) : null;
		this.matches = null;
		$("matched").textContent = search && !re ? "no regular expression" : "";
		if (re) {
			this.matches = Uint8Array.from({length: this.profile.frames.n}, (_, f) => re.test(this.nameOf(f)) ? 1 : 0);
			$("matched").textContent = formatShare(matchedWeight(this.nodes, this.totals, this.matches), this.totals[0]);
		}
		this.look.matches = this.matches;
	}

	address() {
		const s = this.state, parts = [];
		for (const [k, v] of Object.entries({z: s.zoom, s: s.search, t: s.task, r: s.range ? s.range.map(Math.round).join("-") : "", h: s.hidden.join("|")}))
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
			invert: q.i === "1", collapse: q.c === "1", event: String(within(q.e, this.profile.events.length, this.heaviestEvent())),
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
		const {facts, events} = this.profile, parts = [`${facts.samples.toLocaleString("en")} samples of ${events.map(e => e.name).join(", ")}`];
		const share = (n, what) => n > 0.0005 && parts.push(`${(100 * n).toFixed(1)} % ${what}`);
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
