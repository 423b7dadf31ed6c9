// chain.rs - Rust: modules, methods, closures, generics, inlined. Marks as in mark.h.
use std::arch::asm;
use std::sync::atomic::{AtomicUsize, Ordering};

static SINK: AtomicUsize = AtomicUsize::new(0);

macro_rules! mark {
    ($n:literal) => {
        SINK.fetch_add(1, Ordering::SeqCst);
        unsafe { asm!("2:", "nop", ".pushsection .debug_marks,\"\"", ".quad 2b", concat!(".quad ", $n), ".popsection") }; //@mark
        SINK.fetch_add(1, Ordering::SeqCst);
    };
}

mod outer {
    use super::*;

    #[inline(always)]
    pub fn leaf<T>(x: T) -> T {
        mark!(1); //= 1: chain::outer::leaf @mark <- chain::outer::mid @mid-leaf <- chain::top @top-mid
        x
    }

    #[inline(always)]
    pub fn mid(x: usize) -> usize {
        leaf(x) + 1 //@mid-leaf
    }

    pub struct Thing(pub usize);

    impl Thing {
        #[inline(never)]
        pub fn method(&self) -> usize {
            mark!(2); //= 2: chain::outer::Thing::method @mark
            self.0
        }
    }
}

#[inline(never)]
fn top(x: usize) -> usize {
    outer::mid(x) //@top-mid
}

#[inline(always)]
fn apply<F: Fn(usize) -> usize>(f: F, x: usize) -> usize {
    f(x) //@apply-f
}

#[inline(never)]
fn uses_closure(x: usize) -> usize {
    let f = |y: usize| {
        mark!(3); //= 3: chain::uses_closure::{closure} @mark <- chain::apply @apply-f <- chain::uses_closure @apply-closure
        x + y
    };
    apply(f, x) //@apply-closure
}

fn main() {
    let n = std::env::args().count();
    let t = outer::Thing(top(n));
    println!("{}", t.method() + uses_closure(n) + SINK.load(Ordering::SeqCst));
}
