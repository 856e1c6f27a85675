//! Is the contract enough to write a store? A sample store on SQLite passes it; `docs/guide/write-a-store.md` explains it.
#![cfg(feature = "contract")]

mod channels;
mod database;
mod log;
mod store;

use std::path::PathBuf;

use toolway_store::{Store, contract};

use self::store::SqliteStore;

#[tokio::test]
async fn the_sample_store_passes_the_contract() {
    let file = DatabaseFile::new("contract");
    contract::check(async || SqliteStore::open(&file.0).expect("the file must open"), tokio::time::sleep)
        .await;
}

#[test]
fn each_file_has_its_own_secret() {
    let (one, other) = (DatabaseFile::new("secret-1"), DatabaseFile::new("secret-2"));
    let secrets =
        [&one, &other, &one].map(|file| SqliteStore::open(&file.0).expect("the file must open").secret());
    assert!(secrets[0] == secrets[2] && secrets[0] != secrets[1]);
}

/// A new file, which is removed at the end with all that SQLite has put next to it.
struct DatabaseFile(PathBuf);

impl DatabaseFile {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("toolway-store-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder must be writable");
        Self(folder.join("store.db"))
    }
}

impl Drop for DatabaseFile {
    fn drop(&mut self) {
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}
