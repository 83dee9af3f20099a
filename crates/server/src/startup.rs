//! The beginning of a connection: encryption, what the client wants, and that it is who it says.
//!
//! ```text
//!            SSLRequest: S, then TLS, or N          CancelRequest: done, closed without an answer
//!  bytes --> GSSENCRequest: N                 --->  StartupMessage --> trust | peer | SCRAM-SHA-256 --> `Login`
//!            a TLS record: TLS at once              anything else: FATAL
//! ```
//! Each request for encryption may come once, in any order. Bytes behind an SSLRequest that came in the clear are
//! refused: they would be read as if TLS had carried them. All of this happens before the client is known, so it costs
//! it no thread, one buffer of 10 KB at most, and [`Config::authentication_timeout`](crate::Config).

use std::io;
use std::sync::Arc;

use engine::ClientAddress;
use pgproto::MessageBuffer;
use pgproto::backend::{Authentication, Severity};
use pgproto::frontend::{self, Decoded, Decoder, Frontend};
use pgproto::scram::{self, ChannelBinding, Exchange, Verifier};
use pgproto::startup::{self, ProtocolVersion, Startup, StartupMessage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use types::{Error, SqlState};

use crate::server::Shared;
use crate::transport::{ALPN, TLS_HANDSHAKE, Transport, own_user};

/// What became of a beginning.
pub enum Entrance {
    /// A client that was let in.
    Client(Transport, Box<Login>),
    /// Nobody who stays: a cancel request, or one that was refused and knows it.
    Nobody,
}

/// A client that was let in.
pub struct Login {
    /// As whom.
    pub role: String,
    /// From where.
    pub client: ClientAddress,
    /// What of the protocol is spoken.
    pub version: ProtocolVersion,
    /// Settings that the client begins with.
    pub settings: Vec<(String, String)>,
    /// Bytes that came behind its login.
    pub rest: Vec<u8>,
}

/// Why a beginning ends.
enum Ended {
    /// The socket is closed or broken.
    Gone(io::Error),
    /// The client is told this.
    Refused(Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Ended::Gone(error)
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Refused(error)
    }
}

/// Tells a client that it is not let in.
pub async fn refuse(mut transport: Transport, error: &Error) {
    let mut out = MessageBuffer::new();
    out.report(Severity::Fatal, error, "");
    // It may be gone.
    let _ = transport.write_all(out.bytes()).await;
    let _ = transport.shutdown().await;
}

/// Does what is to be done before a client is known.
pub async fn enter(transport: Transport, shared: &Arc<Shared>) -> io::Result<Entrance> {
    let mut beginning = Beginning { transport: Some(transport), received: Vec::new(), end_point: None };
    match beginning.run(shared).await {
        Ok(Some(login)) => match beginning.transport {
            Some(transport) => Ok(Entrance::Client(transport, Box::new(login))),
            None => Ok(Entrance::Nobody),
        },
        Ok(None) => Ok(Entrance::Nobody),
        Err(Ended::Gone(error)) => Err(error),
        Err(Ended::Refused(error)) => {
            if let Some(transport) = beginning.transport {
                refuse(transport, &error).await;
            }
            Ok(Entrance::Nobody)
        }
    }
}

struct Beginning {
    /// Taken while TLS is being agreed on.
    transport: Option<Transport>,
    received: Vec<u8>,
    /// What binds SCRAM to the channel, under TLS.
    end_point: Option<Vec<u8>>,
}

fn gone() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn violation(message: &str) -> Error {
    Error::new(SqlState::ProtocolViolation, message)
}

impl Beginning {
    fn transport(&mut self) -> io::Result<&mut Transport> {
        self.transport.as_mut().ok_or_else(gone)
    }

    async fn receive(&mut self) -> io::Result<()> {
        let transport = self.transport.as_mut().ok_or_else(gone)?;
        match transport.read_buf(&mut self.received).await? {
            0 => Err(gone()),
            _ => Ok(()),
        }
    }

    async fn run(&mut self, shared: &Arc<Shared>) -> Result<Option<Login>, Ended> {
        if let Some(Transport::Tcp(socket)) = &self.transport {
            let mut first = [0];
            if socket.peek(&mut first).await? == 1 && first[0] == TLS_HANDSHAKE {
                self.begin_tls(shared, true).await?;
            }
        }
        let (mut asked_tls, mut asked_gss) = (false, false);
        let start = loop {
            let Some((packet, taken)) = startup::decode(&self.received)? else {
                self.receive().await?;
                continue;
            };
            match packet {
                Startup::Start(start) => {
                    self.received.drain(..taken);
                    break start;
                }
                Startup::Cancel { process, key } => {
                    // The answer is that the connection closes, so it does when the signal has been given.
                    shared.keys.cancel(process, key);
                    return Ok(None);
                }
                Startup::Tls if !std::mem::replace(&mut asked_tls, true) => {
                    let behind = self.received.len() > taken;
                    self.received.clear();
                    let grants = matches!(self.transport, Some(Transport::Tcp(_))) && shared.tls().is_some();
                    if behind {
                        let error = violation("received unencrypted data after SSL request").with_detail(
                            "this could be either a client-software bug or evidence of an attempted man-in-the-middle attack",
                        );
                        return Err(error.into());
                    }
                    self.transport()?.write_all(if grants { b"S" } else { b"N" }).await?;
                    if grants {
                        self.begin_tls(shared, false).await?;
                    }
                }
                Startup::Gss if !std::mem::replace(&mut asked_gss, true) => {
                    if self.received.len() > taken {
                        let error = violation("received unencrypted data after GSSAPI encryption request");
                        return Err(error.into());
                    }
                    self.received.clear();
                    self.transport()?.write_all(b"N").await?;
                }
                Startup::Tls | Startup::Gss => {
                    return Err(violation("encryption was asked for before").into());
                }
            }
        };
        if let Some(replication) = start.replication.as_deref().filter(|r| !is_off(r)) {
            let message = format!("replication connections (\"{replication}\") are not supported");
            return Err(Error::unsupported(message).into());
        }
        let mut out = MessageBuffer::new();
        out.negotiate_protocol_version(&start);
        let authenticated = self.authenticate(shared, &start, &mut out).await;
        if let (Err(Ended::Refused(error)), Some(audit)) = (&authenticated, shared.audit()) {
            audit.refused(&start.user, &self.transport()?.client(), error);
        }
        authenticated?;
        find_database(shared, &start)?;
        let client = self.transport()?.client();
        Ok(Some(Login {
            client,
            role: start.user,
            version: start.version,
            settings: start.settings,
            rest: std::mem::take(&mut self.received),
        }))
    }

    /// Goes on under TLS. `direct`: the client has begun with it.
    async fn begin_tls(&mut self, shared: &Arc<Shared>, direct: bool) -> Result<(), Ended> {
        let (Some(Transport::Tcp(socket)), Some(tls)) = (self.transport.take(), shared.tls()) else {
            return Err(gone().into());
        };
        let socket = tls.postgresql.accept(socket).await?;
        self.end_point = tls.end_point;
        if direct && socket.get_ref().1.alpn_protocol() != Some(ALPN) {
            // Some other protocol's client, perhaps made to send us its secrets.
            return Err(gone().into());
        }
        self.transport = Some(Transport::Tls(Box::new(socket)));
        Ok(())
    }

    /// Finds out whether the client is who it says. `out` holds what is to be sent before.
    async fn authenticate(
        &mut self,
        shared: &Arc<Shared>,
        start: &StartupMessage,
        out: &mut MessageBuffer,
    ) -> Result<(), Ended> {
        let binding = self.end_point.take().map_or(ChannelBinding::None, ChannelBinding::ServerEndPoint);
        let transport = self.transport()?;
        let is_owner = transport.peer_user().is_some_and(|user| own_user().is_ok_and(|own| own == user));
        let is_trusted = shared.config().trust && transport.is_local();
        if is_owner || is_trusted {
            if !shared.roles.may_log_in(&start.user) {
                let message = format!("role \"{}\" does not exist, or may not log in", start.user);
                let hint = format!("the superuser is \"{}\"", shared.roles.superuser());
                return Err(Error::new(SqlState::InvalidAuthorization, message).with_hint(hint).into());
            }
            transport.write_all(out.bytes()).await?;
            return Ok(());
        }
        out.authentication(Authentication::Sasl(binding.mechanisms()));
        transport.write_all(&out.take()).await?;
        let verifier = shared.roles.verifier(&start.user).and_then(|text| Verifier::parse(&text).ok());
        let verifier = verifier.unwrap_or_else(|| {
            Verifier::of_unknown_user(&start.user, &shared.salt_secret, scram::ITERATIONS)
        });
        let first = self.password_message().await?;
        let (mechanism, first) = frontend::sasl_initial_response(&first)?;
        let (exchange, answer) = Exchange::begin(verifier, mechanism, &binding, first.unwrap_or_default())?;
        out.authentication(Authentication::SaslContinue(answer.as_bytes()));
        self.transport()?.write_all(&out.take()).await?;
        let last = self.password_message().await?;
        let answer = exchange.finish(&last, &start.user)?;
        out.authentication(Authentication::SaslFinal(answer.as_bytes()));
        self.transport()?.write_all(&out.take()).await?;
        Ok(())
    }

    /// The body of the next message, which must be an answer to a question of authentication.
    async fn password_message(&mut self) -> Result<Vec<u8>, Ended> {
        loop {
            let (body, taken) = match Decoder::new().next(&self.received)? {
                Decoded::Incomplete => {
                    self.receive().await?;
                    continue;
                }
                Decoded::Message(Frontend::Password(body), taken) => (body.to_vec(), taken),
                Decoded::Message(Frontend::Terminate, _) => return Err(gone().into()),
                Decoded::Malformed(error, _, _) => return Err(error.into()),
                Decoded::Message(..) => return Err(violation("expected an answer of authentication").into()),
            };
            self.received.drain(..taken);
            return Ok(body);
        }
    }
}

/// Whether a boolean option of the startup message is off.
fn is_off(text: &str) -> bool {
    ["false", "off", "no", "0"].iter().any(|off| text.eq_ignore_ascii_case(off))
}

/// There is one database: clients may call it by its name, by their own, which they do where they name none, and
/// `postgres`, where tools look for a list of databases.
fn find_database(shared: &Arc<Shared>, start: &StartupMessage) -> Result<(), Error> {
    let (name, wanted) = (shared.database.name(), start.database.as_str());
    if [name, start.user.as_str(), "postgres"].contains(&wanted) {
        return Ok(());
    }
    let message = format!("database \"{wanted}\" does not exist");
    Err(Error::new(SqlState::UndefinedDatabase, message)
        .with_hint(format!("this server has one database: \"{name}\"")))
}
