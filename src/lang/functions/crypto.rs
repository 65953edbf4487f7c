//! Hashes, UUIDs, and encryption.

use super::encoding::{decode_base64, encode_base64};
use super::private_key;
use super::signature::{Rest, Typed, functions};
use super::{FunctionContext, FunctionError};
use gpuform_schema::value::{Str, Value};
use md5::Md5;
use rsa::Pkcs1v15Encrypt;
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};
use std::fmt::Write;
use uuid::Uuid;

functions! {
    /// The SHA-256 hash of a string, as UTF-8, in base64.
    fn base64sha256(str: Str) -> String {
        encode_base64(&Sha256::digest(str.as_bytes()))
    }

    /// The SHA-512 hash of a string, as UTF-8, in base64.
    fn base64sha512(str: Str) -> String {
        encode_base64(&Sha512::digest(str.as_bytes()))
    }

    /// A salted hash of a string by the Blowfish cipher, in the form that is used in password files. It is another one
    /// in every call.
    fn bcrypt(
        ctx: &FunctionContext,
        str: Str,
        /// How costly the hash is to compute, from 4 to 31; 10 if left out.
        cost: Rest<i64>,
    ) -> Result<Typed<Str>, FunctionError> {
        const DEFAULT_COST: u32 = 10;
        /// Each step doubles the time: this one takes seconds, 31 would take days.
        const MOST_COST: u32 = 16;
        if !ctx.impure {
            return Ok(Typed::unknown());
        }
        let cost = match cost.0[..] {
            [] => DEFAULT_COST,
            // Costs below the least are replaced by the default, as Terraform does.
            [cost] => u32::try_from(cost).ok().filter(|c| *c >= 4).unwrap_or(DEFAULT_COST),
            _ => return Err(FunctionError::call("at most one cost is allowed")),
        };
        if cost > 31 {
            return Err(FunctionError::call("the cost must be from 4 to 31"));
        }
        if cost > MOST_COST {
            return Err(FunctionError::call(format!("a cost above {MOST_COST} would take too long")));
        }
        if str.len() > 72 {
            return Err(FunctionError::call("a string of more than 72 bytes cannot be hashed"));
        }
        let hash = ::bcrypt::hash_with_result(&*str, cost);
        let hash = hash.map_err(|e| FunctionError::call(format!("the string cannot be hashed: {e}")))?;
        Ok(Typed::new(Value::string(hash.format_for_version(::bcrypt::Version::TwoA))))
    }

    /// The MD5 hash of a string, as UTF-8, in hexadecimal digits.
    fn md5(str: Str) -> String {
        hex(&Md5::digest(str.as_bytes()))
    }

    /// Decrypts what was encrypted with an RSA public key and PKCS #1 v1.5 padding. The result must be valid UTF-8.
    fn rsadecrypt(
        /// The encrypted data in base64.
        ciphertext: Str,
        /// The private key in PEM form.
        privatekey: Str,
    ) -> Result<String, FunctionError> {
        let encrypted =
            decode_base64(&ciphertext).ok_or_else(|| FunctionError::argument(0, "it is not valid base64"))?;
        let key = private_key::parse(&privatekey).map_err(|e| FunctionError::argument(1, e))?;
        let plain = key.decrypt(Pkcs1v15Encrypt, &encrypted);
        let plain = plain.map_err(|_| FunctionError::call("the data cannot be decrypted with this key"))?;
        String::from_utf8(plain).map_err(|_| FunctionError::call("the decrypted data is not valid UTF-8"))
    }

    /// The SHA-1 hash of a string, as UTF-8, in hexadecimal digits.
    fn sha1(str: Str) -> String {
        hex(&Sha1::digest(str.as_bytes()))
    }

    /// The SHA-256 hash of a string, as UTF-8, in hexadecimal digits.
    fn sha256(str: Str) -> String {
        hex(&Sha256::digest(str.as_bytes()))
    }

    /// The SHA-512 hash of a string, as UTF-8, in hexadecimal digits.
    fn sha512(str: Str) -> String {
        hex(&Sha512::digest(str.as_bytes()))
    }

    /// A random UUID. It is another one in every call.
    fn uuid(ctx: &FunctionContext) -> Typed<Str> {
        if ctx.impure { Typed::new(Value::string(Uuid::new_v4().to_string())) } else { Typed::unknown() }
    }

    /// The UUID that a name has in a namespace, always the same.
    fn uuidv5(
        /// `dns`, `url`, `oid`, `x500`, or the UUID of a namespace.
        namespace: Str,
        name: Str,
    ) -> Result<String, FunctionError> {
        let namespace = match &*namespace {
            "dns" => Uuid::NAMESPACE_DNS,
            "url" => Uuid::NAMESPACE_URL,
            "oid" => Uuid::NAMESPACE_OID,
            "x500" => Uuid::NAMESPACE_X500,
            other => Uuid::parse_str(other)
                .map_err(|_| FunctionError::call("the namespace must be dns, url, oid, x500 or a UUID"))?,
        };
        Ok(Uuid::new_v5(&namespace, name.as_bytes()).to_string())
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}
