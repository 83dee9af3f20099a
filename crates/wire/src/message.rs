//! Messages: memory that is written once, sent to one machine or to many, and used again.
//!
//! ```text
//!  local, never sent   | memory key u64 | node u16 | retain count u32 |
//!  sent                | header, 64 bytes | body: used bytes |          the rest of the memory stays here
//!
//!  Pool --take--> Message ----seal----> Sealed --clone--> Sealed        a Message has one holder, who writes;
//!    ^               |                     |  drop           | drop      a Sealed is read only and counts its holders
//!    +----drop-------+                     +-----------------+--> the last holder's drop gives the memory back
//! ```
//! A broadcast is serialised once: each destination's queue holds a clone of the one [`Sealed`]. Vectors that were read
//! without a copy hold their message too.
//!
//! The retain count is ours and not `Arc`'s because the last holder must keep the allocation of the `Arc` itself: it
//! goes back to the pool with the memory, so that a stream of messages allocates nothing. Protocol: `retain` is 1 from
//! `seal` on; `clone` adds 1; a drop subtracts 1 and whoever reaches 0 gives the `Arc` to the pool. Other holders may
//! then still be between their subtraction and the drop of their `Arc`; the pool therefore hands out only what it holds
//! alone (`Arc::get_mut`), and keeps the rest for a moment longer.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use arrow_buffer::Buffer;
use types::{Error, Result};

use crate::buffers::{Home, Slab};
use crate::header::{HEADER_BYTES, Header};

/// What belongs to a message on its own machine and never travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// By which the transport knows the memory, where memory is registered.
    pub memory_key: u64,
    /// The memory node that the memory lies on.
    pub node: u16,
    /// Holders of the sealed message; 0 while it is written.
    pub retain: u32,
}

/// A message's memory, with what the pool needs to know of it. Only messages and pools hold one.
pub struct Shell {
    slab: Box<dyn Slab>,
    node: u16,
    /// Bytes from the header's first on that are used.
    length: usize,
    header: Header,
    retain: AtomicU32,
    home: Weak<dyn Home>,
}

impl Shell {
    /// A shell around memory, which goes back to `home`.
    pub fn new(slab: Box<dyn Slab>, node: u16, home: Weak<dyn Home>) -> Arc<Shell> {
        let header = Header::default();
        Arc::new(Shell { slab, node, length: HEADER_BYTES, header, retain: AtomicU32::new(0), home })
    }
    /// The memory node that the memory lies on.
    pub fn node(&self) -> u16 {
        self.node
    }
}

/// A message that is being written, or received; its memory goes back to the pool if it is dropped.
pub struct Message(Option<Arc<Shell>>);

/// The holder of a message is known to be alone: `Message::new` checked it, and there is no `clone`.
const ONE_HOLDER: &str = "a message that is written has one holder";

impl Message {
    /// A message in this memory; `Err` gives the shell back if another holder has not let go of it yet.
    pub fn new(mut shell: Arc<Shell>) -> std::result::Result<Message, Arc<Shell>> {
        match Arc::get_mut(&mut shell) {
            Some(alone) => {
                alone.length = HEADER_BYTES;
                Ok(Message(Some(shell)))
            }
            None => Err(shell),
        }
    }
    fn shell(&self) -> &Shell {
        match &self.0 {
            Some(shell) => shell,
            None => unreachable!("{ONE_HOLDER}"),
        }
    }
    fn shell_mut(&mut self) -> &mut Shell {
        match self.0.as_mut().and_then(Arc::get_mut) {
            Some(shell) => shell,
            None => unreachable!("{ONE_HOLDER}"),
        }
    }
    /// Bytes of the longest body.
    pub fn body_bytes_max(&self) -> usize {
        self.shell().slab.bytes().len() - HEADER_BYTES
    }
    /// The whole room for a body.
    pub fn body_mut(&mut self) -> &mut [u8] {
        &mut self.shell_mut().slab.bytes_mut()[HEADER_BYTES..]
    }
    /// The first `length` bytes of the room for a body.
    pub fn body(&self, length: usize) -> &[u8] {
        &self.shell().slab.bytes()[HEADER_BYTES..HEADER_BYTES + length]
    }
    /// Header and body, for a transport that receives into it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.shell_mut().slab.bytes_mut()
    }
    /// The memory node that the memory lies on.
    pub fn node(&self) -> u16 {
        self.shell().node
    }
    /// Ends the writing: the body is the first `header.used` bytes of its room. Writes header and checksum.
    ///
    /// # Panics
    /// When the header says more bytes than there are: it is the caller's own.
    pub fn seal(mut self, header: Header) -> Sealed {
        let shell = self.shell_mut();
        let (head, rest) = shell.slab.bytes_mut().split_at_mut(HEADER_BYTES);
        if let Ok(head) = head.try_into() {
            header.write(&rest[..header.used as usize], head);
        }
        self.sealed(header)
    }
    /// Ends the receiving: the message's memory holds a header and its body, as they came.
    ///
    /// # Errors
    /// A header or checksum that is wrong.
    pub fn received(self) -> Result<Sealed> {
        let bytes = self.shell().slab.bytes();
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Error::internal("a message's memory is shorter than a header"));
        };
        let header = Header::parse(head, rest.len())?;
        header.verify(head, &rest[..header.used as usize])?;
        Ok(self.sealed(header))
    }
    /// Ends the writing of a body that stays on this machine: no header and no checksum is written.
    pub fn hold(self, header: Header) -> Sealed {
        self.sealed(header)
    }
    fn sealed(mut self, header: Header) -> Sealed {
        let shell = self.shell_mut();
        shell.header = header;
        shell.length = HEADER_BYTES + header.used as usize;
        shell.retain = AtomicU32::new(1);
        Sealed(self.0.take())
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(shell) = self.0.take() {
            go_home(shell);
        }
    }
}

fn go_home(shell: Arc<Shell>) {
    // A pool that is gone needs nothing back.
    if let Some(home) = shell.home.upgrade() {
        home.give(shell);
    }
}

/// A message as it travels, read only; a clone is another holder of the same bytes.
pub struct Sealed(Option<Arc<Shell>>);

impl Sealed {
    fn shell(&self) -> &Shell {
        match &self.0 {
            Some(shell) => shell,
            None => unreachable!("a sealed message has its memory until it is dropped"),
        }
    }
    /// Its header.
    pub fn header(&self) -> &Header {
        &self.shell().header
    }
    /// Header and body: what is put on the wire.
    pub fn bytes(&self) -> &[u8] {
        let shell = self.shell();
        &shell.slab.bytes()[..shell.length]
    }
    /// The body alone, compressed if the header says so.
    pub fn body(&self) -> &[u8] {
        &self.bytes()[HEADER_BYTES..]
    }
    /// What stays on this machine.
    pub fn local(&self) -> Local {
        let shell = self.shell();
        Local { memory_key: shell.slab.key(), node: shell.node, retain: shell.retain.load(Ordering::Relaxed) }
    }
    /// The body as a buffer that vectors can share; it holds the message.
    pub fn body_buffer(&self) -> Buffer {
        let length = self.body().len();
        Buffer::from(bytes::Bytes::from_owner(self.clone())).slice_with_length(HEADER_BYTES, length)
    }
}

impl AsRef<[u8]> for Sealed {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Clone for Sealed {
    fn clone(&self) -> Self {
        // As in `Arc`: a new holder comes from one that is there, so nothing has to be seen with it.
        self.shell().retain.fetch_add(1, Ordering::Relaxed);
        Sealed(self.0.clone())
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        if let Some(shell) = self.0.take()
            && shell.retain.fetch_sub(1, Ordering::AcqRel) == 1
        {
            go_home(shell);
        }
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("header", self.header()).field("local", &self.local()).finish()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("body_bytes_max", &self.body_bytes_max()).finish()
    }
}
