//! What is refused, with its code, and the forms of arrays.

use super::*;

fn list(element: Type) -> Type {
    Type::list(element).unwrap()
}

fn binary_state(bytes: &[u8], ty: Type) -> SqlState {
    match value(Some(bytes), Format::Binary, ty) {
        Err(error) => error.state(),
        Ok(value) => panic!("{ty}: {value:?}"),
    }
}

fn text_state(text: &str, ty: Type) -> SqlState {
    match value(Some(text.as_bytes()), Format::Text, ty) {
        Err(error) => error.state(),
        Ok(value) => panic!("{ty}: {value:?}"),
    }
}

#[test]
fn wrong_lengths_are_wrong_forms() {
    let fixed = [
        (Type::Boolean, 1),
        (Type::SmallInt, 2),
        (Type::UTinyInt, 2),
        (Type::Integer, 4),
        (Type::USmallInt, 4),
        (Type::BigInt, 8),
        (Type::UInteger, 8),
        (Type::Real, 4),
        (Type::Double, 8),
        (Type::Date, 4),
        (Type::Time, 8),
        (Type::TimeTz, 12),
        (Type::Timestamp, 8),
        (Type::TimestampTz, 8),
        (Type::Interval, 16),
        (Type::Uuid, 16),
    ];
    for (ty, length) in fixed {
        for wrong in [0, length - 1, length + 1] {
            assert_eq!(
                binary_state(&vec![0; wrong], ty),
                SqlState::InvalidBinaryRepresentation,
                "{ty} {wrong}"
            );
        }
    }
    for ty in [Type::HugeInt, Type::Decimal { precision: 5, scale: 2 }, Type::BITS, list(Type::Integer)] {
        for wrong in [&b""[..], b"\0\0", b"\xff\xff\xff\xff", b"\0\x01\0\0\0\0\0\0"] {
            assert_eq!(binary_state(wrong, ty), SqlState::InvalidBinaryRepresentation, "{ty} {wrong:?}");
        }
    }
}

#[test]
fn values_without_a_place_are_out_of_range() {
    let out_of_range = SqlState::NumericValueOutOfRange;
    assert_eq!(binary_state(&256i16.to_be_bytes(), Type::UTinyInt), out_of_range);
    assert_eq!(binary_state(&(-1i64).to_be_bytes(), Type::UInteger), out_of_range);
    let numeric = |sign: u16| [[0, 1], [0, 0], sign.to_be_bytes(), [0, 0], [0, 200]].concat();
    let decimal = |precision, scale| Type::Decimal { precision, scale };
    assert_eq!(value(Some(&numeric(0)), Format::Binary, decimal(5, 2)).unwrap(), Value::I64(20_000));
    assert_eq!(binary_state(&numeric(0), decimal(4, 2)), out_of_range);
    for special in [0xC000, 0xD000, 0xF000] {
        assert_eq!(binary_state(&numeric(special), decimal(5, 2)), out_of_range);
    }
    assert_eq!(binary_state(&numeric(1), decimal(5, 2)), SqlState::InvalidBinaryRepresentation);
    // A half is rounded away from zero; the group after the last one that is kept decides.
    let half = [[0, 2], [0, 0], [0x40, 0], [0, 4], [0, 1], 5000u16.to_be_bytes()].concat();
    assert_eq!(value(Some(&half), Format::Binary, decimal(5, 0)).unwrap(), Value::I64(-2));
    // A digit of base 10000 above 9999, and one that lies far before the point.
    let group = [[0, 1], [0, 0], [0, 0], [0, 0], 10_000u16.to_be_bytes()].concat();
    assert_eq!(binary_state(&group, decimal(38, 0)), SqlState::InvalidBinaryRepresentation);
    let large = [[0, 1], [0x7F, 0xFF], [0, 0], [0, 0], [0, 1]].concat();
    assert_eq!(binary_state(&large, decimal(38, 0)), out_of_range);
    let datetime = SqlState::DatetimeFieldOverflow;
    assert_eq!(binary_state(&(i32::MAX - 1).to_be_bytes(), Type::Date), datetime);
    assert_eq!(binary_state(&(i32::MIN + 1).to_be_bytes(), Type::Date), datetime);
    assert_eq!(binary_state(&(i64::MAX - 1).to_be_bytes(), Type::Timestamp), datetime);
    assert_eq!(binary_state(&(i64::MIN + 1).to_be_bytes(), Type::TimestampTz), datetime);
    assert_eq!(binary_state(&(-1i64).to_be_bytes(), Type::Time), datetime);
    assert_eq!(binary_state(&[&[0; 8][..], &60_000i32.to_be_bytes()].concat(), Type::TimeTz), datetime);
    let months = [&[0; 12][..], &i32::MAX.to_be_bytes()].concat();
    assert_eq!(binary_state(&months, Type::Interval), datetime);
    assert_eq!(binary_state(&months, Type::IntervalDayTime), datetime);
}

#[test]
fn text_is_text() {
    for ty in [Type::Text, Type::Varchar(9), Type::Json] {
        assert_eq!(binary_state(b"a\xff", ty), SqlState::CharacterNotInRepertoire);
        assert_eq!(binary_state(b"\"a\0\"", ty), SqlState::CharacterNotInRepertoire);
    }
    assert_eq!(binary_state(b"abc", Type::Varchar(2)), SqlState::StringDataRightTruncation);
    assert_eq!(binary_state(b"{", Type::Json), SqlState::InvalidTextRepresentation);
    assert_eq!(binary_state(b"\x02{}", Type::Jsonb), SqlState::InvalidBinaryRepresentation);
    assert_eq!(binary_state(b"", Type::Jsonb), SqlState::InvalidBinaryRepresentation);
    for (text, ty) in
        [("1x", Type::Integer), ("maybe", Type::Boolean), ("{a}", list(Type::Integer)), ("zz", Type::Uuid)]
    {
        assert_eq!(text_state(text, ty), SqlState::InvalidTextRepresentation, "{text}");
    }
    assert_eq!(text_state("2024-13-45 x", Type::Timestamp), SqlState::InvalidDatetimeFormat);
    assert_eq!(text_state("99999999999", Type::Integer), SqlState::NumericValueOutOfRange);
}

#[test]
fn arrays_are_read_strictly() {
    let numbers = list(Type::Integer);
    let read = |text: &str, ty| value(Some(text.as_bytes()), Format::Text, ty).unwrap();
    assert_eq!(read(" { 1 , null,\t3 } ", numbers), read("{1,NULL,3}", numbers));
    assert_eq!(read("[0:2]={1,2,3}", numbers), read("{1,2,3}", numbers));
    let texts = list(Type::Text);
    assert_eq!(read(r#"{a b , "c\"" , \N\U\L\L}"#, texts), read(r#"{"a b","c\"","NULL"}"#, texts));
    for wrong in [
        "",
        "{",
        "{1",
        "{1,",
        "{1,}",
        "{,1}",
        "{1 2}",
        "{1}}",
        "{1}x",
        "1",
        "{{1}}",
        "{1}{2}",
        "[1:2",
        "[2:1]={1}",
        "[1]{1}",
        "{\"1\"2}",
        "{\"1}",
        "{\\",
    ] {
        assert_eq!(text_state(wrong, numbers), SqlState::InvalidTextRepresentation, "{wrong}");
    }
    // Lists of different lengths, and NULL among lists, are values of ours.
    let nested = list(numbers);
    assert!(!read("{{1},{2,3},NULL,{}}", nested).is_null());
    let array = |dimensions: i32, flags: i32, element: u32, rest: &[u8]| {
        [&dimensions.to_be_bytes()[..], &flags.to_be_bytes(), &element.to_be_bytes(), rest].concat()
    };
    let one = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7];
    assert_eq!(value(Some(&array(1, 0, 23, &one)), Format::Binary, numbers).unwrap(), read("{7}", numbers));
    assert_eq!(value(Some(&array(0, 0, 23, b"")), Format::Binary, nested).unwrap(), read("{}", nested));
    assert_eq!(binary_state(&array(1, 0, 20, &one), numbers), SqlState::DatatypeMismatch);
    assert_eq!(binary_state(&array(1, 0, 23, &one), nested), SqlState::ArraySubscript);
    assert_eq!(binary_state(&array(7, 0, 23, &one), numbers), SqlState::StatementTooComplex);
    for wrong in [
        array(1, 2, 23, &one),
        array(-1, 0, 23, &one),
        array(0, 0, 23, &one),
        array(1, 0, 23, &one[..15]),
        array(1, 0, 23, &[&one[..], &[0]].concat()),
        array(1, 0, 23, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7]),
        array(1, 0, 23, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]),
        array(2, 0, 23, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1]),
    ] {
        assert_eq!(binary_state(&wrong, numbers), SqlState::InvalidBinaryRepresentation, "{wrong:?}");
    }
}

#[test]
fn a_client_names_types_by_oid() {
    let of = |bytes: &[u8], format, oid| value_of_oid(Some(bytes), format, oid).unwrap();
    let decimal = |precision, scale| Type::Decimal { precision, scale };
    assert_eq!(of(b"12.50", Format::Text, oid::NUMERIC), (decimal(4, 2), Value::I64(1250)));
    assert_eq!(of(b"-1e3", Format::Text, oid::NUMERIC), (decimal(4, 0), Value::I64(-1000)));
    assert_eq!(of(b"0.001", Format::Text, oid::NUMERIC), (decimal(3, 3), Value::I64(1)));
    let binary = [[0, 2], [0, 0], [0, 0], [0, 2], [0, 12], 5000u16.to_be_bytes()].concat();
    assert_eq!(of(&binary, Format::Binary, oid::NUMERIC), (decimal(4, 2), Value::I64(1250)));
    let many = "9".repeat(39);
    let error = value_of_oid(Some(many.as_bytes()), Format::Text, oid::NUMERIC).unwrap_err();
    assert_eq!(error.state(), SqlState::NumericValueOutOfRange);
    assert_eq!(of(&[0xFF; 4], Format::Binary, oid::OID), (Type::UInteger, Value::I64(u32::MAX.into())));
    // An array has as many levels as its value, and NUMERIC room for each element.
    let (ty, _) = of(b"{{1.25,NULL},{100,\"0.001\"}}", Format::Text, 1231);
    assert_eq!(ty, list(list(decimal(6, 3))));
    let (ty, _) = of(b"[1:1][1:1]={{1}}", Format::Text, 1007);
    assert_eq!(ty, list(list(Type::Integer)));
    for unknown in [0, oid::UNKNOWN, 600, 4_000_000_000] {
        assert_eq!(value_of_oid(None, Format::Text, unknown).unwrap_err().state(), SqlState::UndefinedObject);
    }
    assert_eq!(value_of_oid(None, Format::Binary, oid::DATE).unwrap(), (Type::Date, Value::Null));
}

#[test]
fn a_parameter_is_what_its_client_says_and_becomes_what_its_place_asks_for() {
    let read = |bytes: &[u8], format, oid, ty| parameter(Some(bytes), format, oid, ty, &crate::TextEnums);
    assert_eq!(read(&7i32.to_be_bytes(), Format::Binary, oid::INT4, Type::BigInt), Ok(Value::I64(7)));
    assert_eq!(read(b"7", Format::Text, oid::INT8, Type::SmallInt), Ok(Value::I16(7)));
    assert_eq!(read(b"7", Format::Text, 0, Type::Double), Ok(Value::F64(7.0)));
    assert_eq!(read(b"2024-01-31", Format::Text, oid::TEXT, Type::Date), Ok(Value::I32(19_753)));
    let decimal = Type::Decimal { precision: 10, scale: 1 };
    assert_eq!(read(b"1.26", Format::Text, oid::NUMERIC, decimal), Ok(Value::I64(13)));
    assert_eq!(parameter(None, Format::Text, oid::INT4, Type::Date, &crate::TextEnums), Ok(Value::Null));
    let state = |bytes, format, oid, ty| read(bytes, format, oid, ty).unwrap_err().state();
    assert_eq!(state(b"70000", Format::Text, oid::INT4, Type::SmallInt), SqlState::NumericValueOutOfRange);
    assert_eq!(
        state(&[0; 8], Format::Binary, oid::INT4, Type::BigInt),
        SqlState::InvalidBinaryRepresentation
    );
    // A type that is not known: text is read as the place's, binary has no meaning.
    assert_eq!(read(b"7", Format::Text, 600, Type::Integer), Ok(Value::I32(7)));
    assert_eq!(state(&[0; 16], Format::Binary, 600, Type::Integer), SqlState::UndefinedObject);
}

#[test]
fn numbers_that_their_place_does_not_hold_keep_their_own_type() {
    let money = Type::Decimal { precision: 15, scale: 2 };
    let decimal = |precision, scale| Type::Decimal { precision, scale };
    let read = |text: &str, oid, ty| {
        exact_parameter(Some(text.as_bytes()), Format::Text, oid, ty, &crate::TextEnums).unwrap()
    };
    assert_eq!(read("1.5", oid::NUMERIC, money), (money, Value::I64(150)));
    assert_eq!(read("1.5000", 0, money), (money, Value::I64(150)));
    assert_eq!(read("1.005", oid::NUMERIC, money), (decimal(4, 3), Value::I64(1005)));
    assert_eq!(read("1.005", 0, money), (decimal(4, 3), Value::I64(1005)));
    assert_eq!(read("12345678901234567", 0, money).0, decimal(17, 0));
    assert_eq!(read("7", oid::INT8, Type::SmallInt), (Type::SmallInt, Value::I16(7)));
    assert_eq!(read("70000", oid::INT8, Type::SmallInt), (Type::BigInt, Value::I64(70_000)));
    assert_eq!(read("2.5", oid::FLOAT8, Type::Integer), (Type::Double, Value::F64(2.5)));
    assert_eq!(read("0.1", oid::FLOAT8, money), (money, Value::I64(10)));
    // What is no number is read as before, and so is a number for a place that is none.
    assert_eq!(read("2024-01-31", oid::TEXT, Type::Date), (Type::Date, Value::I32(19_753)));
    assert_eq!(read("7", 0, Type::Integer), (Type::Integer, Value::I32(7)));
    assert_eq!(read("7", oid::INT4, Type::Text), (Type::Text, Value::text("7")));
    let none = exact_parameter(None, Format::Binary, oid::NUMERIC, money, &crate::TextEnums);
    assert_eq!(none, Ok((money, Value::Null)));
}

#[test]
fn structs_and_maps_are_json() {
    let pair = Type::structure(vec![("a".into(), Type::Integer), ("b".into(), Type::Text)]).unwrap();
    let map = Type::map(Type::Text, Type::Integer).unwrap();
    let json = br#"{"a": 1, "b": "x"}"#;
    let read = value(Some(json), Format::Text, pair).unwrap();
    assert_eq!(read, value(Some(json), Format::Binary, pair).unwrap());
    let mut out = Vec::new();
    let form = crate::value::ValueForm { zone: types::Zone::Utc, oids: &crate::TextEnums };
    crate::value::push(&read, pair, Format::Binary, form, &mut out).unwrap();
    assert_eq!(out, br#"{"a":1,"b":"x"}"#);
    assert!(!value(Some(br#"{"k": 7}"#), Format::Binary, map).unwrap().is_null());
    assert_eq!(text_state("{'a': 1}", pair), SqlState::InvalidTextRepresentation);
    // In an array, too.
    let pairs = list(pair);
    let array = value(Some(br#"{"{\"a\": 1, \"b\": null}",NULL}"#), Format::Text, pairs).unwrap();
    out.clear();
    crate::value::push(&array, pairs, Format::Text, form, &mut out).unwrap();
    assert_eq!(out, br#"{"{\"a\":1,\"b\":null}",NULL}"#);
}
