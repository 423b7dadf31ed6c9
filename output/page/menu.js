// menu.js - what can be done with a frame: by keys, by a menu, by both alike.

// run: what changes; page.filter() can be undone. f is the function of the chosen frame, node its place. isFor: of which frames.
const ACTIONS = [
	{key: "Enter", text: "Zoom", run: (page, f, node) => page.zoom(node)},
	{key: "s", text: "Sandwich: all its callers and callees", run: (page, f) => page.change({sandwich: f, zoom: ""})},
	{key: "f", text: "Only stacks with it", run: (page, f) => page.filter({focus: f})},
	{key: "x", text: "Only stacks without it", run: (page, f) => page.filter({dropped: [...page.state.dropped, `f:${f}`]})},
	{key: "h", text: "Hide the function: its callees become its callers'", run: (page, f) => page.filter({hidden: [...page.state.hidden, `f:${f}`]})},
	{key: "m", text: "Hide its whole module", isFor: (page, f) => page.model.module(f) !== "", run: (page, f) => page.filter({hidden: [...page.state.hidden, `m:${page.model.module(f)}`]})},
	{key: "c", text: "Copy the name", run: (page, f) => page.copy(page.model.name(f))},
	{key: "C", text: "Copy the stack", run: (page, f, node) => page.copy(page.stackOf(node))},
];

const actionsFor = (page, f) => ACTIONS.filter(a => !a.isFor || a.isFor(page, f));

class FrameMenu {
	// page: see ACTIONS; ended(): the menu has gone
	constructor(element, page, ended) {
		Object.assign(this, {element, page, ended, node: -1});
		element.addEventListener("keydown", e => this.key(e));
		element.addEventListener("focusout", e => element.contains(e.relatedTarget) || this.hide());
	}

	get items() { return [...this.element.querySelectorAll("button")]; }

	show(node, x, y) {
		const {element} = this;
		this.node = node;
		element.replaceChildren(...actionsFor(this.page, this.page.model.tree.frame(node)).map(a => this.item(a)));
		element.hidden = false;
		const {width, height} = element.getBoundingClientRect();
		element.style.left = `${Math.max(0, Math.min(x, innerWidth - width - 4))}px`;
		element.style.top = `${Math.max(0, Math.min(y, innerHeight - height - 4))}px`;
		this.items[0].focus();
	}

	item(action) {
		const b = document.createElement("button"), key = document.createElement("kbd");
		b.setAttribute("role", "menuitem");
		key.textContent = action.key;
		b.append(action.text, key);
		b.addEventListener("click", () => {
			const {node} = this;
			this.hide();
			action.run(this.page, this.page.model.tree.frame(node), node);
		});
		return b;
	}

	hide() {
		if (this.element.hidden)
			return;
		this.element.hidden = true;
		this.ended();
	}

	key(e) {
		const {items} = this, at = items.indexOf(document.activeElement), step = {ArrowDown: 1, ArrowUp: -1}[e.key];
		if (step)
			items[(at + step + items.length) % items.length].focus();
		else if (e.key === "Escape" || e.key === "Tab")
			this.hide();
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}
}
