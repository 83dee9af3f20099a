//! The signals by which a process that serves is told to stop or to read its configuration again.

use std::io;
use std::sync::mpsc::{Receiver, channel};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What the process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// SIGTERM or SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
}

/// The process's signals, from now on, in the place of what they do otherwise.
pub fn signals() -> io::Result<Receiver<Told>> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let (sender, receiver) = channel();
    let forward = move || {
        // Ends when nobody listens any more.
        let _ = signals
            .forever()
            .map(|signal| if signal == SIGHUP { Told::Reload } else { Told::Stop })
            .try_for_each(|told| sender.send(told));
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
    Ok(receiver)
}
