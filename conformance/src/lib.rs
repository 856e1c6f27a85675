//! The two sides that the official conformance suite tests: a server with the fixtures it asks for, and a client that
//! plays each of its scenarios. The binaries only read the command line.

mod auth;
pub mod client;
pub mod server;
