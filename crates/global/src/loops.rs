//! Parallel loops. A range is halved until a piece is small enough: the right half becomes a task that may be stolen, the
//! left one goes on. So the tasks that wait are as many as there are halvings on the way of those that run, not as many as
//! iterations; and what is stolen first is the largest (Myers 2016, 2.4.2).

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use crate::address::LocaleId;
use crate::array::GlobalArray;
use crate::here::Here;
use crate::packet::EventId;
use crate::parts::Word;
use crate::task::{LoopWork, Place, Task};

/// Pieces that a loop is cut into for each locale where its grain is left open: enough for stealing to even out.
const PIECES_A_LOCALE: u64 = 16;

struct Loop<F> {
    body: F,
    event: EventId,
    grain: u64,
    place: Place,
}

impl<F: Send + Sync + 'static> Loop<F>
where
    Loop<F>: LoopWork,
{
    /// Halves a range, leaving right halves to others, until a piece is left.
    fn cut(self: &Arc<Self>, here: &Here, range: Range<u64>) -> Range<u64> {
        let mut end = range.end;
        while end - range.start > self.grain {
            let middle = range.start + (end - range.start).div_ceil(2);
            here.enroll(self.event, 1);
            let half = Arc::clone(self) as Arc<dyn LoopWork>;
            here.place(self.place, Task::Piece(half, middle..end, here.locale()));
            end = middle;
        }
        range.start..end
    }
}

struct Waits<F>(F);

impl<F> LoopWork for Loop<F>
where
    F: Fn(&Here, Range<u64>) + Send + Sync + 'static,
{
    fn piece(self: Arc<Self>, here: &Here, range: Range<u64>, origin: LocaleId) {
        let piece = self.cut(here, range);
        (self.body)(here, piece);
        here.complete(self.event, origin);
    }
}

impl<F, T> LoopWork for Loop<Waits<F>>
where
    F: Fn(Here, Range<u64>) -> T + Send + Sync + 'static,
    T: Future<Output = ()> + 'static,
{
    fn piece(self: Arc<Self>, here: &Here, range: Range<u64>, origin: LocaleId) {
        let piece = self.cut(here, range);
        let (future, at) = ((self.body.0)(here.clone(), piece), here.clone());
        here.begin(async move {
            future.await;
            at.complete(self.event, origin);
        });
    }
}

impl Here {
    fn grain(&self, range: &Range<u64>, grain: u64) -> u64 {
        let pieces = PIECES_A_LOCALE * self.0.process.config.locales as u64;
        if grain > 0 { grain } else { (range.end.saturating_sub(range.start) / pieces).max(1) }
    }

    fn start(&self, range: Range<u64>, place: Place, work: Arc<dyn LoopWork>, event: EventId) {
        if !range.is_empty() {
            self.enroll(event, 1);
            self.place(place, Task::Piece(work, range, self.locale()));
        }
    }

    /// Runs a body over a range, in pieces of at most `grain` iterations (0: it is chosen), at any locale of this process,
    /// in any order; it is over when the event is. A body does not wait.
    pub fn spawn_loop<F>(&self, event: EventId, range: Range<u64>, grain: u64, body: F)
    where
        F: Fn(&Here, Range<u64>) + Send + Sync + 'static,
    {
        let (grain, place) = (self.grain(&range, grain), Place::Public);
        self.start(range, place, Arc::new(Loop { body, event, grain, place }), event);
    }

    /// As `spawn_loop`, with bodies that may wait: each piece is a fiber.
    pub fn spawn_loop_waiting<F, T>(&self, event: EventId, range: Range<u64>, grain: u64, body: F)
    where
        F: Fn(Here, Range<u64>) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + 'static,
    {
        let (grain, place) = (self.grain(&range, grain), Place::Public);
        self.start(range, place, Arc::new(Loop { body: Waits(body), event, grain, place }), event);
    }

    /// As `spawn_loop`, and waits for its end.
    pub async fn forall<F>(&self, range: Range<u64>, grain: u64, body: F)
    where
        F: Fn(&Here, Range<u64>) + Send + Sync + 'static,
    {
        let event = self.event();
        self.spawn_loop(event.id(), range, grain, body);
        event.wait().await;
    }

    /// As `spawn_loop_waiting`, and waits for its end.
    pub async fn forall_waiting<F, T>(&self, range: Range<u64>, grain: u64, body: F)
    where
        F: Fn(Here, Range<u64>) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + 'static,
    {
        let event = self.event();
        self.spawn_loop_waiting(event.id(), range, grain, body);
        event.wait().await;
    }

    /// Runs a body once at each locale of this process, and waits.
    pub async fn on_each<F>(&self, body: F)
    where
        F: Fn(&Here) + Send + Sync + 'static,
    {
        let (event, body) = (self.event(), Arc::new(body));
        for locale in self.own_locales() {
            let body = Arc::clone(&body);
            self.spawn(Place::At(locale), event.id(), move |here| body(here));
        }
        event.wait().await;
    }

    /// Runs a body over the parts of an array, each at its locale, in runs of at most `grain` elements, and waits. The body
    /// gets the offsets of its run and the locale's whole part.
    pub async fn forall_parts<T: Word, F>(&self, array: &GlobalArray<T>, grain: u64, body: F)
    where
        F: Fn(&Here, Range<u64>, &[T::Cell]) + Send + Sync + 'static,
    {
        let (event, body) = (self.event(), Arc::new(body));
        for locale in self.own_locales() {
            let (id, body, array) = (event.id(), Arc::clone(&body), array.clone());
            self.spawn(Place::At(locale), id, move |here| {
                let range = 0..array.layout().part_length(here.locale());
                let grain = if grain > 0 { grain } else { 1 << 12 };
                let run = move |here: &Here, range: Range<u64>| {
                    if let Some(part) = array.part(here.locale()) {
                        body(here, range, part);
                    }
                };
                let work = Loop { body: run, event: id, grain, place: Place::Private };
                here.start(range, Place::Private, Arc::new(work), id);
            });
        }
        event.wait().await;
    }
}
