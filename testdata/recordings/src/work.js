class Point {
	constructor(x, y) { this.x = x; this.y = y; }
	length() { return Math.sqrt(this.x * this.x + this.y * this.y); }
}
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function lengths(n) { let sum = 0; for (let i = 0; i < n; i++) sum += new Point(i, i + 1).length(); return sum; }
function sorted(n) { return Array.from({ length: n }, (_, i) => (i * 7919) % n).sort((a, b) => a - b)[0]; }
let total = 0;
const end = process.cpuUsage().user + 5e5;
while (process.cpuUsage().user < end) total += fibonacci(22) + lengths(20000) + sorted(2000);
if (total === 0) console.log(total);
