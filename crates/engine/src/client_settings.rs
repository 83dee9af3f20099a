//! Settings that PostgreSQL's clients send and read: those that say how values are written, and facts of the server.
//!
//! A client sets what it relies on, and may not be told a lie. So a setting takes what is true here, such as
//! `client_encoding` UTF8 and no other, and an error says what that is. What shows a fact of the server is read only
//! (55P02). `server_version` is the PostgreSQL that clients may take this for, whose catalogs and texts are ours too.

use types::{Error, Result, SqlState};

/// The version of PostgreSQL whose behaviour clients may expect, and its number.
pub const SERVER_VERSION: &str = sql::POSTGRESQL_VERSION;
const SERVER_VERSION_NUMBER: &str = "150013";
/// Bytes of an `application_name`, as PostgreSQL keeps of one.
const APPLICATION_NAME_BYTES: usize = 63;

/// Settings that can be set: name, default and meaning.
pub(crate) const MEANINGS: [(&str, &str, &str); 20] = [
    ("application_name", "", "what the client calls itself; views of sessions show it"),
    ("client_encoding", "UTF8", "UTF8: texts are sent and taken in it; there is no other"),
    ("datestyle", "ISO, MDY", "ISO: dates are written 2024-12-31; there is no other"),
    (
        "intervalstyle",
        "postgres",
        "postgres: intervals are written 1 year 2 mons 3 days 04:05:06; there is no other",
    ),
    (
        "extra_float_digits",
        "1",
        "1 to 3: floating-point numbers are written with as many digits as tell them apart; there is no other",
    ),
    ("bytea_output", "hex", "hex: bytes are sent as texts such as \\x00ff; there is no other"),
    ("standard_conforming_strings", "on", "on: a backslash in a quoted text is one; there is no other"),
    (
        "client_min_messages",
        "notice",
        "debug to error: which notices and warnings a client is sent; less grave ones are left out",
    ),
    ("lock_timeout", "0", "milliseconds that a statement waits for locks; nothing here waits for any"),
    ("default_text_search_config", "pg_catalog.simple", "pg_catalog.simple; there is no text search"),
    ("check_function_bodies", "on", "on or off: bodies of macros are checked when they are called"),
    (
        "default_table_access_method",
        "heap",
        "heap: how rows are stored is the setting layout's; there is no other",
    ),
    ("default_tablespace", "", "empty: there are no tablespaces"),
    ("default_toast_compression", "pglz", "pglz: long values are coded with their column; there is no other"),
    ("escape_string_warning", "on", "on or off: nothing here warns of backslashes"),
    (
        "jit",
        "off",
        "on or off: taken and kept for PostgreSQL's clients; how queries run is decided by the engine's own switches",
    ),
    ("quote_all_identifiers", "off", "off: names are quoted where they must be; there is no other"),
    ("row_security", "on", "on: row policies hide rows; off: where one would, the statement fails instead"),
    ("synchronize_seqscans", "on", "on or off: scans share what is in memory"),
    ("xmloption", "content", "content or document; there is no XML"),
];

/// Those of them that clients set and that change nothing here: the values that each takes.
const TAKEN: [(&str, &[&str]); 10] = [
    ("check_function_bodies", &["on", "off"]),
    ("default_table_access_method", &["heap"]),
    ("default_tablespace", &[""]),
    ("default_toast_compression", &["pglz"]),
    ("escape_string_warning", &["on", "off"]),
    ("jit", &["on", "off"]),
    ("quote_all_identifiers", &["off"]),
    ("row_security", &["on", "off"]),
    ("synchronize_seqscans", &["on", "off"]),
    ("xmloption", &["content", "document"]),
];

/// Facts that SHOW tells: name and value.
const FACTS: [(&str, &str); 11] = [
    ("server_version", SERVER_VERSION),
    ("server_version_num", SERVER_VERSION_NUMBER),
    ("server_encoding", "UTF8"),
    ("integer_datetimes", "on"),
    ("in_hot_standby", "off"),
    ("max_identifier_length", "63"),
    ("is_superuser", "on"),
    ("default_transaction_read_only", "off"),
    ("lc_collate", "C"),
    ("lc_ctype", "C"),
    ("max_index_keys", "32"),
];

/// Severities that `client_min_messages` names, the least grave first.
const LEVELS: [&str; 8] = ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning"];

/// One session's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientSettings {
    application_name: String,
    /// `None`: notice.
    client_min_messages: Option<&'static str>,
    /// `None`: 1.
    extra_float_digits: Option<u8>,
    lock_timeout: Option<std::time::Duration>,
    /// Of `TAKEN`, those that are not as they begin.
    taken: std::collections::BTreeMap<&'static str, &'static str>,
}

/// A fact of the server that is shown like a setting.
pub(crate) fn fact(name: &str) -> Option<&'static str> {
    FACTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// All facts, by name.
pub(crate) fn facts() -> impl Iterator<Item = (&'static str, &'static str)> {
    FACTS.into_iter()
}

/// The error for a SET of something that is only shown; `None` for other names.
pub(crate) fn refuse_fact(name: &str) -> Option<Error> {
    fact(name)?;
    Some(Error::new(SqlState::CantChangeRuntimeParam, format!("parameter \"{name}\" cannot be changed")))
}

fn invalid(name: &str, text: &str, hint: &str) -> Error {
    let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
    Error::new(SqlState::InvalidParameterValue, message).with_hint(format!("this server has {hint}"))
}

impl ClientSettings {
    /// What the client calls itself.
    pub(crate) fn application_name(&self) -> &str {
        &self.application_name
    }

    /// A setting's value; `None` for other names.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let default = MEANINGS.iter().find(|(known, _, _)| *known == name)?.1;
        Some(match name {
            "application_name" => self.application_name.clone(),
            "client_min_messages" => self.client_min_messages.unwrap_or(default).to_owned(),
            "extra_float_digits" => self.extra_float_digits.unwrap_or(1).to_string(),
            "lock_timeout" => {
                self.lock_timeout.map_or_else(|| "0".to_owned(), |time| format!("{}ms", time.as_millis()))
            }
            _ => self.taken.get(name).copied().unwrap_or(default).to_owned(),
        })
    }

    /// Sets one; false for other names.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<bool> {
        let word = text.trim();
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        match name {
            "application_name" => {
                let kept = text.floor_char_boundary(text.len().min(APPLICATION_NAME_BYTES));
                self.application_name = text[..kept].to_owned();
            }
            "client_encoding" => {
                // As in PostgreSQL, letters and digits alone say which: clients write 'utf-8', with quotes, too.
                let said: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
                if !["utf8", "unicode"].iter().any(|known| said.eq_ignore_ascii_case(known)) {
                    return Err(invalid(name, text, "UTF8 alone"));
                }
            }
            "datestyle" => {
                let mut words = word.split(',').map(str::trim);
                let known = |word: &str| {
                    ["ISO", "MDY", "US", "DEFAULT"].iter().any(|known| word.eq_ignore_ascii_case(known))
                };
                if !words.all(known) {
                    return Err(invalid(name, text, "\"ISO, MDY\" alone"));
                }
            }
            "intervalstyle" if is("postgres") => {}
            "intervalstyle" => return Err(invalid(name, text, "postgres alone")),
            "bytea_output" if is("hex") => {}
            "bytea_output" => return Err(invalid(name, text, "hex alone")),
            "standard_conforming_strings" if types::switch::parse(word) == Some(true) => {}
            "standard_conforming_strings" => return Err(invalid(name, text, "on alone")),
            "default_text_search_config" if is("pg_catalog.simple") || is("simple") => {}
            "default_text_search_config" => return Err(invalid(name, text, "pg_catalog.simple alone")),
            "extra_float_digits" => {
                let digits = word.parse().ok().filter(|digits| (1..=3).contains(digits));
                self.extra_float_digits = Some(
                    digits.ok_or_else(|| invalid(name, text, "1 to 3 alone: the shortest that is exact"))?,
                );
            }
            "client_min_messages" => {
                let lower = word.to_ascii_lowercase();
                let named = match lower.as_str() {
                    "debug" => Some("debug2"),
                    "info" => Some("notice"),
                    "error" | "fatal" | "panic" => Some("error"),
                    other => LEVELS.into_iter().find(|level| *level == other),
                };
                self.client_min_messages =
                    Some(named.ok_or_else(|| invalid(name, text, "debug, log, notice, warning and error"))?);
            }
            "lock_timeout" => self.lock_timeout = crate::settings::parse_timeout(name, text)?,
            _ => return self.take(name, word),
        }
        Ok(true)
    }

    /// Sets one of `TAKEN`; false for other names.
    fn take(&mut self, name: &str, word: &str) -> Result<bool> {
        let Some((known, values)) = TAKEN.iter().find(|(known, _)| *known == name) else { return Ok(false) };
        // Words for a switch mean it.
        let word = match types::switch::parse(word) {
            Some(said) if values.contains(&"off") => {
                if said {
                    "on"
                } else {
                    "off"
                }
            }
            _ => word,
        };
        let value = values.iter().find(|value| value.eq_ignore_ascii_case(word));
        let taken = value.ok_or_else(|| invalid(name, word, &format!("{} alone", values.join(" and "))))?;
        self.taken.insert(known, taken);
        Ok(true)
    }

    /// Whether clients are sent warnings, and notices.
    pub(crate) fn sends(&self) -> (bool, bool) {
        match self.client_min_messages {
            Some("error") => (false, false),
            Some("warning") => (true, false),
            _ => (true, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_is_taken_and_the_rest_refused() {
        let mut settings = ClientSettings::default();
        for (name, good, bad) in [
            ("client_encoding", "'utf-8'", "LATIN1"),
            ("datestyle", "ISO", "German"),
            ("datestyle", "iso, mdy", "ISO, DMY"),
            ("intervalstyle", "POSTGRES", "iso_8601"),
            ("extra_float_digits", "3", "0"),
            ("bytea_output", "hex", "escape"),
            ("standard_conforming_strings", "true", "off"),
            ("client_min_messages", "WARNING", "loud"),
        ] {
            assert_eq!(settings.set(name, good).ok(), Some(true), "{name}");
            assert_eq!(
                settings.set(name, bad).unwrap_err().state(),
                SqlState::InvalidParameterValue,
                "{name}"
            );
        }
        assert_eq!(settings.sends(), (true, false));
        settings.set("application_name", &"ä".repeat(40)).unwrap();
        assert_eq!(settings.get("application_name").unwrap().len(), 62);
        assert!(!settings.set("no_such_thing", "1").unwrap());
    }

    #[test]
    fn the_versions_agree() {
        let (major, minor) = SERVER_VERSION.split_once('.').unwrap();
        assert_eq!(SERVER_VERSION_NUMBER, format!("{major}{minor:0>4}"));
        assert_eq!(refuse_fact("server_version").unwrap().state().code(), "55P02");
        assert!(refuse_fact("application_name").is_none());
    }
}
