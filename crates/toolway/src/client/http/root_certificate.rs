//! Which certificate authorities does the application trust, besides those of the system?

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::client::http::target::Http;

impl Http {
    /// Trusts the certificate authorities in `pem`, in addition to those of the system. `pem` is a text of one or more
    /// certificates that begin with `-----BEGIN CERTIFICATE-----`. This is useful for servers inside a company, and for
    /// tests.
    ///
    /// The system's authorities are read when they are first needed. If the environment variable `SSL_CERT_FILE` or
    /// `SSL_CERT_DIR` is set, the certificates that it names are used instead of the system's. If neither is set and
    /// the system has no usable certificate, as in a small container, Mozilla's list of authorities is used.
    ///
    /// ```no_run
    /// use toolway::client::Http;
    ///
    /// # fn server() -> std::io::Result<Http> {
    /// let authority = std::fs::read("/etc/company/authority.pem")?;
    /// let server = Http::new("https://tools.company.example/mcp").root_certificate(authority);
    /// # Ok(server)
    /// # }
    /// ```
    pub fn root_certificate(mut self, pem: impl AsRef<[u8]>) -> Self {
        match parse_roots(pem.as_ref()) {
            Ok(roots) => {
                self.tls.roots.extend(roots);
                self.reset_client();
                self
            }
            Err(reason) => self.with_mistake(reason),
        }
    }
}

fn parse_roots(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match roots {
        Ok(roots) if roots.is_empty() => {
            Err("the root certificate is not PEM: it must begin with -----BEGIN CERTIFICATE-----".to_owned())
        }
        Ok(roots) => {
            let mut store = RootCertStore::empty();
            match roots.iter().try_for_each(|root| store.add(root.clone())) {
                Ok(()) => Ok(roots),
                Err(error) => Err(format!("the root certificate cannot be used: {error}")),
            }
        }
        Err(error) => Err(format!("the root certificate is not PEM: {error}")),
    }
}
