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
		this.startState = {...EMPTY, event: String(profile.facts.event), by: profile.facts.isByFirst ? "label-comm" : !this.diff && hasManyPrograms(profile.levels.pid) ? "comm" : ""};
		Object.assign(this, {state: this.startState, undo: [], matches: null, colours: new Map(), level: "comm", isNew: true});
		this.look = {name: f => this.model.name(f), colour: (f, node) => this.colourOf(f, node), palette: "kind", matches: null};
		this.tip = new Tip($("tip"));
		this.graph = new Graph($("graph"), $("scroll"), $("tall"), this.look, {
			zoom: (n, box) => this.zoom(n, box), point: (n, b) => this.point(n, b), menu: (n, x, y) => this.menu.show(n, x, y), tip: (box, e) => this.showTip(box, e),
		});
		this.menu = new FrameMenu($("frame-menu"), this, () => $("graph").focus({preventScroll: true}));
		this.table = new FunctionTable($("table"), {
			choose: f => this.tell(f), sandwich: f => this.change({sandwich: f, zoom: ""}), task: r => this.filter({task: r.filter}),
			list: list => this.change({list}, "replace"), level: level => this.showLevel(level),
			colour: (r, of) => this.changeColour(this.model.isQuiet(r.f, r.base[of], r.fresh[of]), r.base[of], r.fresh[of]),
		}, Boolean(this.diff));
		this.strip = new TimeStrip($("time"), $("strip"), new SpanLanes(profile.spans, profile.tasks), {
			range: range => this.filter({range}), hover: text => this.say(text), tip: (lines, e) => lines ? this.tip.show(lines, e) : this.tip.hide(),
		});
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

	// A box "n smaller" opens: what is left of its parent without the heavier ones.
	zoom(node, box) {
		if (node === OPENED)
			return;
		if (node < 0)
			this.change({zoom: this.model.pathOf(parentOfRest(node), box.skip, isCallerRest(node))});
		else
			this.change({zoom: this.model.pathOf(node)});
	}

	zoomOut() {
		const {graph, tree} = this;
		this.change({zoom: this.model.pathOf(graph.skip ? graph.zoomed : Math.max(tree.top(), tree.parent(graph.zoomed)))});
	}

	// ---- the line of details ----

	say(text) {
		$("details").textContent = $("details").title = text;
	}

	point(node, box) {
		if (!this.tree || node === undefined)
			return;
		if (node < 0)
			this.say(box ? this.describeRest(box) : "");
		else
			this.say(node === 0 ? this.describeAll() : this.describe(this.tree.frame(node), k => this.tree.total(node, k), k => this.tree.self(node, k)));
	}

	describeRest({n, total, node}) {
		return `${formatShare(total, this.model.whole)}, ${formatWeight(total, this.model.unit())}  ${n} smaller ${n === 1 ? "frame" : "frames"}${node === OPENED ? "" : ", too narrow to be drawn: click to open"}`;
	}

	describeAll() {
		const {unit, text} = {unit: this.model.unit(), text: this.isNew ? this.hint() : ""};
		if (!this.diff)
			return `all: ${formatWeight(this.tree.total(0), unit)}${text}`;
		const [base, fresh] = this.diff.sides, runs = s => `${s.name} (${s.runs} ${s.runs === 1 ? "run" : "runs"}${s.samples ? `, ${formatWeight(s.samples, "samples")}` : ""})`;
		const wholes = [0, 1].map(k => formatWeight(this.model.counted(k).weight, this.model.eventUnit()));
		return `all: ${wholes[0]} → ${wholes[1]} per run, from ${runs(base)} to ${runs(fresh)}; widths: ${CHANGES[this.state.side]}${text}`;
	}

	// For who has never seen such a picture, until the first click.
	hint() {
		const what = {ns: "time", bytes: "bytes", share: "whole"}[this.model.unit()] || this.model.unit();
		return ` · a box is a function, as wide as its share of the ${what}, ${this.state.flames ? "above" : "below"} what called it · click it to zoom, / searches, ? has all keys`;
	}

	// total, self: by column
	numbersOf(f, total, self) {
		const {model} = this, verdict = model.verdict(f), unit = model.unit();
		const list = this.diff ? [formatChange(total(1), total(2), unit), verdict.text, verdict.details] :
			[formatShare(total(0), model.whole), formatWeight(total(0), unit), `own ${formatWeight(self(0), unit)}`];
		return list.filter(Boolean).join(", ");
	}

	placeOf(f) {
		const {model} = this, file = model.file(f), line = this.profile.frames.line[f], flags = this.profile.frames.kind[f] >> 3;
		if (model.isTask(f))
			return ["", titleOf(this.levelOf(f), this.profile), ""];
		const words = [KINDS[model.kind(f)], flags & 1 ? "guessed" : "", flags & 2 ? "from another sample" : ""].filter(Boolean).join(", ");
		return [model.module(f), words, file ? `${file}${line ? `:${line}` : ""}` : ""];
	}

	levelOf(f) {
		return Object.values(this.profile.levels).flatMap(l => l.groups).find(g => g.frame === f).level;
	}

	describe(f, total, self) {
		const [module, words, place] = this.placeOf(f);
		return `${this.numbersOf(f, total, self)}  ${this.model.name(f)}  ${module ? `${module} ` : ""}(${words})${place ? `  ${place}` : ""}`;
	}

	showTip(box, e) {
		if (!box || !$("frame-menu").hidden)
			return this.tip.hide();
		if (box.node <= 0)
			return box.node < 0 ? this.tip.show([`${box.n} smaller`, this.describeRest(box)], e) : this.tip.hide();
		const {tree} = this, f = tree.frame(box.node), [module, words, place] = this.placeOf(f);
		return this.tip.show([this.model.name(f), this.numbersOf(f, k => tree.total(box.node, k), k => tree.self(box.node, k)), [module, `(${words})`].join(" ").trim(), place,
			this.isNew ? "click: zoom · right button: more" : ""], e);
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

	// The way to what is zoomed.
	crumbs() {
		const {state, model, graph, tree} = this, list = [], {node, skip, up} = model.nodeOf(state.zoom), isCaller = tree.isCaller(node), path = [];
		for (let i = node; i > 0 && (i !== tree.top() || state.sandwich < 0); i = tree.parent(i))
			path.push(i);
		if (state.sandwich >= 0)
			list.push(button("all functions", () => this.change({sandwich: -1, zoom: ""})),
				button(`callers and callees of ${fitLabel(model.name(state.sandwich), 60)}`, () => this.change({zoom: ""})));
		else if (path.length || skip)
			list.push(button("all", () => this.change({zoom: ""})));
		for (const i of path.slice(0, 4).reverse())
			list.push(button(`${isCaller ? "‹" : "›"} ${fitLabel(model.name(tree.frame(i)), 40)}`, () => this.change({zoom: model.pathOf(i)})));
		if (skip)
			list.push(button(`${up ? "‹" : "›"} smaller`, () => this.change({zoom: model.pathOf(node, skip, up)})));
		if (graph.scale > 1)
			list.push(button("whole width", () => { graph.widen(1 / graph.scale); }));
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
			...(state.task ? [button(`${this.taskText()} ×`, () => this.filter({task: ""}))] : []),
		];
	}

	taskText() {
		const [kind] = this.state.task.split(":", 1), group = this.profile.levels[kind].groups.find(g => g.filter === this.state.task);
		return `${titleOf(kind, this.profile)} ${group ? group.text : ""}`;
	}

	legend() {
		const {kind, functions} = this.profile.frames, kinds = this.once ??= [...new Set(Array.from({length: functions}, (_, f) => kind[f] % 8))].sort();
		const entries = this.diff ? changeLegend(this.state.palette) :
			legendOf(this.state.palette, kinds, this.state.palette === "module" ? this.model.heaviestModules(MODULES_TOLD) : []);
		return [...entries, ...stateLegend(this.profile.spans)].map(([text, colour]) => {
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
		this.isNew &&= remember !== "push";
		model.set(this.state);
		this.look.palette = this.state.palette;
		if (this.state.palette !== before.palette)
			this.colours.clear();
		this.search();
		this.graph.flames = this.state.flames;
		const isMoved = model.tree !== tree || this.state.zoom !== before.zoom || this.state.flames !== before.flames;
		if (isMoved)
			this.graph.show(this.tree, model.nodeOf(this.state.zoom));
		this.tip.hide();
		this.drawControls();
		this.graph.schedule();
		this.point(this.graph.chosen, this.graph.boxOf(this.graph.chosen));
		if (remember)
			this.remember(remember);
	}

	remember(how) {
		this.notice([]);
		try {
			history[`${how}State`](null, "", writeState(this.state, this.startState, this.profile, this.model.links));
		} catch {
			// a page inside of another one may have no history
		}
	}

	// What an address asks for and this profile has not.
	notice(sentences) {
		$("notice").hidden = !sentences.length;
		$("notice").replaceChildren(...(sentences.length ? [`This address is not all understood: ${sentences.join("; ")}. `, button("Close", () => this.notice([]))] : []));
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
		for (const id of ["event", "side", "scale", "by", "palette"])
			$(id).value = state[id];
		$("tasks-button").textContent = state.task ? `Only ${this.taskText()}` : "Tasks…";
		if ($("search").value !== state.search)
			$("search").value = state.search;
		this.strip.show(this.profile.log, this.model.once("passes", [state.event, state.task], () => this.model.passes()), this.model.takesTask(), state.range, state.heat);
		$("crumbs").replaceChildren(...this.crumbs());
		$("filters").replaceChildren(...filters);
		$("filters").hidden = !filters.length;
		$("clear").disabled = !filters.length && !state.collapse;
		$("undo").disabled = !this.undo.length;
		$("collapse").checked = state.collapse;
		$("legend").replaceChildren(...this.legend());
		$("table").hidden = !state.table;
		if (state.table)
			this.table.show({
				list: state.list, lists: this.hasTasks() ? ["functions", "tasks"] : ["functions"], level: this.level, levels: levelsOf(this.profile).map(l => [l, titleOf(l, this.profile)]), rows: state.list === "tasks" ? this.taskRows() : this.model.rows(this.matches),
				unit: this.model.unit(), whole: this.model.whole, isJudged: Boolean(this.diff && this.diff.judged),
			});
	}

	hasTasks() { return this.profile.tasks.length > 1; }

	taskRows() {
		return this.model.tasks(this.level).filter(g => g.weight.some(w => w > 0)).map(g => {
			const [total, base, fresh] = g.weight, sides = this.diff ? {base: {self: base, total: base}, fresh: {self: fresh, total: fresh}} : {};
			return {f: g.frame, name: g.text, module: "", filter: g.filter, total, ...sides};
		});
	}

	showLevel(level) {
		this.level = level;
		this.drawControls();
	}

	search() {
		const {search} = this.state, {model} = this;
		this.matches = this.look.matches = model.once("matches", search, () => model.matches(search));
		const share = this.matches ? model.once("matched", [search, model.kept], () => model.matched(this.matches)) : 0;
		$("matched").textContent = !search ? "" : !this.matches ? "no regular expression" : formatShare(share, model.whole);
		$("elsewhere").replaceChildren(...(search && this.matches && !share ? this.elsewhere() : []));
	}

	// Nothing is called so: but a command is, or a module.
	elsewhere() {
		const {search} = this.state, {comms, modules} = this.model.elsewhere(search), word = (list, what) => list.length === 1 ? `${what} ${fitLabel(list[0], 20)}` : `${list.length} ${what}s`;
		return [
			...(comms.length ? [button(word(comms, "command"), () => this.change({by: "comm"}))] : []),
			...(modules.length ? [button(word(modules, "module"), () => this.change({search: `module:${search}`}))] : []),
		];
	}

	// ---- controls ----

	fillSelects() {
		const {events, facts} = this.profile, option = (value, text) => Object.assign(document.createElement("option"), {value, textContent: text});
		$("event").replaceChildren(...events.map((e, i) => option(String(i), e.name)));
		if (facts.by)
			$("by").append(option("label", facts.by), option("label-comm", `${facts.by}, commands`));
	}

	// What can be chosen is shown if there is a choice.
	hideWhatIsNot() {
		const {events, tasks, log} = this.profile;
		$("side").parentNode.hidden = $("scale").parentNode.hidden = !this.diff;
		$("event").parentNode.hidden = events.length < 2;
		$("by").parentNode.hidden = tasks.every(t => !t.comm && !t.label);
		$("tasks-button").hidden = !this.hasTasks();
		$("strip").hidden = log.n < 2;
	}

	wire() {
		const clicks = {
			invert: () => this.change({invert: !this.state.invert, sandwich: -1, zoom: ""}),
			flip: () => this.change({flames: !this.state.flames}, "replace"),
			"table-button": () => this.change({table: !this.state.table, list: "functions"}, "replace"),
			heat: () => this.change({heat: !this.state.heat}, "replace"),
			more: () => $("more").setAttribute("aria-expanded", !($("menu").hidden = !$("menu").hidden)),
			"help-button": () => $("help").showModal(),
			"frame-button": () => this.openMenu(),
			undo: () => this.undo.length && this.change(this.undo.pop()),
			"tasks-button": () => this.change({table: true, list: "tasks"}),
			clear: () => this.filter({hidden: [], dropped: [], focus: -1, collapse: false, task: "", range: null}),
		};
		for (const [id, run] of Object.entries(clicks))
			$(id).addEventListener("click", run);
		$("collapse").addEventListener("change", e => this.filter({collapse: e.target.checked}));
		$("event").addEventListener("change", e => this.change({event: e.target.value, zoom: ""}));
		$("by").addEventListener("change", e => this.change({by: e.target.value, zoom: ""}));
		$("side").addEventListener("change", e => this.change({side: e.target.value}));
		$("scale").addEventListener("change", e => this.change({scale: e.target.value}));
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
			Backspace: () => this.zoomOut(), "+": () => this.widen(1.5), "=": () => this.widen(1.5), "-": () => this.widen(1 / 1.5),
		}[key];
	}

	graphKey(key) {
		return document.activeElement === $("graph") && {
			...Object.fromEntries(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map(k => [k, () => this.graph.walk(k)])),
			ContextMenu: () => this.openMenu(), ".": () => this.openMenu(),
		}[key];
	}

	frameKey({key}) {
		const node = this.graph.chosen, box = this.graph.boxOf(node);
		if (node < 0)
			return key === "Enter" && document.activeElement === $("graph") && box && (() => this.zoom(node, box));
		const action = node > 0 && actionsFor(this, this.tree.frame(node)).find(a => a.key === key);
		return action && (key !== "Enter" || document.activeElement === $("graph")) && (() => action.run(this, this.tree.frame(node), node));
	}

	// About the frame that the keyboard is at.
	widen(by) {
		const box = this.graph.boxOf(this.graph.chosen);
		this.graph.widen(by, box && box.node !== this.graph.zoomed ? box.x + box.width / 2 : undefined);
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
		const {state, refused} = readState(location.hash, this.startState, this.profile, this.model.links);
		this.change(state, "");
		const {lost} = this.model.nodeOf(state.zoom), isOld = /^\^?\d[\d.]*$/.test(state.zoom);
		this.notice(lost ? [...refused, isOld ? oldAddress(state.zoom) : `“${readableLabel(lost)}” is not there, or not called from where it was`] : refused);
	}

	start() {
		this.fillSelects();
		this.hideWhatIsNot();
		const {parts, isBad} = honesty(this.profile);
		$("honesty").textContent = parts.join(" · ");
		$("honesty").title = parts.join("\n");
		$("honesty").classList.toggle("bad", isBad);
		$("honesty").addEventListener("click", () => $("honesty").classList.toggle("whole"));
		this.wire();
		this.restore();
		document.documentElement.dataset.ready = "1";
	}
}

if (typeof document !== "undefined") {
	$("no-script").remove();
	$("app").hidden = false;
	inflate($("profile").textContent).then(bytes => (window.page = new Page(decodeProfile(bytes))).start()).catch(e => {
		$("details").textContent = `the profile cannot be read: ${e.message}`;
		throw e;
	});
}
