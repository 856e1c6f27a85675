//! Does a load balancer, with the file of the guide "Several nodes", send each request once, and only its own address? Does it
//! pass on that a client has closed its connection?

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::cluster::find_or_explain;

#[test]
fn a_post_is_sent_once_even_if_its_node_breaks_the_connection() {
    let Some(haproxy) = find_or_explain("haproxy", "-v") else { return };
    let posts = Posts::default();
    // The third node refuses connections: its port is reserved, but nothing listens there.
    let refuses = tokio::net::TcpSocket::new_v4().unwrap();
    refuses.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let refuse = {
        let posts = posts.clone();
        move |head, _connection| posts.lock().unwrap().push(head)
    };
    let nodes = [node(refuse.clone()), node(refuse), refuses.local_addr().unwrap().to_string()];
    let balancer = Balancer::start(&haproxy, &nodes);
    for _ in 0..6 {
        let reply = exchange(
            &balancer.address,
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 192.0.2.1\r\nforwarded: for=192.0.2.1\r\n\
             connection: close\r\ncontent-length: 2\r\n\r\n{}",
        );
        assert!(reply.starts_with("HTTP/1.1 502 "), "{reply}");
    }
    let posts = posts.lock().unwrap();
    assert_eq!(posts.len(), 6, "{posts:#?}");
    for head in posts.iter() {
        assert!(head.contains("\r\nx-forwarded-for: 127.0.0.1\r\n"), "{head}");
        assert!(!head.contains("192.0.2.1"), "{head}");
    }
}

/// In 2026-07-28 this cancels the call.
#[test]
fn a_client_that_closes_its_connection_closes_it_at_the_node() {
    let Some(haproxy) = find_or_explain("haproxy", "-v") else { return };
    let (tell, told) = mpsc::channel();
    let wait = move |_head, mut connection: TcpStream| {
        tell.send("begun").unwrap();
        // The end of the stream, or an error if the connection was reset.
        let _ = connection.read(&mut [0]);
        tell.send("closed").unwrap();
    };
    let nodes = [node(wait.clone()), node(wait.clone()), node(wait)];
    let balancer = Balancer::start(&haproxy, &nodes);
    let mut client = TcpStream::connect(&balancer.address).unwrap();
    client.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    assert_eq!(told.recv_timeout(LIMIT), Ok("begun"));
    drop(client);
    assert_eq!(told.recv_timeout(LIMIT), Ok("closed"));
}

/// The heads of the POSTs that reached a node.
type Posts = Arc<Mutex<Vec<String>>>;

/// Starts a node that is well; returns its address. A POST is given to `on_post` with its head, one after the other.
fn node(on_post: impl Fn(String, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // The thread ends with the test process.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut request, mut byte) = (String::new(), [0]);
            while !request.ends_with("\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0].into());
            }
            if request.starts_with("POST ") {
                let _ = stream.read_exact(&mut [0; 2]);
                on_post(request, stream);
            } else {
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            }
        }
    });
    address
}

/// Sends a request and returns the reply; an empty text if there is none.
fn exchange(address: &str, request: &str) -> String {
    let mut reply = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut reply));
    }
    reply
}

/// A load balancer, killed at the end of the test.
struct Balancer {
    child: Child,
    address: String,
}

impl Balancer {
    fn start(haproxy: &str, nodes: &[String; 3]) -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guide/several-nodes/haproxy.cfg");
        let text = std::fs::read_to_string(file).unwrap();
        for _ in 0..20 {
            // Another program may take the port first; then HAProxy ends, and the next attempt has another port.
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
            let mut settings = text.replace("bind :8080", &format!("bind {address}"));
            for (number, node) in nodes.iter().enumerate() {
                settings = settings.replace(&format!("10.0.0.{}:8000", number + 1), node);
            }
            let name = format!("haproxy-{}.cfg", address.replace(':', "-"));
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::write(&path, settings).unwrap();
            let child =
                Command::new(haproxy).arg("-db").arg("-f").arg(&path).stderr(Stdio::null()).spawn().unwrap();
            let mut balancer = Self { child, address };
            while balancer.child.try_wait().unwrap().is_none() {
                let get = "GET /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
                if exchange(&balancer.address, get).starts_with("HTTP/1.1 200 ") {
                    std::fs::remove_file(&path).unwrap();
                    return balancer;
                }
            }
        }
        panic!("HAProxy does not start");
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long a balancer may take, on a very busy machine.
const LIMIT: Duration = Duration::from_secs(60);
