//! What the official conformance suite finds on both sides: a server with the fixtures it asks for, and a
//! client that plays each of its scenarios. The binaries only read the command line.

pub mod client;
pub mod server;
