//! The contract between the gpuform engine and its providers, and nothing else: types, values (unknown, marks), paths,
//! the provider schema model, the msgpack and JSON codecs of the plugin protocol, and the protocol itself.

mod codec;
#[cfg(test)]
mod generate;
pub mod json;
pub mod msgpack;
pub mod number;
pub mod path;
pub mod proto;
pub mod schema;
pub mod set_order;
pub mod types;
pub mod value;

pub use codec::CodecError;
pub use number::{Notation, Number, NumberError};
pub use path::{Path, Step};
pub use set_order::set_order;
pub use types::{ObjectType, Type};
pub use value::{Marks, Refinement, Str, Value};
