//! Rows of random schemas and forms through the two ends of an exchange: what comes out is what went in, whatever the
//! route, the format, the size of the messages and the order in which they arrive.

mod batches;

use std::sync::Arc;

use batches::{random_batch, random_types, rows_of, sorted};
use random::Random;
use types::{Field, Schema, Type, Value};
use vector::{Batch, Data, Vector};
use wire::send::Outlet;
use wire::{
    Buffers, Exchange, Format, Opened, Pool, Progress, Receiver, Route, RowLayout, Sealed, Sender, Stream,
};

/// What left a machine.
#[derive(Default)]
struct Collected {
    sent: Vec<(usize, Sealed)>,
    local: Vec<Batch>,
}

impl Outlet for Collected {
    fn send(&mut self, machine: usize, message: Sealed) {
        self.sent.push((machine, message));
    }
    fn local(&mut self, batch: Batch) {
        self.local.push(batch);
    }
}

fn layout(types: &[(Type, bool)]) -> RowLayout {
    let field =
        |(place, (ty, nullable)): (usize, &(Type, bool))| Field::new(format!("c{place}"), *ty, *nullable);
    RowLayout::new(&Schema::new(types.iter().enumerate().map(field).collect()))
}

/// A copy of a message's bytes in memory of the receiver's, as a transport makes it.
fn carried(message: &Sealed, pool: &Pool) -> Sealed {
    let mut taken = pool.take(0).expect("room at the receiver");
    taken.bytes_mut()[..message.bytes().len()].copy_from_slice(message.bytes());
    taken.received().expect("undamaged")
}

/// A constant vector has its value in every row: operations look at one of them.
fn is_a_constant_of_all_rows_or_none(column: &Vector) {
    assert!(!matches!(column.data(), Data::Constant(_)) || column.validity().is_none(), "{column:?}");
}

/// Sends the batches from machine 1 of `machines`; gives each machine's rows.
fn through(
    types: &[(Type, bool)],
    batches: &[Batch],
    route: Route,
    format: Format,
    machines: usize,
    message_bytes: usize,
    random: &mut Random,
) -> Vec<Vec<Batch>> {
    let stream = Stream { epoch: 1, query: 9, attempt: 0, exchange: 4, source: 1 };
    let exchange = Exchange::new(stream, machines, route.clone(), format, message_bytes);
    let pool = Pool::on_heap(message_bytes, 64, 1);
    let mut sender = Sender::new(exchange.clone(), pool, 0);
    for machine in 0..machines {
        // Slow links compress.
        exchange.set_link(machine, if random.chance(50) { 1e4 } else { 1e12 });
    }
    let mut out = Collected::default();
    let mut carried_to: Vec<Vec<Sealed>> = vec![Vec::new(); machines];
    let far = Pool::on_heap(message_bytes, 100_000, 1);
    let mut drain = |out: &mut Collected| {
        for (machine, message) in out.sent.drain(..) {
            carried_to[machine].push(carried(&message, &far));
        }
    };
    for batch in batches {
        let mut progress = sender.push(batch.clone(), &mut out).expect("sent");
        while progress == Progress::Stalled {
            drain(&mut out);
            progress = sender.resume(&mut out).expect("sent");
        }
    }
    while sender.finish(&mut out).expect("sent") == Progress::Stalled {
        drain(&mut out);
    }
    drain(&mut out);
    assert_eq!(sender.close(&mut out).expect("closed"), Progress::Done);
    drain(&mut out);
    let mut rows: Vec<Vec<Batch>> = Vec::new();
    for (machine, mut messages) in carried_to.into_iter().enumerate() {
        if machine == 1 {
            assert!(messages.is_empty(), "a machine sends nothing to itself");
            rows.push(std::mem::take(&mut out.local));
            continue;
        }
        random.shuffle_of(&mut messages);
        let receiver = Receiver::new(Stream { source: 0, ..stream }, machine, 3.max(machines), layout(types));
        let mut got = Vec::new();
        for message in messages {
            match receiver.open(message, &*far).expect("read") {
                Opened::Rows(batches) => {
                    batches
                        .iter()
                        .flat_map(|batch| &batch.columns)
                        .for_each(is_a_constant_of_all_rows_or_none);
                    got.extend(batches);
                }
                Opened::Foreign => panic!("our own message"),
            }
        }
        rows.push(got);
    }
    rows
}

trait Shuffle {
    fn shuffle_of<T>(&mut self, of: &mut [T]);
}
impl Shuffle for Random {
    fn shuffle_of<T>(&mut self, of: &mut [T]) {
        for at in (1..of.len()).rev() {
            of.swap(at, self.below(at + 1));
        }
    }
}

/// As `assert_eq`, naming only the rows that differ.
fn assert_same(got: Vec<String>, expected: Vec<String>, seen: &str) {
    assert_eq!(got.len(), expected.len(), "{seen}");
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected, "{seen}");
    }
}

fn formats(types: &[(Type, bool)]) -> [Format; 2] {
    [Format::Columns, Format::Rows(layout(types))]
}

#[test]
fn random_batches_arrive_by_every_route_in_both_formats() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let types = random_types(&mut random);
        let batches: Vec<Batch> =
            (0..random.between(1, 6)).map(|_| random_batch(&types, &mut random)).collect();
        let all = rows_of(&batches);
        let machines = random.between(2, 6) as usize;
        let keys = vec![random.below(types.len())];
        for format in formats(&types) {
            for route in [
                Route::hash(keys.clone(), machines),
                Route::Hash { keys: keys.clone(), map: wire::scatter::even_map(machines), heavy: None },
                Route::RoundRobin,
                Route::Broadcast,
                Route::To(0),
            ] {
                let size = *random.pick(&[2 << 10, 8 << 10, 64 << 10, 512 << 10]);
                let got =
                    through(&types, &batches, route.clone(), format.clone(), machines, size, &mut random);
                let seen = format!("seed {seed}, {route:?}, {format:?}, {machines} machines");
                match route {
                    Route::Broadcast => {
                        for machine in &got {
                            assert_eq!(sorted(rows_of(machine)), sorted(all.clone()), "{seen}");
                        }
                    }
                    Route::To(_) => assert_eq!(sorted(rows_of(&got[0])), sorted(all.clone()), "{seen}"),
                    _ => {
                        let together: Vec<_> = got.iter().flat_map(|machine| rows_of(machine)).collect();
                        assert_same(sorted(together), sorted(all.clone()), &seen);
                    }
                }
                if let Route::Hash { map, .. } = &route {
                    for (machine, rows) in got.iter().enumerate() {
                        for row in rows_of(rows) {
                            let key = (types[keys[0]].0, row[keys[0]].clone());
                            assert_eq!(wire::scatter::machine_of(&[key], map) as usize, machine, "{seen}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_larger_than_a_message_arrive() {
    let mut random = Random::new(1);
    let types = [(Type::Integer, false), (Type::Text, true)];
    let text = |size: usize| Value::text("täxt ".repeat(size).as_str());
    let values = [text(3), text(2000), Value::Null, text(40_000), text(1)];
    let ids = Vector::from_values(Type::Integer, &(0..5).map(Value::I32).collect::<Vec<_>>());
    let batch = Batch::new(vec![ids, Vector::from_values(Type::Text, &values)], 5);
    for format in formats(&types) {
        for route in [Route::hash(vec![0], 3), Route::Broadcast] {
            let batches = [batch.clone(), batch.clone()];
            let got = through(&types, &batches, route, format.clone(), 3, 4 << 10, &mut random);
            let distinct = got.iter().flat_map(|machine| rows_of(machine)).collect::<Vec<_>>();
            assert_eq!(distinct.len() % 10, 0);
            assert!(distinct.iter().all(|row| rows_of(&[batch.clone()]).contains(row)));
        }
    }
}

#[test]
fn a_batch_without_columns_has_its_rows() {
    let mut random = Random::new(1);
    for format in formats(&[]) {
        let got = through(
            &[],
            &[Batch::new(Vec::new(), 70_000)],
            Route::Broadcast,
            format,
            3,
            4 << 10,
            &mut random,
        );
        for machine in got {
            assert_eq!(machine.iter().map(|batch| batch.rows).sum::<usize>(), 70_000);
        }
    }
}

#[test]
fn a_dictionary_crosses_each_link_once() {
    let words: Vec<Value> =
        (0..50).map(|i| Value::text(&format!("a value of the dictionary, number {i}"))).collect();
    let values = Arc::new(Vector::from_values(Type::Text, &words));
    let batch = |from: u32| {
        let codes: Vec<u32> = (0..4096).map(|row| (from + row * 7) % 50).collect();
        Batch::new(vec![Vector::dictionary(codes.into(), values.clone(), None)], 4096)
    };
    let stream = Stream::default();
    let exchange = Exchange::new(stream, 4, Route::RoundRobin, Format::Columns, 64 << 10);
    let pool = Pool::on_heap(64 << 10, 1000, 1);
    let mut sender = Sender::new(exchange.clone(), pool, 0);
    let mut out = Collected::default();
    for turn in 0..40 {
        assert_eq!(sender.push(batch(turn), &mut out).expect("sent"), Progress::Done);
    }
    assert_eq!(sender.finish(&mut out).expect("sent"), Progress::Done);
    let dictionaries: Vec<usize> = out
        .sent
        .iter()
        .filter(|(_, message)| message.header().flags.has(wire::Flags::DICTIONARY))
        .map(|(machine, _)| *machine)
        .collect();
    assert_eq!(dictionaries, [1, 2, 3]);
    let bytes: usize = out.sent.iter().map(|(_, message)| message.body().len()).sum();
    assert!(bytes < 30 * 4096 + 3 * 4096 + 40 * 64, "a byte a row and three dictionaries: {bytes}");
}

#[test]
fn a_dictionary_that_does_not_pay_is_not_sent() {
    let words: Vec<Value> = (0..30_000).map(|i| Value::text(&format!("distinct {i}"))).collect();
    let values = Arc::new(Vector::from_values(Type::Text, &words));
    let exchange = Exchange::new(Stream::default(), 2, Route::To(1), Format::Columns, 512 << 10);
    let mut sender = Sender::new(exchange, Pool::on_heap(512 << 10, 10, 1), 0);
    let mut out = Collected::default();
    let batch =
        Batch::new(vec![Vector::dictionary((0..1000).collect::<Vec<u32>>().into(), values, None)], 1000);
    assert_eq!(sender.push(batch, &mut out).expect("sent"), Progress::Done);
    assert_eq!(sender.finish(&mut out).expect("sent"), Progress::Done);
    assert!(out.sent.iter().all(|(_, message)| !message.header().flags.has(wire::Flags::DICTIONARY)));
}

#[test]
fn a_broadcast_is_serialised_once() {
    let exchange = Exchange::new(Stream::default(), 5, Route::Broadcast, Format::Columns, 64 << 10);
    let mut sender = Sender::new(exchange, Pool::on_heap(64 << 10, 10, 1), 0);
    let mut out = Collected::default();
    let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, (0..1000).collect())], 1000);
    assert_eq!(sender.push(batch, &mut out).expect("sent"), Progress::Done);
    assert_eq!(sender.finish(&mut out).expect("sent"), Progress::Done);
    let machines: Vec<usize> = out.sent.iter().map(|(machine, _)| *machine).collect();
    assert_eq!(machines, [1, 2, 3, 4]);
    let first = out.sent[0].1.bytes().as_ptr();
    assert!(out.sent.iter().all(|(_, message)| message.bytes().as_ptr() == first), "one memory");
    assert_eq!(out.sent[0].1.local().retain, 4);
    assert_eq!(out.local.len(), 1, "this machine's copy is the batch itself");
}

#[test]
fn heavy_keys_stay_or_go_to_all() {
    let rows = 20_000;
    let keys: Vec<i64> = (0..rows).map(|i| if i % 2 == 0 { 42 } else { i }).collect();
    let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, keys)], rows as usize);
    let pool = || Pool::on_heap(64 << 10, 100, 1);
    let exchange = Exchange::new(Stream::default(), 4, Route::hash(vec![0], 4), Format::Columns, 64 << 10);
    let mut sender = Sender::new(exchange, pool(), 0);
    sender.watch_keys(10_000);
    let mut out = Collected::default();
    assert_eq!(sender.push(batch.clone(), &mut out).expect("sent"), Progress::Done);
    let (sketch, enough) = sender.keys().expect("watched");
    assert!(enough);
    let heavy = Arc::new(sketch.heavy_for(4));
    assert_eq!(heavy.len(), 1);
    use wire::scatter::HeavyRows;
    for (rows_are, at_home) in [(HeavyRows::Stay, 10_000..=20_000), (HeavyRows::ToAll, 10_000..=20_000)] {
        let map: Arc<[u16]> = (0..4).collect();
        let route = Route::Hash { keys: vec![0], map, heavy: Some((heavy.clone(), rows_are)) };
        let types = [(Type::BigInt, false)];
        let got = through(
            &types,
            std::slice::from_ref(&batch),
            route,
            Format::Columns,
            4,
            64 << 10,
            &mut Random::new(3),
        );
        let count =
            |machine: usize| rows_of(&got[machine]).iter().filter(|row| row[0] == Value::I64(42)).count();
        assert!(at_home.contains(&rows_of(&got[1]).len()));
        let expected = if rows_are == HeavyRows::Stay { [0, 10_000, 0, 0] } else { [10_000; 4] };
        assert_eq!([count(0), count(1), count(2), count(3)], expected);
    }
}

#[test]
fn messages_of_other_streams_are_left_alone_and_planted_faults_are_found() {
    let stream = Stream { epoch: 5, query: 1, attempt: 2, exchange: 3, source: 0 };
    let types = [(Type::BigInt, false)];
    let pool = Pool::on_heap(64 << 10, 100, 1);
    let mut out = Collected::default();
    let exchange = Exchange::new(stream, 2, Route::To(1), Format::Columns, 64 << 10);
    let mut sender = Sender::new(exchange, pool.clone(), 0);
    let batch = Batch::new(vec![Vector::from_i64(Type::BigInt, (0..100).collect())], 100);
    assert_eq!(sender.push(batch, &mut out).expect("sent"), Progress::Done);
    assert_eq!(sender.finish(&mut out).expect("sent"), Progress::Done);
    assert_eq!(sender.close(&mut out).expect("closed"), Progress::Done);
    let message = |at: usize| carried(&out.sent[at].1, &pool);
    for other in [
        Stream { epoch: 6, ..stream },
        Stream { query: 2, ..stream },
        Stream { attempt: 1, ..stream },
        Stream { exchange: 4, ..stream },
    ] {
        let receiver = Receiver::new(other, 1, 2, layout(&types));
        assert!(matches!(receiver.open(message(0), &*pool), Ok(Opened::Foreign)));
    }
    // Another type than the sender's, a message too few, one too many.
    let receiver = Receiver::new(stream, 1, 2, layout(&[(Type::Double, false)]));
    assert!(receiver.open(message(0), &*pool).is_err());
    let receiver = Receiver::new(stream, 1, 2, layout(&types));
    assert!(receiver.open(message(1), &*pool).is_ok());
    assert!(!receiver.is_done(), "a message is missing");
    assert!(receiver.open(message(0), &*pool).is_ok());
    assert!(receiver.is_done());
    assert!(receiver.open(message(0), &*pool).is_err(), "one too many");
    // A wrong checksum.
    let mut taken = pool.take(0).expect("a message");
    let bytes = out.sent[0].1.bytes();
    taken.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    taken.bytes_mut()[100] ^= 1;
    assert_eq!(taken.received().expect_err("damaged").state(), types::SqlState::DataCorrupted);
}

#[test]
fn a_sender_without_messages_keeps_its_place() {
    let mut random = Random::new(8);
    let types = [(Type::BigInt, false), (Type::Text, true)];
    let batches: Vec<Batch> = (0..8)
        .map(|_| {
            let columns =
                types.iter().map(|(ty, nullable)| batches::random_vector(*ty, *nullable, 2000, &mut random));
            Batch::new(columns.collect(), 2000)
        })
        .collect();
    for format in formats(&types) {
        let stream = Stream { source: 1, ..Stream::default() };
        let exchange = Exchange::new(stream, 3, Route::hash(vec![0], 3), format, 4 << 10);
        // Two open messages, one for a dictionary, one under way.
        let mut sender = Sender::new(exchange, Pool::on_heap(4 << 10, 4, 1), 0);
        let far = Pool::on_heap(4 << 10, 1000, 1);
        let receiver = Receiver::new(Stream::default(), 0, 3, layout(&types));
        let mut out = Collected::default();
        let (mut stalls, mut rows) = (0, 0);
        let mut deliver = |out: &mut Collected| {
            for (machine, message) in out.sent.drain(..) {
                if machine == 0
                    && let Opened::Rows(batches) =
                        receiver.open(carried(&message, &far), &*far).expect("read")
                {
                    rows += batches.iter().map(|batch| batch.rows).sum::<usize>();
                } else {
                    rows += usize::from(machine == 0);
                }
            }
        };
        for batch in &batches {
            let mut progress = sender.push(batch.clone(), &mut out).expect("sent");
            while progress == Progress::Stalled {
                stalls += 1;
                assert!(sender.push(batch.clone(), &mut out).is_err(), "the last batch is not sent yet");
                deliver(&mut out);
                progress = sender.resume(&mut out).expect("sent");
            }
        }
        while sender.finish(&mut out).expect("sent") == Progress::Stalled {
            deliver(&mut out);
        }
        deliver(&mut out);
        let map: Vec<u16> = (0..3).collect();
        let expected = rows_of(&batches)
            .into_iter()
            .filter(|row| wire::scatter::machine_of(&[(Type::BigInt, row[0].clone())], &map) == 0)
            .count();
        assert!(stalls > 5, "{stalls}");
        assert_eq!(rows, expected);
    }
}

#[test]
fn many_workers_send_and_read_one_exchange() {
    use std::sync::Mutex;
    let words: Vec<Value> = (0..40).map(|i| Value::text(&format!("a word of the dictionary {i}"))).collect();
    let values = Arc::new(Vector::from_values(Type::Text, &words));
    let types = [(Type::BigInt, false), (Type::Text, false)];
    let stream = Stream { source: 0, ..Stream::default() };
    let exchange = Exchange::new(stream, 2, Route::To(1), Format::Columns, 16 << 10);
    let pool = Pool::on_heap(16 << 10, 10_000, 1);
    let sent: Mutex<Vec<Sealed>> = Mutex::new(Vec::new());
    struct Shared<'a>(&'a Mutex<Vec<Sealed>>);
    impl Outlet for Shared<'_> {
        fn send(&mut self, _: usize, message: Sealed) {
            self.0.lock().expect("no panic").push(message);
        }
        fn local(&mut self, _: Batch) {}
    }
    std::thread::scope(|scope| {
        for worker in 0..3i64 {
            let (exchange, pool, sent, values) = (exchange.clone(), pool.clone(), &sent, values.clone());
            scope.spawn(move || {
                let mut sender = Sender::new(exchange, pool, 0);
                for turn in 0..30 {
                    let ids = Vector::from_i64(
                        Type::BigInt,
                        (0..500).map(|i| worker * 100_000 + turn * 500 + i).collect(),
                    );
                    let codes: Vec<u32> = (0..500).map(|i| (i * 3 + turn as u32) % 40).collect();
                    let batch =
                        Batch::new(vec![ids, Vector::dictionary(codes.into(), values.clone(), None)], 500);
                    assert_eq!(sender.push(batch, &mut Shared(sent)).expect("sent"), Progress::Done);
                }
                assert_eq!(sender.finish(&mut Shared(sent)).expect("sent"), Progress::Done);
            });
        }
    });
    let mut last = Sender::new(exchange, pool.clone(), 0);
    assert_eq!(last.close(&mut Shared(&sent)).expect("closed"), Progress::Done);
    let mut messages = sent.into_inner().expect("no panic");
    Random::new(5).shuffle_of(&mut messages);
    let receiver = Receiver::new(stream, 1, 2, layout(&types));
    let queue = Mutex::new(messages);
    let rows: Mutex<Vec<Vec<Value>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(message) = queue.lock().expect("no panic").pop() else { return };
                    match receiver.open(message, &*pool).expect("read") {
                        Opened::Rows(batches) => rows.lock().expect("no panic").extend(rows_of(&batches)),
                        Opened::Foreign => panic!("our own message"),
                    }
                }
            });
        }
    });
    assert!(receiver.is_done());
    let rows = rows.into_inner().expect("no panic");
    assert_eq!(rows.len(), 3 * 30 * 500);
    for row in &rows {
        let [Value::I64(id), text] = row.as_slice() else { panic!("two columns") };
        let (turn, at) = (id % 100_000 / 500, id % 500);
        assert_eq!(*text, words[((at * 3 + turn) % 40) as usize]);
    }
}

#[test]
fn selected_rows_alone_are_sent() {
    let mut batch = Batch::new(vec![Vector::from_i64(Type::BigInt, (0..130).collect())], 130);
    batch.selection = Some([0b1011u64, 0, 0b1].into());
    let got = through(
        &[(Type::BigInt, false)],
        &[batch],
        Route::To(0),
        Format::Columns,
        2,
        4 << 10,
        &mut Random::new(1),
    );
    let expected: Vec<Vec<Value>> = [0, 1, 3, 128].map(|id| vec![Value::I64(id)]).to_vec();
    assert_eq!(rows_of(&got[0]), expected);
}

#[test]
fn slow_links_get_smaller_messages_and_fast_ones_do_not() {
    let rows = 4000;
    let batch = || {
        let texts: Vec<Value> =
            (0..rows).map(|i| Value::text(&format!("the same words again {}", i % 9))).collect();
        Batch::new(vec![Vector::from_values(Type::Text, &texts)], rows)
    };
    let types = [(Type::Text, false)];
    for (link, packed) in [(1e4, true), (1e15, false)] {
        let exchange = Exchange::new(Stream::default(), 2, Route::To(1), Format::Columns, 64 << 10);
        exchange.set_link(1, link);
        let pool = Pool::on_heap(64 << 10, 100, 1);
        let mut sender = Sender::new(exchange, pool.clone(), 0);
        let mut out = Collected::default();
        for _ in 0..5 {
            assert_eq!(sender.push(batch(), &mut out).expect("sent"), Progress::Done);
        }
        assert_eq!(sender.finish(&mut out).expect("sent"), Progress::Done);
        let receiver = Receiver::new(Stream::default(), 1, 2, layout(&types));
        let mut got = Vec::new();
        for (_, message) in &out.sent {
            let header = message.header();
            assert_eq!(header.flags.is_compressed(), packed);
            assert_eq!(header.used < header.plain / 2, packed, "{header:?}");
            match receiver.open(carried(message, &pool), &*pool).expect("read") {
                Opened::Rows(batches) => got.extend(batches),
                Opened::Foreign => panic!("our own message"),
            }
        }
        assert_eq!(got.iter().map(|batch| batch.rows).sum::<usize>(), 5 * rows);
        assert_same(
            sorted(rows_of(&got[..1])),
            sorted(rows_of(&[batch().slice(0, got[0].rows)])),
            "the first",
        );
    }
}

#[test]
fn messages_that_no_sender_writes_are_refused() {
    use wire::{Flags, Header};
    let types = [(Type::BigInt, false), (Type::Text, true)];
    let pool = Pool::on_heap(16 << 10, 400, 1);
    let kinds = [
        Flags::NONE,
        Flags::LAST,
        Flags::ROWS,
        Flags::LZ4,
        Flags::ZSTD,
        Flags::DICTIONARY,
        Flags::PIECE,
        Flags::OPAQUE,
    ];
    let (mut read, mut refused) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let receiver = Receiver::new(Stream::default(), 1, 3, layout(&types));
        for _ in 0..20 {
            let mut message = pool.take(0).expect("a message");
            let used = random.below(200u32);
            message.body_mut()[..used as usize]
                .iter_mut()
                .for_each(|byte| *byte = random.bits() as u8 & 0x83);
            let flags = random.pick(&kinds).and(*random.pick(&kinds));
            let plain = if flags.is_compressed() { random.below(16_000) } else { used };
            let stream = Stream { source: random.below(4u32), ..Stream::default() };
            // The checksum is right: who writes such a message means harm.
            let sealed = message.seal(Header { stream, flags, sequence: 0, used, plain });
            let mut taken = pool.take(0).expect("room at the receiver");
            taken.bytes_mut()[..sealed.bytes().len()].copy_from_slice(sealed.bytes());
            // Flags that contradict each other are refused with the header.
            match taken.received().and_then(|received| receiver.open(received, &*pool)) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(["08P01", "XX001"].contains(&error.state().code()), "{error:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 3000 && read > 0, "{refused} refused, {read} read");
}
