// tip.js - what is known of the box under the mouse, beside the pointer; the line of details says the same to all others.

const TIP_DELAY_MS = 250;

class Tip {
	constructor(element) {
		Object.assign(this, {element, timer: 0});
	}

	// lines: the first is the name; e: where the mouse is.
	show(lines, e) {
		const {element} = this, isOpen = !element.hidden;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => {
			element.replaceChildren(...lines.filter(Boolean).map((text, i) => Object.assign(document.createElement(i ? "div" : "b"), {textContent: text})));
			element.hidden = false;
			const {width, height} = element.getBoundingClientRect(), isLow = e.clientY + height + 24 > innerHeight;
			element.style.left = `${Math.max(4, Math.min(e.clientX + 12, innerWidth - width - 8))}px`;
			element.style.top = `${isLow ? Math.max(4, e.clientY - height - 12) : e.clientY + 20}px`;
		}, isOpen ? 0 : TIP_DELAY_MS);
	}

	hide() {
		clearTimeout(this.timer);
		this.element.hidden = true;
	}
}
