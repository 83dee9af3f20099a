//! Addresses: which paths are no local ones, and their parts.

use types::{Error, Result, SqlState};

const SCHEMES: [&str; 10] =
    ["s3://", "s3a://", "gs://", "gcs://", "az://", "azure://", "abfss://", "hdfs://", "http://", "https://"];

/// Whether a path is an address in a store, a cluster or the web: it begins with a known scheme.
pub fn is_remote(path: &str) -> bool {
    SCHEMES.iter().any(|scheme| path.starts_with(scheme))
}

/// Whether an address is a web server's, which cannot be listed or written.
pub(super) fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// The part of a path that names the file: a web address may go on with a query.
pub fn name_of(path: &str) -> &str {
    match is_http(path) {
        true => path.split(['?', '#']).next().unwrap_or(path),
        false => path,
    }
}

/// `scheme://host/place?query`, the query only of web addresses: elsewhere a question mark is part of a name.
pub(super) struct Address<'a> {
    /// The protocol, without `://`.
    pub scheme: &'a str,
    /// A bucket, a container, a server, or a cluster's name service.
    pub host: &'a str,
    /// The path below the host, without its first slash.
    pub place: &'a str,
    /// With its question mark.
    pub query: &'a str,
}

impl<'a> Address<'a> {
    /// Splits an address; an error with a hint when it has no protocol or no host.
    pub(super) fn parse(url: &'a str) -> Result<Address<'a>> {
        let invalid = |what: &str, hint: &str| {
            let message = format!("invalid address \"{url}\": {what}");
            Err(Error::new(SqlState::InvalidParameterValue, message).with_hint(hint))
        };
        let Some((scheme, rest)) = url.split_once("://") else {
            return invalid("it has no protocol", "addresses look like s3://bucket/dir/file.parquet");
        };
        let (host, place) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            return invalid(
                "it names no bucket or server",
                "addresses look like s3://bucket/dir/file.parquet or https://server/file.csv",
            );
        }
        let end = if is_http(url) { place.find(['?', '#']) } else { None };
        let (place, query) = place.split_at(end.unwrap_or(place.len()));
        Ok(Address { scheme, host, place, query: query.split('#').next().unwrap_or_default() })
    }

    /// What stands before the place.
    pub(super) fn root(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }

    /// What a store is for.
    pub(super) fn store(&self) -> String {
        format!("{}{}", self.root(), self.query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_parts() {
        let parts =
            |url| Address::parse(url).map(|a| (a.root(), a.place.to_owned(), a.query.to_owned())).unwrap();
        let expected = |root: &str, place: &str, query: &str| (root.into(), place.into(), query.into());
        assert_eq!(parts("s3://b/a/c?.csv"), expected("s3://b", "a/c?.csv", ""));
        assert_eq!(parts("https://h:1/a.csv?x=1&y#z"), expected("https://h:1", "a.csv", "?x=1&y"));
        assert_eq!(parts("http://h"), expected("http://h", "", ""));
        assert!(Address::parse("s3:///a").is_err());
        assert_eq!(name_of("https://h/a.csv?x=1"), "https://h/a.csv");
        assert!(is_remote("gs://b/x") && is_remote("hdfs://nn:8020/x") && !is_remote("dir/s3://b"));
    }
}
