//! Engine configurations that the corpus is replayed under. Answers must be the same under all.

use engine::settings::{RULES_OFF, TECHNIQUES_OFF};
use engine::{Database, Options, Session};
use types::Result;

/// How one database of a test is set up, and how its statements are run.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The name that reports show.
    pub name: &'static str,
    /// Threads that run queries.
    pub workers: usize,
    /// Settings made before anything else.
    pub settings: Vec<(String, String)>,
    /// Queries are described, run, and run again: the last answer counts, which comes of plans that were kept.
    pub again: bool,
    /// Statements are parsed by `syntax` and run as its tree prints them, where it reads them.
    pub printed: bool,
    /// Plans are encoded, and what is read of the bytes is run.
    pub encoded: bool,
    /// Several engines run each query: rows that no ORDER BY puts in order may come in any.
    pub several_nodes: bool,
}

impl Configuration {
    fn new(name: &'static str, workers: usize, settings: &[(&str, &str)]) -> Self {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Configuration {
            name,
            workers,
            settings,
            again: false,
            printed: false,
            encoded: false,
            several_nodes: false,
        }
    }

    /// A new database under this configuration.
    pub fn open(&self) -> Result<Session> {
        let database = Database::in_memory(Options {
            workers: Some(self.workers),
            memory_bytes: Some(8 << 30),
            ..Default::default()
        })?;
        if self.encoded {
            database.run_encoded_plans();
        }
        let session = database.session();
        // The one setting that outlives a database, because it is the process's.
        session.query("SET simd = 'auto'")?;
        for (name, value) in &self.settings {
            session.query(&format!("SET {name} = '{value}'"))?;
        }
        Ok(session)
    }
}

/// As users run it.
pub fn standard() -> Configuration {
    Configuration::new("standard", 2, &[])
}

/// The standard configuration without one rule of the optimizer, for each of them.
pub fn without_each_rule() -> Vec<Configuration> {
    RULES_OFF.iter().map(|rule| Configuration::new(rule.0, 2, std::slice::from_ref(rule))).collect()
}

/// The standard configuration without any rule of the optimizer.
pub fn without_rules() -> Configuration {
    Configuration::new("optimizer off", 2, RULES_OFF)
}

/// As many engines of one process run each query together: over shared memory, or, where they are four, over TCP with
/// small messages and without reading small tables on all.
pub fn nodes(nodes: u32) -> Configuration {
    let small = [
        ("cluster_nodes", "4"),
        ("cluster_transport", "tcp"),
        ("cluster_message_size", "64KB"),
        ("cluster_small_size", "0"),
    ];
    let mut configuration = match nodes {
        4 => Configuration::new("nodes4", 4, &small),
        _ => Configuration::new("nodes3", 3, &[("cluster_nodes", "3")]),
    };
    configuration.settings.push(("block_size".to_owned(), "64KB".to_owned()));
    configuration.several_nodes = true;
    configuration
}

/// Every configuration, the standard one first.
pub fn all() -> Vec<Configuration> {
    let techniques = [TECHNIQUES_OFF, &[("simd", "scalar")]].concat();
    vec![
        standard(),
        Configuration::new("column store", 2, &[("layout", "column")]),
        Configuration::new("small blocks", 2, &[("block_size", "64KB")]),
        Configuration::new("tiny batches", 2, &[("batch_rows", "3"), ("block_size", "64KB")]),
        Configuration::new("one worker", 1, &[]),
        Configuration::new("four workers", 4, &[("block_size", "64KB"), ("join_table", "shared")]),
        Configuration::new(
            "unit of transfer table",
            2,
            &[("unit_of_transfer", "table, build = block"), ("work_orders_per_operator", "1")],
        ),
        Configuration::new(
            "small units of transfer",
            4,
            &[("unit_of_transfer", "blocks(2)"), ("transfer_size", "500"), ("block_size", "64KB")],
        ),
        Configuration { again: true, ..Configuration::new("plans kept", 2, &[]) },
        Configuration { printed: true, ..Configuration::new("printed", 2, &[]) },
        Configuration { encoded: true, ..Configuration::new("encoded", 2, &[]) },
        nodes(3),
        // Every join, aggregation, sort and window through files.
        Configuration::new("spilling", 3, &[("operator_memory", "1")]),
        Configuration::new("optimizer off", 2, RULES_OFF),
        Configuration::new("techniques off", 2, &techniques),
        // Filters, projections and arguments as code; tiny batches would leave most of them to vectors.
        Configuration::new("compiled", 2, &[("execution", "compiled"), ("block_size", "64KB")]),
        Configuration::new("column store, optimizer off", 1, &[RULES_OFF, &[("layout", "column")]].concat()),
    ]
}
