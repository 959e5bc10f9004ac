//! Output that only informs.

use std::io::{self, Write};

/// A writer whose errors do not matter: a run does not end because nobody reads its notices.
pub struct OptionalReader<W>(pub W);

impl<W: Write> Write for OptionalReader<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}
