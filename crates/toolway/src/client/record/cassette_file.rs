//! How is a cassette written while the recording goes on? The first line has room for what becomes known later, such as
//! the name of the server, and is written again in place. So the file is a whole cassette at any time.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::client::record::cassette::CassetteHeader;

/// The length of the first line, with spaces at its end.
const HEADER_LINE: usize = 512;

/// A cassette that is being written.
pub(super) struct CassetteFile {
    file: File,
    /// The first line as it was written last.
    header: String,
}

impl CassetteFile {
    /// Creates the file, or replaces its content. Only its owner can read a new file.
    pub(super) fn create(path: &Path, header: &CassetteHeader) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut created = Self { file: options.open(path)?, header: header_line(header) };
        created.file.write_all(created.header.as_bytes())?;
        Ok(created)
    }

    /// Writes the first line again if it has changed.
    pub(super) fn set_header(&mut self, header: &CassetteHeader) -> io::Result<()> {
        let line = header_line(header);
        if line == self.header || line.len() != self.header.len() {
            return Ok(());
        }
        // A pipe or a terminal cannot be written again: its first line stays as it was.
        if self.file.seek(SeekFrom::Start(0)).is_ok() {
            self.file.write_all(line.as_bytes())?;
            self.file.seek(SeekFrom::End(0))?;
        }
        self.header = line;
        Ok(())
    }

    /// Writes a frame. One call of the system for each line, so that a reader never sees half of one for long.
    pub(super) fn write_line(&mut self, line: &str) -> io::Result<()> {
        let mut text = String::with_capacity(line.len() + 1);
        text.push_str(line);
        text.push('\n');
        self.file.write_all(text.as_bytes())
    }
}

fn header_line(header: &CassetteHeader) -> String {
    let line = header.to_line();
    format!("{line:<width$}\n", width = HEADER_LINE - 1)
}
