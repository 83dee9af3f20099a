//! Parquet files that other writers make and ours does not.
//!
//! Each test builds its file with the `parquet` crate's low-level writer from a schema in text: enums, decimals in
//! more bytes than they need, Brotli, footers that state wrong numbers of rows, UUIDs and variants. What is not
//! standard must be read as the format's specification says, or be an error that names the file.

use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{Type as Written, TypePtr};
use types::{Type, Value};

use super::{Scratch, read_all};
use crate::Environment;
use crate::describe;

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

fn file(schema: TypePtr, compression: Compression, write: impl FnOnce(&mut Group<'_>)) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write(&mut group);
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn put<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
    repeated: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, repeated).unwrap();
    column.close().unwrap();
}

fn texts(values: &[&'static str]) -> Vec<ByteArray> {
    values.iter().map(|v| ByteArray::from(*v)).collect()
}

fn message(text: &str) -> TypePtr {
    Arc::new(parse_message_type(text).unwrap())
}

#[test]
fn enums_are_texts_also_inside_lists() {
    let schema = message(
        "message m { optional binary e (ENUM); repeated group tags { required binary k (ENUM); optional binary b; } }",
    );
    let bytes = file(schema, Compression::UNCOMPRESSED, |group| {
        put::<ByteArrayType>(group, &texts(&["red"]), Some(&[1, 0]), None);
        put::<ByteArrayType>(group, &texts(&["x", "y"]), Some(&[1, 1, 0]), Some(&[0, 1, 0]));
        put::<ByteArrayType>(group, &texts(&["b"]), Some(&[2, 1, 0]), Some(&[0, 1, 0]));
    });
    let file = Scratch::new("enum.parquet", &bytes);
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let fields = source.schema.fields();
    assert_eq!(fields[0].ty, Type::Text);
    assert_eq!(fields[1].ty.sql_name(), "STRUCT(k TEXT, b BYTEA)[]");
    let rows = read_all(file.path()).unwrap();
    assert_eq!(rows[0][0], Value::text("red"));
    assert!(rows[1][0].is_null());
    assert_eq!(rows[0][1].display(fields[1].ty), "[{'k': x, 'b': '\\\\x62'}, {'k': y, 'b': NULL}]");
}

#[test]
fn decimals_in_more_bytes_than_they_need_are_read() {
    let schema = message("message m { required fixed_len_byte_array(16) d (DECIMAL(3, 1)); }");
    let bytes = file(schema, Compression::UNCOMPRESSED, |group| {
        let values = [-5i128, 999].map(|v| FixedLenByteArray::from(v.to_be_bytes().to_vec()));
        put::<FixedLenByteArrayType>(group, &values, None, None);
    });
    let file = Scratch::new("wide.parquet", &bytes);
    assert_eq!(
        describe(&Environment::of_tests(), file.path(), &[]).unwrap().schema.fields()[0].ty,
        Type::Decimal { precision: 3, scale: 1 }
    );
    assert_eq!(read_all(file.path()).unwrap(), [[Value::I64(-5)], [Value::I64(999)]]);
}

#[test]
fn brotli_is_unpacked() {
    let schema = message("message m { required binary t (UTF8); }");
    let values: Vec<&str> = (0..500).map(|n| ["many", "words"][n % 2]).collect();
    let bytes = file(schema, Compression::BROTLI(Default::default()), |group| {
        put::<ByteArrayType>(group, &texts(&values), None, None);
    });
    let file = Scratch::new("brotli.parquet", &bytes);
    let rows = read_all(file.path()).unwrap();
    assert_eq!(rows.len(), 500);
    assert_eq!(rows[499], [Value::text("words")]);
}

#[test]
fn a_file_that_says_it_has_no_rows_has_those_of_its_groups() {
    let schema = message("message m { repeated binary t (UTF8); }");
    let sound = file(schema, Compression::UNCOMPRESSED, |group| {
        put::<ByteArrayType>(group, &texts(&["a", "b", "c"]), Some(&[1, 1, 1]), Some(&[0, 1, 0]));
    });
    let read = bytes::Bytes::from(sound.clone());
    let metadata = ArrowReaderMetadata::load(&read, ArrowReaderOptions::new()).unwrap();
    let said = metadata.metadata().file_metadata();
    let none = FileMetaData::new(said.version(), 0, None, None, said.schema_descr_ptr(), None);
    let none =
        ParquetMetaDataBuilder::new(none).set_row_groups(metadata.metadata().row_groups().to_vec()).build();
    // The pages stay, a footer is put behind the old one.
    let mut bytes = sound;
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &none).finish().unwrap();
    bytes.extend_from_slice(&footer);
    let file = Scratch::new("none.parquet", &bytes);
    let ty = Type::list(Type::Text).unwrap();
    let shown: Vec<String> = read_all(file.path()).unwrap().iter().map(|row| row[0].display(ty)).collect();
    assert_eq!(shown, ["[a, b]", "[c]"]);
}

/// Sixteen bytes are a UUID only where the file says so, at the top and inside lists.
#[test]
fn sixteen_bytes_are_bytes_unless_they_are_said_to_be_a_uuid() {
    let text = "message m {
        required fixed_len_byte_array(16) plain;
        required fixed_len_byte_array(16) id (UUID);
        required fixed_len_byte_array(5) five;
        required group listed (LIST) { repeated group list { optional fixed_len_byte_array(16) element; } }
        required group ids (LIST) { repeated group list { optional fixed_len_byte_array(16) element (UUID); } }
    }";
    let schema = Arc::new(parse_message_type(text).unwrap());
    let value = |byte: u8, length: usize| FixedLenByteArray::from(vec![byte; length]);
    let bytes = file(schema, Compression::UNCOMPRESSED, |group| {
        let (one, five) = ([value(0x41, 16)], [value(0x42, 5)]);
        put::<FixedLenByteArrayType>(group, &one, None, None);
        put::<FixedLenByteArrayType>(group, &one, None, None);
        put::<FixedLenByteArrayType>(group, &five, None, None);
        put::<FixedLenByteArrayType>(group, &one, Some(&[2]), Some(&[0]));
        put::<FixedLenByteArrayType>(group, &one, Some(&[2]), Some(&[0]));
    });
    let file = Scratch::new("sixteen.parquet", &bytes);
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let types: Vec<Type> = source.schema.fields().iter().map(|f| f.ty).collect();
    let list = |ty| Type::list(ty).unwrap();
    assert_eq!(types, [Type::Bytea, Type::Uuid, Type::Bytea, list(Type::Bytea), list(Type::Uuid)]);
    let row = read_all(file.path()).unwrap().remove(0);
    let shown: Vec<String> = row.iter().zip(types).map(|(value, ty)| value.display(ty)).collect();
    let (plain, uuid) = ("\\x41414141414141414141414141414141", "41414141-4141-4141-4141-414141414141");
    assert_eq!(shown[..3], [plain, uuid, "\\x4242424242"]);
    assert!(shown[3].contains(plain) && shown[4].contains(uuid), "{shown:?}");
    // What is pruned by bounds of such columns is pruned rightly or not at all.
    let reader = crate::open(&Environment::of_tests(), &source, &[0, 1], 10).unwrap();
    assert_eq!(super::rows(reader.as_ref()).unwrap().len(), 1);
}

/// What the engine writes says which of its bytes are UUIDs.
#[test]
fn uuids_come_back_as_uuids() {
    let schema = types::Schema::new(vec![
        types::Field::new("id", Type::Uuid, true),
        types::Field::new("bytes", Type::Bytea, true),
    ]);
    let id = types::cast::parse_text("41414141-4141-4141-4141-414141414142", Type::Uuid).unwrap();
    let columns = vec![
        vector::Vector::from_values(Type::Uuid, &[id.clone(), Value::Null]),
        vector::Vector::from_values(Type::Bytea, &[Value::Bytes([7; 16][..].into()), Value::Null]),
    ];
    let mut bytes = Vec::new();
    let batches = [vector::Batch::new(columns, 2)];
    crate::write::write_all(crate::write::WriteFormat::Parquet, &schema, &batches, &mut bytes).unwrap();
    let file = Scratch::new("uuids.parquet", &bytes);
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    assert_eq!(source.schema.fields().iter().map(|f| f.ty).collect::<Vec<_>>(), [Type::Uuid, Type::Bytea]);
    assert_eq!(read_all(file.path()).unwrap()[0], [id, Value::Bytes([7; 16][..].into())]);
    let metadata = ArrowReaderMetadata::load(&bytes::Bytes::from(bytes), ArrowReaderOptions::new()).unwrap();
    assert!(matches!(metadata.parquet_schema().column(0).logical_type_ref(), Some(LogicalType::Uuid)));
}

#[test]
fn variants_are_json_and_damaged_ones_are_told() {
    let leaf = |name: &str, repetition| {
        let built = Written::primitive_type_builder(name, Physical::BYTE_ARRAY).with_repetition(repetition);
        Arc::new(built.build().unwrap())
    };
    let variant = Written::group_type_builder("v")
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::variant(Some(1))))
        .with_fields(vec![leaf("metadata", Repetition::REQUIRED), leaf("value", Repetition::OPTIONAL)]);
    let schema = Written::group_type_builder("m").with_fields(vec![Arc::new(variant.build().unwrap())]);
    let schema = Arc::new(schema.build().unwrap());
    let written = |value: &[u8]| {
        file(schema.clone(), Compression::UNCOMPRESSED, |group| {
            let names = ByteArray::from(vec![1, 1, 0, 1, b'a']);
            put::<ByteArrayType>(group, &[names.clone(), names], Some(&[1, 0, 1]), None);
            let values = [value.to_vec(), vec![2, 1, 0, 0, 2, 3 << 2, 7]].map(ByteArray::from);
            put::<ByteArrayType>(group, &values, Some(&[2, 0, 2]), None);
        })
    };
    let sound = Scratch::new("variant.parquet", &written(&[2 << 2 | 1, b'h', b'i']));
    let source = describe(&Environment::of_tests(), sound.path(), &[]).unwrap();
    assert_eq!(source.schema.fields()[0].ty, Type::Json);
    let rows = read_all(sound.path()).unwrap();
    assert_eq!(rows, [[Value::text("\"hi\"")], [Value::Null], [Value::text("{\"a\":7}")]]);
    let bad = Scratch::new("variant.parquet", &written(&[9 << 2 | 1, b'h', b'i']));
    let error = read_all(bad.path()).unwrap_err();
    assert!(error.message().contains("column \"v\" has a damaged VARIANT"), "{error}");
}
