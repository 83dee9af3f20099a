//! Secrets: how objects below an address are reached, under a name. The secret with the longest scope that an address lies
//! in says everything about reaching it; settings and, unless its provider is `credential_chain`, the environment then say
//! nothing, so that a key never goes to a server that it was not given for.
//!
//! Secrets are the database's, as the settings are. Temporary ones end with it; persistent ones lie in files of the user
//! (`secret_files`). Values leave this module towards the stores only: nothing here that can be printed holds one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use types::{Error, Result, SqlState};

use super::{Stores, secret_files};
use crate::Environment;

/// The kinds: their name, the addresses that they are for, and their options.
static KINDS: [Kind; 4] = [
    Kind {
        name: "s3",
        schemes: &["s3://", "s3a://"],
        options: &["key_id", "secret", "session_token", "region", "endpoint", "url_style", "use_ssl"],
    },
    Kind {
        name: "gcs",
        schemes: &["gs://", "gcs://"],
        options: &["key_id", "secret", "service_account_path", "service_account_key", "endpoint", "use_ssl"],
    },
    Kind {
        name: "azure",
        schemes: &["az://", "azure://", "abfss://"],
        options: &[
            "account_name",
            "account_key",
            "connection_string",
            "endpoint",
            "tenant_id",
            "client_id",
            "client_secret",
        ],
    },
    Kind { name: "http", schemes: &["http://", "https://"], options: &["bearer_token"] },
];

/// Options whose values may be seen.
const SHOWN: [&str; 7] =
    ["region", "endpoint", "url_style", "use_ssl", "account_name", "tenant_id", "service_account_path"];
const VALUE_BYTES_MAX: usize = 32 << 10;
const SCOPES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 128;

struct Kind {
    name: &'static str,
    schemes: &'static [&'static str],
    options: &'static [&'static str],
}

/// Not `Debug`: what is printed by accident is seen.
pub(super) struct Secret {
    /// The name under which it was made.
    pub name: String,
    /// It lies in a file and outlives the database's handle.
    pub persistent: bool,
    kind: &'static Kind,
    /// Keys are found by the store's own means: the environment, a machine's role.
    pub chain: bool,
    scope: Vec<String>,
    values: BTreeMap<&'static str, String>,
}

/// What may be told of a secret.
pub struct ShownSecret {
    /// The name under which it was made.
    pub name: String,
    /// The type of store: `s3`, `gcs`, `azure` or `http`.
    pub kind: &'static str,
    /// `config`, or `credential_chain` where the store's own means find the keys.
    pub provider: &'static str,
    /// It lies in a file and outlives the database's handle.
    pub persistent: bool,
    /// The addresses that it is for, as prefixes.
    pub scope: Vec<String>,
    /// `region=eu-north-1;secret=redacted`.
    pub options: String,
}

/// What is done about a secret of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The statement fails.
    Error,
    /// The new secret takes its place.
    Replace,
    /// The old secret stays, without an error.
    Keep,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

impl Secret {
    /// From options in lower case; `name` is empty where none was given. No message tells a value, except those that
    /// cannot be secret.
    pub(super) fn new(name: &str, persistent: bool, options: &[(String, String)]) -> Result<Secret> {
        let of = |wanted: &str| options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let Some(kind) = of("type") else {
            return Err(invalid("a secret needs a TYPE").with_hint("it is s3, gcs, azure or http"));
        };
        let Some(kind) = KINDS.iter().find(|known| kind.eq_ignore_ascii_case(known.name)) else {
            return Err(Error::unsupported(format!("secrets of type \"{kind}\" are not supported"))
                .with_hint("the types are s3, gcs, azure and http"));
        };
        let name = if name.is_empty() { format!("default_{}", kind.name) } else { name.to_owned() };
        if name.len() > NAME_BYTES_MAX {
            return Err(invalid(format!("a secret's name has at most {NAME_BYTES_MAX} bytes")));
        }
        let chain = match of("provider").map(|p| p.to_ascii_lowercase()).as_deref() {
            None | Some("config") => false,
            Some("credential_chain") if kind.name != "http" => true,
            Some(other) => {
                return Err(Error::unsupported(format!(
                    "secret \"{name}\": provider \"{other}\" is not supported for type {}",
                    kind.name
                ))
                .with_hint("PROVIDER is config or credential_chain"));
            }
        };
        let (mut scope, mut values) = (Vec::new(), BTreeMap::new());
        for (option, value) in options {
            if value.len() > VALUE_BYTES_MAX {
                return Err(invalid(format!("secret \"{name}\": the value of {option} is too long")));
            }
            match option.as_str() {
                "type" | "provider" => {
                    if options.iter().filter(|(other, _)| other == option).count() > 1 {
                        return Err(twice(&name, option));
                    }
                }
                "scope" => scope.push(kind.scope(&name, value)?),
                _ => {
                    let Some(known) = kind.options.iter().find(|known| *known == option) else {
                        return Err(unknown_option(&name, kind, option));
                    };
                    if values.insert(*known, value.clone()).is_some() {
                        return Err(twice(&name, option));
                    }
                }
            }
        }
        if scope.len() > SCOPES_MAX {
            return Err(invalid(format!("secret \"{name}\" has more than {SCOPES_MAX} scopes")));
        }
        check(&name, &values)?;
        if scope.is_empty() {
            scope = kind.schemes.iter().map(|scheme| normal(scheme)).collect();
            scope.sort();
            scope.dedup();
        }
        Ok(Secret { name, persistent, kind, chain, scope, values })
    }

    /// The options as `new` takes them.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        let provider = if self.chain { "credential_chain" } else { "config" };
        let fixed = [("type", self.kind.name), ("provider", provider)];
        let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let scope = self.scope.iter().map(|scope| ("scope".to_owned(), scope.clone()));
        let values = self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        fixed.chain(scope).chain(values).collect()
    }

    /// The value of an option; `None` when it is missing or empty.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The server, with its protocol.
    pub(super) fn endpoint(&self) -> Option<String> {
        let server = self.option("endpoint")?;
        let plain = self.option("use_ssl").is_some_and(|on| matches!(on, "false" | "off" | "0"));
        Some(match (server.contains("://"), plain) {
            (true, _) => server.to_owned(),
            (false, true) => format!("http://{server}"),
            (false, false) => format!("https://{server}"),
        })
    }

    /// Bytes of the longest scope that the address lies in.
    fn covers(&self, address: &str) -> Option<usize> {
        let within = |scope: &&String| {
            // `s3://bucket` is for `s3://bucket/x`, and not for another account's bucket `bucket2`.
            address.strip_prefix(scope.as_str()).is_some_and(|rest| {
                rest.is_empty() || scope.ends_with('/') || rest.starts_with(['/', '?', '#'])
            })
        };
        self.scope.iter().filter(within).map(String::len).max()
    }

    fn shown(&self) -> ShownSecret {
        let option = |(name, value): (&&str, &String)| {
            format!("{name}={}", if SHOWN.contains(name) { value.as_str() } else { "redacted" })
        };
        ShownSecret {
            name: self.name.clone(),
            kind: self.kind.name,
            provider: if self.chain { "credential_chain" } else { "config" },
            persistent: self.persistent,
            scope: self.scope.clone(),
            options: self.values.iter().map(option).collect::<Vec<_>>().join(";"),
        }
    }
}

impl Kind {
    fn scope(&self, name: &str, scope: &str) -> Result<String> {
        if self.schemes.iter().any(|scheme| scope.starts_with(scheme)) {
            return Ok(normal(scope));
        }
        let message = format!("secret \"{name}\": \"{scope}\" is no address of type {}", self.name);
        Err(invalid(message).with_hint(format!("a scope begins with {}", self.schemes.join(" or "))))
    }
}

/// The one spelling of protocols that have two.
fn normal(address: &str) -> String {
    for (other, scheme) in [("s3a://", "s3://"), ("gcs://", "gs://"), ("azure://", "az://")] {
        if let Some(rest) = address.strip_prefix(other) {
            return format!("{scheme}{rest}");
        }
    }
    address.to_owned()
}

fn twice(name: &str, option: &str) -> Error {
    invalid(format!("secret \"{name}\": option {option} is given twice"))
}

fn unknown_option(name: &str, kind: &Kind, option: &str) -> Error {
    let message = format!("secret \"{name}\": there is no option \"{option}\" for type {}", kind.name);
    let known = kind.options.iter().copied().chain(["type", "provider", "scope"]);
    match types::names::nearest(option, known) {
        Some(near) => invalid(message).with_hint(format!("did you mean {near}?")),
        None => {
            invalid(message).with_hint(format!("options are {}, scope and provider", kind.options.join(", ")))
        }
    }
}

fn check(name: &str, values: &BTreeMap<&'static str, String>) -> Result<()> {
    let has = |option: &str| values.get(option).is_some_and(|value| !value.is_empty());
    let fault = |option: &str, expected: &str| {
        Err(invalid(format!("secret \"{name}\": invalid value of {option}"))
            .with_hint(format!("{option} is {expected}")))
    };
    if has("key_id") != has("secret") {
        let [there, missing] = if has("key_id") { ["KEY_ID", "SECRET"] } else { ["SECRET", "KEY_ID"] };
        return Err(invalid(format!("secret \"{name}\" has {there} without {missing}")));
    }
    match values.get("url_style").map(String::as_str) {
        None | Some("" | "path" | "vhost") => {}
        Some(_) => return fault("url_style", "path or vhost"),
    }
    match values.get("use_ssl").map(String::as_str) {
        None | Some("" | "true" | "false" | "on" | "off" | "1" | "0") => {}
        Some(_) => return fault("use_ssl", "true or false"),
    }
    // It becomes a line of a request.
    let token = values.get("bearer_token").map_or("", String::as_str);
    if !token.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
        return fault("bearer_token", "a text of ASCII characters without blanks");
    }
    Ok(())
}

/// The secrets of a database.
#[derive(Default)]
pub(super) struct Known {
    secrets: BTreeMap<String, Arc<Secret>>,
    /// The folder whose persistent secrets are among them.
    read_from: Option<PathBuf>,
    /// Rises with every change.
    changes: u64,
}

impl Stores {
    /// What is known, with the persistent ones of the folder of now.
    fn with_known<T>(&self, work: impl FnOnce(&mut Known) -> Result<T>) -> Result<T> {
        let folder = secret_files::folder(self.get("secret_directory"));
        let known = &mut *self.known();
        if known.read_from != folder {
            let read = folder.as_deref().map(secret_files::read_all).transpose()?.unwrap_or_default();
            known.secrets.retain(|_, secret| !secret.persistent);
            for secret in read {
                // A temporary one of that name was made since; it is the nearer one.
                known.secrets.entry(secret.name.clone()).or_insert_with(|| Arc::new(secret));
            }
            known.read_from = folder;
            known.changes += 1;
        }
        work(known)
    }

    /// The longest scope wins; among equal ones what is temporary, and then the name.
    pub(super) fn chosen(&self, address: &str) -> Result<Option<Arc<Secret>>> {
        let address = normal(address);
        self.with_known(|known| {
            let scopes = known.secrets.values().filter_map(|secret| Some((secret.covers(&address)?, secret)));
            let best = scopes.min_by_key(|(length, secret)| (std::cmp::Reverse(*length), secret.persistent));
            Ok(best.map(|(_, secret)| secret.clone()))
        })
    }

    /// A number that differs after every change.
    pub(super) fn changes(&self) -> u64 {
        self.known().changes
    }
}

/// Makes a secret. Returns its name, which it is given by its type where there is none.
pub fn create_secret(
    environment: &Environment,
    conflict: Conflict,
    persistent: bool,
    name: &str,
    options: &[(String, String)],
) -> Result<String> {
    environment.capability().secret(&format!("the secret \"{name}\""))?;
    let secret = Secret::new(name, persistent, options)?;
    environment.stores().with_known(|known| {
        if let Some(there) = known.secrets.get(&secret.name) {
            let message = format!("secret \"{}\" already exists", secret.name);
            let error = Error::new(SqlState::DuplicateObject, message);
            match conflict {
                Conflict::Keep => return Ok(there.name.clone()),
                Conflict::Error => return Err(error.with_hint("use CREATE OR REPLACE SECRET")),
                // What lasts is not given up for what does not.
                Conflict::Replace if there.persistent && !persistent => {
                    return Err(
                        error.with_hint("it is a persistent one; CREATE OR REPLACE PERSISTENT SECRET")
                    );
                }
                Conflict::Replace => {}
            }
        }
        if persistent {
            secret_files::write(known.read_from.as_deref(), &secret)?;
        }
        known.changes += 1;
        let name = secret.name.clone();
        known.secrets.insert(name.clone(), Arc::new(secret));
        Ok(name)
    })
}

/// Forgets a secret, and its file; `persistent` says which sort is meant, if it matters.
pub fn drop_secret(
    environment: &Environment,
    name: &str,
    if_exists: bool,
    persistent: Option<bool>,
) -> Result<()> {
    environment.capability().secret(&format!("the secret \"{name}\""))?;
    environment.stores().with_known(|known| {
        let there =
            known.secrets.get(name).filter(|s| persistent.is_none_or(|wanted| s.persistent == wanted));
        let Some(secret) = there else {
            if if_exists {
                return Ok(());
            }
            let error = Error::new(SqlState::UndefinedObject, format!("secret \"{name}\" does not exist"));
            return Err(match types::names::nearest(name, known.secrets.keys().map(String::as_str)) {
                Some(near) if near != name => error.with_hint(format!("did you mean \"{near}\"?")),
                _ => error.with_hint("SELECT name FROM quickstep_secrets lists them"),
            });
        };
        if secret.persistent
            && let Some(folder) = &known.read_from
        {
            secret_files::remove(folder, name)?;
        }
        known.secrets.remove(name);
        known.changes += 1;
        Ok(())
    })
}

/// All secrets by name, without what is secret in them.
pub fn secrets(environment: &Environment) -> Result<Vec<ShownSecret>> {
    environment.capability().secret("the list of secrets")?;
    let all = |known: &mut Known| Ok(known.secrets.values().map(|secret| secret.shown()).collect());
    environment.stores().with_known(all)
}

/// The secret that an address is reached with.
pub fn which_secret(environment: &Environment, address: &str) -> Result<Option<ShownSecret>> {
    environment.capability().secret(&format!("the secret of \"{address}\""))?;
    Ok(environment.stores().chosen(address)?.map(|secret| secret.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn secret(pairs: &[(&str, &str)]) -> Result<Secret> {
        Secret::new("depot", false, &options(pairs))
    }

    #[test]
    fn scopes_end_where_names_do() {
        let secret =
            secret(&[("type", "S3"), ("scope", "s3://bucket/dir"), ("scope", "s3a://other")]).unwrap();
        for (address, length) in [
            ("s3://bucket/dir", Some(15)),
            ("s3://bucket/dir/x.parquet", Some(15)),
            ("s3://bucket/dir2/x.parquet", None),
            ("s3://bucket/x", None),
            ("s3://other/x", Some(10)),
            ("s3://other2/x", None),
            ("gs://bucket/dir", None),
        ] {
            assert_eq!(secret.covers(address), length, "{address}");
        }
        let all = self::secret(&[("type", "gcs")]).unwrap();
        assert_eq!(all.covers(&normal("gcs://x/y")), Some(5));
    }

    #[test]
    fn mistakes_are_named_and_values_are_not() {
        for pairs in [
            &[("key_id", "hunter2")] as &[_],
            &[("type", "s3"), ("keyid", "hunter2")],
            &[("type", "s3"), ("key_id", "hunter2")],
            &[("type", "s3"), ("secret", "hunter2")],
            &[("type", "s3"), ("key_id", "a"), ("secret", "hunter2"), ("secret", "hunter2")],
            &[("type", "s3"), ("url_style", "hunter2")],
            &[("type", "s3"), ("use_ssl", "hunter2")],
            &[("type", "s3"), ("provider", "config"), ("provider", "config")],
            &[("type", "http"), ("bearer_token", "hunter2\r\nHost: x")],
            &[("type", "http"), ("provider", "credential_chain")],
            &[("type", "s3"), ("scope", "gs://bucket")],
            &[("type", "huggingface"), ("token", "hunter2")],
        ] {
            let error = secret(pairs).map(drop).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        let error = secret(&[("type", "s3"), ("keyid", "x")]).map(drop).unwrap_err();
        assert_eq!(error.hint(), Some("did you mean key_id?"));
    }

    #[test]
    fn a_secret_is_shown_without_its_values() {
        let made = secret(&[
            ("type", "s3"),
            ("key_id", "hunter1"),
            ("secret", "hunter2"),
            ("endpoint", "localhost:9000"),
            ("use_ssl", "false"),
        ]);
        let made = made.unwrap();
        assert_eq!(made.endpoint().as_deref(), Some("http://localhost:9000"));
        assert_eq!(
            made.shown().options,
            "endpoint=localhost:9000;key_id=redacted;secret=redacted;use_ssl=false"
        );
        let again = Secret::new("depot", false, &made.options()).unwrap();
        assert_eq!(again.options(), made.options());
    }
}
