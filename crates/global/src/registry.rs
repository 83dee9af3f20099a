//! What may be asked for from another process: delegates and tasks by number, because code has no address that two
//! processes share. All processes register the same ones in the same order; the hash of the build and of that list goes
//! with every buffer, and a buffer with another hash is refused.

use std::any::{Any, type_name};
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;

use crate::error::GlobalError;
use crate::here::Here;
use crate::parts::Parts;
use crate::plain::{Plain, whole};

/// A delegate that can be asked for from another process: run at once where the part lies, by whoever unpacks its message.
/// Its body gets the part and the argument, and nothing that could wait.
pub trait Handler: 'static {
    /// What it works on: one locale's part of a symmetric object.
    type Target: Send + 'static;
    /// What is sent along.
    type Argument: Plain;
    /// What comes back.
    type Output: Plain;
    /// The body.
    fn run(target: &mut Self::Target, argument: Self::Argument) -> Self::Output;
}

/// A task that can be started from another process.
pub trait TaskHandler: 'static {
    /// What is sent along.
    type Argument: Plain;
    /// The task; it runs as a fiber of the locale that it was sent to, and may wait.
    fn start(here: Here, argument: Self::Argument) -> Pin<Box<dyn Future<Output = ()>>>;
}

type Call = fn(&dyn Any, usize, &[u8]) -> Result<Vec<u8>, GlobalError>;
type Start = fn(Here, &[u8]) -> Result<Pin<Box<dyn Future<Output = ()>>>, GlobalError>;

/// The delegates and tasks of a program, in order.
#[derive(Clone, Default)]
pub struct Registry {
    calls: Vec<(&'static str, Call)>,
    tasks: Vec<(&'static str, Start)>,
    salt: u64,
}

impl Registry {
    /// Without any.
    pub fn new() -> Self {
        Registry::default()
    }

    /// With one more delegate.
    #[must_use]
    pub fn with<H: Handler>(mut self) -> Self {
        let call: Call = |object, part, bytes| {
            let argument = whole(bytes, "a delegate's argument")?;
            let parts = object.downcast_ref::<Parts<H::Target>>();
            let parts = parts.ok_or(GlobalError::Malformed { what: "a delegate's object" })?;
            let mut output = Vec::new();
            let run = parts.with(part, |target| H::run(target, argument));
            run.ok_or(GlobalError::Malformed { what: "a delegate's locale" })?.write(&mut output);
            Ok(output)
        };
        self.calls.push((type_name::<H>(), call));
        self
    }

    /// With one more task.
    #[must_use]
    pub fn with_task<T: TaskHandler>(mut self) -> Self {
        let start: Start = |here, bytes| Ok(T::start(here, whole(bytes, "a task's argument")?));
        self.tasks.push((type_name::<T>(), start));
        self
    }

    /// With another hash, as if of another build: for tests, and for programs whose data decide what handlers mean.
    #[must_use]
    pub fn with_salt(mut self, salt: u64) -> Self {
        self.salt = salt;
        self
    }

    /// The hash of the program's file and of this list.
    pub fn build_hash(&self) -> u64 {
        let names = self.calls.iter().map(|(name, _)| *name).chain(["tasks"]);
        let names = names.chain(self.tasks.iter().map(|(name, _)| *name));
        names.fold(executable_hash() ^ self.salt, |hash, name| hash_bytes(hash, name.as_bytes()))
    }

    pub(crate) fn call_number<H: Handler>(&self) -> Option<u16> {
        let at = self.calls.iter().position(|(name, _)| *name == type_name::<H>())?;
        u16::try_from(at).ok()
    }

    pub(crate) fn task_number<T: TaskHandler>(&self) -> Option<u16> {
        let at = self.tasks.iter().position(|(name, _)| *name == type_name::<T>())?;
        u16::try_from(at).ok()
    }

    pub(crate) fn call(
        &self,
        number: u16,
        object: &dyn Any,
        part: usize,
        argument: &[u8],
    ) -> Result<Vec<u8>, GlobalError> {
        let (_, call) =
            self.calls.get(usize::from(number)).ok_or(GlobalError::Malformed { what: "a delegate" })?;
        call(object, part, argument)
    }

    pub(crate) fn start(
        &self,
        number: u16,
        here: Here,
        argument: &[u8],
    ) -> Result<Pin<Box<dyn Future<Output = ()>>>, GlobalError> {
        let (_, start) =
            self.tasks.get(usize::from(number)).ok_or(GlobalError::Malformed { what: "a task" })?;
        start(here, argument)
    }
}

/// FNV-1a, eight bytes a step: it tells builds apart, and defends against nothing.
fn hash_bytes(hash: u64, bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(hash, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29))
}

/// Of the file this process runs; where that cannot be read, of the package's version.
fn executable_hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| {
        let start = hash_bytes(0xcbf2_9ce4_8422_2325, env!("CARGO_PKG_VERSION").as_bytes());
        let file = std::env::current_exe().and_then(std::fs::read);
        file.map_or(start, |bytes| hash_bytes(start, &bytes))
    })
}
