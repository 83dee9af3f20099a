//! Comparing keys of candidate pairs: for keys that were hashed, and for comparisons with NULLs.

use vector::{Data, Vector};

use super::state::Keys;

/// Keeps the pairs whose keys are equal; both lists stay aligned. Probe keys may have any form.
pub(super) fn retain_equal(
    keys: &Keys,
    probe: &[Vector],
    null_equals_null: bool,
    probe_rows: &mut Vec<u32>,
    build_rows: &mut Vec<u32>,
) {
    let Keys::Hashes { columns } = keys else { return };
    for (probe, build) in probe.iter().zip(columns) {
        retain_column(probe, build, null_equals_null, probe_rows, build_rows);
    }
}

fn retain_column(
    probe: &Vector,
    build: &Vector,
    null_equals_null: bool,
    probe_rows: &mut Vec<u32>,
    build_rows: &mut Vec<u32>,
) {
    let flat = if probe.is_flat() { None } else { Some(probe.flatten()) };
    let probe = flat.as_ref().unwrap_or(probe);
    let nulls = null_equals_null && (probe.has_nulls() || build.has_nulls());
    macro_rules! retain {
        ($a:ident, $b:ident, $equal:expr) => {{
            let equal = $equal;
            if nulls {
                retain_where(probe_rows, build_rows, |p, b| match (probe.is_null(p), build.is_null(b)) {
                    (false, false) => equal(p, b),
                    (p, b) => p && b,
                });
            } else {
                // Rows with a NULL never become candidates where NULL matches nothing.
                retain_where(probe_rows, build_rows, equal);
            }
        }};
    }
    match (probe.data(), build.data()) {
        (Data::Bool(a), Data::Bool(b)) => retain!(a, b, |p: usize, q: usize| a.value(p) == b.value(q)),
        (Data::I16(a), Data::I16(b)) => retain!(a, b, |p: usize, q: usize| a[p] == b[q]),
        (Data::I32(a), Data::I32(b)) => retain!(a, b, |p: usize, q: usize| a[p] == b[q]),
        (Data::I64(a), Data::I64(b)) => retain!(a, b, |p: usize, q: usize| a[p] == b[q]),
        (Data::I128(a), Data::I128(b)) => retain!(a, b, |p: usize, q: usize| a[p] == b[q]),
        // NaN equals NaN, as in PostgreSQL.
        (Data::F32(a), Data::F32(b)) => {
            retain!(a, b, |p: usize, q: usize| a[p] == b[q] || (a[p].is_nan() && b[q].is_nan()))
        }
        (Data::F64(a), Data::F64(b)) => {
            retain!(a, b, |p: usize, q: usize| a[p] == b[q] || (a[p].is_nan() && b[q].is_nan()))
        }
        (Data::Bytes(a), Data::Bytes(b)) => retain!(a, b, |p: usize, q: usize| a.equal(p, b, q)),
        _ => retain_where(probe_rows, build_rows, |p, q| {
            let (a, b) = (probe.value(p), build.value(q));
            a == b && (null_equals_null || !a.is_null())
        }),
    }
}

#[inline(always)]
fn retain_where(probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>, equal: impl Fn(usize, usize) -> bool) {
    let mut kept = 0;
    for at in 0..probe_rows.len().min(build_rows.len()) {
        let (probe, build) = (probe_rows[at], build_rows[at]);
        probe_rows[kept] = probe;
        build_rows[kept] = build;
        kept += usize::from(equal(probe as usize, build as usize));
    }
    probe_rows.truncate(kept);
    build_rows.truncate(kept);
}

/// Whether the comparison of two keys is certainly false, though they hold NULLs: some pair of parts differs.
pub(super) fn certainly_differ(probe: &[Vector], build: &[Vector], probe_row: u32, build_row: u32) -> bool {
    probe.iter().zip(build).any(|(probe, build)| {
        let (a, b) = (probe.value(probe_row as usize), build.value(build_row as usize));
        !a.is_null() && !b.is_null() && a != b
    })
}
