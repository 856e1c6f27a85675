//! What does `inspect` say if the inspector is not a part of the program?

use crate::args::{Inspect, TargetKind};
use crate::cmd::CommandContext;
use crate::failure::{Failure, Result};

pub(crate) async fn run<K: TargetKind>(here: &CommandContext, inspect: Inspect<K>) -> Result<()> {
    let Inspect { port: _, no_open: _, record: _, follow: _, target: _ } = inspect;
    Err(Failure::usage(format!("this {} has no inspector", here.program))
        .hint("build it with the feature `inspect` of toolway-cli"))
}
