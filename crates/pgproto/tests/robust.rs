//! Arbitrary bytes for everything that reads bytes: no panic, no memory beyond what has come; and arbitrary values, which
//! come back as they were sent.
//!
//! The random source and the numbers of inputs are fixed, so that a failure repeats. Inputs are random bytes, and right
//! ones with some bytes changed, cut and moved, which get further.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pgproto::copy::{BINARY_HEAD, BinaryCopyReader, CopyFormat, CopyOptions, LineCopyReader};
use pgproto::frontend::{password, sasl_initial_response};
use pgproto::scram::{ChannelBinding, Exchange, MECHANISM, Verifier};
use pgproto::value::ValueForm;
use pgproto::{Decoded, Decoder, Format, Limits, TextEnums, decode, startup, value};
use proptest::prelude::*;
use random::Random;
use types::interval::{DAYS_MAX, Interval, MONTHS_MAX};
use types::time_tz::TimeTz;
use types::{Type, Value, Zone, cast, datetime};

/// Counts the largest allocation of a thread.
struct Counting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The largest allocation while something runs.
fn largest(work: impl FnOnce()) -> usize {
    LARGEST.set(0);
    work();
    LARGEST.get()
}

/// A right input, damaged, or random bytes.
fn damaged(random: &mut Random, right: &[&[u8]]) -> Vec<u8> {
    let mut bytes = match random.below(4) {
        0 => (0..random.below(64)).map(|_| random.bits() as u8).collect(),
        _ => right[random.below(right.len())].to_vec(),
    };
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len().max(1));
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] = random.bits() as u8,
            1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][random.below(5)],
            2 => bytes.truncate(at),
            3 => bytes.insert(at.min(bytes.len()), random.bits() as u8),
            _ => bytes.extend_from_within(at.min(bytes.len())..),
        }
    }
    bytes
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &((body.len() + 4) as u32).to_be_bytes(), body].concat()
}

const INPUTS: usize = 100_000;

#[test]
fn allocations_are_seen() {
    assert_eq!(largest(|| drop(std::hint::black_box(vec![7u8; 1 << 20]))), 1 << 20);
    let grown = largest(|| {
        let mut bytes = std::hint::black_box(vec![1u8; 10]);
        bytes.extend(std::iter::repeat_n(2, 100_000));
        std::hint::black_box(bytes);
    });
    assert!(grown >= 100_000);
}

#[test]
fn messages_of_any_bytes() {
    let right = [
        framed(b'Q', b"select 1\0"),
        framed(b'P', b"s\0select $1\0\0\x02\0\0\0\x17\0\0\0\0"),
        framed(b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x02\0\0\0\x01"),
        framed(b'D', b"Sx\0"),
        framed(b'E', b"p\0\0\0\0\x05"),
        framed(b'd', b"abc"),
        framed(b'p', b"SCRAM-SHA-256\0\0\0\0\x02n,"),
        framed(b'S', b""),
    ];
    let right: Vec<&[u8]> = right.iter().map(Vec::as_slice).collect();
    let mut random = Random::new(1);
    for _ in 0..INPUTS {
        let input = damaged(&mut random, &right);
        let most = largest(|| {
            let mut decoder = Decoder::new();
            if !input.len().is_multiple_of(3) {
                decoder.authenticated(Limits::AFTER_AUTHENTICATION);
            }
            let mut at = 0;
            while let Ok(decoded) = decoder.next(&input[at..]) {
                match decoded {
                    Decoded::Incomplete => break,
                    Decoded::Message(pgproto::Frontend::Password(body), taken) => {
                        let _ = (password(body), sasl_initial_response(body));
                        at += taken;
                    }
                    Decoded::Message(_, taken) | Decoded::Malformed(_, _, taken) => {
                        assert!(taken > 0);
                        at += taken;
                    }
                }
            }
            assert!(at <= input.len());
        });
        // Lists of parameters take sixteen bytes for the four of each.
        assert!(most <= 4096 + input.len() * 8, "{most} bytes for {input:02x?}");
    }
}

#[test]
fn first_packets_of_any_bytes() {
    let packet = |body: &[u8]| [&((body.len() + 4) as u32).to_be_bytes()[..], body].concat();
    let right = [
        packet(&80_877_103u32.to_be_bytes()),
        packet(&[&80_877_102u32.to_be_bytes()[..], b"\0\0\0\x01key1"].concat()),
        packet(b"\0\x03\0\0user\0me\0options\0-c a=b\0_pq_.x\0y\0\0"),
    ];
    let right: Vec<&[u8]> = right.iter().map(Vec::as_slice).collect();
    let mut random = Random::new(2);
    for _ in 0..INPUTS {
        let input = damaged(&mut random, &right);
        let most = largest(|| {
            if let Ok(Some((_, taken))) = startup::decode(&input) {
                assert!((8..=input.len()).contains(&taken));
            }
        });
        assert!(most <= 4096 + input.len() * 8, "{most} bytes for {input:02x?}");
    }
}

fn types() -> Vec<Type> {
    let list = |element| Type::list(element).unwrap();
    let pair = Type::structure(vec![("a".into(), Type::Integer), ("b".into(), Type::Text)]).unwrap();
    vec![
        Type::Boolean,
        Type::SmallInt,
        Type::UTinyInt,
        Type::BigInt,
        Type::UBigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::Decimal { precision: 18, scale: 3 },
        Type::Decimal { precision: 38, scale: 20 },
        Type::Char(4),
        Type::Text,
        Type::Bytea,
        Type::Date,
        Type::Time,
        Type::TimeTz,
        Type::Timestamp,
        Type::TimestampTz,
        Type::Interval,
        Type::IntervalYearMonth,
        Type::IntervalDayTime,
        Type::Bit(3),
        Type::BITS,
        Type::Uuid,
        Type::Json,
        Type::Jsonb,
        Type::enumeration(None, vec!["a".into(), "b".into()]).unwrap(),
        list(Type::Integer),
        list(list(Type::Text)),
        list(Type::Decimal { precision: 10, scale: 2 }),
        list(pair),
        pair,
        Type::map(Type::Text, Type::Integer).unwrap(),
    ]
}

#[test]
fn parameters_of_any_bytes() {
    let right: [&[u8]; 14] = [
        b"{1,NULL,3}",
        b"{\"{1,2}\",\"a\\\"b\"}",
        b"{{a,b},{c,d}}",
        b"[1:2]={1,2}",
        b"{\"a\": 1, \"b\": \"x\"}",
        b"2024-01-31 01:02:03.5+02",
        b"1 year 2 mons -3 days 04:05:06",
        b"-12345.678e2",
        b"\\xdeadbeef",
        b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        b"\0\x02\0\0\0\0\0\x02\0\x0c\x13\x88",
        b"\0\0\0\x01\0\0\0\x01\0\0\0\x17\0\0\0\x02\0\0\0\x01\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff",
        b"\0\0\0\x03\xa0",
        b"\x01{\"a\":[1,2]}",
    ];
    let (types, mut random) = (types(), Random::new(3));
    let form = ValueForm { zone: Zone::Utc, oids: &TextEnums };
    let (read_of, mut read_by) = (INPUTS / 100, [0, 0]);
    for _ in 0..INPUTS {
        let input = damaged(&mut random, &right);
        let ty = types[random.below(types.len())];
        let format = if random.below(2) == 0 { Format::Text } else { Format::Binary };
        let most = largest(|| {
            let oid = [23, 1007, 1231, 1700, 1009, 26, 114, 1186][input.len() % 8];
            let _ = decode::value_of_oid(Some(&input), format, oid);
            let Ok(read) = decode::value(Some(&input), format, ty) else { return };
            read_by[format.code() as usize] += 1;
            // What is read can be written, as text always.
            for format in [Format::Text, Format::Binary] {
                let mut out = Vec::new();
                let written = value::push(&read, ty, format, form, &mut out);
                assert!(written.is_ok() || format == Format::Binary, "{ty} {input:02x?}");
            }
        });
        // Bits are held as digits, a number's zeros may be written out.
        assert!(most <= 16_384 + input.len() * 64, "{most} bytes for {ty} {format:?} {input:02x?}");
    }
    // Damaged inputs that nothing reads would say little.
    assert!(read_by[0] > read_of && read_by[1] > read_of, "{read_by:?}");
}

#[test]
fn copy_streams_of_any_bytes() {
    let types = [Type::Integer, Type::Text, Type::Decimal { precision: 10, scale: 2 }];
    let row = b"\0\x03\0\0\0\x04\0\0\0\x07\0\0\0\x02ab\0\0\0\x0a\0\x01\0\0\0\0\0\x02\0\x0c";
    let stream = [BINARY_HEAD, row, row, b"\xff\xff"].concat();
    let mut random = Random::new(4);
    for _ in 0..INPUTS / 2 {
        let input = damaged(&mut random, &[&stream, &stream, BINARY_HEAD]);
        let size = 1 + random.below(40);
        let most = largest(|| {
            let mut reader = BinaryCopyReader::new(&types, 1000);
            let pushed = input.chunks(size).try_for_each(|piece| reader.push(piece, |_| Ok(())));
            if pushed.is_ok() {
                let _ = reader.finish();
            }
        });
        assert!(most <= 16_384 + input.len() * 8, "{most} bytes for {input:02x?}");
    }
}

#[test]
fn copy_lines_of_any_bytes() {
    let columns = [("a", Type::Integer), ("b", Type::Text), ("c", Type::Decimal { precision: 10, scale: 2 })];
    let right: [&[u8]; 3] = [
        b"1\ta\\tb\t1.50\n\\N\t\\N\t\\N\n2\t\\x41\\101\t0.1\r\n\\.\nx",
        b"1,\"a,\"\"b\nc\",1.50\n,,\n2,x\"y\"z,-0.1\n\\.\n",
        b"a,b,c\r\n7,\"\",\r\n",
    ];
    let (mut random, mut whole) = (Random::new(6), 0);
    for _ in 0..INPUTS / 2 {
        let input = damaged(&mut random, &right);
        let format = if random.below(2) == 0 { CopyFormat::Text } else { CopyFormat::Csv };
        let mut options = CopyOptions::of(format, 3);
        options.header = random.below(4) == 0;
        let size = 1 + random.below(40);
        let most = largest(|| {
            let mut read = Vec::new();
            for size in [size, usize::MAX] {
                let mut reader = LineCopyReader::new(&columns, &options, 1000);
                let pushed = input.chunks(size).try_for_each(|piece| reader.push(piece, |_| Ok(())));
                read.push(pushed.and_then(|()| reader.finish()).map(|batch| batch.rows));
            }
            // However a stream is cut, it has the same rows or the same error.
            assert_eq!(read[0], read[1], "{input:02x?}");
            whole += usize::from(read[0].is_ok());
        });
        assert!(most <= 16_384 + input.len() * 8, "{most} bytes for {input:02x?}");
    }
    assert!(whole > INPUTS / 100, "{whole}");
}

#[test]
fn scram_messages_of_any_bytes() {
    let verifier = Verifier::of_password("secret", 2).unwrap();
    let mut random = Random::new(5);
    for _ in 0..INPUTS / 4 {
        let first = damaged(
            &mut random,
            &[b"n,,n=,r=abcdef", b"y,,n=me,r=x,a=1", b"p=tls-server-end-point,,n=,r=abc"],
        );
        let begun = Exchange::begin(verifier.clone(), MECHANISM, &ChannelBinding::None, &first);
        let Ok((exchange, answer)) = begun else { continue };
        let nonce = answer.split(',').next().unwrap_or_default();
        let right = format!("c=biws,{nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let last = damaged(&mut random, &[right.as_bytes(), b"c=biws,r=x,p=YQ=="]);
        assert!(exchange.finish(&last, "me").is_err());
        let _ = Verifier::parse(&String::from_utf8_lossy(&damaged(
            &mut random,
            &[verifier.to_string().as_bytes()],
        )));
    }
}

/// A value of any type that is held as a number or as bytes.
fn any_value() -> impl Strategy<Value = (Type, Value)> {
    let decimal = (1u32..=38).prop_flat_map(|precision| (Just(precision), 0..=precision, any::<i128>()));
    prop_oneof![
        any::<bool>().prop_map(|v| (Type::Boolean, Value::Bool(v))),
        any::<i16>().prop_map(|v| (Type::SmallInt, Value::I16(v))),
        any::<i32>().prop_map(|v| (Type::Integer, Value::I32(v))),
        any::<i64>().prop_map(|v| (Type::BigInt, Value::I64(v))),
        any::<u32>().prop_map(|v| (Type::UInteger, Value::I64(v.into()))),
        any::<u64>().prop_map(|v| (Type::UBigInt, Value::I128(v.into()))),
        any::<i128>().prop_map(|v| (Type::HugeInt, Value::I128(v))),
        any::<u32>().prop_map(|v| (Type::Real, Value::F32(f32::from_bits(v)))),
        any::<u64>().prop_map(|v| (Type::Double, Value::F64(f64::from_bits(v)))),
        decimal.prop_map(|(precision, scale, v)| {
            let ty = Type::decimal(precision, scale).unwrap();
            let v = v % types::decimal::power_of_ten(precision as u8);
            (ty, Value::from_i128(v, ty.physical()).unwrap())
        }),
        (datetime::DATE_MIN..=datetime::DATE_MAX).prop_map(|v| (Type::Date, Value::I32(v as i32))),
        (0..=datetime::MICROS_PER_DAY).prop_map(|v| (Type::Time, Value::I64(v))),
        (0..=datetime::MICROS_PER_DAY, -57_599..=57_599i32)
            .prop_map(|(micros, east)| (Type::TimeTz, TimeTz { micros, east }.value())),
        (-210_866_803_200_000_000..=9_223_371_331_200_000_000 - 946_684_800_000_000i64)
            .prop_map(|v| (Type::Timestamp, Value::I64(v))),
        (-200_000_000_000_000_000..=9_000_000_000_000_000_000i64)
            .prop_map(|v| (Type::TimestampTz, Value::I64(v))),
        (-MONTHS_MAX..=MONTHS_MAX, -DAYS_MAX..=DAYS_MAX, any::<i64>())
            .prop_map(|(m, d, t)| (Type::Interval, Interval::new(m, d, t).value().unwrap())),
        any::<[u8; 16]>().prop_map(|v| (Type::Uuid, Value::I128(cast::uuid_from_bytes(v)))),
        any::<Vec<u8>>().prop_map(|v| (Type::Bytea, Value::Bytes(v.into()))),
        "[^\0]*".prop_map(|v| (Type::Text, Value::text(&v))),
        "[01]{0,40}".prop_map(|v| (Type::BITS, Value::text(&v))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn values_come_back_and_text_is_that_of_casts((ty, given) in any_value()) {
        let zone = Zone::parse("America/St_Johns").unwrap();
        types::zone::within(zone, || {
            let form = ValueForm { zone, oids: &TextEnums };
            for format in [Format::Text, Format::Binary] {
                let mut out = Vec::new();
                value::push(&given, ty, format, form, &mut out).unwrap();
                if format == Format::Text && ty != Type::Boolean {
                    prop_assert_eq!(String::from_utf8_lossy(&out), cast::format_value(&given, ty));
                }
                // INTERVAL's text is read in one manner only, where signs differ, too.
                let read = decode::value(Some(&out), format, ty);
                prop_assert_eq!(read, Ok(given.clone()), "{} {:?} {:?}", ty, format, out);
            }
            Ok(())
        })?;
    }

    #[test]
    fn lists_come_back(rows in proptest::collection::vec(proptest::option::of("[^\0]{0,6}"), 0..6), depth in 0usize..3) {
        let mut ty = Type::list(Type::Text).unwrap();
        let values: Vec<Value> = rows.iter().map(|v| v.as_deref().map_or(Value::Null, Value::text)).collect();
        let mut given = types::nested::encoding::list_of(&values, Type::Text);
        for _ in 0..depth {
            given = types::nested::encoding::list_of(&[given.clone(), given], ty);
            ty = Type::list(ty).unwrap();
        }
        let form = ValueForm { zone: Zone::Utc, oids: &TextEnums };
        for format in [Format::Text, Format::Binary] {
            // Without elements an array has no dimensions in binary.
            if format == Format::Binary && values.is_empty() && depth > 0 {
                continue;
            }
            let mut out = Vec::new();
            value::push(&given, ty, format, form, &mut out).unwrap();
            prop_assert_eq!(decode::value(Some(&out), format, ty), Ok(given.clone()), "{:?}", out);
        }
    }
}
