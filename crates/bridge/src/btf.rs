//! The kernel's functions by their numbers, from its own description of its types (BTF, the
//! kernel's `Documentation/bpf/btf.rst`). A program of ours calls a function by its number, which
//! differs from kernel to kernel.

use std::{fs, io};

/// Where the kernel shows it.
const KERNEL: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
/// Kind of a function.
const FUNC: u32 = 12;

/// The number of a function of the running kernel; none if it has no such function.
pub(crate) fn kernel_function(name: &str) -> io::Result<Option<u32>> {
    Ok(function(&fs::read(KERNEL)?, name))
}

fn function(btf: &[u8], name: &str) -> Option<u32> {
    let word = |at: usize| Some(u32::from_ne_bytes(*btf.get(at..)?.first_chunk()?));
    // Magic and version, length of this header; where types and names begin behind it, and their
    // lengths.
    if *btf.first_chunk()? != MAGIC.to_ne_bytes() {
        return None;
    }
    let header = word(4)? as usize;
    let mut at = header + word(8)? as usize;
    let end = at + word(12)? as usize;
    let names = btf.get(header + word(16)? as usize..)?;
    // Number 0 is `void`, which is not there.
    for number in 1.. {
        if at >= end {
            break;
        }
        let info = word(at + 4)?;
        let (kind, members) = (info >> 24 & 0x1f, info as usize & 0xffff);
        if kind == FUNC {
            let found = names.get(word(at)? as usize..)?;
            let rest = found.strip_prefix(name.as_bytes());
            if rest.is_some_and(|rest| rest.first() == Some(&0)) {
                return Some(number);
            }
        }
        at += 12 + more(kind, members)?;
    }
    None
}

/// Bytes of a type beyond the first twelve; none for a kind that is not known.
fn more(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Pointers, forward declarations, names, qualifiers, functions, floats, tags of types.
        2 | 7..=12 | 16 | 18 => 0,
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Enumerations, prototypes.
        6 | 13 => 8 * members,
        // Structures, unions, sections, enumerations of 64 bits.
        4 | 5 | 15 | 19 => 12 * members,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure with one member, a function `ab` and a function `a`.
    fn sample() -> Vec<u8> {
        let mut btf = [&MAGIC.to_ne_bytes()[..], &[1, 0]].concat();
        let types: [u32; 12] = [
            0,
            4 << 24 | 1,
            4,
            0,
            0,
            0, // the structure
            1,
            12 << 24,
            0, // `ab`
            4,
            12 << 24,
            0, // `a`
        ];
        let names = b"\0ab\0a\0";
        for word in [24, 0, 4 * types.len(), 4 * types.len(), names.len()] {
            btf.extend((word as u32).to_ne_bytes());
        }
        btf.extend(types.into_iter().flat_map(u32::to_ne_bytes));
        btf.extend(names);
        btf
    }

    #[test]
    fn a_function_has_the_number_of_its_place() {
        let btf = sample();
        assert_eq!(function(&btf, "ab"), Some(2));
        assert_eq!(function(&btf, "a"), Some(3));
        assert_eq!(function(&btf, "b"), None);
        for cut in 0..btf.len() {
            assert_eq!(function(&btf[..cut], "b"), None, "cut at {cut}");
        }
    }

    #[test]
    fn the_running_kernel_describes_itself() {
        let found = kernel_function("bpf_xdp_metadata_rx_vlan_tag");
        assert!(found.expect("it has BTF").is_some());
    }
}
