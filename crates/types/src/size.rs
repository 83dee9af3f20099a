//! Sizes and durations as people write them.

fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..split].parse().ok()?, text[split..].trim().to_ascii_lowercase()))
}

/// A number of bytes with an optional unit: `64KB`, `8 GB`, `1.5GiB`, `1048576`. Units are powers of 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit.as_str() {
        "" | "b" | "bytes" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    let bytes = number * factor as f64;
    (bytes.is_finite() && (0.0..9e18).contains(&bytes)).then_some(bytes as u64)
}

/// A number of milliseconds with an optional unit: `ms`, `s`, `min`, `h`.
pub fn milliseconds(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit.as_str() {
        "" | "ms" => 1.0,
        "s" => 1e3,
        "min" => 6e4,
        "h" => 3.6e6,
        _ => return None,
    };
    let milliseconds = number * factor;
    (0.0..1e13).contains(&milliseconds).then_some(milliseconds as u64)
}
