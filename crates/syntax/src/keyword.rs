//! The words that the grammar knows, and which of them may be names.
//!
//! One list has every word once, with its class: reserved, a name but of no function, or any name. Tokens carry the
//! word, so that the parser compares numbers and not texts; printing asks here which names need quotes.

/// One of the known words, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword(u16);

macro_rules! keywords {
    ($($name:ident)*) => {
        /// Numbers the words.
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "the words as SQL writes them")]
        enum Number { NO_KEYWORD, $($name),* }

        #[expect(missing_docs, reason = "the words themselves")]
        impl Keyword {
            /// No known word.
            pub const NO_KEYWORD: Keyword = Keyword(Number::NO_KEYWORD as u16);
            $(pub const $name: Keyword = Keyword(Number::$name as u16);)*
        }

        /// The words by their numbers.
        const WORDS: &[&str] = &["", $(stringify!($name)),*];
    };
}

keywords! {
    ABORT ABSOLUTE ACCESS ACTION ADD AFTER AGGREGATE ALL ALTER ALWAYS ANALYSE ANALYZE AND ANTI ANY APPLY ARRAY AS
    ASC ASENSITIVE ASOF ASYMMETRIC AT ATTACH AUTHORIZATION AUTOINCREMENT AUTO_INCREMENT BACKUP BACKWARD BEFORE
    BEGIN BETWEEN BINARY BIT BOTH BREADTH BY CACHE CALL CALLED CANCEL CASCADE CASCADED CASE CAST CEIL CEILING
    CENTURIES CENTURY CHAIN CHARACTER CHARACTERISTICS CHECK CHECKPOINT CLOSE CLUSTER COLLATE COLLATION COLUMN
    COLUMNS COMMENT COMMIT COMMITTED COMPRESSION CONCURRENTLY CONFLICT CONSTRAINT CONTINUE CONVERSION COPY COST
    CREATE CROSS CUBE CURRENT CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME
    CURRENT_TIMESTAMP CURRENT_USER CURSOR CYCLE DATA DATABASE DAY DAYS DEALLOCATE DECADE DECADES DECLARE DEFAULT
    DEFERRABLE DEFERRED DEFINER DELETE DELIMITER DEPTH DESC DESCRIBE DETACH DISCARD DISTINCT DO DOMAIN DOUBLE DROP
    ELSE ENCODING END ENUM ERROR ESCAPE EVENT EXCEPT EXCLUDE EXCLUDING EXECUTE EXISTS EXPLAIN EXPORT EXPRESSION
    EXTENSION EXTERNAL EXTRACT FALSE FETCH FILTER FIRST FLOOR FOLLOWING FOR FORCE FOREIGN FORMAT FORWARD FREEZE
    FROM FULL FUNCTION GENERATED GLOB GLOBAL GRANT GROUP GROUPING GROUPS HASH HAVING HOLD HOUR HOURS IDENTITY IF
    IGNORE ILIKE IMMEDIATE IMMUTABLE IMPORT IN INCLUDE INCLUDING INCREMENT INDEX INHERIT INHERITS INITIALLY INNER
    INOUT INPUT INSENSITIVE INSERT INSTALL INTERSECT INTERVAL INTO INVOKER IS ISNULL ISOLATION JOIN JSON KEY KILL
    LAMBDA LANGUAGE LAST LATERAL LEADING LEAKPROOF LEFT LESS LEVEL LIKE LIMIT LIST LISTEN LOAD LOCAL LOCALTIME
    LOCALTIMESTAMP LOCK LOCKED MACRO MAP MATCH MATCHED MATERIALIZED MAXVALUE MERGE MICROSECOND MICROSECONDS
    MILLENNIA MILLENNIUM MILLENNIUMS MILLISECOND MILLISECONDS MINUTE MINUTES MINVALUE MONTH MONTHS MOVE NAME
    NATIONAL NATURAL NEXT NFC NFD NFKC NFKD NO NONE NORMALIZE NORMALIZED NOT NOTHING NOTIFY NOTNULL NOWAIT NULL
    NULLS OBJECT OF OFFSET ON ONLY OPERATOR OPTION OR ORDER ORDINALITY OTHERS OUT OUTER OVER OVERLAPS OVERLAY
    OVERRIDING OWNED OWNER PARALLEL PARTITION PARTITIONED PARTITIONS PAUSE PERCENT PERSISTENT PIVOT PIVOT_LONGER
    PIVOT_WIDER PLACING PLANS POLICY POSITION POSITIONAL PRAGMA PRECEDING PRECISION PREPARE PRESERVE PRIMARY PRIOR
    PROCEDURE PROGRAM PUBLICATION QUALIFY QUARTER QUARTERS QUERY QUOTE RANGE READ REASSIGN RECURSIVE REFERENCES
    REFRESH REGEXP REINDEX RELATIVE RELEASE RENAME REPEATABLE REPLACE RESET RESPECT RESTART RESTRICT RESUME RETURN
    RETURNING RETURNS REVOKE RIGHT RLIKE ROLE ROLLBACK ROLLUP ROW ROWS RULE SAMPLE SAVEPOINT SCALAR SCHEMA SCROLL
    SEARCH SECOND SECONDS SECRET SECURITY SELECT SEMI SEQUENCE SEQUENCES SERIALIZABLE SERVER SESSION SESSION_USER
    SET SETOF SETS SHARE SHOW SIMILAR SKIP SNAPSHOT SOME SORTED SOURCE STABLE START STATISTICS STDIN STDOUT STORED
    STRICT STRUCT SUBSCRIPTION SUBSTRING SUMMARIZE SYMMETRIC SYSTEM TABLE TABLES TABLESAMPLE TABLESPACE TARGET TEMP
    TEMPORARY TEXT THAN THEN TIES TIME TIMESTAMP TO TRAILING TRANSACTION TRANSFORM TRIGGER TRIM TRUE TRUNCATE TRY
    TRY_CAST TYPE UESCAPE UNBOUNDED UNCOMMITTED UNION UNIQUE UNKNOWN UNLISTEN UNLOAD UNLOGGED UNPIVOT UPDATE USE
    USER USING VACUUM VALID VALIDATE VALUE VALUES VARIABLE VARIADIC VARYING VERBOSE VIEW VIRTUAL VOLATILE WEEK
    WEEKS WHEN WHERE WIDE WINDOW WITH WITHIN WITHOUT WORK WRITE YEAR YEARS ZONE
}

/// Words that no unquoted name can be: PostgreSQL's reserved words but BOTH, LEADING and TRAILING, and QUALIFY.
const RESERVED: &[Keyword] = &[
    Keyword::ALL,
    Keyword::ANALYSE,
    Keyword::ANALYZE,
    Keyword::AND,
    Keyword::ANY,
    Keyword::ARRAY,
    Keyword::AS,
    Keyword::ASC,
    Keyword::ASYMMETRIC,
    Keyword::CASE,
    Keyword::CAST,
    Keyword::CHECK,
    Keyword::COLLATE,
    Keyword::COLUMN,
    Keyword::CONSTRAINT,
    Keyword::CREATE,
    Keyword::CURRENT_CATALOG,
    Keyword::CURRENT_DATE,
    Keyword::CURRENT_ROLE,
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::CURRENT_USER,
    Keyword::DEFAULT,
    Keyword::DEFERRABLE,
    Keyword::DESC,
    Keyword::DISTINCT,
    Keyword::DO,
    Keyword::ELSE,
    Keyword::END,
    Keyword::EXCEPT,
    Keyword::FALSE,
    Keyword::FETCH,
    Keyword::FOR,
    Keyword::FOREIGN,
    Keyword::FROM,
    Keyword::GRANT,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::INITIALLY,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::LATERAL,
    Keyword::LIMIT,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
    Keyword::NOT,
    Keyword::NULL,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::ONLY,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::PLACING,
    Keyword::PRIMARY,
    Keyword::QUALIFY,
    Keyword::REFERENCES,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SESSION_USER,
    Keyword::SOME,
    Keyword::SYMMETRIC,
    Keyword::TABLE,
    Keyword::THEN,
    Keyword::TO,
    Keyword::TRUE,
    Keyword::UNION,
    Keyword::UNIQUE,
    Keyword::USING,
    Keyword::VARIADIC,
    Keyword::WHEN,
    Keyword::WHERE,
    Keyword::WINDOW,
    Keyword::WITH,
];

/// Words that belong to joins and comparisons: functions may be called so, tables and columns may not.
const JOINING: &[Keyword] = &[
    Keyword::ASOF,
    Keyword::CROSS,
    Keyword::FULL,
    Keyword::ILIKE,
    Keyword::INNER,
    Keyword::IS,
    Keyword::ISNULL,
    Keyword::JOIN,
    Keyword::LEFT,
    Keyword::LIKE,
    Keyword::NATURAL,
    Keyword::NOTNULL,
    Keyword::OUTER,
    Keyword::OVERLAPS,
    Keyword::RIGHT,
    Keyword::SIMILAR,
];

/// Words that begin a clause or an operator behind an expression or a table, so that they are no names given without AS.
const BEGINNING: &[Keyword] = &[
    Keyword::ANTI,
    Keyword::POSITIONAL,
    Keyword::SEMI,
    Keyword::SET,
    Keyword::TABLESAMPLE,
    Keyword::WITHIN,
    Keyword::OVER,
    Keyword::FILTER,
    Keyword::BETWEEN,
    Keyword::ESCAPE,
    Keyword::GLOB,
];

/// Functions that are called without brackets.
const BARE_FUNCTIONS: &[Keyword] = &[
    Keyword::CURRENT_CATALOG,
    Keyword::CURRENT_DATE,
    Keyword::CURRENT_ROLE,
    Keyword::CURRENT_SCHEMA,
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::CURRENT_USER,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
    Keyword::SESSION_USER,
];

/// What others create, alter and drop.
const FOREIGN_OBJECTS: &[Keyword] = &[
    Keyword::ACCESS,
    Keyword::AGGREGATE,
    Keyword::COLLATION,
    Keyword::CONVERSION,
    Keyword::DATABASE,
    Keyword::DOMAIN,
    Keyword::EVENT,
    Keyword::EXTENSION,
    Keyword::FOREIGN,
    Keyword::GROUP,
    Keyword::LANGUAGE,
    Keyword::OPERATOR,
    Keyword::POLICY,
    Keyword::PROCEDURE,
    Keyword::PUBLICATION,
    Keyword::ROLE,
    Keyword::RULE,
    Keyword::SERVER,
    Keyword::STATISTICS,
    Keyword::SUBSCRIPTION,
    Keyword::TABLESPACE,
    Keyword::TEXT,
    Keyword::TRANSFORM,
    Keyword::TRIGGER,
    Keyword::USER,
];

/// Statements that others have.
const FOREIGN_STATEMENTS: &[Keyword] = &[
    Keyword::INSTALL,
    Keyword::LOAD,
    Keyword::LISTEN,
    Keyword::NOTIFY,
    Keyword::UNLISTEN,
    Keyword::KILL,
    Keyword::REINDEX,
    Keyword::CLUSTER,
    Keyword::UNLOAD,
    Keyword::DO,
];

const IS_RESERVED: u8 = 1;
const IS_JOINING: u8 = 2;
const IS_BEGINNING: u8 = 4;
const IS_BARE_FUNCTION: u8 = 8;
const IS_FOREIGN: u8 = 16;
const IS_FOREIGN_OBJECT: u8 = 32;

/// What each word is, by its number.
const TRAITS: [u8; WORDS.len()] = {
    let mut traits = [0; WORDS.len()];
    let lists = [
        (RESERVED, IS_RESERVED),
        (JOINING, IS_JOINING),
        (BEGINNING, IS_BEGINNING),
        (BARE_FUNCTIONS, IS_BARE_FUNCTION),
        (FOREIGN_STATEMENTS, IS_FOREIGN),
        (FOREIGN_OBJECTS, IS_FOREIGN_OBJECT),
    ];
    let mut list = 0;
    while list < lists.len() {
        let (words, bit) = lists[list];
        let mut at = 0;
        while at < words.len() {
            traits[words[at].0 as usize] |= bit;
            at += 1;
        }
        list += 1;
    }
    traits
};

/// Places of the hash table: several times the words, so that most are found at once.
const SLOTS: usize = 2048;

const fn hash(word: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut at = 0;
    while at < word.len() {
        // The bit that tells cases apart is cleared; what else that maps together is told apart by comparing.
        hash = (hash ^ (word[at] & 0xdf) as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    ((hash ^ (hash >> 15)) as usize) & (SLOTS - 1)
}

/// The words by their hash, those that collide behind each other.
static TABLE: [u16; SLOTS] = {
    let mut table = [0; SLOTS];
    let mut word = 1;
    while word < WORDS.len() {
        let mut slot = hash(WORDS[word].as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) & (SLOTS - 1);
        }
        table[slot] = word as u16;
        word += 1;
    }
    table
};

const LONGEST: usize = {
    let (mut longest, mut word) = (0, 0);
    while word < WORDS.len() {
        if WORDS[word].len() > longest {
            longest = WORDS[word].len();
        }
        word += 1;
    }
    longest
};

impl Keyword {
    /// Which word it is, in whatever case.
    pub(crate) fn of(word: &[u8]) -> Keyword {
        if word.len() > LONGEST {
            return Keyword::NO_KEYWORD;
        }
        let mut slot = hash(word);
        loop {
            let number = TABLE[slot];
            if number == 0 || WORDS[number as usize].as_bytes().eq_ignore_ascii_case(word) {
                return Keyword(number);
            }
            slot = (slot + 1) & (SLOTS - 1);
        }
    }
    /// The word in capitals.
    pub fn text(self) -> &'static str {
        WORDS[self.0 as usize]
    }
    /// All of them.
    pub fn all() -> impl Iterator<Item = Keyword> {
        (1..WORDS.len() as u16).map(Keyword)
    }
    fn has(self, traits: u8) -> bool {
        TRAITS[self.0 as usize] & traits != 0
    }
    /// Whether no table and column can be called so without quotes.
    pub fn is_reserved(self) -> bool {
        self.has(IS_RESERVED | IS_JOINING)
    }
    /// Whether a function may be called so though tables and columns may not.
    pub(crate) fn names_function(self) -> bool {
        self.has(IS_JOINING)
    }
    /// Whether it is a function without brackets.
    pub(crate) fn is_bare_function(self) -> bool {
        self.has(IS_BARE_FUNCTION)
    }
    /// Whether it may be the name of a SELECT's item without AS.
    pub(crate) fn may_be_bare_alias(self) -> bool {
        !self.has(IS_RESERVED | IS_JOINING | IS_BEGINNING)
    }
    /// Whether it may be the name of a table in FROM without AS.
    pub(crate) fn may_be_table_alias(self) -> bool {
        !self.has(IS_RESERVED | IS_JOINING | IS_BEGINNING)
    }
    /// Whether it is something that others create, alter and drop.
    pub(crate) fn is_foreign_object(self) -> bool {
        self.has(IS_FOREIGN_OBJECT)
    }
    /// Whether it begins a statement that others have and this engine does not.
    pub(crate) fn begins_foreign_statement(self) -> bool {
        self.has(IS_FOREIGN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_every_case_and_others_are_not() {
        for keyword in Keyword::all() {
            assert_eq!(Keyword::of(keyword.text().as_bytes()), keyword);
            assert_eq!(Keyword::of(keyword.text().to_ascii_lowercase().as_bytes()), keyword);
            let longer = format!("{}x", keyword.text());
            assert!(
                Keyword::of(longer.as_bytes()) == Keyword::NO_KEYWORD
                    || Keyword::of(longer.as_bytes()) != keyword
            );
        }
        for word in ["lineitem", "selec", "", "s\u{e9}lect", "SELECT_"] {
            assert_eq!(Keyword::of(word.as_bytes()), Keyword::NO_KEYWORD, "{word}");
        }
    }
}
