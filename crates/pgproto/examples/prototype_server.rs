//! The smallest server of this layer, for a client by hand and for measuring the layer by itself: a thread for each
//! connection, no engine.
//!
//! ```text
//! cargo run --release -p pgproto --example prototype_server -- 127.0.0.1:5433 [PASSWORD]
//! psql -h 127.0.0.1 -p 5433 -c 'select 1'             one row
//! psql -h 127.0.0.1 -p 5433 -c '5000000'              so many rows with lineitem's columns
//! psql -h 127.0.0.1 -p 5433 -c 'copy'                 what COPY FROM STDIN sends is counted
//! ```
//! With a password clients log in by SCRAM-SHA-256. Both query protocols are answered; a text is what a prepared
//! statement is, as there is nothing to plan.

mod lineitem;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use pgproto::backend::Authentication;
use pgproto::copy::{CopyFormat, CopyOptions, LineCopyReader};
use pgproto::frontend::{self, Target};
use pgproto::scram::{self, ChannelBinding, Exchange, Verifier};
use pgproto::startup::{self, Startup};
use pgproto::{
    ColumnDescription, Decoded, Decoder, Format, Formats, Frontend, Limits, MessageBuffer, RowEncoder,
    Severity, TextEnums, TransactionStatus,
};
use types::{Error, Field, Type, Value, Zone};
use vector::{BATCH_ROWS, Batch, Vector};

const BUFFER_BYTES: usize = 128 << 10;

struct Connection {
    stream: TcpStream,
    /// What has come and was not taken.
    input: Vec<u8>,
    out: MessageBuffer,
    decoder: Decoder,
}

fn broken(error: Error) -> io::Error {
    io::Error::other(error)
}

impl Connection {
    fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(self.out.bytes())?;
        self.out.clear(2 * BUFFER_BYTES);
        Ok(())
    }
    fn receive(&mut self) -> io::Result<()> {
        let mut piece = [0; 16 << 10];
        match self.stream.read(&mut piece)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(self.input.extend_from_slice(&piece[..count])),
        }
    }
    /// Calls `take` with the next message; an answer is for its caller.
    fn next<T>(&mut self, take: impl FnOnce(&mut MessageBuffer, Frontend<'_>) -> T) -> io::Result<T> {
        loop {
            match self.decoder.next(&self.input).map_err(broken)? {
                Decoded::Incomplete => self.receive()?,
                Decoded::Malformed(error, _, _) => return Err(broken(error)),
                Decoded::Message(message, taken) => {
                    let answer = take(&mut self.out, message);
                    self.input.drain(..taken);
                    return Ok(answer);
                }
            }
        }
    }

    /// Everything up to the first ReadyForQuery.
    fn start(&mut self, password: Option<&str>) -> io::Result<()> {
        let start = loop {
            match startup::decode(&self.input).map_err(broken)? {
                None => self.receive()?,
                Some((Startup::Start(start), taken)) => {
                    self.input.drain(..taken);
                    break start;
                }
                Some((Startup::Cancel { .. }, _)) => return Err(io::ErrorKind::ConnectionAborted.into()),
                Some((_, taken)) => {
                    self.stream.write_all(b"N")?;
                    self.input.drain(..taken);
                }
            }
        };
        self.out.negotiate_protocol_version(&start);
        if let Some(password) = password {
            let verifier = Verifier::of_password(password, scram::ITERATIONS).map_err(broken)?;
            self.out.authentication(Authentication::Sasl(ChannelBinding::None.mechanisms()));
            self.send()?;
            let (exchange, answer) = self
                .next(|_, message| {
                    let Frontend::Password(body) = message else {
                        return Err(Error::internal("no password"));
                    };
                    let (mechanism, first) = frontend::sasl_initial_response(body)?;
                    Exchange::begin(verifier, mechanism, &ChannelBinding::None, first.unwrap_or_default())
                })?
                .map_err(broken)?;
            self.out.authentication(Authentication::SaslContinue(answer.as_bytes()));
            self.send()?;
            let last = self.next(|_, message| match message {
                Frontend::Password(body) => exchange.finish(body, &start.user),
                _ => Err(Error::internal("no password")),
            })?;
            match last {
                Ok(answer) => self.out.authentication(Authentication::SaslFinal(answer.as_bytes())),
                Err(error) => {
                    self.out.report(Severity::Fatal, &error, "");
                    self.send()?;
                    return Err(broken(error));
                }
            }
        }
        self.decoder.authenticated(Limits::AFTER_AUTHENTICATION);
        self.out.authentication(Authentication::Ok);
        for (name, value) in
            [("server_version", "15.0"), ("client_encoding", "UTF8"), ("standard_conforming_strings", "on")]
        {
            self.out.parameter_status(name, value);
        }
        let key = [7; 32];
        self.out.backend_key_data(1, &key[..start.version.cancel_key_bytes()]);
        self.out.ready_for_query(TransactionStatus::Idle);
        self.send()
    }
}

/// What a text is answered with.
struct Answer {
    fields: Vec<Field>,
    batch: Batch,
    rows: usize,
}

fn answer(text: &str) -> Answer {
    match text.trim().trim_end_matches(';').parse() {
        Ok(rows) => {
            let (types, batch) = lineitem::lineitem();
            let fields = types.iter().enumerate().map(|(at, ty)| Field::new(format!("c{at}"), *ty, true));
            Answer { fields: fields.collect(), batch, rows }
        }
        Err(_) => Answer {
            fields: vec![Field::new("?column?", Type::Integer, true)],
            batch: Batch::new(vec![Vector::constant(Type::Integer, Value::I32(1), 1)], 1),
            rows: 1,
        },
    }
}

fn describe(text: &str, formats: &Formats, out: &mut MessageBuffer) -> types::Result<()> {
    let answer = answer(text);
    let formats = formats.of_results(answer.fields.len())?;
    let described = answer.fields.iter().zip(formats);
    let described: Vec<_> =
        described.map(|(f, format)| ColumnDescription::of_field(f, format, &TextEnums)).collect();
    out.row_description(&described)
}

fn send_rows(connection: &mut Connection, text: &str, formats: &Formats) -> io::Result<()> {
    let answer = answer(text);
    let types: Vec<Type> = answer.fields.iter().map(|field| field.ty).collect();
    let formats = formats.of_results(types.len()).map_err(broken)?;
    let mut encoder = RowEncoder::data_rows(&types, &formats, Zone::Utc).map_err(broken)?;
    let mut left = answer.rows;
    while left > 0 {
        let rows = left.min(answer.batch.rows);
        let mut pending = encoder.begin(&answer.batch.slice(0, rows));
        while !pending.is_done() {
            encoder.append(&mut pending, &TextEnums, BUFFER_BYTES, &mut connection.out).map_err(broken)?;
            if connection.out.len() >= BUFFER_BYTES {
                connection.send()?;
            }
        }
        left -= rows;
    }
    connection.out.command_complete(&format!("SELECT {}", answer.rows));
    Ok(())
}

/// Counts the rows of text that the client sends, of lineitem's columns.
fn copy_in(connection: &mut Connection) -> io::Result<()> {
    let (types, _) = lineitem::lineitem();
    let columns: Vec<(&str, Type)> = types.iter().map(|ty| ("column", *ty)).collect();
    let options = CopyOptions::of(CopyFormat::Text, columns.len());
    let mut reader = LineCopyReader::new(&columns, &options, 1 << 20);
    connection.out.copy_in_response(Format::Text, columns.len()).map_err(broken)?;
    connection.send()?;
    let mut rows = 0;
    let mut done = false;
    while !done {
        let read = connection.next(|_, message| match message {
            Frontend::CopyData(piece) => reader.push(piece, |batch| Ok(rows += batch.rows)),
            Frontend::CopyDone => Ok(done = true),
            _ => Err(Error::internal("the client gave up")),
        })?;
        read.map_err(broken)?;
    }
    rows += reader.finish().map_err(broken)?.rows;
    connection.out.command_complete(&format!("COPY {rows}"));
    Ok(())
}

enum Step {
    Run(String, Formats),
    Simple(String),
    Send,
    Nothing,
    End,
}

fn serve(stream: TcpStream, password: Option<&str>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut connection =
        Connection { stream, input: Vec::new(), out: MessageBuffer::new(), decoder: Decoder::new() };
    connection.start(password)?;
    let mut statements: HashMap<String, String> = HashMap::new();
    let mut portals: HashMap<String, (String, Formats)> = HashMap::new();
    loop {
        let step = connection.next(|out, message| {
            match message {
                Frontend::Query(text) => return Ok(Step::Simple(text.to_owned())),
                Frontend::Parse(parse) => {
                    statements.insert(parse.statement.to_owned(), parse.query.to_owned());
                    out.parse_complete();
                }
                Frontend::Bind(bind) => {
                    let text = statements.get(bind.statement).cloned().unwrap_or_default();
                    portals.insert(bind.portal.to_owned(), (text, bind.result_formats));
                    out.bind_complete();
                }
                Frontend::Describe(Target::Statement, name) => {
                    out.parameter_description(&[])?;
                    describe(statements.get(name).map_or("", String::as_str), &Formats::default(), out)?;
                }
                Frontend::Describe(Target::Portal, name) => {
                    let (text, formats) = portals.get(name).cloned().unwrap_or_default();
                    describe(&text, &formats, out)?;
                }
                Frontend::Execute(name, _) => {
                    let (text, formats) = portals.get(name).cloned().unwrap_or_default();
                    return Ok(Step::Run(text, formats));
                }
                Frontend::Close(..) => out.close_complete(),
                Frontend::Sync => {
                    out.ready_for_query(TransactionStatus::Idle);
                    return Ok(Step::Send);
                }
                Frontend::Flush => return Ok(Step::Send),
                Frontend::Terminate => return Ok(Step::End),
                _ => {}
            }
            Ok(Step::Nothing)
        })?;
        match step.map_err(broken)? {
            Step::Run(text, formats) => send_rows(&mut connection, &text, &formats)?,
            Step::Simple(text) => {
                match text.trim_start().to_lowercase().starts_with("copy") {
                    true => copy_in(&mut connection)?,
                    false => {
                        describe(&text, &Formats::default(), &mut connection.out).map_err(broken)?;
                        send_rows(&mut connection, &text, &Formats::default())?;
                    }
                }
                connection.out.ready_for_query(TransactionStatus::Idle);
                connection.send()?;
            }
            Step::Send => connection.send()?,
            Step::Nothing => {}
            Step::End => return Ok(()),
        }
    }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let address = arguments.get(1).map_or("127.0.0.1:5433", String::as_str);
    let password = arguments.get(2).cloned();
    let listener = TcpListener::bind(address)?;
    println!("listening on {address}; a batch has {BATCH_ROWS} rows");
    for stream in listener.incoming() {
        let (stream, password) = (stream?, password.clone());
        std::thread::spawn(move || {
            if let Err(error) = serve(stream, password.as_deref()) {
                eprintln!("a connection ended: {error}");
            }
        });
    }
    Ok(())
}
