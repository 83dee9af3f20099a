//! Bytes seen as slices of numbers, checked for length and alignment.

mod sealed {
    /// Keeps [`Plain`](super::Plain) to the types listed here.
    pub trait Sealed {}
}

/// A number without padding for which every bit pattern is a value.
pub trait Plain: sealed::Sealed + Copy + Default + 'static {}

macro_rules! plain {
    ($($ty:ty),*) => { $(impl sealed::Sealed for $ty {} impl Plain for $ty {})* };
}
plain!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

/// `bytes` as numbers; `None` when the address is not aligned for `T` or the length is no multiple of its size.
pub fn typed<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    let size = size_of::<T>();
    if bytes.as_ptr().align_offset(align_of::<T>()) != 0 || !bytes.len().is_multiple_of(size) {
        return None;
    }
    // SAFETY: aligned and of whole length (checked above); `Plain` admits every bit pattern.
    Some(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size) })
}

/// As `typed`, to write.
pub fn typed_mut<T: Plain>(bytes: &mut [u8]) -> Option<&mut [T]> {
    let size = size_of::<T>();
    if bytes.as_ptr().align_offset(align_of::<T>()) != 0 || !bytes.len().is_multiple_of(size) {
        return None;
    }
    // SAFETY: aligned and of whole length (checked above); `Plain` admits every bit pattern, and the exclusive borrow
    // of the bytes becomes the exclusive borrow of the numbers.
    Some(unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size) })
}

/// The bytes of numbers, in memory order.
pub fn as_bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `Plain` types have no padding, so all bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}
