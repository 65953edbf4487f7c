//! Functions over strings.

use super::signature::functions;
use gpuform_schema::value::Str;

functions! {
    /// Converts all letters that have cases to upper case.
    fn upper(str: Str) -> String {
        str.to_uppercase()
    }
}
