//! A provider that misbehaves on demand. The test executable plays it: a shell script, which is what the host starts,
//! runs it again with the name of the test `fake_plugin` and a mode in the environment.

use crate::strange;
use base64::Engine as _;
use futures::stream::unfold;
use gpuform_schema::proto::{v5, v6};
use gpuform_schema::schema::{
    Attribute, AttributeType, Block, Description, FunctionParameter, FunctionSignature, ProviderSchema, Schema,
    ServerCapabilities,
};
use gpuform_schema::{Path, Type, Value};
use prost::Message;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// An executable in `folder` that plays the fake provider in a mode: words of `v5`, `tcp`, `tls`,
/// `impostor`, `die`, `hang`, `nonsense`, `optional`.
pub fn executable(folder: &std::path::Path, mode: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let socket = folder.join("socket");
    script(
        folder,
        &format!(
            "exec 3>&1 1>/dev/null\n\
             FAKE_PLUGIN={mode:?} FAKE_SOCKET={socket:?} exec {test:?} --exact fake_plugin --ignored --nocapture\n"
        ),
    )
}

/// An executable shell script.
pub fn script(folder: &std::path::Path, text: &str) -> PathBuf {
    let path = folder.join("terraform-provider-fake");
    fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

pub fn attribute(ty: Type) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        required: false,
        optional: true,
        computed: true,
        sensitive: false,
        write_only: false,
        deprecated: false,
    }
}

pub fn schema() -> ProviderSchema {
    let mut size = attribute(Type::Number);
    size.write_only = true;
    let attributes = [("id", attribute(Type::String)), ("name", attribute(Type::String)), ("size", size)];
    let block = Block { attributes: attributes.map(|(n, a)| (n.into(), a)).into(), ..Block::default() };
    let thing = Arc::new(Schema { version: 2, block });
    let parameter = FunctionParameter {
        name: "n".into(),
        ty: Type::Number,
        allow_null: false,
        allow_unknown: false,
        description: Description::default(),
    };
    let double = FunctionSignature {
        parameters: vec![parameter],
        variadic: None,
        return_type: Type::Number,
        summary: String::new(),
        description: Description::default(),
        deprecation_message: String::new(),
    };
    ProviderSchema {
        provider: thing.clone(),
        resources: [("fake_thing".into(), thing.clone()), (strange::TYPE.into(), strange::schema())].into(),
        data_sources: [("fake_data".into(), thing.clone())].into(),
        ephemeral_resources: [("fake_secret".into(), thing)].into(),
        functions: [("double".into(), Arc::new(double))].into(),
        ..ProviderSchema::default()
    }
}

/// Plays the provider until it is asked to shut down; only when the environment asks for it.
pub async fn serve() {
    let Ok(mode) = std::env::var("FAKE_PLUGIN") else { return };
    let fake = Fake { mode: mode.split(' ').map(str::to_owned).collect() };
    let version = if fake.is("v5") { 5 } else { 6 };
    let (shut, shutdown) = tokio::sync::oneshot::channel::<()>();
    let controller = Controller(std::sync::Mutex::new(Some(shut)));
    let router = Server::builder()
        .add_service(gpuform_schema::proto::plugin::grpc_controller_server::GrpcControllerServer::new(controller));
    let router = match version {
        5 => router.add_service(v5::provider_server::ProviderServer::new(fake.clone())),
        _ => router.add_service(v6::provider_server::ProviderServer::new(fake.clone())),
    };
    let socket = std::env::var("FAKE_SOCKET").unwrap();
    let ended = async { shutdown.await.unwrap_or_default() };
    if fake.is("tls") {
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let (acceptor, certificate) = tls();
        let announced = if fake.is("impostor") { tls().1 } else { certificate };
        let certificate = base64::engine::general_purpose::STANDARD_NO_PAD.encode(announced);
        announce(&format!("1|{version}|unix|{socket}|grpc|{certificate}"));
        let incoming = unfold((listener, acceptor), |(listener, acceptor)| async {
            let (stream, _) = listener.accept().await.unwrap();
            let (ours, mut theirs) = tokio::io::duplex(1 << 16);
            let tls = acceptor.accept(stream);
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut tls.await.unwrap(), &mut theirs).await });
            Some((std::io::Result::Ok(ours), (listener, acceptor)))
        });
        router.serve_with_incoming_shutdown(incoming, ended).await.unwrap();
    } else if fake.is("tcp") {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(&format!("1|{version}|tcp|{}|grpc|", listener.local_addr().unwrap()));
        router
            .serve_with_incoming_shutdown(
                unfold(listener, |l| async { Some((l.accept().await.map(|c| c.0), l)) }),
                ended,
            )
            .await
            .unwrap();
    } else {
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        announce(&format!("1|{version}|unix|{socket}|grpc|"));
        router
            .serve_with_incoming_shutdown(
                unfold(listener, |l| async { Some((l.accept().await.map(|c| c.0), l)) }),
                ended,
            )
            .await
            .unwrap();
    }
}

/// TLS as go-plugin does it: a certificate on P-521, and only the client with the certificate from the environment.
fn tls() -> (TlsAcceptor, Vec<u8>) {
    let client = CertificateDer::from_pem_slice(std::env::var("PLUGIN_CLIENT_CERT").unwrap().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512).unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap().der().clone();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(Arc::new(Only(client, provider)))
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    (Arc::new(config).into(), certificate.to_vec())
}

/// Accepts one client.
#[derive(Debug)]
struct Only(CertificateDer<'static>, Arc<CryptoProvider>);

impl ClientCertVerifier for Only {
    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        assert_eq!(*end_entity, self.0);
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.1.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.1.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.1.signature_verification_algorithms.supported_schemes()
    }
}

fn announce(line: &str) {
    let cookie = std::env::var("TF_PLUGIN_MAGIC_COOKIE").unwrap();
    assert_eq!(cookie, "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");
    let mut out = File::options().write(true).open("/dev/fd/3").unwrap();
    writeln!(out, "{line}").unwrap();
    writeln!(out, "further output of the provider").unwrap();
}

#[derive(Clone)]
struct Fake {
    mode: Vec<String>,
}

impl Fake {
    fn is(&self, word: &str) -> bool {
        self.mode.iter().any(|m| m == word)
    }

    /// The answer to a call, as bytes; calls are named by their messages in protocol 6.
    async fn answer(&self, call: &str, request: &[u8]) -> Result<Vec<u8>, Status> {
        let ty = schema().resources["fake_thing"].block.implied_type();
        let warning = || v6::Diagnostic {
            severity: v6::diagnostic::Severity::Warning.into(),
            summary: "Careful".into(),
            detail: String::new(),
            attribute: Some((&Path::attrs(["name"])).into()),
        };
        let answer = match call {
            "get_provider_schema" => {
                let capabilities =
                    ServerCapabilities { get_provider_schema_optional: self.is("optional"), ..Default::default() };
                let schema = ProviderSchema { capabilities, ..schema() };
                let all = v6::get_provider_schema::Response::from(&schema);
                if self.is("v5") { to_v5(all).encode_to_vec() } else { all.encode_to_vec() }
            }
            "validate_provider_config" => {
                v6::validate_provider_config::Response { prepared_config: None, diagnostics: vec![warning()] }
                    .encode_to_vec()
            }
            "validate_resource_config" | "validate_data_resource_config" | "validate_ephemeral_resource_config" => {
                v6::validate_resource_config::Response { diagnostics: vec![warning()] }.encode_to_vec()
            }
            "configure_provider" => {
                let request = v6::configure_provider::Request::decode(request).unwrap();
                eprintln!("[INFO] configured by Terraform {}", request.terraform_version);
                Vec::new()
            }
            "upgrade_resource_state" => {
                let request = v6::upgrade_resource_state::Request::decode(request).unwrap();
                if request.type_name == strange::TYPE {
                    return Ok(strange::upgrade(request).encode_to_vec());
                }
                let json = String::from_utf8(request.raw_state.unwrap().json).unwrap();
                let name = format!("version {}: {json}", request.version);
                v6::upgrade_resource_state::Response {
                    upgraded_state: Some(thing(&name, &ty)),
                    diagnostics: Vec::new(),
                }
                .encode_to_vec()
            }
            "plan_resource_change" => {
                let request = v6::plan_resource_change::Request::decode(request).unwrap();
                if request.type_name == strange::TYPE {
                    return Ok(strange::plan(request, self.is("v5")).encode_to_vec());
                }
                v6::plan_resource_change::Response {
                    planned_state: request.proposed_new_state,
                    requires_replace: vec![(&Path::attrs(["name"])).into()],
                    planned_private: b"planned".to_vec(),
                    legacy_type_system: self.is("v5"),
                    ..Default::default()
                }
                .encode_to_vec()
            }
            "apply_resource_change" if self.is("die") => {
                eprintln!("panic: out of cheese\n\ngoroutine 7 [running]:");
                std::process::exit(3);
            }
            "apply_resource_change" if self.is("hang") => std::future::pending().await,
            "apply_resource_change" if self.is("nonsense") => {
                let new_state = v6::DynamicValue { msgpack: vec![0xc1], json: Vec::new() };
                v6::apply_resource_change::Response { new_state: Some(new_state), ..Default::default() }.encode_to_vec()
            }
            "apply_resource_change" => {
                let request = v6::apply_resource_change::Request::decode(request).unwrap();
                if request.type_name == strange::TYPE {
                    return Ok(strange::apply(request, self.is("v5")).encode_to_vec());
                }
                v6::apply_resource_change::Response {
                    new_state: request.planned_state,
                    private: request.planned_private,
                    ..Default::default()
                }
                .encode_to_vec()
            }
            "read_resource" => {
                let request = v6::read_resource::Request::decode(request).unwrap();
                if request.type_name == strange::TYPE {
                    return Ok(strange::read(request).encode_to_vec());
                }
                v6::read_resource::Response { new_state: request.current_state, ..Default::default() }.encode_to_vec()
            }
            "import_resource_state" => {
                let request = v6::import_resource_state::Request::decode(request).unwrap();
                let object = v6::import_resource_state::ImportedResource {
                    type_name: request.type_name,
                    state: Some(thing(&request.id, &ty)),
                    ..Default::default()
                };
                v6::import_resource_state::Response { imported_resources: vec![object], ..Default::default() }
                    .encode_to_vec()
            }
            "move_resource_state" => {
                let request = v6::move_resource_state::Request::decode(request).unwrap();
                v6::move_resource_state::Response {
                    target_state: Some(thing(&request.source_type_name, &ty)),
                    ..Default::default()
                }
                .encode_to_vec()
            }
            "read_data_source" => {
                let request = v6::read_data_source::Request::decode(request).unwrap();
                v6::read_data_source::Response { state: request.config, ..Default::default() }.encode_to_vec()
            }
            "open_ephemeral_resource" => {
                let request = v6::open_ephemeral_resource::Request::decode(request).unwrap();
                v6::open_ephemeral_resource::Response {
                    result: request.config,
                    private: Some(b"lease".to_vec()),
                    renew_at: Some(std::time::SystemTime::UNIX_EPOCH.into()),
                    ..Default::default()
                }
                .encode_to_vec()
            }
            "renew_ephemeral_resource" => {
                let request = v6::renew_ephemeral_resource::Request::decode(request).unwrap();
                v6::renew_ephemeral_resource::Response { private: request.private, ..Default::default() }
                    .encode_to_vec()
            }
            "close_ephemeral_resource" | "stop_provider" => Vec::new(),
            "call_function" => {
                let request = v6::call_function::Request::decode(request).unwrap();
                let n = request.arguments[0].decode(&Type::Number).unwrap().as_i64().unwrap();
                if n < 0 {
                    let error = v6::FunctionError { text: "too small".into(), function_argument: Some(0) };
                    v6::call_function::Response { result: None, error: Some(error) }.encode_to_vec()
                } else {
                    let result = v6::DynamicValue::encode(&Value::number(2 * n), &Type::Number).unwrap();
                    v6::call_function::Response { result: Some(result), error: None }.encode_to_vec()
                }
            }
            _ => return Err(Status::unimplemented("not in the fake")),
        };
        Ok(answer)
    }
}

fn thing(name: &str, ty: &Type) -> v6::DynamicValue {
    let null = Value::Null(Type::String);
    let value = Value::object([("id", null), ("name", name.into()), ("size", Value::Null(Type::Number))]);
    v6::DynamicValue::encode(&value, ty).unwrap()
}

fn to_v5(all: v6::get_provider_schema::Response) -> v5::get_provider_schema::Response {
    let each = |schemas: std::collections::BTreeMap<String, v6::Schema>| {
        schemas.into_iter().map(|(n, s)| (n, s.try_into().unwrap())).collect()
    };
    v5::get_provider_schema::Response {
        provider: all.provider.map(|s| s.try_into().unwrap()),
        resource_schemas: each(all.resource_schemas),
        data_source_schemas: each(all.data_source_schemas),
        ephemeral_resource_schemas: each(all.ephemeral_resource_schemas),
        functions: all.functions,
        server_capabilities: all.server_capabilities,
        ..Default::default()
    }
}

struct Controller(std::sync::Mutex<Option<tokio::sync::oneshot::Sender<()>>>);

#[tonic::async_trait]
impl gpuform_schema::proto::plugin::grpc_controller_server::GrpcController for Controller {
    async fn shutdown(
        &self,
        _: Request<gpuform_schema::proto::plugin::Empty>,
    ) -> Result<Response<gpuform_schema::proto::plugin::Empty>, Status> {
        drop(self.0.lock().unwrap().take());
        Ok(Response::new(gpuform_schema::proto::plugin::Empty {}))
    }
}

/// Implements a protocol's service by [`Fake::answer`]: each method with the module of its messages.
macro_rules! service {
    ($trait:path, $schema:ident: $schema_response:ty, { $($method:ident: $module:ident,)* }) => {
        #[tonic::async_trait]
        impl $trait for Fake {
            $(async fn $method(
                &self,
                request: Request<v6::$module::Request>,
            ) -> Result<Response<v6::$module::Response>, Status> {
                let answer = self.answer(stringify!($module), &request.into_inner().encode_to_vec()).await?;
                Ok(Response::new(Message::decode(&*answer).unwrap()))
            })*

            async fn $schema(
                &self,
                _: Request<v6::get_provider_schema::Request>,
            ) -> Result<Response<$schema_response>, Status> {
                let answer = self.answer("get_provider_schema", &[]).await?;
                Ok(Response::new(Message::decode(&*answer).unwrap()))
            }
        }
    };
}

service!(v6::provider_server::Provider, get_provider_schema: v6::get_provider_schema::Response, {
    get_metadata: get_metadata,
    get_resource_identity_schemas: get_resource_identity_schemas,
    validate_provider_config: validate_provider_config,
    validate_resource_config: validate_resource_config,
    validate_data_resource_config: validate_data_resource_config,
    validate_ephemeral_resource_config: validate_ephemeral_resource_config,
    configure_provider: configure_provider,
    upgrade_resource_state: upgrade_resource_state,
    upgrade_resource_identity: upgrade_resource_identity,
    read_resource: read_resource,
    plan_resource_change: plan_resource_change,
    apply_resource_change: apply_resource_change,
    import_resource_state: import_resource_state,
    move_resource_state: move_resource_state,
    read_data_source: read_data_source,
    open_ephemeral_resource: open_ephemeral_resource,
    renew_ephemeral_resource: renew_ephemeral_resource,
    close_ephemeral_resource: close_ephemeral_resource,
    get_functions: get_functions,
    call_function: call_function,
    stop_provider: stop_provider,
});

service!(v5::provider_server::Provider, get_schema: v5::get_provider_schema::Response, {
    get_metadata: get_metadata,
    get_resource_identity_schemas: get_resource_identity_schemas,
    prepare_provider_config: validate_provider_config,
    validate_resource_type_config: validate_resource_config,
    validate_data_source_config: validate_data_resource_config,
    validate_ephemeral_resource_config: validate_ephemeral_resource_config,
    configure: configure_provider,
    upgrade_resource_state: upgrade_resource_state,
    upgrade_resource_identity: upgrade_resource_identity,
    read_resource: read_resource,
    plan_resource_change: plan_resource_change,
    apply_resource_change: apply_resource_change,
    import_resource_state: import_resource_state,
    move_resource_state: move_resource_state,
    read_data_source: read_data_source,
    open_ephemeral_resource: open_ephemeral_resource,
    renew_ephemeral_resource: renew_ephemeral_resource,
    close_ephemeral_resource: close_ephemeral_resource,
    get_functions: get_functions,
    call_function: call_function,
    stop: stop_provider,
});
