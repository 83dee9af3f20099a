//! ON DELETE and ON UPDATE of foreign keys: random statements on tables that refer to one another and to themselves,
//! compared with a model that looks at every row.

use std::collections::VecDeque;

use conformance::configuration;
use engine::{Session, SqlState};
use random::Random;

type Row = Vec<Option<i64>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Nothing,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

const ACTIONS: [(Action, &str); 5] = [
    (Action::Nothing, "NO ACTION"),
    (Action::Restrict, "RESTRICT"),
    (Action::Cascade, "CASCADE"),
    (Action::SetNull, "SET NULL"),
    (Action::SetDefault, "SET DEFAULT"),
];

/// Columns are numbers; the first is the primary key.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    defaults: &'static [Option<i64>],
    /// A second unique column.
    unique: Option<usize>,
}

// In the order of their names, in which the engine looks at them, too.
const TABLES: [Table; 3] = [
    Table {
        name: "c",
        columns: &["id", "p", "up", "q"],
        defaults: &[None, Some(1), None, None],
        unique: None,
    },
    Table { name: "g", columns: &["c", "x"], defaults: &[Some(2), Some(3)], unique: None },
    Table { name: "p", columns: &["id", "u"], defaults: &[None, None], unique: Some(1) },
];
const C: usize = 0;
const G: usize = 1;
const P: usize = 2;

/// Child, its column, parent, its column.
const KEYS: [(usize, usize, usize, usize); 5] =
    [(C, 1, P, 0), (C, 2, C, 0), (C, 3, P, 1), (G, 0, C, 0), (G, 1, C, 0)];

struct Key {
    place: (usize, usize, usize, usize),
    on_delete: Action,
    on_update: Action,
}

#[derive(Clone, Debug, PartialEq)]
struct Rows([Vec<Row>; 3]);

/// Rows of a table that went, each with its new version if it has one; with UPDATE, the columns it sets.
struct Event {
    table: usize,
    rows: Vec<(Row, Option<Row>)>,
    assigned: Option<Vec<usize>>,
}

impl Rows {
    /// Takes rows away and adds their new versions.
    fn apply(&mut self, event: &Event, added: &[Row]) -> Result<(), SqlState> {
        let table = &mut self.0[event.table];
        for (old, _) in &event.rows {
            let at = table.iter().position(|row| row == old).expect("the row is there");
            table.remove(at);
        }
        table.extend(event.rows.iter().filter_map(|(_, new)| new.clone()));
        table.extend(added.iter().cloned());
        if table.iter().any(|row| row[0].is_none()) {
            return Err(SqlState::NotNullViolation);
        }
        for column in [Some(0), TABLES[event.table].unique].into_iter().flatten() {
            let mut values: Vec<i64> = table.iter().filter_map(|row| row[column]).collect();
            let all = values.len();
            values.sort_unstable();
            values.dedup();
            if values.len() < all {
                return Err(SqlState::UniqueViolation);
            }
        }
        Ok(())
    }

    fn statement(&mut self, keys: &[Key], first: Event, added: &[Row]) -> Result<(), SqlState> {
        self.apply(&first, added)?;
        let mut events = VecDeque::from([first]);
        while let Some(event) = events.pop_front() {
            for updated in [false, true] {
                let went = |row: &&(Row, Option<Row>)| row.1.is_some() == updated;
                let touched = |key: &&Key| {
                    let (_, _, parent, column) = key.place;
                    parent == event.table && event.assigned.as_ref().is_none_or(|a| a.contains(&column))
                };
                let action = |key: &Key| if updated { key.on_update } else { key.on_delete };
                // A child's row goes with the one whose key it has.
                let followed = |rows: &Rows, key: &Key| -> Vec<(Row, Option<i64>)> {
                    let (child, own, _, column) = key.place;
                    let of = |row: &Row| {
                        let (_, new) = event.rows.iter().filter(went).find(|(old, new)| {
                            let other = new.as_ref().is_none_or(|new| new[column] != old[column]);
                            row[own].is_some() && old[column] == row[own] && other
                        })?;
                        Some((row.clone(), new.as_ref().and_then(|new| new[column])))
                    };
                    rows.0[child].iter().filter_map(of).collect()
                };
                for key in keys.iter().filter(touched).filter(|key| action(key) == Action::Restrict) {
                    if !followed(self, key).is_empty() {
                        return Err(SqlState::ForeignKeyViolation);
                    }
                }
                for key in keys.iter().filter(touched) {
                    let (child, own, ..) = key.place;
                    let default = TABLES[child].defaults[own];
                    let value = |new: Option<i64>| match action(key) {
                        Action::Nothing | Action::Restrict => None,
                        Action::Cascade if !updated => Some(None),
                        Action::Cascade => Some(Some(new)),
                        Action::SetNull => Some(Some(None)),
                        Action::SetDefault => Some(Some(default)),
                    };
                    let mut rows = Vec::new();
                    for (row, new) in followed(self, key) {
                        let Some(value) = value(new) else { continue };
                        let renewed = value.map(|value| {
                            let mut renewed = row.clone();
                            renewed[own] = value;
                            renewed
                        });
                        rows.push((row, renewed));
                    }
                    if !rows.is_empty() {
                        let deletes = rows[0].1.is_none();
                        let assigned = (!deletes).then(|| vec![own]);
                        let next = Event { table: child, rows, assigned };
                        self.apply(&next, &[])?;
                        events.push_back(next);
                    }
                }
            }
        }
        for key in keys {
            let (child, own, parent, column) = key.place;
            let there = |value| self.0[parent].iter().any(|row| row[column] == Some(value));
            if self.0[child].iter().filter_map(|row| row[own]).any(|value| !there(value)) {
                return Err(SqlState::ForeignKeyViolation);
            }
        }
        Ok(())
    }
}

fn literal(row: &Row) -> String {
    let values: Vec<String> = row.iter().map(|v| v.map_or("NULL".into(), |v| v.to_string())).collect();
    format!("({})", values.join(", "))
}

fn read(session: &Session) -> Rows {
    let rows = |table: &Table| -> Vec<Row> {
        let all = session.query(&format!("SELECT {} FROM {}", table.columns.join(", "), table.name)).unwrap();
        let row = |row| (0..table.columns.len()).map(|c| all.value(row, c).as_i64()).collect();
        (0..all.rows()).map(row).collect()
    };
    sorted(Rows(TABLES.each_ref().map(rows)))
}

fn sorted(mut rows: Rows) -> Rows {
    rows.0.iter_mut().for_each(|rows| rows.sort());
    rows
}

fn create(session: &Session, random: &mut Random) -> Vec<Key> {
    for table in [P, C, G] {
        let Table { name, columns, defaults, unique } = &TABLES[table];
        let columns: Vec<String> = columns
            .iter()
            .zip(*defaults)
            .enumerate()
            .map(|(at, (column, default))| {
                let default = default.map_or(String::new(), |value| format!(" DEFAULT {value}"));
                let key = if at == 0 { " PRIMARY KEY" } else { "" };
                let key = if *unique == Some(at) { " UNIQUE" } else { key };
                format!("{column} INTEGER{default}{key}")
            })
            .collect();
        session.query(&format!("CREATE TABLE {name} ({})", columns.join(", "))).unwrap();
    }
    let key = |place: &(usize, usize, usize, usize)| {
        let (child, own, parent, column) = *place;
        let mut action = || ACTIONS[random.weighted(&[10, 10, 40, 25, 15])];
        let ((on_delete, delete), (on_update, update)) = (action(), action());
        let (own, parent, column) =
            (TABLES[child].columns[own], TABLES[parent].name, TABLES[parent].columns[column]);
        let child = TABLES[child].name;
        session
            .query(&format!(
                "ALTER TABLE {child} ADD FOREIGN KEY ({own}) REFERENCES {parent} ({column}) \
                 ON DELETE {delete} ON UPDATE {update}"
            ))
            .unwrap();
        Key { place: *place, on_delete, on_update }
    };
    KEYS.iter().map(key).collect()
}

/// Rows to begin with, each of which refers to some.
fn begin(session: &Session) -> Rows {
    let p: Vec<Row> = (0..10).map(|i| vec![Some(i), Some(i + 1)]).collect();
    let above = |i: i64| (i > 1).then_some(i / 2);
    let c: Vec<Row> = (0..15).map(|i| vec![Some(i), Some(i % 10), above(i), Some(i % 7 + 1)]).collect();
    let g: Vec<Row> = (0..10).map(|i| vec![Some(i), Some((i + 3) % 15)]).collect();
    for (table, rows) in [("p", &p), ("c", &c), ("g", &g)] {
        let list: Vec<String> = rows.iter().map(literal).collect();
        session.query(&format!("INSERT INTO {table} VALUES {}", list.join(", "))).unwrap();
    }
    Rows([c, g, p])
}

/// A statement, what it does itself, and the rows it adds.
fn statement(random: &mut Random, rows: &Rows) -> (String, Event, Vec<Row>) {
    let table = random.below(3);
    let Table { name, columns, .. } = &TABLES[table];
    let own = &rows.0[table];
    let (from, to) = (random.between(0, 14), random.between(0, 2));
    let chosen = |row: &&Row| row[0].is_some_and(|id| (from..=from + to).contains(&id));
    let place = format!("{} BETWEEN {from} AND {}", columns[0], from + to);
    let nothing = |rows| Event { table, rows, assigned: None };
    match random.weighted(&[15, 25, 50, 10]) {
        0 => {
            let gone = own.iter().filter(chosen).map(|row| (row.clone(), None)).collect();
            (format!("DELETE FROM {name} WHERE {place}"), nothing(gone), vec![])
        }
        1 => {
            let column = random.below(columns.len());
            let by = random.between(-3, 30);
            let set = |row: &Row| {
                let mut new = row.clone();
                new[column] = new[column].map(|value| value + by);
                (row.clone(), Some(new))
            };
            let rows = own.iter().filter(chosen).map(set).collect();
            let sql = format!("UPDATE {name} SET {0} = {0} + {by} WHERE {place}", columns[column]);
            (sql, Event { table, rows, assigned: Some(vec![column]) }, vec![])
        }
        2 => {
            // Mostly what is there to refer to.
            let value = |random: &mut Random, column: usize| {
                let key = KEYS.iter().find(|(child, own, ..)| (*child, *own) == (table, column));
                let there: Vec<i64> = match key {
                    Some((_, _, parent, of)) => rows.0[*parent].iter().filter_map(|row| row[*of]).collect(),
                    None => vec![],
                };
                match there.is_empty() || random.chance(5) {
                    false => Some(*random.pick(&there)),
                    true if key.is_some() && random.chance(70) => None,
                    true => Some(random.between(0, 15)),
                }
            };
            let added: Vec<Row> = (0..1 + random.below(4))
                .map(|_| {
                    let mut row: Row = (0..columns.len()).map(|column| value(random, column)).collect();
                    row[0] = row[0].or(Some(random.between(0, 15)));
                    row
                })
                .collect();
            let list: Vec<String> = added.iter().map(literal).collect();
            (format!("INSERT INTO {name} VALUES {}", list.join(", ")), nothing(vec![]), added)
        }
        _ => {
            // Even keys go, odd ones are moved.
            let changed = |row: &Row| {
                let moved = row[0].filter(|id| id % 2 != 0).map(|id| {
                    let mut new = row.clone();
                    new[0] = Some(id + 40);
                    new
                });
                (row.clone(), moved)
            };
            let key = columns[0];
            let changed = own.iter().filter(chosen).map(changed).collect();
            let sql = format!(
                "MERGE INTO {name} USING generate_series({from}, {}) AS s(i) ON {name}.{key} = s.i \
                 WHEN MATCHED AND s.i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {key} = {name}.{key} + 40",
                from + to
            );
            (sql, nothing(changed), vec![])
        }
    }
}

#[test]
fn rows_follow_those_they_refer_to() {
    let configurations = configuration::all();
    let (mut done, mut refused, mut followed) = (0, 0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let session = configurations[seed as usize % configurations.len()].open().unwrap();
        let keys = create(&session, &mut random);
        let mut rows = begin(&session);
        let mut begun: Option<Rows> = None;
        for step in 0..60 {
            if random.chance(15) {
                match begun.take() {
                    None => {
                        session.query("BEGIN").unwrap();
                        begun = Some(rows.clone());
                    }
                    Some(before) if random.chance(40) => {
                        session.query("ROLLBACK").unwrap();
                        rows = before;
                    }
                    Some(_) => drop(session.query("COMMIT").unwrap()),
                }
            }
            let (sql, event, added) = statement(&mut random, &rows);
            let touched = event.table;
            let mut after = rows.clone();
            let expected = after.statement(&keys, event, &added);
            if begun.is_some() {
                session.query("SAVEPOINT s").unwrap();
            }
            let what = format!("seed {seed}, step {step}: {sql}\nbefore: {rows:?}");
            match (session.query(&sql), expected) {
                (Ok(_), Ok(())) => {
                    done += 1;
                    followed += (0..3).filter(|t| *t != touched && after.0[*t] != rows.0[*t]).count();
                    rows = after;
                }
                (Err(error), Err(_)) => {
                    let known = [
                        SqlState::NotNullViolation,
                        SqlState::UniqueViolation,
                        SqlState::ForeignKeyViolation,
                    ];
                    assert!(known.contains(&error.state()), "{what}: {error}");
                    refused += 1;
                    if begun.is_some() {
                        session.query("ROLLBACK TO s").unwrap();
                    }
                }
                (found, expected) => {
                    panic!("{what}\nfound {found:?}, expected {expected:?}\nafter: {after:?}")
                }
            }
            assert_eq!(read(&session), sorted(rows.clone()), "{what}");
        }
    }
    assert!(
        done > 500 && refused > 500 && followed > 100,
        "{done} done, {refused} refused, {followed} followed"
    );
}

#[test]
fn a_deep_tree_goes_with_its_root_and_endless_cycles_end() {
    let session = configuration::all()[0].open().unwrap();
    session
        .query("CREATE TABLE tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES tree ON DELETE CASCADE)")
        .unwrap();
    session
        .query("INSERT INTO tree SELECT i, nullif(i - 1, 0) FROM generate_series(1, 800) AS s(i)")
        .unwrap();
    assert_eq!(session.query("DELETE FROM tree WHERE id = 1").unwrap().tag(), "DELETE 1");
    assert_eq!(session.query("SELECT count(*) FROM tree").unwrap().value(0, 0).as_i64(), Some(0));
    // Two tables that hand an exchange of keys to each other for ever.
    for sql in [
        "CREATE TABLE a (id INTEGER PRIMARY KEY)",
        "CREATE TABLE b (id INTEGER PRIMARY KEY REFERENCES a ON UPDATE CASCADE)",
        "INSERT INTO a VALUES (1), (2)",
        "INSERT INTO b VALUES (1), (2)",
        "ALTER TABLE a ADD FOREIGN KEY (id) REFERENCES b ON UPDATE CASCADE",
    ] {
        session.query(sql).unwrap();
    }
    let error = session.query("UPDATE a SET id = 3 - id").unwrap_err();
    assert_eq!(error.state(), SqlState::StatementTooComplex, "{error}");
    session.query("UPDATE a SET id = 7 WHERE id = 1").unwrap();
    assert_eq!(session.query("SELECT sum(id) FROM b").unwrap().value(0, 0).as_i64(), Some(9));
}
