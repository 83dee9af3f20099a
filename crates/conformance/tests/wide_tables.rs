//! Wide tables compared with their base tables: SSB's queries, and random stars under random changes, each answered
//! with the switch on and off; which plans use them; what commits of others do to them; restart, export and import.

use std::path::PathBuf;

use conformance::answers::{first_difference, parse};
use conformance::configuration;
use conformance::repository;
use engine::{Database, Options, ResultSet, Session, SqlState, Value};
use random::Random;

fn run(session: &Session, text: &str) {
    session.query(text).unwrap_or_else(|e| panic!("{text}\n{}", e.render(text)));
}

fn plan(session: &Session, query: &str) -> String {
    let text = format!("EXPLAIN {query}");
    let result = session.query(&text).unwrap_or_else(|e| panic!("{}", e.render(&text)));
    let line = |row| result.value(row, 0).as_text().unwrap_or_default().to_owned();
    (0..result.rows()).map(line).collect::<Vec<_>>().join("\n")
}

fn uses_wide(session: &Session, query: &str) -> bool {
    plan(session, query).contains("wide table, in place of")
}

fn rows(result: &ResultSet) -> Vec<Vec<Value>> {
    let width = result.schema().len();
    let row = |row| (0..width).map(|column| result.value(row, column)).collect();
    let mut rows: Vec<Vec<Value>> = (0..result.rows()).map(row).collect();
    rows.sort();
    rows
}

fn answer(session: &Session, query: &str) -> Vec<Vec<Value>> {
    rows(&session.query(query).unwrap_or_else(|e| panic!("{query}\n{}", e.render(query))))
}

/// The rows of a query with wide tables; they are those without.
fn same_answer(session: &Session, query: &str) -> Vec<Vec<Value>> {
    run(session, "SET wide_tables = off");
    let plain = answer(session, query);
    run(session, "SET wide_tables = on");
    assert_eq!(answer(session, query), plain, "{query}\n{}", plan(session, query));
    plain
}

fn is_stale(session: &Session, name: &str) -> bool {
    let query = format!("SELECT is_stale FROM quickstep_wide_tables() WHERE table_name = '{name}'");
    session.query(&query).unwrap().value(0, 0) == Value::Bool(true)
}

/// All 13 queries read the wide table alone, and answer as recorded.
fn ssb(scale: &str, with: &str) {
    let session = configuration::standard().open().unwrap();
    run(&session, &format!("CALL ssb(scale => {scale})"));
    let references = [
        ("customer", "lo_custkey"),
        ("part", "lo_partkey"),
        ("supplier", "lo_suppkey"),
        ("ddate", "lo_orderdate"),
    ];
    for (dimension, own) in references {
        run(&session, &format!("ALTER TABLE lineorder ADD FOREIGN KEY ({own}) REFERENCES {dimension}"));
    }
    run(&session, "ALTER TABLE lineorder ADD FOREIGN KEY (lo_commitdate) REFERENCES ddate");
    run(&session, &format!("CREATE WIDE TABLE ssb_wide FROM lineorder {with}"));
    let folder = repository().join("tests/answers");
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder.join("queries/ssb")).unwrap().flatten().map(|e| e.path()).collect();
    names.sort();
    assert_eq!(names.len(), 13);
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let shown = plan(&session, &text);
        assert!(shown.contains("wide table, in place of lineorder"), "{}:\n{shown}", path.display());
        assert!(!shown.contains("Join"), "{}:\n{shown}", path.display());
        same_answer(&session, &text);
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if let Ok(expected) = std::fs::read_to_string(folder.join(format!("ssb-sf{scale}/{stem}.tsv"))) {
            let result = session.query(&text).unwrap();
            assert_eq!(first_difference(&result, &parse(&expected)), None, "{stem}");
        }
    }
}

#[test]
fn ssb_small() {
    ssb("0.01", "WITH (index = 'bitweaving(c_region), bitweaving(s_region), sma(lo_orderdate)')");
}

#[test]
fn ssb_scale_1() {
    ssb("1", "");
}

fn shop(session: &Session) {
    for text in [
        "CREATE TABLE region (r_id INTEGER PRIMARY KEY, r_name TEXT)",
        "CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_size INTEGER, s_region INTEGER REFERENCES region)",
        "CREATE TABLE item (i_id INTEGER PRIMARY KEY, i_name TEXT)",
        "CREATE TABLE sale (id INTEGER, shop INTEGER REFERENCES shop, other INTEGER REFERENCES shop, \
         item INTEGER NOT NULL REFERENCES item, n INTEGER)",
        "INSERT INTO region VALUES (1, 'north'), (2, 'south'), (3, NULL)",
        "INSERT INTO shop VALUES (1, 10, 1), (2, 20, 2), (3, NULL, NULL), (4, 10, 3)",
        "INSERT INTO item VALUES (1, 'cup'), (2, 'hat'), (3, NULL)",
        "INSERT INTO sale VALUES (1, 1, 2, 1, 5), (2, NULL, 1, 2, 6), (3, 3, 3, 3, NULL), (4, 4, NULL, 1, 7)",
        "CREATE WIDE TABLE wide FROM sale",
    ] {
        run(session, text);
    }
}

#[test]
fn what_is_rewritten_and_what_is_not() {
    let session = configuration::standard().open().unwrap();
    shop(&session);
    let rewritten = [
        "SELECT n, s_size FROM sale JOIN shop ON shop = s_id",
        "SELECT sum(n) FROM sale, shop, item WHERE s_id = shop AND item = i_id AND i_name LIKE 'c%'",
        "SELECT r_name, count(*) FROM sale JOIN shop ON other = s_id JOIN region ON s_region = r_id GROUP BY 1",
        "SELECT a.s_size, b.s_size FROM sale JOIN shop a ON shop = a.s_id LEFT JOIN shop b ON other = b.s_id",
        "SELECT n FROM shop RIGHT JOIN sale ON shop = s_id",
        "SELECT (SELECT max(s_size) FROM sale JOIN shop ON shop = s_id)",
        "SELECT s.n FROM (SELECT n, item FROM sale JOIN shop ON shop = s_id WHERE s_size > 3) s, item WHERE i_id = s.item",
        "SELECT id, row_number() OVER (ORDER BY id) FROM sale JOIN item ON item = i_id",
        "SELECT id FROM sale JOIN item ON item = i_id UNION ALL SELECT r_id FROM region",
        // What the wide table does not have is joined to it.
        "SELECT count(*) FROM sale JOIN shop ON shop = s_id JOIN (VALUES (5), (6)) AS v(x) ON n = x",
        "SELECT count(*) FROM sale JOIN shop ON shop = s_id JOIN region ON r_id = n",
    ];
    for query in rewritten {
        assert!(uses_wide(&session, query), "{query}\n{}", plan(&session, query));
        same_answer(&session, query);
    }
    let not = [
        "SELECT sum(n) FROM sale",
        "SELECT * FROM shop JOIN region ON s_region = r_id",
        "SELECT count(*) FROM sale JOIN shop ON n = s_id",
        "SELECT count(*) FROM sale FULL JOIN shop ON shop = s_id",
        "SELECT count(*) FROM shop LEFT JOIN sale ON shop = s_id",
        "SELECT count(*) FROM sale LEFT JOIN shop ON shop = s_id AND s_size > 10 WHERE s_size IS NULL",
        "SELECT count(*) FROM sale JOIN shop ON shop < s_id",
        "SELECT count(*) FROM sale TABLESAMPLE system (50) REPEATABLE (1) JOIN shop ON shop = s_id",
    ];
    for query in not {
        assert!(!uses_wide(&session, query), "{query}\n{}", plan(&session, query));
        same_answer(&session, query);
    }
    let query = rewritten[0];
    run(&session, "SET wide_tables = off");
    assert!(!uses_wide(&session, query));
    run(&session, "SET wide_tables = on");
    run(&session, "UPDATE item SET i_name = 'mug' WHERE i_id = 1");
    assert!(is_stale(&session, "wide") && !uses_wide(&session, query));
    assert_eq!(session.query("SELECT * FROM wide").unwrap_err().state(), SqlState::NotInPrerequisiteState);
    run(&session, "REFRESH WIDE TABLE wide");
    assert!(uses_wide(&session, query));
    // Rows are changed through their own table.
    run(&session, "UPDATE sale SET n = 9 FROM shop WHERE shop = s_id AND s_size = 10");
    assert_eq!(same_answer(&session, "SELECT count(*) FROM sale WHERE n = 9")[0][0], Value::I64(2));
}

/// What commits of one session do to a wide table that another one has read or is about to extend.
#[test]
fn commits_of_others() {
    let one = configuration::standard().open().unwrap();
    let two = one.database().session();
    shop(&one);
    let query = "SELECT id, s_size, i_name FROM sale JOIN shop ON shop = s_id JOIN item ON item = i_id";

    // A snapshot keeps the wide table that shows it.
    run(&one, "BEGIN");
    let before = same_answer(&one, query);
    run(&two, "INSERT INTO sale VALUES (10, 1, 1, 1, 1)");
    run(&two, "UPDATE shop SET s_size = 99 WHERE s_id = 1");
    assert!(is_stale(&two, "wide") && !is_stale(&one, "wide"));
    assert!(uses_wide(&one, query));
    assert_eq!(same_answer(&one, query), before);
    run(&one, "COMMIT");
    assert_ne!(same_answer(&one, query), before);

    // Rows that were flattened with what others have changed since do not get into a later build.
    run(&one, "REFRESH WIDE TABLE wide");
    run(&one, "BEGIN");
    run(&one, "INSERT INTO sale VALUES (11, 2, 2, 2, 2)");
    run(&two, "UPDATE shop SET s_size = 55 WHERE s_id = 4");
    run(&two, "REFRESH WIDE TABLE wide");
    run(&one, "COMMIT");
    assert!(is_stale(&one, "wide"));
    same_answer(&one, query);

    // Both add rows: both are there.
    run(&one, "REFRESH WIDE TABLE wide");
    run(&one, "BEGIN");
    run(&one, "INSERT INTO sale VALUES (12, 2, 2, 2, 2)");
    run(&two, "INSERT INTO sale VALUES (13, 3, 3, 3, 3)");
    run(&two, "INSERT INTO item VALUES (4, 'pen')");
    run(&one, "INSERT INTO sale VALUES (14, 4, 4, 1, 2)");
    run(&one, "COMMIT");
    assert!(!is_stale(&one, "wide"));
    let count = |session: &Session| same_answer(session, &format!("SELECT count(*) FROM ({query}) q"));
    assert_eq!(count(&one)[0][0], Value::I64(8));

    // Rows that knew of no build are in none.
    run(&two, "UPDATE item SET i_name = 'pencil' WHERE i_id = 4");
    run(&one, "BEGIN");
    run(&one, "INSERT INTO sale VALUES (15, 1, 1, 4, 1)");
    run(&two, "REFRESH WIDE TABLE wide");
    run(&one, "COMMIT");
    assert!(is_stale(&one, "wide"));
    same_answer(&one, query);

    // A build of tables that others have changed is no build.
    run(&one, "BEGIN");
    run(&one, "REFRESH WIDE TABLE wide");
    run(&two, "DELETE FROM sale WHERE id = 15");
    assert_eq!(one.query("COMMIT").unwrap_err().state(), SqlState::SerializationFailure);
    assert!(is_stale(&one, "wide"));
    run(&one, "BEGIN");
    run(&one, "CREATE WIDE TABLE second FROM sale");
    run(&two, "INSERT INTO sale VALUES (16, 1, 1, 4, 1)");
    assert_eq!(one.query("COMMIT").unwrap_err().state(), SqlState::SerializationFailure);

    // Dropped while another session extends it.
    run(&one, "REFRESH WIDE TABLE wide");
    run(&one, "BEGIN");
    run(&one, "INSERT INTO sale VALUES (17, 1, 1, 4, 1)");
    run(&two, "DROP TABLE wide");
    run(&one, "COMMIT");
    same_answer(&one, query);

    // A wide table that was made meanwhile lacks the rows.
    run(&one, "BEGIN");
    run(&one, "INSERT INTO sale VALUES (18, 1, 1, 4, 1)");
    run(&two, "CREATE WIDE TABLE third FROM sale");
    run(&one, "COMMIT");
    assert!(is_stale(&one, "third"));
    same_answer(&one, query);

    // All of it in one transaction.
    run(&one, "BEGIN");
    run(&one, "INSERT INTO sale VALUES (19, 1, 1, 4, 1)");
    run(&one, "REFRESH WIDE TABLE third");
    run(&one, "INSERT INTO sale VALUES (20, 1, NULL, 2, 1)");
    same_answer(&one, query);
    run(&one, "SAVEPOINT s");
    run(&one, "DELETE FROM sale WHERE id = 19");
    assert!(is_stale(&one, "third"));
    run(&one, "ROLLBACK TO SAVEPOINT s");
    assert!(uses_wide(&one, query));
    run(&one, "COMMIT");
    assert!(!is_stale(&two, "third"));
    same_answer(&two, query);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("quickstep-wide-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn open(folder: &std::path::Path) -> Database {
    let options = Options { workers: Some(2), memory_bytes: Some(4 << 30), ..Options::default() };
    Database::open(Some(&folder.to_string_lossy()), options).unwrap()
}

#[test]
fn restart_export_and_import() {
    let (place, exported, again) = (folder("database"), folder("exported"), folder("again"));
    let query =
        "SELECT id, s_size, r_name FROM sale JOIN shop ON shop = s_id LEFT JOIN region ON s_region = r_id";
    let expected = {
        let database = open(&place);
        let session = database.session();
        shop(&session);
        run(&session, "CREATE INDEX by_size ON wide USING bitweaving (shop_s_size)");
        run(&session, "CHECKPOINT");
        // From the log alone.
        run(
            &session,
            "INSERT INTO sale SELECT x, 1 + x % 4, NULL, 1 + x % 3, x FROM generate_series(100, 200) AS g(x)",
        );
        run(&session, "INSERT INTO sale VALUES (300, 1, 1, 1, 1)");
        run(&session, "CREATE WIDE TABLE stale FROM (sale, item)");
        run(&session, "UPDATE item SET i_name = 'x' WHERE i_id = 2");
        run(&session, "REFRESH WIDE TABLE wide");
        run(&session, "INSERT INTO sale VALUES (301, 2, 1, 1, 1)");
        same_answer(&session, query)
    };
    {
        let database = open(&place);
        let session = database.session();
        assert!(uses_wide(&session, query) && !is_stale(&session, "wide") && is_stale(&session, "stale"));
        assert_eq!(same_answer(&session, query), expected);
        run(&session, "INSERT INTO sale VALUES (302, 2, 1, 1, 1)");
        same_answer(&session, query);
        run(&session, "DELETE FROM sale WHERE id = 302");
        run(&session, "REFRESH WIDE TABLE wide");
        run(&session, "REFRESH WIDE TABLE stale");
        run(&session, &format!("EXPORT DATABASE '{}'", exported.display()));
    }
    {
        let database = open(&again);
        let session = database.session();
        run(&session, &format!("IMPORT DATABASE '{}'", exported.display()));
        assert!(uses_wide(&session, query));
        assert_eq!(same_answer(&session, query), expected);
        let wide = "SELECT table_name, base_tables, rows FROM quickstep_wide_tables() ORDER BY 1";
        let first = open(&place).session();
        assert_eq!(answer(&session, wide), answer(&first, wide));
    }
    for folder in [place, exported, again] {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// A random star: a fact table, dimensions in several roles, some of which refer to others.
struct Star {
    /// Foreign keys of the fact table: the dimension, and whether it may be NULL.
    keys: Vec<(usize, bool)>,
    /// By dimension, the one that it refers to.
    outer: Vec<Option<usize>>,
    /// Dimensions whose key has two columns.
    pairs: Vec<bool>,
}

impl Star {
    fn new(random: &mut Random) -> Star {
        let dimensions = 2 + random.below(3);
        let keys = (0..1 + random.below(4)).map(|_| (random.below(dimensions), random.chance(60))).collect();
        let outer = (0..dimensions).map(|d| (d > 0 && random.chance(50)).then(|| random.below(d))).collect();
        let pairs = (0..dimensions).map(|_| random.chance(30)).collect();
        Star { keys, outer, pairs }
    }

    fn create(&self, session: &Session) {
        for (d, outer) in self.outer.iter().enumerate() {
            let mut columns = format!(
                "k{d} INTEGER NOT NULL, l{d} INTEGER NOT NULL, v{d} INTEGER, t{d} TEXT, same INTEGER"
            );
            columns.push_str(if self.pairs[d] { ", PRIMARY KEY (k@, l@)" } else { ", PRIMARY KEY (k@)" });
            columns = columns.replace('@', &d.to_string());
            if let Some(outer) = outer {
                columns.push_str(&format!(
                    ", o{d} INTEGER, p{d} INTEGER, {}",
                    self.foreign(*outer, &format!("o{d}"), &format!("p{d}"))
                ));
            }
            run(session, &format!("CREATE TABLE d{d} ({columns})"));
        }
        let mut columns = "id INTEGER, m INTEGER, same INTEGER".to_owned();
        for (at, (d, nullable)) in self.keys.iter().enumerate() {
            let null = if *nullable { "" } else { "NOT NULL" };
            columns.push_str(&format!(", f{at} INTEGER {null}, g{at} INTEGER {null}"));
            columns.push_str(&format!(", {}", self.foreign(*d, &format!("f{at}"), &format!("g{at}"))));
        }
        run(session, &format!("CREATE TABLE fact ({columns})"));
    }

    fn foreign(&self, to: usize, one: &str, two: &str) -> String {
        match self.pairs[to] {
            true => format!("FOREIGN KEY ({one}, {two}) REFERENCES d{to} (k{to}, l{to})"),
            false => format!("FOREIGN KEY ({one}) REFERENCES d{to} (k{to})"),
        }
    }

    fn joined(&self, to: usize, of: &str, one: &str, two: &str, alias: &str) -> String {
        match self.pairs[to] {
            true => format!("{of}.{one} = {alias}.k{to} AND {alias}.l{to} = {of}.{two}"),
            false => format!("{of}.{one} = {alias}.k{to}"),
        }
    }

    /// Values of a key: some in part NULL.
    fn reference(&self, random: &mut Random, to: usize, nullable: bool) -> String {
        let key = random.between(1, 6);
        let (one, two) = (key.to_string(), (key * 10).to_string());
        match (nullable, random.below(6)) {
            (true, 0) => "NULL, NULL".to_owned(),
            (true, 1) => format!("NULL, {two}"),
            (true, 2) => format!("{one}, NULL"),
            // Not looked at where the key has one column.
            (true, 3) if !self.pairs[to] => format!("{one}, {}", random.between(0, 99)),
            _ => format!("{one}, {two}"),
        }
    }

    fn dimension_row(&self, random: &mut Random, d: usize, key: i64) -> String {
        let value = if random.chance(20) { "NULL".into() } else { random.between(0, 4).to_string() };
        let text = if random.chance(20) { "NULL".into() } else { format!("'t{}'", random.below(3)) };
        let mut row = format!("({key}, {}, {value}, {text}, {}", key * 10, random.below(3));
        if let Some(outer) = self.outer[d] {
            row.push_str(&format!(", {}", self.reference(random, outer, true)));
        }
        row + ")"
    }

    fn fact_rows(&self, random: &mut Random, count: usize) -> String {
        let row = |random: &mut Random| {
            let m = if random.chance(15) { "NULL".into() } else { random.between(0, 9).to_string() };
            let mut row = format!("({}, {m}, {}", random.below(1000), random.below(3));
            for (d, nullable) in &self.keys {
                row.push_str(&format!(", {}", self.reference(random, *d, *nullable)));
            }
            row + ")"
        };
        (0..count).map(|_| row(random)).collect::<Vec<_>>().join(", ")
    }

    /// A change: mostly rows that are added.
    fn change(&self, random: &mut Random, next_key: &mut i64) -> String {
        let d = random.below(self.outer.len());
        match random.below(12) {
            0..=4 => {
                let most = if random.chance(10) { 300 } else { 6 };
                let count = 1 + random.below(most);
                format!("INSERT INTO fact VALUES {}", self.fact_rows(random, count))
            }
            5 | 6 => {
                *next_key += 1;
                format!("INSERT INTO d{d} VALUES {}", self.dimension_row(random, d, *next_key))
            }
            7 => format!("UPDATE d{d} SET v{d} = {} WHERE k{d} = {}", random.below(5), random.between(1, 6)),
            8 => format!("DELETE FROM fact WHERE id % 7 = {}", random.below(7)),
            9 => format!("UPDATE fact SET m = {} WHERE m = {}", random.below(9), random.below(9)),
            10 => format!("INSERT INTO fact SELECT * FROM fact WHERE id % 5 = {} LIMIT 50", random.below(5)),
            _ => "REFRESH WIDE TABLE w".to_owned(),
        }
    }

    /// A query over the fact table and some of what it leads to.
    fn query(&self, random: &mut Random) -> String {
        let mut from = "fact f".to_owned();
        let mut there: Vec<(String, Option<usize>)> = vec![("f".into(), None)];
        let mut conditions: Vec<String> = Vec::new();
        let comma = random.chance(30);
        for number in 0..random.below(6) {
            let (of, d) = random.pick(&there).clone();
            let (to, one, two) = match d {
                None => {
                    let at = random.below(self.keys.len());
                    (self.keys[at].0, format!("f{at}"), format!("g{at}"))
                }
                Some(d) => match self.outer[d] {
                    Some(outer) => (outer, format!("o{d}"), format!("p{d}")),
                    None => continue,
                },
            };
            let alias = format!("a{number}");
            let mut on = self.joined(to, &of, &one, &two, &alias);
            if random.chance(10) {
                on.push_str(&format!(" AND {alias}.v{to} > {}", random.below(4)));
            }
            if comma {
                from.push_str(&format!(", d{to} {alias}"));
                conditions.push(on);
            } else {
                let kind = random.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN"]);
                from.push_str(&format!(" {kind} d{to} {alias} ON {on}"));
            }
            there.push((alias, Some(to)));
        }
        if random.chance(15) {
            from.push_str(if comma { ", fact f2" } else { " JOIN fact f2 ON f2.id = f.id" });
            if comma {
                conditions.push("f2.id = f.id".into());
            }
        }
        let mut columns: Vec<String> = vec!["f.id".into(), "f.m".into()];
        for (alias, d) in &there[1..] {
            let d = d.unwrap_or(0);
            columns.extend([format!("{alias}.k{d}"), format!("{alias}.l{d}"), format!("{alias}.v{d}")]);
            columns.extend([format!("{alias}.t{d}"), format!("{alias}.same")]);
        }
        for _ in 0..random.below(4) {
            let (one, two) = (random.pick(&columns).clone(), random.pick(&columns).clone());
            let number = |c: &str| !c.contains(".t");
            conditions.push(match random.below(6) {
                0 => format!("{one} IS NULL"),
                1 => format!("{one} IS NOT NULL"),
                2 if number(&one) && number(&two) => format!("{one} = {two}"),
                3 if number(&one) && number(&two) => {
                    format!("({one} > {} OR {two} IS NULL)", random.below(5))
                }
                _ if number(&one) => format!("{one} < {}", random.between(1, 300)),
                _ => format!("{one} IN ('t0', 't1')"),
            });
        }
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        let some: Vec<String> = (0..1 + random.below(4)).map(|_| random.pick(&columns).clone()).collect();
        match random.below(4) {
            0 => format!("SELECT count(*), sum(f.m), count({}) FROM {from}{filter}", some[0]),
            1 => format!("SELECT {}, count(*), min(f.m) FROM {from}{filter} GROUP BY {0}", some[0]),
            2 => format!("SELECT DISTINCT {} FROM {from}{filter}", some.join(", ")),
            _ => format!("SELECT {} FROM {from}{filter}", some.join(", ")),
        }
    }
}

/// Over many stars: no answer depends on the switch, and the wide table is used often enough for that to say
/// something.
#[test]
fn random_stars() {
    let seeds = std::env::var("WIDE_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let (mut used, mut asked) = (0, 0);
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let star = Star::new(&mut random);
        let session = configuration::standard().open().unwrap();
        if random.chance(40) {
            run(&session, "SET block_size = '64KB'");
        }
        star.create(&session);
        for d in 0..star.outer.len() {
            for key in 1..=6 {
                run(
                    &session,
                    &format!("INSERT INTO d{d} VALUES {}", star.dimension_row(&mut random, d, key)),
                );
            }
        }
        let first = random.below(200);
        if first > 0 {
            run(&session, &format!("INSERT INTO fact VALUES {}", star.fact_rows(&mut random, first)));
        }
        run(&session, "CREATE WIDE TABLE w FROM fact");
        let mut next_key = 6;
        let mut inside = false;
        for _ in 0..12 {
            if random.chance(20) {
                run(
                    &session,
                    if !inside {
                        "BEGIN"
                    } else if random.chance(50) {
                        "COMMIT"
                    } else {
                        "ROLLBACK"
                    },
                );
                inside = !inside;
            }
            let change = star.change(&mut random, &mut next_key);
            run(&session, &change);
            for _ in 0..4 {
                let query = star.query(&mut random);
                asked += 1;
                used += usize::from(uses_wide(&session, &query));
                same_answer(&session, &query);
            }
        }
    }
    println!("{used} of {asked} queries read the wide table");
    assert!(used * 5 > asked, "{used} of {asked}");
}
