//! Values beside those of a real PostgreSQL 15: `postgresql15.tsv`, which `capture.py` wrote.

use std::sync::Arc;

use pgproto::rows::RowEncoder;
use pgproto::value::ValueForm;
use pgproto::{Format, MessageBuffer, TextEnums, decode, value};
use random::Random;
use types::{Type, Value, Zone, zone};
use vector::{Batch, Vector};

const FORMATS: [Format; 2] = [Format::Text, Format::Binary];

struct Record {
    ty: Type,
    /// As it is read.
    source: &'static str,
    text: &'static str,
    binary: Vec<u8>,
}

impl Record {
    fn bytes(&self, format: Format) -> &[u8] {
        match format {
            Format::Text => self.text.as_bytes(),
            Format::Binary => &self.binary,
        }
    }
    fn value(&self) -> Value {
        let read = decode::value(Some(self.source.as_bytes()), Format::Text, self.ty);
        read.unwrap_or_else(|error| panic!("{} {}: {error}", self.ty, self.source))
    }
}

fn records() -> Vec<Record> {
    let lines = include_str!("postgresql15.tsv").lines().skip(1);
    let hexadecimal = |digits: &str| {
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
    };
    let record = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let ty = Type::from_sql_name(cells[0]).unwrap_or_else(|| panic!("{}", cells[0]));
        Record { ty, source: cells[1], text: cells[2], binary: hexadecimal(cells[3]) }
    };
    lines.map(record).collect()
}

/// All tests read and show instants in the zone of the capture.
fn in_berlin(work: impl FnOnce(Zone)) {
    let berlin = Zone::parse("Europe/Berlin").unwrap();
    zone::within(berlin, || work(berlin));
}

#[test]
fn values_are_written_as_postgresql_writes_them() {
    in_berlin(|zone| {
        let mut wrong = Vec::new();
        for record in records() {
            for format in FORMATS {
                let mut out = Vec::new();
                value::push(
                    &record.value(),
                    record.ty,
                    format,
                    ValueForm { zone, oids: &TextEnums },
                    &mut out,
                )
                .unwrap();
                if out != record.bytes(format) {
                    let shown = String::from_utf8_lossy(&out).into_owned();
                    wrong.push(format!("{} {} {format:?}: {shown:?} {out:02x?}", record.ty, record.source));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn what_postgresql_writes_is_read() {
    in_berlin(|_| {
        let mut wrong = Vec::new();
        for record in records() {
            for format in FORMATS {
                match decode::value(Some(record.bytes(format)), format, record.ty) {
                    Ok(read) if read == record.value() => {}
                    other => wrong.push(format!("{} {} {format:?}: {other:?}", record.ty, record.source)),
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// The cells of the DataRows in a buffer of messages.
fn cells(out: &MessageBuffer) -> Vec<Vec<Option<Vec<u8>>>> {
    let (mut rows, mut rest) = (Vec::new(), out.bytes());
    while let Some((kind, tail)) = rest.split_first() {
        assert_eq!(*kind, b'D');
        let length = u32::from_be_bytes(tail[..4].try_into().unwrap()) as usize;
        let (mut body, after) = (&tail[6..length], &tail[length..]);
        let mut row = Vec::new();
        for _ in 0..u16::from_be_bytes([tail[4], tail[5]]) {
            let (length, values) = body.split_first_chunk::<4>().unwrap();
            match i32::from_be_bytes(*length) {
                -1 => {
                    row.push(None);
                    body = values;
                }
                length => {
                    row.push(Some(values[..length as usize].to_vec()));
                    body = &values[length as usize..];
                }
            }
        }
        assert!(body.is_empty());
        rows.push(row);
        rest = after;
    }
    rows
}

/// A column of a value and NULLs as vectors of every form, with what each row holds.
fn forms(ty: Type, value: &Value, rows: usize) -> Vec<(Vector, Vec<bool>)> {
    let has_value = |row: usize| row % 3 != 1;
    let values: Vec<Value> =
        (0..rows).map(|row| if has_value(row) { value.clone() } else { Value::Null }).collect();
    let flat = Vector::from_values(ty, &values);
    let dictionary = Arc::new(Vector::from_values(ty, std::slice::from_ref(value)));
    let codes = vec![0u32; rows];
    vec![
        (
            Vector::dictionary(codes.clone().into(), dictionary.clone(), flat.validity().cloned()),
            (0..rows).map(has_value).collect(),
        ),
        (Vector::dictionary(codes.into(), dictionary, None), vec![true; rows]),
        (flat, (0..rows).map(has_value).collect()),
        (Vector::constant(ty, value.clone(), rows), vec![true; rows]),
        (Vector::constant(ty, Value::Null, rows), vec![false; rows]),
    ]
}

#[test]
fn rows_hold_the_values_in_every_form_of_vector() {
    in_berlin(|zone| {
        // More than a group of rows.
        let rows = 300;
        for record in records() {
            for format in FORMATS {
                for (column, present) in forms(record.ty, &record.value(), rows) {
                    let number = Vector::constant(Type::Integer, Value::I32(7), rows);
                    let batch = Batch::new(vec![column, number], rows);
                    let types = [record.ty, Type::Integer];
                    let mut encoder = RowEncoder::data_rows(&types, &[format, Format::Text], zone).unwrap();
                    let mut out = MessageBuffer::new();
                    encoder.append_all(&batch, &TextEnums, &mut out).unwrap();
                    let found = cells(&out);
                    assert_eq!(found.len(), rows);
                    for (row, present) in found.iter().zip(present) {
                        let wanted = present.then(|| record.bytes(format).to_vec());
                        assert_eq!(row[0], wanted, "{} {} {format:?}", record.ty, record.source);
                        assert_eq!(row[1].as_deref(), Some(&b"7"[..]));
                    }
                }
            }
        }
    });
}

/// A column of some values in random order, as a vector of one form or another, with the place of each row's value;
/// `None` is NULL.
fn shuffled(ty: Type, values: &[Value], rows: usize, random: &mut Random) -> (Vector, Vec<Option<usize>>) {
    let nulls = random.below(3) > 0;
    let mut place = || (!nulls || random.below(4) > 0).then(|| random.below(values.len()));
    let places: Vec<Option<usize>> = (0..rows).map(|_| place()).collect();
    let flat: Vec<Value> =
        places.iter().map(|place| place.map_or(Value::Null, |place| values[place].clone())).collect();
    let flat = Vector::from_values(ty, &flat);
    if random.below(2) == 0 {
        return (flat, places);
    }
    let codes: Vec<u32> = places.iter().map(|place| place.unwrap_or(0) as u32).collect();
    let dictionary = Arc::new(Vector::from_values(ty, values));
    (Vector::dictionary(codes.into(), dictionary, flat.validity().cloned()), places)
}

#[test]
fn rows_of_all_types_together_are_as_value_by_value() {
    in_berlin(|zone| {
        let records = records();
        let mut random = Random::new(7);
        for round in 0..20 {
            let rows = [1, 255, 256, 257, 1000][round % 5];
            let (mut types, mut formats, mut columns, mut expected) = (vec![], vec![], vec![], vec![]);
            for of_type in records.chunk_by(|a, b| a.ty == b.ty) {
                let values: Vec<Value> = of_type.iter().map(Record::value).collect();
                let (column, places) = shuffled(of_type[0].ty, &values, rows, &mut random);
                let format = FORMATS[random.below(2usize)];
                types.push(of_type[0].ty);
                formats.push(format);
                columns.push(column);
                let cell = |place: Option<usize>| place.map(|place| of_type[place].bytes(format).to_vec());
                expected.push(places.into_iter().map(cell).collect::<Vec<_>>());
            }
            let batch = Batch::new(columns, rows);
            let mut encoder = RowEncoder::data_rows(&types, &formats, zone).unwrap();
            let (mut pending, mut out) = (encoder.begin(&batch), MessageBuffer::new());
            while !pending.is_done() {
                encoder.append(&mut pending, &TextEnums, out.len() + 1, &mut out).unwrap();
            }
            for (row, found) in cells(&out).into_iter().enumerate() {
                let wanted: Vec<_> = expected.iter().map(|column| column[row].clone()).collect();
                assert!(found == wanted, "round {round}, row {row}: {found:02x?} {wanted:02x?}");
            }
        }
    });
}

#[test]
fn a_batch_is_encoded_in_pieces_of_bounded_size() {
    let rows = 5_000;
    let texts: Vec<Value> = (0..rows).map(|row| Value::text(&"x".repeat(row % 1000))).collect();
    let numbers: Vec<Value> = (0..rows).map(|row| Value::I64(row as i64)).collect();
    let columns = vec![Vector::from_values(Type::Text, &texts), Vector::from_values(Type::BigInt, &numbers)];
    let batch = Batch::new(columns, rows);
    let types = [Type::Text, Type::BigInt];
    let encode = |bytes_max: usize| {
        let mut encoder = RowEncoder::data_rows(&types, &[], Zone::Utc).unwrap();
        let mut pending = encoder.begin(&batch);
        let (mut all, mut pieces) = (Vec::new(), 0);
        while !pending.is_done() {
            let mut out = MessageBuffer::new();
            encoder.append(&mut pending, &TextEnums, bytes_max, &mut out).unwrap();
            assert!(out.len() < bytes_max.saturating_add(300 << 10), "{}", out.len());
            all.extend(out.take());
            pieces += 1;
        }
        assert_eq!(pending.encoded(), rows);
        (all, pieces)
    };
    let (whole, pieces) = encode(usize::MAX);
    assert_eq!(pieces, 1);
    let (cut, pieces) = encode(64 << 10);
    assert!(cut == whole && pieces > 10, "{pieces}");
}
