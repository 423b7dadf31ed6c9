// flamegraph.js - what makes the SVG of fmt_flamegraph.c answer: zoom, search, reset. No request is made.
// A frame is <g data-d="DEPTH"><title>NAME (WEIGHT, SHARE)</title><rect/><text/></g>; x and width of the rectangles
// are the truth that everything here is computed from.
"use strict";
(function () {
	const svg = document.documentElement, frames = [], PAD = +svg.dataset.pad, WIDTH = +svg.dataset.width;
	const $ = id => document.getElementById(id);
	const byDepth = []; // frames of each depth, from left to right
	let zoomed = null, pattern = "", matching = null;

	for (const g of document.querySelectorAll("g[data-d]")) {
		const [title, rect, text] = g.children;
		const f = {
			g, rect, text, title: title.textContent,
			name: title.textContent.replace(/ \([^()]*\)$/, ""),
			x: +rect.getAttribute("x"), w: +rect.getAttribute("width"), depth: +g.dataset.d,
		};
		g.frame = f;
		frames.push(f);
		(byDepth[f.depth] = byDepth[f.depth] || []).push(f);
	}
	for (const row of byDepth)
		row.sort((a, b) => a.x - b.x);
	const root = byDepth[0][0];
	const letter = root.text.textContent.length ? root.text.getComputedTextLength() / root.text.textContent.length : 7;

	// A little less than a pixel: what the numbers of two neighbours may differ by.
	const EPSILON = 0.02;
	const isInside = (f, z) => f.x >= z.x - EPSILON && f.x + f.w <= z.x + z.w + EPSILON;
	const isAround = (f, z) => f.depth <= z.depth && isInside(z, f);

	function label(f, width) {
		return fitLabel(f.name, Math.floor((width - 6) / letter));
	}

	function place(f, x, width) {
		f.rect.setAttribute("x", x);
		f.rect.setAttribute("width", width);
		f.text.setAttribute("x", x + 3);
		f.text.textContent = label(f, width);
	}

	function draw() {
		const z = zoomed || root, scale = (WIDTH - 2 * PAD) / z.w;
		for (const f of frames) {
			const around = isAround(f, z) && f !== z, shown = around || (f.depth >= z.depth && isInside(f, z));
			f.g.style.display = shown ? "" : "none";
			f.g.style.opacity = around ? 0.5 : "";
			if (around)
				place(f, PAD, WIDTH - 2 * PAD);
			else if (shown)
				place(f, PAD + (f.x - z.x) * scale, f.w * scale);
		}
		$("reset").style.visibility = zoomed ? "visible" : "hidden";
	}

	function compile(text) {
		try {
			return new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
		} catch {
			return null;
		}
	}

	// A stack counts once, however many of its frames match: the outermost match takes all that is above it.
	function share() {
		let sum = 0, until = -1;
		const hits = frames.filter(f => f.hit).sort((a, b) => a.x - b.x || a.depth - b.depth);
		for (const f of hits)
			if (f.x + f.w > until + EPSILON) {
				sum += f.x >= until - EPSILON ? f.w : 0;
				until = Math.max(until, f.x + f.w);
			}
		return 100 * sum / root.w;
	}

	function search(text) {
		pattern = text;
		matching = text ? compile(text) : null;
		for (const f of frames) {
			f.hit = matching !== null && matching.test(f.name);
			f.g.classList.toggle("hit", f.hit);
			f.g.classList.toggle("miss", matching !== null && !f.hit);
		}
		const hidden = +svg.dataset.hidden;
		$("matched").textContent = !text ? "" : matching === null ? "no regular expression: " + text :
			"matched: " + share().toFixed(1) + " %" +
			(hidden >= 0.05 ? " (boxes too narrow to be drawn, " + hidden.toFixed(1) + " %, are not searched)" : "");
		$("search").textContent = text ? "Clear search" : "Search";
	}

	function ask() {
		if (pattern)
			return change(zoomed, "");
		const text = prompt("Functions to highlight (regular expression; capital letters make it exact):", "");
		if (text)
			change(zoomed, text);
	}

	// The address holds what is shown, so that Back undoes a zoom and a link opens the same picture.
	function remember(z, text) {
		const parts = [];
		if (z)
			parts.push("z=" + frames.indexOf(z));
		if (text)
			parts.push("s=" + encodeURIComponent(text));
		try {
			history.pushState(null, "", "#" + parts.join("&"));
		} catch {
			// a picture inside of another page has no history
		}
	}

	function show(z, text) {
		zoomed = z === root ? null : z;
		draw();
		search(text);
	}

	function change(z, text) {
		show(z, text);
		remember(zoomed, text);
	}

	function restore() {
		const state = {};
		for (const part of location.hash.slice(1).split("&")) {
			const at = part.indexOf("=");
			state[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
		}
		show(frames[+state.z] && state.z !== undefined ? frames[+state.z] : null, state.s || "");
	}

	const parent = f => byDepth[f.depth - 1].find(p => isInside(f, p));
	svg.addEventListener("click", e => {
		const g = e.target.closest("g[data-d]");
		if (g)
			change(g.frame, pattern);
		else if (e.target.id === "reset")
			change(null, pattern);
		else if (e.target.id === "search")
			ask();
	});
	svg.addEventListener("mouseover", e => {
		const g = e.target.closest("g[data-d]");
		$("details").textContent = g ? g.frame.title : "";
	});
	addEventListener("keydown", e => {
		if (e.key === "/" || (e.key === "f" && (e.ctrlKey || e.metaKey))) {
			e.preventDefault();
			ask();
		} else if (e.key === "Escape") {
			change(pattern ? zoomed : null, "");
		} else if (e.key === "Backspace" && zoomed) {
			change(parent(zoomed), pattern);
		}
	});
	addEventListener("popstate", restore);
	// What was cut at its end without this script.
	for (const f of frames)
		if (f.text.textContent.endsWith("…"))
			f.text.textContent = label(f, f.w);
	if (location.hash)
		restore();
	// Where flames burn upwards the root may be below the first screen.
	scrollTo(0, root.rect.getBoundingClientRect().bottom + 60 > innerHeight ? document.documentElement.scrollHeight : 0);
})();
