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
