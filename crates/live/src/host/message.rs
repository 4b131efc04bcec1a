//! Messages on a stream: each begins with its tag and its length, the rest is zeros.

use sojourn_apps::Message;

/// Bytes of tag and length.
pub(super) const HEAD: usize = Message::LEAST as usize;

/// The first bytes of a message.
pub(super) fn head(message: Message) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..8].copy_from_slice(&message.tag.to_be_bytes());
    bytes[8..].copy_from_slice(&message.len.to_be_bytes());
    bytes
}

/// Finds the messages in a stream that arrives in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    have: usize,
    /// Bytes of the message that are still to come, once its head is there.
    left: usize,
}

impl Reader {
    /// Takes the next bytes of the stream up to the end of a message; returns how many, and the
    /// message if it is whole.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Message>) {
        let mut taken = 0;
        if self.have < HEAD {
            taken = bytes.len().min(HEAD - self.have);
            self.head[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            if self.have < HEAD {
                return (taken, None);
            }
            let message = self.message();
            // A peer that lies about the length only gets itself out of step.
            self.left = (message.len as usize).saturating_sub(HEAD);
        }
        let body = self.left.min(bytes.len() - taken);
        self.left -= body;
        taken += body;
        if self.left > 0 {
            return (taken, None);
        }
        self.have = 0;
        (taken, Some(self.message()))
    }

    fn message(&self) -> Message {
        let (tag, len) = (self.head.first_chunk(), self.head.last_chunk());
        Message {
            tag: u64::from_be_bytes(*tag.expect("a head has 12 bytes")),
            len: u32::from_be_bytes(*len.expect("a head has 12 bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_whole_however_the_stream_is_cut() {
        let messages = [
            Message::new(7, 0),
            Message::new(u64::MAX, 40),
            Message::new(0, 12),
        ];
        let mut stream = Vec::new();
        for message in messages {
            stream.extend(head(message));
            stream.resize(stream.len() + message.len as usize - HEAD, 0);
        }
        for piece in 1..=stream.len() {
            let (mut reader, mut found) = (Reader::default(), Vec::new());
            for mut bytes in stream.chunks(piece) {
                while !bytes.is_empty() {
                    let (taken, message) = reader.take(bytes);
                    assert!(taken > 0);
                    found.extend(message);
                    bytes = &bytes[taken..];
                }
            }
            assert_eq!(found, messages, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_length_below_the_head_is_taken_as_the_head() {
        let mut reader = Reader::default();
        let lie = Message { tag: 1, len: 3 };
        assert_eq!(reader.take(&head(lie)), (HEAD, Some(lie)));
    }
}
