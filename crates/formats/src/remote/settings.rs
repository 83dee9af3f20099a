//! How object stores are reached: settings of the database, and where they are not set the environment's variables that
//! the stores' own tools read.
//!
//! A store is made anew when the `fingerprint` of what it was made of changes. Callers are `store`, and SET of the
//! database's settings.

use std::sync::Arc;

use files::Capability;
use object_store::aws::AmazonS3ConfigKey as S3;
use types::{Error, Result, SqlState};

use super::Stores;
use super::secrets::Secret;
use crate::Environment;

/// The address of an S3-compatible server: it goes before the environment's.
pub(super) const ENDPOINT: S3 = S3::S3Endpoint;

/// Every setting and what it means.
pub const SETTINGS: [(&str, &str); 13] = [
    ("s3_region", "the region of S3 buckets; without it AWS_REGION"),
    (
        "s3_endpoint",
        "the address of an S3-compatible server, such as 'http://localhost:9000'; without it AWS_ENDPOINT_URL",
    ),
    ("s3_access_key_id", "the key's name; without it AWS_ACCESS_KEY_ID"),
    ("s3_secret_access_key", "the key; without it AWS_SECRET_ACCESS_KEY. Never shown"),
    ("s3_session_token", "the token of temporary keys; without it AWS_SESSION_TOKEN. Never shown"),
    ("s3_url_style", "path or vhost: where a bucket's name stands in addresses; path if s3_endpoint is set"),
    ("gcs_service_account_path", "the file with a service account's key; without it GOOGLE_SERVICE_ACCOUNT"),
    ("gcs_endpoint", "the address of a server that is compatible with Google Cloud Storage"),
    ("azure_account_name", "the storage account; without it AZURE_STORAGE_ACCOUNT_NAME"),
    ("azure_account_key", "its key; without it AZURE_STORAGE_ACCOUNT_KEY. Never shown"),
    ("azure_endpoint", "the address of a server that is compatible with Azure Blob Storage"),
    ("http_timeout", "seconds after which a request is given up, 30 if not set"),
    (
        "secret_directory",
        "folder of persistent secrets; without it quickstep/secrets in the user's folder of configuration",
    ),
];

impl Stores {
    /// Sets one of `SETTINGS`, for all sessions; nothing at all unsets it.
    pub fn set(&self, capability: &Capability, name: &str, value: &str) -> Result<()> {
        capability.secret(&format!("the setting \"{name}\" of stores"))?;
        let Some((name, _)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
            return Err(Error::internal(format!("there is no setting {name}")));
        };
        let invalid = |hint: &str| {
            let message = format!("invalid value for setting \"{name}\": \"{value}\"");
            Err(Error::new(SqlState::InvalidParameterValue, message).with_hint(hint))
        };
        match *name {
            _ if value.is_empty() => {}
            "s3_url_style" if !matches!(value, "path" | "vhost") => return invalid("expected path or vhost"),
            "http_timeout" if !value.parse().is_ok_and(|n: u64| (1..=3600).contains(&n)) => {
                return invalid("expected a number of seconds from 1 to 3600");
            }
            name if name.ends_with("_endpoint") && !value.contains("://") => {
                return invalid("expected an address with its protocol, such as http://localhost:9000");
            }
            _ => {}
        }
        let mut values = self.settings();
        match value.is_empty() {
            true => values.remove(name),
            false => values.insert(name, value.to_owned()),
        };
        Ok(())
    }

    /// A setting as it may be shown; `None` for names that are none.
    pub fn setting(&self, name: &str) -> Option<String> {
        let (name, meaning) = SETTINGS.iter().find(|(known, _)| *known == name)?;
        let value = self.get(name).unwrap_or_default();
        let secret = meaning.ends_with("Never shown") && !value.is_empty();
        Some(if secret { "***".to_owned() } else { value })
    }

    /// The value of a setting, also of a secret one; `None` when it is not set.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.settings().get(name).cloned()
    }

    /// Everything that is set, to tell stores apart that were made under other settings.
    pub(super) fn fingerprint(&self) -> String {
        let values = format!("{:?}", self.settings());
        format!("{values} {}", self.changes())
    }
}

/// How an address is reached: as its secret says, or else as the settings and the environment do.
pub(super) struct Means<'s> {
    /// The secret whose scope the address lies in.
    pub secret: Option<Arc<Secret>>,
    stores: &'s Stores,
    /// Whether keys may be used, of settings and of the environment.
    keys: bool,
}

/// Settings that hold no keys, and need no leave.
const WITHOUT_KEYS: [&str; 6] =
    ["s3_region", "s3_endpoint", "s3_url_style", "gcs_endpoint", "azure_account_name", "azure_endpoint"];

impl<'s> Means<'s> {
    /// How an address is reached by who may do no more than this capability says.
    pub(super) fn of(environment: &'s Environment, url: &str) -> Result<Means<'s>> {
        let secret = environment.stores().chosen(url)?;
        if let Some(secret) = &secret {
            environment.capability().secret(&format!("the secret \"{}\" of \"{url}\"", secret.name))?;
        }
        let keys = environment.capability().has_secrets();
        Ok(Means { secret, stores: environment.stores(), keys })
    }

    /// What tells clients apart that are made for the same server.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.keys, self.secret.as_ref().map_or("", |secret| secret.name.as_str()))
    }

    /// What is said about one thing: the secret's option, or the setting.
    pub(super) fn get(&self, option: &str, setting: &str) -> Option<String> {
        match &self.secret {
            Some(secret) if option == "endpoint" => secret.endpoint(),
            Some(secret) => secret.option(option).map(str::to_owned),
            None if self.keys || WITHOUT_KEYS.contains(&setting) => self.stores.get(setting),
            None => None,
        }
    }

    /// The file with the key of a service account.
    pub(super) fn service_account_path(&self) -> Option<String> {
        self.get("service_account_path", "gcs_service_account_path")
    }

    /// Whether the environment's variables count.
    pub(super) fn environment(&self) -> bool {
        self.secret.as_ref().map_or(self.keys, |secret| secret.chain)
    }

    /// Whether there are keys for certain, wherever they are found.
    pub(super) fn chain(&self) -> bool {
        self.secret.as_ref().is_some_and(|secret| secret.chain)
    }

    /// The options of the S3 client that the secret or the settings give.
    pub(super) fn s3_keys(&self) -> impl Iterator<Item = (S3, String)> {
        let keys = [
            ("region", "s3_region", S3::Region),
            ("endpoint", "s3_endpoint", ENDPOINT),
            ("key_id", "s3_access_key_id", S3::AccessKeyId),
            ("secret", "s3_secret_access_key", S3::SecretAccessKey),
            ("session_token", "s3_session_token", S3::Token),
        ];
        keys.into_iter().filter_map(|(option, setting, key)| Some((key, self.get(option, setting)?)))
    }
}
