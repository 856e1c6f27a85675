//! How many schemas apply to the same value, one inside the other?
//!
//! Checking a value recurses over these schemas, so their number must be finite, and small enough for the stack. The
//! number of paths through them matters only to an engine that does not remember which schemas it has checked.

use super::node::{Id, Node};

/// Reports a schema that checking would never leave, or only by an overflow of the stack.
pub(super) fn find_mistake(nodes: &[Node]) -> Option<&'static str> {
    let mut extents = Extents { nodes, known: vec![State::Unknown; nodes.len()] };
    (0..nodes.len()).find_map(|id| extents.of(id, 0).err())
}

/// Returns the largest number of paths through the schemas that apply to the same value.
pub(crate) fn max_paths(nodes: &[Node]) -> u64 {
    let mut extents = Extents { nodes, known: vec![State::Unknown; nodes.len()] };
    (0..nodes.len()).map(|id| extents.of(id, 0).map_or(u64::MAX, |extent| extent.paths)).max().unwrap_or(0)
}

/// The extents of nodes, each computed once.
struct Extents<'n> {
    nodes: &'n [Node],
    known: Vec<State>,
}

#[derive(Clone, Copy)]
enum State {
    Unknown,
    Open,
    Known(Extent),
}

#[derive(Clone, Copy)]
struct Extent {
    height: usize,
    paths: u64,
}

impl Extents<'_> {
    fn of(&mut self, id: Id, depth: usize) -> Result<Extent, &'static str> {
        match self.known[id] {
            State::Known(extent) => return Ok(extent),
            State::Open => return Err("a `$ref` refers to itself without descending into the value"),
            State::Unknown => self.known[id] = State::Open,
        }
        let node = &self.nodes[id];
        let same_value =
            node.all_of.iter().chain(node.any_of.iter().flatten()).chain(&node.one_of).chain(&node.not);
        let mut extent = Extent { height: 0, paths: 1 };
        for next in same_value {
            if depth > MAX_HEIGHT {
                return Err(TOO_HIGH);
            }
            let inner = self.of(*next, depth + 1)?;
            extent.height = extent.height.max(1 + inner.height);
            extent.paths = extent.paths.saturating_add(inner.paths);
        }
        self.known[id] = State::Known(extent);
        if extent.height > MAX_HEIGHT { Err(TOO_HIGH) } else { Ok(extent) }
    }
}

const TOO_HIGH: &str = "its references are nested too deeply: more than 256 schemas apply to one value, each inside \
                        the previous one";

/// The maximum number of schemas that apply to the same value, one inside the other.
const MAX_HEIGHT: usize = 256;
