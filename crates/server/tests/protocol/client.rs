//! A client that writes and reads messages by hand, so that tests see what no driver shows.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use engine::{Database, Options};
use server::{Config, DatabaseRoles, Handle, Server};

/// A server over a new database in memory, which believes who clients are.
pub fn start(change: impl FnOnce(&mut Config)) -> (Handle, Database) {
    let options = Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Options::default() };
    let database = Database::in_memory(options).unwrap();
    let mut config = Config {
        trust: true,
        port: Some(0),
        listen: vec!["127.0.0.1".to_owned()],
        socket_directory: None,
        ..Config::default()
    };
    change(&mut config);
    let roles = Arc::new(DatabaseRoles::new(&database));
    (Server::start(database.clone(), config, roles).unwrap(), database)
}

/// A message of the server: its type and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub kind: char,
    /// What follows the length.
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse or NoticeResponse.
    pub fn field(&self, field: char) -> String {
        let fields = self.body.split(|byte| *byte == 0).filter(|f| !f.is_empty());
        fields
            .filter(|f| f[0] == field as u8)
            .map(|f| String::from_utf8_lossy(&f[1..]).into_owned())
            .next()
            .unwrap_or_default()
    }
    /// The text of a CommandComplete.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.body.strip_suffix(&[0]).unwrap_or(&self.body)).into_owned()
    }
    /// The values of a DataRow, as texts; `None` is NULL.
    pub fn values(&self) -> Vec<Option<String>> {
        assert_eq!(self.kind, 'D', "{self:?}");
        let count = u16::from_be_bytes([self.body[0], self.body[1]]);
        let mut rest = &self.body[2..];
        (0..count)
            .map(|_| {
                let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
                rest = &rest[4..];
                (length >= 0).then(|| {
                    let (value, behind) = rest.split_at(length as usize);
                    rest = behind;
                    String::from_utf8_lossy(value).into_owned()
                })
            })
            .collect()
    }
}

/// A connection.
pub struct Client {
    pub socket: TcpStream,
    /// What BackendKeyData told.
    pub key: (i32, Vec<u8>),
    /// What ParameterStatus told at the beginning.
    pub parameters: Vec<(String, String)>,
    received: Vec<u8>,
    /// Calls of `read` that gave bytes: as many sends as the server made, at most.
    pub reads: usize,
}

/// A message's bytes.
pub fn message(kind: char, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind as u8];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// The bytes of a packet without a type.
pub fn packet(code: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32 + 8).to_be_bytes().to_vec();
    bytes.extend(code.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Parse of a statement, with types.
pub fn parse(name: &str, text: &str, types: &[u32]) -> Vec<u8> {
    let mut body = [name.as_bytes(), b"\0", text.as_bytes(), b"\0"].concat();
    body.extend((types.len() as u16).to_be_bytes());
    types.iter().for_each(|ty| body.extend(ty.to_be_bytes()));
    message('P', &body)
}

/// Bind with values as texts, for results in a format.
pub fn bind(portal: &str, statement: &str, values: &[Option<&str>], format: u16) -> Vec<u8> {
    let mut body = [portal.as_bytes(), b"\0", statement.as_bytes(), b"\0\0\0"].concat();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            None => body.extend((-1i32).to_be_bytes()),
            Some(value) => {
                body.extend((value.len() as i32).to_be_bytes());
                body.extend(value.as_bytes());
            }
        }
    }
    body.extend([0, 1]);
    body.extend(format.to_be_bytes());
    message('B', &body)
}

/// Describe or Close of `S` or `P`.
pub fn named(kind: char, target: char, name: &str) -> Vec<u8> {
    message(kind, &[&[target as u8], name.as_bytes(), b"\0"].concat())
}

/// Execute of so many rows.
pub fn execute(portal: &str, rows: u32) -> Vec<u8> {
    message('E', &[portal.as_bytes(), b"\0", &rows.to_be_bytes()].concat())
}

/// Sync.
pub fn sync() -> Vec<u8> {
    message('S', b"")
}

impl Client {
    /// A socket that has said nothing.
    pub fn raw(port: u16) -> Client {
        let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.set_nodelay(true).unwrap();
        Client { socket, key: (0, vec![]), parameters: vec![], received: vec![], reads: 0 }
    }

    /// A client that is let in.
    pub fn connect(port: u16) -> Client {
        Self::connect_with(port, 3 << 16, &[])
    }

    /// A client of a version, with settings.
    pub fn connect_with(port: u16, version: u32, settings: &[(&str, &str)]) -> Client {
        let mut client = Client::raw(port);
        let mut body = b"user\0quickstep\0".to_vec();
        for (name, value) in settings {
            body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        client.send(&packet(version, &body));
        for message in client.until_ready() {
            match message.kind {
                'K' => {
                    let process = i32::from_be_bytes(message.body[..4].try_into().unwrap());
                    client.key = (process, message.body[4..].to_vec());
                }
                'S' => {
                    let text = String::from_utf8(message.body).unwrap();
                    let mut parts = text.split('\0').map(str::to_owned);
                    client.parameters.push((parts.next().unwrap(), parts.next().unwrap()));
                }
                'E' => panic!("{message:?}"),
                _ => {}
            }
        }
        client
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// As `send`, to a server that may have closed the connection.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// The next message; `None` when the server has closed the connection.
    pub fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(head) = self.received.get(..5) {
                let length = u32::from_be_bytes(head[1..5].try_into().unwrap()) as usize;
                if self.received.len() > length {
                    let kind = char::from(head[0]);
                    let body = self.received[5..=length].to_vec();
                    self.received.drain(..=length);
                    return Some(Message { kind, body });
                }
            }
            let mut piece = vec![0; 1 << 20];
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Ok(length) => self.received.extend(&piece[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                // The process was stopped, and goes on.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
            self.reads += 1;
        }
    }

    /// All messages up to ReadyForQuery, with it.
    pub fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.next() {
            let last = message.kind == 'Z';
            messages.push(message);
            if last {
                return messages;
            }
        }
        panic!("the server has closed the connection after {messages:?}")
    }

    /// Sends a Query and gives what answers it.
    pub fn query(&mut self, text: &str) -> Vec<Message> {
        self.send(&message('Q', &[text.as_bytes(), b"\0"].concat()));
        self.until_ready()
    }

    /// Sends messages and gives what answers them up to ReadyForQuery.
    pub fn pipeline(&mut self, messages: &[Vec<u8>]) -> Vec<Message> {
        self.send(&messages.concat());
        self.until_ready()
    }

    /// The values of all rows of a Query.
    pub fn rows(&mut self, text: &str) -> Vec<Vec<Option<String>>> {
        let answer = self.query(text);
        assert_eq!(error(&answer), None, "{text}");
        answer.iter().filter(|m| m.kind == 'D').map(Message::values).collect()
    }

    /// The one value of a Query.
    pub fn value(&mut self, text: &str) -> String {
        self.rows(text)[0][0].clone().unwrap()
    }
}

/// The types of messages, as a word.
pub fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|message| message.kind).collect()
}

/// The code of the first error.
pub fn error(messages: &[Message]) -> Option<String> {
    messages.iter().find(|message| message.kind == 'E').map(|message| message.field('C'))
}

/// What ReadyForQuery says of the transaction.
pub fn status(messages: &[Message]) -> char {
    let last = messages.last().unwrap();
    assert_eq!(last.kind, 'Z', "{messages:?}");
    char::from(last.body[0])
}

/// Cancels what a connection does, as another one asks, and waits until the server has done it.
pub fn cancel(port: u16, key: &(i32, Vec<u8>)) {
    let mut other = Client::raw(port);
    other.send(&packet(80_877_102, &[&key.0.to_be_bytes()[..], &key.1].concat()));
    assert_eq!(other.next(), None);
}
