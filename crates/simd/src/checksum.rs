//! A 64-bit checksum that runs at memory speed.
//!
//! Thirty-two lanes of 64 bits each fold a word in by `lane = (lane ^ word) * odd`, which is a bijection of the lane
//! for every word: a change confined to one 8-byte word always changes its lane, and the lanes are folded by
//! bijections too, so such a change is always detected; other changes go unseen with probability about 2^-64. It is a
//! guard against faulty media and truncated writes, not against an adversary. A CRC-32 detects fewer and, without a
//! carry-less multiplication at full width, is several times slower.

use crate::dispatch;

const LANES: usize = 32;
const STRIPE: usize = LANES * 8;
const FOLD: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX: u64 = 0xD6E8_FEB8_6659_FD93;

dispatch! {
    /// The checksum of `bytes`; the length is part of it.
    pub fn checksum(bytes: &[u8]) -> u64 {
        let mut lanes = [0u64; LANES];
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = (i as u64 + 1).wrapping_mul(MIX);
        }
        let mut stripes = bytes.chunks_exact(STRIPE);
        for stripe in &mut stripes {
            for (i, lane) in lanes.iter_mut().enumerate() {
                let mut word = [0u8; 8];
                word.copy_from_slice(&stripe[i * 8..i * 8 + 8]);
                *lane = (*lane ^ u64::from_le_bytes(word)).wrapping_mul(FOLD);
            }
        }
        let mut sum = (bytes.len() as u64).wrapping_mul(FOLD);
        for part in stripes.remainder().chunks(8) {
            let mut word = [0u8; 8];
            word[..part.len()].copy_from_slice(part);
            sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(FOLD).rotate_left(29);
        }
        for lane in lanes {
            sum = (sum ^ lane).wrapping_mul(MIX);
            sum ^= sum >> 32;
        }
        sum
    }
}
