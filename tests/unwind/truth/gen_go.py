"""gen_go.py - Go programs whose functions record themselves in a block on their goroutine's stack (shadow.h), alone and with C."""
import random

HEAD = """package main

import (
	"os"
	"reflect"
	"sort"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

type entry struct{ function, site uint64 }
type shadow struct {
	magic [2]uint64
	n     uint64
	path  [200]entry
}

var sink [64]int
var starts [256]uint64
var seconds float64

// By its address: what is called through an interface would move the block to the heap. The stack is large enough before, and
// is not moved (GODEBUG=gcshrinkstackoff=1).
//go:noinline
func enter(a uintptr, i int) {
	s := (*shadow)(unsafe.Pointer(a))
	s.path[s.n].function = starts[i]
	s.path[s.n].site = 0
	s.n++
}

func leave(a uintptr) { (*shadow)(unsafe.Pointer(a)).n-- }

// In parts: newer compilers (Go 1.27) put larger variables than 128 KiB on the heap.
//go:noinline
func grow(n int) byte { var a [100000]byte; a[seed()] = 1; if n > 0 { a[0] = grow(n - 1) }; return a[seed()+1] }

//go:noinline
func seed() int { return len(os.Args) }

//go:noinline
func begin(s *shadow) { s.n = 0; s.magic[1] = 0x9e3779b97f4a7c15; s.magic[0] = 0x7368616430775f30 }

//go:noinline
func end(s *shadow) { s.magic[0] = 0 }

type caller interface{ call(s uintptr, x, d int) int }
"""
BODIES = [
    "for k := 0; k < {r}; k++ {{ y += k * x }}",
    "var a [{r}]int; for k := range a {{ a[k] = x + k }}; y += a[x & 7]",
    "m := map[int]int{{}}; for k := 0; k < {r} % 40; k++ {{ m[k] = k }}; y += m[3]",
    "t := \"\"; for k := 0; k < {r} % 20; k++ {{ t += strconv.Itoa(k) }}; y += len(t)",
    "b := make([]byte, {r} * 8); for k := range b {{ b[k] = byte(x) }}; y += int(b[0])",
    "switch x & 7 {{ case 0: y += 3; case 1: y *= 5; case 2: y ^= 7; case 3: y -= 2; case 4: y += 9; default: y++ }}",
]
CALLS = ["y += f{t}(s, x + 1, d - 1)", "y += table[{t}](s, x ^ 3, d - 1)", "y += i{t}.call(s, x, d - 1)",
         "y += func() int {{ defer leaveNothing(); return f{t}(s, x, d - 1) }}()",
         "v := []int{{5, 2, x, 9}}; sort.Slice(v, func(a, b int) bool {{ return v[a] < v[b] }}); y += v[0] + f{t}(s, x, d - 1)",
         "y += f{t}(s, x, d - 1) - f{t}(s, x + 7, d - 1)"]
MAIN = """
func leaveNothing() {}

func run() {
	sink[1] += int(grow(1))
	var s shadow
	begin(&s)
	a := uintptr(unsafe.Pointer(&s))
	for e := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(e); {
		for k := 0; k < 5; k++ {
			sink[0] += f0(a, k, 6)
		}
	}
	end(&s)
}

func main() {
	var w sync.WaitGroup
	for i, f := range table {
		starts[i] = uint64(reflect.ValueOf(f).Pointer())
	}
	seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	for k := 0; k < 3; k++ {
		w.Add(1)
		go func() { run(); w.Done() }()
	}
	w.Wait()
}
"""


def program(seed, n):
    rng = random.Random(seed)
    out = HEAD
    for i in range(n + 1):
        body = "; ".join(b.format(r=rng.randint(8, 300)) for b in rng.sample(BODIES, rng.randint(1, 3)))
        calls = [rng.choice(CALLS).format(t=rng.randint(i + 1, n)) for _ in range(rng.randint(1, 2))] if i < n else []
        # what one call declares is none of the next
        calls = "; ".join("{ " + c + " }" for c in calls)
        out += f"""
type t{i} struct{{}}
var i{i} caller = t{i}{{}}
func (t{i}) call(s uintptr, x, d int) int {{ return f{i}(s, x, d) }}

//go:noinline
func f{i}(s uintptr, x, d int) int {{
	enter(s, {i})
	y := x
	{body}
	if d > 0 {{ {calls} }}
	sink[{i} & 63] += y
	leave(s)
	return y
}}
"""
    out += "var table []func(uintptr, int, int) int\nfunc init() { table = []func(uintptr, int, int) int{" + ", ".join(f"f{i}" for i in range(n + 1)) + "} }\n"
    return out + MAIN


WITH_C = """package main

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
struct shadow { uint64_t magic[2], n; struct { uint64_t function, site; } path[200]; };
static __thread struct shadow *shadow;
static volatile unsigned long sink;
extern int callback(int);
#define OWN __attribute__((noinline))
#define ENTER(f) do { uint64_t n = shadow->n; shadow->path[n].function = (uint64_t)f; \\
	shadow->path[n].site = (uint64_t)__builtin_return_address(0); __asm__ volatile("" ::: "memory"); shadow->n++; \\
	__asm__ volatile("" ::: "memory"); } while (0)
#define LEAVE() do { __asm__ volatile("" ::: "memory"); shadow->n--; __asm__ volatile("" ::: "memory"); } while (0)
OWN static void f100(void) { ENTER(f100); for (int i = 0; i < 20000; i++) sink += i; LEAVE(); }
OWN static int f101(int n) { ENTER(f101); f100(); int r = callback(n); f100(); LEAVE(); return r; }
OWN static int f102(int n) { ENTER(f102); int r = f101(n) + 1; LEAVE(); return r; }
static int entry(int n)
{
	struct shadow s, *old = shadow;
	int r;

	s.n = 0;
	s.magic[1] = 0x9e3779b97f4a7c15;
	s.magic[0] = 0x7368616430775f30;
	shadow = &s;
	__asm__ volatile("" :: "r"(&s) : "memory");
	r = f102(n);
	*(volatile uint64_t *)&s.magic[0] = 0;
	shadow = old;
	return r;
}
*/
import "C"

import (
	"os"
	"reflect"
	"strconv"
	"time"
)

type entry struct{ function, site uint64 }
type shadow struct {
	magic [2]uint64
	n     uint64
	path  [40]entry
}

var sink int
var starts [8]uint64

//go:noinline
func enter(s *shadow, i int, site uint64) { s.path[s.n].function = starts[i]; s.path[s.n].site = site; s.n++ }

func leave(s *shadow) { s.n-- }

//go:noinline
func begin(s *shadow) { s.n = 0; s.magic[1] = 0x9e3779b97f4a7c15; s.magic[0] = 0x7368616430775f30 }

//go:noinline
func end(s *shadow) { s.magic[0] = 0 }

//go:noinline
func f0(s *shadow, n int) {
	enter(s, 0, 0)
	for i := 0; i < 20000; i++ {
		sink += i * n
	}
	leave(s)
}

//go:noinline
func f1(s *shadow, n int) int {
	enter(s, 1, 0)
	f0(s, n)
	r := int(C.entry(C.int(n))) + 1
	leave(s)
	return r
}

//go:noinline
func f2(s *shadow, n int, site uint64) int {
	enter(s, 2, site)
	r := 1
	f0(s, n)
	if n > 0 {
		r = f1(s, n-1)
	}
	leave(s)
	return r
}

//export callback
func callback(n C.int) C.int {
	var s shadow
	begin(&s)
	r := f2(&s, int(n), 1)
	end(&s)
	return C.int(r)
}

func main() {
	starts[0], starts[1] = uint64(reflect.ValueOf(f0).Pointer()), uint64(reflect.ValueOf(f1).Pointer())
	starts[2] = uint64(reflect.ValueOf(f2).Pointer())
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	var s shadow
	begin(&s)
	for e := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(e); {
		sink += f2(&s, 3, 1)
	}
	end(&s)
}
"""


def with_c():
    return WITH_C
