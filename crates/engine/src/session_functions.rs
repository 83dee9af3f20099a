//! Functions of `pg_catalog` that look at or change what sessions are: made for each statement that calls them, over its
//! session's presence.
//!
//! `set_config` checks at once and returns the new value, and takes effect when the statement ends: a statement is
//! planned and run under the settings that it began with. An error of the statement takes it back.

use std::sync::Arc;

use plan::ExternalFunction;
use types::{Error, Result, SqlState, SystemType, Type, Value};
use vector::Vector;

use crate::access::guard::{self, Decision};
use crate::client_settings;
use crate::relations::SessionRelations;
use crate::sessions::listed::signal;
use crate::sessions::{ClientAddress, Configured, SessionSignal};
use crate::settings::{self, Settings};

/// What answers a call; NULL arguments come as they are.
type Body = Arc<dyn Fn(&[Value]) -> Result<Value> + Send + Sync>;

fn function(name: &str, arguments: &[Type], returns: Type, body: Body) -> Arc<ExternalFunction> {
    let code = move |inputs: &[Vector], rows: usize| {
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            let given: Vec<Value> = inputs.iter().map(|input| input.value(row)).collect();
            results.push(body(&given)?);
        }
        Result::Ok(Vector::from_values(returns, &results))
    };
    Arc::new(ExternalFunction {
        name: name.into(),
        arguments: arguments.to_vec(),
        returns,
        volatile: true,
        body: Some(expr::keep(Arc::new(code))),
    })
}

/// The names of these functions, with who may call them: what they ask for themselves is asked of the session.
pub(crate) const NAMES: [(&str, Decision); 8] = [
    ("current_setting", Decision::Everyone),
    ("inet_client_addr", Decision::Everyone),
    ("inet_client_port", Decision::Everyone),
    ("pg_backend_pid", Decision::Everyone),
    ("pg_cancel_backend", Decision::OwnQuery),
    ("pg_reload_conf", Decision::Superuser),
    ("pg_terminate_backend", Decision::OwnQuery),
    ("set_config", Decision::Everyone),
];

/// The forms of a function; `None` when it is none of these.
pub(crate) fn functions(relations: &SessionRelations, name: &str) -> Option<Vec<Arc<ExternalFunction>>> {
    if !NAMES.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let (text, int, bool) = (Type::Text, Type::Integer, Type::Boolean);
    let Some((presence, database)) = relations.presence().zip(relations.database()) else {
        return Some(vec![]);
    };
    let (presence, database) = (presence.clone(), database.clone());
    let identity = relations.session_settings().identity;
    let process = |value: &Value| value.as_i64().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0);
    Some(match name {
        "pg_backend_pid" => {
            let own = presence.process();
            vec![function(name, &[], int, Arc::new(move |_| Ok(Value::I32(own))))]
        }
        "inet_client_addr" => {
            let body: Body = Arc::new(move |_| {
                Ok(match presence.client() {
                    Some(ClientAddress::Tcp(address)) => Value::text(&address.ip().to_string()),
                    _ => Value::Null,
                })
            });
            vec![function(name, &[], Type::System(SystemType::Inet), body)]
        }
        "inet_client_port" => {
            let body: Body = Arc::new(move |_| {
                Ok(match presence.client() {
                    Some(ClientAddress::Tcp(address)) => Value::I32(i32::from(address.port())),
                    _ => Value::Null,
                })
            });
            vec![function(name, &[], int, body)]
        }
        "pg_cancel_backend" | "pg_terminate_backend" => {
            let told = match name {
                "pg_cancel_backend" => SessionSignal::Cancel,
                _ => SessionSignal::Terminate,
            };
            let body: Body = Arc::new(move |given| match given[0].is_null() {
                true => Ok(Value::Null),
                false => signal(&database, identity, process(&given[0]), told).map(Value::Bool),
            });
            let mut forms = vec![function(name, &[int], bool, body.clone())];
            if told == SessionSignal::Terminate {
                forms.push(function(name, &[int, Type::BigInt], bool, body));
            }
            forms
        }
        "pg_reload_conf" => {
            let superuser = relations.snapshot().access().is_superuser(identity.current);
            let body: Body = Arc::new(move |_| match superuser {
                true => Err(Error::unsupported("a configuration file is read again on SIGHUP alone")),
                false => Err(access::denied("permission denied for function pg_reload_conf")),
            });
            vec![function(name, &[], bool, body)]
        }
        "current_setting" => {
            let listed = Arc::new(relations.settings_shown());
            let of = move |given: &[Value]| -> Option<Value> {
                let wanted = given[0].as_text()?.to_lowercase();
                let wanted = settings::own_name(&wanted);
                let set = presence.configured(wanted);
                let found = listed.iter().find(|(name, _)| name == wanted);
                set.or_else(|| found.map(|(_, value)| value.clone())).map(|value| Value::text(&value))
            };
            let strict = of.clone();
            let one: Body = Arc::new(move |given| match (strict(given), &given[0]) {
                (Some(value), _) => Ok(value),
                (None, Value::Null) => Ok(Value::Null),
                (None, name) => Err(settings::unknown(name.as_text().unwrap_or_default())),
            });
            let two: Body = Arc::new(move |given| match (of(given), &given[0], given[1].as_bool()) {
                (Some(value), _, _) => Ok(value),
                (None, Value::Null, _) | (None, _, None | Some(true)) => Ok(Value::Null),
                (None, name, Some(false)) => Err(settings::unknown(name.as_text().unwrap_or_default())),
            });
            vec![function(name, &[text], text, one), function(name, &[text, bool], text, two)]
        }
        _ => {
            let plain = !relations.snapshot().access().is_superuser(identity.current);
            let body: Body = Arc::new(move |given| {
                let name = given[0].as_text().ok_or_else(|| {
                    Error::new(SqlState::NullValueNotAllowed, "SET requires parameter name")
                })?;
                let name = settings::own_name(&name.to_lowercase()).to_owned();
                let value = given[1].as_text().map(str::to_owned);
                let shown = checked(&name, value.as_deref(), plain)?;
                let local = given[2].as_bool() == Some(true);
                presence.configure(Configured { name, value, local });
                Ok(Value::text(&shown))
            });
            vec![function(name, &[text, text, bool], text, body)]
        }
    })
}

/// What a setting will show when it is given a value; an error where SET would fail.
fn checked(name: &str, value: Option<&str>, plain: bool) -> Result<String> {
    if let Some(refused) = client_settings::refuse_fact(name) {
        return Err(refused);
    }
    if plain && guard::setting(name) != Decision::Everyone {
        return Err(access::denied(format!("permission denied to set parameter \"{name}\"")));
    }
    if settings::is_shared(name) || name == "role" {
        let message = format!("set_config changes settings of the session alone, and \"{name}\" is none");
        return Err(Error::unsupported(message).with_hint(format!("write SET {name} = ...")));
    }
    let mut settings = Settings::default();
    settings.set(name, value)?;
    Ok(settings.get(name).unwrap_or_default())
}
