//! How is a connection to one server opened?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, PushInfo,
    RedisConnectionInfo, RedisError, Value,
};
use tokio::sync::mpsc;

use crate::url::{Address, Credentials};

/// The settings of all connections of a store.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) credentials: Credentials,
    pub(crate) database: i64,
    pub(crate) has_tls: bool,
    #[cfg(feature = "tls")]
    pub(crate) certificates: Option<redis::TlsCertificates>,
    pub(crate) timeout: Duration,
}

/// An open connection.
pub(crate) struct Opened {
    pub(crate) connection: MultiplexedConnection,
    /// The messages that the server sends by itself, and the end of the connection.
    pub(crate) pushes: mpsc::UnboundedReceiver<PushInfo>,
}

impl Connector {
    pub(crate) async fn open(&self, address: &Address) -> Result<Opened, OpenError> {
        let failed = |cause| OpenError::new(address, cause);
        let (sender, pushes) = mpsc::unbounded_channel();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_BUFFER)
            .set_push_sender(sender);
        let client = self.client(address).map_err(|error| failed(OpenCause::Failed(error)))?;
        let opening = client.get_multiplexed_async_connection_with_config(&config);
        match tokio::time::timeout(self.timeout.max(MIN_TIMEOUT), opening).await {
            Ok(Ok(connection)) => Ok(Opened { connection, pushes }),
            Ok(Err(error)) => Err(failed(OpenCause::Failed(error))),
            Err(_) => Err(failed(OpenCause::TimedOut)),
        }
    }

    fn client(&self, address: &Address) -> Result<Client, RedisError> {
        let (host, port) = (address.host.clone(), address.port);
        let Credentials { user, password } = &self.credentials;
        let mut settings =
            RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_db(self.database);
        if let Some(user) = user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password {
            settings = settings.set_password(password);
        }
        let transport = if self.has_tls {
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let info = transport.into_connection_info()?.set_redis_settings(settings);
        #[cfg(feature = "tls")]
        if let Some(certificates) = self.certificates.as_ref().filter(|_| self.has_tls) {
            return Client::build_with_tls(info, certificates.clone());
        }
        Client::open(info)
    }
}

impl Opened {
    /// Sends a command and waits for its reply.
    pub(crate) async fn query(&mut self, command: &redis::Cmd, limit: Duration) -> Result<Value, OpenCause> {
        match tokio::time::timeout(limit, self.connection.send_packed_command(command)).await {
            Ok(reply) => reply.and_then(Value::extract_error).map_err(OpenCause::Failed),
            Err(_) => Err(OpenCause::TimedOut),
        }
    }
}

/// A connection that could not be opened.
#[derive(Debug, Clone)]
pub(crate) struct OpenError {
    pub(crate) address: Option<Address>,
    pub(crate) cause: Arc<OpenCause>,
}

#[derive(Debug)]
pub(crate) enum OpenCause {
    Failed(RedisError),
    TimedOut,
    IsReplica,
    /// It is a Sentinel, or another kind of server.
    HasNoRole,
    /// No Sentinel knows the primary: the failures of each of them.
    #[cfg(feature = "sentinel")]
    UnknownPrimary(String),
    #[cfg(feature = "cluster")]
    NoNode,
}

impl OpenError {
    pub(crate) fn new(address: &Address, cause: OpenCause) -> Self {
        Self { address: Some(address.clone()), cause: Arc::new(cause) }
    }

    /// Returns whether the server refused the credentials.
    pub(crate) fn is_login(&self) -> bool {
        match &*self.cause {
            OpenCause::Failed(error) => is_login(error),
            _ => false,
        }
    }
}

fn is_login(error: &RedisError) -> bool {
    error.kind() == redis::ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("WRONGPASS" | "NOAUTH" | "NOPERM"))
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = &self.address {
            write!(f, "{address}: ")?;
        }
        self.cause.fmt(f)
    }
}

impl fmt::Display for OpenCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The text of the server may name the user.
            Self::Failed(error) if is_login(error) => {
                write!(f, "the server refuses the user ({})", error.code().unwrap_or("AUTH"))
            }
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut => f.write_str("no answer within the time limit"),
            Self::IsReplica => f.write_str("the server is a replica"),
            Self::HasNoRole => f.write_str("the server is a Sentinel, or not a Redis server"),
            #[cfg(feature = "sentinel")]
            Self::UnknownPrimary(failures) => write!(f, "no Sentinel knows the primary: {failures}"),
            #[cfg(feature = "cluster")]
            Self::NoNode => f.write_str("no node of the cluster is known"),
        }
    }
}

impl std::error::Error for OpenError {}

/// The number of commands that wait for the socket. More wait in the tasks that send them.
const PIPELINE_BUFFER: usize = 1024;
/// Opening a connection takes several round trips, so a short time limit for steps is not one for connections.
const MIN_TIMEOUT: Duration = Duration::from_millis(500);
