//! Generated histories over several sessions, searched for isolation anomalies.
//!
//! Every key holds a list, transactions append numbers of their own to lists and read them. What a transaction read
//! then tells whose writes it saw, and the lists that are left at the end tell the order of writes, so that the
//! dependencies between transactions are known and not guessed (A. Adya, B. Liskov, P. O'Neil, "Generalized Isolation
//! Level Definitions", ICDE 2000; K. Kingsbury, P. Alvaro, "Elle", PVLDB 2020):
//!
//! ```text
//!  ww  T appended to a list right behind what S had appended        S -> T
//!  wr  T read a list that ended with what S had appended            S -> T
//!  rw  S read a list behind which T appended                        S -> T
//! ```
//! A cycle of ww is G0 (dirty write), of ww and wr G1c, with exactly one rw G-single (read skew). Reads of what was
//! rolled back are G1a, of what a transaction had not finished appending G1b; an append that is not right behind what
//! its transaction had read is a lost update. Snapshot isolation lets none of them pass; SERIALIZABLE no cycle at
//! all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use engine::{Database, Options, Session, SqlState, Value};
use random::Random;

type Key = usize;

#[derive(Clone, Debug, PartialEq)]
enum Operation {
    Append(Key, i64),
    Read(Key, Vec<i64>),
}

#[derive(Clone, Debug)]
struct Transaction {
    operations: Vec<Operation>,
    committed: bool,
}

#[derive(Clone, Debug, Default)]
struct History {
    transactions: Vec<Transaction>,
    /// Each key's list at the end.
    last: BTreeMap<Key, Vec<i64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Edge {
    Ww,
    Wr,
    Rw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anomaly {
    Incompatible,
    G0,
    G1a,
    G1b,
    G1c,
    GSingle,
    G2,
    LostUpdate,
    Unrepeatable,
}

/// The anomalies of a history.
fn anomalies(history: &History) -> BTreeSet<Anomaly> {
    let mut check = Check::new(history);
    check.versions();
    for at in 0..history.transactions.len() {
        check.transaction(at);
    }
    check.cycles();
    check.found
}

/// A history that is looked through: who wrote which value, what depends on what, and the anomalies found so far.
struct Check<'h> {
    history: &'h History,
    writer: HashMap<i64, usize>,
    edges: BTreeSet<(usize, usize, Edge)>,
    found: BTreeSet<Anomaly>,
}

/// What a transaction saw of others by key, and what it appended itself.
#[derive(Default)]
struct Seen {
    own: HashMap<Key, Vec<i64>>,
    before: HashMap<Key, Vec<i64>>,
}

impl<'h> Check<'h> {
    fn new(history: &'h History) -> Self {
        let mut writer: HashMap<i64, usize> = HashMap::new();
        for (at, transaction) in history.transactions.iter().enumerate() {
            for operation in &transaction.operations {
                if let Operation::Append(_, value) = operation {
                    writer.insert(*value, at);
                }
            }
        }
        Check { history, writer, edges: BTreeSet::new(), found: BTreeSet::new() }
    }

    fn committed(&self, at: usize) -> bool {
        self.history.transactions[at].committed
    }

    /// A key's list at the end.
    fn last(&self, key: Key) -> &'h [i64] {
        self.history.last.get(&key).map_or(&[][..], Vec::as_slice)
    }

    /// The lists at the end: values of what was rolled back, and the order in which transactions wrote.
    fn versions(&mut self) {
        for values in self.history.last.values() {
            if values.iter().any(|v| self.writer.get(v).is_none_or(|at| !self.committed(*at))) {
                self.found.insert(Anomaly::G1a);
            }
            for pair in values.windows(2) {
                if let (Some(a), Some(b)) = (self.writer.get(&pair[0]), self.writer.get(&pair[1]))
                    && a != b
                {
                    self.edges.insert((*a, *b, Edge::Ww));
                }
            }
        }
    }

    /// One transaction: its reads beside each other, beside the lists at the end, and whether its appends are kept.
    fn transaction(&mut self, at: usize) {
        let seen = self.reads(at);
        for (key, values) in &seen.before {
            self.read(at, values, self.last(*key), seen.own.get(key));
        }
        let kept = |(key, values): (&Key, &Vec<i64>)| values.iter().all(|v| self.last(*key).contains(v));
        if self.committed(at) && !seen.own.iter().all(kept) {
            self.found.insert(Anomaly::LostUpdate);
        }
    }

    /// What the transaction read, without its own appends, which are at the end of what it reads.
    fn reads(&mut self, at: usize) -> Seen {
        let Seen { mut own, mut before } = Seen::default();
        for operation in &self.history.transactions[at].operations {
            match operation {
                Operation::Append(key, value) => own.entry(*key).or_default().push(*value),
                Operation::Read(key, seen) => {
                    let mine = own.get(key).map_or(&[][..], Vec::as_slice);
                    let Some(others) = seen.strip_suffix(mine) else {
                        self.found.insert(Anomaly::Unrepeatable);
                        continue;
                    };
                    if before.insert(*key, others.to_vec()).is_some_and(|known| known != others) {
                        self.found.insert(Anomaly::Unrepeatable);
                    }
                }
            }
        }
        Seen { own, before }
    }

    /// What a transaction saw of a key, beside the key's list at the end.
    fn read(&mut self, at: usize, seen: &[i64], last: &[i64], own: Option<&Vec<i64>>) {
        let writer = &self.writer;
        if seen.iter().any(|v| writer.get(v).is_none_or(|w| *w != at && !self.committed(*w))) {
            self.found.insert(Anomaly::G1a);
            return;
        }
        if !last.starts_with(seen) {
            // A list that is no prefix of the last one: an append is lost.
            self.found.insert(Anomaly::Incompatible);
            return;
        }
        if let Some(value) = seen.last() {
            let by = writer[value];
            if by != at {
                self.edges.insert((by, at, Edge::Wr));
                let next = last.get(seen.len()).and_then(|v| writer.get(v));
                if next == Some(&by) {
                    self.found.insert(Anomaly::G1b);
                }
            }
        }
        if !self.committed(at) {
            return;
        }
        if let Some(next) = last.get(seen.len()).and_then(|v| writer.get(v))
            && *next != at
        {
            self.edges.insert((at, *next, Edge::Rw));
        }
        if let Some(first) = own.and_then(|values| values.first())
            && last.iter().position(|v| v == first) != Some(seen.len())
        {
            self.found.insert(Anomaly::LostUpdate);
        }
    }

    /// Cycles of what committed transactions depend on.
    fn cycles(&mut self) {
        let Check { history, edges, found, .. } = self;
        edges.retain(|(from, to, _)| {
            history.transactions[*from].committed && history.transactions[*to].committed
        });
        let only = |kinds: &[Edge]| -> Vec<(usize, usize)> {
            edges
                .iter()
                .filter(|(_, _, kind)| kinds.contains(kind))
                .map(|(from, to, _)| (*from, *to))
                .collect()
        };
        let count = history.transactions.len();
        let (ww, depends) = (only(&[Edge::Ww]), only(&[Edge::Ww, Edge::Wr]));
        if has_cycle(count, &ww) {
            found.insert(Anomaly::G0);
        }
        if has_cycle(count, &depends) {
            found.insert(Anomaly::G1c);
        }
        let reach = reachable(count, &depends);
        if edges.iter().any(|(from, to, kind)| *kind == Edge::Rw && reach[*to].contains(from)) {
            found.insert(Anomaly::GSingle);
        }
        if has_cycle(count, &only(&[Edge::Ww, Edge::Wr, Edge::Rw])) {
            found.insert(Anomaly::G2);
        }
    }
}

/// By transaction, those that are reached over the edges; itself only over a cycle.
fn reachable(count: usize, edges: &[(usize, usize)]) -> Vec<BTreeSet<usize>> {
    let mut next: Vec<Vec<usize>> = vec![vec![]; count];
    edges.iter().for_each(|(from, to)| next[*from].push(*to));
    (0..count)
        .map(|start| {
            let (mut seen, mut open) = (BTreeSet::new(), next[start].clone());
            while let Some(at) = open.pop() {
                if seen.insert(at) {
                    open.extend(&next[at]);
                }
            }
            seen
        })
        .collect()
}

fn has_cycle(count: usize, edges: &[(usize, usize)]) -> bool {
    reachable(count, edges).iter().enumerate().any(|(at, reached)| reached.contains(&at))
}

fn read(session: &Session, key: Key) -> engine::Result<Vec<i64>> {
    let result = session.query(&format!("SELECT v FROM lists WHERE k = {key}"))?;
    assert_eq!(result.rows(), 1, "key {key} is there once");
    match result.value(0, 0) {
        Value::Null => Ok(vec![]),
        value => {
            let text = value.as_text().expect("a text").to_owned();
            Ok(text.split(',').filter(|v| !v.is_empty()).map(|v| v.parse().expect("a number")).collect())
        }
    }
}

/// Appends in one of several ways, which all are changes of the row.
fn append(session: &Session, random: &mut Random, key: Key, value: i64) -> engine::Result<()> {
    let sql = match random.below(4) {
        0 | 1 => format!("UPDATE lists SET v = v || ',{value}' WHERE k = {key}"),
        2 => format!(
            "INSERT INTO lists VALUES ({key}, ',{value}') ON CONFLICT (k) DO UPDATE SET v = lists.v || excluded.v"
        ),
        _ => format!(
            "MERGE INTO lists USING (VALUES ({key})) AS n(k) ON lists.k = n.k WHEN MATCHED THEN UPDATE SET v = v || ',{value}'"
        ),
    };
    session.query(&sql).map(|_| ())
}

fn database(keys: usize, block_rows: usize) -> Database {
    let database =
        Database::in_memory(Options { workers: Some(2), memory_bytes: Some(1 << 30), ..Default::default() })
            .unwrap();
    let session = database.session();
    session.query("CREATE TABLE lists (k INTEGER PRIMARY KEY, v TEXT NOT NULL)").unwrap();
    for first in (0..keys).step_by(block_rows) {
        let rows: Vec<String> =
            (first..(first + block_rows).min(keys)).map(|k| format!("({k}, '')")).collect();
        session.query(&format!("INSERT INTO lists VALUES {}", rows.join(", "))).unwrap();
    }
    database
}

/// What one session is doing.
struct Client {
    session: Session,
    open: Option<Transaction>,
    savepoint: Option<usize>,
}

impl Client {
    /// One step; the transaction if it has ended with it.
    fn step(&mut self, random: &mut Random, keys: usize, next: &mut i64, level: &str) -> Option<Transaction> {
        let key = random.below(keys);
        let Some(open) = &mut self.open else {
            if random.below(5) == 0 {
                // A statement alone always succeeds: it is run again when others were faster.
                *next += 1;
                append(&self.session, random, key, *next).unwrap();
                return Some(Transaction {
                    operations: vec![Operation::Append(key, *next)],
                    committed: true,
                });
            }
            self.session.query(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
            self.open = Some(Transaction { operations: vec![], committed: false });
            self.savepoint = None;
            return None;
        };
        match random.below(12) {
            0..=4 => {
                let seen = read(&self.session, key).unwrap();
                open.operations.push(Operation::Read(key, seen));
            }
            5..=7 => {
                *next += 1;
                append(&self.session, random, key, *next).unwrap();
                open.operations.push(Operation::Append(key, *next));
            }
            8 => {
                self.session.query("SAVEPOINT s").unwrap();
                self.savepoint = Some(open.operations.len());
            }
            9 => {
                if let Some(length) = self.savepoint {
                    self.session.query("ROLLBACK TO s").unwrap();
                    open.operations.truncate(length);
                }
            }
            10 if random.below(2) == 0 => {
                self.session.query("ROLLBACK").unwrap();
                return self.open.take();
            }
            _ => {
                let outcome = self.session.query("COMMIT");
                let mut ended = self.open.take()?;
                match outcome {
                    Ok(_) => ended.committed = true,
                    Err(error) => assert_eq!(error.state(), SqlState::SerializationFailure, "{error}"),
                }
                assert!(!self.session.in_transaction());
                return Some(ended);
            }
        }
        None
    }
}

fn finish(database: &Database, keys: usize, transactions: Vec<Transaction>) -> History {
    let session = database.session();
    let last = (0..keys).map(|key| (key, read(&session, key).unwrap())).collect();
    History { transactions, last }
}

/// Sessions take their steps in a random order, on one thread.
fn interleaved(seed: u64, level: &str) -> History {
    let mut random = Random::new(seed);
    let keys = 1 + random.below(5);
    let database = database(keys, 1 + random.below(4));
    let mut clients: Vec<Client> = (0..2 + random.below(4))
        .map(|_| Client { session: database.session(), open: None, savepoint: None })
        .collect();
    let (mut ended, mut next) = (Vec::new(), 0);
    for _ in 0..120 {
        let at = random.below(clients.len());
        ended.extend(clients[at].step(&mut random, keys, &mut next, level));
    }
    for mut client in clients {
        ended.extend(client.open.take());
    }
    finish(&database, keys, ended)
}

fn check(history: &History, allowed: &[Anomaly], what: &str) {
    let found: Vec<Anomaly> = anomalies(history).into_iter().filter(|a| !allowed.contains(a)).collect();
    assert!(found.is_empty(), "{what}: {found:?}\n{history:#?}");
}

#[test]
fn snapshot_isolation_holds_in_interleaved_histories() {
    let (mut committed, mut refused, mut skewed) = (0, 0, 0);
    for seed in 0..150 {
        let history = interleaved(seed, "REPEATABLE READ");
        check(&history, &[Anomaly::G2], &format!("seed {seed}"));
        committed += history.transactions.iter().filter(|t| t.committed).count();
        refused += history.transactions.iter().filter(|t| !t.committed).count();
        skewed += usize::from(anomalies(&history).contains(&Anomaly::G2));
    }
    println!("{committed} committed, {refused} not, write skew in {skewed} histories");
    assert!(committed > 1000 && refused > 300, "{committed} committed, {refused} not");
    assert!(skewed > 0, "write skew is what snapshot isolation lets pass: the search would find it");
}

#[test]
fn serializable_histories_have_no_cycle() {
    let mut committed = 0;
    for seed in 1000..1100 {
        let history = interleaved(seed, "SERIALIZABLE");
        check(&history, &[], &format!("seed {seed}"));
        committed += history.transactions.iter().filter(|t| t.committed).count();
    }
    assert!(committed > 500, "{committed} committed");
}

#[test]
fn snapshot_isolation_holds_between_threads() {
    let keys = 4;
    for seed in 0..6 {
        let database = database(keys, 2);
        let ended = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (database, ended) = (&database, &ended);
                scope.spawn(move || {
                    let mut random = Random::new(seed * 100 + thread);
                    let mut next = (thread as i64 + 1) << 32;
                    let session = database.session();
                    let mut client = Client { session, open: None, savepoint: None };
                    for _ in 0..120 {
                        let done = client.step(&mut random, keys, &mut next, "REPEATABLE READ");
                        ended.lock().unwrap().extend(done);
                    }
                    ended.lock().unwrap().extend(client.open.take());
                });
            }
        });
        let history = finish(&database, keys, ended.into_inner().unwrap());
        check(&history, &[Anomaly::G2], &format!("threads, seed {seed}"));
    }
}

/// The search finds what is planted.
#[test]
fn planted_anomalies_are_found() {
    use Operation::{Append as A, Read as R};
    let of = |transactions: &[(&[Operation], bool)], last: &[&[i64]]| {
        let transactions = transactions
            .iter()
            .map(|(operations, committed)| Transaction {
                operations: operations.to_vec(),
                committed: *committed,
            })
            .collect();
        let last = last.iter().enumerate().map(|(key, values)| (key, values.to_vec())).collect();
        anomalies(&History { transactions, last })
    };
    let clean = of(&[(&[A(0, 1)], true), (&[R(0, vec![1]), A(0, 2)], true)], &[&[1, 2]]);
    assert!(clean.is_empty(), "{clean:?}");
    let dirty = of(&[(&[A(0, 1)], false), (&[R(0, vec![1])], true)], &[&[]]);
    assert!(dirty.contains(&Anomaly::G1a));
    let midway = of(&[(&[A(0, 1), A(0, 2)], true), (&[R(0, vec![1])], true)], &[&[1, 2]]);
    assert!(midway.contains(&Anomaly::G1b));
    let dirty_write = of(&[(&[A(0, 1), A(1, 2)], true), (&[A(0, 3), A(1, 4)], true)], &[&[1, 3], &[4, 2]]);
    assert!(dirty_write.contains(&Anomaly::G0));
    let circular = of(&[(&[A(0, 1), R(1, vec![2])], true), (&[A(1, 2), R(0, vec![1])], true)], &[&[1], &[2]]);
    assert!(circular.contains(&Anomaly::G1c));
    let read_skew = of(&[(&[A(0, 1), A(1, 2)], true), (&[R(0, vec![]), R(1, vec![2])], true)], &[&[1], &[2]]);
    assert!(read_skew.contains(&Anomaly::GSingle));
    let write_skew = of(&[(&[R(0, vec![]), A(1, 1)], true), (&[R(1, vec![]), A(0, 2)], true)], &[&[2], &[1]]);
    assert_eq!(write_skew.into_iter().collect::<Vec<_>>(), [Anomaly::G2]);
    let lost = of(&[(&[R(0, vec![]), A(0, 1)], true), (&[R(0, vec![]), A(0, 2)], true)], &[&[2]]);
    assert!(lost.contains(&Anomaly::LostUpdate));
    let between = of(&[(&[R(0, vec![]), A(0, 1)], true), (&[R(0, vec![]), A(0, 2)], true)], &[&[1, 2]]);
    assert!(between.contains(&Anomaly::LostUpdate));
    let changed = of(&[(&[A(0, 1)], true), (&[R(0, vec![]), R(0, vec![1])], true)], &[&[1]]);
    assert!(changed.contains(&Anomaly::Unrepeatable));
}

/// Two sessions each look at both accounts and draw from one.
#[test]
fn write_skew_passes_only_below_serializable() {
    for (level, both) in [("REPEATABLE READ", true), ("SERIALIZABLE", false)] {
        let database =
            Database::in_memory(Options { workers: Some(1), memory_bytes: None, ..Default::default() })
                .unwrap();
        let (a, b) = (database.session(), database.session());
        a.execute(
            "CREATE TABLE account (id INTEGER, sum INTEGER); INSERT INTO account VALUES (1, 50), (2, 50)",
        )
        .unwrap();
        for session in [&a, &b] {
            session.query(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
            let total = session.query("SELECT sum(sum) FROM account").unwrap();
            assert_eq!(total.value(0, 0).as_i128(), Some(100));
        }
        a.query("UPDATE account SET sum = sum - 100 WHERE id = 1").unwrap();
        b.query("UPDATE account SET sum = sum - 100 WHERE id = 2").unwrap();
        a.query("COMMIT").unwrap();
        let second = b.query("COMMIT");
        assert_eq!(second.is_ok(), both, "{level}");
        if let Err(error) = second {
            assert_eq!(error.state(), SqlState::SerializationFailure);
        }
    }
}

/// Keys and references hold whatever others commit in between.
#[test]
fn keys_hold_between_transactions() {
    let database =
        Database::in_memory(Options { workers: Some(1), memory_bytes: None, ..Default::default() }).unwrap();
    let (a, b) = (database.session(), database.session());
    a.execute(
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p INTEGER REFERENCES p); INSERT INTO p VALUES (1), (2)",
    )
    .unwrap();
    let clash = |first: &str, second: &str, state: SqlState| {
        a.query("BEGIN").unwrap();
        b.query("BEGIN").unwrap();
        a.query(first).unwrap();
        b.query(second).unwrap();
        a.query("COMMIT").unwrap();
        let error = b.query("COMMIT").unwrap_err();
        assert_eq!(error.state(), state, "{first}, {second}: {error}");
        assert!(!b.in_transaction());
    };
    clash("INSERT INTO p VALUES (3)", "INSERT INTO p VALUES (3)", SqlState::UniqueViolation);
    clash("INSERT INTO p VALUES (4)", "UPDATE p SET id = 4 WHERE id = 3", SqlState::UniqueViolation);
    clash("DELETE FROM p WHERE id = 2", "INSERT INTO c VALUES (2)", SqlState::ForeignKeyViolation);
    clash("INSERT INTO c VALUES (1)", "DELETE FROM p WHERE id = 1", SqlState::SerializationFailure);
    clash("UPDATE p SET id = id", "DELETE FROM p WHERE id = 3", SqlState::SerializationFailure);
    clash("INSERT INTO c VALUES (3)", "TRUNCATE c", SqlState::SerializationFailure);
}
