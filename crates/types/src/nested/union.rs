//! UNION: a value that is one of several named alternatives, its members, and knows which one.
//!
//! The bytes of a value are the place of its member in one byte and the member's slot, so that values order by member
//! first and then by what they hold. A value whose member holds NULL is not NULL itself. Any value becomes a union if a
//! member takes its type without losing anything: `member_for` says which one; texts are read by no member but a text.
//! A union becomes another one that has all of its members, by name.

use super::encoding;
use super::inner::Cast;
use super::{Shape, intern};
use crate::{Error, Result, SqlState, Type, Value};

/// Most members of a union: as many as Arrow has numbers for.
pub const MEMBERS_MAX: usize = 128;

impl Type {
    /// The UNION type of these members. No or too many members, and a name that comes twice in any case, are errors.
    pub fn union(members: Vec<(String, Type)>) -> Result<Type> {
        let mut known = std::collections::HashSet::with_capacity(members.len());
        let wrong = |message: String| Err(Error::new(SqlState::SyntaxError, message));
        if members.is_empty() || members.len() > MEMBERS_MAX {
            return wrong(format!("a UNION has 1 to {MEMBERS_MAX} members, not {}", members.len()));
        }
        if let Some((name, _)) = members.iter().find(|(name, _)| !known.insert(name.to_lowercase())) {
            return wrong(format!("the member \"{name}\" of a UNION comes twice"));
        }
        intern(Shape::Union(members)).map(Type::Union)
    }
    /// A union's members, in order; `None` for other types.
    pub fn members(self) -> Option<&'static [(String, Type)]> {
        let Type::Union(id) = self else { return None };
        match &id.get().shape {
            Shape::Union(members) => Some(members),
            _ => None,
        }
    }
}

/// The place of the member of that name: as written, else without regard to case.
pub fn place_of(members: &[(String, Type)], name: &str) -> Option<usize> {
    let exact = members.iter().position(|(own, _)| own == name);
    exact.or_else(|| members.iter().position(|(own, _)| own.eq_ignore_ascii_case(name)))
}

/// For each member of `from` the place of its namesake in `to`; `None` when one has none.
pub fn matched_members(from: &[(String, Type)], to: &[(String, Type)]) -> Option<Vec<usize>> {
    from.iter().map(|(name, _)| place_of(to, name)).collect()
}

/// The place, type and slot of the member that a value has; `None` for another type and for wrong bytes.
pub fn member_of(ty: Type, bytes: &[u8]) -> Option<(usize, Type, Option<&[u8]>)> {
    let members = ty.members()?;
    let (tag, slot) = bytes.split_first()?;
    let (_, member) = members.get(usize::from(*tag))?;
    let payload = match slot.split_first()? {
        (&encoding::VALUE, payload) => Some(payload),
        _ => None,
    };
    Some((usize::from(*tag), *member, payload))
}

/// As `member_of`, with the name in the place of the place.
pub fn named_member_of(ty: Type, bytes: &[u8]) -> Option<(&'static str, Type, Option<&[u8]>)> {
    let (tag, member, slot) = member_of(ty, bytes)?;
    Some((ty.members()?[tag].0.as_str(), member, slot))
}

/// The union whose member at `tag`, of type `member`, has this value.
pub fn value_of(tag: usize, value: &Value, member: Type) -> Value {
    let mut out = vec![tag as u8];
    encoding::push_slot(value, member, &mut out);
    Value::Bytes(out.into())
}

/// What a cast to a member's type costs; `None` where it could lose something.
fn cost(from: Type, to: Type) -> Option<u32> {
    use Type as T;
    let digits = |ty: Type| ty.integer_digits().map(u32::from);
    Some(match (from, to) {
        _ if from == to => 0,
        _ if from.is_text() => return (to.is_text() && !to.is_json()).then_some(1),
        _ if from.is_integer() && to.is_integer() => {
            return to
                .holds_integers_of(from)
                .then(|| 1 + digits(to).unwrap_or(0) - digits(from).unwrap_or(0));
        }
        (_, T::Decimal { precision, scale }) if from.is_integer() => {
            return (digits(from)? <= u32::from(precision - scale)).then_some(100);
        }
        (T::Decimal { precision: p, scale: s }, T::Decimal { precision, scale }) => {
            return (s <= scale && p - s <= precision - scale).then_some(1);
        }
        (_, T::Double) if from.is_integer() || from.is_decimal() => 101,
        (_, T::Real) if from.is_integer() || from.is_decimal() => 102,
        (T::Real, T::Double) => 1,
        (T::Date, _) if to.timestamp_unit_nanos().is_some() => 1,
        (T::Date | T::Timestamp, T::TimestampTz) | (T::TimestampTz, T::TimestampTzNs) => 2,
        _ if to.timestamp_unit_nanos().is_some() => {
            let unit = from.timestamp_unit_nanos().filter(|unit| Some(*unit) > to.timestamp_unit_nanos())?;
            10 - unit.ilog10()
        }
        (T::IntervalYearMonth | T::IntervalDayTime, T::Interval) => 1,
        (T::Time, T::TimeTz) => 1,
        (T::Enum(_), to) if to.is_text() && !to.is_json() => 1,
        _ if from.is_nested() && to.is_nested() && to.members().is_none() => {
            let inside = |from: Type, to: Type| cost(from, to).is_some();
            return super::castable(from, to, super::Casts::Implicit, &inside).then_some(1);
        }
        _ => return None,
    })
}

/// The place of the member of the union `to` that takes values of type `from`: the one whose type is nearest, the
/// first of several. `None` when no member takes them.
pub fn member_for(from: Type, to: Type) -> Option<usize> {
    let members = to.members()?.iter().enumerate();
    let costs = members.filter_map(|(at, (_, member))| Some((cost(from, *member)?, at)));
    costs.min().map(|(_, at)| at)
}

/// A value that is no union as one of the union `to`, whose member `cast` makes.
pub(crate) fn of_value(value: &Value, from: Type, to: Type, lenient: bool, cast: Cast) -> Result<Value> {
    let members = to.members().unwrap_or_default();
    let Some(tag) = member_for(from, to) else {
        let error = Error::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {to}"));
        return Err(error
            .with_detail("no member takes a value of that type without a cast")
            .with_hint("union_value(member := value) says which member it is"));
    };
    let member = members[tag].1;
    Ok(value_of(tag, &cast(value, from, member, lenient)?, member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast;

    fn union(members: &[(&str, Type)]) -> Type {
        Type::union(members.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect()).unwrap()
    }

    #[test]
    fn the_nearest_member_takes_a_value() {
        let ty = union(&[("a", Type::TinyInt), ("b", Type::BigInt), ("c", Type::Text), ("d", Type::Double)]);
        assert_eq!(ty.sql_name(), "UNION(a TINYINT, b BIGINT, c TEXT, d DOUBLE PRECISION)");
        let of = |from| member_for(from, ty);
        assert_eq!([of(Type::Integer), of(Type::Text), of(Type::Real)], [Some(1), Some(2), Some(3)]);
        assert_eq!([of(Type::Boolean), of(Type::Date)], [None, None]);
        assert!(Type::union(vec![("a".into(), Type::Text), ("A".into(), Type::Text)]).is_err());
        assert!(Type::union(vec![]).is_err());
    }

    #[test]
    fn values_order_by_member_and_are_shown_as_what_they_hold() {
        let ty = union(&[("num", Type::Integer), ("str", Type::Text)]);
        let values = [
            value_of(0, &Value::I32(-5), Type::Integer),
            value_of(0, &Value::I32(7), Type::Integer),
            value_of(0, &Value::Null, Type::Integer),
            value_of(1, &Value::text(""), Type::Text),
            value_of(1, &Value::text("a b"), Type::Text),
        ];
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(values.each_ref().map(|v| v.display(ty)), ["-5", "7", "NULL", "", "a b"]);
        for value in &values {
            let bytes = value.as_bytes().unwrap();
            assert_eq!(encoding::skip(ty, bytes, 0), Some(bytes.len()));
        }
        let wider = union(&[("str", Type::Text), ("x", Type::Date), ("num", Type::BigInt)]);
        let cast = cast::cast_value(&values[1], ty, wider).unwrap();
        assert_eq!(cast, value_of(2, &Value::I64(7), Type::BigInt));
        assert!(cast::cast_value(&cast, wider, ty).is_err());
        for wrong in [&b""[..], &[9], &[0], &[0, 7]] {
            let _ = (
                member_of(ty, wrong),
                encoding::skip(ty, wrong, 0),
                super::super::format(wrong, ty, cast::INNER),
            );
        }
    }
}
