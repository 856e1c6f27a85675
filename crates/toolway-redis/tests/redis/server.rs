//! How does a test get servers of its own?

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, ServerErrorKind};

/// Returns whether there is no `redis-server`, and says once which tests do not run then.
pub(crate) fn is_missing() -> bool {
    static IS_MISSING: LazyLock<bool> = LazyLock::new(|| {
        let found = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if found.is_ok_and(|status| status.success()) {
            crate::events::capture();
            return false;
        }
        let text = "redis-server was not found, so the tests of toolway-redis with real servers did not run: \
                    apt-get install redis-server redis-sentinel redis-tools";
        assert!(std::env::var_os("TOOLWAY_REQUIRE_REDIS").is_none(), "{text}");
        // Not `eprintln`, which is only shown for tests that fail.
        std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
        true
    });
    *IS_MISSING
}

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    directory: PathBuf,
    arguments: Vec<String>,
}

impl Server {
    /// Starts a server with these arguments, without any file on disk.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut all = vec!["--save", "", "--appendonly", "no"];
        all.extend(arguments);
        Self::start_as(|_| all.iter().map(|&argument| argument.to_owned()).collect())
    }

    /// Starts a server that writes each change to its disk.
    pub(crate) fn start_durable() -> Self {
        Self::start(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    /// Starts a server whose arguments may name its directory.
    pub(crate) fn start_as(arguments: impl Fn(&PathBuf) -> Vec<String>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..20 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("toolway-redis-{}-{number}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&directory).unwrap();
            let arguments = arguments(&directory);
            let port = draw_port();
            if let Some(child) = spawn(port, &directory, &arguments) {
                return Self { child, port, directory, arguments };
            }
            std::fs::remove_dir_all(&directory).unwrap();
        }
        panic!("no server could be started");
    }

    /// Kills the server without a warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again, with the same port and the files that it has left.
    pub(crate) fn start_again(&mut self) {
        self.child = spawn(self.port, &self.directory, &self.arguments).expect("its port must still be free");
    }

    /// Starts the server again, as a replica that gets its data from this port.
    pub(crate) fn start_again_as_replica_of(&mut self, port: u16) {
        if let Some(place) = self.arguments.iter().position(|argument| argument == "--replicaof") {
            self.arguments.drain(place..place + 3);
        }
        self.arguments.extend(["--replicaof".to_owned(), "127.0.0.1".to_owned(), port.to_string()]);
        self.start_again();
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends a command, when the server has loaded its data. A Sentinel closes the connections of a server whose role it
    /// changes, so the command may be sent again.
    pub(crate) async fn query<T: FromRedisValue>(&self, command: &[&str]) -> T {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            match self.try_query(command).await {
                Err(error)
                    if (is_loading(&error) || error.is_io_error())
                        && tokio::time::Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                reply => return reply.unwrap(),
            }
        }
    }

    pub(crate) async fn try_query<T: FromRedisValue>(&self, command: &[&str]) -> redis::RedisResult<T> {
        let mut words = Cmd::new();
        words.arg(command);
        words.query_async(&mut self.connect().await?).await
    }

    pub(crate) async fn connection(&self) -> MultiplexedConnection {
        self.connect().await.unwrap()
    }

    async fn connect(&self) -> redis::RedisResult<MultiplexedConnection> {
        let client = redis::Client::open(self.url()).unwrap();
        let config = redis::AsyncConnectionConfig::new()
            .set_response_timeout(Some(PATIENCE))
            .set_connection_timeout(Some(PATIENCE));
        client.get_multiplexed_async_connection_with_config(&config).await
    }
}

fn is_loading(error: &redis::RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading)
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Starts a server and waits until it is ready. Returns nothing if it ends before, as it does if its port is taken.
fn spawn(port: u16, directory: &PathBuf, arguments: &[String]) -> Option<Child> {
    let port = port.to_string();
    let mut child = Command::new("redis-server")
        .args(arguments)
        .args(["--port", &port, "--bind", "127.0.0.1", "--daemonize", "no", "--logfile", ""])
        .arg("--dir")
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (ready, is_ready) = mpsc::channel();
    // The pipe is read to its end, so that the server never waits for it.
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if line.contains("eady to accept connections") || line.contains("Sentinel ID is") {
                _ = ready.send(());
            }
        }
    });
    match is_ready.recv_timeout(START_TIME) {
        Ok(()) => return Some(child),
        Err(mpsc::RecvTimeoutError::Disconnected) => {}
        Err(mpsc::RecvTimeoutError::Timeout) => {
            _ = child.kill();
            panic!("a server was not ready after {START_TIME:?}");
        }
    }
    child.wait().unwrap();
    None
}

/// Draws a port below those that the operating system gives out. A node of a cluster also uses the one 10,000 higher.
pub(crate) fn draw_port() -> u16 {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).unwrap();
    12_000 + u16::from_le_bytes(bytes) % 10_000
}

/// Waits until something is true, and panics if it does not become true.
pub(crate) async fn eventually(what: &str, is_true: impl AsyncFnMut() -> bool) {
    eventually_within(PATIENCE, what, is_true).await;
}

/// Like [`eventually`], with another time limit.
pub(crate) async fn eventually_within(limit: Duration, what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_true().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(limit, waiting).await.is_ok(), "it must become true that {what}");
}

/// How long a server may take to start. It reads its file first.
const START_TIME: Duration = Duration::from_secs(60);
/// The time limit of what must happen at some time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
