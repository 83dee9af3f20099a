//! Random tables: small domains, so that joins and groups meet, with NULLs, duplicates and a few extreme values.
//!
//! A table of `random_tables` has up to six columns and fewer than 2,000 rows. Rows are kept as values, so that the
//! reference reads them directly (`for_reference`) and the engine gets them as INSERT statements. `FuzzRelations`
//! shows the tables to the front end.

use plan::{FileSource, TableId};
use reference::{Table, Tables};
use sql::{RelationInfo, Relations};
use types::interval::Interval;
use types::time_tz::TimeTz;
use types::{Error, Field, Result, Schema, Type, Value, datetime, decimal};

use super::tree::Family;
use random::Random;

/// A table with all its rows, from which both the engine and the reference are loaded.
#[derive(Clone, Debug)]
pub struct FuzzTable {
    /// The table's name: `t0`, `t1` and so on.
    pub name: String,
    /// Names, types and nullability of the columns.
    pub fields: Vec<Field>,
    /// The first column is the primary key.
    pub keyed: bool,
    /// One value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// The texts that random TEXT values and literals are drawn from: few, so that joins and groups meet.
pub const WORDS: [&str; 14] = [
    "a",
    "b",
    "ab",
    "B",
    "abc",
    "",
    "banana",
    "Ärger",
    "été",
    "a%b",
    "a_b",
    "a longer string than a view holds",
    "a longer string than a view keeps",
    "zz",
];

/// An enum whose labels are not in the order of their texts.
pub fn labels() -> Type {
    let labels = ["sad", "ok", "", "happy", "it's"].map(str::to_owned);
    Type::enumeration(None, labels.to_vec()).unwrap_or(Type::Text)
}

/// What a column may be; `portable` leaves out what DuckDB writes or computes otherwise.
fn random_type(random: &mut Random, portable: bool) -> Type {
    let d = |precision, scale| Type::Decimal { precision, scale };
    let common = [
        Type::Integer,
        Type::Integer,
        Type::Integer,
        Type::BigInt,
        Type::SmallInt,
        Type::Text,
        Type::Text,
        Type::Varchar(40),
        Type::Char(34),
        Type::Double,
        Type::Real,
        Type::Boolean,
        Type::Date,
        Type::Date,
        Type::Timestamp,
        d(5, 2),
        d(12, 2),
        d(18, 4),
        d(24, 3),
    ];
    let own = [
        Type::Time,
        Type::TimestampTz,
        Type::IntervalYearMonth,
        Type::IntervalDayTime,
        Type::Interval,
        Type::Bytea,
        Type::Uuid,
        Type::TinyInt,
        Type::UTinyInt,
        Type::USmallInt,
        Type::UInteger,
        Type::UBigInt,
        Type::HugeInt,
        labels(),
        labels(),
        Type::TimeTz,
        Type::TimestampS,
        Type::TimestampMs,
        Type::TimestampNs,
        Type::TimestampTzNs,
        Type::Bit(3),
        Type::BITS,
        d(38, 6),
    ];
    if !portable && random.chance(30) { *random.pick(&own) } else { *random.pick(&common) }
}

fn day(random: &mut Random) -> i32 {
    let base = datetime::days_from_civil(2020, 2, 20);
    match random.below(20) {
        0 => datetime::days_from_civil(1900, 1, 1),
        1 => datetime::days_from_civil(2199, 12, 31),
        _ => base + random.below(20),
    }
}

/// A value of the type, not NULL. `extreme` lets a few be as large as the type goes.
pub fn random_value(random: &mut Random, ty: Type, portable: bool, extreme: bool) -> Value {
    let extreme = extreme && random.chance(2);
    let small = random.between(-3, 9);
    match ty {
        Type::Boolean | Type::Null => Value::Bool(random.chance(50)),
        Type::SmallInt if extreme => Value::I16(*random.pick(&[i16::MAX, i16::MIN, 300])),
        Type::SmallInt => Value::I16(small as i16),
        Type::Integer if extreme => Value::I32(*random.pick(&[i32::MAX, i32::MIN, 100_000])),
        Type::Integer => Value::I32(small as i32),
        Type::BigInt if extreme => Value::I64(*random.pick(&[i64::MAX, i64::MIN, 10_000_000_000])),
        Type::BigInt => Value::I64(small),
        // Quarters: sums and products stay exact in any order.
        Type::Real => Value::F32(random.between(-12, 40) as f32 / 4.0),
        Type::Double if extreme && !portable => Value::F64(*random.pick(&[f64::NAN, 1e12, -1e12])),
        Type::Double => Value::F64(random.between(-12, 40) as f64 / 4.0),
        Type::Decimal { precision, .. } => {
            let value = if extreme {
                let nines = decimal::power_of_ten(precision.min(if portable { 12 } else { precision })) - 1;
                if random.chance(50) { nines } else { -nines }
            } else {
                i128::from(random.between(-300, 900)) / if random.chance(50) { 50 } else { 1 }
            };
            Value::from_i128(value, ty.physical()).unwrap_or(Value::Null)
        }
        Type::System(_)
        | Type::Json
        | Type::Jsonb
        | Type::List(_)
        | Type::Struct(_)
        | Type::Map(_)
        | Type::Union(_) => Value::Null,
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) => {
            Value::text(WORDS[random.below(WORDS.len())])
        }
        Type::Date => Value::I32(day(random)),
        Type::Time => Value::I64(random.between(0, 7) * 3 * 3_600_000_000 + random.between(0, 1) * 1_500_000),
        Type::TimestampS | Type::TimestampMs | Type::TimestampNs | Type::TimestampTzNs => {
            let plain = ty.in_microseconds();
            let moment = random_value(random, plain, portable, extreme);
            types::cast::cast_value(&moment, plain, ty).unwrap_or(Value::Null)
        }
        Type::Timestamp | Type::TimestampTz => {
            let hours = random.between(0, 3) * 6 * 3_600_000_000;
            Value::I64(
                i64::from(day(random)) * datetime::MICROS_PER_DAY + hours + random.between(0, 1) * 250_000,
            )
        }
        Type::IntervalYearMonth => Value::I32(*random.pick(&[1, 2, 11, 12, 14, -3])),
        Type::IntervalDayTime => Value::I64(*random.pick(&[1, 12, 24, 36, -5]) * 3_600_000_000),
        Type::Interval => {
            let (months, days) = *random.pick(&[(0, 0), (1, 0), (0, 30), (0, 1), (14, -3)]);
            let hours = *random.pick(&[0, 24, 720, -5]);
            let interval = Interval::new(months, days, hours * 3_600_000_000);
            interval.packed().map_or(Value::Null, Value::I128)
        }
        Type::UHugeInt | Type::BigNum => {
            let text = match extreme {
                true => "340282366920938463463374607431768211455".to_owned(),
                false => small.max(0).to_string(),
            };
            types::cast::parse_text(&text, ty).unwrap_or(Value::Null)
        }
        Type::TimeNs => Value::I64(random.between(0, 7) * 10_800_000_000_001),
        Type::Bytea => Value::Bytes((0..random.below(4)).map(|_| random.below(3) as u8 * 100).collect()),
        Type::TinyInt | Type::UTinyInt | Type::USmallInt | Type::UInteger | Type::UBigInt | Type::HugeInt => {
            let (low, high) = ty.integer_range().unwrap_or((0, 0));
            let value = match extreme {
                true => *random.pick(&[low, high, high - 1]),
                false => i128::from(small).clamp(low, high),
            };
            Value::of_integer(value, ty).unwrap_or(Value::Null)
        }
        Type::TimeTz => {
            let (micros, east) =
                (random.between(0, 5) * 4 * 3_600_000_000, *random.pick(&[0, 3600, -28_800]));
            TimeTz { micros, east }.value()
        }
        Type::Bit(_) | Type::VarBit(_) => {
            let count = if let Type::Bit(count) = ty { count as usize } else { random.below(5) };
            Value::Bytes((0..count).map(|_| b"01"[random.below(2)]).collect())
        }
        Type::Enum(_) => Value::I32(random.below(ty.labels().map_or(1, <[String]>::len)) as i32),
        Type::Uuid => Value::I128(types::cast::uuid_from_bytes([random.below(4) as u8 * 80; 16])),
    }
}

/// The value as SQL writes it.
pub fn literal(value: &Value, ty: Type) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    let shown = value.display(ty);
    let quoted = shown.replace('\'', "''");
    match ty {
        Type::Boolean => shown,
        Type::SmallInt | Type::Integer | Type::BigInt | Type::Decimal { .. } => shown,
        Type::Real | Type::Double if shown.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-') => {
            shown
        }
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) => format!("'{quoted}'"),
        Type::Date => format!("DATE '{quoted}'"),
        Type::Time => format!("TIME '{quoted}'"),
        Type::Timestamp => format!("TIMESTAMP '{quoted}'"),
        Type::Interval => format!("INTERVAL '{quoted}'"),
        _ => format!("CAST('{quoted}' AS {ty})"),
    }
}

/// Tables of the rewrite fuzzer: one without rows, one with a single row, and small ones with columns that are NULL
/// throughout; whole numbers of every width and intervals among their types.
pub fn rewrite_tables(random: &mut Random, portable: bool) -> Vec<FuzzTable> {
    let own = [
        Type::TinyInt,
        Type::UTinyInt,
        Type::USmallInt,
        Type::UInteger,
        Type::UBigInt,
        Type::HugeInt,
        Type::Interval,
    ];
    let counts = [0, 1, 2 + random.below(9), 3 + random.below(25)];
    let mut tables = Vec::with_capacity(counts.len());
    for (number, count) in counts.into_iter().enumerate() {
        let mut table = random_table(random, number, portable);
        if !portable && random.chance(60) {
            table.fields.push(Field::new("g", *random.pick(&own), true));
        }
        // The single row has values; the last column of the others often none.
        let last = table.fields.len() - 1;
        let empty = count > 1 && !(table.keyed && last == 0) && random.chance(40);
        table.fields[last].nullable |= empty;
        table.rows = Vec::with_capacity(count);
        for row in 0..count {
            let cell = |(at, field): (usize, &Field)| match () {
                () if at == 0 && table.keyed => Value::I32(row as i32 - 2),
                () if empty && at == last => Value::Null,
                () if field.nullable && random.chance(12) => Value::Null,
                () => random_value(random, field.ty, portable, true),
            };
            table.rows.push(table.fields.iter().enumerate().map(cell).collect());
        }
        tables.push(table);
    }
    tables
}

/// Two to four tables of fewer than 2,000 rows. `portable` leaves out types and values that DuckDB writes or computes
/// otherwise.
pub fn random_tables(random: &mut Random, portable: bool) -> Vec<FuzzTable> {
    let count = 2 + random.below(3);
    (0..count).map(|number| random_table(random, number, portable)).collect()
}

fn random_table(random: &mut Random, number: usize, portable: bool) -> FuzzTable {
    let rows = match random.weighted(&[5, 5, 60, 20, 10]) {
        0 => 0,
        1 => 1,
        2 => 2 + random.below(28),
        3 => 30 + random.below(270),
        _ => 300 + random.below(1700),
    };
    let keyed = random.chance(35);
    let mut fields = vec![Field::new("a", Type::Integer, !keyed && random.chance(70))];
    for name in ["b", "c", "d", "e", "f"].iter().take(1 + random.below(5)) {
        fields.push(Field::new(*name, random_type(random, portable), random.chance(75)));
    }
    let nulls: Vec<usize> =
        fields.iter().map(|f| if f.nullable { *random.pick(&[0, 5, 15, 60]) } else { 0 }).collect();
    let extreme = random.chance(25);
    let rows = (0..rows)
        .map(|row| {
            let cells = fields.iter().zip(&nulls).enumerate();
            cells
                .map(|(at, (field, nulls))| {
                    if at == 0 && keyed {
                        Value::I32(row - 2)
                    } else if random.chance(*nulls) {
                        Value::Null
                    } else {
                        random_value(random, field.ty, portable, extreme)
                    }
                })
                .collect()
        })
        .collect();
    FuzzTable { name: format!("t{number}"), fields, keyed, rows }
}

impl FuzzTable {
    /// The family of the type of the column at this position.
    pub fn family(&self, column: usize) -> Family {
        Family::of(self.fields[column].ty)
    }

    /// CREATE TABLE and INSERT statements.
    pub fn statements(&self) -> Vec<String> {
        let column = |(at, f): (usize, &Field)| {
            let key = if at == 0 && self.keyed { " PRIMARY KEY" } else { "" };
            let null = if f.nullable || !key.is_empty() { "" } else { " NOT NULL" };
            format!("{} {}{null}{key}", f.name, f.ty)
        };
        let columns: Vec<String> = self.fields.iter().enumerate().map(column).collect();
        let mut all = vec![format!("CREATE TABLE {} ({})", self.name, columns.join(", "))];
        for chunk in self.rows.chunks(250) {
            let rows: Vec<String> = chunk
                .iter()
                .map(|row| {
                    let cells: Vec<String> =
                        row.iter().zip(&self.fields).map(|(v, f)| literal(v, f.ty)).collect();
                    format!("({})", cells.join(", "))
                })
                .collect();
            all.push(format!("INSERT INTO {} VALUES {}", self.name, rows.join(", ")));
        }
        all
    }
}

/// The tables as the reference reads them.
pub fn for_reference(tables: &[FuzzTable]) -> Tables {
    let mut all = Tables::default();
    for (number, table) in tables.iter().enumerate() {
        let schema = Schema::new(table.fields.clone());
        all.insert(TableId(number as u64), Table { schema, rows: table.rows.clone() });
    }
    all
}

/// The tables as the front end resolves names against them.
pub struct FuzzRelations<'a>(pub &'a [FuzzTable]);

impl Relations for FuzzRelations<'_> {
    fn table(&self, _schema: Option<&str>, name: &str) -> Result<Option<RelationInfo>> {
        let found = self.0.iter().enumerate().find(|(_, t)| t.name == name);
        Ok(found.map(|(number, table)| RelationInfo {
            defaults: vec![],
            generated: vec![],
            id: TableId(number as u64),
            name: table.name.clone(),
            has_nulls: vec![],
            columns: Schema::new(table.fields.clone()),
            primary_key: table.keyed.then(|| vec![0]),
            unique: vec![],
        }))
    }
    fn file(&self, _path: &str, _options: &[(String, String)]) -> Result<FileSource> {
        Err(Error::unsupported("the fuzzer reads no files"))
    }
    fn table_names(&self) -> Vec<String> {
        self.0.iter().map(|t| t.name.clone()).collect()
    }
}
