//! Measures the runtime as Grappa's authors measured theirs (Myers 2016, chapter 2), and appends a line of JSON for each
//! figure to `bench/results/grappa.jsonl`, with the commit and how busy the machine was. Arguments name studies; without
//! any, all run: switches, chase, delegates, gups, latency, uts, graphs, kmeans. `dry` writes nothing.

mod chase;
mod delegates;
mod graphs;
mod link;
mod record;
mod switches;
mod uts;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut record = record::Record::new(arguments.iter().any(|argument| argument == "dry"));
    let studies: [(&str, fn(&mut record::Record)); 8] = [
        ("switches", switches::study),
        ("chase", chase::study),
        ("delegates", delegates::ratio),
        ("gups", delegates::gups),
        ("latency", delegates::latency),
        ("uts", uts::study),
        ("graphs", graphs::study),
        ("kmeans", graphs::clusters),
    ];
    let all = arguments.iter().all(|argument| argument == "dry");
    for (name, study) in studies {
        if all || arguments.iter().any(|argument| argument == name) {
            study(&mut record);
        }
    }
}
