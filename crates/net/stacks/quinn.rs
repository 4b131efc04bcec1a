//! QUIC by `quinn-proto` as a stack of a simulated network: one connection, over which the client
//! sends a stream that always has data. To be copied into your own project, and changed there.

use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::rustls::RootCertStore;
use quinn_proto::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
};
use sojourn_net::{Arrival, Datagram, Ecn, Stack, Time};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// With Ed25519, whose signatures have one length: that of ECDSA's varies from run to run.
const CERTIFICATE: &[u8] = include_bytes!("../tests/data/cert.der");
const KEY: &[u8] = include_bytes!("../tests/data/key.der");
/// The addresses are the network's; QUIC only needs one that stays.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4433);

/// What the stream carries. One large piece costs nothing to hand over, where small ones are
/// copied, and looked through for each packet.
static DATA: [u8; 1 << 20] = [0; 1 << 20];

/// One end.
pub struct Quic {
    endpoint: Endpoint,
    /// How a client connects, until it does.
    config: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    /// What simulated time zero is.
    epoch: Instant,
    /// The stream that always has data.
    stream: Option<StreamId>,
    sends: bool,
    /// Sent by the endpoint itself, before there is a connection.
    waiting: VecDeque<Datagram>,
    buffer: Vec<u8>,
    /// Bytes of the stream that have come.
    pub received: u64,
}

impl fmt::Debug for Quic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quic")
            .field("connection", &self.connection)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

impl Quic {
    /// A client and a server. `transport` changes what they begin with.
    pub fn pair(transport: impl Fn(&mut TransportConfig)) -> [Self; 2] {
        #[expect(
            clippy::disallowed_methods,
            reason = "any will do: only differences count"
        )]
        let epoch = Instant::now();
        let mut config = TransportConfig::default();
        // As much as the path takes: the defaults are for 100 ms at 100 Mbit/s.
        config.receive_window(VarInt::from_u32(1 << 26));
        config.stream_receive_window(VarInt::from_u32(1 << 26));
        config.send_window(1 << 26);
        transport(&mut config);
        let config = Arc::new(config);
        let certificate = CertificateDer::from(CERTIFICATE);
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).expect("our own certificate");
        let key = PrivateKeyDer::try_from(KEY).expect("our own key");
        let server = quinn_proto::rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("our own pair");
        let client = quinn_proto::rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let crypto = QuicServerConfig::try_from(server).expect("TLS 1.3 is there");
        let mut server = ServerConfig::with_crypto(Arc::new(crypto));
        server.transport_config(Arc::clone(&config));
        let crypto = QuicClientConfig::try_from(client).expect("TLS 1.3 is there");
        let mut client = ClientConfig::new(Arc::new(crypto));
        client.transport_config(config);
        let end = |server, seed| {
            let endpoint = Arc::new(EndpointConfig::default());
            Self {
                config: None,
                // Packet numbers that are left out, and all else that is drawn outside of TLS.
                endpoint: Endpoint::new(endpoint, server, true, Some([seed; 32])),
                connection: None,
                epoch,
                stream: None,
                sends: false,
                waiting: VecDeque::new(),
                buffer: Vec::new(),
                received: 0,
            }
        };
        let [mut first, second] = [end(None, 1), end(Some(Arc::new(server)), 2)];
        first.sends = true;
        first.config = Some(client);
        [first, second]
    }

    /// Sends no more of the stream.
    pub fn stop(&mut self) {
        self.sends = false;
        self.config = None;
        if let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream.take()) {
            // An error says that the peer wants no more either.
            let _ = connection.send_stream(stream).reset(VarInt::from_u32(0));
        }
    }

    /// The connection; none at a server before the client has come.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    fn instant(&self, now: Time) -> Instant {
        self.epoch + Duration::from_nanos(now.as_nanos())
    }

    /// Events that go from connection to endpoint and back, and what the application does.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.sends => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    self.stream = connection.streams().accept(dir);
                }
                _ => {}
            }
        }
        let Some(stream) = self.stream else {
            return;
        };
        if self.sends {
            let mut pieces = [Bytes::from_static(&DATA)];
            while let Ok(1..) = { connection.send_stream(stream).write_chunks(&mut pieces) }
                .map(|written| written.bytes)
            {
                pieces = [Bytes::from_static(&DATA)];
            }
        } else if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.received += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize();
        }
    }

    fn datagram(&mut self, transmit: &Transmit) -> Datagram {
        let mut payload = mem::take(&mut self.buffer);
        payload.truncate(transmit.size);
        Datagram {
            payload,
            ecn: Ecn::from_bits(transmit.ecn.map_or(0, |ecn| ecn as u8)),
            ..Datagram::default()
        }
    }
}

impl Stack for Quic {
    fn input(&mut self, arrival: Arrival) {
        let now = self.instant(arrival.at);
        let Datagram { payload, ecn, .. } = arrival.datagram;
        // Without a copy.
        let bytes = BytesMut::from(Bytes::from(payload));
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        let event = self
            .endpoint
            .handle(now, PEER, None, ecn, bytes, &mut self.buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut self.buffer, None);
                self.connection = accepted.ok();
            }
            Some(DatagramEvent::Response(transmit)) => {
                let datagram = self.datagram(&transmit);
                self.waiting.push_back(datagram);
            }
            None => {}
        }
        self.buffer.clear();
    }

    fn timeout(&mut self, now: Time) {
        let now = self.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn output(&mut self, now: Time) -> Option<Datagram> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Some(waiting);
        }
        let now = self.instant(now);
        if let Some(config) = self.config.take() {
            let connection = self.endpoint.connect(now, config, PEER, "localhost");
            self.connection = Some(connection.expect("the configuration is right"));
        }
        self.settle();
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(now, 1, &mut self.buffer)?;
        Some(self.datagram(&transmit))
    }

    fn next_timeout(&mut self) -> Option<Time> {
        let (_, connection) = self.connection.as_mut()?;
        let since = connection.poll_timeout()?.duration_since(self.epoch);
        Some(Time::from_nanos(since.as_nanos() as u64))
    }
}
