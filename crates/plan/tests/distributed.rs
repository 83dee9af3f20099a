//! Distributed plans as bytes: they come back equal, say what each source's share is, and damaged ones are refused.

mod plans;

use plan::encoding::{decode, encode};
use plan::{Distributed, NodeId, PhysicalPlan, Share};
use random::Random;
use types::SqlState;

/// The plan with a share for each source.
fn distributed(plan: PhysicalPlan) -> Distributed {
    let kinds = [Share::Part, Share::Whole, Share::Coordinator];
    let (mut sources, mut open) = (vec![], vec![&plan]);
    while let Some(node) = open.pop() {
        if node.children().is_empty() {
            sources.push(node.id);
        }
        open.extend(node.children());
    }
    sources.sort_unstable();
    let shares = sources.into_iter().enumerate().map(|(at, id)| (id, kinds[at % 3])).collect();
    Distributed { plan, shares, nodes: 3 }
}

#[test]
fn they_come_back_equal() {
    for plan in plans::all() {
        let plan = distributed(plan);
        let bytes = encode(&plan).unwrap();
        let again = decode::<Distributed>(&bytes).unwrap();
        assert_eq!((&again.shares, again.nodes), (&plan.shares, plan.nodes));
        // Functions of the host program come back without their bodies, which makes them others.
        assert_eq!(encode(&again).unwrap(), bytes);
        assert!(decode::<PhysicalPlan>(&bytes).unwrap_err().message().contains("distributed plan"));
        let (first, share) = plan.shares[0];
        assert_eq!(plan.share(first), Some(share));
        assert_eq!(plan.share(NodeId(u32::MAX)), None);
    }
}

#[test]
fn shares_are_those_of_the_sources() {
    let plan = || distributed(plans::all().swap_remove(4));
    let refused = |plan: &Distributed, said: &str| {
        let error = decode::<Distributed>(&encode(plan).unwrap()).unwrap_err();
        assert_eq!(error.state(), SqlState::DataCorrupted);
        assert!(error.message().contains(said), "{error}");
    };
    assert!(plan().shares.len() > 1);
    for nodes in [0, plan::exchange::NODES_MAX + 1] {
        refused(&Distributed { nodes, ..plan() }, "no cluster");
    }
    let mut fewer = plan();
    fewer.shares.pop();
    refused(&fewer, "not those of its sources");
    let mut swapped = plan();
    swapped.shares.swap(0, 1);
    refused(&swapped, "not those of its sources");
    let mut other = plan();
    other.shares[0].0 = NodeId(0);
    refused(&other, "not those of its sources");
}

#[test]
fn damaged_ones_are_errors_or_valid() {
    let encoded: Vec<Vec<u8>> =
        plans::all().into_iter().map(|plan| encode(&distributed(plan)).unwrap()).collect();
    let mut random = Random::new(24);
    let (mut refused, mut valid) = (0, 0);
    for round in 0..4_000 {
        let mut bytes = encoded[round % encoded.len()].clone();
        let at = 10 + random.below(bytes.len() - 10);
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            _ => {
                let end = (at + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
        match decode::<Distributed>(&bytes) {
            Err(_) => refused += 1,
            Ok(plan) => {
                plan::encoding::Document::validate(&plan).unwrap();
                valid += 1;
            }
        }
    }
    assert!(refused > 1_000 && valid > 0, "{refused} refused, {valid} valid");
}
