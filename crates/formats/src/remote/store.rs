//! Stores by address, kept for as long as the settings stay; listing what lies in them.
//!
//! `locate` gives the store of an address and makes it on first use. Stores are the database's, one for each bucket
//! (or server) and secret; a change of a setting or a secret drops all of them, so that no store keeps an old key.
//! `list` expands patterns and gives at most `LISTED_MAX` objects in order; web servers do not list. Called by
//! `file`, `upload`, `database` and the expansion of globs.

use std::collections::HashMap;
use std::env;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    ClientOptions, HeaderMap, HeaderValue, ObjectMeta, ObjectStore, RetryConfig, StaticCredentialProvider,
};
use types::{Error, Result, SqlState};

use super::Stores;
use super::address::{Address, is_http};
use super::fault::failed;
use super::hdfs;
use super::settings::Means;
use super::wait::{runtime, wait};
use crate::Environment;

/// Objects of one pattern, at most.
const LISTED_MAX: usize = 1_000_000;
/// A request is tried again so often when the server is busy or the connection breaks.
const RETRIES: usize = 4;

/// A store and the place of an object in it.
#[derive(Clone)]
pub(super) struct Located {
    /// The client that makes the requests.
    pub store: Arc<dyn ObjectStore>,
    /// What stands before the object's place in its address.
    pub root: String,
    /// The object's name in the store.
    pub place: String,
}

impl Located {
    /// The object is on a web server, which only serves files.
    pub(super) fn is_http(&self) -> bool {
        is_http(&self.root)
    }
    /// The object is in a Hadoop cluster.
    pub(super) fn is_hdfs(&self) -> bool {
        self.root.starts_with("hdfs://")
    }
}

/// The store and place of an address. The store is made when it is not known under the present settings and secret.
///
/// An address that may not be opened is an error, and so is a secret or a file of keys that may not be used for it.
pub(super) fn locate(environment: &Environment, url: &str) -> Result<Located> {
    environment.capability().address(url)?;
    let address = Address::parse(url)?;
    let stores = environment.stores();
    let means = Means::of(environment, url)?;
    if let ("gs" | "gcs", Some(path)) = (address.scheme, means.service_account_path()) {
        environment.capability().file(path)?;
    }
    let seconds = stores.timeout();
    let now = stores.fingerprint();
    let mut made = stores.made();
    if made.under != now {
        *made = super::stores::Made { under: now, clients: HashMap::new() };
    }
    // A bucket has as many stores as there are secrets for parts of it.
    let name = format!("{}\n{}", address.store(), means.name());
    let store = match made.clients.get(&name) {
        Some(store) => store.clone(),
        None => {
            let store = match address.scheme {
                "hdfs" => hdfs::cluster(&address.root(), Duration::from_secs(seconds), runtime()?.handle()),
                _ => build(&address, &means, seconds),
            };
            let store = store.map_err(|e| failed("open", url, &e))?;
            made.clients.insert(name, store.clone());
            store
        }
    };
    Ok(Located { store, root: address.root(), place: address.place.to_owned() })
}

fn has_variable(names: &[&str]) -> bool {
    names.iter().any(|name| env::var(name).is_ok_and(|value| !value.is_empty()))
}

impl Stores {
    /// Seconds that a request may take.
    fn timeout(&self) -> u64 {
        self.get("http_timeout").and_then(|s| s.parse().ok()).unwrap_or(30)
    }
}

fn build(
    address: &Address<'_>,
    means: &Means<'_>,
    seconds: u64,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let client = ClientOptions::new()
        .with_allow_http(true)
        .with_timeout(Duration::from_secs(seconds))
        .with_connect_timeout(Duration::from_secs(seconds.min(10)))
        .with_user_agent(HeaderValue::from_static("quickstep"));
    let retry = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: Duration::from_secs(seconds),
        ..Default::default()
    };
    match address.scheme {
        "s3" | "s3a" => s3(address.host, means, client, retry),
        "gs" | "gcs" => google(address.host, means, client, retry),
        "az" | "azure" | "abfss" => azure(address.host, means, client, retry),
        _ => {
            let client = match means.secret.as_ref().and_then(|secret| secret.option("bearer_token")) {
                Some(token) => client.with_default_headers(bearer(token)),
                None => client,
            };
            // A query goes with every request: it may carry a signature.
            let server = HttpBuilder::new().with_url(format!("{}/{}", address.root(), address.query));
            Ok(Arc::new(server.with_client_options(client).with_retry(retry).build()?))
        }
    }
}

/// The authorization header; not to be printed. `Secret::new` has checked that the token is a valid header value.
fn bearer(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}")) {
        value.set_sensitive(true);
        headers.insert("authorization", value);
    }
    headers
}

fn s3(
    bucket: &str,
    means: &Means<'_>,
    client: ClientOptions,
    retry: RetryConfig,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let has_variable = |names: &[&str]| means.environment() && has_variable(names);
    let builder = if means.environment() { AmazonS3Builder::from_env() } else { AmazonS3Builder::new() };
    let mut builder = builder.with_bucket_name(bucket);
    for (key, value) in means.s3_keys() {
        builder = builder.with_config(key, value);
    }
    let endpoint = means.get("endpoint", "s3_endpoint");
    let other =
        endpoint.is_some() || has_variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]);
    let in_path = match means.get("url_style", "s3_url_style").as_deref() {
        Some(style) => style == "path",
        // Compatible servers seldom have a name for each bucket.
        None => other && !has_variable(&["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"]),
    };
    if let Some((protocol, server)) = endpoint.as_deref().and_then(|e| e.split_once("://"))
        && !in_path
    {
        builder = builder.with_config(super::settings::ENDPOINT, format!("{protocol}://{bucket}.{server}"));
    }
    // Public buckets are read without keys.
    let signed = means.chain()
        || means.get("key_id", "s3_access_key_id").is_some()
        || has_variable(&[
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_METADATA_ENDPOINT",
        ]);
    let builder = builder.with_virtual_hosted_style_request(!in_path).with_skip_signature(!signed);
    Ok(Arc::new(builder.with_client_options(client).with_retry(retry).build()?))
}

fn google(
    bucket: &str,
    means: &Means<'_>,
    client: ClientOptions,
    retry: RetryConfig,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    if let Some(secret) = means.secret.as_ref().filter(|secret| secret.option("key_id").is_some()) {
        // Keys of this form are for the interface that Google shares with S3.
        let endpoint = secret.endpoint().unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket).with_region("auto");
        for (key, value) in means.s3_keys() {
            builder = builder.with_config(key, value);
        }
        let builder = builder.with_endpoint(endpoint).with_virtual_hosted_style_request(false);
        return Ok(Arc::new(builder.with_client_options(client).with_retry(retry).build()?));
    }
    let has_variable = |names: &[&str]| means.environment() && has_variable(names);
    let builder = match means.environment() {
        true => GoogleCloudStorageBuilder::from_env(),
        false => GoogleCloudStorageBuilder::new(),
    };
    let mut builder = builder.with_bucket_name(bucket);
    let path = means.service_account_path();
    let key = means.secret.as_ref().and_then(|secret| secret.option("service_account_key"));
    let signed = means.chain()
        || key.is_some()
        || path.is_some()
        || has_variable(&[
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ]);
    if let Some(path) = path {
        builder = builder.with_service_account_path(path);
    }
    if let Some(key) = key {
        builder = builder.with_service_account_key(key);
    }
    if !signed {
        // Else writes would ask a server that only Google's own machines have.
        let none = GcpCredential { bearer: String::new() };
        builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(none)));
    }
    if let Some(endpoint) = means.get("endpoint", "gcs_endpoint") {
        builder = builder.with_base_url(&endpoint);
    }
    Ok(Arc::new(builder.with_skip_signature(!signed).with_client_options(client).with_retry(retry).build()?))
}

/// `container`, or `container@account.dfs.core.windows.net` as Azure's own tools write it.
fn azure(
    host: &str,
    means: &Means<'_>,
    client: ClientOptions,
    retry: RetryConfig,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let (container, server) = host.split_once('@').unwrap_or((host, ""));
    let has_variable = |names: &[&str]| means.environment() && has_variable(names);
    let builder = match means.environment() {
        true => MicrosoftAzureBuilder::from_env(),
        false => MicrosoftAzureBuilder::new(),
    };
    let mut builder = builder.with_container_name(container);
    // `AccountName=...;AccountKey=...;BlobEndpoint=...`, as Azure's portal hands it out.
    let connection =
        means.secret.as_ref().and_then(|secret| secret.option("connection_string")).unwrap_or_default();
    let part = |wanted: &str| {
        let mut parts = connection.split(';').filter_map(|part| part.split_once('='));
        parts
            .find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim().to_owned())
    };
    let account = server.split('.').next().filter(|account| !account.is_empty()).map(str::to_owned);
    if let Some(account) =
        account.or_else(|| means.get("account_name", "azure_account_name")).or_else(|| part("AccountName"))
    {
        builder = builder.with_account(account);
    }
    let key = means.get("account_key", "azure_account_key").or_else(|| part("AccountKey"));
    let said = |option: &str| means.secret.as_ref().and_then(|secret| secret.option(option));
    let client_keys = (said("client_id"), said("client_secret"), said("tenant_id"));
    let signed = key.is_some()
        || means.chain()
        || client_keys.0.is_some()
        || has_variable(&[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_CLIENT_ID",
            "AZURE_CLIENT_ID",
            "AZURE_FEDERATED_TOKEN_FILE",
        ]);
    if let Some(key) = key {
        builder = builder.with_access_key(key);
    }
    if let (Some(id), Some(secret), Some(tenant)) = client_keys {
        builder = builder.with_client_secret_authorization(id, secret, tenant);
    }
    if let Some(endpoint) = means.get("endpoint", "azure_endpoint").or_else(|| part("BlobEndpoint")) {
        builder = builder.with_endpoint(endpoint);
    }
    Ok(Arc::new(builder.with_skip_signature(!signed).with_client_options(client).with_retry(retry).build()?))
}

/// The store's path of a place; an error when the place cannot name an object.
pub(super) fn object(url: &str, place: &str) -> Result<Path> {
    // Places in web addresses are written with their escapes, in stores' names without.
    let parsed = if is_http(url) { Path::from_url_path(place) } else { Path::parse(place) };
    parsed.map_err(|e| Error::new(SqlState::InvalidParameterValue, format!("invalid address \"{url}\": {e}")))
}

/// What is wrong with the bucket itself, when an object is not found in it.
pub(super) fn bucket_fault(url: &str, located: &Located) -> Result<Option<Error>> {
    if located.is_http() || located.is_hdfs() {
        return Ok(None);
    }
    let place = object(url, &located.place)?;
    let first = async { located.store.list(Some(&place)).try_next().await };
    let fault = wait(first)?.err().map(|e| failed("open", url, &e));
    Ok(fault.filter(|e| e.state() == SqlState::UndefinedFile))
}

/// The addresses of the objects that a pattern matches, in order. An address that ends in `/` stands for all below it.
pub fn list(environment: &Environment, pattern: &str) -> Result<Vec<String>> {
    environment.capability().address(pattern)?;
    let wild = pattern.find(['*', '?', '[']);
    if is_http(pattern) {
        return match super::name_of(pattern).contains('*') {
            true => Err(Error::unsupported(format!("\"{pattern}\": web servers do not list their files"))
                .with_hint("name each file: read_parquet(['https://...', 'https://...'])")),
            false => Ok(vec![pattern.to_owned()]),
        };
    }
    let Some(wild) = wild else {
        return match pattern.ends_with('/') {
            true => list(environment, &format!("{pattern}**/*")),
            false => Ok(vec![pattern.to_owned()]),
        };
    };
    let located = locate(environment, pattern)?;
    let glob = glob::Pattern::new(&located.place).map_err(|e| {
        Error::new(SqlState::InvalidParameterValue, format!("invalid file pattern \"{pattern}\": {e}"))
    })?;
    let fixed = pattern.get(located.root.len()..wild).unwrap_or_default();
    let folder = fixed.trim_start_matches('/').rsplit_once('/').map(|(folder, _)| folder);
    let prefix = folder.map(|folder| object(pattern, folder)).transpose()?;
    let listing = async {
        let mut found = Vec::new();
        let mut take = |object: &ObjectMeta| {
            let place = object.location.as_ref();
            let hidden = place.rsplit('/').next().is_some_and(|name| name.starts_with(['.', '_']));
            if object.size > 0 && !hidden && glob.matches_with(place, BY_PARTS) && found.len() < LISTED_MAX {
                found.push(format!("{}/{place}", located.root));
            }
        };
        if located.is_hdfs() {
            by_folders(&located, prefix, &mut take).await?;
            return Ok(found);
        }
        let mut objects = located.store.list(prefix.as_ref());
        while let Some(object) = objects.try_next().await? {
            take(&object);
        }
        Ok(found)
    };
    let mut found = wait(listing)?.map_err(|e| failed("list", pattern, &e))?;
    found.sort();
    Ok(found)
}

/// Names are matched part by part of a path.
const BY_PARTS: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Looks at the files of those folders that can have some which the pattern matches. Where each folder is a request of its
/// own, and may be closed to us, others are better left alone.
async fn by_folders(
    located: &Located,
    prefix: Option<Path>,
    take: &mut (dyn FnMut(&ObjectMeta) + Send),
) -> object_store::Result<()> {
    let parts: Vec<&str> = located.place.split('/').filter(|part| !part.is_empty()).collect();
    // Folders with how many parts of the pattern lead to them.
    let mut folders = vec![(prefix.as_ref().map_or(0, |prefix| prefix.parts().count()), prefix)];
    while let Some((depth, folder)) = folders.pop() {
        let listed = located.store.list_with_delimiter(folder.as_ref()).await?;
        listed.objects.iter().for_each(&mut *take);
        // Below `**` there may be any number of folders.
        let anywhere = parts.iter().take(depth + 1).any(|part| *part == "**");
        let part = parts.get(depth).and_then(|part| glob::Pattern::new(part).ok());
        folders.extend(listed.common_prefixes.into_iter().filter_map(|folder| {
            let name = folder.filename().unwrap_or_default();
            let leads =
                depth + 1 < parts.len() && part.as_ref().is_some_and(|p| p.matches_with(name, BY_PARTS));
            (anywhere || leads).then_some((depth + 1, Some(folder)))
        }));
    }
    Ok(())
}

/// The names and lengths of all objects below an address, in the order of their names.
pub(super) fn entries(environment: &Environment, url: &str) -> Result<Vec<(String, u64)>> {
    let located = locate(environment, url)?;
    let place = object(url, located.place.trim_end_matches('/'))?;
    let listing = async {
        let mut found = Vec::new();
        let mut objects = located.store.list(Some(&place));
        while let Some(object) = objects.try_next().await? {
            let name = object.location.as_ref().strip_prefix(place.as_ref()).unwrap_or_default();
            let name = name.trim_start_matches('/');
            if !name.is_empty() {
                found.push((name.to_owned(), object.size));
            }
        }
        Ok(found)
    };
    let mut found = wait(listing)?.map_err(|e| failed("list", url, &e))?;
    found.sort();
    Ok(found)
}

/// Whether there are objects below an address.
pub fn exists_below(environment: &Environment, url: &str) -> Result<bool> {
    let located = locate(environment, url)?;
    let place = object(url, located.place.trim_end_matches('/'))?;
    let first = async { located.store.list(Some(&place)).try_next().await };
    let found = wait(first)?.map_err(|e| failed("write", url, &e))?;
    Ok(found.is_some())
}
