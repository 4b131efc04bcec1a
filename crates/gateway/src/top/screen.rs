//! The terminal, which is as before however the program ends.

use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::{cursor, execute};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::time::Duration;

/// The terminal as a page. What is inside is never dropped: of a terminal that has gone it would
/// complain there, which panics.
pub(super) struct Screen(ManuallyDrop<DefaultTerminal>);

impl Screen {
    /// Takes the terminal over; a panic gives it back too.
    pub(super) fn open() -> io::Result<Self> {
        let terminal = ratatui::try_init().inspect_err(|_| give_back())?;
        Ok(Self(ManuallyDrop::new(terminal)))
    }

    pub(super) fn draw(&mut self, page: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(page).map(drop)
    }

    /// The next key, if one comes before `patience` is over. A terminal that has gone is an error:
    /// crossterm would read from it for ever.
    pub(super) fn key(patience: Duration) -> io::Result<Option<KeyEvent>> {
        let terminal = io::stdout();
        let mut polled = [PollFd::new(&terminal, PollFlags::IN)];
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&patience)) {
            // The window has another size.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if polled[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR)
        {
            return Err(io::Error::new(ErrorKind::BrokenPipe, "it has gone"));
        }
        if !event::poll(Duration::ZERO)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(key),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back; nothing more can be done where it refuses.
pub(super) fn give_back() {
    let _ = ratatui::try_restore();
    let _ = execute!(io::stdout(), cursor::Show);
}
