//! Picks rows from several vectors in any order, as the end of a merge of sorted runs does.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use types::Physical;

use crate::strings::{INLINE_BYTES, view_length};
use crate::{Data, Strings, Vector};

/// One row of one of several sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Place in the list of sources.
    pub source: u32,
    /// Row of that source.
    pub row: u32,
}

/// The picked rows as one flat vector. The sources have one type; each pick must be in range.
pub fn interleave(sources: &[Vector], picks: &[Pick]) -> Vector {
    let Some(first) = sources.first() else {
        return Vector::constant(types::Type::Null, types::Value::Null, picks.len());
    };
    let ty = first.ty();
    let flat: Vec<Vector> = sources.iter().map(Vector::flatten).collect();
    let validity = flat.iter().any(Vector::has_nulls).then(|| {
        NullBuffer::new(BooleanBuffer::collect_bool(picks.len(), |i| {
            !flat[picks[i].source as usize].is_null(picks[i].row as usize)
        }))
    });
    macro_rules! picked {
        ($variant:ident) => {{
            let slices: Vec<_> = flat
                .iter()
                .map(|v| if let Data::$variant(values) = v.data() { &values[..] } else { &[] })
                .collect();
            let out: Vec<_> = picks.iter().map(|p| slices[p.source as usize][p.row as usize]).collect();
            Data::$variant(out.into())
        }};
    }
    let data = match ty.physical() {
        Physical::Bool => Data::Bool(BooleanBuffer::collect_bool(
            picks.len(),
            |i| matches!(flat[picks[i].source as usize].data(), Data::Bool(b) if b.value(picks[i].row as usize)),
        )),
        Physical::I16 => picked!(I16),
        Physical::I32 => picked!(I32),
        Physical::I64 => picked!(I64),
        Physical::I128 => picked!(I128),
        Physical::F32 => picked!(F32),
        Physical::F64 => picked!(F64),
        Physical::Bytes => Data::Bytes(interleave_strings(&flat, picks)),
    };
    Vector::new(ty, data, validity)
}

/// Views keep pointing at their source's buffers, which stand one source after the other.
fn interleave_strings(sources: &[Vector], picks: &[Pick]) -> Strings {
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut parts: Vec<(&[u128], u32)> = Vec::new();
    for source in sources {
        let base = buffers.len() as u32;
        if let Data::Bytes(strings) = source.data() {
            buffers.extend(strings.buffers().iter().cloned());
            parts.push((strings.views(), base));
        } else {
            parts.push((&[], base));
        }
    }
    let views: Vec<u128> = picks
        .iter()
        .map(|p| {
            let (views, base) = parts[p.source as usize];
            let view = views[p.row as usize];
            // The buffer's number is bits 64 to 95 of a long string's view.
            if view_length(view) <= INLINE_BYTES { view } else { view + (u128::from(base) << 64) }
        })
        .collect();
    Strings::from_trusted(views.into(), buffers.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Type, Value};

    #[test]
    fn picks_from_all_sources() {
        let long = "a string longer than twelve bytes";
        let a = Vector::from_values(Type::Text, &[Value::text("x"), Value::text(long), Value::Null]);
        let b =
            Vector::from_values(Type::Text, &[Value::text("another string that is long"), Value::text("y")]);
        let picks = [(1, 0), (0, 1), (0, 2), (1, 1), (0, 0)].map(|(source, row)| Pick { source, row });
        let got = interleave(&[a.clone(), b.clone()], &picks);
        for (i, p) in picks.iter().enumerate() {
            let source = if p.source == 0 { &a } else { &b };
            assert_eq!(got.value(i), source.value(p.row as usize));
        }
    }
}
