// rusty.rs - Rust: generics, closures, trait objects, a thread, a caught panic.
// Usage: rusty SECONDS (of CPU time, both threads together)
use std::arch::asm;

/// std::hint::black_box came with Rust 1.66, Debian 12 has 1.63.
#[inline(always)]
fn black_box<T>(x: T) -> T {
    unsafe { asm!("/* {0} */", in(reg) &x, options(nostack, preserves_flags)) };
    x
}

trait Shape {
    fn area(&self, n: u64) -> u64;
}
struct Square;
struct Circle;

#[inline(never)]
fn spin(n: u64) -> u64 {
    let mut x = 0u64;
    for i in 0..n {
        x = black_box(x.wrapping_add(i * i));
    }
    x
}
impl Shape for Square {
    #[inline(never)]
    fn area(&self, n: u64) -> u64 {
        spin(n) + 1
    }
}
impl Shape for Circle {
    #[inline(never)]
    fn area(&self, n: u64) -> u64 {
        spin(n) + 2
    }
}

#[inline(never)]
fn generic_sum<T: Copy + Into<u64>>(v: &[T]) -> u64 {
    let s = v.iter().map(|&x| x.into()).fold(0u64, |a, b| a.wrapping_add(b));
    black_box(s) + spin(5000)
}

extern "C" {
    fn clock() -> i64;
}

/// CPU time in microseconds (POSIX: CLOCKS_PER_SEC is a million).
fn used() -> i64 {
    unsafe { clock() }
}

#[inline(never)]
fn work(end: i64) -> u64 {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square), Box::new(Circle)];
    let v: Vec<u32> = (0..500).collect();
    let mut total = 0u64;
    while used() < end {
        for s in &shapes {
            total = total.wrapping_add(s.area(20000));
        }
        total = total.wrapping_add(generic_sum(&v));
    }
    black_box(total)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let end = used() + (seconds * 1e6) as i64;
    let t = std::thread::spawn(move || work(end));
    let r = std::panic::catch_unwind(|| {
        if work(end) == 1 {
            panic!("never");
        }
    });
    black_box((t.join().unwrap(), r.is_ok()));
}
