// labels.js - names of functions in little room, for the page and the SVG.

// Without the arguments of templates: they go before letters of the name do.
function withoutTemplates(name) {
	let out = "", depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i], isOperator = (c === "<" || c === ">") && /operator[<>=-]*$/.test(name.slice(Math.max(0, i - 10), i));
		if (c === "<" && !isOperator && i > 0) {
			if (depth++ === 0)
				out += "<…>";
		} else if (c === ">" && !isOperator && depth > 0) {
			depth--;
		} else if (depth === 0) {
			out += c;
		}
	}
	return depth === 0 ? out : name;
}

// "java.lang.Object java.util.stream.ReferencePipeline.collect(java.util.stream.Collector)", as JIT maps have methods: the
// type that it returns, its class and name, its parameters.
const JAVA = /^(?:[\w$.[\]]+ )?((?:[\w$/]+\.)+[\w$<>]+)(?:\(([\w$.[\], ]*)\)(.*))?$/;
// The parameters of other languages' functions.
const PARAMETERS = /(?<=[\w>])\([^()]+\)(?: const)?$/;
// "py::run:/srv/app/main.py", as CPython's map has them.
const PYTHON = /^py::(.+):(?:.*\/)?([^/]+)$/;

// What a label loses first: arguments of templates, parameters, the type that functions made of them return, versions of symbols and
// of JIT code, what compilers add to clones; of Java's methods the types, of Python's functions the folder.
function shortName(name) {
	const java = JAVA.exec(name), python = PYTHON.exec(name);
	if (java && (java[2] !== undefined || name.includes(" ")))
		return java[2] === undefined ? java[1] : `${java[1]}(${java[2] ? "…" : ""})${java[3]}`;
	if (python)
		return `${python[1]} ${python[2]}`;
	const short = withoutTemplates(name).replace(PARAMETERS, "(…)").replace(/(?:\.(?:isra|part|constprop|cold|lto_priv|llvm)(?:\.\d+)*)+$/, "").replace(/@@?[A-Z]\w*_[\d.]+$|(?<=\))\[\w+\]$/, ""), type = /^(?:(?:unsigned|signed|const) )*[\w:<>…]+(?: const)?[*&]* (?=[\w~(])/.exec(short);
	return type && short.includes("<") && !/operator/.test(type[0]) ? short.slice(type[0].length) : short;
}

// A method behind its class and package: "java.util.ArrayList.add(…)", "net/http.(*conn).serve".
const DOTTED = /^[\w$]+(?:\.[\w$<>]+){2,}|\$\$Lambda|\.\(\*?\w+\)\./;

// Where the parts of a qualified name begin: "ns::A<…>::f", packages of Go, of Java; JavaScript's names end with a file.
function partsOf(name) {
	const parts = [0], hasPath = !name.includes(" "), hasDots = DOTTED.test(name);
	for (let i = 0, depth = 0; i < name.length; i++) {
		const c = name[i];
		if ("([{<".includes(c))
			depth++;
		else if (")]}>".includes(c))
			depth--;
		else if (depth === 0 && (name.startsWith("::", i) || (c === "/" && hasPath) || (c === "." && hasDots)))
			parts.push(i + (c === ":" ? 2 : 1));
	}
	return parts;
}

function cutMiddle(text, room) {
	const head = Math.ceil((room - 1) * 0.6);
	return text.length <= room ? text : text.slice(0, head) + "…" + text.slice(text.length - (room - 1 - head));
}

// A label of at most `room` letters: what a function belongs to goes before letters of its own name do, the outermost first;
// then the middle. short: shortName(name), where it is known.
function fitLabel(name, room, short = name.length > room ? shortName(name) : name) {
	if (name.length <= room)
		return name;
	if (short.length <= room)
		return short;
	if (room < 3)
		return "";
	const parts = partsOf(short), from = parts.find(i => i > 0 && short.length - i < room), own = short.slice(parts[parts.length - 1]);
	if (from !== undefined)
		return "…" + short.slice(from);
	return cutMiddle(own.startsWith("operator") ? short : own.replace(/(?:<…>|\(…\))$/, ""), room);
}
