use toolway::prelude::*;

#[prompt]
fn review(#[arg(complete = Self::titles)] title: String) -> String {
//~ there is no `Self` here: name a function, or a value that implements `Complete`
    title
}

struct Notes;

#[service]
impl Notes {
    #[prompt]
    fn review(
        &self,
        #[arg(complete = Self::titles)] title: String,
        //~ this `impl` block has no such method: `Self::…` must name a method of the same block
        #[arg(complete = Self::taken)] style: String,
    ) -> String {
        title + &style
    }

    fn taken(self) -> Vec<String> {
    //~ a service is shared by all calls; take `&self`
        Vec::new()
    }
}

fn main() {}
