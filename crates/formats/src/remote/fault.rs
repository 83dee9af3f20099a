//! What a store says when it refuses, as our errors: the address, the cause, and what can be done.

use std::io;

use object_store::Error as E;
use types::{Error, Result, SqlState};

use super::address::Address;

/// The error and its causes in one line, none twice.
fn whole_text(error: &E) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}

fn keys(scheme: &str) -> &'static str {
    match scheme {
        "s3" | "s3a" => {
            "look at the keys: SET s3_access_key_id and s3_secret_access_key, or AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY in the environment; without keys only public buckets are read"
        }
        "gs" | "gcs" => {
            "look at the key: SET gcs_service_account_path, or GOOGLE_SERVICE_ACCOUNT in the environment; without a \
             key only public buckets are read"
        }
        "hdfs" => {
            "HADOOP_USER_NAME in the environment says who asks; a cluster with Kerberos wants a ticket (kinit), and its \
             configuration in HADOOP_CONF_DIR"
        }
        "http" | "https" => "the server asks for credentials; an address may carry them in its query",
        _ => {
            "look at the key: SET azure_account_name and azure_account_key, or AZURE_STORAGE_ACCOUNT_NAME and \
             AZURE_STORAGE_ACCOUNT_KEY in the environment"
        }
    }
}

/// `verb` is what was tried: open, read, write, list.
pub(super) fn failed(verb: &str, url: &str, error: &E) -> Error {
    let (scheme, host) = Address::parse(url).map_or(("", ""), |a| (a.scheme, a.host));
    let text = whole_text(error);
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let make = |state, what: &str| Error::new(state, format!("cannot {verb} \"{url}\": {what}"));
    if says(&["NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist"]) {
        return make(SqlState::UndefinedFile, &format!("there is no bucket \"{host}\""))
            .with_hint("look at its name, and at SHOW s3_region and s3_endpoint");
    }
    match error {
        E::NotFound { .. } => {
            let what = if scheme.starts_with("http") {
                "the server has no such file"
            } else if scheme == "hdfs" {
                "the cluster has no such file"
            } else {
                "there is no such object"
            };
            make(SqlState::UndefinedFile, what).with_hint("names are told apart by upper and lower case")
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            make(SqlState::IoError, "access is denied").with_hint(keys(scheme))
        }
        _ if says(&[
            "403 Forbidden",
            "401 Unauthorized",
            "AccessDenied",
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
        ]) =>
        {
            make(SqlState::IoError, "access is denied").with_hint(keys(scheme))
        }
        E::NotImplemented { .. } | E::NotSupported { .. } => {
            Error::unsupported(format!("cannot {verb} \"{url}\": the server does not support it: {text}"))
        }
        _ if scheme == "hdfs" && says(&["AccessControlException"]) => {
            make(SqlState::IoError, &format!("access is denied: {}", short(&text))).with_hint(keys(scheme))
        }
        _ if scheme == "hdfs" && says(&["StandbyException"]) => make(SqlState::IoError, &short(&text)).with_hint(
            "this name node is on standby: name the active one, or the name service of both, with its configuration \
             in HADOOP_CONF_DIR",
        ),
        _ if scheme == "hdfs" && says(&["ChecksumError", "hecksum", "DataNodes failed"]) => {
            make(SqlState::IoError, &short(&text))
                .with_hint("no replica of a block could be read: hdfs fsck on the file tells which")
        }
        _ if says(&["region", "AuthorizationHeaderMalformed", "PermanentRedirect"])
            && scheme.starts_with("s3") =>
        {
            make(SqlState::IoError, &short(&text))
                .with_hint("the bucket may be in another region: SET s3_region")
        }
        _ if says(&["timed out", "TimedOut"]) => make(SqlState::IoError, &short(&text))
            .with_hint("the server takes too long; SET http_timeout gives it more seconds"),
        _ if says(&["onnect", "dns", "refused", "certificate"]) => make(SqlState::IoError, &short(&text))
            .with_hint(match scheme {
                "s3" | "s3a" => "look at SHOW s3_endpoint and s3_region, and at the network",
                "gs" | "gcs" => "look at SHOW gcs_endpoint, and at the network",
                "hdfs" => "look at the name node's address and port, and at the network",
                "http" | "https" => "look at the address, and at the network",
                _ => "look at SHOW azure_endpoint and azure_account_name, and at the network",
            }),
        _ => make(SqlState::IoError, &short(&text)),
    }
}

fn short(text: &str) -> String {
    text.chars().take(500).collect()
}

/// Our error through an interface that knows only those of input and output; `from_io` takes it out again.
pub(super) fn to_io(error: Error) -> io::Error {
    io::Error::other(error)
}

/// The error that was put into this one.
pub(crate) fn from_io(error: &io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<Error>().cloned()
}

/// The answer to a request that was waited for, its failure as our error about `url`.
pub(super) fn flatten<T>(verb: &str, url: &str, outcome: Result<object_store::Result<T>>) -> Result<T> {
    outcome?.map_err(|e| failed(verb, url, &e))
}
