//! Times of the graph algorithms and of k-means, on two locales; loading and building apart.

use std::sync::Arc;
use std::time::Instant;

use global::graph::{
    Graph, Kind, PageRank, breadth_first, clustering, core_numbers, kronecker, label_propagation, pagerank,
    shortest_paths, strong_components, weak_components,
};
use global::{Config, GlobalError, Runtime, kmeans};
use random::Random;

use crate::record::{Record, number, text};

pub fn study(record: &mut Record) {
    let scale: u32 = std::env::var("SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(18);
    let runtime = Runtime::new(Config::new(2)).expect("a runtime");
    let begun = Instant::now();
    let list = kronecker(scale, 16, 1).expect("edges");
    let mut random = Random::new(1);
    let weights = (0..list.sources.len()).map(|_| random.below(256_u32) as f32 + 1.0).collect();
    let list = list.with_weights(weights).expect("weights");
    let mut add = |what: &str, seconds: f64| {
        let fields = [
            ("algorithm", text(what)),
            ("scale", scale.to_string()),
            ("locales", "2".to_owned()),
            ("s", number(seconds)),
        ];
        record.add("graph algorithm, Kronecker", &fields);
    };
    add("generate", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let directed = Graph::build(&runtime, &list, Kind::Directed).expect("memory");
    add("build, directed", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let graph = Graph::build(&runtime, &list, Kind::Undirected).expect("memory");
    add("build, undirected", begun.elapsed().as_secs_f64());
    let source = (0..graph.vertices()).max_by_key(|vertex| graph.out(*vertex).len()).unwrap_or(0);
    let ranks = PageRank { rounds_max: 20, tolerance: 0.0, ..PageRank::default() };
    let runs: [(&str, &dyn Fn() -> Result<(), GlobalError>); 8] = [
        ("PageRank, 20 rounds", &|| pagerank(&runtime, &directed, ranks).map(|_| ())),
        ("BFS", &|| breadth_first(&runtime, &graph, source).map(|_| ())),
        ("SSSP", &|| shortest_paths(&runtime, &graph, source, 0.0).map(|_| ())),
        ("WCC", &|| weak_components(&runtime, &directed).map(|_| ())),
        ("SCC", &|| strong_components(&runtime, &directed).map(|_| ())),
        ("CDLP, 10 rounds", &|| label_propagation(&runtime, &graph, 10).map(|_| ())),
        ("LCC", &|| clustering(&runtime, &graph).map(|_| ())),
        ("k-core", &|| core_numbers(&runtime, &graph).map(|_| ())),
    ];
    for (name, run) in runs {
        let time = || {
            let begun = Instant::now();
            run().expect("a result");
            begun.elapsed().as_secs_f64()
        };
        add(name, (0..3).map(|_| time()).fold(f64::INFINITY, f64::min));
    }
}

pub fn clusters(record: &mut Record) {
    let runtime = Runtime::new(Config::new(2)).expect("a runtime");
    let width = 8;
    for (centres, count) in [(10, 1_000_000), (1_000, 200_000), (10_000, 20_000)] {
        let rounds = 3;
        let mut random = Random::new(2);
        let points: Arc<Vec<f64>> =
            Arc::new((0..count * width).map(|_| random.below(1 << 20) as f64).collect());
        let found =
            kmeans(&runtime, Arc::clone(&points), width, &points[..centres * width], rounds).expect("memory");
        let each = f64::from(found.rounds);
        let fields = [
            ("points", count.to_string()),
            ("width", width.to_string()),
            ("centres", centres.to_string()),
            ("map_s_a_round", number(found.map.as_secs_f64() / each)),
            ("reduce_s_a_round", number(found.reduce.as_secs_f64() / each)),
        ];
        record.add("k-means", &fields);
    }
}
