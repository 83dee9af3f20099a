//! Planning times, as CPU time of the thread. Bounds are loose, for slow machines; `--nocapture` shows the figures.

use crate::catalog::{Catalog, planned};
use crate::snapshots::benchmark_queries;

#[test]
fn benchmark_queries_plan_in_well_under_a_millisecond() {
    let mut all = Vec::new();
    for (suite, catalog) in [("tpch", Catalog::tpch()), ("ssb", Catalog::ssb())] {
        for (name, text) in benchmark_queries(suite) {
            let best = timing::least_cpu_time(20, || drop(planned(&text, &catalog).unwrap()));
            let best = best.as_secs_f64() * 1e6;
            println!("{suite} {name}: {best:.0} us");
            all.push(best);
        }
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let worst = all.iter().copied().fold(0.0, f64::max);
    println!("mean {mean:.0} us, worst {worst:.0} us");
    assert!(mean < 500.0 && worst < 2000.0, "mean {mean:.0} us, worst {worst:.0} us");
}
