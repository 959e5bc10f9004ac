//! Proof that whoever asks for a token is who asked for the code (RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::secret::Secret;

/// The system provides no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the system provides no random numbers")]
pub struct NoRandomness;

/// A verifier, and the challenge that is its hash.
#[derive(Debug, Clone)]
pub struct Proof {
    pub verifier: Secret,
    pub challenge: String,
}

impl Proof {
    /// A new one.
    pub fn new() -> Result<Self, NoRandomness> {
        Ok(Self::of(random_text()?))
    }

    fn of(verifier: String) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Self {
            verifier: Secret::new(verifier),
            challenge,
        }
    }
}

/// 256 bits nobody can guess, as text.
pub fn random_text() -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_one_of_the_standard() {
        let proof = Proof::of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into());
        assert_eq!(
            proof.challenge,
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        assert_ne!(random_text().unwrap(), random_text().unwrap());
    }
}
