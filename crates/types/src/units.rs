//! The names of units and fields of time: many spellings, one canonical word for each.

/// Other names and the canonical ones. Plurals are recognized in addition.
const NAMES: [(&str, &str); 36] = [
    ("us", "microsecond"),
    ("usec", "microsecond"),
    ("usecond", "microsecond"),
    ("microsecon", "microsecond"),
    ("ms", "millisecond"),
    ("msec", "millisecond"),
    ("msecond", "millisecond"),
    ("millisecon", "millisecond"),
    ("s", "second"),
    ("sec", "second"),
    ("m", "minute"),
    ("min", "minute"),
    ("h", "hour"),
    ("hr", "hour"),
    ("d", "day"),
    ("dayofmonth", "day"),
    ("w", "week"),
    ("weekofyear", "week"),
    ("mon", "month"),
    ("q", "quarter"),
    ("qtr", "quarter"),
    ("y", "year"),
    ("yr", "year"),
    ("dec", "decade"),
    ("c", "century"),
    ("cent", "century"),
    ("centuries", "century"),
    ("mil", "millennium"),
    ("millennia", "millennium"),
    ("millenium", "millennium"),
    ("millenniums", "millennium"),
    ("weekday", "dow"),
    ("dayofweek", "dow"),
    ("dayofyear", "doy"),
    ("timezone_h", "timezone_hour"),
    ("timezone_m", "timezone_minute"),
];

/// The canonical name of a unit or field: lower case, singular, without blanks around it. An unknown name is treated
/// the same and given back, so that callers report it.
pub fn unit(written: &str) -> String {
    let word = written.trim().to_lowercase();
    let meant = |word: &str| NAMES.iter().find(|(name, _)| *name == word).map(|(_, unit)| (*unit).to_owned());
    if let Some(unit) = meant(&word) {
        return unit;
    }
    match word.strip_suffix('s').filter(|singular| !singular.is_empty()) {
        Some(singular) => meant(singular).unwrap_or_else(|| singular.to_owned()),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn names_of_one_unit() {
        for (written, meant) in [
            (" Years ", "year"),
            ("yrs", "year"),
            ("msecs", "millisecond"),
            ("MS", "millisecond"),
            ("s", "second"),
            ("mons", "month"),
            ("millennia", "millennium"),
            ("weekday", "dow"),
            ("fortnight", "fortnight"),
            ("", ""),
        ] {
            assert_eq!(unit(written), meant, "{written}");
        }
    }
}
