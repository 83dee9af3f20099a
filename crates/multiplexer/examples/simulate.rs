//! Simulated all-to-alls, one JSON line each: `simulate NODES SWITCH SCHEDULE MBIT MESSAGES [MESSAGE_KIB [PHASE_MESSAGES
//! [SEND_MAX]]]`; SWITCH is `ideal`, `input` or `tail:KIB`, SCHEDULE `off`, `on` or `auto`.

use multiplexer::simulator::fabric::{LinkModel, Switch};
use multiplexer::simulator::workload::all_to_all;
use multiplexer::{Config, Schedule};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |at: usize, default: &str| arguments.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let number = |at: usize, default: u64| text(at, "").parse().unwrap_or(default);
    let nodes = number(0, 8) as usize;
    let switch = match text(1, "input").split_once(':') {
        Some((_, kib)) => Switch::OutputQueued { buffer_bytes: Some(kib.parse().unwrap_or(128) << 10) },
        None if text(1, "input") == "ideal" => Switch::OutputQueued { buffer_bytes: None },
        None => Switch::InputQueued { fifo_bytes: 1 << 20 },
    };
    let lossy = matches!(switch, Switch::OutputQueued { buffer_bytes: Some(_) });
    let model = LinkModel {
        bytes_per_second: number(3, 1_000) * 125_000,
        latency: 50_000,
        cell_bytes: if lossy { 1_500 } else { 4 << 10 },
        switch,
    };
    let mut config = Config::new(nodes, 1 << 30);
    config.message_bytes = (number(5, 512) as usize) << 10;
    config.phase_bytes = number(6, 8) * config.message_bytes as u64;
    config.send_messages_max = number(7, 64) as usize;
    config.schedule = match text(2, "on").as_str() {
        "off" => Schedule::Off,
        "auto" => Schedule::Auto,
        _ => Schedule::On,
    };
    match all_to_all(&config, model, number(4, 64) as usize, 1) {
        Ok(result) => println!(
            "{{\"nodes\": {nodes}, \"switch\": \"{}\", \"schedule\": \"{}\", \"of_link\": {:.4}, \"ms\": {}, \"losses\": {}, \"phases\": {}, \"verdicts\": {}}}",
            text(1, "input"),
            text(2, "on"),
            result.of_link,
            result.time / 1_000_000,
            result.losses,
            result.statistics.phases,
            result.statistics.verdicts
        ),
        Err(error) => println!("{error}"),
    }
}
