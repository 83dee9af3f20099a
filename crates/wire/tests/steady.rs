//! A stream that runs steadily allocates nothing: neither for messages nor for what writers remember.

mod allocator;

use random::Random;
use types::{Field, Schema, Type, Value};
use vector::{Batch, Vector};
use wire::send::Outlet;
use wire::{
    Buffers, Exchange, Format, Header, Pool, Progress, Receiver, Route, RowLayout, Sealed, Sender, Stream,
};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

const MESSAGE_BYTES: usize = 64 << 10;

/// Hands each message to the receiving end's memory, and forgets it.
struct Carrier {
    far: std::sync::Arc<Pool>,
    messages: usize,
    local_rows: usize,
}

impl Outlet for Carrier {
    fn send(&mut self, _: usize, message: Sealed) {
        let mut taken = self.far.take(0).expect("room at the receiver");
        taken.bytes_mut()[..message.bytes().len()].copy_from_slice(message.bytes());
        let received = taken.received().expect("undamaged");
        assert_eq!(received.body(), message.body());
        self.messages += 1;
    }
    fn local(&mut self, batch: Batch) {
        self.local_rows += batch.rows;
    }
}

fn batch(random: &mut Random) -> Batch {
    let rows = 4096;
    let keys = Vector::from_i64(Type::BigInt, (0..rows).map(|_| random.between(0, 1 << 30)).collect());
    let narrow: Vec<Value> = (0..rows).map(|_| Value::I32(random.below(100))).collect();
    let maybe: Vec<Value> = (0..rows)
        .map(|_| if random.chance(10) { Value::Null } else { Value::F64(random.between(0, 1000) as f64) })
        .collect();
    let texts: Vec<Value> =
        (0..rows).map(|_| Value::text(&"some words ".repeat(random.below(5usize)))).collect();
    let columns = vec![
        keys,
        Vector::from_values(Type::Integer, &narrow),
        Vector::from_values(Type::Double, &maybe),
        Vector::from_values(Type::Text, &texts),
    ];
    Batch::new(columns, rows as usize)
}

fn layout() -> RowLayout {
    let types = [(Type::BigInt, false), (Type::Integer, false), (Type::Double, true), (Type::Text, false)];
    let fields = types.iter().map(|(ty, nullable)| Field::new("c", *ty, *nullable));
    RowLayout::new(&Schema::new(fields.collect()))
}

/// Allocations of fifty batches, after some to warm up.
fn allocations(format: Format, route: Route, link_bytes_per_second: f64) -> u64 {
    let exchange = Exchange::new(Stream::default(), 4, route, format, MESSAGE_BYTES);
    for machine in 0..4 {
        exchange.set_link(machine, link_bytes_per_second);
    }
    let pool = Pool::on_heap(MESSAGE_BYTES, 16, 1);
    let mut sender = Sender::new(exchange, pool, 0);
    let mut carrier = Carrier { far: Pool::on_heap(MESSAGE_BYTES, 4, 1), messages: 0, local_rows: 0 };
    let one = batch(&mut Random::new(4));
    let batches: Vec<Batch> = (0..60).map(|_| one.clone()).collect();
    let mut counted = 0;
    for (turn, batch) in batches.into_iter().enumerate() {
        let before = allocator::calls();
        let progress = sender.push(batch, &mut carrier).expect("sent");
        assert_eq!(progress, Progress::Done);
        if turn >= 10 {
            counted += allocator::calls() - before;
        }
    }
    assert!(carrier.messages > 50);
    counted
}

#[test]
fn sending_and_receiving_messages_allocates_nothing() {
    // Rows of this machine become vectors, which allocate: here it has none.
    let away = || Route::Hash { keys: vec![0], map: vec![1, 2, 3].into(), heavy: None };
    for format in [Format::Columns, Format::Rows(layout())] {
        for (link, what) in [(1e12, "plain"), (1e5, "compressed")] {
            assert_eq!(allocations(format.clone(), away(), link), 0, "{format:?}, {what}");
            assert_eq!(allocations(format.clone(), Route::To(2), link), 0, "{format:?} to one, {what}");
        }
    }
}

#[test]
fn a_pool_in_use_allocates_nothing() {
    let pool = Pool::on_heap(MESSAGE_BYTES, 8, 2);
    let turn = |node| {
        let mut message = pool.take(node).expect("a message");
        message.body_mut()[..8].fill(1);
        let sealed = message.seal(Header { used: 8, plain: 8, ..Header::default() });
        let copies = [sealed.clone(), sealed.clone(), sealed];
        copies.iter().map(|copy| copy.body().len()).sum::<usize>()
    };
    turn(0);
    turn(1);
    let before = allocator::calls();
    (0..1000).for_each(|at| assert_eq!(turn(at % 2), 24));
    assert_eq!(allocator::calls() - before, 0);
}

#[test]
fn reading_allocates_vectors_and_no_messages() {
    let exchange = Exchange::new(Stream::default(), 2, Route::To(1), Format::Columns, MESSAGE_BYTES);
    let mut sender = Sender::new(exchange, Pool::on_heap(MESSAGE_BYTES, 64, 1), 0);
    #[derive(Default)]
    struct Kept(Vec<Sealed>);
    impl Outlet for Kept {
        fn send(&mut self, _: usize, message: Sealed) {
            self.0.push(message);
        }
        fn local(&mut self, _: Batch) {}
    }
    let mut kept = Kept::default();
    assert_eq!(sender.push(batch(&mut Random::new(4)), &mut kept).expect("sent"), Progress::Done);
    assert_eq!(sender.finish(&mut kept).expect("sent"), Progress::Done);
    let pool = Pool::on_heap(MESSAGE_BYTES, 1, 1);
    let receiver = Receiver::new(Stream::default(), 1, 2, layout());
    for message in kept.0 {
        let body = message.body().len() as i64;
        let before = allocator::calls();
        let (opened, peak) = allocator::peak_of(|| receiver.open(message, &*pool));
        assert!(opened.is_ok());
        // A few objects a column and parcel; bytes of widened numbers and views, not of strings.
        assert!(allocator::calls() - before < 80, "{} allocations", allocator::calls() - before);
        assert!(peak < 4 * body + 8192, "{peak} bytes for a body of {body}");
    }
    assert_eq!(pool.made(), 0);
}
