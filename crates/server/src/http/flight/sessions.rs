//! Sessions of Flight: options that a client sets once and that hold for its further calls.
//!
//! ```text
//!  SetSessionOptions  --> options kept under a secret, which the answer sets as a cookie
//!  any call with the cookie --> a session of the engine that has them; a transaction has those of its beginning
//!  GetSessionOptions  --> what was set, and the catalog and schema that names without one are looked for in
//!  CloseSession       --> forgotten; so is what nobody has used for half a day
//! ```
//! An option is a setting as SET takes it; `schema` is the search path, and `catalog` can only be what it is. Calls are
//! otherwise independent of each other, so that a session holds no transaction and no statement. The cookie is of no use
//! without the role's token. The messages are those of Flight's protocol, which the library does not have yet.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use engine::{Error, Result, Session, SqlState};
use prost::Message;
use tonic::Status;
use tonic::metadata::MetadataValue;

use super::shared::{Caller, Flight};
use super::status::status;
use crate::http::logins::secret;

/// The cookie, as other servers and clients of Flight call it.
const COOKIE: &str = "arrow_flight_session_id";
/// Sessions that are known at a time.
const SESSIONS_MAX: usize = 10_000;
/// Options of one.
const OPTIONS_MAX: usize = 100;
/// Bytes of a name or a value.
const OPTION_BYTES_MAX: usize = 4 << 10;
/// A session that was not used for so long is gone.
const IDLE_MAX: Duration = Duration::from_secs(12 * 3600);

/// What the actions are called.
pub const SET: &str = "SetSessionOptions";
/// Likewise.
pub const GET: &str = "GetSessionOptions";
/// Likewise.
pub const CLOSE: &str = "CloseSession";

/// Settings by name, as SET takes them.
pub type Options = BTreeMap<String, String>;

/// The sessions of a server's clients.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Kept>>);

struct Kept {
    role: String,
    options: Arc<Options>,
    used: Instant,
}

/// A value of an option.
#[derive(Clone, PartialEq, Message)]
pub struct OptionValue {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 5")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(sfixed64, tag = "3")]
    Whole(i64),
    #[prost(double, tag = "4")]
    Number(f64),
    #[prost(message, tag = "5")]
    Texts(Texts),
}

#[derive(Clone, PartialEq, Message)]
struct Texts {
    #[prost(string, repeated, tag = "1")]
    values: Vec<String>,
}

/// SetSessionOptionsRequest, and GetSessionOptionsResult.
#[derive(Clone, PartialEq, Message)]
pub struct OptionsMessage {
    #[prost(btree_map = "string, message", tag = "1")]
    options: BTreeMap<String, OptionValue>,
}

#[derive(Clone, PartialEq, Message)]
struct SetResult {
    #[prost(btree_map = "string, message", tag = "1")]
    errors: BTreeMap<String, SetError>,
}

#[derive(Clone, PartialEq, Message)]
struct SetError {
    #[prost(int32, tag = "1")]
    value: i32,
}

#[derive(Clone, PartialEq, Message)]
struct CloseResult {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// Numbers of the protocol.
const INVALID_NAME: i32 = 1;
const INVALID_VALUE: i32 = 2;
const CLOSED: i32 = 1;
const NOT_CLOSEABLE: i32 = 3;

impl OptionValue {
    /// As SET takes it; `None` goes back to what holds without it.
    fn text(&self) -> Option<String> {
        Some(match self.value.as_ref()? {
            Value::Text(text) => text.clone(),
            Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
            Value::Whole(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Texts(texts) => texts.values.join(", "),
        })
    }

    fn of(text: String) -> OptionValue {
        OptionValue { value: Some(Value::Text(text)) }
    }
}

/// The secret of a request's session.
pub fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE);
    let mut pairs = all.iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
    let named = |pair: &str| Some(pair.trim().strip_prefix(COOKIE)?.strip_prefix('=')?.to_owned());
    pairs.find_map(named)
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The options of a role's session.
    pub fn options(&self, role: &str, session: &str) -> Option<Arc<Options>> {
        let mut sessions = self.lock();
        let kept = sessions.get_mut(session).filter(|kept| kept.role == role)?;
        kept.used = Instant::now();
        Some(kept.options.clone())
    }

    /// Keeps options, under a new secret where there is no session yet.
    fn keep(&self, role: &str, session: Option<&str>, options: Options) -> Result<String> {
        let id = match session {
            Some(session) => session.to_owned(),
            None => secret()?,
        };
        let mut sessions = self.lock();
        if sessions.len() >= SESSIONS_MAX
            && !sessions.contains_key(&id)
            && let Some(oldest) =
                sessions.iter().min_by_key(|(_, kept)| kept.used).map(|(name, _)| name.clone())
        {
            sessions.remove(&oldest);
        }
        let kept = Kept { role: role.to_owned(), options: Arc::new(options), used: Instant::now() };
        sessions.insert(id.clone(), kept);
        Ok(id)
    }

    fn close(&self, role: &str, session: &str) -> bool {
        let mut sessions = self.lock();
        sessions.get(session).is_some_and(|kept| kept.role == role) && sessions.remove(session).is_some()
    }

    /// Forgets those that were not used for long.
    pub fn sweep(&self) {
        self.lock().retain(|_, kept| kept.used.elapsed() <= IDLE_MAX);
    }
}

/// Gives a session of the engine its options.
pub fn apply(session: &Session, options: &Options) -> Result<()> {
    options.iter().try_for_each(|(name, value)| apply_one(session, name, value))
}

fn apply_one(session: &Session, name: &str, value: &str) -> Result<()> {
    match name {
        "catalog" => {
            let own = session.database().name();
            match value == own {
                true => Ok(()),
                false => Err(Error::new(
                    SqlState::InvalidParameterValue,
                    format!("the catalog is \"{own}\" and cannot be another one"),
                )),
            }
        }
        "schema" => crate::server::set(session, "search_path", value),
        name => crate::server::set(session, name, value),
    }
}

/// What an action answers, and the cookie that it sets.
pub type Answered = std::result::Result<(Vec<u8>, Option<MetadataValue<tonic::metadata::Ascii>>), Status>;

impl Flight {
    /// Sets options: of those that cannot be set it is told why, the others hold.
    pub async fn set_options(&self, caller: &Caller, body: &[u8]) -> Answered {
        let asked = OptionsMessage::decode(body).map_err(|_| malformed())?;
        let known = caller.options.clone();
        let place = self.place(caller, None)?;
        let (options, errors) = self
            .run(&place, "", move |session| {
                let (mut options, mut errors) = ((*known).clone(), BTreeMap::new());
                for (name, value) in asked.options {
                    if let Err(error) = set_one(session, &mut options, &name, &value) {
                        let unknown = error.state() == SqlState::UndefinedObject;
                        let value = if unknown { INVALID_NAME } else { INVALID_VALUE };
                        errors.insert(name, SetError { value });
                    }
                }
                Ok((options, errors))
            })
            .await?;
        let id = self.sessions.keep(&caller.role, caller.session.as_deref(), options);
        let id = id.map_err(|error| status(&error, ""))?;
        let cookie = format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict");
        Ok((SetResult { errors }.encode_to_vec(), cookie.parse().ok()))
    }

    /// What was set, and where names without a schema are looked for.
    pub async fn get_options(&self, caller: &Caller) -> Answered {
        let place = self.place(caller, None)?;
        let (catalog, schema) = self
            .run(&place, "", |session| {
                let path = session.setting("search_path").unwrap_or_default();
                Ok((session.database().name().to_owned(), path))
            })
            .await?;
        let mut options: BTreeMap<String, OptionValue> = caller
            .options
            .iter()
            .map(|(name, value)| (name.clone(), OptionValue::of(value.clone())))
            .collect();
        options.entry("catalog".to_owned()).or_insert_with(|| OptionValue::of(catalog));
        options.entry("schema".to_owned()).or_insert_with(|| OptionValue::of(schema));
        Ok((OptionsMessage { options }.encode_to_vec(), None))
    }

    /// Forgets the caller's session.
    pub fn close_session(&self, caller: &Caller) -> Answered {
        let closed = caller.session.as_deref().is_some_and(|id| self.sessions.close(&caller.role, id));
        let status = if closed { CLOSED } else { NOT_CLOSEABLE };
        // The client's own copy ends with it.
        let cookie = format!("{COOKIE}=; Path=/; Max-Age=0");
        Ok((CloseResult { status }.encode_to_vec(), cookie.parse().ok().filter(|_| closed)))
    }
}

fn malformed() -> Status {
    super::status::refused(SqlState::ProtocolViolation, "what is to be set are no options of a session")
}

/// Sets an option on a session, and among those that are kept if it can be.
fn set_one(session: &Session, options: &mut Options, name: &str, value: &OptionValue) -> Result<()> {
    let Some(text) = value.text() else {
        options.remove(name);
        return Ok(());
    };
    let known = options.contains_key(name);
    if name.len().max(text.len()) > OPTION_BYTES_MAX || (!known && options.len() >= OPTIONS_MAX) {
        let message = "the option is too long, or there are too many";
        return Err(Error::new(SqlState::ConfigurationLimitExceeded, message));
    }
    // A setting of the whole database is no session's.
    if engine::settings::is_shared(name) {
        return Err(Error::new(SqlState::InvalidParameterValue, "this is a setting of the database"));
    }
    apply_one(session, name, &text)?;
    options.insert(name.to_owned(), text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_its_roles_and_the_least_used_goes() {
        let sessions = Sessions::default();
        let of = |value: &str| Options::from([("timezone".to_owned(), value.to_owned())]);
        let first = sessions.keep("ada", None, of("UTC")).unwrap();
        assert_eq!(*sessions.options("ada", &first).unwrap(), of("UTC"));
        assert!(sessions.options("grace", &first).is_none() && sessions.options("ada", "").is_none());
        assert_eq!(sessions.keep("ada", Some(&first), of("PST8PDT")).unwrap(), first);
        assert_eq!(*sessions.options("ada", &first).unwrap(), of("PST8PDT"));
        assert!(!sessions.close("grace", &first) && sessions.close("ada", &first));
        assert!(!sessions.close("ada", &first));
        let old = sessions.keep("x", None, Options::new()).unwrap();
        (0..SESSIONS_MAX).for_each(|_| drop(sessions.keep("x", None, Options::new()).unwrap()));
        assert!(sessions.options("x", &old).is_none());
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=1; arrow_flight_session_id=abc ; b=2".parse().unwrap());
        assert_eq!(cookie(&headers).as_deref(), Some("abc"));
        headers.insert(header::COOKIE, "arrow_flight_session_identity=abc".parse().unwrap());
        assert_eq!(cookie(&headers), None);
    }
}
