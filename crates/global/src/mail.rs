//! Messages from the view of a locale: posting them to siblings and to other processes, flushing, unpacking, and what each
//! kind does when it arrives.
//!
//! A message for a sibling waits in this locale's outbox for it and leaves with others; one for another process waits on the
//! list that `network.rs` keeps. Both leave by number or size, by age, and when this locale has nothing else to do. Whoever
//! unpacks a buffer does what can be done anywhere on the node (words, calls), and passes on what belongs to one locale.

use std::sync::Arc;

use crate::address::{Distribution, Layout, LocaleId, Target};
use crate::completion::Note;
use crate::error::GlobalError;
use crate::events::Value;
use crate::fiber::FiberId;
use crate::here::Here;
use crate::network::Reason;
use crate::packet::{Answer, EventId, Packet, ReplyTo};
use crate::parts::{Object, Word, Words};
use crate::plain::{Plain, whole};
use crate::task::{Letter, Task};

/// What a control message is about.
pub(crate) const ALLOCATE: u8 = 0;
pub(crate) const FREE: u8 = 1;
pub(crate) const STOP: u8 = 2;
pub(crate) const FAILED: u8 = 3;
/// The program is over at the sender, which waits for LEAVE.
pub(crate) const DONE: u8 = 4;
/// It is over at all nodes.
pub(crate) const LEAVE: u8 = 5;

/// An array that all nodes allocate their parts of: object, kind of word, length, block, and who waits for word of it.
pub(crate) type Allocation = (u16, (u8, u64, u64), (u16, u32));

impl Here {
    /// Puts a letter into the outbox for a locale of this process.
    pub(crate) fn post(&self, to: usize, letter: Letter) {
        let settings = &self.0.process.config.aggregation;
        let mut outboxes = self.0.outboxes.borrow_mut();
        let outbox = &mut outboxes[to];
        outbox.letters.push(letter);
        outbox.messages += 1;
        self.0.queued.set(self.0.queued.get() + 1);
        if !settings.on || outbox.messages >= settings.flush_letters {
            drop(outboxes);
            self.flush_outbox(to);
        }
    }

    /// Sends a message to a locale, of this process or another one.
    pub(crate) fn post_packet(&self, to: LocaleId, packet: &Packet<'_>) {
        let process = &self.0.process;
        let Some(own) = process.own(to) else {
            return self.post_to_node(process.node_of(to), packet);
        };
        let settings = &process.config.aggregation;
        let mut outboxes = self.0.outboxes.borrow_mut();
        let outbox = &mut outboxes[own];
        packet.write(&mut outbox.packed);
        outbox.messages += 1;
        self.0.queued.set(self.0.queued.get() + 1);
        let full = outbox.messages >= settings.flush_letters || outbox.packed.len() >= settings.flush_bytes;
        if !settings.on || full {
            drop(outboxes);
            self.flush_outbox(own);
        }
    }

    pub(crate) fn post_to_node(&self, node: u16, packet: &Packet<'_>) {
        let Some(network) = &self.0.process.network else { return };
        if network.post(self.0.index, node, packet) {
            let why = if self.0.process.config.aggregation.on { Reason::Size } else { Reason::AtOnce };
            self.check(network.flush(node, self.0.index, why));
        }
    }

    /// An error of the network ends the program.
    pub(crate) fn check<T: Default>(&self, result: Result<T, GlobalError>) -> T {
        result.unwrap_or_else(|error| {
            self.0.process.fail(error);
            T::default()
        })
    }

    fn flush_outbox(&self, to: usize) {
        let mut outboxes = self.0.outboxes.borrow_mut();
        let outbox = &mut outboxes[to];
        if outbox.messages == 0 {
            return;
        }
        if !outbox.packed.is_empty() {
            let packed = std::mem::take(&mut outbox.packed);
            outbox.letters.push(Letter::Packed(packed));
        }
        let messages = std::mem::take(&mut outbox.messages);
        self.0.queued.set(self.0.queued.get() - messages);
        self.count(|counts| {
            counts.letters += messages as u64;
            counts.batches += 1;
        });
        self.0.process.deliver(to, &mut outbox.letters);
        outbox.letters.clear();
    }

    /// Sends what waits for siblings.
    pub(crate) fn flush_outboxes(&self) {
        if self.0.queued.get() > 0 {
            (0..self.0.process.config.locales).for_each(|to| self.flush_outbox(to));
        }
    }

    /// Sends what waits for other processes: for those that this locale is responsible for.
    pub(crate) fn flush_network(&self, why: Reason) -> bool {
        let process = &self.0.process;
        let Some(network) = &process.network else { return false };
        let mut any = false;
        for node in (0..process.nodes).filter(|node| *node != process.node) {
            let mine = usize::from(node) % process.config.locales == self.0.index;
            if mine && (why == Reason::Idle || network.is_old(node)) {
                any |= self.check(network.flush(node, self.0.index, why));
            }
        }
        any
    }

    pub(crate) fn send_note(&self, to: LocaleId, event: EventId, note: Note) {
        self.count(|counts| counts.notes += 1);
        match self.0.process.own(to) {
            Some(own) if own == self.0.index => self.take_note(event, self.0.id, note),
            Some(own) => self.post(own, Letter::Note(event, self.0.id, note)),
            None => self.post_packet(to, &Packet::Note { event, from: self.0.id, to, note }),
        }
    }

    /// Says what completion events have to say.
    pub(crate) fn report(&self) {
        while self.0.events.borrow().has_reports() {
            let (mut send, mut wake) = (Vec::new(), Vec::new());
            self.0.events.borrow_mut().report(&mut send, &mut wake);
            self.act(send, wake);
        }
    }

    fn act(&self, send: Vec<(LocaleId, EventId, Note)>, wake: Vec<FiberId>) {
        send.into_iter().for_each(|(to, event, note)| self.send_note(to, event, note));
        wake.into_iter().for_each(|fiber| self.wake(fiber));
    }

    fn take_note(&self, event: EventId, from: LocaleId, note: Note) {
        let (mut send, mut wake) = (Vec::new(), Vec::new());
        let known = self.0.events.borrow_mut().note(event, from, note, &mut send, &mut wake);
        if known.is_none() {
            return self.fail(GlobalError::Malformed { what: "a note of a completion event" });
        }
        self.act(send, wake);
    }

    pub(crate) fn take_reply(&self, slot: u32, value: Value) {
        match self.0.replies.borrow_mut().fill(slot, value) {
            Some(fiber) => self.wake(fiber),
            None => self.fail(GlobalError::Malformed { what: "a reply" }),
        }
    }

    /// Looks at what came for this locale, and at what came for the node. Whether there was anything.
    pub(crate) fn poll_mail(&self) -> bool {
        let mut any = false;
        if self.0.process.has_mail(self.0.index) {
            any = true;
            let mut letters = Vec::new();
            self.0.process.take_mail(self.0.index, &mut letters);
            letters.into_iter().for_each(|letter| self.open_letter(letter));
        }
        if let Some(network) = &self.0.process.network {
            // Whoever looks takes it: one locale with a long body must not hold up the node. Between two buffers as well:
            // an urgent one goes before those that wait.
            loop {
                any |= self.check(network.receive());
                let Some(arrived) = network.take() else { break };
                any = true;
                self.unpack(arrived.messages());
                network.unpacked(arrived);
            }
        }
        any
    }

    fn open_letter(&self, letter: Letter) {
        match letter {
            Letter::Run(body) => body(self),
            Letter::Reply(slot, value) => self.take_reply(slot, Value::Word(value)),
            Letter::ReplyBytes(slot, bytes) => self.take_reply(slot, Value::Bytes(bytes)),
            Letter::Note(event, from, note) => self.take_note(event, from, note),
            Letter::Task(task) => self.0.private.borrow_mut().push_back(task),
            Letter::Packed(bytes) => self.unpack(&bytes),
        }
    }

    /// Does what the messages of a buffer say.
    pub(crate) fn unpack(&self, mut bytes: &[u8]) {
        let mut last: Option<(u16, Arc<dyn Object>)> = None;
        while !bytes.is_empty() {
            let done = Packet::read(&mut bytes).and_then(|packet| self.take_packet(packet, &mut last));
            if let Err(error) = done {
                return self.fail(error);
            }
        }
    }

    fn object(
        &self,
        id: u16,
        last: &mut Option<(u16, Arc<dyn Object>)>,
    ) -> Result<Arc<dyn Object>, GlobalError> {
        if let Some((_, object)) = last.as_ref().filter(|(of, _)| *of == id) {
            return Ok(Arc::clone(object));
        }
        let object =
            self.0.process.object(id).ok_or(GlobalError::Malformed { what: "an object's number" })?;
        *last = Some((id, Arc::clone(&object)));
        Ok(object)
    }

    fn take_packet(
        &self,
        packet: Packet<'_>,
        last: &mut Option<(u16, Arc<dyn Object>)>,
    ) -> Result<(), GlobalError> {
        match packet {
            Packet::Word { operation, address, operand, second, answer } => {
                let bad = GlobalError::Malformed { what: "an address" };
                let (id, place) = match address.target() {
                    Target::Element { object, index } => (object, Err(index)),
                    Target::Place { locale, object, offset } => (object, Ok((locale, offset))),
                };
                if last.as_ref().is_none_or(|(of, _)| *of != id) {
                    self.object(id, last)?;
                }
                let Some((_, object)) = last else { return Err(bad) };
                let place =
                    place.or_else(|index| object.layout().map(|layout| layout.place(index)).ok_or(()));
                let value =
                    place.ok().and_then(|(locale, at)| object.word(locale, at, operation, operand, second));
                self.answer(answer, Value::Word(value.ok_or(bad)?));
            }
            Packet::Reply { to, value } => self.reply(to, Value::Word(value)),
            Packet::ReplyBytes { to, bytes } => self.reply(to, Value::Bytes(bytes.to_vec())),
            Packet::Note { event, from, to, note } => match self.0.process.own(to) {
                Some(own) if own == self.0.index => self.take_note(event, from, note),
                Some(own) => self.post(own, Letter::Note(event, from, note)),
                None => return Err(GlobalError::Malformed { what: "a note's locale" }),
            },
            Packet::Call { handler, object, locale, argument, answer } => {
                let object = self.object(object, last)?;
                let own = self.0.process.own(locale);
                let own = own.ok_or(GlobalError::Malformed { what: "a call's locale" })?;
                let output = self.0.process.registry.call(handler, object.as_any(), own, argument)?;
                self.answer(answer, Value::Bytes(output));
            }
            Packet::Task { handler, locale, argument, answer } => {
                let own = self.0.process.own(locale);
                let own = own.ok_or(GlobalError::Malformed { what: "a task's locale" })?;
                let (process, argument) = (Arc::clone(&self.0.process), argument.to_vec());
                let enrolled = match answer {
                    Answer::Event(event, origin) => Some((event, origin)),
                    _ => None,
                };
                let start = move |here: Here| match process.registry.start(handler, here, &argument) {
                    Ok(future) => future,
                    Err(error) => {
                        process.fail(error);
                        Box::pin(std::future::ready(()))
                    }
                };
                self.post(own, Letter::Task(Task::Fiber(Box::new(start), enrolled)));
            }
            Packet::Control { what, bytes } => self.control(what, bytes)?,
        }
        Ok(())
    }

    pub(crate) fn answer(&self, answer: Answer, value: Value) {
        match answer {
            Answer::Nothing => {}
            Answer::Reply(to) => self.reply(to, value),
            Answer::Urgent(to) => self.reply_urgently(to, value),
            Answer::Event(event, origin) => self.complete(event, origin),
        }
    }

    pub(crate) fn reply(&self, to: ReplyTo, value: Value) {
        match (self.0.process.own(to.locale), value) {
            (Some(own), value) if own == self.0.index => self.take_reply(to.slot, value),
            (Some(own), Value::Word(value)) => self.post(own, Letter::Reply(to.slot, value)),
            (Some(own), Value::Bytes(bytes)) => self.post(own, Letter::ReplyBytes(to.slot, bytes)),
            (None, Value::Word(value)) => self.post_packet(to.locale, &Packet::Reply { to, value }),
            (None, Value::Bytes(bytes)) => {
                self.post_packet(to.locale, &Packet::ReplyBytes { to, bytes: &bytes })
            }
            (_, Value::Empty | Value::Abandoned) => {}
        }
    }

    fn reply_urgently(&self, to: ReplyTo, value: Value) {
        match value {
            Value::Bytes(bytes) if self.0.process.own(to.locale).is_none() => {
                let sent = self.post_urgently(to.locale, &Packet::ReplyBytes { to, bytes: &bytes });
                self.check(sent);
            }
            value => self.reply(to, value),
        }
    }

    fn control(&self, what: u8, bytes: &[u8]) -> Result<(), GlobalError> {
        let process = &self.0.process;
        match what {
            ALLOCATE => {
                let (id, (kind, length, block), (locale, slot)): Allocation = whole(bytes, "an allocation")?;
                let layout = Layout::new(length, process.locales(), Distribution::BlockCyclic(block))?;
                let (first, own, budget) =
                    (process.first_locale(), process.config.locales, &process.config.budget);
                let object = words_of_kind(kind, layout, first, own, budget)?;
                process.put_object(id, object);
                self.reply(ReplyTo { locale: LocaleId(locale), slot }, Value::Word(1));
            }
            FREE => process.remove_object(whole(bytes, "an object's number")?),
            STOP => process.stop(),
            FAILED => {
                let (node, message) = whole(bytes, "a failure")?;
                process.fail(GlobalError::OtherNode { node, message });
            }
            _ => return Err(GlobalError::Malformed { what: "a control message" }),
        }
        Ok(())
    }
}

fn words_of_kind(
    kind: u8,
    layout: Layout,
    first: usize,
    own: usize,
    budget: &memory::Budget,
) -> Result<Arc<dyn Object>, GlobalError> {
    Ok(match kind {
        <u64 as Word>::KIND => Arc::new(Words::<u64>::new(layout, first, own, budget)?),
        <i64 as Word>::KIND => Arc::new(Words::<i64>::new(layout, first, own, budget)?),
        <u32 as Word>::KIND => Arc::new(Words::<u32>::new(layout, first, own, budget)?),
        <f64 as Word>::KIND => Arc::new(Words::<f64>::new(layout, first, own, budget)?),
        _ => return Err(GlobalError::Malformed { what: "a kind of word" }),
    })
}

/// A control message as bytes.
pub(crate) fn control_bytes(value: &impl Plain) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    bytes
}
