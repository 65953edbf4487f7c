//! JSON syntax (`.tf.json`): a body whose properties become attributes or blocks depending on what is asked for.

/// A JSON object read as a body.
#[derive(Clone, Debug)]
pub struct JsonBody {}
