//! What does the compiler say if a program uses a layer of tower while the feature is off? The name of the feature.
//!
//! See `server/build/without_http.rs` for how this works.

use crate::server::call::layer::function::{FnLayer, FnService};
use crate::server::call::layer::service::{Layer, Next};

/// Never implemented. Its message names the feature `tower`.
#[diagnostic::on_unimplemented(
    message = "layers of tower are not built in: switch on the feature `tower` of toolway",
    label = "switch on the feature `tower`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"tower\"] }}`"
)]
pub trait TowerFeature<'a> {}

/// Makes a layer of tower wrap calls; requires the feature `tower`.
pub fn tower<'a, L: TowerFeature<'a>>(layer: L) -> NoLayer {
    let _ = layer;
    NoLayer
}

/// Stands for the layer.
#[derive(Debug)]
pub struct NoLayer;

impl Layer for NoLayer {
    type Service = Next;

    fn layer(&self, next: Next) -> Next {
        next
    }
}

impl<F> Layer for FnLayer<F> {
    type Service = FnService<F>;

    fn layer(&self, next: Next) -> FnService<F> {
        self.wrap(next)
    }
}
