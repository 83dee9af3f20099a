//! The page of `quickstep serve` as bytes. Its sources lie in `web/`, what `make page` builds of them in `dist/`, which
//! is committed, so that a build of the engine needs no Node; a test tells when it is not of these sources.
//!
//! This crate knows no server: who answers requests asks [`asset`] for a path and sends what it gives.
#![forbid(unsafe_code)]

/// What the page may load and call: files and addresses of its own origin. Neither scripts nor styles stand in its HTML,
/// and the editor puts its styles into constructed style sheets.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Debug)]
pub struct Asset {
    /// Its path in the address, with a slash at the beginning.
    pub path: &'static str,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The value of `ETag`, quotes included: a hash of the content.
    pub etag: &'static str,
    /// The content as it is.
    pub plain: &'static [u8],
    /// The content in brotli's form.
    pub brotli: &'static [u8],
    /// The content in gzip's form.
    pub gzip: &'static [u8],
}

impl Asset {
    /// Whether the path has a hash of the content, so that it may be kept for ever.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with("/assets/")
    }

    /// The smallest form that a client takes which sent this `Accept-Encoding`, and the `Content-Encoding` to say so.
    /// A coding with `q=0` is one that the client refuses.
    pub fn form(&self, accept_encoding: &str) -> (&'static [u8], Option<&'static str>) {
        let takes = |coding: &str| {
            accept_encoding.split(',').any(|one| {
                let mut parts = one.split(';').map(str::trim);
                let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
                let refused = parts.any(|part| {
                    part.strip_prefix("q=").is_some_and(|q| q.parse::<f64>().is_ok_and(|q| q <= 0.0))
                });
                named && !refused
            })
        };
        if takes("br") {
            (self.brotli, Some("br"))
        } else if takes("gzip") {
            (self.gzip, Some("gzip"))
        } else {
            (self.plain, None)
        }
    }
}

macro_rules! asset {
    ($path:literal, $content_type:literal, $etag:literal) => {
        Asset {
            path: $path,
            content_type: $content_type,
            etag: concat!("\"", $etag, "\""),
            plain: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/dist", $path)),
            brotli: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/dist", $path, ".br")),
            gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/dist", $path, ".gz")),
        }
    };
}

/// Every file of the page, by path.
pub const ASSETS: &[Asset] = &include!(concat!(env!("CARGO_MANIFEST_DIR"), "/dist/assets.in"));

/// The file at a path of an address; `/` is the page itself.
pub fn asset(path: &str) -> Option<&'static Asset> {
    let path = if path == "/" { "/index.html" } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests;
