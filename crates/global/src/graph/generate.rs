//! Graphs from a seed: Kronecker's as the Graph 500 makes them (R-MAT; Chakrabarti, Zhan, Faloutsos 2004), and uniform ones.
//! Each edge is made from its own number, so that any part of a list can be made alone.

use random::Random;

use crate::error::GlobalError;
use crate::graph::EdgeList;

const SCALE_MAX: u32 = 31;

/// A Kronecker graph: 2^scale vertices, `factor` edges a vertex, probabilities 0.57, 0.19, 0.19, 0.05, and vertices
/// numbered at random.
pub fn kronecker(scale: u32, factor: u32, seed: u64) -> Result<EdgeList, GlobalError> {
    if scale == 0 || scale > SCALE_MAX {
        return Err(GlobalError::Argument {
            what: "the scale of a Kronecker graph",
            given: scale.to_string(),
        });
    }
    let count = u64::from(factor) << scale;
    let edge = |number: u64| {
        let mut random = Random::new(seed ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03));
        let (mut source, mut target) = (0_u32, 0_u32);
        for _ in 0..scale {
            let draw = random.bits() % 100;
            let (down, right) = (draw >= 76, draw >= 95 || (57..76).contains(&draw));
            (source, target) = (source << 1 | u32::from(down), target << 1 | u32::from(right));
        }
        (scramble(source, scale, seed), scramble(target, scale, seed))
    };
    let (sources, targets) = (0..count).map(edge).unzip();
    EdgeList::new(1 << scale, sources, targets)
}

/// Another number for a vertex, of as many bits: odd factors and shifts to the right are one to one.
fn scramble(vertex: u32, scale: u32, seed: u64) -> u32 {
    let mask = (1_u64 << scale) - 1;
    let mut bits = u64::from(vertex);
    for round in 0..2 {
        bits = bits.wrapping_mul((seed >> round << 1 | 1) ^ 0x9E37_79B9_7F4A_7C14 & mask << 1) & mask;
        bits ^= bits >> (scale / 2).max(1);
    }
    bits as u32
}

/// A graph of edges whose two ends are drawn from all vertices alike.
pub fn uniform(vertices: u32, edges: usize, seed: u64) -> Result<EdgeList, GlobalError> {
    if vertices == 0 {
        return Err(GlobalError::Argument { what: "the number of vertices", given: "0".to_owned() });
    }
    let mut random = Random::new(seed);
    let mut draw = || (0..edges).map(|_| random.below(vertices)).collect::<Vec<u32>>();
    EdgeList::new(vertices, draw(), draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_numbered_one_to_one_and_degrees_are_skewed() {
        for (scale, seed) in [(1, 0), (5, 1), (10, 99)] {
            let mut numbers: Vec<u32> = (0..1 << scale).map(|vertex| scramble(vertex, scale, seed)).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..1 << scale));
        }
        let list = kronecker(10, 16, 5).unwrap();
        assert_eq!((list.vertices, list.sources.len()), (1_024, 16_384));
        let mut degrees = vec![0_u32; 1_024];
        list.sources.iter().for_each(|source| degrees[*source as usize] += 1);
        assert!(
            *degrees.iter().max().unwrap() > 200
                && degrees.iter().filter(|degree| **degree == 0).count() > 50
        );
        assert!(kronecker(0, 16, 1).is_err() && kronecker(32, 1, 1).is_err() && uniform(0, 1, 1).is_err());
    }
}
