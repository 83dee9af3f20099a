//! Why a run ends early: an error, or an interrupt.

use std::sync::atomic::AtomicBool;

use engine::Error;

/// An interrupt has come and the statement that runs has not ended yet.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Why a run ended early. The message is already on standard error.
pub enum Failed {
    /// By an error.
    Reported,
    /// By Ctrl-C; scripts tell it by the exit status, as of any other command.
    Interrupted,
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        // A reader that went away (`| head`) is no failure worth a message.
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("quickstep: {error}");
        }
        Failed::Reported
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        eprintln!("{}", error.render(""));
        Failed::Reported
    }
}
