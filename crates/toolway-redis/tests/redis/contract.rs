//! Does the store fulfil the contract of all stores?

use toolway_store::contract;

use crate::cluster::Nodes;
use crate::server::{Server, is_missing};
use crate::steps::connect;

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_fulfils_the_contract() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    contract::check(async || connect(server.url()).await, tokio::time::sleep).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_fulfils_the_contract() {
    if is_missing() {
        return;
    }
    let nodes = Nodes::start(3).await;
    contract::check(async || connect(nodes.url()).await, tokio::time::sleep).await;
}
