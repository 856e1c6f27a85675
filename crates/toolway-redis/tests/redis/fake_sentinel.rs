//! How does a test decide what a Sentinel says?

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;

/// A Sentinel that says what the test wants.
pub(crate) struct FakeSentinel {
    pub(crate) port: u16,
    view: watch::Sender<View>,
    _connections: JoinSet<()>,
}

/// The primary, as a Sentinel sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) port: u16,
    pub(crate) epoch: u64,
}

impl FakeSentinel {
    pub(crate) async fn start(view: View) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let view = watch::Sender::new(view);
        let mut tasks = JoinSet::new();
        let views = view.subscribe();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(client, views.clone()));
            }
        });
        Self { port, view, _connections: tasks }
    }

    /// Names another primary, and tells those that listen.
    pub(crate) fn switch(&self, view: View) {
        self.view.send_replace(view);
    }
}

async fn serve(client: TcpStream, mut view: watch::Receiver<View>) {
    let (from_client, mut to_client) = client.into_split();
    let mut from_client = BufReader::new(from_client);
    let (replies, mut unsent) = mpsc::unbounded_channel();
    let (subscribed, views) = (Notify::new(), view.clone());
    let answering = async {
        while let Some(command) = read(&mut from_client).await {
            let words: Vec<_> = command.iter().map(String::as_str).collect();
            _ = replies.send(answer(&words, *views.borrow()));
            if words[0] == "SUBSCRIBE" {
                subscribed.notify_one();
            }
        }
    };
    let telling = async {
        subscribed.notified().await;
        while view.changed().await.is_ok() {
            _ = replies.send(message(*view.borrow_and_update()));
        }
    };
    let sending = async {
        while let Some(reply) = unsent.recv().await {
            if to_client.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = answering => {}
        () = telling => {}
        () = sending => {}
    }
}

fn answer(words: &[&str], View { port, epoch }: View) -> String {
    match words {
        ["HELLO", ..] => "%0\r\n".to_owned(),
        ["PING"] => "+PONG\r\n".to_owned(),
        ["SUBSCRIBE", channel] => format!(">3\r\n+subscribe\r\n{}:1\r\n", text(channel)),
        ["SENTINEL", "MASTER", _] => {
            format!("%1\r\n{}{}", text("config-epoch"), text(&epoch.to_string()))
        }
        ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", _] => {
            format!("*2\r\n{}{}", text("127.0.0.1"), text(&port.to_string()))
        }
        _ => "+OK\r\n".to_owned(),
    }
}

/// Writes the message of a switch. The former primary is not looked at.
fn message(View { port, .. }: View) -> String {
    let switch = format!("main 127.0.0.1 1 127.0.0.1 {port}");
    format!(">3\r\n+message\r\n{}{}", text("+switch-master"), text(&switch))
}

fn text(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// Reads a command. Returns `None` when the client has gone.
async fn read(client: &mut BufReader<OwnedReadHalf>) -> Option<Vec<String>> {
    let count = read_number(client).await?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; read_number(client).await? + 2];
        client.read_exact(&mut word).await.ok()?;
        word.truncate(word.len() - 2);
        words.push(String::from_utf8(word).unwrap());
    }
    Some(words)
}

/// Reads a line like `*2` or `$5`.
async fn read_number(client: &mut BufReader<OwnedReadHalf>) -> Option<usize> {
    let mut line = String::new();
    client.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
    Some(line[1..].trim_end().parse().unwrap())
}
