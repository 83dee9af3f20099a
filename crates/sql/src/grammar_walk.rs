//! Every clause that a statement may have is read or refused: a test over the syntax tree.
//!
//! The tree of each statement is walked as JSON. Where a field says something (it is not NULL, false or empty), the
//! field is taken away, and the statement is planned again. A field whose absence makes no difference in any
//! statement of the corpus and of `CLAUSES` is one that nothing reads: what it says would be accepted and ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;
use syntax::tree::{Statement as Syntax, StatementKind};

use self::catalog::Catalog;
use crate::parse;

#[path = "../tests/planning/catalog.rs"]
#[allow(dead_code)]
pub(crate) mod catalog;

/// Where the words of a statement stand, which says nothing.
const PLACES: [&str; 4] = ["span", "query_span", "body_span", "quoted"];

/// Fields that may say something which changes nothing, and why.
const WITHOUT_EFFECT: [(&str, &str); 27] = [
    ("CreateIndex.concurrently", "no index is made under a lock that readers wait for"),
    ("DeclareCursor.insensitive", "every cursor is insensitive to later changes"),
    ("Explain.verbose", "EXPLAIN always shows all that there is"),
    ("Function.lateral", "a function in FROM sees what stands before it, with or without LATERAL"),
    ("joins.outer", "OUTER is optional"),
    ("AlterTable.view", "only the name after RENAME is asked for, of views and of tables"),
    ("Delete.only", "no table has others that inherit from it"),
    ("Lock.nowait", "nobody is waited for"),
    ("Lock.tables", "they are looked up, with the privileges of who locks them, and nothing is done to them"),
    ("Named.only", "no table has others that inherit from it"),
    ("Update.only", "no table has others that inherit from it"),
    ("Exists.order_by", "the order of rows that are only asked for makes no difference"),
    ("Generated.stored", "values of generated columns are kept, STORED or VIRTUAL"),
    ("Insert.overriding_system", "the catalog of this test has no column that is GENERATED ALWAYS"),
    ("Lambda.worded", "both forms of a lambda are the same"),
    ("List.array", "ARRAY[1] and [1] are the same"),
    ("Table.order_by", "a macro's body is read from its text"),
    ("fields.lists", "a nested type is read from its text"),
    ("Role.scope", "SESSION is what holds without a word; LOCAL is refused"),
    ("Setting.scope", "SESSION is what holds without a word; LOCAL has an effect, and GLOBAL is refused"),
    ("Star.except", "EXCEPT and EXCLUDE are the same"),
    ("Struct.row", "ROW(...) and STRUCT(...) are the same"),
    ("alias.first", "a name before or behind what it names"),
    ("items.alias_first", "a name before or behind what it names"),
    ("columns.descending", "an index of blocks has no order"),
    ("columns.nulls_first", "an index of blocks has no order"),
    ("conflict.target", "the tables of this test have one key"),
];

/// Statements with clauses that the corpus may lack. Those that are refused say nothing; those that are accepted have
/// each of their fields tried.
const CLAUSES: [&str; 378] = [
    "SELECT TOP 5 r_name FROM region",
    "SELECT TOP (5) PERCENT r_name FROM region",
    "SELECT DISTINCT ON (r_name) r_name FROM region",
    "SELECT ALL r_name FROM region",
    "SELECT r_name INTO other FROM region",
    "SELECT r_name FROM region FOR UPDATE",
    "SELECT r_name FROM region FOR UPDATE OF region NOWAIT",
    "SELECT r_name FROM region FOR SHARE SKIP LOCKED",
    "SELECT r_name FROM region LIMIT 1 BY r_name",
    "SELECT r_name FROM region LIMIT 2, 3",
    "SELECT r_name FROM region FETCH FIRST 3 ROWS ONLY",
    "SELECT r_name FROM region FETCH FIRST 3 PERCENT ROWS ONLY",
    "SELECT r_name FROM region ORDER BY r_name FETCH FIRST 3 ROWS WITH TIES",
    "SELECT r_name FROM region OFFSET 3 ROWS",
    "SELECT r_name FROM region ORDER BY r_name WITH FILL",
    "SELECT r_name FROM region ORDER BY r_name INTERPOLATE (r_name AS 1)",
    "SELECT r_name FROM region SETTINGS max_threads = 1",
    "SELECT r_name FROM region FORMAT JSON",
    "SELECT r_name FROM region PREWHERE r_name = 'x'",
    "SELECT r_name FROM region CLUSTER BY r_name",
    "SELECT r_name FROM region DISTRIBUTE BY r_name SORT BY r_name",
    "SELECT r_name FROM region LATERAL VIEW explode(r_name) t AS x",
    "SELECT r_name FROM region START WITH r_regionkey = 1 CONNECT BY PRIOR r_regionkey = r_regionkey",
    "SELECT AS STRUCT 1 AS a",
    "SELECT AS VALUE 1",
    "SELECT r_name FROM region FINAL",
    "SELECT r_name FROM ONLY region",
    "SELECT r_name FROM region WITH (NOLOCK)",
    "SELECT r_name FROM region USE INDEX (x)",
    "SELECT r_name FROM region PARTITION (p0)",
    "SELECT r_name FROM region FOR SYSTEM_TIME AS OF '2024-01-01'",
    "SELECT * FROM generate_series(1, 2) WITH ORDINALITY",
    "SELECT * FROM unnest(ARRAY[1]) WITH OFFSET",
    "SELECT * FROM region TABLESAMPLE SYSTEM (10) REPEATABLE (1)",
    "SELECT * FROM region TABLESAMPLE RESERVOIR (10 ROWS)",
    "SELECT * FROM region TABLESAMPLE BUCKET 1 OUT OF 2",
    "SELECT * FROM region GLOBAL JOIN nation ON true",
    "SELECT * FROM region CROSS APPLY nation",
    "SELECT * FROM region OUTER APPLY nation",
    "SELECT r_name, count(*) FROM region GROUP BY r_name WITH TOTALS",
    "SELECT r_name, count(*) FROM region GROUP BY r_name WITH ROLLUP",
    "SELECT r_name, count(*) FROM region GROUP BY ALL",
    "SELECT count(*) FILTER (WHERE r_regionkey > 1) FROM region",
    "SELECT sum(DISTINCT r_regionkey) FROM region",
    "SELECT sum(ALL r_regionkey) FROM region",
    "SELECT string_agg(r_name, ',' ORDER BY r_name DESC NULLS FIRST) FROM region",
    "SELECT first_value(r_name) IGNORE NULLS OVER (ORDER BY r_regionkey) FROM region",
    "SELECT first_value(r_name) RESPECT NULLS OVER (ORDER BY r_regionkey) FROM region",
    "SELECT first_value(r_name IGNORE NULLS) OVER (ORDER BY r_regionkey) FROM region",
    "SELECT lower(r_name IGNORE NULLS) FROM region",
    "SELECT lower(DISTINCT r_name) FROM region",
    "SELECT lower(r_name ORDER BY r_name) FROM region",
    "SELECT lower(r_name) FILTER (WHERE true) FROM region",
    "SELECT lower(r_name) WITHIN GROUP (ORDER BY r_name) FROM region",
    "SELECT sum(r_regionkey) WITHIN GROUP (ORDER BY r_name) FROM region",
    "SELECT string_agg(r_name, ',' LIMIT 3) FROM region",
    "SELECT string_agg(r_name, ',' ON OVERFLOW TRUNCATE) FROM region",
    "SELECT any_value(r_name HAVING MAX r_regionkey) FROM region",
    "SELECT lower(r_name) OVER () FROM region",
    "SELECT row_number() OVER (PARTITION BY r_name ORDER BY r_regionkey ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM region",
    "SELECT sum(r_regionkey) OVER (w ROWS 1 PRECEDING) FROM region WINDOW w AS (ORDER BY r_regionkey)",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY r_regionkey DESC) FROM region",
    "SELECT quantile(0.5)(r_regionkey) FROM region",
    "SELECT CAST('1' AS INTEGER FORMAT 'X')",
    "SELECT TRY_CAST('1' AS INTEGER), SAFE_CAST('1' AS INTEGER)",
    "SELECT CONVERT(INT, '1')",
    "SELECT CONVERT('a' USING utf8)",
    "SELECT 'a' COLLATE \"C\"",
    "SELECT 'a' COLLATE \"de_DE\"",
    "SELECT r_name LIKE 'a!%' ESCAPE '!' FROM region",
    "SELECT r_name ILIKE 'a!%' ESCAPE '!' FROM region",
    "SELECT r_name SIMILAR TO 'a!%' ESCAPE '!' FROM region",
    "SELECT r_name LIKE ANY ('a', 'b') FROM region",
    "SELECT r_name RLIKE 'a' FROM region",
    "SELECT r_name NOT LIKE 'a' FROM region",
    "SELECT r_name IS NORMALIZED FROM region",
    "SELECT r_name IS NFC NORMALIZED FROM region",
    "SELECT 1 IN (1, 2), 1 NOT IN (1, 2)",
    "SELECT 1 IN UNNEST(ARRAY[1])",
    "SELECT 2 BETWEEN SYMMETRIC 3 AND 1",
    "SELECT EXTRACT(year FROM DATE '2024-01-01')",
    "SELECT CEIL(1.5 TO DAY)",
    "SELECT CEIL(1.5, 1)",
    "SELECT FLOOR(1.5, 1)",
    "SELECT trim(BOTH 'x' FROM 'xax'), trim('xax', 'x'), trim(LEADING FROM ' a')",
    "SELECT overlay('abc' PLACING 'x' FROM 2 FOR 1)",
    "SELECT position('b' IN 'abc')",
    "SELECT INTERVAL '1' YEAR, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1.5' SECOND(3)",
    "SELECT DATE '2024-01-01' AT TIME ZONE 'UTC'",
    "SELECT ARRAY[1, 2][1:2]",
    "SELECT ARRAY[1, 2, 3][1:3:2]",
    "SELECT {'a': 1}",
    "SELECT MAP {'a': 1}",
    "SELECT x -> x + 1",
    "SELECT list_transform([1], x -> x + 1)",
    "SELECT CASE r_name WHEN 'a' THEN 1 ELSE 2 END FROM region",
    "SELECT GROUPING(r_name), count(*) FROM region GROUP BY ROLLUP (r_name)",
    "SELECT MATCH (r_name) AGAINST ('x' IN BOOLEAN MODE) FROM region",
    "SELECT JSON_OBJECT('a': 1 NULL ON NULL RETURNING text)",
    "SELECT JSON_ARRAY(1, 2 ABSENT ON NULL)",
    "SELECT * ILIKE '%a%' FROM region",
    "SELECT * EXCEPT (r_name) FROM region",
    "SELECT * EXCLUDE r_name RENAME r_regionkey AS k FROM region",
    "SELECT region.* EXCLUDE (r_name) FROM region",
    "WITH x AS MATERIALIZED (SELECT random() AS r) SELECT a.r, b.r FROM x a, x b",
    "WITH x AS NOT MATERIALIZED (SELECT count(*) AS c FROM region) SELECT a.c, b.c FROM x a, x b",
    "WITH x (a) AS (SELECT 1) SELECT a FROM x",
    "WITH RECURSIVE x (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 3) SELECT * FROM x",
    "WITH x AS (SELECT 1) FROM y SELECT 1",
    "SELECT 1 UNION ALL BY NAME SELECT 2",
    "SELECT 1 UNION DISTINCT SELECT 2",
    "SELECT 1 INTERSECT ALL SELECT 2",
    "SELECT 1 MINUS SELECT 2",
    "VALUES ROW(1), ROW(2)",
    "TABLE region",
    "(SELECT 1) ORDER BY 1 LIMIT 1",
    "SELECT 1 ORDER BY 1 NULLS LAST",
    "SELECT 1 ORDER BY ALL DESC",
    "SELECT 1 ORDER BY 1 USING <",
    "INSERT INTO region (r_regionkey, r_name, r_comment) VALUES (1, 'a', 'b') ON CONFLICT (r_regionkey) DO NOTHING",
    "INSERT INTO region VALUES (1, 'a', 'b') ON CONFLICT ON CONSTRAINT x DO NOTHING",
    "INSERT INTO region VALUES (1, 'a', 'b') ON CONFLICT (r_regionkey) DO UPDATE SET r_name = 'x' WHERE region.r_regionkey > 0",
    "INSERT INTO region VALUES (1, 'a', 'b') ON DUPLICATE KEY UPDATE r_name = 'x'",
    "INSERT INTO region VALUES (1, 'a', 'b') RETURNING r_name AS n",
    "INSERT INTO region DEFAULT VALUES",
    "INSERT OVERWRITE region VALUES (1, 'a', 'b')",
    "INSERT OVERWRITE TABLE region PARTITION (a = 1) SELECT 1, 'a', 'b'",
    "INSERT IGNORE INTO region VALUES (1, 'a', 'b')",
    "INSERT LOW_PRIORITY INTO region VALUES (1, 'a', 'b')",
    "INSERT HIGH_PRIORITY INTO region VALUES (1, 'a', 'b')",
    "INSERT INTO region AS r VALUES (1, 'a', 'b')",
    "INSERT INTO TABLE region VALUES (1, 'a', 'b')",
    "INSERT INTO region SET r_name = 'a'",
    "INSERT INTO FUNCTION remote('x') VALUES (1)",
    "INSERT INTO region PARTITION (p) VALUES (1, 'a', 'b')",
    "INSERT INTO region SETTINGS async = 1 VALUES (1, 'a', 'b')",
    "INSERT INTO region FORMAT CSV",
    "INSERT OR ABORT INTO region VALUES (1, 'a', 'b')",
    "INSERT OR FAIL INTO region VALUES (1, 'a', 'b')",
    "INSERT OR ROLLBACK INTO region VALUES (1, 'a', 'b')",
    "INSERT OR IGNORE INTO region VALUES (1, 'a', 'b')",
    "REPLACE INTO region VALUES (1, 'a', 'b')",
    "INSERT INTO region OVERRIDING SYSTEM VALUE VALUES (1, 'a', 'b')",
    "UPDATE region SET r_name = 'x' FROM nation WHERE n_regionkey = r_regionkey RETURNING r_name",
    "UPDATE ONLY region SET r_name = 'x'",
    "UPDATE region SET r_name = 'x' ORDER BY r_name LIMIT 1",
    "UPDATE region SET r_name = 'x' LIMIT 1",
    "UPDATE OR IGNORE region SET r_name = 'x'",
    "UPDATE region AS r SET r_name = 'x' WHERE r.r_regionkey = 1",
    "UPDATE region, nation SET r_name = 'x'",
    "DELETE FROM region USING nation WHERE n_regionkey = r_regionkey RETURNING r_name",
    "DELETE FROM ONLY region",
    "DELETE FROM region ORDER BY r_name LIMIT 1",
    "DELETE FROM region LIMIT 1",
    "DELETE region FROM region JOIN nation ON true",
    "MERGE INTO region USING nation ON n_regionkey = r_regionkey WHEN MATCHED AND r_name = 'x' THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY TARGET THEN INSERT VALUES (1, 'a', 'b') RETURNING r_name",
    "MERGE INTO region USING nation ON n_regionkey = r_regionkey WHEN MATCHED THEN UPDATE SET r_name = 'x' OUTPUT inserted.r_name",
    "MERGE INTO region USING nation ON n_regionkey = r_regionkey WHEN NOT MATCHED THEN INSERT ROW",
    "CREATE TABLE g1 (a INT) ENGINE = MergeTree",
    "CREATE TABLE g2 (a INT) COMMENT 'x'",
    "CREATE TABLE g3 (a INT COMMENT 'x')",
    "CREATE TABLE g4 (a INT AUTO_INCREMENT)",
    "CREATE TABLE g5 (a INT) AUTO_INCREMENT 5",
    "CREATE TABLE g6 (a INT) DEFAULT CHARSET = utf8",
    "CREATE TABLE g7 (a TEXT COLLATE \"de_DE\")",
    "CREATE TABLE g8 (a TEXT CHARACTER SET utf8)",
    "CREATE TEMPORARY TABLE g9 (a INT) ON COMMIT DROP",
    "CREATE TEMPORARY TABLE g10 (a INT) ON COMMIT DELETE ROWS",
    "CREATE TEMPORARY TABLE g11 (a INT) ON COMMIT PRESERVE ROWS",
    "CREATE GLOBAL TEMPORARY TABLE g12 (a INT)",
    "CREATE LOCAL TEMPORARY TABLE g13 (a INT)",
    "CREATE UNLOGGED TABLE g14 (a INT)",
    "CREATE EXTERNAL TABLE g15 (a INT) STORED AS PARQUET LOCATION 'x'",
    "CREATE TRANSIENT TABLE g16 (a INT)",
    "CREATE VOLATILE TABLE g17 (a INT)",
    "CREATE TABLE g18 (a INT) STRICT",
    "CREATE TABLE g19 (a INT) WITHOUT ROWID",
    "CREATE TABLE g20 (a INT) INHERITS (region)",
    "CREATE TABLE g21 (LIKE region INCLUDING DEFAULTS)",
    "CREATE TABLE g22 LIKE region",
    "CREATE TABLE g23 CLONE region",
    "CREATE TABLE g24 (a INT) TABLESPACE x",
    "CREATE TABLE g25 (a INT) USING heap",
    "CREATE TABLE g26 (a INT) PARTITION BY HASH (a)",
    "CREATE TABLE g27 (a INT) CLUSTER BY (a)",
    "CREATE TABLE g28 (a INT) ORDER BY a",
    "CREATE TABLE g29 (a INT PRIMARY KEY DESC)",
    "CREATE TABLE g30 (a INT, PRIMARY KEY (a DESC))",
    "CREATE TABLE g31 (a INT, UNIQUE INDEX x (a))",
    "CREATE TABLE g32 (a INT, INDEX x (a))",
    "CREATE TABLE g33 (a INT, KEY x (a))",
    "CREATE TABLE g34 (a INT, FULLTEXT (a))",
    "CREATE TABLE g35 (a INT, PRIMARY KEY USING BTREE (a))",
    "CREATE TABLE g36 (a INT CHECK (a > 0) NOT ENFORCED)",
    "CREATE TABLE g37 (a INT, CHECK (a > 0) NO INHERIT)",
    "CREATE TABLE g38 (a INT, EXCLUDE USING gist (a WITH =))",
    "CREATE TABLE g39 (a INT GENERATED ALWAYS AS (1 + 1) STORED)",
    "CREATE TABLE g40 (a INT GENERATED ALWAYS AS (1 + 1) VIRTUAL)",
    "CREATE TABLE g41 (a INT AS (1 + 1))",
    "CREATE TABLE g42 (a INT IDENTITY(1, 1))",
    "CREATE TABLE g43 (a INT ON UPDATE CURRENT_TIMESTAMP)",
    "CREATE TABLE g44 (a INT OPTIONS (x = 1))",
    "CREATE TABLE g45 (a INT INVISIBLE)",
    "CREATE TABLE g46 (a INT MATERIALIZED 1)",
    "CREATE TABLE g47 (a INT EPHEMERAL)",
    "CREATE TABLE g48 (a INT CODEC(ZSTD))",
    "CREATE TABLE g49 (a INT SRID 1)",
    "CREATE TABLE g50 (a INT ON CONFLICT IGNORE)",
    "CREATE TABLE g51 (a INT REFERENCES region (r_regionkey) ON DELETE SET NULL (a))",
    "CREATE TABLE g52 (a INT) WITH (fillfactor = 70)",
    "CREATE TABLE g53 (a INT) DISTSTYLE EVEN",
    "CREATE TABLE g54 (a INT) SORTKEY (a)",
    "CREATE TABLE g55 (a INT) TTL 5",
    "CREATE OR REPLACE TABLE g56 (a INT)",
    "CREATE TABLE IF NOT EXISTS g57 (a INT)",
    "CREATE TABLE g58 AS SELECT 1 AS a WITH NO DATA",
    "CREATE TABLE g59 AS SELECT 1 AS a WITH DATA",
    "CREATE TABLE g60 (a INT) COPY GRANTS",
    "CREATE TABLE g61 (a INT) ON CLUSTER x",
    "CREATE TABLE g62 (a INT) ROW FORMAT DELIMITED",
    "CREATE VIEW v1 (a COMMENT 'x') AS SELECT 1",
    "CREATE VIEW v2 AS SELECT 1 WITH CHECK OPTION",
    "CREATE VIEW v3 WITH (security_barrier = true) AS SELECT 1",
    "CREATE MATERIALIZED VIEW v4 AS SELECT 1",
    "CREATE TEMPORARY VIEW v5 AS SELECT 1",
    "CREATE VIEW IF NOT EXISTS v6 AS SELECT 1",
    "CREATE OR REPLACE VIEW v7 AS SELECT 1",
    "CREATE OR ALTER VIEW v8 AS SELECT 1",
    "CREATE VIEW v9 COMMENT = 'x' AS SELECT 1",
    "CREATE VIEW v10 AS SELECT 1 WITH NO SCHEMA BINDING",
    "CREATE SECURE VIEW v11 AS SELECT 1",
    "CREATE ALGORITHM = MERGE VIEW v12 AS SELECT 1",
    "CREATE RECURSIVE VIEW v13 (a) AS SELECT 1",
    "CREATE VIEW v14 CLUSTER BY (a) AS SELECT 1 AS a",
    "CREATE VIEW v15 OPTIONS (x = 1) AS SELECT 1",
    "CREATE INDEX CONCURRENTLY i1 ON region (r_name)",
    "CREATE INDEX i2 ON region (r_name DESC NULLS FIRST)",
    "CREATE INDEX i3 ON region USING hash (r_name)",
    "CREATE INDEX i4 ON region (r_name COLLATE \"C\")",
    "CREATE INDEX i5 ON region (r_name text_pattern_ops)",
    "CREATE INDEX i6 ON region (lower(r_name))",
    "CREATE INDEX i7 ON region (r_name) INCLUDE (r_comment)",
    "CREATE INDEX i8 ON region (r_name) WHERE r_regionkey > 0",
    "CREATE INDEX IF NOT EXISTS i9 ON region (r_name)",
    "CREATE UNIQUE INDEX i10 ON region (r_name) NULLS NOT DISTINCT",
    "CREATE INDEX i11 ON region (r_name) TABLESPACE x",
    "CREATE SCHEMA s1 AUTHORIZATION x",
    "CREATE SCHEMA s2 WITH (a = 1)",
    "CREATE SCHEMA s3 OPTIONS (a = 1)",
    "CREATE SCHEMA s4 DEFAULT COLLATE 'x'",
    "CREATE SCHEMA s5 CLONE s1",
    "CREATE SCHEMA IF NOT EXISTS s6",
    "CREATE SEQUENCE q1 AS BIGINT INCREMENT BY 2 MINVALUE 1 MAXVALUE 9 START WITH 3 CACHE 5 CYCLE OWNED BY NONE",
    "CREATE TEMPORARY SEQUENCE q2",
    "DROP TABLE IF EXISTS region CASCADE",
    "DROP TABLE region RESTRICT",
    "DROP TABLE region PURGE",
    "DROP TEMPORARY TABLE region",
    "DROP TABLE region ON CLUSTER x",
    "DROP VIEW IF EXISTS v CASCADE",
    "DROP INDEX CONCURRENTLY i",
    "DROP INDEX i CASCADE",
    "DROP INDEX i ON region",
    "DROP SCHEMA s CASCADE",
    "DROP SCHEMA s RESTRICT",
    "ALTER TABLE ONLY region ADD COLUMN z INT",
    "ALTER TABLE IF EXISTS region ADD COLUMN IF NOT EXISTS z INT",
    "ALTER TABLE region ADD COLUMN z INT FIRST",
    "ALTER TABLE region ADD COLUMN z INT AFTER r_name",
    "ALTER TABLE region DROP COLUMN IF EXISTS r_name CASCADE",
    "ALTER TABLE region DROP COLUMN r_name RESTRICT",
    "ALTER TABLE region ALTER COLUMN r_name TYPE TEXT USING upper(r_name)",
    "ALTER TABLE region ADD CONSTRAINT c CHECK (r_regionkey > 0) NOT VALID",
    "ALTER TABLE region ADD CONSTRAINT c FOREIGN KEY (r_regionkey) REFERENCES nation (n_nationkey) NOT VALID",
    "ALTER TABLE region ADD CONSTRAINT c UNIQUE USING INDEX x",
    "ALTER TABLE region DROP CONSTRAINT IF EXISTS c CASCADE",
    "ALTER TABLE region ON CLUSTER x ADD COLUMN z INT",
    "ALTER TABLE region RENAME TO other",
    "ALTER TABLE region ADD COLUMN z INT, ALGORITHM = INPLACE",
    "ALTER TABLE region ALTER COLUMN r_name SET STORAGE plain",
    "ALTER INDEX i RENAME TO j",
    "ALTER VIEW v AS SELECT 1",
    "LOCK TABLE ONLY region IN ACCESS SHARE MODE NOWAIT",
    "LOCK region, nation IN ROW EXCLUSIVE MODE",
    "LOCK TABLE region",
    "TRUNCATE TABLE ONLY region",
    "TRUNCATE region CASCADE",
    "TRUNCATE region RESTRICT",
    "TRUNCATE region RESTART IDENTITY",
    "TRUNCATE region CONTINUE IDENTITY",
    "TRUNCATE TABLE IF EXISTS region",
    "TRUNCATE TABLE region PARTITION (a = 1)",
    "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT json) SELECT 1",
    "EXPLAIN VERBOSE SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN QUERY PLAN SELECT 1",
    "EXPLAIN ESTIMATE SELECT 1",
    "EXPLAIN EXTENDED SELECT 1",
    "EXPLAIN (COSTS OFF) SELECT 1",
    "EXPLAIN (TIMING OFF) SELECT 1",
    "DESCRIBE EXTENDED region",
    "SET LOCAL workers = 1",
    "SET SESSION workers = 1",
    "SET GLOBAL workers = 1",
    "SET workers TO DEFAULT",
    "SET TIME ZONE 'UTC'",
    "SET TIME ZONE LOCAL",
    "SET NAMES 'utf8'",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SET SESSION AUTHORIZATION x",
    "SET LOCAL ROLE x",
    "CREATE ROLE a WITH LOGIN NOINHERIT PASSWORD 'x' VALID UNTIL '2030-01-01' CONNECTION LIMIT 3 IN ROLE b ROLE c ADMIN d",
    "CREATE USER a TIME LIMIT '5s' MEMORY LIMIT '1GB' PRIORITY LIMIT 9",
    "ALTER ROLE a PASSWORD NULL",
    "ALTER ROLE a RENAME TO b",
    "DROP ROLE IF EXISTS a, b",
    "GRANT a, b TO c WITH ADMIN OPTION GRANTED BY CURRENT_USER",
    "REVOKE ADMIN OPTION FOR a FROM b CASCADE",
    "GRANT SELECT, UPDATE (r_name) ON region TO a, PUBLIC WITH GRANT OPTION",
    "REVOKE GRANT OPTION FOR ALL PRIVILEGES ON TABLE region FROM a CASCADE",
    "GRANT ALL (r_name) ON region TO a",
    "GRANT USAGE ON SCHEMA main TO a",
    "GRANT SELECT ON ALL TABLES IN SCHEMA main TO a",
    "GRANT CONNECT ON DATABASE memory TO a",
    "ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA main GRANT SELECT ON TABLES TO b",
    "CREATE POLICY p ON region AS RESTRICTIVE FOR UPDATE TO a USING (r_regionkey > 0) WITH CHECK (r_regionkey > 1)",
    "ALTER POLICY p ON region RENAME TO q",
    "ALTER POLICY p ON region TO a USING (true) WITH CHECK (true)",
    "DROP POLICY IF EXISTS p ON region CASCADE",
    "ALTER TABLE region ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE region NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE region OWNER TO a",
    "REASSIGN OWNED BY a TO b",
    "DROP OWNED BY a CASCADE",
    "SET ROLE x",
    "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
    "BEGIN READ WRITE",
    "BEGIN IMMEDIATE",
    "BEGIN EXCLUSIVE TRANSACTION",
    "START TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "COMMIT AND CHAIN",
    "COMMIT WORK",
    "ROLLBACK AND CHAIN",
    "ROLLBACK TO SAVEPOINT a",
    "SAVEPOINT a",
    "RELEASE SAVEPOINT a",
    "COPY region TO 'x.csv' (FORMAT csv, HEADER)",
    "COPY region TO 'x.csv' (ORDER_BY (r_name DESC NULLS FIRST))",
    "COPY region TO 'x.csv' WITH DELIMITER ','",
    "COPY region TO 'x.csv' CSV HEADER",
    "COPY region FROM STDIN WITH (FORMAT csv) WHERE r_regionkey > 0",
    "COPY region (r_name) TO STDOUT",
    "COPY BINARY region TO 'x'",
    "COPY region TO PROGRAM 'cat'",
    "PREPARE a1 (int, text) AS SELECT $1",
    "EXECUTE a1 (1) USING 2",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "DEALLOCATE PREPARE a1",
    "DECLARE c BINARY INSENSITIVE SCROLL CURSOR WITH HOLD FOR SELECT r_name FROM region",
    "DECLARE c ASENSITIVE NO SCROLL CURSOR WITHOUT HOLD FOR SELECT r_name FROM region",
    "DECLARE c CURSOR FOR SELECT r_name FROM region FOR UPDATE",
    "FETCH FORWARD 2 FROM c",
    "MOVE BACKWARD ALL IN c",
    "FETCH ABSOLUTE -2 c",
    "CLOSE ALL",
    "DISCARD ALL",
    "SET LOCAL batch_rows = 100",
    "SET LOCAL ROLE x",
    "COMMENT IF EXISTS ON TABLE region IS 'x'",
    "CALL tpch(scale => 1)",
    "SHOW EXTENDED TABLES",
    "SHOW FULL TABLES",
    "SHOW TABLES LIKE 'r%'",
    "SHOW TABLES FROM main",
    "SHOW COLUMNS FROM region",
    "SHOW TABLES WHERE true",
];

/// Whether a field says something.
fn says(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => false,
        Json::Array(items) => !items.is_empty(),
        Json::Object(_) | Json::Bool(true) | Json::String(_) | Json::Number(_) => true,
    }
}

/// What stands in a field that says nothing.
fn silent(value: &Json) -> Json {
    match value {
        Json::Bool(_) => Json::Bool(false),
        Json::Array(_) => Json::Array(vec![]),
        _ => Json::Null,
    }
}

/// Fields of the tree that say something: the path, and the name by which they are told (the node and the field).
fn fields(tree: &Json, node: &str, path: &mut Vec<String>, out: &mut Vec<(Vec<String>, String)>) {
    match tree {
        Json::Object(object) => {
            for (name, value) in object {
                if PLACES.contains(&name.as_str()) {
                    continue;
                }
                path.push(name.clone());
                // A variant's name begins in upper case: it is the node that its fields belong to.
                let variant = name.starts_with(char::is_uppercase);
                if !variant && says(value) {
                    out.push((path.clone(), format!("{node}.{name}")));
                }
                fields(value, name, path, out);
                path.pop();
            }
        }
        Json::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                path.push(at.to_string());
                fields(value, node, path, out);
                path.pop();
            }
        }
        _ => {}
    }
}

fn at<'t>(tree: &'t mut Json, path: &[String]) -> Option<&'t mut Json> {
    path.iter().try_fold(tree, |tree, step| match tree {
        Json::Object(object) => object.get_mut(step),
        Json::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Plans a statement; what it means, as text.
type Planner = fn(&str, &Syntax, &Catalog) -> Result<String, String>;

fn planned(text: &str, tree: &Syntax, catalog: &Catalog) -> Result<String, String> {
    crate::statement::plan(text, tree, None, catalog, crate::parameters::Given::Nothing)
        .map(|plan| format!("{plan:?}"))
        .map_err(|e| e.to_string())
}

struct Walk {
    planned: Planner,
    catalog: Catalog,
    /// By name: whether taking the field away has made a difference, and a statement in which it has not.
    read: BTreeSet<String>,
    unread: BTreeMap<String, String>,
}

impl Walk {
    fn new(planned: Planner) -> Walk {
        Walk { planned, catalog: Catalog::default(), read: BTreeSet::new(), unread: BTreeMap::new() }
    }

    fn statement(&mut self, text: &str) {
        let Ok(parsed) = parse::tree(text) else { return };
        let Ok(base) = (self.planned)(text, &parsed, &self.catalog) else { return };
        // What is drawn by chance differs without any change.
        if (self.planned)(text, &parsed, &self.catalog).as_ref() != Ok(&base) {
            return;
        }
        let Ok(tree) = serde_json::to_value(&parsed) else { return };
        let mut found = Vec::new();
        fields(&tree, "Statement", &mut Vec::new(), &mut found);
        for (path, name) in found {
            if self.read.contains(&name) {
                continue;
            }
            let mut without = tree.clone();
            let Some(field) = at(&mut without, &path) else { continue };
            *field = silent(field);
            // A field that must be there is no clause.
            let Ok(syntax) = serde_json::from_value::<Syntax>(without) else {
                self.read.insert(name);
                continue;
            };
            let differs = (self.planned)(text, &syntax, &self.catalog).as_ref() != Ok(&base);
            if differs {
                self.unread.remove(&name);
                self.read.insert(name);
            } else {
                self.unread.entry(name).or_insert_with(|| text.trim().to_owned());
            }
        }
        if let Ok(statement) =
            crate::statement::plan(text, &parsed, None, &self.catalog, crate::parameters::Given::Nothing)
        {
            let _ = self.catalog.apply(&statement);
        }
    }
}

/// The statements of the corpus, one file's after another.
fn corpus(folder: &Path, walk: &mut Walk) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("the corpus").flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            corpus(&path, walk);
        } else if path.extension().is_some_and(|e| e == "slt") {
            let text = std::fs::read_to_string(&path).expect("a file");
            walk.catalog = Catalog::default();
            for record in text.split("\n\n") {
                let mut lines =
                    record.lines().skip_while(|l| !(l.starts_with("statement") || l.starts_with("query")));
                if lines.next().is_some() {
                    let sql: Vec<&str> = lines.take_while(|l| *l != "----").collect();
                    walk.statement(&sql.join("\n"));
                }
            }
        }
    }
}

#[test]
fn every_clause_is_read_or_refused() {
    // Trees are taken apart by recursion, some of them deep.
    let walk = std::thread::Builder::new().stack_size(1 << 30).spawn(walk_all).expect("a thread");
    walk.join().expect("the walk ends well");
}

fn walk_all() {
    let mut walk = Walk::new(planned);
    corpus(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt"), &mut walk);
    walk.catalog = Catalog::tpch();
    CLAUSES.iter().for_each(|sql| walk.statement(sql));
    let known = |name: &str| WITHOUT_EFFECT.iter().any(|(n, _)| *n == name);
    let ignored: Vec<String> = walk
        .unread
        .iter()
        .filter(|(name, _)| !known(name))
        .map(|(name, sql)| format!("{name}: {sql}"))
        .collect();
    assert!(walk.read.len() > 100, "{} fields were read: the walk sees nothing", walk.read.len());
    assert!(
        ignored.is_empty(),
        "{} clauses are accepted and ignored:\n{}",
        ignored.len(),
        ignored.join("\n")
    );
}

/// A planner that does not look at LIMIT is found out.
#[test]
fn a_planted_fault_is_found() {
    let blind: Planner = |text, parsed, catalog| {
        let mut blind = parsed.clone();
        if let StatementKind::Query(query) = &mut blind.kind {
            query.limit = None;
        }
        planned(text, &blind, catalog)
    };
    let mut walk = Walk::new(blind);
    walk.statement("SELECT 1 ORDER BY 1 LIMIT 1");
    assert!(walk.unread.keys().any(|name| name == "Query.limit"), "{:?}", walk.unread);
    assert!(walk.read.iter().any(|name| name == "Query.order_by"), "{:?}", walk.read);
}
