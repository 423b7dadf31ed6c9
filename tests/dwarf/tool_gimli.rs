// tool_gimli.rs - prints what gimli and addr2line (Rust's own backtraces use them) say of addresses.
//
//	tool_gimli DEBUG [ALT] < ADDRESSES
//
// DEBUG is a 64-bit little-endian ELF file whose sections are not compressed. Addresses are
// hexadecimal. For each a line "0xADDR UNITS", the number of units that claim the address, then one per
// frame, innermost first: "\tNAME\tFILE\tLINE", NAME being the linkage name where there is one, "-"
// for what is unknown.
use std::io::{self, BufRead, Write};

type Reader<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

fn number(b: &[u8], at: usize, n: usize) -> usize {
    b[at..at + n].iter().rev().fold(0, |v, x| v << 8 | *x as usize)
}

fn section<'a>(elf: &'a [u8], name: &str) -> &'a [u8] {
    let (table, n, names) = (number(elf, 40, 8), number(elf, 60, 2), number(elf, 62, 2));
    let field = |i: usize, off: usize, size: usize| number(elf, table + 64 * i + off, size);
    let wanted = [name.as_bytes(), b"\0"].concat();
    for i in 0..n {
        let s = &elf[field(names, 24, 8) + field(i, 0, 4)..];
        if s.starts_with(&wanted) && field(i, 4, 4) != 8 {
            assert!(field(i, 8, 8) & 0x800 == 0, "{} is compressed", name);
            return &elf[field(i, 24, 8)..][..field(i, 32, 8)];
        }
    }
    &[]
}

fn load<'a>(elf: &'a [u8], id: gimli::SectionId) -> Result<Reader<'a>, gimli::Error> {
    Ok(Reader::new(section(elf, id.name()), gimli::LittleEndian))
}

// (address, number of units that claim what follows), sorted
fn claims(dwarf: &gimli::Dwarf<Reader>) -> Result<Vec<(u64, i32)>, gimli::Error> {
    let (mut edges, mut headers) = (vec![], dwarf.units());
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut ranges = dwarf.unit_ranges(&unit)?;
        while let Some(r) = ranges.next()? {
            edges.extend([(r.begin, 1), (r.end, -1)]);
        }
    }
    edges.sort();
    let mut n = 0;
    for edge in &mut edges {
        n += edge.1;
        edge.1 = n;
    }
    Ok(edges)
}

fn print(context: &addr2line::Context<Reader>, addr: u64, units: i32, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:#x} {}", addr, units)?;
    #[cfg(lookups)] // since addr2line 0.20 other files may have to be loaded first
    let found = context.find_frames(addr).skip_all_loads();
    #[cfg(not(lookups))]
    let found = context.find_frames(addr);
    let mut frames = match found {
        Ok(frames) => frames,
        Err(e) => return writeln!(out, "\t{:?}\t-\t0", e),
    };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|f| f.raw_name().ok());
        let place = frame.location.as_ref();
        let file = place.and_then(|l| l.file).unwrap_or("-");
        let line = place.and_then(|l| l.line).unwrap_or(0);
        writeln!(out, "\t{}\t{}\t{}", name.unwrap_or("-".into()), file, line)?;
    }
    Ok(())
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let files: Vec<Vec<u8>> = paths.iter().map(|p| std::fs::read(p).expect(p)).collect();
    let mut dwarf = gimli::Dwarf::load(|id| load(&files[0], id)).expect("sections");
    if files.len() > 1 {
        dwarf.load_sup(|id| load(&files[1], id)).expect("sections");
    }
    let claims = claims(&dwarf).expect("units");
    let context = addr2line::Context::from_dwarf(dwarf).expect("units");
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line.expect("an address");
        let addr = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16).expect("an address");
        let k = claims.partition_point(|c| c.0 <= addr);
        let units = if k > 0 { claims[k - 1].1 } else { 0 };
        print(&context, addr, units, &mut out).expect("to write");
    }
}
