#!/usr/bin/env python3
"""DWARF written byte by byte: every form, and rare but legal structures; then damage.

A case asks tool_dwarf for addresses and compares with what the bytes mean by the DWARF 5 standard (sections
are named in the cases)."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/dwarf/sources"))
sys.dont_write_bytecode = True
from dwarf_asm import *  # noqa: E402,F403


# ---- forms (DWARF5 7.5.6) ----------------------------------------------------------------------


@case
def constant_forms():
    """DW_AT_call_line in every constant form."""
    f = File()
    forms = [("data1", 200), ("data2", 60000), ("data4", 70000), ("data8", 80000), ("udata", 90000), ("sdata", 50),
             ("implicit", 123456), ("indirect", ("data2", 777)), ("indirect", ("udata", 888888))]
    origin = Die(SUB, (NAME, "string", "inner"))
    kids = [Die(INL, (ORIGIN, "ref4", origin), (LOW, "addr", CODE + i * 16), (HIGH, "data4", 16),
                (CALL_LINE, form, value)) for i, (form, value) in enumerate(forms)]
    f.add(cu(origin, fn("outer", CODE, 0x1000, kids=kids)))
    got = ask(f.elf(), [CODE + i * 16 for i in range(len(forms))])[0]
    equal([(g[0][0], g[1][0], int(g[1][2])) for g in got.values()],
          [("inner", "outer", v[1] if isinstance(v, tuple) else v) for _, v in forms])


@case
def skipped_forms():
    """Every form stands before what is wanted, in a DIE that is read and in one that is passed over."""
    f = File()
    junk = [(0x2100 + i, form, value) for i, (form, value) in enumerate([
        ("block1", b"xyz"), ("block2", b"x" * 300), ("block4", b"x" * 70000), ("block", b"x" * 200), ("exprloc", b"abc"),
        ("data16", b"0" * 16), ("flag", 1), ("flag_present", 1), ("ref_sig8", 1), ("sdata", -5), ("udata", 1 << 40),
        ("string", "text"), ("strp", 0), ("line_strp", 0), ("strx", 1), ("strx3", 1), ("addrx", 1), ("addrx3", 1),
        ("rnglistx", 1), ("ref8", 1), ("ref_udata", 5), ("implicit", -7), ("addrx_offset", (1, 5)), ("sec_offset", 3),
        ("indirect", ("block1", b"zz")), ("indirect", ("data16", b"1" * 16)), ("indirect", ("flag_present", 1))])]
    f.add(cu(Die(0x34, *junk), Die(0x34, *junk, kids=[Die(5, *junk)]),
             Die(SUB, *junk, (NAME, "string", "f"), (LOW, "addr", CODE), (HIGH, "udata", 64))))
    equal(names(f.elf(), [CODE, CODE + 63, CODE + 64]), [["f"], ["f"], []])


@case
def string_forms():
    f = File()
    offs = [f.string(f"s{i}") for i in range(300)]
    f.string("line string", "line_str")
    f.sec["str_offsets"] = struct.pack("<IHH", 4 + 4 * 300, 5, 0) + b"".join(struct.pack("<I", o) for o in offs)
    forms = [("string", "direct"), ("strp", offs[7]), ("line_strp", 0), ("strx", 200), ("strx1", 1), ("strx2", 299),
             ("strx3", 3), ("strx4", 4), ("gnu_str_index", 5), ("strx", 300), ("strp", 10**6)]
    f.add(cu(*(Die(SUB, (NAME, form, v), (LOW, "addr", CODE + i * 16), (HIGH, "data1", 16))
               for i, (form, v) in enumerate(forms)), attrs=[(STROFF_BASE, "sec_offset", 8)]))
    equal(names(f.elf(), [CODE + i * 16 for i in range(len(forms))]),
          [["direct"], ["s7"], ["line string"], ["s200"], ["s1"], ["s299"], ["s3"], ["s4"], ["s5"], ["-"], ["-"]])


@case
def address_forms():
    f = File()
    f.sec["addr"] = struct.pack("<IHBB", 4 + 8 * 8, 5, 8, 0) + b"".join(struct.pack("<Q", CODE + i * 256) for i in range(8))
    forms = [("addrx", 0), ("addrx1", 1), ("addrx2", 2), ("addrx3", 3), ("addrx4", 4), ("gnu_addr_index", 5),
             ("addrx_offset", (6, 16))]
    dies = [Die(SUB, (NAME, "string", form), (LOW, form, v), (HIGH, "data1", 16)) for form, v in forms]
    dies.append(Die(SUB, (NAME, "string", "high"), (LOW, "addr", CODE + 0x700), (HIGH, "addr", CODE + 0x710)))
    dies.append(Die(SUB, (NAME, "string", "outside"), (LOW, "addrx", 8), (HIGH, "data1", 16)))
    f.add(cu(*dies, attrs=[(ADDR_BASE, "sec_offset", 8)]))
    at = [CODE + i * 256 + (16 if i == 6 else 0) for i in range(8)]
    equal(names(f.elf(), at + [CODE + 0x600]), [[form] for form, _ in forms] + [["high"], []])


@case
def reference_forms():
    f = File()
    target = Die(SUB, (NAME, "string", "target"))
    forms = ["ref1", "ref2", "ref4", "ref8", "ref_udata", "ref_addr"]
    kids = [Die(INL, (ORIGIN, form, target if form != "ref_udata" else 0), (LOW, "addr", CODE + i * 16), (HIGH, "data1", 16))
            for i, form in enumerate(forms)]
    root = cu(target, fn("outer", CODE, 0x1000, kids=kids))
    f.unit(root)  # offsets of what comes before the references are final after one pass
    kids[4].attrs[0] = (ORIGIN, "ref_udata", target.off)
    f.add(root)
    equal(names(f.elf(), [CODE + i * 16 for i in range(6)]), [["target", "outer"]] * 6)


# ---- ranges (DWARF5 2.17.3, DWARF4 7.24) --------------------------------------------------------


@case
def old_ranges():
    """Pairs relative to the unit's base, a base selection entry, an empty pair, the end."""
    f = File()
    f.sec["ranges"] = struct.pack("<12Q", 0x10, 0x20, 5, 5, 2**64 - 1, CODE + 0x100, 0, 0x10, 0x20, 0x30, 0, 0)
    f.add(Die(CU, (NAME, "string", "u"), (LOW, "addr", CODE), (HIGH, "data4", 0x1000), kids=[
        Die(SUB, (NAME, "string", "f"), (RANGES, "sec_offset", 0))]), version=4)
    equal(names(f.elf(), [CODE + a for a in (0xf, 0x10, 0x1f, 0x20, 5, 0x100, 0x110, 0x120, 0x130)]),
          [[], ["f"], ["f"], [], [], ["f"], [], ["f"], []])


@case
def range_lists():
    """Every entry kind of table 7.30, reached by index and by offset."""
    f = File()
    f.sec["addr"] = struct.pack("<IHBB", 4 + 8 * 4, 5, 8, 0) + b"".join(struct.pack("<Q", CODE + i * 0x100) for i in range(4))
    entries = (b"\1" + uleb(1) + b"\4" + uleb(0) + uleb(8)            # base_addressx, offset_pair: 0x100..0x108
               + b"\2" + uleb(2) + uleb(3)                             # startx_endx: 0x200..0x300
               + b"\3" + uleb(3) + uleb(0x20)                          # startx_length: 0x300..0x320
               + b"\5" + struct.pack("<Q", CODE + 0x400) + b"\4" + uleb(4) + uleb(8)      # base_address
               + b"\6" + struct.pack("<QQ", CODE + 0x500, CODE + 0x510)                   # start_end
               + b"\7" + struct.pack("<Q", CODE + 0x600) + uleb(0x10) + b"\0")            # start_length, end
    f.sec["rnglists"] = struct.pack("<IHBBI", 8 + 4 + len(entries), 5, 8, 0, 1) + struct.pack("<I", 4) + entries
    f.add(cu(Die(SUB, (NAME, "string", "indexed"), (RANGES, "rnglistx", 0)),
             attrs=[(ADDR_BASE, "sec_offset", 8), (RNG_BASE, "sec_offset", 12)]))
    at = [0x100, 0x107, 0x108, 0x200, 0x2ff, 0x300, 0x31f, 0x320, 0x404, 0x407, 0x408, 0x500, 0x50f, 0x510, 0x600, 0x60f, 0x610]
    want = [["indexed"] if i not in (2, 7, 10, 13, 16) else [] for i in range(len(at))]
    equal(names(f.elf(), [CODE + a for a in at]), want)
    f.codes, f.sec["info"] = {}, b""
    f.add(cu(Die(SUB, (NAME, "string", "indexed"), (RANGES, "sec_offset", 16)), attrs=[(ADDR_BASE, "sec_offset", 8)]))
    equal(names(f.elf(), [CODE + a for a in at]), want)


@case
def dead_code():
    """What linkers write for dropped functions: 0, -1, -2, 1..1; addresses where no code is."""
    f = File()
    f.sec["ranges"] = struct.pack("<10Q", 2**64 - 1, 2**64 - 1, 0x1001, 0x1011, 1, 1, 2**64 - 2, 2**64 - 2, 0, 0)
    tomb = [0, 2**64 - 1, 2**64 - 2, 0xfff, CODE + CODE_SIZE]
    f.add(cu(*(fn(f"dead{i}", a, 0x2000) for i, a in enumerate(tomb)),
             Die(SUB, (NAME, "string", "deadlist"), (RANGES, "sec_offset", 0)), fn("live", CODE, 0x40)), version=4)
    equal(names(f.elf(), [CODE, CODE + 0x50, CODE + 0x1000, 0x10, 0]), [["live"], [], [], [], []])


@case
def range_bases_of_dead_code():
    f = File()
    entries = b"\5" + struct.pack("<Q", 2**64 - 1) + b"\4" + uleb(CODE + 1) + uleb(CODE + 0x20) + b"\0"
    f.sec["rnglists"] = struct.pack("<IHBBI", 8 + len(entries), 5, 8, 0, 0) + entries
    f.add(cu(Die(SUB, (NAME, "string", "dead"), (RANGES, "sec_offset", 12))))
    equal(names(f.elf(), [CODE, CODE + 0x10]), [[], []])


# ---- who is on top -----------------------------------------------------------------------------


@case
def folded_functions():
    """Two functions at one address: the first DIE wins, with its own inlined functions only."""
    f = File()
    a, b = (Die(SUB, (NAME, "string", n)) for n in ("in_a", "in_b"))
    f.add(cu(a, b,
             fn("a", CODE, 64, kids=[Die(INL, (ORIGIN, "ref4", a), (LOW, "addr", CODE + 16), (HIGH, "data1", 16))]),
             fn("b", CODE, 96, kids=[Die(INL, (ORIGIN, "ref4", b), (LOW, "addr", CODE + 32), (HIGH, "data1", 48))])))
    equal(names(f.elf(), [CODE, CODE + 16, CODE + 32, CODE + 64, CODE + 80]),
          [["a"], ["in_a", "a"], ["a"], ["in_b", "b"], ["b"]])


@case
def first_unit_wins():
    """Linkers let all units of a COMDAT function point to the kept copy: that of the first."""
    f = File()
    for n in ("first", "second"):
        f.add(cu(fn(n, CODE, 64), lo=CODE, size=64))
    equal(names(f.elf(), [CODE, CODE + 63]), [["first"], ["first"]])


@case
def unit_that_promises_too_much():
    """The first unit claims an address and has no function there: another one that claims it is asked."""
    f = File()
    f.add(cu(fn("first", CODE, 64)))
    f.add(cu(fn("second", CODE + 64, 64), lo=CODE + 64, size=64))
    equal(names(f.elf(), [CODE, CODE + 70]), [["first"], ["second"]])


@case
def bolted_units():
    """BOLT leaves parts that it split off out of the unit's ranges: what is said of them does not depend on what else is asked."""
    f = File()
    other = CODE + 0x200
    f.add(cu(fn("f", CODE, 16), fn("f.cold", CODE + 0x100, 16), size=16))
    f.add(cu(fn("g", other, 16), lo=other, size=16))
    data = f.elf()
    f.sec["olt_info"] = b"\0"
    bolted = f.elf().replace(b".debug_olt_info", b".note.bolt_info")
    for asked in ([CODE + 0x100], [CODE, CODE + 0x100], [CODE + 0x100, other], [CODE, CODE + 0x100, other]):
        want = {CODE: ["f"], CODE + 0x100: ["f.cold"], other: ["g"]}
        equal(names(bolted, asked), [want[a] for a in asked])
    # Of others every address that no unit claims, as of the C library's start files, would cost compiling all units.
    equal(names(data, [CODE + 0x100]), [[]])


@case
def units_without_ranges():
    f = File()
    f.add(Die(CU, (NAME, "string", "u"), kids=[fn("f", CODE, 64)]))
    f.add(Die(CU, (NAME, "string", "v"), kids=[fn("g", CODE + 64, 64)]))
    f.add(Die(CU, (NAME, "string", "w"), kids=[Die(SUB, (NAME, "string", "declared"))]))
    equal(names(f.elf(), [CODE, CODE + 64, CODE + 128]), [["f"], ["g"], []])
    at = len(f.sec["info"])
    off = f.add(Die(CU, (NAME, "string", "x"), kids=[fn("h", CODE + 256, 64)]))
    equal(at, off)
    tuples = struct.pack("<QQQQ", CODE + 256, 64, 0, 0)
    f.sec["aranges"] = struct.pack("<IHIBB", 8 + 4 + len(tuples), 2, off, 8, 0) + b"\0" * 4 + tuples
    equal(names(f.elf(), [CODE, CODE + 256]), [["f"], ["h"]])


@case
def functions_in_functions():
    """A nested function with code of its own interrupts its parent's DIE, not its ranges."""
    f = File()
    i = Die(SUB, (NAME, "string", "inl"))
    f.add(cu(i, fn("outer", CODE, 64, kids=[
        Die(BLOCK, (LOW, "addr", CODE), (HIGH, "data1", 32), kids=[
            fn("nested", CODE + 128, 64, kids=[Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 130), (HIGH, "data1", 8))]),
            Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 8), (HIGH, "data1", 8))])]),
             Die(STRUCT, (NAME, "string", "S"), kids=[fn("method", CODE + 256, 16)]),
             Die(SUB, (NAME, "string", "abstract"), kids=[Die(STRUCT, (NAME, "string", "L"), kids=[
                 fn("local", CODE + 512, 16)])])))
    equal(names(f.elf(), [CODE, CODE + 8, CODE + 128, CODE + 130, CODE + 256, CODE + 512]),
          [["outer"], ["inl", "outer"], ["outer::nested"], ["inl", "outer::nested"], ["S::method"], ["abstract::L::local"]])


@case
def siblings():
    """DW_AT_sibling jumps over what has no code; a wrong one must not lose the way."""
    f = File()
    kid = Die(0x49, (LOC, "exprloc", b"\x50"))
    last = fn("after", CODE + 64, 64)
    site = Die(SITE, (SIBLING, "ref4", last), (LOC, "exprloc", b""), kids=[kid, kid])
    back = Die(SITE, (SIBLING, "ref1", 12), (LOC, "exprloc", b""), kids=[kid])
    f.add(cu(fn("f", CODE, 64, kids=[back]), site, last))
    equal(names(f.elf(), [CODE, CODE + 64]), [["f"], ["after"]])


# ---- names ---------------------------------------------------------------------------------------


@case
def names_through_links():
    """Concrete -> abstract -> declaration, across units (LTO); the first that says something counts."""
    f = File()
    decl = Die(SUB, (NAME, "string", "method"), (DECL_LINE, "data1", 5))
    abstract = Die(SUB, (SPEC, "ref4", decl), (DECL_LINE, "data1", 50))
    f.add(Die(CU, (NAME, "string", "early"), kids=[
        Die(NS, (NAME, "string", "ns"), kids=[Die(NS, kids=[Die(STRUCT, (NAME, "string", "C<int>"), kids=[decl])])]), abstract]))
    f.add(cu(Die(SUB, (ORIGIN, "ref_addr", abstract), (LOW, "addr", CODE), (HIGH, "data1", 64)),
             Die(SUB, (ORIGIN, "ref_addr", abstract), (LINKAGE, "string", "_Zown"), (LOW, "addr", CODE + 64), (HIGH, "data1", 64))))
    equal(names(f.elf(), [CODE, CODE + 64]), [["ns::(anonymous namespace)::C<int>::method"], ["_Zown"]])


@case
def names_of_c():
    """C has no scopes: DW_LANG_C11."""
    f = File()
    f.add(cu(fn("outer", CODE, 64, kids=[fn("nested", CODE + 64, 64)]), attrs=[(LANG, "data1", 0x1d)]))
    equal(names(f.elf(), [CODE + 64]), [["nested"]])


@case
def link_cycles():
    f = File()
    a = Die(SUB, (ORIGIN, "ref4", None), (LOW, "addr", CODE), (HIGH, "data1", 16))
    b = Die(SUB, (ORIGIN, "ref4", a))
    a.attrs[0] = (ORIGIN, "ref4", b)
    c = Die(SUB, (SPEC, "ref4", None), (LOW, "addr", CODE + 16), (HIGH, "data1", 16))
    c.attrs[0] = (SPEC, "ref4", c)
    s = Die(STRUCT, (SPEC, "ref4", None), kids=[fn("m", CODE + 32, 16)])
    s.attrs[0] = (SPEC, "ref4", s)
    root = cu(a, b, c, s)
    f.unit(root)
    f.add(root)
    got = names(f.elf(), [CODE, CODE + 16, CODE + 32])
    equal([g[0] for g in got[:2]], ["-", "-"])
    assert got[2][0].endswith("::m"), got


# ---- lines (DWARF5 6.2) ----------------------------------------------------------------------------


@case
def line_rows():
    """Standard and special opcodes; several rows at one address: the last counts; end of sequence."""
    prog = (set_address(CODE) + ln(9) + COPY                     # 0x0: 10
            + bytes([13 + 12 * 4 + 3 + 2])                       # special: +4, +2 -> 0x4: 12
            + pc(4) + ln(1) + COPY + ln(1) + COPY                # 0x8: 13, then 14
            + b"\x08" + ln(-4) + COPY                            # const_add_pc: +20 -> 0x1c: 10
            + b"\x09\x10\x00" + ln(90) + COPY                    # fixed_advance_pc +16 -> 0x2c: 100
            + b"\x05\x07\x06\x07\x0a\x0b\x0c\x03"                # column, is_stmt, block, prologue, epilogue, isa
            + b"\0\x05\xee1234" + b"\0\2\4\7"                    # unknown extended, discriminator
            + pc(4) + END)                                       # 0x30
    data = with_lines(line_table(prog), fn("f", CODE, 0x40))
    at = [0, 3, 4, 7, 8, 0x1b, 0x1c, 0x2c, 0x2f, 0x30]
    equal(lines(data, [CODE + a for a in at]),
          [[("/d/a.c", n)] for n in (10, 10, 12, 12, 14, 14, 10, 100, 100)] + [[("-", 0)]])


@case
def line_files():
    """Files count from 1 before DWARF 5, from 0 in it; relative directories stand in the unit's."""
    prog = set_address(CODE) + fil(1) + COPY + pc(4) + fil(2) + COPY + pc(4) + fil(3) + COPY + pc(4) + fil(9) + COPY + pc(4) + END
    files = ((b"a.c", 0), (b"b.c", 1), (b"/abs/c.c", 1), (b"d.c", 2))
    at = [CODE + 4 * i for i in range(4)]
    f = fn("f", CODE, 16)
    equal(lines(with_lines(line_table(prog, dirs=(b"rel", b"/x/"), files=files), f), at),
          [[("/comp/a.c", 1)], [("/comp/rel/b.c", 1)], [("/abs/c.c", 1)], [("-", 1)]])
    equal(lines(with_lines(line_table(prog, 5, dirs=(b"/comp", b"rel", b"/x/"), files=files), f, version=5), at),
          [[("/comp/rel/b.c", 1)], [("/abs/c.c", 1)], [("/x/d.c", 1)], [("-", 1)]])


@case
def line_defined_file():
    prog = b"\0\7\3" + b"n.c\0\1\0" + b"\0" + set_address(CODE) + fil(2) + COPY + pc(4) + END
    prog = b"\0" + uleb(1 + 4 + 3) + b"\3n.c\0\1\0\0" + set_address(CODE) + fil(2) + COPY + pc(4) + END
    equal(lines(with_lines(line_table(prog), fn("f", CODE, 4)), [CODE]), [[("/d/n.c", 1)]])


@case
def line_zero():
    """Code of no line takes the line before it in the same function, not one of an inlined function."""
    prog = (set_address(CODE) + ln(9) + COPY + pc(4) + ln(-10) + COPY                # 0: 10, 4: line 0
            + pc(4) + ln(50) + COPY + pc(4) + ln(-50) + COPY + pc(4) + ln(7) + COPY  # 8: 50 (inlined), 12: 0, 16: 7
            + pc(4) + END)
    i = Die(SUB, (NAME, "string", "i"))
    data = with_lines(line_table(prog), i, fn("f", CODE, 20, kids=[
        Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 8), (HIGH, "data1", 4), (CALL_LINE, "data1", 33), (CALL_FILE, "data1", 1))]))
    equal(lines(data, [CODE, CODE + 4, CODE + 8, CODE + 12, CODE + 16]),
          [[("/d/a.c", 10)], [("/d/a.c", 10)], [("/d/a.c", 50), ("/d/a.c", 33)], [("/d/a.c", 10)], [("/d/a.c", 7)]])
    # without such a line the file is known
    prog = set_address(CODE) + ln(9) + COPY + pc(4) + ln(-10) + COPY + pc(4) + END
    data = with_lines(line_table(prog), i, fn("f", CODE, 8, kids=[
        Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE + 4), (HIGH, "data1", 4), (CALL_LINE, "data1", 33), (CALL_FILE, "data1", 1))]))
    equal(lines(data, [CODE, CODE + 4]), [[("/d/a.c", 10)], [("/d/a.c", 0), ("/d/a.c", 33)]])


@case
def line_sequences():
    """Sequences in any order, dead ones, one whose addresses go back, one without end."""
    seq = lambda a, n: set_address(a) + ln(n - 1) + COPY + pc(16) + END
    prog = (seq(CODE + 0x100, 20) + seq(CODE, 10) + seq(0, 66) + seq(2**64 - 1, 67)
            + set_address(CODE + 0x200) + ln(29) + COPY + pc(8) + COPY + set_address(CODE + 0x180) + ln(1) + COPY + pc(8) + END
            + set_address(CODE + 0x300) + ln(39) + COPY + pc(8))
    at = [CODE, CODE + 15, CODE + 16, CODE + 0x100, CODE + 0x180, CODE + 0x300]
    equal(lines(with_lines(line_table(prog)), at),
          [[("/d/a.c", 10)], [("/d/a.c", 10)], [], [("/d/a.c", 20)], [("/d/a.c", 31)], []])


@case
def line_vliw():
    """minimum_instruction_length 4, two operations per instruction (6.2.5.1)."""
    prog = set_address(CODE) + COPY + pc(3) + ln(1) + COPY + pc(1) + ln(1) + COPY + pc(2) + END
    data = with_lines(line_table(prog, min_inst=4, max_ops=2), fn("f", CODE, 16))
    equal([l[0][1] for l in lines(data, [CODE, CODE + 3, CODE + 4, CODE + 7, CODE + 8, CODE + 11])], [1, 1, 2, 2, 3, 3])


@case
def line_versions():
    prog = set_address(CODE) + ln(4) + COPY + pc(4) + END
    for version in (2, 3, 4, 5):
        data = with_lines(line_table(prog, version, dirs=(b"/z", b"/d")[version < 5:], files=((b"x.c", 1), (b"a.c", 1))[version < 5:]),
                          fn("f", CODE, 4), version=version)
        equal(lines(data, [CODE]), [[("/d/a.c", 5)]])


@case
def lines_without_functions():
    """Assembler sources: lines and no DIEs. The function next to them keeps its own."""
    prog = set_address(CODE) + ln(4) + COPY + pc(8) + ln(1) + COPY + pc(8) + END
    equal(ask(with_lines(line_table(prog), fn("f", CODE + 8, 4)), [CODE + 4, CODE + 8, CODE + 13])[0],
          {CODE + 4: [("", "/d/a.c", "5")], CODE + 8: [("f", "/d/a.c", "6")], CODE + 13: [("", "/d/a.c", "6")]})


# ---- damage: what is whole is still found -------------------------------------------------------------


@case
def damaged_units():
    f = File()
    f.add(cu(fn("one", CODE, 16), lo=CODE, size=16))
    f.sec["info"] += struct.pack("<IHBBI", 20, 9, 1, 8, 0) + b"\0" * 12            # version 9
    f.sec["info"] += struct.pack("<IHBBI", 9, 5, 1, 8, 10**6) + b"\1"               # abbreviations outside
    f.sec["info"] += struct.pack("<IHBBI", 9, 5, 1, 8, 0) + b"\x7f"                 # unknown abbreviation
    f.sec["info"] += struct.pack("<IHBBI", 9, 5, 1, 3, 0) + b"\1"                   # addresses of 3 bytes
    f.add(cu(fn("two", CODE + 16, 16), lo=CODE + 16, size=16))
    bad = cu(fn("three", CODE + 32, 16), Die(0x34, (0x2100, "flag_present", 1)), fn("lost", CODE + 48, 16), lo=CODE + 32, size=32)
    f.add(bad)
    f.add(cu(fn("four", CODE + 64, 16), lo=CODE + 64, size=16))
    data = f.abbrevs()
    # the form of attribute 0x2100 becomes one that does not exist
    f.sec["abbrev"] = data.replace(uleb(0x2100) + uleb(F["flag_present"]), uleb(0x2100) + b"\x7f")
    f.sec["info"] += struct.pack("<IHBBI", 10**6, 5, 1, 8, 0)                       # longer than the section
    equal(names(f.elf(), [CODE + 16 * i for i in range(5)]), [["one"], ["two"], ["three"], [], ["four"]])


@case
def cut_anywhere():
    """Sections cut at every length: no crash, and never a wrong name."""
    f = File()
    f.sec["line"] = line_table(set_address(CODE) + ln(4) + COPY + pc(4) + END, 5)
    i = Die(SUB, (NAME, "string", "i"))
    f.add(cu(i, fn("f", CODE, 64, kids=[Die(INL, (ORIGIN, "ref4", i), (LOW, "addr", CODE), (HIGH, "data1", 4), (CALL_LINE, "data1", 3))]),
             attrs=[(STMT, "sec_offset", 0)]))
    f.sec["abbrev"] = f.abbrevs()
    whole = dict(f.sec)
    for sec in ("info", "abbrev", "line"):
        for n in range(0, len(whole[sec]), 3):
            f.sec[sec] = whole[sec][:n] or b"\0"
            got = names(f.elf(), [CODE])[0]
            assert all(g in ("", "f", "i", "-") for g in got), (sec, n, got)
        f.sec[sec] = whole[sec]


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:]))
