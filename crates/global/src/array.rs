//! Global arrays of words, spread over all locales of all nodes. In one process an element is an atomic cell that every
//! locale reaches; over processes an operation is a message to the element's node.
//!
//! Invariants: an index is checked against the length before it is followed; the last owning handle frees the parts on all
//! nodes, a borrowed one nothing. Tasks call it; `mail.rs` allocates the parts of other nodes' arrays.

use std::future::Future;
use std::sync::{Arc, Weak};

use crate::address::{Distribution, GlobalAddress, Layout, LocaleId};
use crate::delegate::{Delegate, word_of};
use crate::error::GlobalError;
use crate::here::Here;
use crate::mail::{ALLOCATE, Allocation, FREE, control_bytes};
use crate::packet::{Answer, EventId, Operation, Packet};
use crate::parts::{Object, Word, Words};
use crate::process::Process;

/// An array in global memory; clones are handles of the same one, and the last one dropped frees it on all nodes, so
/// asynchronous operations on it have to be over by then.
pub struct GlobalArray<T: Word>(Arc<Inner<T>>);

impl<T: Word> Clone for GlobalArray<T> {
    fn clone(&self) -> Self {
        GlobalArray(Arc::clone(&self.0))
    }
}

struct Inner<T: Word> {
    words: Arc<Words<T>>,
    id: u16,
    /// None: a borrowed handle, which frees nothing.
    process: Option<Weak<Process>>,
}

impl<T: Word> Drop for Inner<T> {
    fn drop(&mut self) {
        let Some(process) = self.process.as_ref().and_then(Weak::upgrade) else { return };
        process.remove_object(self.id);
        if let Some(network) = &process.network {
            let bytes = control_bytes(&self.id);
            for node in (0..process.nodes).filter(|node| *node != process.node) {
                network.post(0, node, &Packet::Control { what: FREE, bytes: &bytes });
            }
        }
    }
}

impl<T: Word> GlobalArray<T> {
    /// An array of zeros (all bits 0), charged to each node's budget for its parts.
    pub async fn new(here: &Here, length: u64, distribution: Distribution) -> Result<Self, GlobalError> {
        let process = &here.0.process;
        let array = Self::on_process(process, length, distribution)?;
        for node in (0..process.nodes).filter(|node| *node != process.node) {
            let (made, to) = Delegate::reply(here, word_of);
            let layout = array.layout();
            let allocation: Allocation =
                (array.0.id, (T::KIND, layout.length(), layout.block()), (to.locale.0, to.slot));
            let bytes = control_bytes(&allocation);
            here.post_to_node(node, &Packet::Control { what: ALLOCATE, bytes: &bytes });
            made.await;
        }
        Ok(array)
    }

    /// The parts of one process.
    pub(crate) fn on_process(
        process: &Arc<Process>,
        length: u64,
        distribution: Distribution,
    ) -> Result<Self, GlobalError> {
        let layout = Layout::new(length, process.locales(), distribution)?;
        let (first, own) = (process.first_locale(), process.config.locales);
        let words = Arc::new(Words::<T>::new(layout, first, own, &process.config.budget)?);
        let id = process.add_object(Arc::clone(&words) as Arc<dyn Object>)?;
        Ok(GlobalArray(Arc::new(Inner { words, id, process: Some(Arc::downgrade(process)) })))
    }

    /// Its number, the same on all nodes.
    pub fn number(&self) -> u16 {
        self.0.id
    }

    /// A handle of the array of this number, for a task that was sent to another node; it frees nothing, so it must not be
    /// used after the array was freed. An error where there is none of this type.
    pub fn with_number(here: &Here, number: u16) -> Result<Self, GlobalError> {
        let object = here.0.process.object(number).map(|object| object.into_any().downcast::<Words<T>>());
        match object {
            Some(Ok(words)) => Ok(GlobalArray(Arc::new(Inner { words, id: number, process: None }))),
            _ => Err(GlobalError::Argument { what: "the number of an array", given: number.to_string() }),
        }
    }

    /// Where its elements lie.
    pub fn layout(&self) -> &Layout {
        &self.0.words.layout
    }

    /// How many elements it has.
    pub fn len(&self) -> u64 {
        self.layout().length()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of an element.
    pub fn address(&self, index: u64) -> GlobalAddress {
        GlobalAddress::element(self.0.id, index)
    }

    /// The part of a locale of this process, as cells in the order of offsets; none of another process' locale.
    pub fn part(&self, locale: LocaleId) -> Option<&[T::Cell]> {
        self.0.words.parts.get(locale.index().wrapping_sub(self.0.words.first)).map(|part| &**part)
    }

    /// The cell of an element, where it lies in this process.
    #[inline]
    pub fn cell(&self, index: u64) -> Option<&T::Cell> {
        let (locale, offset) = self.layout().place(index);
        self.0.words.cell(locale, offset)
    }

    /// Does an operation on an element; ends with what was there before. An index beyond the end ends the program.
    #[inline]
    pub fn operate(
        &self,
        here: &Here,
        operation: Operation,
        index: u64,
        operand: T,
        second: T,
    ) -> Delegate<T> {
        if index >= self.len() {
            return Delegate::never(here, GlobalError::OutOfRange { index, length: self.len() });
        }
        let (locale, offset) = self.layout().place(index);
        if (here.0.process.config.direct || locale == here.locale())
            && let Some(cell) = self.0.words.cell(locale, offset)
        {
            return Delegate::ready(T::apply(cell, operation, operand, second));
        }
        let (delegate, to) = Delegate::reply(here, |value| word_of(value).map(T::from_bits));
        self.post(here, locale, operation, index, (operand, second), Answer::Reply(to));
        delegate
    }

    fn post(
        &self,
        here: &Here,
        locale: LocaleId,
        operation: Operation,
        index: u64,
        (operand, second): (T, T),
        answer: Answer,
    ) {
        let (operand, second) = (operand.to_bits(), second.to_bits());
        here.post_packet(
            locale,
            &Packet::Word { operation, address: self.address(index), operand, second, answer },
        );
    }

    /// Reads an element.
    pub fn read(&self, here: &Here, index: u64) -> Delegate<T> {
        self.operate(here, Operation::Read, index, T::from_bits(0), T::from_bits(0))
    }

    /// Writes an element; ends with what was there.
    pub fn write(&self, here: &Here, index: u64, value: T) -> Delegate<T> {
        self.operate(here, Operation::Write, index, value, value)
    }

    /// Adds to an element, wrapping around; ends with what was there.
    pub fn fetch_add(&self, here: &Here, index: u64, value: T) -> Delegate<T> {
        self.operate(here, Operation::Add, index, value, value)
    }

    /// Replaces an element if it is `expected`; ends with what was there, which is `expected` exactly if it was replaced.
    pub fn compare_swap(&self, here: &Here, index: u64, expected: T, new: T) -> Delegate<T> {
        self.operate(here, Operation::CompareSwap, index, expected, new)
    }

    /// Does an operation on an element without waiting for it: it is over when the event is. Waits only while the lists
    /// for the element's node are full.
    #[inline]
    pub fn send<'a>(
        &'a self,
        here: &'a Here,
        event: EventId,
        operation: Operation,
        index: u64,
        operand: T,
    ) -> impl Future<Output = ()> + 'a {
        let full = self.try_send(here, event, operation, index, operand);
        async move {
            if full {
                let (locale, _) = self.layout().place(index);
                here.room(here.0.process.node_of(locale)).await;
            }
        }
    }

    /// As `send`, from where nothing can wait; whether the sender should soon, because lists are full.
    #[inline]
    pub fn try_send(
        &self,
        here: &Here,
        event: EventId,
        operation: Operation,
        index: u64,
        operand: T,
    ) -> bool {
        if index >= self.len() {
            here.fail(GlobalError::OutOfRange { index, length: self.len() });
            return false;
        }
        let (locale, offset) = self.layout().place(index);
        let cell = self.0.words.cell(locale, offset);
        if let Some(cell) = cell
            && (here.0.process.config.direct || locale == here.locale())
        {
            T::apply(cell, operation, operand, operand);
            return false;
        }
        here.enroll(event, 1);
        self.post(here, locale, operation, index, (operand, operand), Answer::Event(event, here.locale()));
        let node = here.0.process.node_of(locale);
        cell.is_none() && here.0.process.network.as_ref().is_some_and(|network| network.is_full(node))
    }
}
