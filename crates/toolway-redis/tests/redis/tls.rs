//! Are connections with TLS encrypted, and is the server's certificate checked?

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::server::{Server, is_missing};
use crate::steps::{done, get, patient, put};

#[tokio::test]
async fn a_server_with_tls_is_used_if_its_certificate_is_trusted() {
    if is_missing() {
        return;
    }
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let root = authority.pem();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let tls_port = std::cell::Cell::new(0);
    let server = Server::start_as(|directory| {
        let file = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        tls_port.set(crate::server::draw_port());
        let words = [
            ["--save", ""].map(str::to_owned),
            ["--tls-port".to_owned(), tls_port.get().to_string()],
            ["--tls-cert-file".to_owned(), file("server.crt", &certificate.pem())],
            ["--tls-key-file".to_owned(), file("server.key", &key.serialize_pem())],
            ["--tls-ca-cert-file".to_owned(), file("root.crt", &root)],
            ["--tls-auth-clients", "no"].map(str::to_owned),
        ];
        words.concat()
    });
    let url = format!("rediss://localhost:{}", tls_port.get());
    let store = patient(&url).root_certificate(root.clone()).connect().await.unwrap();
    done(&store, &put("key", "value")).await;
    assert_eq!(get(&store, "key").await.unwrap().unwrap(), "value");

    let error = patient(&url).connect().await.unwrap_err();
    assert_eq!(error.setting(), "root_certificate", "{error}");
    let other_host = url.replace("localhost", "127.0.0.1");
    let error = patient(other_host).root_certificate(root).connect().await.unwrap_err();
    assert_eq!(error.setting(), "root_certificate", "{error}");
    drop(server);
}
