//! RSA private keys as text: PEM in the forms of PKCS #1, PKCS #8 and OpenSSH. Only `rsadecrypt` reads them.

use super::encoding::decode_base64;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::{BoxedUint, RsaPrivateKey as PrivateKey};

/// Reads a key; the error is a clause without a full stop.
pub(super) fn parse(pem: &str) -> Result<PrivateKey, String> {
    let pem = pem.trim();
    if pem.contains("BEGIN OPENSSH PRIVATE KEY") {
        let body: String = pem.lines().filter(|l| !l.starts_with("-----")).collect();
        let bytes = decode_base64(&body).ok_or("the key is not valid base64")?;
        return open_ssh(&bytes).ok_or_else(|| "the OpenSSH key is encrypted, damaged or not an RSA key".into());
    }
    if pem.contains("BEGIN RSA PRIVATE KEY") {
        if pem.contains("ENCRYPTED") {
            return Err("the key is protected by a passphrase".into());
        }
        return PrivateKey::from_pkcs1_pem(pem).map_err(|e| format!("the key cannot be read: {e}"));
    }
    if pem.contains("BEGIN PRIVATE KEY") {
        return PrivateKey::from_pkcs8_pem(pem).map_err(|e| format!("the key cannot be read: {e}"));
    }
    Err("a private key in PEM form is required".into())
}

/// The fields of OpenSSH's own format: each is a length of four bytes and so many bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn integer(&mut self) -> Option<BoxedUint> {
        let bytes = self.bytes()?;
        BoxedUint::from_be_slice(bytes, 8 * bytes.len() as u32).ok()
    }
}

fn open_ssh(bytes: &[u8]) -> Option<PrivateKey> {
    let mut outer = Fields(bytes.strip_prefix(b"openssh-key-v1\0")?);
    let (cipher, _kdf, _kdf_options) = (outer.bytes()?, outer.bytes()?, outer.bytes()?);
    if cipher != b"none" || outer.number()? != 1 {
        return None;
    }
    let _public = outer.bytes()?;
    let mut key = Fields(outer.bytes()?);
    if key.number()? != key.number()? || key.bytes()? != b"ssh-rsa" {
        return None;
    }
    let (n, e, d) = (key.integer()?, key.integer()?, key.integer()?);
    let _inverse = key.bytes()?;
    let primes = vec![key.integer()?, key.integer()?];
    PrivateKey::from_components(n, e, d, primes).ok()
}
