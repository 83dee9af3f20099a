//! Asking for memory before it is used.

/// Asks for the cache line of `values[at]`; out of range is harmless.
#[inline(always)]
pub fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let place = values.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch may be given any address; it reads nothing the program can see.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Asks for the first four cache lines of a value, or as many as it has; it may lie behind a pointer to a trait.
#[inline(always)]
pub fn prefetch_value<T: ?Sized>(value: &T) {
    const LINE_BYTES: usize = 64;
    let bytes = size_of_val(value);
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes.min(4 * LINE_BYTES)).step_by(LINE_BYTES) {
        let place = std::ptr::from_ref(value).cast::<i8>().wrapping_add(at);
        // SAFETY: as in `prefetch`.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// As `prefetch`, into the second-level cache: for many values that lie far apart. The first level waits for two dozen lines
/// at most, the second for more; measured on Zen 4, out of memory, a list of rows is gathered in half the time.
#[inline(always)]
pub fn prefetch_l2<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let place = values.as_ptr().wrapping_add(at);
        // SAFETY: as in `prefetch`.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Rows between asking for a value and using it.
pub(crate) const AHEAD: usize = 128;
/// Values up to these bytes lie in the second-level cache, about: asking for them would cost more than it saves.
const NEAR_BYTES: usize = 1 << 18;

/// What `each` makes of the values at `rows`. Values that lie far apart are asked for before they are used: each is a
/// miss, and the processor alone sees too few of them ahead.
#[inline(always)]
pub fn take<T: Copy, U>(values: &[T], rows: &[u32], each: impl Fn(T) -> U) -> Vec<U> {
    if size_of_val(values) <= NEAR_BYTES {
        return rows.iter().map(|row| each(values[*row as usize])).collect();
    }
    rows.iter().take(AHEAD).for_each(|row| prefetch_l2(values, *row as usize));
    let asked = rows.iter().enumerate().map(|(at, row)| {
        prefetch_l2(values, rows[(at + AHEAD).min(rows.len() - 1)] as usize);
        each(values[*row as usize])
    });
    asked.collect()
}
