//! Functions over whole batches, where a value at a time costs more than what is computed.
//!
//! Each does what its function of one row does (its declaration names both), for the forms of arguments that are common in hot
//! paths, and gives `None` for all others. Rows that are NULL hold arbitrary values.

use arrow_buffer::NullBuffer;
use types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use types::{Physical, Result, Type, Zone, stop, units};
use vector::strings::{inline_view, make_view};
use vector::{Data, StringBuilder, Strings, Vector};

use super::maps::{all_valid, operand};
use super::time::calendar;
use super::{rows, time_format, zones};
use crate::operand::{Operand, map, test};
use crate::room::Room;

/// The bytes that texts of several rows share.
const BUFFER_BYTES_MAX: usize = 1 << 30;

/// Two floats a row, for aggregates of pairs.
pub(super) fn pairs(inputs: &[Vector], ty: Type, rows: usize, room: Room<'_>) -> Option<Result<Vector>> {
    const WIDTH: usize = 16;
    let [y, x] = inputs else { return None };
    let (y, x) = (operand::<f64>(y, Physical::F64)?, operand::<f64>(x, Physical::F64)?);
    if rows > BUFFER_BYTES_MAX / WIDTH {
        return None;
    }
    if let Err(error) = room.ask((rows * WIDTH * 2) as u64, rows) {
        return Some(Err(error));
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(rows * WIDTH);
    let mut views: Vec<u128> = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut pair = [0; WIDTH];
        pair[..8].copy_from_slice(&y.at(row).to_le_bytes());
        pair[8..].copy_from_slice(&x.at(row).to_le_bytes());
        views.push(make_view(&pair, 0, (row * WIDTH) as u32));
        bytes.extend_from_slice(&pair);
    }
    let strings = Strings::from_trusted(views.into(), vec![bytes.into()].into());
    Some(Ok(Vector::new(ty, Data::Bytes(strings), all_valid(inputs, rows))))
}

/// Rows in the order of their keys, each with its value.
pub(super) fn ordered_rows(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    room: Room<'_>,
) -> Option<Result<Vector>> {
    let [directions, keys @ .., value] = inputs else { return None };
    let Data::Constant(directions) = directions.data() else { return None };
    let directions = directions.as_bytes()?;
    if directions.len() != keys.len() || keys.iter().chain([value]).any(Vector::is_coded) {
        return None;
    }
    let mut out = StringBuilder::with_capacity(rows);
    let mut bytes = Vec::new();
    let mut made = 0;
    for row in 0..rows {
        bytes.clear();
        if let Err(error) = rows::push_row(&mut bytes, directions, keys, value, row) {
            return Some(Err(error));
        }
        made += bytes.len() as u64;
        if let Err(error) = room.ask(made, rows) {
            return Some(Err(error));
        }
        out.push(&bytes);
    }
    Some(Ok(Vector::new(ty, Data::Bytes(out.finish()), None)))
}

/// The values that ordered rows carry.
pub(super) fn row_values(inputs: &[Vector], ty: Type, rows: usize, room: Room<'_>) -> Option<Result<Vector>> {
    let [input] = inputs else { return None };
    let Data::Bytes(strings) = input.data() else { return None };
    if ty == Type::Null {
        return None;
    }
    // The bytes of a row's value, none where it is NULL.
    let value = |row: usize| match input.is_null(row) {
        true => Some(None),
        false => rows::carried(strings.get(row)),
    };
    let mut valid = Vec::with_capacity(rows);
    macro_rules! fixed {
        ($variant:ident, $type:ty) => {{
            let mut values: Vec<$type> = Vec::with_capacity(rows);
            for row in 0..rows {
                let bytes = value(row)?;
                valid.push(bytes.is_some());
                values.push(match bytes {
                    Some(bytes) => <$type>::from_be_bytes(bytes.try_into().ok()?),
                    None => Default::default(),
                });
            }
            Data::$variant(values.into())
        }};
    }
    let data = match ty.physical() {
        Physical::I16 => fixed!(I16, i16),
        Physical::I32 => fixed!(I32, i32),
        Physical::I64 => fixed!(I64, i64),
        Physical::I128 => fixed!(I128, i128),
        Physical::F32 => fixed!(F32, f32),
        Physical::F64 => fixed!(F64, f64),
        Physical::Bool => return None,
        Physical::Bytes => {
            let mut out = StringBuilder::with_capacity(rows);
            let mut made = 0;
            for row in 0..rows {
                let bytes = value(row)?;
                valid.push(bytes.is_some());
                made += bytes.map_or(0, <[u8]>::len) as u64;
                out.push(bytes.unwrap_or_default());
            }
            if let Err(error) = room.ask(made, rows) {
                return Some(Err(error));
            }
            Data::Bytes(out.finish())
        }
    };
    let valid = Some(NullBuffer::from(valid)).filter(|valid| valid.null_count() > 0);
    Some(Ok(Vector::new(ty, data, valid)))
}

/// `date_trunc('day', moment)`, and of instants by a zone's clock.
pub(super) fn truncated(inputs: &[Vector], ty: Type, rows: usize, _room: Room<'_>) -> Option<Result<Vector>> {
    let (unit, moments) = (inputs.first()?, inputs.get(1)?);
    if !matches!(moments.ty(), Type::Timestamp | Type::TimestampTz) {
        return None;
    }
    let Data::Constant(unit) = unit.data() else { return None };
    let unit = units::unit(unit.as_text()?);
    // Known units only: the function of one row has the error.
    calendar::truncated(&unit, 0)?;
    let zone = match inputs.get(2).map(Vector::data) {
        None => None,
        Some(Data::Constant(name)) => Some(Zone::named(name.as_text()?).ok()?),
        Some(_) => return None,
    };
    let moments = operand::<i64>(moments, Physical::I64)?;
    let values = match (zone, step(&unit)) {
        (None, Some((width, origin))) => each(&moments, rows, |micros| {
            // Also where the difference from the origin would not fit.
            let behind = if origin == 0 { micros } else { micros.rem_euclid(width) - origin };
            let cut = micros.wrapping_sub(behind.rem_euclid(width));
            Some(if datetime::is_infinite(micros) { micros } else { cut })
        }),
        (None, None) => {
            let mut last = LastDay::default();
            each(&moments, rows, |micros| last.of(micros, |micros| calendar::truncated(&unit, micros)))
        }
        (Some(zone), _) => each(&moments, rows, |micros| zones::truncated(zone, &unit, micros)),
    };
    // A moment near the end of its range: the function of one row has the error, if the row is not NULL.
    let data = Data::I64(values?.into());
    Some(Ok(Vector::new(ty, data, all_valid(inputs, rows))))
}

fn each(
    moments: &Operand<'_, i64>,
    rows: usize,
    mut cut: impl FnMut(i64) -> Option<i64>,
) -> Option<Vec<i64>> {
    stop::spend(rows);
    match moments {
        Operand::Flat(values) => values.iter().map(|micros| cut(*micros)).collect(),
        Operand::Constant(micros) => Some(vec![cut(*micros)?; rows]),
    }
}

/// The width of units that all have the same, and where one of them begins.
fn step(unit: &str) -> Option<(i64, i64)> {
    Some(match unit {
        "microsecond" => (1, 0),
        "millisecond" => (1000, 0),
        "second" | "epoch" => (MICROS_PER_SECOND, 0),
        "minute" => (60 * MICROS_PER_SECOND, 0),
        "hour" => (3600 * MICROS_PER_SECOND, 0),
        "day" | "dow" | "isodow" | "doy" | "julian" => (MICROS_PER_DAY, 0),
        // The epoch was a Thursday.
        "week" | "yearweek" => (7 * MICROS_PER_DAY, -3 * MICROS_PER_DAY),
        _ => return None,
    })
}

/// What units of whole days made of the day before: moments of one day follow each other often.
#[derive(Default)]
struct LastDay {
    day: Option<(i64, i64)>,
}

impl LastDay {
    fn of(&mut self, micros: i64, cut: impl Fn(i64) -> Option<i64>) -> Option<i64> {
        let day = micros.div_euclid(MICROS_PER_DAY);
        match self.day {
            Some((last, cut)) if last == day && !datetime::is_infinite(micros) => Some(cut),
            _ => {
                let cut = cut(micros)?;
                self.day = (!datetime::is_infinite(micros)).then_some((day, cut));
                Some(cut)
            }
        }
    }
}

/// `dayname`.
pub(super) fn day_names(inputs: &[Vector], ty: Type, rows: usize, _room: Room<'_>) -> Option<Result<Vector>> {
    names(inputs, ty, rows, &time_format::DAYS, calendar::day_place)
}

/// `monthname`.
pub(super) fn month_names(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    _room: Room<'_>,
) -> Option<Result<Vector>> {
    names(inputs, ty, rows, &time_format::MONTHS, calendar::month_place)
}

/// The names at the places of moments. None is longer than a view: Wednesday and September have nine letters.
fn names(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    names: &[&str],
    place: fn(i64) -> usize,
) -> Option<Result<Vector>> {
    let views: Vec<u128> = names.iter().map(|name| inline_view(name.as_bytes())).collect();
    let [moments] = inputs else { return None };
    let moments = operand::<i64>(moments, Physical::I64)?;
    stop::spend(rows * 4);
    let finite = test(&moments, rows, |micros| !datetime::is_infinite(micros));
    // Infinite ones have some name, which is not seen.
    let found = map(&moments, rows, |micros| views.get(place(micros)).copied().unwrap_or(0));
    let strings = Strings::from_trusted(found.into(), vec![].into());
    let finite = (finite.count_set_bits() < rows).then(|| NullBuffer::new(finite));
    let valid = NullBuffer::union(all_valid(inputs, rows).as_ref(), finite.as_ref());
    Some(Ok(Vector::new(ty, Data::Bytes(strings), valid)))
}

/// Texts of days that a template without times has made already: each day's in its slot.
struct Days {
    /// Empty where the text does not depend on the day alone.
    slots: Vec<(i64, String)>,
    text: String,
}

impl Days {
    const SLOTS: usize = 1024;

    fn of(template: &str, zone: Zone) -> Self {
        let times = ["H", "I", "M", "S", "g", "f", "n", "p", "c", "X", "T", "z", "Z"];
        let of_day = zone == Zone::Utc && !times.iter().any(|part| template.contains(part));
        let slots = if of_day { vec![(i64::MIN, String::new()); Self::SLOTS] } else { vec![] };
        Days { slots, text: String::new() }
    }
    fn text(&mut self, micros: i64, template: &str, zone: Zone) -> Result<&str> {
        let day = micros.div_euclid(MICROS_PER_DAY);
        let at = day.rem_euclid(Self::SLOTS as i64) as usize;
        let infinite = datetime::is_infinite(micros);
        let known = self.slots.get(at).is_some_and(|(known, _)| *known == day && !infinite);
        let slot = match self.slots.get_mut(at) {
            Some((of, text)) => {
                *of = if infinite { i64::MIN } else { day };
                text
            }
            None => &mut self.text,
        };
        if known {
            return Ok(slot);
        }
        stop::spend(super::ROW_UNITS);
        slot.clear();
        time_format::push_formatted(slot, micros, template, zone)?;
        Ok(slot)
    }
}

/// `strftime` with a constant template.
pub(super) fn formatted(inputs: &[Vector], ty: Type, rows: usize, room: Room<'_>) -> Option<Result<Vector>> {
    let (first, second) = (inputs.first()?, inputs.get(1)?);
    let (moments, template) = if first.ty().is_text() { (second, first) } else { (first, second) };
    let Data::Constant(template) = template.data() else { return None };
    let template = template.as_text()?;
    let zone = match inputs.get(2).map(Vector::data) {
        None => Zone::Utc,
        Some(Data::Constant(name)) => Zone::named(name.as_text()?).ok()?,
        Some(_) => return None,
    };
    let values = operand::<i64>(moments, Physical::I64)?;
    let valid = all_valid(inputs, rows);
    let mut days = Days::of(template, zone);
    let mut out = StringBuilder::with_capacity(rows);
    let mut made = 0;
    for row in 0..rows {
        if valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
            out.push(&[]);
            continue;
        }
        let text = match days.text(values.at(row), template, zone) {
            Ok(text) => text,
            Err(error) => return Some(Err(error)),
        };
        made += text.len() as u64;
        if let Err(error) = room.ask(made, rows) {
            return Some(Err(error));
        }
        out.push(text.as_bytes());
    }
    Some(Ok(Vector::new(ty, Data::Bytes(out.finish()), valid)))
}

#[cfg(test)]
mod tests {
    use plan::functions::{ORDERED_ROW, PAIR, ROW_VALUE};

    use types::Value;

    use super::*;
    use crate::own::{Arguments, OwnCall, find};

    /// What the function of one row gives.
    fn by_row(name: &str, inputs: &[Vector], ty: Type, rows: usize) -> Vec<Value> {
        let OwnCall { evaluate, strict, .. } = find(name).unwrap();
        let types: Vec<Type> = inputs.iter().map(Vector::ty).collect();
        (0..rows)
            .map(|row| {
                let values: Vec<Value> = inputs.iter().map(|input| input.value(row)).collect();
                match strict && values.iter().any(Value::is_null) {
                    true => Value::Null,
                    false => evaluate(&Arguments { values: &values, types: &types, ty }).unwrap(),
                }
            })
            .collect()
    }

    fn check(name: &str, inputs: &[Vector], ty: Type) {
        let rows = inputs.iter().map(Vector::len).max().unwrap();
        let batch = find(name).unwrap().batch.unwrap()(inputs, ty, rows, Room::UNBOUNDED)
            .expect("is a form that it takes");
        let batch = batch.unwrap();
        let found: Vec<Value> = (0..rows).map(|row| batch.value(row)).collect();
        assert_eq!(found, by_row(name, inputs, ty, rows), "{name}");
    }

    fn moments() -> Vec<Value> {
        let mut values =
            vec![Value::Null, Value::I64(i64::MAX), Value::I64(i64::MIN), Value::I64(0), Value::I64(-1)];
        values.extend((0..400i64).map(|i| Value::I64((i - 200) * 86_400_000_000 / 7 * 97 + i * 1_234_567)));
        values
    }

    fn text(value: &str, rows: usize) -> Vector {
        Vector::constant(Type::Text, Value::text(value), rows)
    }

    #[test]
    fn dates_are_cut_as_one_by_one() {
        let values = moments();
        let plain = Vector::from_values(Type::Timestamp, &values);
        let zoned = Vector::from_values(Type::TimestampTz, &values);
        for unit in [
            "microsecond",
            "ms",
            "second",
            "minute",
            "hours",
            "day",
            "week",
            "isoyear",
            "month",
            "quarter",
            "year",
            "decade",
            "century",
            "millennium",
            "doy",
        ] {
            let unit = text(unit, values.len());
            check("date_trunc", &[unit.clone(), plain.clone()], Type::Timestamp);
            let zone = text("America/New_York", values.len());
            let finite: Vec<Value> =
                values.iter().filter(|v| v.as_i64().is_none_or(|v| v.abs() < 1 << 60)).cloned().collect();
            let few = Vector::from_values(Type::TimestampTz, &finite);
            let cut = |v: &Vector| v.slice(0, finite.len());
            check("date_trunc", &[cut(&unit), few, cut(&zone)], Type::TimestampTz);
            check("date_trunc", &[unit, zoned.clone()], Type::TimestampTz);
        }
        let unknown = find("date_trunc").unwrap().batch.unwrap()(
            &[text("fortnight", 1), plain.slice(3, 1)],
            Type::Timestamp,
            1,
            Room::UNBOUNDED,
        );
        assert!(unknown.is_none());
    }

    #[test]
    fn differences_and_names_are_as_one_by_one() {
        let values = moments();
        let rows = values.len();
        let from = Vector::from_values(Type::Timestamp, &values);
        let turned: Vec<Value> = values.iter().rev().cloned().collect();
        let to = Vector::from_values(Type::Timestamp, &turned);
        let some = Vector::constant(Type::Timestamp, Value::I64(86_400_000_000 * 11_000 + 1), rows);
        for unit in [
            "microsecond",
            "ms",
            "second",
            "minutes",
            "hour",
            "day",
            "week",
            "isoyear",
            "month",
            "quarter",
            "year",
            "decade",
            "century",
            "millennium",
            "yearweek",
            "epoch",
        ] {
            for name in ["date_diff", "date_sub"] {
                check(name, &[text(unit, rows), from.clone(), to.clone()], Type::BigInt);
                check(name, &[text(unit, rows), some.clone(), to.clone()], Type::BigInt);
            }
        }
        check("dayname", &[from.clone()], Type::Text);
        check("monthname", &[from], Type::Text);
    }

    #[test]
    fn templates_pairs_and_rows_are_as_one_by_one() {
        let values = moments();
        let rows = values.len();
        let plain = Vector::from_values(Type::Timestamp, &values);
        let template =
            "%a %A %w %u %d %-d %b %B %m %y %Y %G %V %U %W %H %I %p %M %S %g %f %n %j %z %c %x %X %%";
        check("strftime", &[plain.clone(), text(template, rows)], Type::Text);
        check("strftime", &[text("%-m/%F", rows), plain.clone()], Type::Text);
        check("strftime", &[plain.clone(), text("%a %d %b %y %j %%", rows)], Type::Text);
        let floats: Vec<Value> = (0..rows)
            .map(|i| if i % 5 == 0 { Value::Null } else { Value::F64(i as f64 / 3.0 - 40.0) })
            .collect();
        let floats = Vector::from_values(Type::Double, &floats);
        check(PAIR, &[floats.clone(), Vector::constant(Type::Double, Value::F64(-0.0), rows)], Type::Bytea);
        check(PAIR, &[floats.clone(), floats.clone()], Type::Bytea);
        let words: Vec<Value> = (0..rows)
            .map(|i| if i % 7 == 0 { Value::Null } else { Value::text(&"a\0long word".repeat(i % 4)) })
            .collect();
        let words = Vector::from_values(Type::Text, &words);
        check(ORDERED_ROW, &[text("aD", rows), plain.clone(), floats.clone(), words.clone()], Type::Bytea);
        check(
            ORDERED_ROW,
            &[text("d", rows), words.clone(), Vector::constant(Type::Integer, Value::I32(7), rows)],
            Type::Bytea,
        );
        for value in [floats, words, plain] {
            let ty = value.ty();
            let row = find(ORDERED_ROW).unwrap().batch.unwrap();
            let arguments = [text("", rows), value.clone()];
            let packed = row(&arguments, Type::Bytea, rows, Room::UNBOUNDED).unwrap().unwrap();
            let some = (0..rows).map(|row| row % 11 != 0).collect::<Vec<bool>>();
            check(ROW_VALUE, &[packed.clone()], ty);
            check(ROW_VALUE, &[packed.with_validity(Some(some.into()))], ty);
        }
    }
}
