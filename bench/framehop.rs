//! framehop.rs - unwinds what tests/unwind/tool_stacks wrote, by framehop, on the same bytes.
//!
//! Input: lines and bytes, see tool_stacks.c. Output: "S tid time END|stop last-address" per sample, the
//! address as tool_unwind prints it.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A part of a file.
#[derive(Clone, Default)]
struct Part(Arc<Vec<u8>>, Range<usize>);

impl Deref for Part {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0[self.1.clone()]
    }
}

struct Map {
    start: u64,
    end: u64,
    pgoff: u64,
    path: String,
}

fn number(file: &[u8], at: usize, n: usize) -> u64 {
    let mut b = [0; 8];
    b[..n].copy_from_slice(&file[at..at + n]);
    u64::from_le_bytes(b)
}

/// What framehop wants to know of an ELF file, and of its segments (vaddr, offset, size in the file).
fn sections(file: &Arc<Vec<u8>>) -> Option<(ExplicitModuleSectionInfo<Part>, Vec<(u64, u64, u64)>)> {
    if file.len() < 64 || &file[..5] != b"\x7fELF\x02" {
        return None;
    }
    let mut info = ExplicitModuleSectionInfo::default();
    let (phoff, shoff) = (number(file, 32, 8) as usize, number(file, 40, 8) as usize);
    let (phnum, shnum) = (number(file, 56, 2) as usize, number(file, 60, 2) as usize);
    let segments = (0..phnum)
        .map(|i| phoff + i * 56)
        .filter(|&at| number(file, at, 4) == 1)
        .map(|at| (number(file, at + 16, 8), number(file, at + 8, 8), number(file, at + 32, 8)))
        .collect();
    let header = |i: usize| {
        let at = shoff + i * 64;
        let (name, kind) = (number(file, at, 4) as usize, number(file, at + 4, 4));
        let (addr, off, size) = (number(file, at + 16, 8), number(file, at + 24, 8) as usize, number(file, at + 32, 8) as usize);
        (name, kind, addr, off, size)
    };
    let names = header(number(file, 62, 2) as usize).3;
    for i in 1..shnum {
        let (name, kind, addr, off, size) = header(i);
        let name = &file[names + name..];
        let name = &name[..name.iter().position(|&b| b == 0)?];
        let svma = Some(addr..addr + size as u64);
        let part = (kind != 8).then(|| Part(file.clone(), off..off + size)); // not SHT_NOBITS
        match name {
            b".text" => (info.text_svma, info.text) = (svma, part),
            b".eh_frame" => (info.eh_frame_svma, info.eh_frame) = (svma, part),
            b".eh_frame_hdr" => (info.eh_frame_hdr_svma, info.eh_frame_hdr) = (svma, part),
            b".debug_frame" => info.debug_frame = part,
            b".got" => info.got_svma = svma,
            _ => {}
        }
    }
    Some((info, segments))
}

type Files = HashMap<String, Option<Arc<Vec<u8>>>>;

fn unwinder(maps: &[Map], files: &mut Files) -> UnwinderX86_64<Part> {
    let mut u = UnwinderX86_64::new();
    for m in maps {
        let file = files.entry(m.path.clone()).or_insert_with(|| std::fs::read(&m.path).ok().map(Arc::new));
        let Some((info, segments)) = file.as_ref().and_then(sections) else { continue };
        // The segment that the mapping shows: the one nearest below its offset, in pages.
        let Some(s) = segments.iter().filter(|s| s.1 & !0xfff <= m.pgoff && m.pgoff < s.1 + s.2).last() else { continue };
        let base = m.start.wrapping_sub((s.0 & !0xfff) + (m.pgoff - (s.1 & !0xfff)));
        u.add_module(Module::new(m.path.clone(), m.start..m.end, base, info));
    }
    u
}

fn printed(maps: &[Map], frame: FrameAddress) -> u64 {
    let ip = frame.address_for_lookup();
    match maps.iter().find(|m| m.start <= ip && ip < m.end) {
        Some(m) if m.path.starts_with('/') && !m.path.starts_with("//") => ip - m.start + m.pgoff,
        _ => ip,
    }
}

fn main() {
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::BufWriter::new(std::io::stdout().lock()));
    let (mut maps, mut files, mut line) = (Vec::new(), Files::new(), Vec::new());
    let (mut u, mut cache) = (None, CacheX86_64::new());
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        let text = String::from_utf8_lossy(&line).trim_end().to_string();
        let w: Vec<&str> = text.splitn(if text.starts_with('M') { 5 } else { 9 }, ' ').collect();
        let n = |i: usize| w[i].parse::<u64>().unwrap();
        match w[0] {
            "V" => {
                maps.clear();
                u = None;
            }
            "M" => maps.push(Map { start: n(1), end: n(2), pgoff: n(3), path: w[4].to_string() }),
            _ => {
                let mut stack = vec![0; n(6) as usize];
                input.read_exact(&mut stack).unwrap();
                let (pc, sp, bp) = (n(3), n(4), n(5));
                let u = u.get_or_insert_with(|| unwinder(&maps, &mut files));
                let mut read = |at: u64| {
                    let off = at.checked_sub(sp).ok_or(())? as usize;
                    let bytes = stack.get(off..off.checked_add(8).ok_or(())?).ok_or(())?;
                    Ok(u64::from_le_bytes(bytes.try_into().unwrap()))
                };
                let mut frames = u.iter_frames(pc, UnwindRegsX86_64::new(pc, sp, bp), &mut cache, &mut read);
                let (mut last, mut count) = (FrameAddress::from_instruction_pointer(pc), 0);
                let stop = loop {
                    match frames.next() {
                        Ok(Some(f)) if count < 8192 => last = f,
                        Ok(Some(_)) => break "frame limit reached".to_string(),
                        Ok(None) => break "END".to_string(),
                        Err(e) => break format!("{:?}", e),
                    }
                    count += 1;
                };
                writeln!(out, "S {} {} {:x} {}", w[1], w[2], printed(&maps, last), stop).unwrap();
            }
        }
        line.clear();
    }
}
