// Functions of every kind, of which each calls what is known: 2,000 small ones, of which 300 have the names of others in another file
// (many.js, other.js: written by the test), a cycle through a function, an arrow, a method, a static one, a constructor's, a generator's,
// an async one; and new ones all the time, by new Function() and eval().   MS
'use strict';
const dir = process.cwd(), many = require(dir + '/many.js').all, other = require(dir + '/other.js').all;
let sink = 0;
// Where nothing is compiled there is no memory for code, which names need: a regular expression is, when it runs again.
for (let i = 0; i < 9; i++) sink += /a+b/.test('xaab' + i);
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s += i ^ (s & 7); sink ^= s; return s }
function c0(n) { spin(30); return n ? c1(n - 1) + c1(n - 1) : 1 }
const c1 = (n) => { spin(30); return n ? m.c2(n - 1) + m.c2(n - 1) : 1 };
const m = { c2(n) { spin(30); return n ? K.c3(n - 1) + K.c3(n - 1) : 1 } };
class K { static c3(n) { spin(30); return n ? new K().c4(n - 1) : 1 } c4(n) { spin(30); return n ? новая(n - 1) : 1 } }
function новая(n) { spin(30); return n ? e(n - 1) + e(n - 1) : 1 }
const e = function (n) { spin(30); return n ? c6(n - 1) + c6(n - 1) : 1 };
function* g6(n) { spin(30); yield c0(n - 1); spin(30) }
function c6(n) { let s = 0; if (n) for (const v of g6(n)) s += v; return s }
async function a0(n) { spin(300); await null; spin(300); return c0(n) }
function dyn(k) {
    const f = new Function('spin', `return function o${k}(n) { let s = 0; for (let j = 0; j < 300; j++) s += i${k}(j); return s }; function i${k}(n) { spin(60); return n }`)(spin);
    for (let j = 0; j < 12; j++) f(j);
}
function ev(k) { return eval(`(function ev${k}(n) { spin(2000); return n })`)(k) }
const till = process.cpuUsage().user + process.argv[2] * 1000;
async function run() {
    for (let k = 0; process.cpuUsage().user < till; k++) {
        for (let j = 0; j < 60; j++) many[(k * 31 + j * 7) % many.length](12);
        for (let j = 0; j < 60; j++) other[(k * 31 + j * 7) % other.length](12);
        c0(10);
        await a0(8);
        dyn(k);
        ev(k);
    }
}
run();
