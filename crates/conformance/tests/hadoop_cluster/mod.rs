//! A Hadoop cluster of a name node and two data nodes, for reading: the calls and the transfers that `hdfs-native`
//! makes (ClientNamenodeProtocol.proto and datatransfer.proto of Hadoop 3, without Kerberos). Files are cut into
//! small blocks, of which each data node has a replica; nodes can be told to fail.

mod wire;

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wire::{Message, bytes, crc32c, delimited, number, text};

/// Bytes of a block.
pub const BLOCK: usize = 256 << 10;
const CHUNK: usize = 512;
const PACKET: usize = 64 << 10;

/// What a node does instead of answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    /// Closes the connection in the midst of an answer.
    Dies,
    /// Sends a checksum that does not match (data nodes).
    Corrupts,
    /// Never answers.
    Hangs,
    /// Answers with this exception of Java (the name node).
    Throws(&'static str),
    /// Tells of a longer file than its blocks are (the name node).
    Exaggerates,
    /// Changes bytes of its answers, by this seed.
    Garbles(u64),
}

impl Fault {
    /// Changes a bit in some answers, seldom two.
    fn garble(self, state: &mut u64, answer: &mut [u8]) {
        let Fault::Garbles(seed) = self else { return };
        let mut below = |n: usize| {
            *state = (*state ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_add(1);
            (*state >> 11) as usize % n
        };
        for _ in 0..2 {
            if !answer.is_empty() && below(30) == 0 {
                let at = below(answer.len());
                answer[at] ^= 1 << below(8);
            }
        }
    }
}

#[derive(Default)]
pub struct State {
    /// By their absolute paths.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Folders whose listing is denied.
    pub private: Vec<String>,
    /// Folders that were listed.
    pub listed: Vec<String>,
    pub name_node: Fault,
    pub data_nodes: [Fault; 2],
    /// Reads so far: data node, block, offset, length.
    pub reads: Vec<(usize, u64, u64, u64)>,
    data_ports: [u16; 2],
}

impl State {
    /// What the name node says of a file, or of a folder where there is no content.
    fn status(&self, name: &str, content: Option<&[u8]>) -> Message {
        let length =
            |content: &[u8]| content.len() + usize::from(self.name_node == Fault::Exaggerates) * 100_000;
        let permission = Message::default().number(1, 0o644);
        Message::default()
            .number(1, if content.is_some() { 2 } else { 1 })
            .bytes(2, name.as_bytes())
            .number(3, content.map_or(0, length) as u64)
            .message(4, permission)
            .bytes(5, b"owner")
            .bytes(6, b"group")
            .number(7, 1_700_000_000_000)
            .number(8, 1_700_000_000_000)
            .number(11, BLOCK as u64)
    }

    /// The file, or what stands directly in the folder.
    fn listing(&self, path: &str, is_folder: bool) -> Message {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let mut list = Message::default();
        if let Some(content) = self.files.get(path) {
            list = list.message(1, self.status("", Some(content)));
        } else if !is_folder {
            return Message::default();
        }
        let mut last = String::new();
        for (name, content) in self.files.range(folder.clone()..) {
            let Some(below) = name.strip_prefix(&folder) else { break };
            match below.split_once('/') {
                None => list = list.message(1, self.status(below, Some(content))),
                Some((child, _)) if child != last => {
                    child.clone_into(&mut last);
                    list = list.message(1, self.status(child, None));
                }
                Some(_) => {}
            }
        }
        Message::default().message(1, list.number(2, 0))
    }

    /// Where the blocks of a file and their replicas are.
    fn block_locations(&self, path: &str) -> Result<Message, (String, String)> {
        let Some(number) = self.files.keys().position(|name| *name == path) else {
            let what = format!("File does not exist: {path}");
            return Err(("java.io.FileNotFoundException".into(), what));
        };
        let content = &self.files[path];
        let mut blocks = Message::default().number(1, content.len() as u64);
        for (at, block) in content.chunks(BLOCK).enumerate() {
            // The number of a block is its file's and its own.
            let own = Message::default()
                .bytes(1, b"pool")
                .number(2, (number as u64) << 32 | at as u64)
                .number(3, 1)
                .number(4, block.len() as u64);
            let token = Message::default().bytes(1, b"").bytes(2, b"").bytes(3, b"").bytes(4, b"");
            let mut located = Message::default()
                .message(1, own)
                .number(2, (at * BLOCK) as u64)
                .number(4, 0)
                .message(5, token);
            // The nearer replica is the other one for every other block.
            for replica in 0..2 {
                let node = (replica + at) % 2;
                let id = Message::default()
                    .bytes(1, b"127.0.0.1")
                    .bytes(2, b"localhost")
                    .bytes(3, format!("node-{node}").as_bytes())
                    .number(4, u64::from(self.data_ports[node]))
                    .number(5, 0)
                    .number(6, 0);
                located = located.message(3, Message::default().message(1, id));
            }
            blocks = blocks.message(2, located);
        }
        Ok(Message::default().message(1, blocks.number(3, 0).number(5, 1)))
    }
}

#[derive(Clone)]
pub struct Cluster(Arc<Mutex<State>>);

impl Cluster {
    /// The cluster, and its name node's address.
    pub fn start() -> (Cluster, String) {
        let cluster = Cluster(Arc::default());
        for node in 0..2 {
            let (listener, port) = listen();
            cluster.state().data_ports[node] = port;
            let own = cluster.clone();
            serve(listener, move |stream| own.data_node(node, stream));
        }
        let (listener, port) = listen();
        let own = cluster.clone();
        serve(listener, move |stream| own.name_node(stream));
        (cluster, format!("hdfs://127.0.0.1:{port}"))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, path: &str, content: &[u8]) {
        self.state().files.insert(path.to_owned(), content.to_vec());
    }

    /// Bytes that were asked for since the last call.
    pub fn bytes_read(&self) -> u64 {
        std::mem::take(&mut self.state().reads).iter().map(|(_, _, _, length)| length).sum()
    }

    fn name_node(&self, mut stream: TcpStream) -> Option<()> {
        let mut garbled = 0;
        let mut greeting = [0; 7];
        stream.read_exact(&mut greeting).ok()?;
        assert_eq!(&greeting, b"hrpc\x09\x00\x00", "version 9, without authentication");
        loop {
            let mut length = [0; 4];
            stream.read_exact(&mut length).ok()?;
            let mut call = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut call).ok()?;
            let mut rest = &call[..];
            let header = delimited(&mut rest)?;
            let zigzag = number(header, 3);
            let id = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
            if id < 0 {
                // The connection context, which names the client and has no answer.
                continue;
            }
            let method = text(delimited(&mut rest)?, 1);
            let request = delimited(&mut rest)?;
            let fault = self.state().name_node;
            let answer = match fault {
                Fault::Dies => return None,
                Fault::Hangs => {
                    std::thread::sleep(Duration::from_secs(30));
                    return None;
                }
                Fault::Throws(exception) => Err((exception.to_owned(), "injected".to_owned())),
                _ => self.call(&method, request),
            };
            let mut reply = Vec::new();
            let head = Message::default().number(1, id as u64);
            match answer {
                Ok(message) => {
                    reply.extend(head.number(2, 0).delimited());
                    reply.extend(message.delimited());
                }
                Err((exception, what)) => {
                    let head = head.number(2, 1).bytes(4, exception.as_bytes()).bytes(5, what.as_bytes());
                    reply.extend(head.delimited());
                }
            }
            fault.garble(&mut garbled, &mut reply);
            stream.write_all(&(reply.len() as u32).to_be_bytes()).ok()?;
            stream.write_all(&reply).ok()?;
        }
    }

    fn call(&self, method: &str, request: &[u8]) -> Result<Message, (String, String)> {
        let mut state = self.state();
        let path = text(request, 1);
        if method == "getListing" {
            if state.private.contains(&path) {
                let class = "org.apache.hadoop.security.AccessControlException";
                return Err((
                    class.into(),
                    format!("Permission denied: access=READ_EXECUTE, inode=\"{path}\""),
                ));
            }
            state.listed.push(path.clone());
        }
        let folder = format!("{}/", path.trim_end_matches('/'));
        let is_folder = state.files.keys().any(|name| name.starts_with(&folder));
        match method {
            "getFileInfo" => Ok(match state.files.get(&path) {
                Some(content) => Message::default().message(1, state.status("", Some(content))),
                None if is_folder => Message::default().message(1, state.status("", None)),
                None => Message::default(),
            }),
            "getListing" => Ok(state.listing(&path, is_folder)),
            "getBlockLocations" => state.block_locations(&path),
            "getServerDefaults" => {
                let defaults = [BLOCK as u64, CHUNK as u64, PACKET as u64, 2, 4096];
                let fields =
                    (1..).zip(defaults).fold(Message::default(), |m, (at, value)| m.number(at, value));
                Ok(Message::default().message(1, fields))
            }
            other => Err(("java.lang.UnsupportedOperationException".into(), format!("{other} is not there"))),
        }
    }

    fn data_node(&self, node: usize, stream: TcpStream) -> Option<()> {
        let mut garbled = 1;
        let mut from = BufReader::new(stream.try_clone().ok()?);
        let mut to = stream;
        loop {
            let mut head = [0; 3];
            from.read_exact(&mut head).ok()?;
            assert_eq!(head, [0, 28, 81], "version 28, a block is read");
            let request = read_delimited(&mut from)?;
            let block = number(bytes(bytes(bytes(&request, 1), 1), 1), 2);
            let (offset, length) = (number(&request, 2), number(&request, 3));
            let (content, fault) = {
                let mut state = self.state();
                state.reads.push((node, block, offset, length));
                let file = state.files.values().nth((block >> 32) as usize)?;
                let content = file.chunks(BLOCK).nth(block as u32 as usize)?.to_vec();
                (content, state.data_nodes[node])
            };
            if fault == Fault::Hangs {
                std::thread::sleep(Duration::from_secs(30));
                return None;
            }
            let checksums = Message::default().number(1, 2).number(2, CHUNK as u64);
            let first = offset as usize / CHUNK * CHUNK;
            let info = Message::default().message(1, checksums).number(2, first as u64);
            let mut head = Message::default().number(1, 0).message(4, info).delimited();
            fault.garble(&mut garbled, &mut head);
            to.write_all(&head).ok()?;
            let end = ((offset + length) as usize).next_multiple_of(CHUNK).min(content.len());
            for (at, data) in content[first..end].chunks(PACKET).enumerate() {
                if fault == Fault::Dies && (at > 0 || data.len() < PACKET) {
                    return None;
                }
                let mut sums: Vec<u8> = data.chunks(CHUNK).flat_map(|c| crc32c(c).to_be_bytes()).collect();
                if fault == Fault::Corrupts {
                    sums[0] ^= 1;
                }
                let mut bytes = packet(first + at * PACKET, at as u64, false, &sums, data);
                fault.garble(&mut garbled, &mut bytes);
                to.write_all(&bytes).ok()?;
            }
            to.write_all(&packet(end, 1 << 20, true, &[], &[])).ok()?;
            // Whether the checksums were right.
            read_delimited(&mut from)?;
        }
    }
}

fn packet(offset: usize, number: u64, last: bool, sums: &[u8], data: &[u8]) -> Vec<u8> {
    let header = Message::default()
        .fixed64(1, offset as u64)
        .fixed64(2, number)
        .number(3, u64::from(last))
        .fixed32(4, data.len() as u32);
    let length = (4 + sums.len() + data.len()) as u32;
    let head = [&length.to_be_bytes()[..], &(header.0.len() as u16).to_be_bytes(), &header.0].concat();
    [&head, sums, data].concat()
}

fn read_delimited(from: &mut impl Read) -> Option<Vec<u8>> {
    let (mut length, mut shift) = (0usize, 0);
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte).ok()?;
        length |= usize::from(byte[0] & 0x7f) << shift;
        shift += 7;
        if byte[0] & 0x80 == 0 {
            break;
        }
    }
    let mut message = vec![0; length];
    from.read_exact(&mut message).ok()?;
    Some(message)
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn serve(listener: TcpListener, answer: impl Fn(TcpStream) -> Option<()> + Clone + Send + 'static) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || answer(stream));
        }
    });
}
