// colours.js - colours mean something: what kind of code a frame is, or its module. All carry black letters (4.5:1).

const KINDS = ["task", "user", "inlined", "JIT", "kernel", "no name"];
const SAME = {kind: [[0, 0, 88], [28, 85, 68], [45, 90, 72], [105, 50, 66], [215, 75, 76], [0, 0, 75]],
	safe: [[0, 0, 88], [38, 95, 60], [54, 90, 70], [164, 60, 62], [201, 80, 70], [0, 0, 74]]};

// A number that depends on nothing but the text (FNV-1a).
function hashText(text) {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return h >>> 0;
}

function colourOf(palette, kind, name, module) {
	const h = hashText(name);
	if (palette === "module")
		return `hsl(${hashText(module) % 360} 60% ${72 + h % 10}%)`;
	const [hue, saturation, light] = SAME[palette][kind];
	return `hsl(${hue + (saturation ? h % 17 - 8 : 0)} ${saturation}% ${light + (h >> 8) % 9}%)`;
}

// modules: names of the modules to list.
function legendOf(palette, kinds, modules) {
	if (palette === "module")
		return modules.map(m => [fitLabel(m, 24), `hsl(${hashText(m) % 360} 60% 76%)`]);
	return kinds.map(k => [KINDS[k], `hsl(${SAME[palette][k][0]} ${SAME[palette][k][1]}% ${SAME[palette][k][2] + 4}%)`]);
}
