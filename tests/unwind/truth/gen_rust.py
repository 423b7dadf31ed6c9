"""gen_rust.py - a Rust program whose functions record themselves (shadow.h)."""
import random

HEAD = """
// std::hint::black_box came with Rust 1.66, Debian 12 has 1.63.
#[inline(always)] fn black_box<T>(x: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &x, options(nostack, preserves_flags)) };
    x
}
#[repr(C)] #[derive(Clone, Copy)] pub struct Entry { function: u64, site: u64 }
#[repr(C)] pub struct Shadow { magic: [u64; 2], n: u64, path: [Entry; 200] }
type Fun = fn(&mut Shadow, i64, i64) -> i64;
#[inline(always)] fn enter(s: &mut Shadow, f: Fun) {
    let n = s.n as usize;
    unsafe {
        std::ptr::write_volatile(&mut s.path[n].function, f as usize as u64);
        std::ptr::write_volatile(&mut s.path[n].site, 0);
        std::ptr::write_volatile(&mut s.n, n as u64 + 1);
    }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
#[inline(always)] fn leave(s: &mut Shadow) {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    unsafe { let n = std::ptr::read_volatile(&s.n); std::ptr::write_volatile(&mut s.n, n - 1); }
}
pub trait Call { fn call(&self, s: &mut Shadow, x: i64, d: i64) -> i64; }
pub struct Big([i64; 20]);
"""
BODIES = [
    "for k in 0..{r} {{ y = y.wrapping_add(black_box(k * x)); }}",
    "let mut a = [0i64; {r}]; for k in 0..a.len() {{ a[k] = x + k as i64; }} y = y.wrapping_add(black_box(&a)[(x & 7) as usize]);",
    "let v: Vec<i64> = (0..{r}).map(|k| k ^ x).collect(); y = y.wrapping_add(v.iter().fold(0, |a, b| a ^ b));",
    "let t = format!(\"{{}}-{{}}\", x, y); y = y.wrapping_add(t.len() as i64);",
    "match x & 7 {{ 0 => y += 3, 1 => y = y.wrapping_mul(5), 2 => y ^= 7, 3 => y -= 2, 4 => y += 9, _ => y += 1 }}",
    "let mut f = x as f64; for _ in 0..{r} % 50 {{ f = (f + 1.0).sqrt(); }} y += f as i64;",
]
CALLS = ["y = y.wrapping_add(f{t}(s, x.wrapping_add(1), d - 1));", "y = y.wrapping_add(black_box(TABLE)[{t}](s, x ^ 3, d - 1));",
         "let o: &dyn Call = black_box(&T{t}); y = y.wrapping_add(o.call(s, x, d - 1));",
         "y = y.wrapping_add(f{t}(s, x, d - 1)) ^ f{t}(s, x.wrapping_add(7), d - 1);"]


def program(seed, n):
    rng, out = random.Random(seed), HEAD
    for i in range(n + 1):
        body = " ".join("{ " + b.format(r=rng.randint(8, 300)) + " }" for b in rng.sample(BODIES, rng.randint(1, 3)))
        calls = " ".join("{ " + rng.choice(CALLS).format(t=rng.randint(i + 1, n)) + " }" for _ in range(rng.randint(1, 2))) if i < n else ""
        out += f"""
pub struct T{i};
impl Call for T{i} {{ fn call(&self, s: &mut Shadow, x: i64, d: i64) -> i64 {{ f{i}(s, x, d) }} }}
#[no_mangle] #[inline(never)] pub fn f{i}(s: &mut Shadow, x: i64, d: i64) -> i64 {{
    enter(s, f{i}); let mut y = x; {body} if d > 0 {{ {calls} }} let r = black_box(y); leave(s); r }}
"""
    out += f"static TABLE: &[Fun; {n + 1}] = &[" + ", ".join(f"f{i}" for i in range(n + 1)) + "];\n"
    return out + """
fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut s = Shadow { magic: [0, 0], n: 0, path: [Entry { function: 0, site: 0 }; 200] };
    let p = black_box(&mut s);
    p.magic = [0x7368616430775f30, 0x9e3779b97f4a7c15];
    let start = std::time::Instant::now();
    let mut y = 0i64;
    while start.elapsed().as_secs_f64() < seconds { for k in 0..5 { y = y.wrapping_add(f0(p, k, 6)); } }
    p.magic[0] = 0;
    black_box(y);
}
"""
