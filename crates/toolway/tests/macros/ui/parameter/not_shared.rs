use std::rc::Rc;

use toolway::prelude::*;
use toolway::server::Extension;

#[tool]
async fn count(list: State<Rc<Vec<u8>>>) -> usize {
    //~ `Rc<Vec<u8>>` is not `Send + Sync`
    list.len()
}

#[tool]
fn first(list: Extension<std::cell::RefCell<u8>>) -> u8 {
    //~ `RefCell<u8>` is not `Send + Sync`
    *list.borrow()
}

fn main() {}
