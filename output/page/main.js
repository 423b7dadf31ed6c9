// main.js - the page: what is shown, what the controls change.

const $ = id => document.getElementById(id);

function button(text, run) {
	const b = document.createElement("button");
	b.textContent = text;
	b.addEventListener("click", run);
	return b;
}

const MODULES_TOLD = 6;

class Page {
	constructor(profile) {
		this.profile = profile;
		this.model = new Model(profile);
		this.diff = this.model.diff;
		this.startState = {...EMPTY, event : String(profile.facts.event)};
		Object.assign(this, {state: this.startState, undo: [], matches: null, colours: new Map()});
		this.look = {name: f => this.model.name(f), colour: (f, node) => this.colourOf(f, node), matches: null};
		this.graph = new Graph($("graph"), $("scroll"), $("tall"), this.look, {
			zoom: n => this.zoom(n), point: (n, b) => this.point(n, b), menu: (n, x, y) => this.menu.show(n, x, y),
		});
		this.menu = new FrameMenu($("frame-menu"), this, () => $("graph").focus({preventScroll: true}));
		this.table = new FunctionTable($("table"), {
			choose: f => this.tell(f), sandwich: f => this.change({sandwich: f, zoom: ""}), colour: r => this.changeColour(r.isQuiet, r.base.total, r.fresh.total),
		}, Boolean(this.diff));
		this.strip = new TimeStrip($("time"), $("strip"), {range: range => this.filter({range}), hover: text => this.say(text)});
	}

	get tree() { return this.model.tree; }

	// ---- colours ----

	colourOf(f, node) {
		if (this.diff) {
			const [base, fresh] = [this.tree.total(node, 1), this.tree.total(node, 2)];
			return this.changeColour(this.model.isQuiet(f, base, fresh), base, fresh);
		}
		let c = this.colours.get(f);
		if (!c)
			this.colours.set(f, c = colourOf(this.state.palette, this.model.kind(f), this.model.name(f), this.model.module(f)));
		return c;
	}

	changeColour(isQuiet, base, fresh) {
		return isQuiet ? NO_CHANGE : changeColour(this.state.palette, base, fresh);
	}

	// ---- zoom ----

	zoom(node) {
		this.change({zoom: this.model.pathOf(node)});
	}

	// ---- the line of details ----

	say(text) {
		$("details").textContent = $("details").title = text;
	}

	point(node, box) {
		if (!this.tree || node === undefined)
			return;
		if (node < 0)
			this.say(box ? `${box.n} frames too narrow to be drawn` : "");
		else
			this.say(node === 0 ? this.describeAll() : this.describe(this.tree.frame(node), k => this.tree.total(node, k), k => this.tree.self(node, k)));
	}

	describeAll() {
		if (!this.diff)
			return `all: ${formatWeight(this.tree.total(0), this.model.unit())}`;
		const [base, fresh] = this.diff.sides, runs = s => `${s.name} (${s.runs} ${s.runs === 1 ? "run" : "runs"}${s.samples ? `, ${formatWeight(s.samples, "samples")}` : ""})`;
		return `all: from ${runs(base)} to ${runs(fresh)}; widths: ${CHANGES[this.state.side]}`;
	}

	// total, self: by column
	describe(f, total, self) {
		const {model} = this, file = model.file(f), line = this.profile.frames.line[f], flags = this.profile.frames.kind[f] >> 3, verdict = model.verdict(f);
		const words = [KINDS[model.kind(f)], flags & 1 ? "guessed" : "", flags & 2 ? "from another sample" : ""].filter(Boolean).join(", ");
		const what = this.diff ? [formatChange(total(1), total(2)), verdict.text, verdict.details] :
			[formatShare(total(0), model.whole), formatWeight(total(0), model.unit()), `own ${formatWeight(self(0), model.unit())}`];
		return `${what.filter(Boolean).join(", ")}  ${model.name(f)}  ${model.module(f)} (${words})${file ? `  ${file}${line ? `:${line}` : ""}` : ""}`;
	}

	tell(f) {
		this.say(this.describe(f, k => this.model.sums[k].total[f], k => this.model.sums[k].self[f]));
	}

	// As a line of folded stacks, without its weight.
	stackOf(node) {
		const names = [], {tree} = this;
		for (let i = node; i > 0; i = tree.parent(i))
			names.push(this.model.name(tree.frame(i)));
		return (this.state.invert || tree.isCaller(node) ? names : names.reverse()).join(";");
	}

	crumbs() {
		const {state, model} = this, list = [], isCaller = state.zoom.startsWith("^"), path = state.zoom.replace("^", "").split(".").filter(Boolean);
		const upTo = n => (isCaller ? "^" : "") + path.slice(0, n).join(".");
		if (state.sandwich >= 0)
			list.push(button("all functions", () => this.change({sandwich: -1, zoom: ""})),
				button(`callers and callees of ${fitLabel(model.name(state.sandwich), 60)}`, () => this.change({zoom: ""})));
		else if (state.zoom)
			list.push(button("all", () => this.change({zoom: ""})));
		path.forEach((f, i) => i >= path.length - 4 && (state.sandwich < 0 || isCaller || i) &&
			list.push(button(`${isCaller ? "‹" : "›"} ${fitLabel(model.name(+f), 40)}`, () => this.change({zoom: upTo(i + 1)}))));
		return list;
	}

	filterButtons() {
		const {state, model} = this, without = (key, what) => ({[key]: state[key].filter(x => x !== what)});
		const name = what => what.startsWith("f:") ? fitLabel(model.name(+what.slice(2)), 40) : `module ${what.slice(2)}`;
		return [
			...state.hidden.map(h => button(`hidden: ${name(h)} ×`, () => this.filter(without("hidden", h)))),
			...state.dropped.map(d => button(`without stacks of ${name(d)} ×`, () => this.filter(without("dropped", d)))),
			...(state.focus < 0 ? [] : [button(`only with ${fitLabel(model.name(state.focus), 40)} ×`, () => this.filter({focus: -1}))]),
			...(state.range ? [button(`${this.strip.text()} ×`, () => this.filter({range: null}))] : []),
			...(state.task ? [button(`${state.task.replace(":", " ")} ×`, () => this.filter({task: ""}))] : []),
		];
	}

	legend() {
		const {kind, n} = this.profile.frames, kinds = this.once ??= [...new Set(Array.from({length: n}, (_, f) => kind[f] % 8))].sort();
		const entries = this.diff ? changeLegend(this.state.palette) :
			legendOf(this.state.palette, kinds, this.state.palette === "module" ? this.model.heaviestModules(MODULES_TOLD) : []);
		return entries.map(([text, colour]) => {
			const s = document.createElement("span");
			s.textContent = text;
			s.style.setProperty("--c", colour);
			return s;
		});
	}

	// ---- changes ----

	change(part, remember = "push") {
		const before = this.state, {model} = this, tree = model.tree;
		this.state = {...before, ...part};
		model.set(this.state);
		if (this.state.palette !== before.palette)
			this.colours.clear();
		this.search();
		this.graph.flames = this.state.flames;
		this.drawControls();
		if (model.tree !== tree || this.state.zoom !== before.zoom || this.state.flames !== before.flames)
			this.graph.show(this.tree, model.nodeOf(this.state.zoom));
		this.graph.schedule();
		this.point(this.graph.zoomed);
		if (remember)
			history[`${remember}State`](null, "", writeState(this.state, this.startState));
	}

	// A change that u takes back.
	filter(part) {
		this.undo.push(Object.fromEntries(UNDOABLE.map(k => [k, this.state[k]])));
		this.change({...part, zoom: ""});
	}

	drawControls() {
		const {state} = this, filters = this.filterButtons();
		for (const [id, on] of Object.entries({invert: state.invert, flip: state.flames, "table-button": state.table, heat: state.heat}))
			$(id).setAttribute("aria-pressed", on);
		for (const id of ["event", "side", "task", "palette"])
			$(id).value = state[id];
		if ($("search").value !== state.search)
			$("search").value = state.search;
		this.strip.show(this.profile.log, this.model.once("passes", [state.event, state.task], () => this.model.passes()), state.range, state.heat);
		$("crumbs").replaceChildren(...this.crumbs());
		$("filters").replaceChildren(...filters);
		$("filters").hidden = !filters.length;
		$("clear").disabled = !filters.length && !state.collapse;
		$("undo").disabled = !this.undo.length;
		$("collapse").checked = state.collapse;
		$("legend").replaceChildren(...this.legend());
		$("table").hidden = !state.table;
		if (state.table)
			this.table.show(this.model.rows(this.matches), this.model.unit(), this.model.whole, Boolean(this.diff && this.diff.judged));
	}

	search() {
		const {search} = this.state, {model} = this;
		this.matches = this.look.matches = model.once("matches", search, () => model.matches(search));
		$("matched").textContent = !search ? "" : !this.matches ? "no regular expression" :
			formatShare(model.once("matched", [search, model.kept], () => model.matched(this.matches)), model.whole);
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

	// What can be chosen is shown if there is a choice.
	hideWhatIsNot() {
		const {events, tasks, log} = this.profile;
		$("side").parentNode.hidden = !this.diff;
		$("event").parentNode.hidden = this.diff !== null || events.length < 2;
		$("task").parentNode.hidden = this.diff !== null || tasks.length < 2;
		$("strip").hidden = log.n < 2;
	}

	wire() {
		const clicks = {
			invert: () => this.change({invert: !this.state.invert, sandwich: -1, zoom: ""}),
			flip: () => this.change({flames: !this.state.flames}, "replace"),
			"table-button": () => this.change({table: !this.state.table}, "replace"),
			heat: () => this.change({heat: !this.state.heat}, "replace"),
			more: () => $("more").setAttribute("aria-expanded", !($("menu").hidden = !$("menu").hidden)),
			"help-button": () => $("help").showModal(),
			"frame-button": () => this.openMenu(),
			undo: () => this.undo.length && this.change(this.undo.pop()),
			clear: () => this.filter({hidden: [], dropped: [], focus: -1, collapse: false, task: "", range: null}),
		};
		for (const [id, run] of Object.entries(clicks))
			$(id).addEventListener("click", run);
		$("collapse").addEventListener("change", e => this.filter({collapse: e.target.checked}));
		$("event").addEventListener("change", e => this.change({event: e.target.value, zoom: ""}));
		$("task").addEventListener("change", e => this.filter({task: e.target.value}));
		$("side").addEventListener("change", e => this.change({side: e.target.value}));
		$("palette").addEventListener("change", e => this.change({palette: e.target.value}, "replace"));
		this.wireSearch();
		addEventListener("popstate", () => this.restore());
		addEventListener("keydown", e => this.key(e));
	}

	wireSearch() {
		$("search").addEventListener("input", e => {
			clearTimeout(this.typing);
			this.typing = setTimeout(() => this.change({search: e.target.value}, "replace"), 80);
		});
		$("search").addEventListener("keydown", e => {
			if (e.key !== "Escape" && e.key !== "Enter")
				return;
			clearTimeout(this.typing);
			this.change({search: e.key === "Escape" ? "" : e.target.value});
			$("graph").focus();
			e.stopPropagation();
		});
	}

	openMenu() {
		const node = this.graph.chosen, box = this.graph.boxOf(node), r = $("graph").getBoundingClientRect();
		if (node > 0 && box)
			this.menu.show(node, r.x + Math.min(box.x + 20, r.width / 2), r.y + this.graph.y(box.depth) - $("scroll").scrollTop + ROW);
		else
			this.say("choose a frame first: click it, or walk to it with the arrow keys");
	}

	key(e) {
		if (e.key === "/" && e.target.id !== "search" || e.key === "f" && (e.ctrlKey || e.metaKey)) {
			$("search").focus();
			$("search").select();
			e.preventDefault();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName) || $("help").open || !$("frame-menu").hidden)
			return;
		const run = this.frameKey(e) || this.graphKey(e.key) || this.pageKey(e.key);
		if (run) {
			run();
			e.preventDefault();
		}
	}

	pageKey(key) {
		return {
			i: () => $("invert").click(), t: () => $("table-button").click(), "?": () => $("help").showModal(),
			n: () => this.walkHits(1), N: () => this.walkHits(-1), u: () => $("undo").click(),
			Escape: () => this.change(this.state.search ? {search: ""} : {zoom: "", sandwich: -1}),
			Backspace: () => this.zoom(Math.max(this.tree.top(), this.tree.parent(this.graph.zoomed))),
		}[key];
	}

	graphKey(key) {
		return document.activeElement === $("graph") && {
			...Object.fromEntries(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map(k => [k, () => this.graph.walk(k)])),
			ContextMenu: () => this.openMenu(), ".": () => this.openMenu(),
		}[key];
	}

	frameKey({key}) {
		const node = this.graph.chosen, action = node > 0 && ACTIONS.find(a => a.key === key);
		return action && (key !== "Enter" || document.activeElement === $("graph")) && (() => action.run(this, this.tree.frame(node), node));
	}

	walkHits(step) {
		const hits = this.graph.hits(), at = hits.findIndex(b => b.node === this.graph.chosen);
		if (hits.length)
			this.graph.choose(hits[(at + step + hits.length) % hits.length].node);
	}

	async copy(text) {
		try {
			await navigator.clipboard.writeText(text);
			this.say(`copied: ${text}`);
		} catch {
			this.say(`the browser does not let pages copy: ${text}`);
		}
	}

	restore() {
		this.change(readState(location.hash, this.startState, this.profile), "");
	}

	start() {
		this.fillSelects();
		this.hideWhatIsNot();
		const {parts, isBad} = honesty(this.profile);
		$("honesty").textContent = parts.join(" · ");
		$("honesty").title = parts.join("\n");
		$("honesty").classList.toggle("bad", isBad);
		this.wire();
		this.restore();
		document.documentElement.dataset.ready = "1";
	}
}

if (typeof document !== "undefined")
	inflate($("profile").textContent).then(bytes => (window.page = new Page(decodeProfile(bytes))).start()).catch(e => {
		$("details").textContent = `the profile cannot be read: ${e.message}`;
		throw e;
	});
