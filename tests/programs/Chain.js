// A chain of calls in a known order, each by another way of V8's builtins. L0 is called by run().
'use strict';
let sink = 0;
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s += i ^ (s & 7); sink ^= s; return s }
function end(x) { spin(60); return x }
const plain = {a: 1};
function L11(x) { const o = {}; o['k' + (x & 15)] = [x, x + 1]; for (const v of [1, 2, 3]) sink += v; sink += Object.keys(o).length + `${x}`.length; return end(x) }
class Base { constructor(x) { this.x = L11(x); spin(20) } }
class L10c extends Base { constructor(x) { super(x); spin(20) } }
function L10(x) { const r = new L10c(x).x; spin(20); return r }
const target = {get p() { const r = L10(3); spin(20); return r }};
function L9(x) { const r = target.p; spin(20); return r + x }
const prim = {[Symbol.toPrimitive](hint) { const r = L9(2); spin(20); return r }};
function L8(x) { const r = x + prim; spin(20); return r }
function L7(x) { const r = [x, 1].map(v => { const q = L8(v); spin(20); return q })[0]; spin(20); return r }
function L6(x) { const r = Reflect.apply(L7, null, [x]); spin(20); return r }
function L5(x) { const r = [2, 1].sort((a, b) => { L6(a); spin(20); return a - b })[0]; spin(20); return r }
const bound = L5.bind(null, 4);
function L4(x) { const r = bound(); spin(20); return r + x }
function* gen(x) { yield L4(x); spin(20) }
function L3(x) { let r = 0; for (const v of gen(x)) r += v; spin(20); return r }
function L2(x) { const r = JSON.stringify({toJSON() { const q = L3(x); spin(20); return q }}); spin(20); return r.length }
function L1(x) { const r = 'ab'.replace(/a/g, () => { const q = L2(x); spin(20); return q }); spin(20); return r.length }
const proxy = new Proxy({}, {get(t, k) { const q = L1(5); spin(20); return q }});
function L0(x) { const r = proxy.z; spin(20); return r + x }
function run(ms) { const till = process.cpuUsage().user + ms * 1000; let n = 0; while (process.cpuUsage().user < till) { L0(n++); spin(20) } }
run(+process.argv[2]);
