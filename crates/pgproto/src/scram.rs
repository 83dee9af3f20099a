//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) as PostgreSQL speaks it, and the verifiers that are stored.
//!
//! ```text
//! client  n,,n=,r=CLIENT                                 the user's name is that of the StartupMessage
//! server  r=CLIENT SERVER,s=SALT,i=ITERATIONS
//! client  c=BINDING,r=CLIENT SERVER,p=PROOF              ClientKey = PROOF xor HMAC(StoredKey, all three messages)
//! server  v=SIGNATURE                                    HMAC(ServerKey, all three messages)
//! ```
//! A verifier, `SCRAM-SHA-256$4096:salt$stored key:server key`, does not tell the password, and costs the server two
//! HMACs a login; only [`Verifier::of_password`] and [`Verifier::matches`] compute the slow function, and belong on no
//! thread that serves connections. Whoever asks for a user that does not exist gets a conversation of the same length,
//! with the same salt every time ([`Verifier::of_unknown_user`]), which fails at its end.
//!
//! Each [`Exchange`] is one conversation: it owns all of its state, and every step consumes it, so that none can be
//! repeated. Messages are parsed strictly, secrets are compared in constant time.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use types::{Error, Result, SqlState};

use crate::reader::violation;

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The same with channel binding, which is offered over TLS only.
pub const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// Iterations of a new verifier, PostgreSQL's default.
pub const ITERATIONS: u32 = 4096;
/// Most iterations that are computed or told to a client: a verifier from elsewhere must not stop the server.
pub const ITERATIONS_MAX: u32 = 1_000_000;
/// Bytes of a new verifier's salt.
const SALT_BYTES: usize = 16;
/// Bytes of the nonce that the server adds, before they are written in base 64.
const NONCE_BYTES: usize = 18;
/// Longest message of a client.
const MESSAGE_BYTES_MAX: usize = 4096;

type Key = [u8; 32];

/// What is stored of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Key,
    server_key: Key,
    /// Of a user that does not exist, or may not log in: every proof is wrong.
    doomed: bool,
}

/// Without the keys: a verifier may come into a log.
impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// The password as it is hashed: SASLprep's form, or as it is where it has none, as in PostgreSQL.
fn prepared(password: &str) -> String {
    stringprep::saslprep(password).map_or_else(|_| password.to_owned(), std::borrow::Cow::into_owned)
}

/// Bytes from the system's generator.
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
    Ok(bytes)
}

impl Verifier {
    /// The verifier of a password, with a new salt. It computes as many hashes as there are iterations.
    pub fn of_password(password: &str, iterations: u32) -> Result<Verifier> {
        Ok(Self::salted(password, &random::<SALT_BYTES>()?, iterations.clamp(1, ITERATIONS_MAX)))
    }
    fn salted(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        let salted: Key =
            pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(prepared(password).as_bytes(), salt, iterations);
        let client_key = hmac(&salted, &[b"Client Key"]);
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&salted, &[b"Server Key"]),
            doomed: false,
        }
    }
    /// What a user that does not exist is answered with: a salt that `secret`, which the server keeps, makes of the
    /// name, so that asking twice tells nothing.
    pub fn of_unknown_user(user: &str, secret: &[u8; 32], iterations: u32) -> Verifier {
        let salt = hmac(secret, &[b"salt", user.as_bytes()]);
        Verifier {
            iterations,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: hmac(secret, &[b"stored", user.as_bytes()]),
            server_key: hmac(secret, &[b"server", user.as_bytes()]),
            doomed: true,
        }
    }
    /// The same verifier, for a user who may not log in: the conversation goes on to its end and fails.
    #[must_use]
    pub fn doomed(mut self) -> Verifier {
        self.doomed = true;
        self
    }
    /// Reads a stored verifier; error 22023 for anything else, and for iterations out of bounds.
    pub fn parse(text: &str) -> Result<Verifier> {
        let wrong = || {
            Error::new(SqlState::InvalidParameterValue, "this is no SCRAM-SHA-256 verifier")
                .with_hint("verifiers are written SCRAM-SHA-256$iterations:salt$stored key:server key")
        };
        let rest = text.strip_prefix("SCRAM-SHA-256$").ok_or_else(wrong)?;
        let (parameters, keys) = rest.split_once('$').ok_or_else(wrong)?;
        let (iterations, salt) = parameters.split_once(':').ok_or_else(wrong)?;
        let (stored, server) = keys.split_once(':').ok_or_else(wrong)?;
        let key =
            |text: &str| BASE64.decode(text).ok().and_then(|key| Key::try_from(key).ok()).ok_or_else(wrong);
        if iterations.is_empty() || !iterations.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let iterations = iterations.parse().ok().filter(|count| (1..=ITERATIONS_MAX).contains(count));
        let salt = BASE64.decode(salt).ok().filter(|salt| !salt.is_empty() && salt.len() <= 1024);
        Ok(Verifier {
            iterations: iterations.ok_or_else(wrong)?,
            salt: salt.ok_or_else(wrong)?,
            stored_key: key(stored)?,
            server_key: key(server)?,
            doomed: false,
        })
    }
    /// Whether this is the password. It computes as many hashes as the verifier has iterations.
    pub fn matches(&self, password: &str) -> bool {
        let other = Self::salted(password, &self.salt, self.iterations);
        bool::from(self.stored_key.ct_eq(&other.stored_key)) && !self.doomed
    }
}

/// As it is stored.
impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (salt, stored) = (BASE64.encode(&self.salt), BASE64.encode(self.stored_key));
        write!(f, "SCRAM-SHA-256${}:{salt}${stored}:{}", self.iterations, BASE64.encode(self.server_key))
    }
}

/// What ties a conversation to the TLS connection that it goes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelBinding {
    /// No TLS.
    None,
    /// The hash of the server's certificate (tls-server-end-point, RFC 5929): over TLS both mechanisms are offered.
    ServerEndPoint(Vec<u8>),
}

impl ChannelBinding {
    /// The mechanisms to offer, the stronger first.
    pub fn mechanisms(&self) -> &'static [&'static str] {
        match self {
            ChannelBinding::None => &[MECHANISM],
            ChannelBinding::ServerEndPoint(_) => &[MECHANISM_PLUS, MECHANISM],
        }
    }
}

/// A conversation whose first message has been answered.
pub struct Exchange {
    verifier: Verifier,
    /// What the last message has to say of the channel, before base 64: the first one's header, and the data.
    binding: Vec<u8>,
    nonce: String,
    client_first: String,
    server_first: String,
}

fn malformed(detail: &str) -> Error {
    violation("malformed SCRAM message").with_detail(detail)
}

/// The error 28P01 of a wrong password, which is that of an unknown user, too.
pub fn failed(user: &str) -> Error {
    Error::new(SqlState::InvalidPassword, format!("password authentication failed for user \"{user}\""))
}

/// The value of the attribute that a message goes on with, and what follows its comma.
fn attribute<'a>(text: &'a str, name: &str) -> Result<(&'a str, Option<&'a str>)> {
    let value = text.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
    let value = value.ok_or_else(|| malformed(&format!("attribute \"{name}\" is expected")))?;
    Ok(match value.split_once(',') {
        Some((value, rest)) => (value, Some(rest)),
        None => (value, None),
    })
}

fn message(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| malformed("it is no text"))?;
    match text.len() {
        0 => Err(malformed("it is empty")),
        1..=MESSAGE_BYTES_MAX => Ok(text),
        _ => Err(malformed("it is too long")),
    }
}

impl Exchange {
    /// Takes the client's first message, and gives the answer (AuthenticationSASLContinue). `mechanism` is the one that
    /// the client chose of those that `binding` offers.
    pub fn begin(
        verifier: Verifier,
        mechanism: &str,
        binding: &ChannelBinding,
        client_first: &[u8],
    ) -> Result<(Exchange, String)> {
        let nonce = BASE64.encode(random::<NONCE_BYTES>()?);
        Self::begin_with(verifier, mechanism, binding, client_first, &nonce)
    }

    fn begin_with(
        verifier: Verifier,
        mechanism: &str,
        binding: &ChannelBinding,
        client_first: &[u8],
        own_nonce: &str,
    ) -> Result<(Exchange, String)> {
        if !binding.mechanisms().contains(&mechanism) {
            return Err(violation("client selected an invalid SASL authentication mechanism"));
        }
        let text = message(client_first)?;
        let plus = mechanism == MECHANISM_PLUS;
        // The header: whether the channel is bound, and a name to act for, which PostgreSQL has not either.
        let (flag, rest) = text.split_once(',').ok_or_else(|| malformed("the header is cut"))?;
        let (authorization, bare) = rest.split_once(',').ok_or_else(|| malformed("the header is cut"))?;
        if !authorization.is_empty() {
            return Err(Error::unsupported("client uses authorization identity, but it is not supported"));
        }
        let mut data: &[u8] = &[];
        match (flag, plus, binding) {
            ("n", false, _) => {}
            // The client could bind the channel and believes that the server cannot: somebody hid the offer.
            ("y", false, ChannelBinding::ServerEndPoint(_)) => {
                return Err(Error::new(
                    SqlState::InvalidAuthorization,
                    "SCRAM channel binding negotiation error",
                )
                .with_detail(
                    "the client thinks that the server does not support channel binding, but it does",
                ));
            }
            ("y", false, ChannelBinding::None) => {}
            ("p=tls-server-end-point", true, ChannelBinding::ServerEndPoint(hash)) => data = hash,
            (flag, true, _) if flag.starts_with("p=") => {
                return Err(malformed("this type of channel binding is not supported"));
            }
            _ => return Err(malformed("the channel binding does not go with the mechanism")),
        }
        let header_bytes = text.len() - bare.len();
        let binding = [&text.as_bytes()[..header_bytes], data].concat();
        if bare.starts_with("m=") {
            return Err(Error::unsupported("client requires an unsupported SCRAM extension"));
        }
        // The name is ignored: it is that of the StartupMessage.
        let (_, rest) = attribute(bare, "n")?;
        let (client_nonce, rest) = attribute(rest.ok_or_else(|| malformed("the nonce is missing"))?, "r")?;
        let printable = |byte: u8| (0x21..=0x7E).contains(&byte);
        if client_nonce.is_empty() || !client_nonce.bytes().all(printable) {
            return Err(malformed("the nonce has characters that cannot be printed"));
        }
        // Extensions, which come behind the nonce, are optional and ignored if they have the form of attributes.
        for extension in rest.unwrap_or_default().split(',').filter(|_| rest.is_some()) {
            let known = extension.as_bytes();
            if known.len() < 2 || !known[0].is_ascii_alphabetic() || known[1] != b'=' {
                return Err(malformed("an extension is no attribute"));
            }
        }
        let nonce = format!("{client_nonce}{own_nonce}");
        let server_first = format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.iterations);
        let client_first = bare.to_owned();
        let exchange =
            Exchange { verifier, binding, nonce, client_first, server_first: server_first.clone() };
        Ok((exchange, server_first))
    }

    /// Takes the client's last message, and gives the server's signature (AuthenticationSASLFinal). Error 28P01 for a
    /// wrong proof; `user` stands in its message.
    pub fn finish(self, client_final: &[u8], user: &str) -> Result<String> {
        let text = message(client_final)?;
        let (binding, rest) = attribute(text, "c")?;
        if BASE64.decode(binding).ok().as_deref() != Some(self.binding.as_slice()) {
            return Err(Error::new(SqlState::InvalidAuthorization, "SCRAM channel binding check failed"));
        }
        let (nonce, rest) = attribute(rest.ok_or_else(|| malformed("the nonce is missing"))?, "r")?;
        if !bool::from(nonce.as_bytes().ct_eq(self.nonce.as_bytes())) {
            return Err(malformed("the nonce is not that of this conversation"));
        }
        // Extensions may stand before the proof, which is the last attribute.
        let rest = rest.ok_or_else(|| malformed("the proof is missing"))?;
        let (before, last) = rest.rsplit_once(',').map_or(("", rest), |(before, last)| (before, last));
        for extension in before.split(',').filter(|extension| !extension.is_empty()) {
            let known = extension.as_bytes();
            if known.len() < 2 || !known[0].is_ascii_alphabetic() || known[1] != b'=' || known[0] == b'p' {
                return Err(malformed("an extension is no attribute"));
            }
        }
        let (proof, _) = attribute(last, "p")?;
        let proof = BASE64.decode(proof).ok().and_then(|proof| Key::try_from(proof).ok());
        let proof = proof.ok_or_else(|| malformed("the proof is no 32 bytes in base 64"))?;
        let without_proof = &text[..text.len() - last.len() - 1];
        let parts: [&[u8]; 5] = [
            self.client_first.as_bytes(),
            b",",
            self.server_first.as_bytes(),
            b",",
            without_proof.as_bytes(),
        ];
        let signature = hmac(&self.verifier.stored_key, &parts);
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(byte, of_signature)| *byte ^= of_signature);
        let stored: Key = Sha256::digest(client_key).into();
        let right = stored.ct_eq(&self.verifier.stored_key);
        let answer = hmac(&self.verifier.server_key, &parts);
        if !bool::from(right) || self.verifier.doomed {
            return Err(failed(user));
        }
        Ok(format!("v={}", BASE64.encode(answer)))
    }
}

#[cfg(test)]
mod tests;
