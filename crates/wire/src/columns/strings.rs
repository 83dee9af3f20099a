//! Strings of a parcel: sizes, then bytes, back to back.
//!
//! Short strings live in their views, which are copied whole and overlap, so that no string of at most twelve bytes costs
//! a call; the reader makes views in the same way, and lets longer strings point into the message. NULL rows have size 0
//! whatever their place holds.

use arrow_buffer::{Buffer, NullBuffer};
use types::Type;
use vector::strings::{INLINE_BYTES, make_view, view_length};
use vector::{Data, Strings, Vector};

use super::write::Out;
use crate::picked::Picked;

/// A column of strings as it is held: one a row, or one a dictionary's place.
pub(crate) struct Source<'a> {
    strings: Option<&'a Strings>,
    codes: Option<&'a [u32]>,
    nulls: Option<&'a NullBuffer>,
}

impl<'a> Source<'a> {
    pub(crate) fn of(column: &'a Vector) -> Source<'a> {
        let nulls = column.validity().filter(|v| v.null_count() > 0);
        let flat = |vector: &'a Vector| match vector.data() {
            Data::Bytes(strings) => Some(strings),
            _ => None,
        };
        match column.data() {
            Data::Dictionary { codes, values } => Source { strings: flat(values), codes: Some(codes), nulls },
            _ => Source { strings: flat(column), codes: None, nulls },
        }
    }
    /// Calls `each` with the place of every picked row's string, or `None` for NULL.
    #[inline(always)]
    fn places(&self, picked: Picked<'_>, mut each: impl FnMut(Option<usize>)) {
        match (self.codes, self.nulls) {
            (None, None) => picked.for_each(|row| each(Some(row))),
            (None, Some(nulls)) => picked.for_each(|row| each(nulls.is_valid(row).then_some(row))),
            (Some(codes), None) => picked.for_each(|row| each(Some(codes[row] as usize))),
            (Some(codes), Some(nulls)) => {
                picked.for_each(|row| each(nulls.is_valid(row).then(|| codes[row] as usize)));
            }
        }
    }
    #[inline(always)]
    fn each_size(&self, picked: Picked<'_>, mut each: impl FnMut(usize)) {
        let Some(strings) = self.strings else { return };
        let views: &[u128] = strings.views();
        self.places(picked, |place| each(place.map_or(0, |place| view_length(views[place]))));
    }
    /// Bytes of the picked strings.
    pub(crate) fn bytes(&self, picked: Picked<'_>) -> usize {
        let mut sum = 0;
        self.each_size(picked, |size| sum += size);
        sum
    }
    /// Least and greatest size of all rows, and the sum.
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        let rows = self.codes.map_or(self.strings.map_or(0, Strings::len), <[u32]>::len);
        let (mut least, mut most, mut sum) = (usize::MAX, 0, 0);
        self.each_size(Picked::all(rows), |size| {
            least = least.min(size);
            most = most.max(size);
            sum += size;
        });
        (least.min(most), most, sum)
    }
}

/// Writes sizes and bytes; gives the count of the latter.
pub(crate) fn write(
    source: &Source<'_>,
    picked: Picked<'_>,
    least: usize,
    width: usize,
    out: &mut Out<'_>,
) -> usize {
    let sizes = out.room(picked.len() * width);
    match width {
        1 => put_sizes::<1>(source, picked, least, sizes),
        2 => put_sizes::<2>(source, picked, least, sizes),
        4 => put_sizes::<4>(source, picked, least, sizes),
        _ => {}
    }
    let Some(strings) = source.strings else { return 0 };
    let views: &[u128] = strings.views();
    let (begin, mut at) = (out.at, out.at);
    let bytes = &mut *out.bytes;
    source.places(picked, |place| {
        let Some(place) = place else { return };
        let view = views[place];
        let size = view_length(view);
        if size > INLINE_BYTES {
            put_long(strings, place, size, &mut bytes[at..], false);
        } else if let Some(room) = bytes.get_mut(at..at + INLINE_BYTES) {
            // Twelve bytes whatever the size: the next string overwrites what is too much.
            room.copy_from_slice(&view.to_le_bytes()[4..]);
        } else {
            bytes[at..at + size].copy_from_slice(&view.to_le_bytes()[4..4 + size]);
        }
        at += size;
    });
    out.at = at;
    at - begin
}

/// Copies a string that does not live in its view. Unless `exact`, 64 bytes whatever its size, if it is not longer and there
/// are so many on both sides.
#[inline(always)]
pub(crate) fn put_long(strings: &Strings, place: usize, size: usize, out: &mut [u8], exact: bool) {
    if size <= 64
        && !exact
        && let Some(from) = strings.bytes_from(place).and_then(|from| from.first_chunk::<64>())
        && let Some(out) = out.first_chunk_mut()
    {
        *out = *from;
    } else {
        out[..size].copy_from_slice(strings.get(place));
    }
}

fn put_sizes<const N: usize>(source: &Source<'_>, picked: Picked<'_>, least: usize, out: &mut [u8]) {
    let mut room = out.as_chunks_mut::<N>().0.iter_mut();
    source.each_size(picked, |size| {
        if let Some(room) = room.next() {
            room.copy_from_slice(&((size - least) as u32).to_le_bytes()[..N]);
        }
    });
}

/// Strings of `rows` rows out of their sizes and `bytes`; `None` where the sizes do not add up to the bytes, or a text is
/// no UTF-8. Strings longer than a view point into `bytes`.
pub(crate) fn read(
    ty: Type,
    rows: usize,
    least: usize,
    width: usize,
    sizes: &[u8],
    bytes: Buffer,
) -> Option<Strings> {
    let views = match width {
        // A view a row is only taken where there are bytes for it.
        0 if least == 0 || rows.checked_mul(least) != Some(bytes.len()) => None,
        0 => views_of(rows, |_| least, &bytes, ty),
        1 => views_of(rows, |row| least + usize::from(sizes[row]), &bytes, ty),
        2 => {
            let sizes = sizes.as_chunks::<2>().0;
            views_of(rows, |row| least + usize::from(u16::from_le_bytes(sizes[row])), &bytes, ty)
        }
        4 => {
            let sizes = sizes.as_chunks::<4>().0;
            views_of(rows, |row| least.saturating_add(u32::from_le_bytes(sizes[row]) as usize), &bytes, ty)
        }
        _ => None,
    }?;
    Some(Strings::from_trusted(views.into(), [bytes].into()))
}

#[inline(always)]
fn views_of(rows: usize, size_of: impl Fn(usize) -> usize, bytes: &[u8], ty: Type) -> Option<Vec<u128>> {
    let mut views = Vec::with_capacity(rows);
    let mut at = 0usize;
    for row in 0..rows {
        let size = size_of(row);
        let end = at.checked_add(size).filter(|end| *end <= bytes.len())?;
        let view = match bytes.get(at..at + 16) {
            Some(next) if size <= INLINE_BYTES => {
                let mut raw = [0u8; 16];
                raw.copy_from_slice(next);
                // The first `size` bytes, behind the size.
                let kept = u128::from_le_bytes(raw) & !(u128::MAX << (8 * size));
                size as u128 | kept << 32
            }
            _ => make_view(&bytes[at..end], 0, at as u32),
        };
        views.push(view);
        at = end;
    }
    if at != bytes.len() {
        return None;
    }
    if ty.is_text() && !bytes.is_ascii() {
        // All bytes together are UTF-8, and no string begins in the middle of a character.
        let text = std::str::from_utf8(bytes).ok()?;
        let mut begin = 0;
        for row in 0..rows {
            if !text.is_char_boundary(begin) {
                return None;
            }
            begin += size_of(row);
        }
    }
    Some(views)
}
