//! What binds an exchange to a server's certificate: `tls-server-end-point` of RFC 5929, by which SCRAM-SHA-256-PLUS proves
//! that nobody stands between client and server.
//!
//! It is a hash of the certificate, by the function that its signature is made with; SHA-256 in the place of those that are
//! broken. Signatures that name no function (Ed25519, RSA-PSS by its parameters) have no binding, as in PostgreSQL.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// `1.2.840.113549.1.1`, RSA's signatures, without the last number.
const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// `1.2.840.10045.4`, ECDSA's.
const ECDSA: [u8; 6] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The binding of a certificate in DER form.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { what is signed, SEQUENCE { algorithm, parameters }, signature }
    let (inside, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(inside, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    let (identifier, _) = element(algorithm, OBJECT_IDENTIFIER)?;
    let bits = match (identifier.strip_prefix(&RSA), identifier.strip_prefix(&ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => 256,
        (Some([12]), _) | (_, Some([3, 3])) => 384,
        (Some([13]), _) | (_, Some([3, 4])) => 512,
        _ => return None,
    };
    Some(match bits {
        256 => Sha256::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        _ => Sha512::digest(certificate).to_vec(),
    })
}

/// The content of the element that stands first, if it is of this kind, and what comes behind it.
fn element(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match (*first, *first & 0x7f) {
        (short, own) if short == own => (usize::from(short), rest),
        // So many bytes of length follow; a certificate has no more than three.
        (_, bytes @ 1..=3) => {
            let (digits, rest) = rest.split_at_checked(usize::from(bytes))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    (*tag == kind).then(|| rest.split_at_checked(length))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(algorithm: &[u8]) -> Vec<u8> {
        let sequence = |content: &[u8]| [&[SEQUENCE, 0x81, content.len() as u8], content].concat();
        let identifier = [&[OBJECT_IDENTIFIER, algorithm.len() as u8], algorithm].concat();
        sequence(&[sequence(&[1, 2, 3]), sequence(&identifier), vec![3, 1, 0]].concat())
    }

    #[test]
    fn the_hash_is_the_signatures() {
        for (head, last, bytes) in [
            (&RSA[..], &[11][..], Some(32)),
            (&RSA, &[5], Some(32)),
            (&RSA, &[13], Some(64)),
            (&RSA, &[10], None),
            (&ECDSA, &[3, 3], Some(48)),
            (&ECDSA, &[3, 9], None),
        ] {
            let certificate = of(&[head, last].concat());
            let found = end_point(&certificate);
            assert_eq!(found.as_ref().map(Vec::len), bytes, "{last:?}");
            if bytes == Some(32) {
                assert_eq!(found.unwrap(), Sha256::digest(&certificate).to_vec());
            }
        }
    }

    #[test]
    fn what_is_no_certificate_has_none() {
        let whole = of(&[&RSA[..], &[11]].concat());
        assert!((0..whole.len()).all(|length| end_point(&whole[..length]).is_none()));
        assert!(
            end_point(&[SEQUENCE, 0x83, 0xff, 0xff, 0xff]).is_none()
                && end_point(&[SEQUENCE, 0x84, 0, 0, 0, 0]).is_none()
        );
    }
}
