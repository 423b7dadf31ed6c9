// colours.js - colours mean something: what kind of code a frame is, or its module. All carry black letters (4.5:1). Those of a palette
// differ by dE00 10 at least, with all shades that names give them, in "safe" also with each deficiency of colour vision
// (tests/output/test_palettes.py). fmt_flamegraph.c has the same two.

const KINDS = ["task", "user", "inlined", "JIT", "kernel", "no name"];
// Hue, saturation, lightness by kind; then of boxes "n smaller", and of what a search found.
const PALETTES = {
	kind: {kinds: [[0, 0, 93], [24, 88, 65], [50, 93, 73], [104, 60, 59], [210, 75, 80], [0, 0, 70]], smaller: [0, 0, 52], hit: [308, 95, 70], hues: 6, lights: 6},
	safe: {kinds: [[0, 0, 92], [14, 93, 54], [50, 96, 69], [140, 36, 50], [215, 70, 80], [0, 0, 68]], smaller: [0, 0, 50], hit: [288, 97, 62], hues: 2, lights: 3},
};
PALETTES.module = {...PALETTES.kind, kinds: null};
// Shades of grey have no hue that could vary.
const GREY_LIGHTS = 2;

const hsl = ([hue, saturation, light]) => `hsl(${hue} ${saturation}% ${light}%)`;
const smallerColour = palette => hsl(PALETTES[palette].smaller);
const hitColour = palette => hsl(PALETTES[palette].hit);
const wholeColour = hsl(PALETTES.kind.kinds[0]);

// A number that depends on nothing but the text (FNV-1a).
function hashText(text) {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return h >>> 0;
}

function colourOf(palette, kind, name, module) {
	const h = hashText(name), {kinds, hues, lights} = PALETTES[palette];
	if (!kinds)
		return kind ? `hsl(${hashText(module) % 360} 60% ${72 + h % 10}%)` : wholeColour;
	const [hue, saturation, light] = kinds[kind];
	return saturation ? hsl([hue + h % (2 * hues + 1) - hues, saturation, light + (h >> 8) % (lights + 1)]) : hsl([0, 0, light + (h >> 8) % (GREY_LIGHTS + 1)]);
}

// modules: names of the modules to list.
function legendOf(palette, kinds, modules) {
	if (palette === "module")
		return modules.map(m => [fitLabel(m, 24), `hsl(${hashText(m) % 360} 60% 76%)`]);
	return kinds.map(k => [KINDS[k], hsl(PALETTES[palette].kinds[k])]);
}
