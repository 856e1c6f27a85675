//! How is a busy machine simulated?
//!
//! Many races do not occur on an idle machine. Threads that only count take CPU time away from the tests, until this is
//! dropped.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Busy loops, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct BusyLoops {
    should_stop: Arc<AtomicBool>,
    loops: Vec<JoinHandle<()>>,
}

impl BusyLoops {
    /// Starts `count` loops, each of which occupies one core.
    pub(crate) fn start(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let loops = (0..count)
            .map(|_| {
                let is_over = is_over.clone();
                thread::spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                })
            })
            .collect();
        Self { should_stop: is_over, loops }
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.should_stop.store(true, Ordering::Relaxed);
        for busy in self.loops.drain(..) {
            let _ = busy.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BusyLoops;
    use std::sync::Arc;

    #[test]
    fn dropping_it_ends_every_loop() {
        let busy = BusyLoops::start(2);
        let is_over = busy.should_stop.clone();
        assert_eq!(Arc::strong_count(&is_over), 4);
        drop(busy);
        assert_eq!(Arc::strong_count(&is_over), 1, "each loop held one");
    }
}
