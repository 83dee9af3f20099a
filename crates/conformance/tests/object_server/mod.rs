//! A server on this machine that speaks what S3 does, as far as it is used: heads, ranges, listings in pages, single
//! and multipart uploads, signatures that are verified, and refusals. Google's stores are spoken to in the same way;
//! of Azure's there are heads, ranges, listings and single uploads.
//!
//! Names of buckets say how they behave: `public...` asks for no signature, `nowhere` is not there, `closed` is
//! forbidden, `slow` never answers, `stuck` answers only heads and the end of a file. Below `web/` lies a plain web
//! server's folder, below `plain/` that of one without ranges, below `guarded/` that of one that asks for a token.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use sha2::{Digest, Sha256};

pub const KEY: &str = "key";
pub const SECRET: &str = "secret/with+signs";
/// What `guarded/`, a web server's folder, wants to be told.
const BEARER: &str = "Bearer pass-word";

/// Objects of a page of a listing.
const LISTED: usize = 3;

/// What the server holds and has seen.
#[derive(Default)]
pub struct State {
    /// By bucket and place: `bucket/dir/name`.
    pub objects: BTreeMap<String, Vec<u8>>,
    pub uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// Lines of requests with their ranges.
    pub seen: Vec<String>,
    /// Answers 503 to so many requests.
    pub failing: u32,
}

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

struct Request {
    method: String,
    /// As sent, with its escapes.
    path: String,
    query: Vec<(String, String)>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: String,
    body: Vec<u8>,
    /// Said as the length, where that is not the body's.
    length: Option<usize>,
}

fn answer(status: u16, body: impl Into<Vec<u8>>) -> Answer {
    Answer { status, headers: String::new(), body: body.into(), length: None }
}

fn fault(status: u16, code: &str) -> Answer {
    answer(status, format!("<Error><Code>{code}</Code><Message>no</Message></Error>"))
}

/// Without its escapes.
fn decoded(text: &str) -> String {
    let (mut out, bytes) = (Vec::new(), text.as_bytes());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (out.push(byte), at += 3).1,
            None => (out.push(bytes[at]), at += 1).1,
        }
    }
    String::from_utf8(out).expect("a name in UTF-8")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut block = [0u8; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|b| b ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block.map(|b| b ^ 0x5c)).chain_update(inner).finalize().to_vec()
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Request> {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let pair =
            |p: &str| p.split_once('=').map_or((p.to_owned(), String::new()), |(k, v)| (k.into(), v.into()));
        let mut query: Vec<_> = query.split('&').filter(|p| !p.is_empty()).map(pair).collect();
        query.sort();
        Some(Request { method, path: path.to_owned(), query, headers, body })
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| decoded(value))
    }

    /// `None` if the request is signed with the key, version 4 of the signature; else why it is refused.
    fn refusal(&self) -> Option<&'static str> {
        let header = self.header("authorization");
        let part = |name: &str| header.split(&[' ', ','][..]).find_map(|p| p.trim().strip_prefix(name));
        let (Some(credential), Some(names), Some(signature)) =
            (part("Credential="), part("SignedHeaders="), part("Signature="))
        else {
            return Some("AccessDenied");
        };
        let (key, scope) = credential.split_once('/').unwrap_or((credential, ""));
        if !header.starts_with("AWS4-HMAC-SHA256 ") || key != KEY {
            return Some("InvalidAccessKeyId");
        }
        let query: Vec<String> = self.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let headers: String = names.split(';').map(|n| format!("{n}:{}\n", self.header(n))).collect();
        let (method, path, content) = (&self.method, &self.path, self.header("x-amz-content-sha256"));
        if content != "UNSIGNED-PAYLOAD" && content != hex(&Sha256::digest(&self.body)) {
            return Some("XAmzContentSHA256Mismatch");
        }
        let canonical = format!("{method}\n{path}\n{}\n{headers}\n{names}\n{content}", query.join("&"));
        let text = format!(
            "AWS4-HMAC-SHA256\n{}\n{scope}\n{}",
            self.header("x-amz-date"),
            hex(&Sha256::digest(canonical.as_bytes()))
        );
        let first = hmac(format!("AWS4{SECRET}").as_bytes(), scope.split('/').next().unwrap_or_default());
        let key = scope.split('/').skip(1).fold(first, |key, part| hmac(&key, part));
        (hex(&hmac(&key, &text)) != signature).then_some("SignatureDoesNotMatch")
    }
}

impl Server {
    /// A server and its address.
    pub fn start() -> (Server, String) {
        let server = Server::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let own = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || while own.serve(&stream).is_some() {});
            }
        });
        (server, address)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("the server's state")
    }

    pub fn put(&self, place: &str, bytes: &[u8]) {
        self.state().objects.insert(place.to_owned(), bytes.to_vec());
    }

    /// The requests since this was asked last.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().seen)
    }

    /// Answers one request; `None` when the connection has ended.
    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let request = Request::read(&mut BufReader::new(stream))?;
        let Answer { status, headers, body, length } = self.answer(&request);
        let length = length.filter(|_| request.method == "HEAD").unwrap_or(body.len());
        let head = format!(
            "HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\nETag: \"e{length}\"\r\n\
             Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        if request.method != "HEAD" {
            stream.write_all(&body).ok()?;
        }
        stream.flush().ok()
    }

    fn answer(&self, request: &Request) -> Answer {
        let range = request.header("range");
        let query: Vec<String> = request.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let line = format!("{} {}?{} {range}", request.method, request.path, query.join("&"));
        {
            let mut state = self.state();
            state.seen.push(line);
            if state.failing > 0 {
                state.failing -= 1;
                return fault(503, "SlowDown");
            }
        }
        let path = decoded(request.path.trim_start_matches('/'));
        let bucket = path.split('/').next().unwrap_or_default().to_owned();
        match bucket.as_str() {
            "slow" => std::thread::sleep(Duration::from_secs(60)),
            "nowhere" => return fault(404, "NoSuchBucket"),
            "closed" => return fault(403, "AccessDenied"),
            "guarded" if request.header("authorization") != BEARER => return fault(401, "Unauthorized"),
            _ => {}
        }
        let free =
            ["web", "plain", "account", "guarded"].contains(&bucket.as_str()) || bucket.starts_with("public");
        if let Some(refusal) = request.refusal().filter(|_| !free) {
            return fault(403, refusal);
        }
        if request.parameter("list-type").is_some() {
            return self.listing(&path, request);
        }
        if request.parameter("comp").as_deref() == Some("list") {
            return self.azure_listing(&path, request);
        }
        let mut state = self.state();
        match (request.method.as_str(), request.parameter("uploadId")) {
            ("POST", None) if request.parameter("uploads").is_some() => {
                let id = format!("u{}", state.uploads.len());
                state.uploads.insert(id.clone(), BTreeMap::new());
                let result = "InitiateMultipartUploadResult";
                answer(200, format!("<{result}><UploadId>{id}</UploadId></{result}>"))
            }
            ("PUT", Some(id)) => {
                let number = request.parameter("partNumber").and_then(|n| n.parse().ok()).unwrap_or(0);
                state.uploads.entry(id).or_default().insert(number, request.body.clone());
                answer(200, "")
            }
            ("POST", Some(id)) => {
                let parts = state.uploads.remove(&id).unwrap_or_default();
                state.objects.insert(path, parts.into_values().flatten().collect());
                let result = "CompleteMultipartUploadResult";
                answer(200, format!("<{result}><ETag>e</ETag></{result}>"))
            }
            ("DELETE", Some(id)) => {
                state.uploads.remove(&id);
                answer(204, "")
            }
            ("PUT", None) => {
                state.objects.insert(path, request.body.clone());
                answer(201, "")
            }
            ("GET" | "HEAD", _) => {
                let Some(bytes) = state.objects.get(&path).cloned() else { return fault(404, "NoSuchKey") };
                drop(state);
                content(bytes, range, &bucket)
            }
            _ => fault(400, "BadRequest"),
        }
    }

    fn listing(&self, path: &str, request: &Request) -> Answer {
        let bucket = path.trim_end_matches('/');
        let prefix = format!("{bucket}/{}", request.parameter("prefix").unwrap_or_default());
        let from = request.parameter("continuation-token").and_then(|t| t.parse().ok()).unwrap_or(0);
        let state = self.state();
        let all: Vec<_> = state.objects.iter().filter(|(place, _)| place.starts_with(&prefix)).collect();
        let more = all.len() > from + LISTED;
        let entry = |(place, bytes): &(&String, &Vec<u8>)| {
            let key = &place[bucket.len() + 1..];
            format!(
                "<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>e</ETag>\
                 <Size>{}</Size></Contents>",
                bytes.len()
            )
        };
        let entries: String = all.iter().skip(from).take(LISTED).map(entry).collect();
        let next = match more {
            true => format!("<NextContinuationToken>{}</NextContinuationToken>", from + LISTED),
            false => String::new(),
        };
        answer(
            200,
            format!("<ListBucketResult><IsTruncated>{more}</IsTruncated>{next}{entries}</ListBucketResult>"),
        )
    }

    fn azure_listing(&self, path: &str, request: &Request) -> Answer {
        let container = path.trim_end_matches('/');
        let prefix = format!("{container}/{}", request.parameter("prefix").unwrap_or_default());
        let state = self.state();
        let entry = |(place, bytes): (&String, &Vec<u8>)| {
            let properties = format!(
                "<Last-Modified>Mon, 01 Jan 2024 00:00:00 GMT</Last-Modified><Content-Length>{}</Content-Length>\
                 <Content-Type>x</Content-Type><Etag>e</Etag>",
                bytes.len()
            );
            let name = &place[container.len() + 1..];
            format!("<Blob><Name>{name}</Name><Properties>{properties}</Properties></Blob>")
        };
        let blobs: String =
            state.objects.iter().filter(|(place, _)| place.starts_with(&prefix)).map(entry).collect();
        answer(200, format!("<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker /></EnumerationResults>"))
    }
}

fn content(bytes: Vec<u8>, range: &str, bucket: &str) -> Answer {
    let total = bytes.len();
    let wanted = range.strip_prefix("bytes=").and_then(|r| r.split_once('-')).filter(|_| bucket != "plain");
    let Some((from, to)) = wanted else {
        return Answer { length: Some(total), ..answer(200, bytes) };
    };
    let from: usize = from.parse().unwrap_or(0);
    let to = to.parse().map_or(total, |to: usize| (to + 1).min(total));
    if bucket == "stuck" && to < total {
        std::thread::sleep(Duration::from_secs(60));
    }
    let headers = format!("Content-Range: bytes {from}-{}/{total}\r\n", to - 1);
    Answer { headers, ..answer(206, &bytes[from..to]) }
}
