// Three small functions that call each other in a cycle, twice each, as deep as the number says: f0 calls f1, f1 calls f2, f2 calls f0.
// In JavaScript, or in WebAssembly.   MODE MS
'use strict';
function f0(n) { return n ? f1(n - 1) + f1(n - 1) : 1 }
function f1(n) { return n ? f2(n - 1) + f2(n - 1) : 1 }
function f2(n) { return n ? f0(n - 1) + f0(n - 1) : 1 }
// local.get 0, if (result i32) .. else i32.const 1 end; i32.sub is 6b, i32.add 6a
const call = (to) => [0x20, 0, 0x41, 1, 0x6b, 0x10, to];
const body = (to) => [0, 0x20, 0, 0x04, 0x7f, ...call(to), ...call(to), 0x6a, 0x05, 0x41, 1, 0x0b, 0x0b];
const bodies = [body(1), body(2), body(0)];
const part = (id, bytes) => [id, bytes.length, ...bytes];
const wasm = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...part(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), ...part(3, [3, 0, 0, 0]),
    ...part(7, [1, 1, 0x66, 0, 0]), ...part(10, [3, ...bodies.flatMap(b => [b.length, ...b])])]);
const f = process.argv[2] === 'wasm' ? new WebAssembly.Instance(new WebAssembly.Module(wasm)).exports.f : f0;
const till = process.cpuUsage().user + process.argv[3] * 1000;
let n = 0;
while (process.cpuUsage().user < till) n += f(12);
