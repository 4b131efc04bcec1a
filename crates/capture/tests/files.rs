//! Files made by hand after the format's drafts, our own files, and damaged ones.

use proptest::prelude::*;
use sojourn_capture::{Direction, Interface, LinkType, Problem, ReadError, Reader, Record, Writer};
use sojourn_units::Time;

/// Puts words together in one byte order.
#[derive(Clone, Copy)]
enum Order {
    Big,
    Little,
}

impl Order {
    fn half(self, value: u16) -> Vec<u8> {
        match self {
            Self::Big => value.to_be_bytes().to_vec(),
            Self::Little => value.to_le_bytes().to_vec(),
        }
    }

    fn word(self, value: u32) -> Vec<u8> {
        match self {
            Self::Big => value.to_be_bytes().to_vec(),
            Self::Little => value.to_le_bytes().to_vec(),
        }
    }

    fn words(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|&value| self.word(value)).collect()
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let len = self.word(body.len() as u32 + 12);
        [&self.word(kind)[..], &len, body, &len].concat()
    }

    fn section(self) -> Vec<u8> {
        let version = [self.half(1), self.half(0)].concat();
        let body = [self.word(0x1a2b_3c4d), version, vec![0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    /// An interface; `options` as code, value.
    fn interface(self, link_type: u16, snap_len: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [self.half(link_type), self.half(0), self.word(snap_len)].concat();
        for (code, value) in options {
            body.extend(self.half(*code));
            body.extend(self.half(value.len() as u16));
            body.extend(*value);
            body.extend(vec![0; value.len().wrapping_neg() & 3]);
        }
        if !options.is_empty() {
            body.extend(self.words(&[0]));
        }
        self.block(1, &body)
    }

    /// An enhanced packet block without options.
    fn packet(self, interface: u32, ticks: u64, bytes: &[u8], len: u32) -> Vec<u8> {
        self.packet_with(interface, ticks, bytes, len, &[])
    }

    /// An enhanced packet block with these bytes as its options.
    fn packet_with(
        self,
        interface: u32,
        ticks: u64,
        bytes: &[u8],
        len: u32,
        options: &[u8],
    ) -> Vec<u8> {
        let head = [
            interface,
            (ticks >> 32) as u32,
            ticks as u32,
            bytes.len() as u32,
            len,
        ];
        let padding = vec![0; bytes.len().wrapping_neg() & 3];
        let body = [&self.words(&head), bytes, &padding, options];
        self.block(6, &body.concat())
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, ReadError> {
    let mut reader = Reader::new(bytes)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record);
    }
    Ok(records)
}

fn times(bytes: &[u8]) -> Vec<Option<u64>> {
    let records = read(bytes).expect("a good file");
    records.iter().map(|r| r.at.map(Time::as_nanos)).collect()
}

fn nanos(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn both_byte_orders_read_alike() {
    for order in [Order::Big, Order::Little] {
        let file = [
            order.section(),
            order.interface(1, 0, &[(2, b"eth0"), (9, &[9])]),
            order.packet(0, 0x1_0000_0002, &[1, 2, 3], 60),
        ]
        .concat();
        let mut reader = Reader::new(&file[..]).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!(reader.interfaces(), ["eth0"]);
        assert_eq!(record.at, Some(nanos(0x1_0000_0002)));
        assert_eq!((&record.bytes[..], record.len), (&[1, 2, 3][..], 60));
        assert_eq!(record.link_type, LinkType::Ethernet);
        assert_eq!(record.direction, None);
        assert!(reader.next_record().unwrap().is_none());
    }
}

#[test]
fn time_stamps_have_the_interface_s_resolution() {
    resolutions(Order::Little, 100_i64.to_le_bytes());
    resolutions(Order::Big, 100_i64.to_be_bytes());
}

/// `offset` is 100 s in this order.
fn resolutions(order: Order, offset: [u8; 8]) {
    let file = [
        order.section(),
        // Microseconds where nothing is said; 10⁻³; 2⁻¹⁰; 10⁻¹²; an offset of 100 s.
        order.interface(1, 0, &[]),
        order.interface(1, 0, &[(9, &[3])]),
        order.interface(1, 0, &[(9, &[0x8a])]),
        order.interface(1, 0, &[(9, &[12])]),
        order.interface(1, 0, &[(9, &[9]), (14, &offset)]),
        order.packet(0, 1_500_000, &[], 0),
        order.packet(1, 1_500, &[], 0),
        order.packet(2, 1_536, &[], 0),
        order.packet(3, 1_500_000_000_999, &[], 0),
        order.packet(4, 7, &[], 0),
    ]
    .concat();
    let half = Some(1_500_000_000);
    assert_eq!(
        times(&file),
        [half, half, half, half, Some(100_000_000_007)]
    );
}

#[test]
fn sections_have_interfaces_of_their_own() {
    let (little, big) = (Order::Little, Order::Big);
    let file = [
        little.section(),
        little.interface(1, 0, &[]),
        little.packet(0, 1, &[], 0),
        big.section(),
        big.interface(101, 0, &[]),
        big.packet(0, 2, &[], 0),
    ]
    .concat();
    let records = read(&file).unwrap();
    let seen: Vec<_> = records.iter().map(|r| (r.interface, r.link_type)).collect();
    assert_eq!(seen, [(0, LinkType::Ethernet), (1, LinkType::Raw)]);
}

#[test]
fn simple_and_old_packets_and_unknown_blocks() {
    let order = Order::Big;
    let old = [
        order.half(0),
        order.half(7),
        order.words(&[0, 5, 2, 2]),
        vec![8, 9, 0, 0],
    ];
    let file = [
        order.section(),
        order.interface(1, 4, &[]),
        order.block(0x0bad_cafe, &[0; 8]),
        // 6 bytes on the wire, 4 kept.
        order.block(3, &[&order.word(6)[..], &[1, 2, 3, 4]].concat()),
        order.block(2, &old.concat()),
    ]
    .concat();
    let records = read(&file).unwrap();
    assert_eq!((records[0].at, records[0].len), (None, 6));
    assert_eq!(records[0].bytes, [1, 2, 3, 4]);
    assert_eq!((records[1].at, records[1].len), (Some(nanos(5000)), 2));
    assert_eq!(records[1].bytes, [8, 9]);
}

#[test]
fn classic_files_read_in_both_orders_and_units() {
    for (magic, expected) in [(0xa1b2_c3d4, 1_000_002_000), (0xa1b2_3c4d, 1_000_000_002)] {
        for order in [Order::Big, Order::Little] {
            let version = [order.half(2), order.half(4)].concat();
            let file = [
                order.word(magic),
                version,
                order.words(&[0, 0, 65_535, 1]),
                order.words(&[1, 2, 3, 60]),
                vec![7, 8, 9],
            ]
            .concat();
            let records = read(&file).unwrap();
            assert_eq!(records[0].at, Some(nanos(expected)));
            assert_eq!(
                (&records[0].bytes[..], records[0].len),
                (&[7, 8, 9][..], 60)
            );
            let cut = read(&file[..file.len() - 1]).unwrap_err();
            assert_eq!((cut.at, cut.to_string().contains("cut off")), (24, true));
        }
    }
}

/// A file of ours with two interfaces.
fn ours() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "sojourn", "a test").unwrap();
    let mut interface = |name, snap_len| {
        let interface = Interface {
            name,
            description: "",
            link_type: LinkType::Ethernet,
            snap_len,
        };
        writer.interface(&interface).unwrap()
    };
    let (left, right) = (interface("left", 0), interface("right", 5));
    let late = u64::from(u32::MAX) * 3 + 1;
    let bytes: Vec<u8> = (0..9).collect();
    writer
        .packet(left, nanos(late), Direction::Inbound, &bytes, 9)
        .unwrap();
    writer
        .packet(right, nanos(late + 1), Direction::Outbound, &bytes, 1500)
        .unwrap();
    writer.statistics(left, 1).unwrap();
    writer.finish().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let file = ours();
    let records = read(&file).unwrap();
    let late = u64::from(u32::MAX) * 3 + 1;
    let record = |interface, at, direction, len, kept: u8| Record {
        interface,
        at: Some(nanos(at)),
        direction: Some(direction),
        link_type: LinkType::Ethernet,
        bytes: (0..kept).collect(),
        len,
    };
    let expected = [
        record(0, late, Direction::Inbound, 9, 9),
        record(1, late + 1, Direction::Outbound, 1500, 5),
    ];
    assert_eq!(records, expected);
}

#[test]
fn directions_read_in_both_orders() {
    for order in [Order::Big, Order::Little] {
        // The option of flags: inbound, outbound, neither known.
        let flags = |flags| [order.half(2), order.half(4), order.word(flags)].concat();
        let packet = |direction| order.packet_with(0, 0, &[9], 1, &flags(direction));
        let file = [
            order.section(),
            order.interface(1, 0, &[]),
            packet(1),
            packet(2),
            packet(0),
        ]
        .concat();
        let records = read(&file).unwrap();
        let directions: Vec<_> = records.iter().map(|r| r.direction).collect();
        let expected = [Some(Direction::Inbound), Some(Direction::Outbound), None];
        assert_eq!(directions, expected);
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let order = Order::Little;
    let start = [order.section(), order.interface(1, 0, &[])].concat();
    let at = start.len() as u64;
    let with = |more: &[u8]| read(&[&start, more].concat()).unwrap_err();
    let mut lengths = order.packet(0, 0, &[], 0);
    *lengths.last_mut().unwrap() = 1;
    // Of a packet without anything else, and of a block that nobody knows.
    let mut simple = order.block(3, &[&order.word(4)[..], &[1, 2, 3, 4]].concat());
    *simple.last_mut().unwrap() = 1;
    let odd = order.block(0x0bad_cafe, &[0; 9]);
    let mut huge = order.packet(0, 0, &[], 0);
    huge[7] = 0x7f;
    let mut long = order.packet(0, 0, &[1, 2, 3, 4], 4);
    long[20] = 200;
    for (error, word) in [
        (with(&order.packet(1, 0, &[], 0)), "interface 1"),
        (with(&order.packet(0, 0, &[], 0)[..30]), "cut off"),
        (with(&lengths), "at its end"),
        (with(&simple), "at its end"),
        (with(&odd), "21 bytes; it must be 12"),
        (with(&huge), "steps of four"),
        (with(&long), "does not fit"),
    ] {
        assert_eq!(error.at, at, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(matches!(
        read(b"GIF89a").unwrap_err().problem,
        Problem::NoCapture
    ));
    assert!(matches!(read(b"").unwrap_err().problem, Problem::NoCapture));
}

/// A file on a disk that fails after so many bytes.
struct Broken<'a>(&'a [u8]);

impl std::io::Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("bad sector")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_disk_that_fails_says_why_and_where() {
    let file = [Order::Big.section(), Order::Big.interface(1, 0, &[])].concat();
    let mut reader = Reader::new(Broken(&file)).unwrap();
    let error = reader.next_record().unwrap_err();
    assert_eq!(error.to_string(), "cannot be read: bad sector (byte 48)");
}

proptest! {
    /// Our own file with some bytes changed, or cut: an error or packets, never a panic.
    #[test]
    fn damaged_files_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = ours();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = read(&file);
        let cut = cut.index(file.len());
        let _ = read(&file[..cut]);
    }

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..300), start in 0..5_usize) {
        let magic: [&[u8]; 5] = [
            b"",
            &[0x0a, 0x0d, 0x0d, 0x0a],
            &[0xd4, 0xc3, 0xb2, 0xa1],
            &[0xa1, 0xb2, 0x3c, 0x4d],
            &Order::Big.section(),
        ];
        let _ = read(&[magic[start], &bytes].concat());
    }

    /// A cut file gives the packets before the cut, then says that it was cut.
    #[test]
    fn a_cut_file_is_an_error_unless_cut_between_blocks(cut in any::<prop::sample::Index>()) {
        let file = ours();
        let cut = cut.index(file.len());
        let whole_blocks = {
            let (mut ends, mut at) = (vec![], 0);
            while at < file.len() {
                at += u32::from_ne_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
                ends.push(at);
            }
            ends.contains(&cut)
        };
        prop_assert_eq!(read(&file[..cut]).is_ok(), whole_blocks);
    }
}

/// A packet of bare IP behind each header that a frame may have here.
#[test]
fn packets_of_other_links_are_ethernet_frames_too() {
    let ip = [&[0x45, 0][..], &[7; 18]].concat();
    let cooked = [
        &[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x08, 0x00][..],
        &ip,
    ]
    .concat();
    let second = [&[0x08, 0, 0, 0, 0, 0, 0, 9, 0, 1, 4, 6][..], &[0; 8], &ip].concat();
    for (number, bytes, on) in [
        (101, &ip, 0),
        (12, &ip, 0),
        (113, &cooked, 0),
        (276, &second, 9),
    ] {
        let order = Order::Little;
        let interface = order.interface(number, 0, &[]);
        let len = bytes.len() as u32;
        let file = [order.section(), interface, order.packet(0, 0, bytes, len)].concat();
        let record = &read(&file).unwrap()[0];
        let frame = record.ethernet().unwrap();
        assert_eq!(frame[12..14], [0x08, 0x00], "{number}");
        assert_eq!(frame[14..], ip, "{number}");
        assert_eq!(
            (record.ethernet_len(), record.seen_on()),
            (34, (0, on)),
            "{number}"
        );
    }
    let order = Order::Big;
    let file = [
        order.section(),
        order.interface(105, 0, &[]),
        order.packet(0, 0, &ip, 20),
    ];
    let other = read(&file.concat()).unwrap()[0].ethernet().unwrap_err();
    assert_eq!(other.to_string(), "105 (802.11)");
}
