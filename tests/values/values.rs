// The same for Rust: integers, slices, enumerations, structures, references.
use std::hint::black_box;
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Point {
    x: i32,
    y: i64,
}
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    One = 1,
    Two = 2,
}
#[inline(never)]
fn f_leaf(
    a: i32,
    b: u64,
    k: Kind,
) -> i64 {
    let t = black_box(a as i64) + b as i64;
    t + k as i64
}
#[inline(never)]
fn f_point(p: Point, q: &Point, yes: bool) -> i64 {
    let r = f_leaf(p.x, q.y as u64, if yes { Kind::Two } else { Kind::One });
    r + black_box(p.y)
}
#[inline(never)]
fn f_recursive(n: u16, more: i16) -> i64 {
    if n == 0 {
        return f_point(Point { x: 1, y: 2 }, &Point { x: 3, y: 4 }, true);
    }
    let r = f_recursive(n - 1, more + 1);
    black_box(r) + more as i64
}
#[no_mangle]
#[inline(never)]
pub extern "C" fn everything(argc: i32) -> i64 {
    let mut t = 0;
    for i in 0..3 {
        t += f_recursive(i, argc as i16) + f_leaf(argc, i as u64, Kind::One);
    }
    black_box(t)
}
fn main() {
    println!("{}", everything(std::env::args().count() as i32));
}
