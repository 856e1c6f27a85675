use toolway::prelude::*;

#[prompt]
fn review(#[arg(complete = Self::titles)] title: String) -> String {
    title
}

struct Notes;

#[service]
impl Notes {
    #[prompt]
    fn review(
        &self,
        #[arg(complete = Self::titles)] title: String,
        #[arg(complete = Self::taken)] style: String,
    ) -> String {
        title + &style
    }

    fn taken(self) -> Vec<String> {
        Vec::new()
    }
}

fn main() {}
