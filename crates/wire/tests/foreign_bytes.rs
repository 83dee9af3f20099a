//! Bytes that no sender wrote: nothing panics, nothing takes memory out of proportion, and what is read is sound.

mod allocator;
mod batches;

use arrow_buffer::Buffer;
use batches::{random_batch, random_types, rows_of};
use random::Random;
use types::{Type, Value};
use vector::{Batch, Vector};
use wire::columns::dictionary::{NoDictionaries, Received};
use wire::columns::{self, ColumnWriter, Unread};
use wire::rows::{RowReader, RowWriter, interpreted};
use wire::{Buffers, HEADER_BYTES, Header, Picked, Pool, RowLayout};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

fn columnar(batch: &Batch) -> Vec<u8> {
    let mut writer = ColumnWriter::new();
    writer.take(batch, false, &mut NoDictionaries);
    let mut out = vec![0; writer.parcel_bytes(Picked::all(batch.rows))];
    let length = writer.write(Picked::all(batch.rows), &mut out);
    out.truncate(length);
    out
}

fn tuples(layout: &RowLayout, batch: &Batch) -> Vec<u8> {
    let mut writer = RowWriter::new(layout.clone());
    writer.take(batch);
    let mut out = vec![0; 4 << 20];
    let (rows, length) = writer.write(Picked::all(batch.rows), &mut out);
    assert_eq!(rows, batch.rows);
    out.truncate(length);
    out
}

/// Changes some bytes, or cuts, or joins.
fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.between(1, 4) {
        if bytes.is_empty() {
            break;
        }
        // Heads of parcels are hit more often than their share.
        let at =
            if random.chance(50) { random.below(bytes.len().min(96)) } else { random.below(bytes.len()) };
        match random.below(6u32) {
            0 => bytes[at] ^= 1 << random.below(8u32),
            1 => bytes[at] = random.bits() as u8,
            2 => bytes[at] = *random.pick(&[0, 1, 0x7F, 0x80, 0xFF]),
            3 => {
                let end = (at + 4).min(bytes.len());
                let word =
                    (*random.pick(&[0u32, 1, 16, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, u32::MAX])).to_le_bytes();
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            4 => bytes.truncate(at),
            _ => bytes.extend_from_within(..at),
        }
    }
    bytes
}

/// Reads everything that was read, so that a wrong offset would show.
fn looked_at(batches: &[Batch], types: &[Type]) {
    for batch in batches {
        assert_eq!(batch.columns.len(), types.len());
        for (column, ty) in batch.columns.iter().zip(types) {
            assert_eq!(column.len(), batch.rows);
            for row in 0..batch.rows.min(2000) {
                if let Value::Bytes(bytes) = column.value(row)
                    && ty.is_text()
                {
                    assert!(std::str::from_utf8(&bytes).is_ok(), "a text that is none");
                }
            }
        }
    }
}

/// A body of so many bytes may take this much: widened codes, and objects for parcels of nothing but heads.
fn memory_bound(body: usize, columns: usize) -> i64 {
    (128 * body + 4096 * columns + 65_536) as i64
}

#[test]
fn mutated_bodies_do_no_harm() {
    let (mut read, mut refused) = (0, 0);
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let typed = random_types(&mut random);
        let types: Vec<Type> = typed.iter().map(|(ty, _)| *ty).collect();
        let layout = RowLayout::of_columns(&typed);
        let batch = random_batch(&typed, &mut random);
        let (parcels, rows) = (columnar(&batch), tuples(&layout, &batch));
        let reader = RowReader::new(layout.clone());
        for _ in 0..40 {
            let body = Buffer::from_vec(mutated(&parcels, &mut random));
            let bound = memory_bound(body.len(), types.len());
            let (result, peak) = allocator::peak_of(|| columns::read(&types, &body, &|_| None));
            assert!(peak <= bound, "seed {seed}: {peak} bytes for a body of {}", body.len());
            match result {
                Ok(batches) => {
                    looked_at(&batches, &types);
                    read += 1;
                }
                Err(Unread::Wrong(error)) => {
                    assert_eq!(error.state().code(), "08P01");
                    refused += 1;
                }
                Err(Unread::Dictionary(_)) => refused += 1,
            }
            let body = Buffer::from_vec(mutated(&rows, &mut random));
            let (result, peak) = allocator::peak_of(|| reader.read(&body));
            assert!(peak <= memory_bound(body.len(), types.len()), "seed {seed}: {peak} for {}", body.len());
            // The interpreter takes and refuses the same bytes.
            match (result, interpreted::read(&layout, &body)) {
                (Ok(a), Ok(b)) => {
                    looked_at(std::slice::from_ref(&a), &types);
                    assert_eq!(format!("{:?}", rows_of(&[a])), format!("{:?}", rows_of(&[b])), "seed {seed}");
                }
                (Err(_), Err(_)) => {}
                (a, b) => panic!("seed {seed}: {:?} but {:?}", a.err(), b.err()),
            }
        }
    }
    assert!(read > 300 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn noise_does_no_harm() {
    let mut random = Random::new(2);
    let types = [Type::BigInt, Type::Text, Type::Boolean];
    let reader = RowReader::new(RowLayout::of_columns(&types.map(|ty| (ty, true))));
    for _ in 0..3000 {
        let body: Vec<u8> = (0..random.below(300)).map(|_| random.bits() as u8 & 3).collect();
        let body = Buffer::from_vec(body);
        let _ = columns::read(&types, &body, &|_| None);
        let _ = reader.read(&body);
        let _ = Received::new().add(&types, &body);
        let mut header = [0u8; HEADER_BYTES];
        let length = body.len().min(HEADER_BYTES);
        header[..length].copy_from_slice(&body[..length]);
        assert!(Header::parse(&header, 1 << 19).is_err());
    }
}

#[test]
fn many_rows_of_nothing_take_no_memory() {
    // 65,536 rows of a column of constants and one of empty strings, in a parcel of some bytes.
    let types = [Type::HugeInt, Type::Text];
    let rows = 1 << 16;
    let columns = vec![
        Vector::constant(Type::HugeInt, Value::I128(5), rows),
        Vector::from_values(Type::Text, &vec![Value::text(""); rows]),
    ];
    let body = Buffer::from_vec(columnar(&Batch::new(columns, rows)));
    assert!(body.len() < 100);
    let (read, peak) = allocator::peak_of(|| columns::read(&types, &body, &|_| None).expect("sound"));
    assert_eq!(read[0].rows, rows);
    assert!(peak < 4096, "{peak} bytes");
    // One row more is refused.
    let mut more = body.to_vec();
    more[..4].copy_from_slice(&((1u32 << 16) + 1).to_le_bytes());
    assert!(columns::read(&types, &Buffer::from_vec(more), &|_| None).is_err());
}

#[test]
fn planted_faults_are_found() {
    use std::sync::Arc;
    struct Always;
    impl columns::Assign for Always {
        fn assign(&mut self, _: usize, _: &Arc<Vector>, _: usize, _: usize) -> Option<u32> {
            Some(7)
        }
    }
    // A code outside of its dictionary.
    let values = Arc::new(Vector::from_values(Type::Text, &[Value::text("a"), Value::text("b")]));
    let batch = Batch::new(vec![Vector::dictionary(vec![0, 1, 1].into(), values.clone(), None)], 3);
    let mut writer = ColumnWriter::new();
    writer.take(&batch, false, &mut Always);
    let mut out = vec![0; writer.parcel_bytes(Picked::all(3))];
    let length = writer.write(Picked::all(3), &mut out);
    out.truncate(length);
    let known = |number: u32| (number == 7).then(|| values.clone());
    let read = |bytes: &[u8]| columns::read(&[Type::Text], &Buffer::from_slice_ref(bytes), &known);
    assert_eq!(rows_of(&read(&out).expect("sound")), rows_of(&[batch]));
    let codes = 16 + 8 + 8;
    out[codes] = 2;
    let error = format!("{:?}", read(&out).expect_err("a code beyond the dictionary"));
    assert!(error.contains("a code lies outside of its dictionary"), "{error}");
    assert!(matches!(
        columns::read(&[Type::Text], &Buffer::from_vec(out), &|_| None),
        Err(Unread::Dictionary(7))
    ));
    // A text cut within a character: the bytes are UTF-8, the strings are not.
    let texts = ["é", "ab"].map(Value::text);
    let mut out = columnar(&Batch::new(vec![Vector::from_values(Type::Bytea, &texts)], 2));
    assert!(columns::read(&[Type::Text], &Buffer::from_slice_ref(&out), &known).is_ok());
    let end = 16 + 8 + 8;
    assert_eq!(&out[end..end + 4], "éab".as_bytes()[..4].as_ref());
    let mut random = Random::new(1);
    out[end..end + 4].copy_from_slice("aéb".as_bytes());
    let error = columns::read(&[Type::Text], &Buffer::from_slice_ref(&out), &known).expect_err("cut");
    assert!(format!("{error:?}").contains("UTF-8"));
    assert!(columns::read(&[Type::Bytea], &Buffer::from_slice_ref(&out), &known).is_ok());
    // A nested value that is none of its type.
    let list = Type::list(Type::Integer).expect("a type");
    let value = batches::random_value(list, &mut random);
    let mut out = columnar(&Batch::new(vec![Vector::from_values(list, &[value.clone(), value])], 2));
    assert!(columns::read(&[list], &Buffer::from_slice_ref(&out), &known).is_ok());
    let last = out.iter().rposition(|byte| *byte != 0).expect("bytes");
    out[last] = 9;
    assert!(columns::read(&[list], &Buffer::from_slice_ref(&out), &known).is_err());
    // A message whose checksum is wrong is not even looked at.
    let pool = Pool::on_heap(4096, 1, 1);
    let mut message = pool.take(0).expect("a message");
    message.body_mut()[..100].fill(3);
    let sealed = message.seal(Header { used: 100, plain: 100, ..Header::default() });
    let mut bytes = sealed.bytes().to_vec();
    drop(sealed);
    bytes[HEADER_BYTES + 50] ^= 4;
    let mut message = pool.take(0).expect("the message again");
    message.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
    assert_eq!(message.received().expect_err("damaged").state().code(), "XX001");
}

#[test]
fn memory_that_is_not_aligned_gives_the_same_rows() {
    for seed in 0..60 {
        let mut random = Random::new(1000 + seed);
        let typed = random_types(&mut random);
        let types: Vec<Type> = typed.iter().map(|(ty, _)| *ty).collect();
        let batch = random_batch(&typed, &mut random);
        // Written and read at an odd place, by a list of rows.
        let rows: Vec<u32> = (0..batch.rows as u32).filter(|_| random.chance(70)).collect();
        let mut writer = ColumnWriter::new();
        writer.take(&batch, true, &mut NoDictionaries);
        let mut out = vec![0; 1 + writer.parcel_bytes(Picked::List(&rows))];
        let length = writer.write(Picked::List(&rows), &mut out[1..]);
        let body = Buffer::from_vec(out).slice_with_length(1, length);
        let read = columns::read(&types, &body, &|_| None).expect("sound");
        assert_eq!(
            format!("{:?}", rows_of(&read)),
            format!("{:?}", rows_of(&[batch.gather(&rows)])),
            "seed {seed}"
        );
    }
}

#[test]
fn compiled_and_interpreted_tuples_are_the_same_bytes() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        // Now and then more strings than are put into a tuple at once.
        let typed = match seed % 10 {
            0 => (0..12).map(|_| (Type::Text, random.chance(50))).collect(),
            _ => random_types(&mut random),
        };
        let layout = RowLayout::of_columns(&typed);
        let batch = random_batch(&typed, &mut random);
        let flat = Batch::new(batch.columns.iter().map(Vector::flatten).collect(), batch.rows);
        let compiled = tuples(&layout, &batch);
        let mut by_hand = Vec::new();
        interpreted::write(&layout, &flat, Picked::all(batch.rows), &mut by_hand);
        assert_eq!(compiled, by_hand, "seed {seed}");
        let body = Buffer::from_vec(compiled);
        let read = RowReader::new(layout.clone()).read(&body).expect("sound");
        assert_eq!(format!("{:?}", rows_of(&[read])), format!("{:?}", rows_of(&[batch])), "seed {seed}");
    }
}

#[test]
fn the_papers_partsupp_lies_as_its_figure_8_shows() {
    let decimal = Type::Decimal { precision: 15, scale: 2 };
    // partkey, suppkey, availqty (may be NULL), supplycost, comment.
    let layout = RowLayout::of_columns(&[
        (Type::Integer, false),
        (Type::Integer, false),
        (Type::Integer, true),
        (decimal, false),
        (Type::Varchar(199), false),
    ]);
    let column = |ty, values: [Value; 2]| Vector::from_values(ty, &values);
    let batch = Batch::new(
        vec![
            column(Type::Integer, [Value::I32(1), Value::I32(2)]),
            column(Type::Integer, [Value::I32(3), Value::I32(4)]),
            column(Type::Integer, [Value::I32(5), Value::Null]),
            column(decimal, [Value::I64(77), Value::I64(78)]),
            column(Type::Varchar(199), [Value::text("ab"), Value::text("")]),
        ],
        2,
    );
    let bytes = tuples(&layout, &batch);
    let mut expected = Vec::new();
    expected.extend_from_slice(&77i64.to_le_bytes());
    expected.extend_from_slice(&1i32.to_le_bytes());
    expected.extend_from_slice(&3i32.to_le_bytes());
    expected.push(1);
    expected.extend_from_slice(&5i32.to_le_bytes());
    expected.extend_from_slice(&2u32.to_le_bytes());
    expected.extend_from_slice(b"ab");
    expected.extend_from_slice(&78i64.to_le_bytes());
    expected.extend_from_slice(&2i32.to_le_bytes());
    expected.extend_from_slice(&4i32.to_le_bytes());
    expected.push(0);
    expected.extend_from_slice(&0u32.to_le_bytes());
    assert_eq!(bytes, expected);
}
