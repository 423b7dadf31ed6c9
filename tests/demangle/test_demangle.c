/* test_demangle.c - full and simple names. Expected full names: the Itanium ABI and Rust RFC 2603
 * examples, c++filt and rustfilt for the rest; simple ones follow from them by the rules in
 * demangle.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "demangle/demangle.h"
#include "tests/failing_malloc.h"
#include "tests/random.h"
#include "demangle/cxx20.h"

struct row {
	const char *mangled, *full, *simple;
};

static const struct row rows[] = {
	/* C: clone suffixes stay in full names */
	{"main", "main", "main"},
	{"", "", ""},
	{"_", "_", "_"},
	{"_Z", "_Z", "_Z"},
	{"_start", "_start", "_start"},
	{"foo.isra.0", "foo.isra.0", "foo"},
	{"foo.constprop.0.isra.0", "foo.constprop.0.isra.0", "foo"},
	{"foo.cold", "foo.cold", "foo"},
	{"foo.llvm.1234567890", "foo.llvm.1234567890", "foo"},
	{".cold", ".cold", ".cold"},
	{"go.main.func1", "go.main.func1", "go.main.func1"},
	{"memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", "memcpy"},
	{"rados_shutdown@@", "rados_shutdown", "rados_shutdown"},
	{"*Array(Array(Crystal::DWARF::Row))@Array(T)#needs_resize?:Bool",
	 "*Array(Array(Crystal::DWARF::Row))@Array(T)#needs_resize?:Bool",
	 "Array(T)#needs_resize?"},
	{"*Array(Crystal::DWARF::Abbrev)@Array(T)#check_needs_resize:(Int32 | "
	 "Pointer(Crystal::DWARF::Abbrev) | Nil)",
	 "*Array(Crystal::DWARF::Abbrev)@Array(T)#check_needs_resize:(Int32 | "
	 "Pointer(Crystal::DWARF::Abbrev) | Nil)",
	 "Array(T)#check_needs_resize"},
	{"*Array(Int32)@Array(T)#<<<Int32>:Array(Int32)",
	 "*Array(Int32)@Array(T)#<<<Int32>:Array(Int32)", "Array(T)#<<"},
	{"*Array(Int32)@Array(T)#[]=<Int32, Int32>:Int32",
	 "*Array(Int32)@Array(T)#[]=<Int32, Int32>:Int32", "Array(T)#[]="},
	{"*ArgumentError::new<String>:ArgumentError", "*ArgumentError::new<String>:ArgumentError",
	 "ArgumentError::new"},
	{"*ArgumentError@Exception#callstack=<Exception::CallStack>:Exception::CallStack",
	 "*ArgumentError@Exception#callstack=<Exception::CallStack>:Exception::CallStack",
	 "Exception#callstack="},
	{"*/usr/lib/crystal/lib/raise.cr::LEBReader#read_uint8:UInt8",
	 "*/usr/lib/crystal/lib/raise.cr::LEBReader#read_uint8:UInt8",
	 "/usr/lib/crystal/lib/raise.cr::LEBReader#read_uint8"},
	{"*Geo::Sq(Int32)@Geo::Sq(T)#+<Geo::Sq(Int32)>:Geo::Sq(Int32)",
	 "*Geo::Sq(Int32)@Geo::Sq(T)#+<Geo::Sq(Int32)>:Geo::Sq(Int32)", "Geo::Sq(T)#+"},
	{"~procProc(Signal, Nil)@/usr/lib/crystal/lib/signal.cr:228",
	 "~procProc(Signal, Nil)@/usr/lib/crystal/lib/signal.cr:228",
	 "~procProc(Signal, Nil)@/usr/lib/crystal/lib/signal.cr:228"},
	{"JS:*render /app/node_modules/@scope/pkg/index.js:10:4",
	 "JS:*render /app/node_modules/@scope/pkg/index.js:10:4",
	 "JS:*render /app/node_modules/@scope/pkg/index.js:10:4"},
	{"*exit<Int32>:NoReturn", "*exit<Int32>:NoReturn", "exit"},
	{"*not_of_crystal", "*not_of_crystal", "*not_of_crystal"},
	{"puts@plt", "puts@plt", "puts@plt"},
	/* Java: JVMS 4.3 */
	{"LWork;inner(J)J", "long Work.inner(long)", "Work.inner"},
	{"Ljava/util/HashMap;resize()[Ljava/util/HashMap$Node;",
	 "java.util.HashMap$Node[] java.util.HashMap.resize()", "java.util.HashMap.resize"},
	{"La/B;f([[ILjava/lang/String;ZBCSFD)V",
	 "void a.B.f(int[][], java.lang.String, boolean, byte, char, short, float, double)",
	 "a.B.f"},
	{"Ljava/lang/Object;<init>()V", "void java.lang.Object.<init>()",
	 "java.lang.Object.<init>"},
	{"LWork;inner(J)", "LWork;inner(J)", "Work.inner"},
	{"LWork;inner(Q)J", "LWork;inner(Q)J", "Work.inner"},
	{"LWork;inner(J)JJ", "LWork;inner(J)JJ", "LWork;inner(J)JJ"},
	{"LWork;inner(LJ)J", "LWork;inner(LJ)J", "Work.inner"},
	{"LWork;(J)J", "LWork;(J)J", "LWork;(J)J"},
	{"L;f()V", "L;f()V", "L;f()V"},
	{"LWork;f([)V", "LWork;f([)V", "Work.f"},
	{"Local;", "Local;", "Local;"},
	/* .NET in perf maps */
	{"int32 [System.Private.CoreLib] "
	 "System.SpanHelpers::IndexOf(char&,char,int32)[OptimizedTier1]",
	 "int32 [System.Private.CoreLib] "
	 "System.SpanHelpers::IndexOf(char&,char,int32)[OptimizedTier1]",
	 "System.SpanHelpers::IndexOf"},
	{"void [System.Private.CoreLib] System.Threading.ThreadPoolWorkQueue::Dispatch()",
	 "void [System.Private.CoreLib] System.Threading.ThreadPoolWorkQueue::Dispatch()",
	 "System.Threading.ThreadPoolWorkQueue::Dispatch"},
	{"instance !0[] [System.Private.CoreLib] "
	 "System.Buffers.SharedArrayPool`1[System.Char]::Rent(int32)[PreJIT]",
	 "instance !0[] [System.Private.CoreLib] "
	 "System.Buffers.SharedArrayPool`1[System.Char]::Rent(int32)[PreJIT]",
	 "System.Buffers.SharedArrayPool`1[...]::Rent"},
	{"instance class [netstandard]System.Threading.Tasks.Task`1<!!0> [Some App] "
	 "N.C`2[A[],B`1[D]]::Run[E](class [netstandard]System.Func`1<!!0>)",
	 "instance class [netstandard]System.Threading.Tasks.Task`1<!!0> [Some App] "
	 "N.C`2[A[],B`1[D]]::Run[E](class [netstandard]System.Func`1<!!0>)",
	 "N.C`2[...]::Run[...]"},
	{"instance void [app] Program+<>c::<Main>b__0_0(valuetype [netstandard]System.Guid)",
	 "instance void [app] Program+<>c::<Main>b__0_0(valuetype [netstandard]System.Guid)",
	 "Program+<>c::<Main>b__0_0"},
	{"instance void [app] Program::.ctor(int32[])[Tier0]",
	 "instance void [app] Program::.ctor(int32[])[Tier0]", "Program::.ctor"},
	{"stub<7> GenerateResolveStub<a::b()>", "stub<7> GenerateResolveStub<a::b()>",
	 "stub<7> GenerateResolveStub<a::b()>"},
	{"void [app] f()", "void [app] f()", "void [app] f()"},
	{"void [app] A[B::f(", "void [app] A[B::f(", "void [app] A[B::f("},
	{"void [app] A[B::f()", "void [app] A[B::f()", "void [app] A[B::f()"},
	{"void [app] ::f()", "void [app] ::f()", "void [app] ::f()"},
	{"void [app] A::()", "void [app] A::()", "void [app] A::()"},
	/* Java in perf maps: of HotSpot and of perf-map-agent; shown as they are, cut alike */
	{"char java.lang.String.charAt(int)", "char java.lang.String.charAt(int)",
	 "java.lang.String.charAt"},
	{"java.lang.String.charAt(int)", "java.lang.String.charAt(int)", "java.lang.String.charAt"},
	{"Ljava/lang/String;::charAt", "Ljava/lang/String;::charAt", "java.lang.String.charAt"},
	{"Ljava/lang/String;::charAt(I)C", "char java.lang.String.charAt(int)",
	 "java.lang.String.charAt"},
	{"Ljava/lang/String;::charAt(String.java:12)", "Ljava/lang/String;::charAt(String.java:12)",
	 "java.lang.String.charAt"},
	{"LA;::f(LB;)[LC;->LB;::g->LC$1;::<init>", "LA;::f(LB;)[LC;->LB;::g->LC$1;::<init>",
	 "A.f->B.g->C$1.<init>"},
	{"long Java.inner(long)", "long Java.inner(long)", "Java.inner"},
	{"java.lang.Object[] a.B.toArray(java.lang.Object[], int[][])",
	 "java.lang.Object[] a.B.toArray(java.lang.Object[], int[][])", "a.B.toArray"},
	{"void a.B.<init>()", "void a.B.<init>()", "a.B.<init>"},
	/* an address is the name of a hidden class, another one in each run */
	{"java.lang.Object L$$Lambda$3/0x00007f1878001000.apply(java.lang.Object)",
	 "java.lang.Object L$$Lambda$3/0x00007f1878001000.apply(java.lang.Object)",
	 "L$$Lambda$3.apply"},
	{"LL$$Lambda$3+0x00007f1878001000;::apply", "LL$$Lambda$3+0x00007f1878001000;::apply",
	 "L$$Lambda$3.apply"},
	/* not Java: other JIT compilers, and halves */
	{"I2C/C2I adapters", "I2C/C2I adapters", "I2C/C2I adapters"},
	{"StubRoutines (1)", "StubRoutines (1)", "StubRoutines (1)"},
	{"LazyCompile:*a.b /x.js:1", "LazyCompile:*a.b /x.js:1", "LazyCompile:*a.b /x.js:1"},
	{"RegExp:a.b(c)", "RegExp:a.b(c)", "RegExp:a.b(c)"},
	{"py::f:/a.b(c)", "py::f:/a.b(c)", "py::f:/a.b(c)"},
	{"void [App] N.C::M(int32)[Tier1]", "void [App] N.C::M(int32)[Tier1]", "N.C::M"},
	{"void f(int)", "void f(int)", "void f(int)"},
	{"void a.f(int", "void a.f(int", "void a.f(int"},
	{"void a.f(int) const", "void a.f(int) const", "void a.f(int) const"},
	{"LA;::", "LA;::", "LA;::"},
	{"LA;::f->", "LA;::f->", "LA;::f->"},
	{"L;::f", "L;::f", "L;::f"},
	/* C++ */
	{"_Z3foov", "foo()", "foo"},
	{"_ZN2ns1WIiE3runEi", "ns::W<int>::run(int)", "ns::W<...>::run"},
	{"_ZN2ns1WIiE3runEi.isra.0", "ns::W<int>::run(int) [clone .isra.0]", "ns::W<...>::run"},
	{"_ZN2ns1WIiE3runEi.part.0.cold", "ns::W<int>::run(int) [clone .part.0] [clone .cold]",
	 "ns::W<...>::run"},
	{"_ZNSt6localeC1Ev@@GLIBCXX_3.4", "std::locale::locale()@@GLIBCXX_3.4",
	 "std::locale::locale"},
	{"_ZNSt6localeC1Ev@plt", "std::locale::locale()@plt", "std::locale::locale@plt"},
	{"_ZNK3Foo3barEv", "Foo::bar() const", "Foo::bar"},
	{"_ZNKR3Foo3barEv", "Foo::bar() const &", "Foo::bar"},
	{"_Z3maxIiET_S0_S0_", "int max<int>(int, int)", "max<...>"},
	{"_Z1fIiEPFivET_", "int (*f<int>(int))()", "f<...>"},
	{"_ZN12_GLOBAL__N_13bazEv", "(anonymous namespace)::baz()", "(anonymous namespace)::baz"},
	{"_ZN12_GLOBAL__N_13BarIiE3bazEv", "(anonymous namespace)::Bar<int>::baz()",
	 "(anonymous namespace)::Bar<...>::baz"},
	{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
	 "main::{lambda#1}::operator()"},
	{"_ZZN3Foo3barEvENKUlvE0_clEv", "Foo::bar()::{lambda()#2}::operator()() const",
	 "Foo::bar::{lambda#2}::operator()"},
	{"_ZThn16_N3foo3barEv", "non-virtual thunk to foo::bar()", "non-virtual thunk to foo::bar"},
	{"_ZTV3Foo", "vtable for Foo", "vtable for Foo"},
	{"_ZlsRSoRK3Foo", "operator<<(std::ostream&, Foo const&)", "operator<<"},
	{"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
	 "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
	 "<std::char_traits<char> "
	 ">(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
	 "std::operator<< <...>"},
	{"_ZN3FooltERKS_", "Foo::operator<(Foo const&)", "Foo::operator<"},
	{"_ZN3FooptEv", "Foo::operator->()", "Foo::operator->"},
	{"_ZN3FooixEi", "Foo::operator[](int)", "Foo::operator[]"},
	{"_ZN3FoocvSsEv", "Foo::operator std::string()", "Foo::operator std::string"},
	{"_ZN3FoocvSt6vectorIiSaIiEEEv", "Foo::operator std::vector<int, std::allocator<int> >()",
	 "Foo::operator std::vector<...>"},
	{"_Znwm", "operator new(unsigned long)", "operator new"},
	{"_ZdaPv", "operator delete[](void*)", "operator delete[]"},
	{"_ZN3FooD2Ev", "Foo::~Foo()", "Foo::~Foo"},
	{"_ZN3Foo3barB5cxx11Ev", "Foo::bar[abi:cxx11]()", "Foo::bar"},
	{"_Z1fIiEDTcl1gfp_EET_", "decltype (g({parm#1})) f<int>(int)", "f<...>"},
	{"_ZGVZ3foovE1x", "guard variable for foo()::x", "guard variable for foo::x"},
	{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
	 "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	 ">::append(char const*)",
	 "std::basic_string<...>::append"},
	{"_ZNSt3__16vectorIiNS_9allocatorIiEEE4pushEi",
	 "std::__1::vector<int, std::__1::allocator<int> >::push(int)", "std::vector<...>::push"},
	{"_ZNKSt9_Any_data9_M_accessIPFPKcmEEERKT_v",
	 "char const* (* const&std::_Any_data::_M_access<char const* (*)(unsigned long)>() "
	 "const)(unsigned long)",
	 "std::_Any_data::_M_access<...>"},
	{"_ZNK3FoocvMS_FvvEEv", "Foo::operator void (Foo::*)()() const",
	 "Foo::operator void (Foo::*)()"},
	{"_ZTIFbiE", "typeinfo for bool (int)", "typeinfo for bool (int)"},
	/* a comparison in a template argument is no bracket */
	{"_Z1fIiLb1EEvN9enable_ifIXltstT_Li4EEvE4typeE",
	 "void f<int, true>(enable_if<(sizeof (int))<(4), void>::type)", "f<...>"},
	/* a coroutine's body is not the function that makes the coroutine */
	{"_Z3foov.actor", "foo() [clone .actor]", "foo [clone .actor]"},
	{"foo.avx2.0", "foo.avx2.0", "foo.avx2.0"},
	{"foo.part.x", "foo.part.x", "foo.part.x"},
	{"foo.cold.func1", "foo.cold.func1", "foo.cold.func1"},
	{"foo.lto_priv.0.lto_priv.1", "foo.lto_priv.0.lto_priv.1", "foo"},
	{"foo.resolver.cold.3", "foo.resolver.cold.3", "foo.resolver"},
	/* Go: type arguments as its own traces write them; (*T) is no argument list */
	{"main.(*T[go.shape.string_0,go.shape.[]int_1]).Put",
	 "main.(*T[go.shape.string_0,go.shape.[]int_1]).Put", "main.(*T[...]).Put"},
	{"net/http.(*conn).serve", "net/http.(*conn).serve", "net/http.(*conn).serve"},
	/* D with 23 references to what stands before, of libgphobos */
	{"_D4core8internal2gc4impl12conservativeQw3Gcx__T11ToScanStackTSQCiQCgQCaQCaQByQCjQBo__"
	 "T9ScanRangeVbi0ZQpZQCf8opAssignMFNaNbNcNiNjNeSQEzQExQErQErQEpQFaQEf__TQEeTQDuZQEmZQBl",
	 "core.internal.gc.impl.conservative.gc.Gcx.ToScanStack!(core.internal.gc.impl."
	 "conservative.gc.Gcx.ScanRange!(false).ScanRange).ToScanStack.opAssign(core.internal.gc."
	 "impl.conservative.gc.Gcx.ToScanStack!(core.internal.gc.impl.conservative.gc.Gcx."
	 "ScanRange!(false).ScanRange).ToScanStack)",
	 "core.internal.gc.impl.conservative.gc.Gcx.ToScanStack!(...).ToScanStack.opAssign"},
	/* short, but long if each reference were to all that stands between */
	{"_D3std4path__T9chainPathTAaTAxaZQsFNaNbNiNfQsQrZSQBv5range__T5chainTSQCp3utf__T1"
	 "0byCodeUnitTQCpZQrFQCwZ14ByCodeUnitImplTSQEpQCu__T10OnlyResultTaZQpTSQFrQDc__TQD"
	 "bTQFeZQDjFQFmZQCtZQEnFQEkQCnQBoZ6Result",
	 "std.path.chainPath!(char[], const(char)[]).chainPath(char[], const(char)[])",
	 "std.path.chainPath!(...).chainPath"},
	/* Rust, legacy: the hash goes; .llvm. suffixes go */
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	 "core::fmt::Formatter::pad"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1234", "core::fmt::Formatter::pad",
	 "core::fmt::Formatter::pad"},
	{"_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "foo::{{closure}}",
	 "foo::{{closure}}"},
	{"_ZN99_$LT$rusty..Square$u20$as$u20$rusty..Shape$LT$T$GT$$GT$4area17h0123456789abcdefE",
	 "_ZN99_$LT$rusty..Square$u20$as$u20$rusty..Shape$LT$T$GT$$GT$4area17h0123456789abcdefE",
	 "_ZN99_$LT$rusty..Square$u20$as$u20$rusty..Shape$LT$T$GT$$GT$4area17h0123456789abcdefE"},
	{"_ZN51_$LT$rusty..Sq$u20$as$u20$rusty..Shape$LT$T$GT$$GT$4area17h0123456789abcdefE",
	 "<rusty::Sq as rusty::Shape<T>>::area", "<rusty::Sq as rusty::Shape<...>>::area"},
	/* C++ that only looks like it: not 16 digits */
	{"_ZN3foo17h0123456789abcdeEv", "_ZN3foo17h0123456789abcdeEv",
	 "_ZN3foo17h0123456789abcdeEv"},
	/* Rust, v0 */
	{"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
	{"_RNvCs1234_7mycrate3foo.llvm.123", "mycrate::foo.llvm.123", "mycrate::foo"},
	{"_RNvCs1234_7mycrate3foo.cold", "mycrate::foo.cold", "mycrate::foo"},
	{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of"},
	/* an inherent method, as the old mangling has it */
	{"_RINvMs3_NtNtCsi4IsKQVxMg0_3std2io5errorNtB6_5Error3newReEBa_",
	 "<std::io::error::Error>::new::<&str>", "std::io::error::Error::new"},
	/* prints an empty piece; found by fuzzing */
	{"_RINvNtC0stdalmm38eittttttvtttt", "_RINvNtC0stdalmm38eittttttvtttt",
	 "_RINvNtC0stdalmm38eittttttvtttt"},
	{"_RNvXCs1234_7mycrateNtB2_3FooNtB2_3Bar3baz", "<mycrate::Foo as mycrate::Bar>::baz",
	 "<mycrate::Foo as mycrate::Bar>::baz"},
	/* D */
	{"_D3foo3barFiZv", "foo.bar(int)", "foo.bar"},
	{"_D3foo3Bar3bazMxFZi", "foo.Bar.baz() const", "foo.Bar.baz"},
	{"_D3foo__T3barTiZQhFiZv", "foo.bar!(int).bar(int)", "foo.bar!(...).bar"},
	{"_Dmain", "D main", "D main"},
	/* gdc 12: clones, thunks, `return scope` as libiberty does not know it */
	{"_D3std9algorithm7sorting__T13quickSortImplS2d14mainFZ9__lambda8TAiZQBoMFNaNbNiNfQqmZv."
	 "isra.0.cold",
	 "std.algorithm.sorting.quickSortImpl!(d1.main().__lambda8, int[]).quickSortImpl(int[], "
	 "ulong) [clone .isra.0] [clone .cold]",
	 "std.algorithm.sorting.quickSortImpl!(...).quickSortImpl"},
	{"_DTi16_D4core8internal2gc4impl12conservativeQw14ConservativeGC7getAttrMFNbPvZk",
	 "thunk to core.internal.gc.impl.conservative.gc.ConservativeGC.getAttr(void*)",
	 "thunk to core.internal.gc.impl.conservative.gc.ConservativeGC.getAttr"},
	{"_D2rt8lifetime9unqualifyFNaNbNiNkMNgC8TypeInfoZNgQn",
	 "rt.lifetime.unqualify(scope return inout(TypeInfo))", "rt.lifetime.unqualify"},
	{"_DTi16_x", "_DTi16_x", "_DTi16_x"},
	/* What libiberty of binutils 2.40 does not know: written by clang 23 and gcc 16, or made
	 * from such names. Full names are those of llvm-cxxfilt 23, with the arguments in the place
	 * of T and without constraints, [abi:] of constructors, "this" and "friend". */
	{"_Z4burnITk3NumjET_S0_", "unsigned int burn<unsigned int>(unsigned int)", "burn<...>"},
	{"_Z11constrainedITk3NumfTkNSt3__19invocableIiEEZL6workerdiE3$_1EDaT_T0_",
	 "auto constrained<float, worker(double, int)::$_1>(float, worker(double, int)::$_1)",
	 "constrained<...>"},
	{"_Z8hash_allI1AQaa8HashableIT_EgtstS1_Li1EEmRKSt6vectorIS1_SaIS1_EE.__part.3",
	 "unsigned long hash_all<A>(std::vector<A, std::allocator<A> > const&) [clone .__part.3]",
	 "hash_all<...>"},
	{"_ZN1v9_IteratorILb0EEFeqERKS0_S2_Q19equality_comparableIDTcl7__"
	 "begincl7declvalIRN4condIXTL0__EE4typeIKT_S5_EEEEEEE",
	 "v::_Iterator<false>::operator==(v::_Iterator const&, v::_Iterator const)",
	 "v::_Iterator<...>::operator=="},
	{"_ZNSt3__112basic_stringIcEC2B9nqe230104I1SEERKT_RKi",
	 "std::__1::basic_string<char>::basic_string<S>(S const&, int const&)",
	 "std::basic_string<...>::basic_string<...>"},
	/* where no template arguments follow, libiberty reads the tag */
	{"_ZN3FooC1B1aB1bEi", "Foo::Foo[abi:a][abi:b](int)", "Foo::Foo"},
	{"_ZNSt3__16vectorIiED2B9nqe230104Ev", "std::__1::vector<int>::~vector[abi:nqe230104]()",
	 "std::vector<...>::~vector"},
	{"_ZNSt3__16__math5isnanB9nqe230104EUa9enable_ifILb1EEd",
	 "std::__1::__math::isnan[abi:nqe230104](double)", "std::__math::isnan"},
	{"_Z1fITkN1a1bEiEvNS0_1cE", "void f<int>(a::c)", "f<...>"},
	{"_Z1fITkN1a1bEiEvNS0_1cES1_", "void f<int>(a::c, a::c)", "f<...>"},
	{"_Z1fITnPN1a1bELS2_0EEvS1_S2_NS1_1dENS0_1dE",
	 "void f<(a::b*)0>(a::b, a::b*, a::b::d, a::d)", "f<...>"},
	{"_Z1fITnN1a1bIiEELi0EEvNS1_IcEENS2_1dES2_",
	 "void f<0>(a::b<char>, a::b<int>::d, a::b<int>)", "f<...>"},
	{"_Z1fITn1bIiELi0EEvS0_IcES1_NS1_1cE", "void f<0>(b<char>, b<int>, b<int>::c)", "f<...>"},
	{"_Z1fIiEDTsr7is_sameIT_iEE5valueES0_", "decltype (is_same<int, int>::value) f<int>(int)",
	 "f<...>"},
	{"_ZNH1S3fooES_", "S::foo(S)", "S::foo"},
	{"_Z1fDk3Num", "f(auto)", "f"},
	{"_Z1fITtTyE3FooEvT_IiE", "void f<Foo>(Foo<int>)", "f<...>"},
	{"_Z1fITpTyJicEEvDpT_", "void f<int, char>(int, char)", "f<...>"},
	{"_ZZ2f6IiEDaT_ENKUlTkN2ns1CES0_T0_E_clIiiEEDaS0_S2_QgtszfL0p0_Li0E",
	 "auto f6<int>(int)::{lambda(auto:1, auto:2)#1}::operator()<int, int>(int, int) const",
	 "f6<...>::{lambda#1}::operator()<...>"},
	{"_ZNSt3__112__tuple_implIiEC2B9nqe230104IJiEEENS_4argsEDpOT_",
	 "std::__1::__tuple_impl<int>::__tuple_impl<int>(std::__1::args, int&&)",
	 "std::__tuple_impl<...>::__tuple_impl<...>"},
	{"_Z3f10IiENSt3__19enable_ifIXsr3stdE9is_same_vIu14__remove_cvrefIT_EiEEiE4typeEOS2_",
	 "std::__1::enable_if<std::is_same_v<__remove_cvref<int>, int>, int>::type f10<int>(int&&)",
	 "f10<...>"},
	{"_Z1fIiEvu14__remove_cvrefIT_ES1_",
	 "void f<int>(__remove_cvref<int>, __remove_cvref<int>)", "f<...>"},
	{"_ZNSt3__111__formatter16__format_integerB9nqe230104ITkNS_17unsigned_integralEjcNS_"
	 "20basic_format_contextINS_20back_insert_iteratorINS_8__format15__output_"
	 "bufferIcEEEEcEEEENT1_8iteratorET_RS9_NS_13__format_spec23__parsed_specificationsIT0_EEb",
	 "std::__1::basic_format_context<std::__1::back_insert_iterator<std::__1::__format::__"
	 "output_buffer<char> >, char>::iterator "
	 "std::__1::__formatter::__format_integer[abi:nqe230104]<unsigned int, char, "
	 "std::__1::basic_format_context<std::__1::back_insert_iterator<std::__1::__format::__"
	 "output_buffer<char> >, char> >(unsigned int, "
	 "std::__1::basic_format_context<std::__1::back_insert_iterator<std::__1::__format::__"
	 "output_buffer<char> >, char>&, std::__1::__format_spec::__parsed_specifications<char>, "
	 "bool)",
	 "std::__formatter::__format_integer<...>"},
	{"_Z2f1IiQoorQT__Q8integralIS0_EXcldtfp_3fooEE1CIS0_EEN2ns3tagIS0_EES0_S3_",
	 "ns::tag<int> f1<int>(int, ns::tag<int>)", "f1<...>"},
	{"_Z2f1IiQoorQT__Qsr3stdE8integralIS0_EXcldtfL0p_3fooEEsr2nsE1CIS0_EEN2ns3tagIS0_EES0_S3_",
	 "ns::tag<int> f1<int>(int, ns::tag<int>)", "f1<...>"},
	{"_Z2f8IiEvT_Qoosr3stdE9is_same_vIS0_iErqTNS0_4typeEXsrS0_5valueXstS0_Xnw_S0_piLi1EEXptfp_"
	 "1xXixfp_Li0EXsclfp_Xngfp_Xqufp_Li1ELi2EE",
	 "void f8<int>(int)", "f8<...>"},
	/* mold */
	{"_ZNSt6localeD1Ev$plt", "std::locale::~locale()$plt", "std::locale::~locale$plt"},
	{"memcpy$pltgot", "memcpy$pltgot", "memcpy$pltgot"},
};

static const struct name_style full = {0}, none = {.demangle = SYM_DEMANGLE_NONE},
			       simple = {.demangle = SYM_DEMANGLE_SIMPLE, .fold_clones = true};

static void full_and_simple_names(void **unused)
{
	struct demangler d = {0};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];

		assert_string_equal(demangle(&d, r->mangled, &full), r->full);
		assert_string_equal(demangle(&d, r->mangled, &simple), r->simple);
		assert_ptr_equal(demangle(&d, r->mangled, &none), r->mangled);
	}
	demangler_done(&d);
}

/* Symbols of real programs: OCaml 4.13.1 (ocamlopt of a module M with a functor, an operator and a
 * class) and its library; the dots as OCaml 5.1's release notes have them; GHC 9.0.2 (ghc -O1 of
 * modules Main and Work.Deep) and its base, picked from nm's output for each escape. */
static void names_of_one_compiler(void **unused)
{
	static const struct {
		enum name_compiler compiler;
		struct row row;
	} v[] = {
		{COMPILER_OCAML,
		 {"camlStdlib__List__sort_572", "Stdlib.List.sort_572", "Stdlib.List.sort"}},
		{COMPILER_OCAML, {"camlM__$2b$2b$2b_83", "M.+++_83", "M.+++"}},
		{COMPILER_OCAML, {"camlM__fun_325", "M.fun_325", "M.fun_325"}},
		{COMPILER_OCAML, {"camlM___private_83", "M._private_83", "M._private"}},
		{COMPILER_OCAML, {"camlM__entry", "M.entry", "M.entry"}},
		{COMPILER_OCAML,
		 {"camlStdlib__List.sort_572", "Stdlib.List.sort_572", "Stdlib.List.sort"}},
		{COMPILER_OCAML, {"camlM.a__b_12", "M.a__b_12", "M.a__b"}},
		{COMPILER_OCAML, {"camlM.fun_123", "M.fun_123", "M.fun_123"}},
		{COMPILER_OCAML, {"caml_call_gc", "caml_call_gc", "caml_call_gc"}},
		{COMPILER_OCAML, {"camlM__$zz_1", "M.$zz_1", "M.$zz"}},
		{COMPILER_OCAML, {"main", "main", "main"}},
		{COMPILER_GHC,
		 {"WorkziDeep_zdwspin_info", "Work.Deep_$wspin_info", "Work.Deep.$wspin"}},
		{COMPILER_GHC, {"WorkziDeep_zpzpzp_info", "Work.Deep_+++_info", "Work.Deep.+++"}},
		{COMPILER_GHC,
		 {"WorkziDeep_heapzusum_info", "Work.Deep_heap_sum_info", "Work.Deep.heap_sum"}},
		{COMPILER_GHC,
		 {"WorkziDeep_Squarezq_con_info", "Work.Deep_Square'_con_info",
		  "Work.Deep.Square'"}},
		{COMPILER_GHC,
		 {"base_GHCziEventziManager_zdwstep_slow", "base_GHC.Event.Manager_$wstep_slow",
		  "GHC.Event.Manager.$wstep"}},
		{COMPILER_GHC,
		 {"containerszm0zi6zi4zi1_DataziMapziInternal_linkzuzdsinsertMax_slow",
		  "containers-0.6.4.1_Data.Map.Internal_link_$sinsertMax_slow",
		  "Data.Map.Internal.link_$sinsertMax"}},
		{COMPILER_GHC,
		 {"base_GHCziShow_zdfShowZLz2cUZRzuzdsgo1_info",
		  "base_GHC.Show_$fShow(,)_$sgo1_info", "GHC.Show.$fShow(,)_$sgo1"}},
		{COMPILER_GHC,
		 {"ghczmprim_GHCziTuple_Z3T_con_info", "ghc-prim_GHC.Tuple_(,,)_con_info",
		  "GHC.Tuple.(,,)"}},
		{COMPILER_GHC,
		 {"ghczmprim_GHCziTuple_Z0T_con_info", "ghc-prim_GHC.Tuple_()_con_info",
		  "GHC.Tuple.()"}},
		{COMPILER_GHC,
		 {"base_GHCziReal_divZZeroError_info", "base_GHC.Real_divZeroError_info",
		  "GHC.Real.divZeroError"}},
		{COMPILER_GHC,
		 {"base_GHCziExceptionziType_CZCException_con_info",
		  "base_GHC.Exception.Type_C:Exception_con_info",
		  "GHC.Exception.Type.C:Exception"}},
		{COMPILER_GHC, {"Main_main1_info", "Main_main1_info", "Main.main1"}},
		/* the runtime's, which is C */
		{COMPILER_GHC, {"resizzeNursery", "resizzeNursery", "resizzeNursery"}},
		{COMPILER_GHC, {"resizeNursery_info", "resizeNursery_info", "resizeNursery_info"}},
		{COMPILER_GHC, {"M_z9_info", "M_z9_info", "M_z9_info"}},
		/* elsewhere these are C functions */
		{COMPILER_OTHER, {"camlM__fun_325", "camlM__fun_325", "camlM__fun_325"}},
		{COMPILER_OTHER, {"Work_zdwspin_info", "Work_zdwspin_info", "Work_zdwspin_info"}},
	};
	struct demangler d = {0};
	struct name_style f = full, s = simple;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof v / sizeof *v; i++) {
		f.compiler = s.compiler = v[i].compiler;
		assert_string_equal(demangle(&d, v[i].row.mangled, &f), v[i].row.full);
		assert_string_equal(demangle(&d, v[i].row.mangled, &s), v[i].row.simple);
	}
	demangler_done(&d);
}

/* Levels of template arguments, with and without what else simple names leave out. */
static void template_depth(void **unused)
{
	static const char name[] = "_ZN2ns1AI1BI1CIiEEE1fI1DIcEEEvT_.isra.0";
	static const struct {
		struct name_style style;
		const char *text;
	} styles[] = {
		{{SYM_DEMANGLE_FULL, false, true, 0},
		 "void ns::A<...>::f<...>(D<...>) [clone .isra.0]"},
		{{SYM_DEMANGLE_FULL, true, true, 1}, "void ns::A<B<...> >::f<D<...> >(D<char>)"},
		{{SYM_DEMANGLE_FULL, true, true, 9},
		 "void ns::A<B<C<int> > >::f<D<char> >(D<char>)"},
		{{SYM_DEMANGLE_SIMPLE, true, true, 2}, "ns::A<B<C<...> > >::f<D<char> >"},
		{{SYM_DEMANGLE_SIMPLE, false, false, 0}, "ns::A<...>::f<...> [clone .isra.0]"},
		{{SYM_DEMANGLE_NONE, true, true, 1}, "_ZN2ns1AI1BI1CIiEEE1fI1DIcEEEvT_"},
	};
	struct demangler d = {0};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof styles / sizeof *styles; i++)
		assert_string_equal(demangle(&d, name, &styles[i].style), styles[i].text);
	demangler_done(&d);
}

/* Names put together from DWARF have template arguments, but neither arguments nor suffixes. */
static void readable_names(void **unused)
{
	static const struct name_style one = {SYM_DEMANGLE_FULL, false, true, 1};
	struct demangler d = {0};
	const char *name = "ns::leaf<W<int> >::operator<";

	(void)unused;
	assert_ptr_equal(restyle(&d, name, &full), name);
	assert_ptr_equal(restyle(&d, name, &none), name);
	assert_string_equal(restyle(&d, name, &simple), "ns::leaf<...>::operator<");
	assert_string_equal(restyle(&d, name, &one), "ns::leaf<W<...> >::operator<");
	assert_string_equal(restyle(&d, "main.Map[go.shape.int]", &simple), "main.Map[...]");
	name = "a<b"; /* of no known shape */
	assert_ptr_equal(restyle(&d, name, &simple), name);
	demangler_done(&d);
}

#ifndef SANITIZED

/* Each allocation fails once: the name is as ever, or the caller learns of it. */
static void out_of_memory(void **unused)
{
	static const char *const names[] = {"_ZN2ns1AI1BI1CIiEEE1fI1DIcEEEvT_.isra.0",
					    "_ZN2ns1AI1BI1CIiEEE1fITk3Num1DIcEEEvT_.isra.0"};
	long failures = 0, n = 0;
	bool was_needed;

	(void)unused;
	for (size_t i = 0; i < sizeof names / sizeof *names; n++, failures++) {
		struct demangler d = {0};
		const char *text;

		allocations_left = n;
		text = demangle(&d, names[i], &simple);
		was_needed = allocations_left < 0;
		allocations_left = -1;
		assert_int_equal(demangler_is_out_of_memory(&d), was_needed);
		if (!was_needed)
			assert_string_equal(text, "ns::A<...>::f<...>");
		demangler_done(&d);
		if (!was_needed) {
			i++;
			n = -1;
		}
	}
	assert_true(failures >= 2 + 4);
}

#endif

/* Substitution k as it is spelled. */
static void add_substitution(char *to, unsigned k)
{
	if (!k)
		strcat(to, "S_");
	else if (--k < 36)
		sprintf(to + strlen(to), "S%c_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[k]);
	else
		sprintf(to + strlen(to), "S1%c_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[k - 36]);
}

/* f(A<A<..>, A<..>>...): each argument is used twice in the next. libiberty alone takes twice as
 * long for each level: hours for the 40th. */
static void exponential_names(void **state)
{
	struct demangler d = {0};
	struct name_style style = {0};
	unsigned level, k;

	(void)state;
	for (level = 10; level <= 60; level += 10) {
		char name[1024] = "_Z1fDp1A";

		for (k = 0; k < level; k++)
			strcat(name, "IS_");
		strcat(name, "IiiE");
		for (k = 1; k <= level; k++) {
			add_substitution(name, k);
			strcat(name, "E");
		}
		assert_non_null(demangle(&d, name, &style));
	}
	demangler_done(&d);
}

/* Every substitution is a pair of the one before: 2^30 components. Must be given up, and soon. */
static void exponential_names_stay_mangled(void **unused)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct demangler d = {0};
	char name[4096], some[256], *p = name;
	unsigned i;

	(void)unused;
	p += sprintf(p, "_Z1fSt4pairI1AS0_E"); /* S_ is pair, S0_ A, S1_ pair<A, A> */
	for (i = 1; i < 30; i++)
		p += sprintf(p, "S_IS%c_S%c_E", digits[i], digits[i]);
	assert_ptr_equal(demangle(&d, name, &full), name);
	assert_string_equal(demangle(&d, name, &simple), name);

	/* The same in Rust's v0: pairs of back references, counted from behind "_R" */
	p = name + sprintf(name, "_RIC1aTmmE");
	for (i = 0; i < 30; i++) {
		static const char base62[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		unsigned at = (unsigned)(strrchr(name, 'T') - name) - 2 - 1, n = 0;
		char ref[8];

		if (at >= 62)
			ref[n++] = base62[at / 62];
		ref[n++] = base62[at % 62];
		ref[n] = 0;
		p += sprintf(p, "TB%s_B%s_E", ref, ref);
	}
	strcpy(p, "E");
	assert_ptr_equal(demangle(&d, name, &full), name);

	/* In D: arrays from the array before to the array before; Q counts backwards from itself */
	p = name + sprintf(name, "_D1aFHii");
	for (i = 0; i < 60; i++) {
		const char *last = strrchr(name, 'H');

		p += sprintf(p, "H");
		for (unsigned k = 0; k < 2; k++) {
			unsigned n = (unsigned)(p - last);

			assert_true(n < 26);
			p += sprintf(p, "Q%c", 'a' + n);
		}
		if (i == 3)
			assert_ptr_not_equal(demangle(&d, strcat(strcpy(some, name), "Zi"), &full),
					     some);
	}
	strcpy(p, "Zi");
	assert_ptr_equal(demangle(&d, name, &full), name);
	demangler_done(&d);
}

/* Deep nesting of every construct that recurses: no stack overflow on a small thread stack's worth.
 */
static void deep_names_do_not_overflow(void **unused)
{
	static const char *const parts[] = {"P",  "1AI", "Z", "ng", "F",   "Dp", "K", "R",
					    "T_", "A1_", "N", "S",  "St",  "Ul", "X", "L",
					    "J",  "(",	 "H", "Q",  "TB_", "B_"};
	static const char *const heads[] = {"_Z1f",	  "_ZZ",  "_Z1fIX", "_R",
					    "_RINvC1a1b", "_D1a", "_ZN"};
	struct demangler d = {0};
	size_t h, i, n;

	(void)unused;
	for (h = 0; h < sizeof heads / sizeof *heads; h++)
		for (i = 0; i < sizeof parts / sizeof *parts; i++) {
			static const size_t sizes[] = {10, 1000, 4000, 100000};

			for (n = 0; n < sizeof sizes / sizeof *sizes; n++) {
				char *name = malloc(sizes[n] + 32), *p = name;

				p += sprintf(p, "%s", heads[h]);
				while ((size_t)(p - name) < sizes[n])
					p += sprintf(p, "%s", parts[i]);
				strcpy(p, "i");
				(void)demangle(&d, name, &full);
				(void)demangle(&d, name, &simple);
				free(name);
			}
		}
	demangler_done(&d);
}

/* Whatever is read with the grammar of the newest names is the same function, also in those that
 * libiberty knows. */
static void cxx20_spellings(void **unused)
{
	struct demangler d = {0};
	struct namebuf out = {0};
	size_t i, n = 0;

	(void)unused;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		out.len = 0;
		out.failed = false;
		if (strncmp(rows[i].mangled, "_Z", 2) || !cxx20_name(&out, rows[i].mangled))
			continue;
		n++;
		assert_string_equal(demangle(&d, out.s, &full), rows[i].full);
	}
	assert_true(n >= 55);
	namebuf_done(&out);
	demangler_done(&d);
}

/* Names that end within what has two letters or more: nothing behind their end is read. */
static void cut_names(void **unused)
{
	static const char *const names[] = {"_ZG", "_ZGT", "_Z1fIXfl", "_Z1fIXflp", "_ZZiED"};
	static const char behind[] = "1fvEE1fvEvT_EEvv";
	struct namebuf out = {0};
	char text[64];

	(void)unused;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (size_t k = 0; k < sizeof behind; k++) {
			memcpy(stpcpy(text, names[i]) + 1, behind + k, sizeof behind - k);
			out.len = 0;
			out.failed = false;
			assert_false(cxx20_name(&out, text));
			assert_int_equal(strlen(out.s), out.len);
		}
	namebuf_done(&out);
}

/* clang's sr in the arguments of another, and so on. What is in it must not be read twice for each
 * of them: 2^60 steps are refused. */
static void levels_in_levels(void **unused)
{
	char name[4096], *p = name + sprintf(name, "_Z1fIiE");
	struct namebuf out = {0};
	unsigned i;

	(void)unused;
	p += sprintf(p, "v1AIX");
	for (i = 0; i < 60; i++)
		p += sprintf(p, "sr1aIX");
	p += sprintf(p, "Li0E");
	for (i = 0; i < 60; i++)
		p += sprintf(p, "EEE1b");
	strcpy(p, "EE");
	assert_true(cxx20_name(&out, name));
	namebuf_done(&out);
}

/* Mutations of good names: whatever comes out is a string, and the memory checkers watch. */
static void mutated_names(void **unused)
{
	uint64_t state = 99;
	struct demangler d = {0};
	unsigned round;

	(void)unused;
	for (round = 0; round < 60000; round++) {
		const char *from = rows[round % (sizeof rows / sizeof *rows)].mangled;
		char name[512];
		size_t n = strlen(from), m;

		if (n < 3)
			continue;
		memcpy(name, from, n + 1);
		for (m = 0; m < 1 + round % 3; m++) {
			next_random(&state);
			name[2 + state % (n - 2)] = from[(state >> 20) % n];
		}
		assert_non_null(demangle(&d, name, &full));
		assert_non_null(demangle(&d, name, &simple));
	}
	demangler_done(&d);
}

/* simplify_name() on text of any shape. */
static void simplify_takes_anything(void **unused)
{
	static const char alphabet[] = "a<>()[]{}:: operator,&*-!#";
	uint64_t state = 5;
	unsigned round;

	(void)unused;
	for (round = 0; round < 60000; round++) {
		struct namebuf out = {0};
		char s[64];
		unsigned n = round % 60, i;

		for (i = 0; i < n; i++) {
			next_random(&state);
			s[i] = alphabet[state % (sizeof alphabet - 1)];
		}
		s[n] = 0;
		simplify_name(&out, s, (enum mangling)(1 + round % 3), round % 4);
		assert_true(out.len <= 5 * (size_t)n + 8);
		namebuf_done(&out);
	}
}

#ifndef SANITIZED
/* Nested as deep as it is long, on a stack of 512 KiB (ulimit -s 512), which threads get, too. */
static void small_stacks(void **state)
{
	const struct rlimit small = {.rlim_cur = 512 << 10, .rlim_max = 512 << 10};
	struct name_style style = {0};
	struct demangler d = {0};
	char name[4200] = "_Z1f";
	size_t length;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_STACK, &small))
			_exit(1);
		for (length = 4; length < 4100; length += 64) {
			memset(name + 4, 'P', length - 4);
			strcpy(name + length, "i");
			if (length < 900 && demangle(&d, name, &style) == name)
				_exit(2);
			demangle(&d, name, &style);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_and_simple_names),
		cmocka_unit_test(names_of_one_compiler),
		cmocka_unit_test(template_depth),
		cmocka_unit_test(readable_names),
		cmocka_unit_test(exponential_names_stay_mangled),
		cmocka_unit_test(exponential_names),
		cmocka_unit_test(deep_names_do_not_overflow),
		cmocka_unit_test(cxx20_spellings),
		cmocka_unit_test(cut_names),
		cmocka_unit_test(levels_in_levels),
		cmocka_unit_test(mutated_names),
		cmocka_unit_test(simplify_takes_anything),
#ifndef SANITIZED
		cmocka_unit_test(out_of_memory),
		cmocka_unit_test(small_stacks),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
