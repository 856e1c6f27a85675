use toolway::prelude::*;

async fn serve() -> toolway::Result<()> {
    Server::new("app", "1").serve_http("127.0.0.1:8000").await
    //~ switch on the feature `http` of toolway
}

async fn serve_built() -> toolway::Result<()> {
    Server::new("app", "1").build()?.serve_http("127.0.0.1:8000").await
    //~ switch on the feature `http` of toolway
}

fn mounted() {
    let _ = Server::new("app", "1").http();
    //~ switch on the feature `http` of toolway
}

fn discovered() {
    let _ = Server::new("app", "1").discover();
    //~ switch on the feature `discover` of toolway
    let _ = Server::new("app", "1").discover_in("app::tools");
    //~ switch on the feature `discover` of toolway
}

fn takes(_: &Client) {}
//~ switch on the feature `client` of toolway

async fn call() {
    let _ = Client::connect("npx server").await;
    //~ switch on the feature `client` of toolway
}

async fn many() {
    let _ = Hub::from_file("mcp.json").await;
    //~ switch on the feature `client` of toolway
}

fn main() {}
//~ and more
