//! Which paths are tables of Delta Lake or Iceberg, to be read or written.

use formats::Environment;
use formats::remote::{is_remote, name_of};
use lakes::Format;
use plan::file::READER;

/// The format of the table that a function reads, or that a folder plainly is whose format nobody says.
pub(crate) fn format_of(
    environment: &Environment,
    path: &str,
    options: &[(String, String)],
) -> Option<Format> {
    match options {
        [] => {
            let path = formats::at_home(path);
            let name = name_of(&path).trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let folder = match is_remote(&path) {
                // Files have names with a point in them.
                true => !name.contains(['.', '*', '?', '[']),
                false => {
                    environment.capability().file(&*path).is_ok() && std::path::Path::new(&*path).is_dir()
                }
            };
            // What cannot be looked at is told when it is read.
            if folder { lakes::format_of(environment, &path).ok().flatten() } else { None }
        }
        options => options.iter().find(|(name, _)| name == READER).and_then(|(_, name)| Format::named(name)),
    }
}

/// As `format_of`, for COPY FROM, where an option may name the format; with the other options.
pub(crate) fn format_to_copy(
    environment: &Environment,
    path: &str,
    options: &[(String, String)],
) -> Option<(Format, Vec<(String, String)>)> {
    let is_format = |name: &str| name.eq_ignore_ascii_case("format");
    let format = match options.iter().find(|(name, _)| is_format(name)) {
        Some((_, format)) => Format::named(format),
        None => format_of(environment, path, &[]),
    }?;
    Some((format, options.iter().filter(|(name, _)| !is_format(name)).cloned().collect()))
}

/// The other options of COPY TO (FORMAT delta).
pub(crate) fn delta_options(options: &[(String, String)]) -> Option<Vec<(String, String)>> {
    let is_delta = |(name, value): &&(String, String)| {
        name.eq_ignore_ascii_case("format") && value.eq_ignore_ascii_case("delta")
    };
    options.iter().find(is_delta)?;
    Some(options.iter().filter(|option| !is_delta(option)).cloned().collect())
}
