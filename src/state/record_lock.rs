//! Record locks on files, of the kind that Terraform takes, so that both programs exclude each other.

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::File;
use std::io;

/// Takes a write lock on the whole file, which lasts until [`unlock`] or the end of the process; false if somebody else
/// has one. On Linux it belongs to the open file; elsewhere to the process, which must then not open the file a second
/// time.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match set(file, libc::F_WRLCK) {
        Ok(()) => Ok(true),
        Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Gives the lock back. Closing the file is not enough: a process that is just being started may have it open still.
pub fn unlock(file: &File) -> io::Result<()> {
    Ok(set(file, libc::F_UNLCK)?)
}

#[allow(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
fn set(file: &File, kind: libc::c_int) -> nix::Result<()> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    #[cfg(target_os = "linux")]
    let command = FcntlArg::F_OFD_SETLK(&lock);
    #[cfg(not(target_os = "linux"))]
    let command = FcntlArg::F_SETLK(&lock);
    fcntl(file, command).map(|_| ())
}
