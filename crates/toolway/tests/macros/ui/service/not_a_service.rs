use toolway::prelude::*;

struct Notes;

impl Notes {
    #[allow(dead_code)]
    fn save(&self) {}
}

fn main() {
    let _ = Server::new("app", "1").service(Notes);
    //~ mark its `impl` block `#[service]`
}
