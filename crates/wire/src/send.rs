//! A sink's side of an exchange: batches in, messages out.
//!
//! ```text
//!  push(batch) --route--> rows of this machine  ----------------------------> Outlet::local     never serialised
//!                         rows of machine d     --write--> open message d  --seal when full--> Outlet::send(d)
//!                         rows for all          --write--> one open message --seal, cloned---> Outlet::send of each
//!
//!  Sender     of one worker: its open messages, its writers' memory, the batch it is at
//!  Exchange   of all workers of this machine: sequence, count of messages of each link, dictionaries, policies
//! ```
//! A sender never waits: when the pool has no message, [`Progress::Stalled`] says so, the sender keeps its place in the
//! batch, and [`Sender::resume`] goes on. Batches that would leave few rows a machine are collected first, so that a
//! parcel's head does not weigh more than its rows.
//!
//! The end: each worker calls [`Sender::finish`], which sends its open messages; the one that is told that it is the last
//! of all then calls [`Sender::close`], which sends each link the number of messages that went before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use types::{Error, Result};
use vector::Batch;

use crate::buffers::Buffers;
use crate::columns::ColumnWriter;
use crate::columns::dictionary::{self, Sent};
use crate::compression::{Compressor, Policy};
use crate::header::{Flags, HEADER_BYTES, Header, Stream};
use crate::heavy::Sketch;
use crate::message::{Message, Sealed};
use crate::picked::Picked;
use crate::pieces::{PIECE_BYTES, Piece};
use crate::rows::{RowLayout, RowWriter};
use crate::scatter::{Route, Scatter};

/// Rows a machine below which batches are collected: a column's head is then some percent of its narrowest codes.
const ROWS_A_MACHINE_MIN: usize = 512;
/// Rows that are collected at most.
const COLLECTED_ROWS_MAX: usize = 32 << 10;
/// Rows of a parcel that is put behind others in a message; fewer begin the next one.
const PARCEL_ROWS_MIN: usize = 64;

/// Where messages and local rows go.
pub trait Outlet {
    /// Takes a full message for a machine.
    fn send(&mut self, machine: usize, message: Sealed);
    /// Takes rows of this machine.
    fn local(&mut self, batch: Batch);
}

/// How bodies are written.
#[derive(Clone, Debug)]
pub enum Format {
    /// In columns.
    Columns,
    /// In the paper's tuples.
    Rows(RowLayout),
}

/// Whether a sender is done with what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// It is.
    Done,
    /// No message was left: `resume` when there is one.
    Stalled,
}

/// What all workers of a machine share of one exchange.
pub struct Exchange {
    stream: Stream,
    own: usize,
    machines: usize,
    route: Route,
    format: Format,
    sequence: AtomicU64,
    /// Messages that went to each machine.
    counts: Box<[AtomicU64]>,
    /// Of each machine, and behind them of the messages to all.
    policies: Box<[Mutex<Policy>]>,
    sent: Mutex<Sent>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    /// An exchange as seen from machine `stream.source` of `machines`, with messages of so many bytes.
    pub fn new(
        stream: Stream,
        machines: usize,
        route: Route,
        format: Format,
        message_bytes: usize,
    ) -> Arc<Exchange> {
        let body_bytes_max = message_bytes.saturating_sub(HEADER_BYTES);
        let links = if matches!(route, Route::To(_)) { 1 } else { machines.saturating_sub(1) };
        Arc::new(Exchange {
            stream,
            own: stream.source as usize,
            machines,
            route,
            format,
            sequence: AtomicU64::new(0),
            counts: (0..machines).map(|_| AtomicU64::new(0)).collect(),
            policies: (0..=machines).map(|_| Mutex::new(Policy::new())).collect(),
            sent: Mutex::new(Sent::new(links, body_bytes_max)),
        })
    }
    /// Tells the speed of the link to a machine, in bytes per second.
    pub fn set_link(&self, machine: usize, bytes_per_second: f64) {
        lock(&self.policies[machine]).set_link(bytes_per_second);
        // What goes to all goes over the slowest link at last; without knowing it, the newest is taken.
        lock(&self.policies[self.machines]).set_link(bytes_per_second);
    }
    /// The machines that a group's messages go to.
    fn targets(&self, group: usize) -> impl Iterator<Item = usize> + use<> {
        let own = self.own;
        let all = group == self.machines;
        let range = if all { 0..self.machines } else { group..group + 1 };
        let only = match self.route {
            Route::To(machine) if all => Some(usize::from(machine)),
            _ => None,
        };
        range.filter(move |machine| *machine != own && only.is_none_or(|only| only == *machine))
    }
}

enum Writer {
    Columns(ColumnWriter),
    Rows(RowWriter),
}

/// A message that is being filled.
struct Open {
    message: Message,
    used: usize,
}

/// The batch that is being sent, and how far it is.
struct Current {
    batch: Batch,
    /// The group that has all rows, if there is one.
    whole: Option<usize>,
    group: usize,
    /// Rows of the group that are written.
    done: usize,
}

/// A row that is larger than a message.
struct Oversize {
    bytes: Vec<u8>,
    group: usize,
    sent: usize,
    number: Option<u64>,
}

/// One worker's end of an exchange.
pub struct Sender {
    exchange: Arc<Exchange>,
    buffers: Arc<dyn Buffers>,
    node: u16,
    writer: Writer,
    scatter: Scatter,
    open: Vec<Option<Open>>,
    collected: Vec<Batch>,
    collected_rows: usize,
    current: Option<Current>,
    oversize: Option<Oversize>,
    compressor: Option<Compressor>,
    sketch: Option<(Sketch, u64)>,
}

impl Sender {
    /// A worker's end, with messages from `buffers` on its memory node.
    pub fn new(exchange: Arc<Exchange>, buffers: Arc<dyn Buffers>, node: u16) -> Sender {
        let writer = match &exchange.format {
            // A tuple without columns has no bytes; columns say how many rows there are.
            Format::Rows(layout) if !layout.types().is_empty() => {
                Writer::Rows(RowWriter::new(layout.clone()))
            }
            _ => Writer::Columns(ColumnWriter::new()),
        };
        let mut open = Vec::new();
        open.resize_with(exchange.machines + 1, || None);
        Sender {
            exchange,
            buffers,
            node,
            writer,
            scatter: Scatter::new(),
            open,
            collected: Vec::new(),
            collected_rows: 0,
            current: None,
            oversize: None,
            compressor: None,
            sketch: None,
        }
    }
    /// Counts the keys of the next `rows` rows, where they are routed by hash.
    pub fn watch_keys(&mut self, rows: u64) {
        self.sketch = Some((Sketch::new(), rows));
    }
    /// The counts so far, and whether as many rows were counted as were asked for.
    pub fn keys(&self) -> Option<(&Sketch, bool)> {
        self.sketch.as_ref().map(|(sketch, rows)| (sketch, sketch.rows() >= *rows))
    }
    /// Takes a batch. After `Stalled`, call `resume` until it is done before the next batch.
    ///
    /// # Errors
    /// None that is the batch's fault; a codec may get no memory.
    pub fn push(&mut self, batch: Batch, outlet: &mut dyn Outlet) -> Result<Progress> {
        if self.current.is_some() || self.oversize.is_some() {
            return Err(Error::internal("a batch was pushed before the last one was sent"));
        }
        let batch = if batch.is_coded() { batch.dense() } else { batch };
        if batch.rows == 0 {
            return Ok(Progress::Done);
        }
        let spread = matches!(self.exchange.route, Route::Hash { .. } | Route::Range { .. });
        let enough = (self.exchange.machines * ROWS_A_MACHINE_MIN).min(COLLECTED_ROWS_MAX);
        if !spread || (self.collected.is_empty() && batch.rows >= enough) {
            self.begin(batch, outlet);
            return self.resume(outlet);
        }
        self.collected_rows += batch.rows;
        self.collected.push(batch);
        if self.collected_rows < enough {
            return Ok(Progress::Done);
        }
        self.begin_collected(outlet);
        self.resume(outlet)
    }
    fn begin_collected(&mut self, outlet: &mut dyn Outlet) {
        if !self.collected.is_empty() {
            let batch = Batch::concat(&self.collected);
            self.collected.clear();
            self.collected_rows = 0;
            self.begin(batch, outlet);
        }
    }
    /// Routes a batch, hands over its local rows and looks its columns through.
    fn begin(&mut self, batch: Batch, outlet: &mut dyn Outlet) {
        let exchange = &self.exchange;
        let (own, machines) = (exchange.own, exchange.machines);
        let whole = self.scatter.route(&exchange.route, &batch.columns, batch.rows, own, machines);
        if let Some((sketch, rows)) = &mut self.sketch
            && sketch.rows() < *rows
            && matches!(exchange.route, Route::Hash { .. })
        {
            sketch.add_all(self.scatter.hashes());
        }
        match whole {
            Some(group) if group == own || group == machines => outlet.local(batch.clone()),
            Some(_) => {}
            None => {
                for group in [own, machines] {
                    match self.scatter.rows_of(group) {
                        [] => {}
                        rows if rows.len() == batch.rows => outlet.local(batch.clone()),
                        rows => outlet.local(batch.gather(rows)),
                    }
                }
            }
        }
        let all_stay = whole == Some(own) || whole.is_none() && self.scatter.rows_of(own).len() == batch.rows;
        if machines < 2 || all_stay {
            return;
        }
        match &mut self.writer {
            Writer::Rows(writer) => writer.take(&batch),
            Writer::Columns(writer) => writer.take(&batch, whole.is_none(), &mut *lock(&exchange.sent)),
        }
        self.current = Some(Current { batch, whole, group: 0, done: 0 });
    }
    /// Goes on with the batch that a push left.
    ///
    /// # Errors
    /// As `push`.
    pub fn resume(&mut self, outlet: &mut dyn Outlet) -> Result<Progress> {
        if self.send_dictionaries(outlet)? == Progress::Stalled
            || self.send_oversize(outlet)? == Progress::Stalled
        {
            return Ok(Progress::Stalled);
        }
        let Some(mut current) = self.current.take() else { return Ok(Progress::Done) };
        while current.group <= self.exchange.machines {
            let progress = self.send_group(&mut current, outlet);
            if !matches!(progress, Ok(Progress::Done)) {
                self.current = Some(current);
                return progress;
            }
            current.group += 1;
            current.done = 0;
        }
        match &mut self.writer {
            Writer::Columns(writer) => writer.release(),
            Writer::Rows(writer) => writer.release(),
        }
        Ok(Progress::Done)
    }
    /// Writes what is left of the group's rows.
    fn send_group(&mut self, current: &mut Current, outlet: &mut dyn Outlet) -> Result<Progress> {
        let group = current.group;
        if group == self.exchange.own {
            return Ok(Progress::Done);
        }
        loop {
            let picked = match current.whole {
                Some(whole) if whole != group => return Ok(Progress::Done),
                Some(_) => Picked::all(current.batch.rows),
                None => Picked::List(self.scatter.rows_of(group)),
            };
            let picked = picked.split_at(current.done).1;
            if picked.is_empty() {
                return Ok(Progress::Done);
            }
            let open = match &mut self.open[group] {
                Some(open) => open,
                closed => match self.buffers.take(self.node) {
                    Some(message) => closed.insert(Open { message, used: 0 }),
                    None => return Ok(Progress::Stalled),
                },
            };
            let room = &mut open.message.body_mut()[open.used..];
            let (rows, bytes) = match &mut self.writer {
                Writer::Rows(writer) => writer.write(picked, room),
                Writer::Columns(writer) => {
                    let rows = writer.fit(picked, room.len());
                    let few = open.used > 0 && rows < picked.len().min(PARCEL_ROWS_MIN);
                    match if few { 0 } else { rows } {
                        0 => (0, 0),
                        rows => (rows, writer.write(picked.split_at(rows).0, room)),
                    }
                }
            };
            open.used += bytes;
            current.done += rows;
            if rows == picked.len() {
                return Ok(Progress::Done);
            }
            if open.used > 0 {
                self.flush(group, outlet)?;
                continue;
            }
            if rows > 0 {
                return Err(Error::internal("rows were written without bytes"));
            }
            let bytes = row_alone(&mut self.writer, picked.split_at(1).0);
            current.done += 1;
            self.oversize = Some(Oversize { bytes, group, sent: 0, number: None });
            if self.send_oversize(outlet)? == Progress::Stalled {
                return Ok(Progress::Stalled);
            }
        }
    }
    fn format_flag(&self) -> Flags {
        match self.writer {
            Writer::Rows(_) => Flags::ROWS,
            Writer::Columns(_) => Flags::NONE,
        }
    }
    fn send_oversize(&mut self, outlet: &mut dyn Outlet) -> Result<Progress> {
        let Some(mut oversize) = self.oversize.take() else { return Ok(Progress::Done) };
        while oversize.sent < oversize.bytes.len() {
            let open = self.open[oversize.group].take().map(|open| open.message);
            let Some(mut message) = open.or_else(|| self.buffers.take(self.node)) else {
                self.oversize = Some(oversize);
                return Ok(Progress::Stalled);
            };
            let sequence = self.exchange.sequence.fetch_add(1, Ordering::Relaxed);
            let number = *oversize.number.get_or_insert(sequence);
            let body = message.body_mut();
            let rest = &oversize.bytes[oversize.sent..];
            let part = rest.len().min(body.len() - PIECE_BYTES);
            let piece = Piece { number, total: oversize.bytes.len() as u64, offset: oversize.sent as u64 };
            piece.write(body);
            body[PIECE_BYTES..PIECE_BYTES + part].copy_from_slice(&rest[..part]);
            oversize.sent += part;
            let flags = self.format_flag().and(Flags::PIECE);
            self.seal(oversize.group, message, PIECE_BYTES + part, flags, sequence, outlet)?;
        }
        Ok(Progress::Done)
    }
    /// Sends the dictionaries that codes refer to from now on, once to each machine.
    fn send_dictionaries(&mut self, outlet: &mut dyn Outlet) -> Result<Progress> {
        if let Writer::Rows(_) = self.writer {
            return Ok(Progress::Done);
        }
        loop {
            let exchange = self.exchange.clone();
            let mut sent = lock(&exchange.sent);
            let Some((number, column, values)) = sent.take_due() else { return Ok(Progress::Done) };
            let Some(mut message) = self.buffers.take(self.node) else {
                sent.put_back((number, column, values));
                return Ok(Progress::Stalled);
            };
            drop(sent);
            let used = dictionary::write(number, column, &values, message.body_mut());
            let group = match exchange.route {
                Route::To(machine) => usize::from(machine),
                _ => exchange.machines,
            };
            let sequence = exchange.sequence.fetch_add(1, Ordering::Relaxed);
            self.seal(group, message, used, Flags::DICTIONARY, sequence, outlet)?;
        }
    }
    /// Sends a group's open message.
    fn flush(&mut self, group: usize, outlet: &mut dyn Outlet) -> Result<()> {
        let Some(open) = self.open[group].take() else { return Ok(()) };
        let sequence = self.exchange.sequence.fetch_add(1, Ordering::Relaxed);
        self.seal(group, open.message, open.used, self.format_flag(), sequence, outlet)
    }
    /// Compresses a message if that pays, writes its header and hands it over.
    fn seal(
        &mut self,
        group: usize,
        message: Message,
        used: usize,
        flags: Flags,
        sequence: u64,
        outlet: &mut dyn Outlet,
    ) -> Result<()> {
        let stream = self.exchange.stream;
        let plain = used as u32;
        let header = Header { stream, flags, sequence, used: plain, plain };
        let sealed = match self.compressed(group, &message, header)? {
            Some(packed) => packed,
            None => message.seal(header),
        };
        for machine in self.exchange.targets(group) {
            self.exchange.counts[machine].fetch_add(1, Ordering::Relaxed);
            outlet.send(machine, sealed.clone());
        }
        Ok(())
    }
    fn compressed(&mut self, group: usize, message: &Message, header: Header) -> Result<Option<Sealed>> {
        let mut policy = lock(&self.exchange.policies[group]);
        let is_trial = policy.is_trial();
        let choice = policy.choice();
        drop(policy);
        if !is_trial && choice.is_none() {
            return Ok(None);
        }
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(message.body_bytes_max())?),
        };
        let body = message.body(header.used as usize);
        if is_trial {
            let trials = compressor.trials(body);
            let mut policy = lock(&self.exchange.policies[group]);
            trials.into_iter().for_each(|(codec, trial)| policy.learn(codec, trial));
        }
        let Some(codec) = lock(&self.exchange.policies[group]).choice() else { return Ok(None) };
        // Without a second message it goes as it is.
        let Some(mut packed) = self.buffers.take(self.node) else { return Ok(None) };
        let Some(bytes) = compressor.compress(codec, body) else { return Ok(None) };
        packed.body_mut()[..bytes.len()].copy_from_slice(bytes);
        let header = Header { flags: header.flags.and(codec.flag()), used: bytes.len() as u32, ..header };
        Ok(Some(packed.seal(header)))
    }
    /// Sends what is collected and open. After `Stalled`, call it again.
    ///
    /// # Errors
    /// As `push`.
    pub fn finish(&mut self, outlet: &mut dyn Outlet) -> Result<Progress> {
        if self.resume(outlet)? == Progress::Stalled {
            return Ok(Progress::Stalled);
        }
        self.begin_collected(outlet);
        if self.resume(outlet)? == Progress::Stalled {
            return Ok(Progress::Stalled);
        }
        for group in 0..self.open.len() {
            self.flush(group, outlet)?;
        }
        Ok(Progress::Done)
    }
    /// Ends the exchange on all links: by the last worker, once all have finished. Takes one message.
    ///
    /// # Errors
    /// None; the signature is that of its kin.
    pub fn close(&mut self, outlet: &mut dyn Outlet) -> Result<Progress> {
        let exchange = self.exchange.clone();
        // One message for all where their counts agree would save little: these are a hundred bytes each.
        let mut messages = Vec::with_capacity(exchange.machines);
        for _ in exchange.targets(exchange.machines) {
            match self.buffers.take(self.node) {
                Some(message) => messages.push(message),
                None => return Ok(Progress::Stalled),
            }
        }
        for (machine, mut message) in exchange.targets(exchange.machines).zip(messages) {
            let count = exchange.counts[machine].load(Ordering::Acquire);
            message.body_mut()[..8].copy_from_slice(&count.to_le_bytes());
            let sequence = exchange.sequence.fetch_add(1, Ordering::Relaxed);
            let stream = exchange.stream;
            let header = Header { stream, flags: Flags::LAST, sequence, used: 8, plain: 8 };
            outlet.send(machine, message.seal(header));
        }
        Ok(Progress::Done)
    }
}

/// The body of one row that no message has room for.
fn row_alone(writer: &mut Writer, row: Picked<'_>) -> Vec<u8> {
    match writer {
        Writer::Columns(writer) => {
            let mut bytes = vec![0; writer.parcel_bytes(row)];
            let length = writer.write(row, &mut bytes);
            bytes.truncate(length);
            bytes
        }
        Writer::Rows(writer) => {
            let mut bytes = vec![0; writer.row_bytes(row)];
            let (_, length) = writer.write(row, &mut bytes);
            bytes.truncate(length);
            bytes
        }
    }
}
