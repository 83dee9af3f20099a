//! Settings that clients keep track of: told at the beginning, and again when they have changed.

use engine::{Session, SettingsSeen};
use pgproto::MessageBuffer;

/// What is reported: the name that clients know and the setting. The first ones never change while a session lives.
const REPORTED: [(&str, &str); 13] = [
    ("server_version", "server_version"),
    ("server_encoding", "server_encoding"),
    ("integer_datetimes", "integer_datetimes"),
    ("in_hot_standby", "in_hot_standby"),
    ("client_encoding", "client_encoding"),
    ("standard_conforming_strings", "standard_conforming_strings"),
    ("DateStyle", "datestyle"),
    ("IntervalStyle", "intervalstyle"),
    ("TimeZone", "timezone"),
    ("application_name", "application_name"),
    ("is_superuser", "is_superuser"),
    ("session_authorization", "session_authorization"),
    ("default_transaction_read_only", "default_transaction_read_only"),
];
/// How many of them cannot change.
const FIXED: usize = 8;

/// The values that the client was told.
#[derive(Default)]
pub struct Reported {
    values: Vec<String>,
    /// What they were read from.
    seen: SettingsSeen,
}

fn value(session: &Session, setting: &str) -> String {
    session.setting(setting).unwrap_or_default()
}

impl Reported {
    /// Tells all of them.
    pub fn report(&mut self, session: &Session, out: &mut MessageBuffer) {
        session.has_new_settings(&mut self.seen);
        for (name, setting) in REPORTED {
            let value = value(session, setting);
            out.parameter_status(name, &value);
            self.values.push(value);
        }
        self.values.drain(..FIXED);
    }

    /// Tells those that have changed.
    pub fn report_changes(&mut self, session: &Session, out: &mut MessageBuffer) {
        if !session.has_new_settings(&mut self.seen) {
            return;
        }
        for ((name, setting), told) in REPORTED[FIXED..].iter().zip(&mut self.values) {
            let value = value(session, setting);
            if value != *told {
                out.parameter_status(name, &value);
                *told = value;
            }
        }
    }
}
