//! Functions of lists: taking elements out, cutting, joining, searching, sorting.
//!
//! A list is a run of encoded elements (`types::nested::encoding`): equal elements have equal bytes and bytes order
//! as values do, so most functions only copy and compare slices. Intervals are the exception, for which `Equality`
//! makes the bytes that are compared. Results are written element by element and ended by
//! a mark. Functions that make as many elements as a number says are bounded by `ELEMENTS_MAX` and `BYTES_MAX`; walks
//! over elements spend units, so that a statement can be stopped in their midst.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use types::nested::encoding::{self, elements};
use types::nested::equality::Equality;
use types::{Error, Result, SqlState, Type, Value, stop};
use vector::nested::{PayloadBuilder, join, push_slot};
use vector::{Data, Vector, VectorBuilder};

use super::fixed::{Fixed, by_width};
use super::{Kernel, booleans, bytes, integers, invalid, payload, whole};

/// What an element costs, more or less.
const ELEMENT_UNITS: usize = 16;
/// Elements of a list that is made by a function, at most.
const ELEMENTS_MAX: i64 = 1 << 24;
/// Bytes that one call may make of a batch's rows where a number says how many: nothing else would end it.
pub(super) const BYTES_MAX: usize = 1 << 30;

/// The kernel of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Kernel> {
    Some(match name {
        "list_value" => list_value,
        "list_length" => length,
        "list_extract" => extract,
        "list_slice" => slice,
        "list_contains" => |inputs, ty, rows| contains(&compared(inputs), ty, rows),
        "list_position" => |inputs, ty, rows| position(&compared(inputs), ty, rows),
        "list_append" => append,
        "list_prepend" => prepend,
        "list_concat" => concat,
        "list_distinct" => |inputs, ty, rows| distinct(inputs, ty, rows, false),
        // As `array_agg(DISTINCT x)`: NULL is a value.
        "list_each_once" => |inputs, ty, rows| distinct(inputs, ty, rows, true),
        "list_unique" => |inputs, ty, rows| unique(&compared(inputs), ty, rows),
        "list_sort" => sort,
        "list_reverse" => reverse,
        "list_has_any" => |inputs, ty, rows| has_any(&compared(inputs), ty, rows),
        "list_has_all" => |inputs, ty, rows| has_all(&compared(inputs), ty, rows),
        // `&&` and `@>`: NULL is no element of any list.
        "list_overlaps" => |inputs, ty, rows| has_any(&compared(inputs), ty, rows),
        "list_contains_all" => |inputs, ty, rows| contains_all(&compared(inputs), ty, rows),
        "list_first_mode" => first_mode,
        "list_intersect" => intersect,
        "list_where" => select_where,
        "list_select" => select,
        "list_grade_up" => |inputs, ty, rows| grade_up(&compared(inputs), ty, rows),
        "list_resize" => resize,
        "list_zip" => zip,
        "flatten" => flatten,
        "list_range" => range,
        plan::functions::EQUAL_VALUE => |inputs, _, _| Ok(vector::nested::by_equality(inputs[0].clone())),
        "list_slot" => slot,
        "list_of_slots" => of_slots,
        "list_histogram" => histogram,
        "list_any" => |inputs, ty, rows| any(&compared(inputs), ty, rows),
        "list_all" => |inputs, ty, rows| all(&compared(inputs), ty, rows),
        _ => return None,
    })
}

type Slot<'a> = Option<&'a [u8]>;

/// The arguments of a function that compares elements and returns none.
pub(super) fn compared(inputs: &[Vector]) -> Vec<Vector> {
    inputs.iter().map(|input| vector::nested::by_equality(input.clone())).collect()
}

/// How the elements of a list are told apart.
pub(super) fn equality(list: &Vector) -> Equality {
    Equality::of(list.ty().element().unwrap_or(Type::Null))
}

/// The elements of a row's list; `None` for NULL.
fn slots(vector: &Vector, row: usize) -> Option<impl Iterator<Item = Slot<'_>>> {
    Some(elements(vector.ty(), bytes(vector, row)?).inspect(|_| stop::spend(ELEMENT_UNITS)))
}

fn push_all<'a>(slots: impl IntoIterator<Item = Slot<'a>>, out: &mut Vec<u8>) {
    slots.into_iter().for_each(|slot| {
        stop::spend(ELEMENT_UNITS);
        encoding::push_raw(slot, out);
    });
}

/// A list of what `write` puts into it; NULL where it gives `None`.
fn lists(ty: Type, rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>) -> Option<()>) -> Result<Vector> {
    Ok(join(ty, rows, |row, out| {
        let valid = write(row, out).is_some();
        out.push(encoding::END);
        valid
    }))
}

fn list_value(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        inputs.iter().for_each(|input| push_slot(input, row, out));
        Some(())
    })
}

/// Place in a list of `count` elements of the 1-based index; negative ones count from the end.
fn place(index: i64, count: usize) -> Option<usize> {
    let count = count as i64;
    let at = if index < 0 { count + index } else { index - 1 };
    (0..count).contains(&at).then_some(at as usize)
}

fn length(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let of = inputs[0].ty();
    Ok(integers(rows, |row| {
        let list = bytes(&inputs[0], row)?;
        Some(by_width!(of, Fixed::<W>(list).count(), elements(of, list).count()) as i64)
    }))
}

fn extract(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut builder = PayloadBuilder::new(ty);
    let of = inputs[0].ty();
    let same = constant(&inputs[1]);
    for row in 0..rows {
        let found = || {
            let (list, index) = (bytes(&inputs[0], row)?, same.or_else(|| whole(&inputs[1], row))?);
            if index > 0 {
                let before = usize::try_from(index - 1).ok()?;
                return by_width!(
                    of,
                    Fixed::<W>(list).nth(before)?.map(|payload| &payload[..]),
                    elements(of, list).nth(before)?,
                );
            }
            let all: Vec<Slot<'_>> = elements(of, list).collect();
            all[place(index, all.len())?]
        };
        builder.push(found());
    }
    Ok(builder.finish())
}

/// The whole number of all rows, if it is the same.
fn constant(vector: &Vector) -> Option<i64> {
    if let Data::Constant(value) = vector.data() { value.as_i64() } else { None }
}

/// `list[begin:end:step]`; a bound that is absent is NULL here, with a flag for each in the last arguments.
fn slice(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let result = lists(ty, rows, |row, out| {
        let list: Vec<Slot<'_>> = slots(&inputs[0], row)?.collect();
        let step = match inputs.get(3) {
            Some(step) => whole(step, row)?,
            None => 1,
        };
        if step == 0 {
            failed = Some(invalid("the step of a slice cannot be zero"));
            return None;
        }
        let count = list.len() as i64;
        let bound = |vector: &Vector, otherwise: i64| match whole(vector, row) {
            Some(at) if at < 0 => count.saturating_add(at).saturating_add(1).max(0),
            Some(at) => at.min(count + 1),
            None => otherwise,
        };
        let (first, last) = if step > 0 { (1, count) } else { (count, 1) };
        let (mut at, end) = (bound(&inputs[1], first), bound(&inputs[2], last));
        // Steps begin at an element: what lies beyond either end is the end.
        at = if step > 0 { at.max(1) } else { at.min(count) };
        while if step > 0 { at <= end } else { at >= end } {
            if (1..=count).contains(&at) {
                encoding::push_raw(list[at as usize - 1], out);
            }
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
        Some(())
    })?;
    failed.map_or(Ok(result), Err)
}

fn contains(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut wanted = Wanted::new(&inputs[1]);
    let of = inputs[0].ty();
    Ok(booleans(rows, |row| {
        let wanted = wanted.of(row)?;
        let list = bytes(&inputs[0], row)?;
        Some(by_width!(
            of,
            wanted.first_chunk::<W>().is_some_and(|wanted| Fixed::<W>(list).any(|slot| slot == Some(wanted))),
            elements(of, list).any(|slot| slot == Some(wanted)),
        ))
    }))
}

fn position(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    let mut wanted = Wanted::new(&inputs[1]);
    let of = inputs[0].ty();
    Ok(integers(rows, |row| {
        let wanted = wanted.of(row);
        let list = bytes(&inputs[0], row)?;
        let found = by_width!(
            of,
            {
                let wanted = wanted.and_then(|wanted| wanted.first_chunk::<W>());
                Fixed::<W>(list).position(|slot| slot == wanted)
            },
            elements(of, list).position(|slot| slot == wanted),
        );
        Some(found? as i64 + 1)
    }))
}

/// The payload of what is looked for in each row's list: a constant's is made once.
struct Wanted<'a> {
    vector: &'a Vector,
    payload: Vec<u8>,
    is_made: bool,
}

impl<'a> Wanted<'a> {
    fn new(vector: &'a Vector) -> Self {
        Wanted { vector, payload: Vec::new(), is_made: false }
    }

    fn of(&mut self, row: usize) -> Slot<'_> {
        let is_constant = matches!(self.vector.data(), Data::Constant(_));
        if is_constant && self.is_made {
            return (!self.vector.is_null(row)).then_some(&self.payload);
        }
        self.is_made = true;
        payload(self.vector, row, &mut self.payload)
    }
}

fn append(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        push_all(slots(&inputs[0], row).into_iter().flatten(), out);
        push_slot(&inputs[1], row, out);
        Some(())
    })
}

fn prepend(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        push_slot(&inputs[0], row, out);
        push_all(slots(&inputs[1], row).into_iter().flatten(), out);
        Some(())
    })
}

/// NULL lists add nothing; NULL only when all are.
fn concat(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        let mut any = None;
        for input in inputs {
            if let Some(list) = slots(input, row) {
                push_all(list, out);
                any = Some(());
            }
        }
        any
    })
}

/// Each value once, in the order of first sight; NULL is left out unless it is a value.
fn distinct(inputs: &[Vector], ty: Type, rows: usize, with_null: bool) -> Result<Vector> {
    let equality = equality(&inputs[0]);
    lists(ty, rows, |row, out| {
        let mut seen = HashSet::new();
        for slot in slots(&inputs[0], row)?.filter(|slot| with_null || slot.is_some()) {
            if seen.insert(equality.slot(slot)) {
                encoding::push_raw(slot, out);
            }
        }
        Some(())
    })
}

fn unique(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    Ok(integers(rows, |row| Some(slots(&inputs[0], row)?.flatten().collect::<HashSet<_>>().len() as i64)))
}

/// `list_sort(list, descending, nulls_first)`.
/// How `list_sort` and `list_grade_up` order elements: their second and third arguments.
fn order<'a>(inputs: &[Vector], row: usize) -> Option<impl Fn(&Slot<'a>, &Slot<'a>) -> Ordering> {
    let descending = inputs[1].value(row).as_bool()?;
    let nulls_first = inputs[2].value(row).as_bool()?;
    Some(move |a: &Slot<'a>, b: &Slot<'a>| {
        stop::spend(ELEMENT_UNITS);
        match (a, b) {
            (Some(a), Some(b)) if descending => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            // A value is greater than none in the order of options.
            (a, b) if nulls_first => a.is_some().cmp(&b.is_some()),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    })
}

fn sort(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        let mut list: Vec<Slot<'_>> = slots(&inputs[0], row)?.collect();
        list.sort_by(order(inputs, row)?);
        push_all(list, out);
        Some(())
    })
}

/// The positions of a list's elements in the order that `list_sort` gives them.
fn grade_up(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        let list: Vec<Slot<'_>> = slots(&inputs[0], row)?.collect();
        let order = order(inputs, row)?;
        let mut positions: Vec<usize> = (0..list.len()).collect();
        positions.sort_by(|a, b| order(&list[*a], &list[*b]));
        for position in positions {
            encoding::push_raw(Some(&encoding::sortable_i64(position as i64 + 1)), out);
        }
        Some(())
    })
}

/// The elements at the places that a list of BIGINT names; NULL where it names none.
fn select(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let mut made = 0usize;
    let result = lists(ty, rows, |row, out| {
        let list: Vec<Slot<'_>> = slots(&inputs[0], row)?.collect();
        for wanted in slots(&inputs[1], row)? {
            let index = wanted.and_then(|payload| encoding::value_of(payload, Type::BigInt).as_i64());
            let found = index.and_then(|index| list[place(index, list.len())?]);
            made += 1 + found.map_or(0, <[u8]>::len);
            if made > BYTES_MAX {
                failed = Some(too_large());
                return None;
            }
            encoding::push_raw(found, out);
        }
        Some(())
    })?;
    failed.map_or(Ok(result), Err)
}

fn reverse(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        let list: Vec<Slot<'_>> = slots(&inputs[0], row)?.collect();
        push_all(list.into_iter().rev(), out);
        Some(())
    })
}

fn set(vector: &Vector, row: usize) -> Option<HashSet<&[u8]>> {
    Some(slots(vector, row)?.flatten().collect())
}

fn has_any(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    Ok(booleans(rows, |row| {
        let have = set(&inputs[0], row)?;
        Some(slots(&inputs[1], row)?.flatten().any(|slot| have.contains(slot)))
    }))
}

fn has_all(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    Ok(booleans(rows, |row| {
        let have = set(&inputs[0], row)?;
        Some(slots(&inputs[1], row)?.flatten().all(|slot| have.contains(slot)))
    }))
}

fn contains_all(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    Ok(booleans(rows, |row| {
        let have = set(&inputs[0], row)?;
        Some(slots(&inputs[1], row)?.all(|slot| slot.is_some_and(|slot| have.contains(slot))))
    }))
}

/// The most frequent element; of several, the one that comes first; NULL elements are not counted.
fn first_mode(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let equality = equality(&inputs[0]);
    let mut out = VectorBuilder::new(ty, rows);
    for row in 0..rows {
        // How often, and which and where the first is.
        let mut counts: HashMap<Cow<'_, [u8]>, (usize, std::cmp::Reverse<usize>, &[u8])> = HashMap::new();
        for (at, slot) in slots(&inputs[0], row).into_iter().flatten().flatten().enumerate() {
            counts.entry(equality.bytes(slot)).or_insert((0, std::cmp::Reverse(at), slot)).0 += 1;
        }
        match counts.into_values().max_by_key(|(count, at, _)| (*count, *at)) {
            Some((.., slot)) => out.push(&encoding::value_of(slot, ty)),
            None => out.push_null(),
        }
    }
    Ok(out.finish())
}

fn intersect(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let equality = equality(&inputs[0]);
    lists(ty, rows, |row, out| {
        let other: HashSet<Cow<'_, [u8]>> =
            slots(&inputs[1], row)?.flatten().map(|slot| equality.bytes(slot)).collect();
        let mut seen = HashSet::new();
        for slot in slots(&inputs[0], row)?.flatten() {
            let compared = equality.bytes(slot);
            if other.contains(&compared) && seen.insert(compared) {
                encoding::push_raw(Some(slot), out);
            }
        }
        Some(())
    })
}

/// The elements whose place in a list of truth values is TRUE.
fn select_where(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        let chosen = slots(&inputs[1], row)?;
        for (slot, chosen) in slots(&inputs[0], row)?.zip(chosen) {
            if chosen.is_some_and(|c| c == [1]) {
                encoding::push_raw(slot, out);
            }
        }
        Some(())
    })
}

fn resize(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let (mut made, mut filler) = (0usize, Vec::new());
    let result = lists(ty, rows, |row, out| {
        let count = whole(&inputs[1], row).unwrap_or(0);
        if !(0..=ELEMENTS_MAX).contains(&count) {
            failed = Some(too_long(count));
            return None;
        }
        let count = count as usize;
        let list: Vec<Slot<'_>> = slots(&inputs[0], row)?.take(count).collect();
        let missing = count - list.len();
        push_all(list, out);
        filler.clear();
        match inputs.get(2) {
            Some(given) => push_slot(given, row, &mut filler),
            None => filler.push(encoding::NULL),
        }
        made = made.saturating_add(missing.saturating_mul(filler.len()));
        if made > BYTES_MAX {
            failed = Some(too_large());
            return None;
        }
        (0..missing).for_each(|_| out.extend_from_slice(&filler));
        Some(())
    })?;
    failed.map_or(Ok(result), Err)
}

fn too_long(count: i64) -> Error {
    Error::new(SqlState::InvalidParameterValue, format!("a list cannot have {count} elements"))
        .with_hint(format!("functions make lists of 0 to {ELEMENTS_MAX} elements"))
}

/// The error of a call that would make more than `BYTES_MAX`.
pub(super) fn too_large() -> Error {
    let message = format!("lists of more than {} MiB in a batch of rows", BYTES_MAX >> 20);
    Error::new(SqlState::OutOfMemory, message)
        .with_hint("make shorter lists, or fewer rows of them at a time")
}

/// Lists side by side: rows of their elements, NULL where one is shorter.
/// The first argument says whether the shortest list ends the result, or the longest.
fn zip(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        let columns: Vec<Vec<Slot<'_>>> =
            inputs[1..].iter().map(|i| slots(i, row).into_iter().flatten().collect()).collect();
        let lengths = columns.iter().map(Vec::len);
        let truncates = inputs[0].value(row).as_bool().unwrap_or(false);
        let length = if truncates { lengths.min() } else { lengths.max() };
        for at in 0..length.unwrap_or(0) {
            out.push(encoding::VALUE);
            columns.iter().for_each(|c| encoding::push_raw(c.get(at).copied().flatten(), out));
        }
        Some(())
    })
}

fn flatten(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        for inner in slots(&inputs[0], row)?.flatten() {
            push_all(elements(ty, inner), out);
        }
        Some(())
    })
}

/// `list_range(start, end, step, inclusive)`.
fn range(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let mut failed = None;
    let mut made = 0usize;
    let result = lists(ty, rows, |row, out| {
        let (start, end) = (whole(&inputs[0], row)?, whole(&inputs[1], row)?);
        let (step, inclusive) = (whole(&inputs[2], row)?, inputs[3].value(row).as_bool()?);
        if step == 0 {
            failed = Some(invalid("step size cannot equal zero"));
            return None;
        }
        let distance = i128::from(end) - i128::from(start);
        if distance.signum() * i128::from(step.signum()) < 0 {
            return Some(());
        }
        let whole_steps = distance / i128::from(step);
        let touches = whole_steps * i128::from(step) == distance;
        let count = whole_steps + i128::from(inclusive || !touches);
        if count > i128::from(ELEMENTS_MAX) {
            failed = Some(too_long(i64::try_from(count).unwrap_or(i64::MAX)));
            return None;
        }
        // A slot's mark and eight bytes.
        made = made.saturating_add(count as usize * 9);
        if made > BYTES_MAX {
            failed = Some(too_large());
            return None;
        }
        for number in 0..count {
            stop::spend(ELEMENT_UNITS);
            let value = i128::from(start) + number * i128::from(step);
            encoding::push_slot(&Value::I64(value as i64), Type::BigInt, out);
        }
        Some(())
    })?;
    failed.map_or(Ok(result), Err)
}

/// `compared(x, list, op)`: what a comparison with each element says, of which any or all must hold; an unknown one
/// leaves the answer unknown unless another decides.
fn quantified(inputs: &[Vector], rows: usize, all: bool) -> Result<Vector> {
    use types::Comparison as C;
    let op = match inputs[2].value(0).as_text() {
        Some("=") => C::Equal,
        Some("<>") => C::NotEqual,
        Some("<") => C::Less,
        Some("<=") => C::LessOrEqual,
        Some(">") => C::Greater,
        Some(">=") => C::GreaterOrEqual,
        _ => return Err(Error::internal("a comparison with a list without its operator")),
    };
    Ok(booleans(rows, |row| {
        let mut scratch = Vec::new();
        let list = slots(&inputs[1], row)?;
        let value = payload(&inputs[0], row, &mut scratch);
        let mut unknown = false;
        for slot in list {
            match (value, slot) {
                (Some(value), Some(slot)) if op.holds(value.cmp(slot)) != all => return Some(!all),
                (Some(_), Some(_)) => {}
                _ => unknown = true,
            }
        }
        (!unknown).then_some(all)
    }))
}

fn any(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    quantified(inputs, rows, false)
}

fn all(inputs: &[Vector], _: Type, rows: usize) -> Result<Vector> {
    quantified(inputs, rows, true)
}

/// A value's slot in a list, as bytes: what `array_agg` gathers.
fn slot(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    Ok(vector::nested::slots(&inputs[0], ty, rows))
}

/// The list of slots put together.
fn of_slots(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    lists(ty, rows, |row, out| {
        out.extend_from_slice(bytes(&inputs[0], row)?);
        Some(())
    })
}

/// How often each value is in a list, as a map in the order of the values; NULL is left out.
fn histogram(inputs: &[Vector], ty: Type, rows: usize) -> Result<Vector> {
    let equality = equality(&inputs[0]);
    lists(ty, rows, |row, out| {
        let list = bytes(&inputs[0], row)?;
        let of = inputs[0].ty();
        if equality.is_of_bytes()
            && let done @ Some(_) = by_width!(of, counted::<W>(list, out), None)
        {
            return done;
        }
        let mut counts = BTreeMap::new();
        for slot in elements(of, list).inspect(|_| stop::spend(ELEMENT_UNITS)).flatten() {
            counts.entry(equality.bytes(slot)).or_insert((slot, 0i64)).1 += 1;
        }
        if counts.is_empty() {
            return None;
        }
        for (value, count) in counts.into_values() {
            encoding::push_raw(Some(value), out);
            encoding::push_slot(&Value::I64(count), Type::BigInt, out);
        }
        Some(())
    })
}

/// The runs of equal numbers of a list whose elements have `W` bytes, in order, each with how many it has.
pub(super) fn runs<const W: usize>(list: &[u8]) -> Vec<([u8; W], i64)> {
    let mut all: Vec<[u8; W]> =
        Fixed::<W>(list).flatten().inspect(|_| stop::spend(ELEMENT_UNITS / 4)).copied().collect();
    // Compared as the numbers that they are.
    all.sort_unstable_by_key(|bytes| {
        bytes.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte))
    });
    let same = all.chunk_by(|a, b| a == b);
    same.map(|run| (run[0], run.len() as i64)).collect()
}

/// A histogram's entries; `None` for a list without values.
fn counted<const W: usize>(list: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let runs = runs::<W>(list);
    for (value, count) in &runs {
        encoding::push_raw(Some(value), out);
        encoding::push_slot(&Value::I64(*count), Type::BigInt, out);
    }
    (!runs.is_empty()).then_some(())
}
