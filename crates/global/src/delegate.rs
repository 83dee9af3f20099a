//! Delegates: operations that go to the data. Blocking ones are futures that end with the reply; asynchronous ones are
//! enrolled with a completion event. What may run as one is decided by types:
//!
//! ```compile_fail
//! # use global::{Here, LocaleId, Symmetric};
//! // A body that could wait would need a `Here`, which is not `Send`: this does not compile.
//! async fn waits(here: Here, counters: Symmetric<u64>) {
//!     let inner = here.clone();
//!     counters.delegate(&here, LocaleId(0), move |counter: &mut u64| {
//!         let _ = inner.yield_now();
//!         *counter += 1;
//!     }).await;
//! }
//! ```
//! ```
//! # use global::{Here, LocaleId, Symmetric};
//! // The same without the wait does.
//! async fn adds(here: Here, counters: Symmetric<u64>) {
//!     counters.delegate(&here, LocaleId(0), move |counter: &mut u64| {
//!         *counter += 1;
//!     }).await;
//! }
//! ```
//! In one process a body runs at once where it is asked for, when nobody else is at its part; otherwise, or where
//! `Config::direct` is off, it goes to the part's locale as a message.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::address::{GlobalAddress, LocaleId, Target};
use crate::error::GlobalError;
use crate::events::Value;
use crate::here::Here;
use crate::packet::{Answer, EventId, Packet, ReplyTo};
use crate::parts::Parts;
use crate::plain::{Plain, whole};
use crate::process::lock;
use crate::registry::{Handler, TaskHandler};
use crate::task::Letter;

enum State<R> {
    Ready(Option<R>),
    Reply {
        here: Here,
        slot: u32,
        convert: fn(Value) -> Result<R, GlobalError>,
    },
    Cell {
        here: Here,
        slot: u32,
        cell: Arc<Mutex<Option<R>>>,
    },
    /// The program has failed; nothing comes.
    Never(Here),
}

/// A blocking delegate: ends with what its body returned. It is sent when it is made, not when it is first polled.
#[must_use = "its effect is certain only after it was awaited"]
pub struct Delegate<R>(State<R>);

impl<R> Unpin for Delegate<R> {}

impl<R> Delegate<R> {
    pub(crate) fn ready(value: R) -> Self {
        Delegate(State::Ready(Some(value)))
    }

    pub(crate) fn never(here: &Here, error: GlobalError) -> Self {
        here.fail(error);
        Delegate(State::Never(here.clone()))
    }

    /// Opens a slot for a reply.
    pub(crate) fn reply(here: &Here, convert: fn(Value) -> Result<R, GlobalError>) -> (Self, ReplyTo) {
        let slot = here.0.replies.borrow_mut().open(here.0.current.get());
        let to = ReplyTo { locale: here.locale(), slot };
        (Delegate(State::Reply { here: here.clone(), slot, convert }), to)
    }
}

impl<R> Future for Delegate<R> {
    type Output = R;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        match &mut self.0 {
            State::Ready(value) => match value.take() {
                Some(value) => Poll::Ready(value),
                None => Poll::Pending,
            },
            State::Reply { here, slot, convert } => {
                let fiber = here.0.current.get();
                let reply = here.0.replies.borrow_mut().take(*slot, fiber);
                let Some(value) = reply else {
                    here.park();
                    return Poll::Pending;
                };
                let (here, value) = (here.clone(), convert(value));
                self.0 = State::Ready(None);
                match value {
                    Ok(value) => Poll::Ready(value),
                    Err(error) => {
                        here.fail(error);
                        Poll::Pending
                    }
                }
            }
            State::Cell { here, slot, cell } => {
                let fiber = here.0.current.get();
                let reply = here.0.replies.borrow_mut().take(*slot, fiber);
                let value = if reply.is_some() { lock(cell).take() } else { None };
                let Some(value) = value else {
                    here.park();
                    return Poll::Pending;
                };
                self.0 = State::Ready(None);
                Poll::Ready(value)
            }
            State::Never(here) => {
                here.park();
                Poll::Pending
            }
        }
    }
}

impl<R> Drop for Delegate<R> {
    fn drop(&mut self) {
        if let State::Reply { here, slot, .. } | State::Cell { here, slot, .. } = &self.0 {
            here.0.replies.borrow_mut().abandon(*slot);
        }
    }
}

pub(crate) fn word_of(value: Value) -> Result<u64, GlobalError> {
    match value {
        Value::Word(word) => Ok(word),
        _ => Err(GlobalError::Malformed { what: "a reply" }),
    }
}

fn plain_of<R: Plain>(value: Value) -> Result<R, GlobalError> {
    match value {
        Value::Bytes(bytes) => whole(&bytes, "a reply"),
        _ => Err(GlobalError::Malformed { what: "a reply" }),
    }
}

/// Runs a body on a part of this process, here or at its locale.
pub(crate) fn run_on<T, R, F>(here: &Here, parts: &Arc<Parts<T>>, own: usize, body: F) -> Delegate<R>
where
    T: Send + 'static,
    R: Send + 'static,
    F: FnOnce(&mut T) -> R + Send + 'static,
{
    let body = if here.0.process.config.direct || own == here.0.index {
        match parts.try_with(own, body) {
            Ok(value) => return Delegate::ready(value),
            Err(body) => body,
        }
    } else {
        body
    };
    let cell = Arc::new(Mutex::new(None));
    let slot = here.0.replies.borrow_mut().open(here.0.current.get());
    let (filled, parts, to) = (Arc::clone(&cell), Arc::clone(parts), ReplyTo { locale: here.locale(), slot });
    let run = move |at: &Here| {
        let value = parts.with(own, body);
        *lock(&filled) = value;
        at.reply(to, Value::Word(0));
    };
    here.post(own, Letter::Run(Box::new(run)));
    Delegate(State::Cell { here: here.clone(), slot, cell })
}

/// As `run_on`, asynchronously.
pub(crate) fn send_to<T, F>(here: &Here, parts: &Arc<Parts<T>>, own: usize, event: EventId, body: F)
where
    T: Send + 'static,
    F: FnOnce(&mut T) + Send + 'static,
{
    let body = if here.0.process.config.direct || own == here.0.index {
        match parts.try_with(own, body) {
            Ok(()) => return,
            Err(body) => body,
        }
    } else {
        body
    };
    here.enroll(event, 1);
    let (parts, origin) = (Arc::clone(parts), here.locale());
    let run = move |at: &Here| {
        parts.with(own, body);
        at.complete(event, origin);
    };
    here.post(own, Letter::Run(Box::new(run)));
}

impl Here {
    /// Asks for a registered delegate on a part of a symmetric object, of whatever process.
    pub fn call<H: Handler>(&self, address: GlobalAddress, argument: H::Argument) -> Delegate<H::Output> {
        let (delegate, to) = Delegate::reply(self, plain_of::<H::Output>);
        match self.send_call::<H>(address, argument, Answer::Reply(to), false) {
            Ok(()) => delegate,
            Err(error) => Delegate::never(self, error),
        }
    }

    /// As `call`, past all lists, there and back: for what others wait for. It may overtake what was sent before.
    pub fn call_urgently<H: Handler>(
        &self,
        address: GlobalAddress,
        argument: H::Argument,
    ) -> Delegate<H::Output> {
        let (delegate, to) = Delegate::reply(self, plain_of::<H::Output>);
        match self.send_call::<H>(address, argument, Answer::Urgent(to), true) {
            Ok(()) => delegate,
            Err(error) => Delegate::never(self, error),
        }
    }

    /// Sends a registered delegate; what it returns is dropped, and the event learns of its end.
    pub async fn call_async<H: Handler>(
        &self,
        event: EventId,
        address: GlobalAddress,
        argument: H::Argument,
    ) {
        if let Target::Place { locale, .. } = address.target()
            && self.0.process.own(locale).is_none()
        {
            self.room(self.0.process.node_of(locale)).await;
        }
        self.enroll(event, 1);
        if let Err(error) = self.send_call::<H>(address, argument, Answer::Event(event, self.locale()), false)
        {
            self.fail(error);
        }
    }

    fn send_call<H: Handler>(
        &self,
        address: GlobalAddress,
        argument: H::Argument,
        answer: Answer,
        urgent: bool,
    ) -> Result<(), GlobalError> {
        let process = &self.0.process;
        let not_known =
            GlobalError::Argument { what: "a delegate", given: std::any::type_name::<H>().to_owned() };
        let handler = process.registry.call_number::<H>().ok_or(not_known)?;
        let Target::Place { locale, object, .. } = address.target() else {
            return Err(GlobalError::Argument {
                what: "the address of a part",
                given: format!("{address:?}"),
            });
        };
        if locale.index() >= process.locales() {
            return Err(GlobalError::Argument { what: "a locale", given: locale.0.to_string() });
        }
        let mut bytes = Vec::new();
        argument.write(&mut bytes);
        if let Some(own) = process.own(locale)
            && process.config.direct
        {
            let object =
                process.object(object).ok_or(GlobalError::Malformed { what: "an object's number" })?;
            let output = process.registry.call(handler, object.as_any(), own, &bytes)?;
            self.answer(answer, Value::Bytes(output));
            return Ok(());
        }
        let packet = Packet::Call { handler, object, locale, argument: &bytes, answer };
        if urgent {
            self.post_urgently(locale, &packet)?;
        } else {
            self.post_packet(locale, &packet);
        }
        Ok(())
    }

    pub(crate) fn post_urgently(&self, locale: LocaleId, packet: &Packet<'_>) -> Result<(), GlobalError> {
        let process = &self.0.process;
        match (process.own(locale), &process.network) {
            (None, Some(network)) if network.send_urgent(process.node_of(locale), packet)? => {}
            (Some(own), _) => {
                let mut packed = Vec::new();
                packet.write(&mut packed);
                process.deliver(own, &mut vec![Letter::Packed(packed)]);
            }
            _ => self.post_packet(locale, packet),
        }
        Ok(())
    }

    /// Starts a registered task as a fiber of a locale, of whatever process.
    pub fn spawn_task<T: TaskHandler>(
        &self,
        locale: LocaleId,
        event: impl Into<Option<EventId>>,
        argument: T::Argument,
    ) {
        let process = &self.0.process;
        let Some(handler) =
            process.registry.task_number::<T>().filter(|_| locale.index() < process.locales())
        else {
            let given = std::any::type_name::<T>().to_owned();
            return self.fail(GlobalError::Argument { what: "a task, or its locale,", given });
        };
        let answer = event.into().map_or(Answer::Nothing, |event| {
            self.enroll(event, 1);
            Answer::Event(event, self.locale())
        });
        let mut bytes = Vec::new();
        argument.write(&mut bytes);
        self.post_packet(locale, &Packet::Task { handler, locale, argument: &bytes, answer });
    }
}
