use std::time::Duration;

use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::server::layer::{CallKind, tower};

#[tool]
fn add() {}

fn main() {
    let limit = ::tower::limit::ConcurrencyLimitLayer::new(8);
    let rate = ::tower::limit::RateLimitLayer::new(8, Duration::from_secs(1));
    let _ = Server::new("app", "1").layer(limit.clone());
    //~ wrap it in `toolway::server::layer::tower(…)`
    let _ = Server::new("app", "1").layer_for(CallKind::Tool, limit.clone());
    //~ wrap it in `toolway::server::layer::tower(…)`
    let _ = ToolEntry::of::<add>().layer(limit);
    //~ wrap it in `toolway::server::layer::tower(…)`
    let _ = Server::new("app", "1").layer(tower(rate));
    //~ needs `.buffer(n)` first
}
