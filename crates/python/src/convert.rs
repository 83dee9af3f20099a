//! Values as Python objects: int, float, bool, str, bytes, Decimal, date, time, datetime, timedelta, UUID; list, dict
//! and tuple of these for nested values; JSON as text.
//!
//! A month of an INTERVAL is 30 days of a timedelta, as comparisons count it; INTERVAL YEAR TO MONTH comes as text.

use std::collections::HashSet;

use engine::{Type, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use types::datetime::{MICROS_PER_DAY, civil_from_days};
use types::interval::Interval;
use types::nested::{encoding, union};
use types::time_tz::TimeTz;
use types::{Zone, timestamp_units, zone};

/// The Python object for a value of type `ty`; NULL is None.
pub fn to_python<'py>(py: Python<'py>, value: &Value, ty: Type) -> PyResult<Bound<'py, PyAny>> {
    match (value, ty) {
        (Value::Null, _) => Ok(py.None().into_bound(py)),
        (Value::Bool(b), _) => b.into_bound_py_any(py),
        (Value::F32(f), _) => f.into_bound_py_any(py),
        (Value::F64(f), _) => f.into_bound_py_any(py),
        (Value::Bytes(b), Type::Bytea) => Ok(PyBytes::new(py, b).into_any()),
        (Value::Bytes(b), ty) if ty.is_nested() => nested(py, b, ty),
        (Value::Bytes(_), ty) if ty.is_wide_integer() => {
            // Python limits how many digits a text may have that becomes an int; hexadecimal ones have no limit.
            let shown = types::wide::number(value).to_str_radix(16);
            py.get_type::<pyo3::types::PyInt>().call1((shown, 16))
        }
        (Value::Bytes(_), _) | (_, Type::Enum(_)) => value.display(ty).into_bound_py_any(py),
        (_, Type::Decimal { .. }) => py.import("decimal")?.call_method1("Decimal", (value.display(ty),)),
        (_, Type::Uuid) => py.import("uuid")?.call_method1("UUID", (value.display(ty),)),
        (Value::I32(days), Type::Date) => {
            let date = civil_from_days(*days);
            if !(1..=9999).contains(&date.year) {
                return value.display(ty).into_bound_py_any(py);
            }
            py.import("datetime")?.call_method1("date", (date.year, date.month, date.day))
        }
        (Value::I64(micros), Type::Time) => {
            let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
            // 24:00:00 is a time in SQL and none in Python.
            if *micros >= MICROS_PER_DAY {
                return value.display(ty).into_bound_py_any(py);
            }
            let time = (seconds / 3600, seconds / 60 % 60, seconds % 60, fraction);
            py.import("datetime")?.call_method1("time", time)
        }
        (Value::I64(nanos), Type::TimeNs) => {
            // A time of Python has microseconds; the others are in the text.
            match nanos % 1000 {
                0 => to_python(py, &Value::I64(nanos / 1000), Type::Time),
                _ => value.display(ty).into_bound_py_any(py),
            }
        }
        (Value::I64(packed), Type::TimeTz) => {
            let TimeTz { micros, east } = TimeTz::of_packed(*packed);
            if micros >= MICROS_PER_DAY {
                return value.display(ty).into_bound_py_any(py);
            }
            let module = py.import("datetime")?;
            let offset = module.call_method1("timedelta", (0, east))?;
            let zone = module.call_method1("timezone", (offset,))?;
            let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
            let time = (seconds / 3600, seconds / 60 % 60, seconds % 60, fraction, zone);
            module.call_method1("time", time)
        }
        (Value::I64(micros), Type::Timestamp | Type::TimestampTz) => timestamp(py, *micros, ty, value),
        (Value::I64(held), ty) if ty.is_timestamp_of_unit() => {
            // A datetime has microseconds.
            let micros = timestamp_units::converted(*held, ty, ty.in_microseconds()).unwrap_or(*held);
            timestamp(py, micros, ty.in_microseconds(), value)
        }
        (Value::I64(micros), Type::IntervalDayTime) => {
            py.import("datetime")?.call_method1("timedelta", (0, 0, *micros))
        }
        (Value::I128(packed), Type::Interval) => {
            let Interval { months, days, micros } = Interval::of_packed(*packed);
            let days = i64::from(months) * 30 + i64::from(days);
            // A timedelta ends at a thousand million days.
            match days.abs() < 800_000_000 {
                true => py.import("datetime")?.call_method1("timedelta", (days, 0, micros)),
                false => value.display(ty).into_bound_py_any(py),
            }
        }
        (Value::I32(_), Type::IntervalYearMonth) => value.display(ty).into_bound_py_any(py),
        _ => value.as_i128().unwrap_or(0).into_bound_py_any(py),
    }
}

/// Lists as list, structs as dict (rows without names as tuple), maps as dict, or as a list of pairs where a key is
/// itself a list or a struct.
fn nested<'py>(py: Python<'py>, bytes: &[u8], ty: Type) -> PyResult<Bound<'py, PyAny>> {
    let item = |slot: Option<&[u8]>, ty: Type| to_python(py, &encoding::slot_value(slot, ty), ty);
    if let Some((_, member, slot)) = union::member_of(ty, bytes) {
        return item(slot, member);
    }
    if let Some(element) = ty.element() {
        let items = encoding::elements(ty, bytes).map(|slot| item(slot, element));
        return PyList::new(py, items.collect::<PyResult<Vec<_>>>()?).map(Bound::into_any);
    }
    if let Some((key, value)) = ty.entry() {
        let slots: Vec<Option<&[u8]>> = encoding::entries(ty, bytes).collect();
        let mut pairs = Vec::with_capacity(slots.len() / 2);
        for pair in slots.chunks_exact(2) {
            pairs.push((item(pair[0], key)?, item(pair[1], value)?));
        }
        if key.is_nested() {
            return PyList::new(py, pairs).map(Bound::into_any);
        }
        let map = PyDict::new(py);
        for (key, value) in pairs {
            map.set_item(key, value)?;
        }
        return Ok(map.into_any());
    }
    let fields = ty.fields().unwrap_or_default();
    let values = fields.iter().zip(encoding::fields(ty, bytes)).map(|((_, ty), slot)| item(slot, *ty));
    let values = values.collect::<PyResult<Vec<_>>>()?;
    if fields.iter().all(|(name, _)| name.is_empty()) {
        return PyTuple::new(py, values).map(Bound::into_any);
    }
    let record = PyDict::new(py);
    for ((name, _), value) in fields.iter().zip(values) {
        record.set_item(name, value)?;
    }
    Ok(record.into_any())
}

fn timestamp<'py>(py: Python<'py>, micros: i64, ty: Type, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let date = civil_from_days(i32::try_from(micros.div_euclid(MICROS_PER_DAY)).unwrap_or(i32::MAX));
    if !(1..=9999).contains(&date.year) {
        return value.display(ty).into_bound_py_any(py);
    }
    let rest = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let parts = (date.year, date.month, date.day, seconds / 3600, seconds / 60 % 60, seconds % 60, fraction);
    let module = py.import("datetime")?;
    let naive = module.call_method1("datetime", parts)?;
    if ty == Type::Timestamp {
        return Ok(naive);
    }
    let utc = module.getattr("timezone")?.getattr("utc")?;
    let keywords = pyo3::types::PyDict::new(py);
    keywords.set_item("tzinfo", utc)?;
    let utc = naive.call_method("replace", (), Some(&keywords))?;
    match zone::current() {
        Zone::Utc => Ok(utc),
        zone => utc.call_method1("astimezone", (zone_info(py, zone, micros)?,)),
    }
}

/// The zone as Python has it; its offset at that instant where Python has no data of zones.
fn zone_info(py: Python<'_>, zone: Zone, instant: i64) -> PyResult<Bound<'_, PyAny>> {
    if let Zone::Named(_) = zone
        && let Ok(found) = py.import("zoneinfo")?.call_method1("ZoneInfo", (zone.name(),))
    {
        return Ok(found);
    }
    let module = py.import("datetime")?;
    let offset = module.call_method1("timedelta", (0, zone.offset_at(instant)))?;
    module.call_method1("timezone", (offset,))
}

/// A Python object as a value of `ty`; None is NULL.
pub fn from_python(object: &Bound<'_, PyAny>, ty: Type) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    let wrong = || {
        let (kind, shown) = (object.get_type(), object.repr().map(|r| r.to_string()).unwrap_or_default());
        PyTypeError::new_err(format!("{shown} ({kind}) is no {}", ty.sql_name()))
    };
    Ok(match ty {
        Type::Null => Value::Null,
        Type::Boolean => Value::Bool(object.is_truthy()?),
        Type::SmallInt => Value::I16(object.extract().map_err(|_| wrong())?),
        Type::Integer => Value::I32(object.extract().map_err(|_| wrong())?),
        Type::BigInt => Value::I64(object.extract().map_err(|_| wrong())?),
        Type::Real => Value::F32(object.extract().map_err(|_| wrong())?),
        Type::Double => Value::F64(object.extract().map_err(|_| wrong())?),
        Type::Bytea => Value::Bytes(object.extract::<Vec<u8>>().map_err(|_| wrong())?.into()),
        Type::IntervalDayTime if object.hasattr("microseconds")? => {
            let part = |name: &str| object.getattr(name)?.extract::<i64>();
            let days = part("days")?.saturating_mul(MICROS_PER_DAY);
            let rest = part("seconds")?.saturating_mul(1_000_000).saturating_add(part("microseconds")?);
            Value::I64(days.saturating_add(rest))
        }
        Type::Interval if object.hasattr("microseconds")? => {
            let part = |name: &str| object.getattr(name)?.extract::<i64>();
            let days = i32::try_from(part("days")?).map_err(|_| wrong())?;
            let rest = part("seconds")?.saturating_mul(1_000_000).saturating_add(part("microseconds")?);
            Value::I128(Interval::new(0, days, rest).packed().ok_or_else(wrong)?)
        }
        // As Arrow has it.
        Type::Uuid if object.is_instance_of::<PyBytes>() => {
            let bytes: [u8; 16] = object.extract().map_err(|_| wrong())?;
            Value::I128(types::cast::uuid_from_bytes(bytes))
        }
        ty if ty.is_nested() && !object.is_instance_of::<PyString>() => {
            nested_from_python(object, ty)?.ok_or_else(wrong)?
        }
        Type::Json | Type::Jsonb if !object.is_instance_of::<PyString>() => {
            let text = object.py().import("json")?.call_method1("dumps", (object,))?.to_string();
            types::cast::cast_value(&Value::text(&text), Type::Text, ty).map_err(|_| wrong())?
        }
        // What Python writes as SQL reads it: dates, times, decimals, UUIDs, and text itself.
        _ => {
            let text = object.str()?.to_string();
            let text = Value::text(text.as_str());
            types::cast::cast_value(&text, Type::Text, ty).map_err(|_| wrong())?
        }
    })
}

/// What `nested` made of a value, and the like of it: anything that can be gone through as a list; a dict, or as many
/// values, as a struct; a dict, or pairs, as a map. `None` for other objects.
fn nested_from_python(object: &Bound<'_, PyAny>, ty: Type) -> PyResult<Option<Value>> {
    let is_dict = object.is_instance_of::<PyDict>();
    if let Some(element) = ty.element() {
        if is_dict {
            return Ok(None);
        }
        let items = object.try_iter()?.map(|item| from_python(&item?, element));
        return Ok(Some(encoding::list_of(&items.collect::<PyResult<Vec<_>>>()?, element)));
    }
    if let Some((key_type, value_type)) = ty.entry() {
        let pairs = if is_dict { object.call_method0("items")? } else { object.clone() };
        let mut known = HashSet::new();
        let mut out = Vec::new();
        for pair in pairs.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
            let begin = out.len();
            encoding::push_slot(&from_python(&key, key_type)?, key_type, &mut out);
            if key.is_none() || !known.insert(out[begin..].to_vec()) {
                return Ok(None);
            }
            encoding::push_slot(&from_python(&value, value_type)?, value_type, &mut out);
        }
        out.push(encoding::END);
        return Ok(Some(Value::Bytes(out.into())));
    }
    let fields = ty.fields().unwrap_or_default();
    let items = match is_dict {
        true => fields
            .iter()
            .map(|(name, _)| object.call_method1("get", (name.as_str(),)))
            .collect::<PyResult<Vec<_>>>()?,
        false => object.try_iter()?.collect::<PyResult<Vec<_>>>()?,
    };
    if items.len() != fields.len() {
        return Ok(None);
    }
    let values = items.iter().zip(fields).map(|(item, (_, ty))| from_python(item, *ty));
    Ok(encoding::struct_of(&values.collect::<PyResult<Vec<_>>>()?, ty))
}
