//! The plugin protocol: messages, clients and servers generated from `proto/`. Values travel in
//! them as the msgpack or JSON of the codecs; `convert` has the conversions from and to the models of this crate. Only plugin hosts and the provider SDK use this.
//!
//! Protocol 5 shares all messages with protocol 6 (see `proto/tfplugin5.proto`) except those that describe schemas.

mod generated {
    #![allow(clippy::all, clippy::pedantic)]
    include!(concat!(env!("OUT_DIR"), "/protocols.rs"));
}

mod convert;

pub use convert::SchemaError;
/// gRPC's health service.
pub use generated::grpc::health::v1 as health;
/// The services of go-plugin itself.
pub use generated::plugin;
/// Protocol 5: the service, and the messages in which it differs from protocol 6.
pub use generated::tfplugin5 as v5;
/// Protocol 6.
pub use generated::tfplugin6 as v6;
/// Messages for reading those of the protocols in part.
pub use generated::undecoded;
