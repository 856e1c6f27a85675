use toolway::prelude::*;

struct Notes;

#[service]
impl Notes {
    #[tool]
    fn save(&mut self) {}
    //~ a service is shared by all calls; take `&self`

    #[prompt]
    fn review(self) -> String {
    //~ a service is shared by all calls; take `&self`
        String::new()
    }

    #[resource(uri = "notes://index")]
    fn index(self: std::sync::Arc<Self>) -> String {
    //~ a service is shared by all calls; take `&self`
        String::new()
    }
}

fn main() {}
