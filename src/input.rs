//! Reading files that the user or the configuration names. A named pipe would block for ever, a device such as
//! `/dev/zero` would never end; both are refused. Everything that reads a whole file into memory calls this.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// How much is read of what is no regular file, in bytes.
const MAX_STREAM: u64 = 64 << 20;

/// Opens a regular file, or a device, for reading; with the length to read at most.
///
/// # Errors
/// It cannot be opened, or is a pipe or a socket.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let kind = std::fs::metadata(path)?;
    if kind.file_type().is_fifo() || kind.file_type().is_socket() {
        return Err(io::Error::other("it is a pipe or a socket, not a regular file"));
    }
    Ok((File::open(path)?, length(&kind)))
}

fn length(kind: &Metadata) -> u64 {
    if kind.is_file() { u64::MAX } else { MAX_STREAM }
}

/// The content of a regular file.
///
/// # Errors
/// It cannot be read, is a pipe or a socket, or a device that gives too much.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, most) = open(path)?;
    read_up_to(file, most)
}

/// How long a pipe may have nobody who writes to it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The content of a file that was named on the command line, which may also be a pipe (`<(command)`).
///
/// # Errors
/// It cannot be read, gives too much, or is a pipe that nobody writes to.
pub fn read_argument(path: &Path) -> io::Result<Vec<u8>> {
    read_argument_within(path, PATIENCE)
}

fn read_argument_within(path: &Path, patience: Duration) -> io::Result<Vec<u8>> {
    let file = if std::fs::metadata(path)?.file_type().is_fifo() {
        // Opening waits for somebody to write, if need be for ever.
        let (opened, file) = mpsc::channel();
        let path = path.to_owned();
        std::thread::spawn(move || opened.send(File::open(path)));
        file.recv_timeout(patience).map_err(|_| io::Error::other("it is a pipe that nobody writes to"))??
    } else {
        File::open(path)?
    };
    let most = length(&file.metadata()?);
    read_up_to(file, most)
}

fn read_up_to(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is no regular file and gives more than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_without_an_end_and_pipes_are_refused() {
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("64 MiB"));
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(&pipe).unwrap_err().to_string().contains("pipe"));
        let waited = read_argument_within(&pipe, Duration::from_millis(20));
        assert!(waited.unwrap_err().to_string().contains("nobody writes"));
        std::fs::write(dir.path().join("a"), "x").unwrap();
        assert_eq!(read(&dir.path().join("a")).unwrap(), b"x");
    }
}
