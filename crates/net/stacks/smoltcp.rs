//! `smoltcp` as a stack of a simulated network: one TCP connection, over which the first end sends
//! all the time. To be copied into your own project, and changed there.
//!
//! It makes IP packets itself. They are the payloads here, as in a tunnel over UDP.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use sojourn_net::{Arrival, Datagram, Span, Stack, Time};
use std::collections::VecDeque;

/// What fits an Ethernet frame beside the tunnel's headers.
const MTU: usize = 1472;
const PORT: u16 = 80;
/// Of the send and the receive buffer.
const BUFFER: usize = 256 * 1024;

/// One end.
pub(crate) struct Smoltcp {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    wire: Wire,
    sends: bool,
    now: Time,
    /// Bytes that have come.
    pub(crate) received: u64,
}

/// Packets on their way in and out.
#[derive(Default)]
struct Wire {
    rx: VecDeque<Vec<u8>>,
    tx: VecDeque<Vec<u8>>,
}

struct Rx(Vec<u8>);
struct Tx<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        Some((Rx(self.rx.pop_front()?), Tx(&mut self.tx)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.tx))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

fn instant(now: Time) -> Instant {
    Instant::from_micros((now.as_nanos() / 1000).cast_signed())
}

impl Smoltcp {
    /// The end that sends, and the other one.
    pub(crate) fn pair() -> [Self; 2] {
        [true, false].map(|sends| {
            let mut wire = Wire::default();
            let mut config = Config::new(HardwareAddress::Ip);
            config.random_seed = u64::from(sends);
            let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
            let address = |last| IpAddress::v4(10, 0, 0, last);
            let own = if sends { 1 } else { 2 };
            interface.update_ip_addrs(|all| {
                all.push(IpCidr::new(address(own), 24)).expect("the first");
            });
            let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
            let mut socket = tcp::Socket::new(buffer(), buffer());
            let begun = if sends {
                let to = (address(2), PORT);
                socket.connect(interface.context(), to, 49_152).is_ok()
            } else {
                socket.listen(PORT).is_ok()
            };
            assert!(begun, "a new socket can do both");
            let mut sockets = SocketSet::new(Vec::new());
            Self {
                socket: sockets.add(socket),
                sockets,
                interface,
                wire,
                sends,
                now: Time::ZERO,
                received: 0,
            }
        })
    }

    /// What the application does.
    fn work(&mut self) {
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
        if self.sends && socket.may_send() {
            while matches!(socket.send_slice(&[0; 8192]), Ok(1..)) {}
        }
        while let Ok(taken @ 1..) = socket.recv(|bytes| (bytes.len(), bytes.len())) {
            self.received += taken as u64;
        }
    }
}

impl Stack for Smoltcp {
    fn input(&mut self, arrival: Arrival) {
        self.wire.rx.push_back(arrival.datagram.payload);
    }

    fn timeout(&mut self, _now: Time) {}

    fn output(&mut self, now: Time) -> Option<Datagram> {
        self.now = now;
        if self.wire.tx.is_empty() {
            self.work();
            (self.interface).poll(instant(now), &mut self.wire, &mut self.sockets);
            self.work();
        }
        let payload = self.wire.tx.pop_front()?;
        Some(Datagram {
            payload,
            ..Datagram::default()
        })
    }

    fn next_timeout(&mut self) -> Option<Time> {
        // Its clock has microseconds: what it asks for within this one is due in the next.
        let now = instant(self.now);
        let at = self.interface.poll_at(now, &self.sockets)?.max(now);
        Some(Time::ZERO + Span::from_micros(at.total_micros().unsigned_abs() + 1))
    }
}
