//! How is the server of an `https://` URL verified, and how is a failure explained?

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use ::http::Uri;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::Connect;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, ClientConfig, RootCertStore};

use crate::client::http::request::built_in::{BuiltInClient, ConnectionReuse, TimedConnector};
use crate::client::http::request::client::HttpClient;
use crate::client::http::request::proxy::{Proxied, ProxyError, ProxyRules, ProxySetting};
use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind, Result};

/// The settings of encrypted connections.
#[derive(Clone, Default)]
pub(crate) struct TlsSettings {
    /// The certificate authorities that the application trusts in addition to those of the system.
    pub(crate) roots: Vec<CertificateDer<'static>>,
    pub(crate) proxy: ProxySetting,
}

impl TlsSettings {
    /// Returns the host and port of the proxy through which connections to a URL go.
    pub(crate) fn proxy_for(&self, url: &Uri) -> Option<String> {
        let proxy = ProxyRules::new(&self.proxy).ok()?.find(url)?;
        proxy.uri().authority().map(ToString::to_string)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "without TLS it fails")]
pub(crate) fn check(_: &Url) -> Result<()> {
    Ok(())
}

/// Makes a client that sends encrypted requests over connections that `tcp` opens, which must accept `https` URLs. Blocks, because it reads the system's certificates from files.
pub(crate) fn client<C>(
    tcp: C,
    settings: &TlsSettings,
    connect_timeout: Duration,
    reuse: ConnectionReuse,
) -> Result<Arc<dyn HttpClient>>
where
    TimedConnector<HttpsConnector<Proxied<C>>>: Connect + Clone + Send + Sync + 'static,
    C: Send + Sync + 'static,
{
    let tcp = Proxied::new(tcp, ProxyRules::new(&settings.proxy)?);
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "certificates of the system could not be read");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Misuse, "TLS cannot be used").caused_by(error))?
        .with_root_certificates(root_store(found.certs, has_environment_roots(), &settings.roots)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let tls = HttpsConnector::from((tcp, config));
    Ok(Arc::new(BuiltInClient::new(tls, connect_timeout, reuse, advice)))
}

/// Returns whether an environment variable replaces the certificates of the system.
fn has_environment_roots() -> bool {
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Collects the certificates to trust. If the system has no usable certificate, Mozilla's certificates are used. If an
/// environment variable names the certificates (`is_restricted`), Mozilla's are never used: a wrong path must not make
/// the client trust more authorities than the operator meant.
fn root_store(
    of_system: Vec<CertificateDer<'static>>,
    is_restricted: bool,
    trusted: &[CertificateDer<'static>],
) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    // Some systems contain certificates that cannot be parsed. They are skipped, and the others are used.
    let (added, _) = roots.add_parsable_certificates(of_system);
    if added == 0 && is_restricted && trusted.is_empty() {
        let text = "SSL_CERT_FILE and SSL_CERT_DIR name no certificate that can be used: correct the path, or unset the variable";
        return Err(Error::new(ErrorKind::Misuse, text));
    }
    if added == 0 && !is_restricted {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots.add_parsable_certificates(trusted.iter().cloned());
    Ok(roots)
}

/// Explains how to fix the cause of a failed connection, if the cause is the proxy, or a TLS error with a known fix.
fn advice(error: &(dyn StdError + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return tls_advice(error);
        }
        if let Some(error) = error.downcast_ref::<ProxyError>() {
            return Some(error.to_string());
        }
        // `source` of an I/O error skips the wrapped error itself and returns the source of the wrapped error.
        next = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn tls_advice(error: &rustls::Error) -> Option<String> {
    let advice = match error {
        rustls::Error::InvalidCertificate(reason) => match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired: renew it on the server, or correct the clock of this machine"
                    .to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet: check the clocks of this machine and of the server"
                    .to_owned()
            }
            CertificateError::NotValidForName => {
                "the server's certificate is for another name: connect with a name that the certificate is for"
                    .to_owned()
            }
            CertificateError::NotValidForNameContext { expected, presented } => format!(
                "the server's certificate is not for {} but for {}: connect with a name that the certificate is for",
                expected.to_str(),
                some_of(presented),
            ),
            CertificateError::UnknownIssuer => {
                "the server's certificate comes from an authority that is not trusted here: if you trust the \
                 authority, add it with `Http::root_certificate` or to the file that SSL_CERT_FILE names"
                    .to_owned()
            }
            CertificateError::BadSignature => {
                "the server's certificate names an authority that is trusted here but is signed with another key: \
                 another server may pretend to be this server, or the authority has a new certificate: add that one \
                 with `Http::root_certificate`"
                    .to_owned()
            }
            _ => return None,
        },
        rustls::Error::InvalidMessage(_) => {
            "the server does not speak TLS at this URL: the URL may have to begin with http://".to_owned()
        }
        _ => return None,
    };
    Some(advice)
}

/// Lists at most five of the host names in a certificate, because a certificate may have many.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        shown.push_str(", …");
    }
    if shown.is_empty() { "no name at all".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_authorities_has_those_of_mozilla() {
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let trusted = [key.cert.der().clone()];
        let mozilla = webpki_roots::TLS_SERVER_ROOTS.len();
        let count = |of_system, is_restricted, trusted: &[_]| {
            root_store(of_system, is_restricted, trusted).ok().map(|roots| roots.len())
        };
        assert_eq!(count(Vec::new(), false, &[]), Some(mozilla));
        assert_eq!(count(vec![CertificateDer::from(vec![1, 2])], false, &trusted), Some(mozilla + 1));
        assert_eq!(count(vec![key.cert.der().clone()], false, &trusted), Some(2));
        assert_eq!(count(Vec::new(), true, &trusted), Some(1), "only what the application trusts");
        assert_eq!(count(Vec::new(), true, &[]), None);
    }
}
