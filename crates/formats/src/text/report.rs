//! What sniffing found, as a row: the answer of `sniff_csv`.
//!
//! Called for the table function, which is bound before anything is read. The row's `prompt` is a call of `read_csv`
//! that needs no sniffing; a test runs it and compares.

use plan::FileFormat;
use plan::file::TextOptions;
use types::quote;
use types::{Field, Result, Schema, Type, Value};

use types::nested::encoding::{list_of, struct_of};

use super::given::Given;
use super::sniff::{Described, look};
use crate::Environment;
use crate::input::check_packing;

/// What `columns` holds of each column: its name, and its type in the words that `columns => ...` takes.
fn column_type() -> Result<Type> {
    Type::structure(vec![("name".to_owned(), Type::Text), ("type".to_owned(), Type::Text)])
}

/// The value of `columns` in the report.
fn found_columns(fields: &[Field], name: &dyn Fn(Type) -> String) -> Result<Value> {
    let one = column_type()?;
    let found: Vec<Value> = fields
        .iter()
        .filter_map(|f| struct_of(&[Value::text(&f.name), Value::text(&name(f.ty))], one))
        .collect();
    Ok(list_of(&found, one))
}

/// The columns of the report, called as DuckDB calls those that it has.
fn columns() -> Result<Schema> {
    let text = |name: &str| Field::new(name, Type::Text, true);
    let number = |name: &str| Field::new(name, Type::BigInt, true);
    Ok(Schema::new(vec![
        text("delimiter"),
        text("quote"),
        text("escape"),
        text("newlinedelimiter"),
        text("comment"),
        number("skiprows"),
        Field::new("hasheader", Type::Boolean, true),
        Field::new("columns", Type::list(column_type()?)?, true),
        text("dateformat"),
        text("timestampformat"),
        text("userarguments"),
        number("sampledrows"),
        text("notes"),
        text("prompt"),
    ]))
}

fn character(byte: u8) -> String {
    match byte {
        0 => String::new(),
        b'\t' => "\\t".to_owned(),
        _ => char::from(byte).to_string(),
    }
}

fn delimiter(options: &plan::file::TextOptions) -> String {
    match options.delimiter_text() {
        text if text.len() == 1 => character(options.delimiter),
        text => text,
    }
}

/// Columns and one row: what the files are, and a call that reads them without looking again.
pub fn report(
    environment: &Environment,
    paths: &[String],
    pattern: &str,
    options: &[(String, String)],
) -> Result<(Schema, Vec<Vec<Value>>)> {
    let given = Given::parse(options, FileFormat::Csv, false)?;
    check_packing(environment, paths, given.packing)?;
    let Described { schema, options, records, uncertain } =
        look(environment, paths, FileFormat::Csv, &given, None)?;
    let fields = schema.fields();
    let name = |ty: Type| if ty == Type::Text { "VARCHAR".to_owned() } else { ty.sql_name() };
    let list: Vec<String> =
        fields.iter().map(|f| format!("{}: '{}'", quote::text(&f.name), name(f.ty))).collect();
    let list = format!("{{{}}}", list.join(", "));
    let found = found_columns(fields, &name)?;
    let form = |wanted: &[Type]| date_forms(&schema, &options, wanted);
    let (dates, stamps) = (form(&[Type::Date]), form(&[Type::Timestamp, Type::TimestampTz]));
    let newline = if options.newline == b'\r' { "\\r" } else { "\\n" };
    let mut call = vec![quote::text(pattern)];
    let mut notes = Vec::new();
    // Columns with several forms of dates cannot be told in one call: that is found again.
    let one_form = dates.len() <= 1 && stamps.len() <= 1;
    if one_form {
        call.push("auto_detect => false".to_owned());
    } else {
        notes.push("columns of dates have several forms".to_owned());
    }
    call.push(format!("delim => {}", quote::text(&delimiter(&options))));
    call.push(format!("quote => {}", quote::text(&character(options.quote))));
    call.push(format!("escape => {}", quote::text(&character(options.escape))));
    call.push(format!("new_line => '{newline}'"));
    call.push(format!("skip => {}", options.skip));
    call.push(format!("comment => {}", quote::text(&character(options.comment))));
    call.push(format!("header => {}", options.header == Some(true)));
    if one_form {
        call.push(format!("columns => {list}"));
        call.extend(dates.first().map(|form| format!("dateformat => {}", quote::text(form))));
        call.extend(stamps.first().map(|form| format!("timestampformat => {}", quote::text(form))));
    }
    call.extend(kept_options(&given));
    for name in &uncertain {
        notes.push(format!(
            "the dates in {} have day or month first: say dateformat => '%d/%m/%Y' or the like",
            quote::text(name)
        ));
    }
    let said: Vec<String> = given
        .said
        .iter()
        .map(|(name, value)| format!("{name} => {}", quote::text(&value.replace('\0', ": "))))
        .collect();
    let text = |text: &str| Value::text(text);
    let maybe = |forms: &[&String]| match forms.is_empty() {
        true => Value::Null,
        false => Value::text(&forms.iter().map(|f| f.as_str()).collect::<Vec<_>>().join(", ")),
    };
    let count = |n: u64| Value::I64(i64::try_from(n).unwrap_or(i64::MAX));
    let row = vec![
        text(&delimiter(&options)),
        text(&character(options.quote)),
        text(&character(options.escape)),
        text(newline),
        text(&character(options.comment)),
        count(options.skip),
        Value::Bool(options.header == Some(true)),
        found,
        maybe(&dates),
        maybe(&stamps),
        text(&said.join(", ")),
        count(records as u64),
        text(&notes.join("; ")),
        text(&format!("SELECT * FROM read_csv({});", call.join(", "))),
    ];
    Ok((columns()?, vec![row]))
}

/// Options of the user that hold for the call that reads without looking again.
fn kept_options(given: &Given) -> Vec<String> {
    let kept = [
        "null",
        "nullstr",
        "decimal_separator",
        "decimal",
        "thousands",
        "null_padding",
        "strict",
        "strict_mode",
        "ignore_errors",
        "encoding",
        "compression",
        "max_line_size",
        "maximum_line_size",
        "buffer_size",
        "parallel",
    ];
    let said = given.said.iter().filter(|(name, _)| kept.contains(&name.as_str()));
    said.map(|(name, value)| {
        format!("{} => {}", if name == "null" { "nullstr" } else { name }, quote::text(value))
    })
    .collect()
}

/// The forms of dates of columns of these types.
fn date_forms<'o>(schema: &Schema, options: &'o TextOptions, wanted: &[Type]) -> Vec<&'o String> {
    let fields = schema.fields().iter();
    let mut forms: Vec<&String> = fields
        .zip(&options.formats)
        .filter(|(f, _)| wanted.contains(&f.ty))
        .filter_map(|(_, o)| o.as_ref())
        .collect();
    forms.dedup();
    forms
}
