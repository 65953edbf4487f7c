//! Connections from the host: over a unix socket, with mutual TLS if the host asks for it by giving its certificate.
//! Each side trusts exactly the other's certificate, which travelled over the process's environment and output.

use rustls::crypto::aws_lc_rs;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The server's side of TLS.
pub(super) struct Server {
    pub acceptor: TlsAcceptor,
    /// The server's certificate, in DER.
    pub certificate: Vec<u8>,
}

impl Server {
    /// With a new certificate of its own, for the client with this certificate (PEM).
    pub(super) fn new(client: &str) -> Result<Server, super::BoxError> {
        let client = CertificateDer::from_pem_slice(client.as_bytes())
            .map_err(|e| format!("the certificate in PLUGIN_CLIENT_CERT cannot be read: {e}"))?;
        let (certificate, key) = own_certificate()?;
        let crypto = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(OnlyClient { expected: client, crypto: Arc::clone(&crypto) });
        let mut config = rustls::ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Server { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: certificate.to_vec() })
    }
}

/// A self-signed certificate that Go's verifier takes as leaf and root at once.
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment, KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.self_signed(&key)?;
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()))))
}

/// Accepts one certificate, whatever it says about names and dates, if the client proves that it holds the key.
#[derive(Debug)]
struct OnlyClient {
    expected: CertificateDer<'static>,
    crypto: Arc<CryptoProvider>,
}

impl ClientCertVerifier for OnlyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        match *end_entity == self.expected {
            true => Ok(ClientCertVerified::assertion()),
            false => Err(rustls::CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.crypto.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.crypto.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection from the host.
pub(super) enum Connection {
    Plain(UnixStream),
    Tls(Box<TlsStream<UnixStream>>),
}

/// Accepts connections until nobody takes them any more. One that fails its TLS handshake is dropped.
pub(super) async fn accept(listener: UnixListener, tls: Option<TlsAcceptor>, out: mpsc::Sender<Connection>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, out) = (tls.clone(), out.clone());
        tokio::spawn(async move {
            let connection = match tls {
                None => Connection::Plain(stream),
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => Connection::Tls(Box::new(stream)),
                    Err(error) => return tracing::error!(%error, "a connection failed its TLS handshake"),
                },
            };
            // The receiver is gone only when the process ends.
            let _ = out.send(connection).await;
        });
    }
}

impl tonic::transport::server::Connected for Connection {
    type ConnectInfo = ();
    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Connection::Tls(s) => Pin::new(s).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Connection::Plain(s) => Pin::new(s).poll_write(cx, buf),
            Connection::Tls(s) => Pin::new(s).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(s) => Pin::new(s).poll_flush(cx),
            Connection::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Connection::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
