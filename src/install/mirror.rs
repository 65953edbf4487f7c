//! Mirrors of provider packages in directories of the file system: which packages they offer.

use super::package::Package;
use crate::addr::Provider;
use std::fs;
use std::io;
use std::path::Path;

/// The packages of a provider for a platform, unpacked (`HOST/NAMESPACE/TYPE/VERSION/PLATFORM/`) or packed
/// (`HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_PLATFORM.zip`).
///
/// # Errors
/// The directory cannot be read.
pub fn search(dir: &Path, provider: &Provider, platform: &str) -> io::Result<Vec<Package>> {
    let base = dir.join(&*provider.hostname).join(&*provider.namespace).join(&*provider.ty);
    let entries = match fs::read_dir(&base) {
        Ok(e) => e,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // A provider that a mirror does not have is not an error of the mirror; a mirror that is not there is.
            return fs::read_dir(dir).map(|_| Vec::new());
        }
        Err(e) => return Err(e),
    };
    let mut packages = Vec::new();
    let suffix = format!("_{platform}.zip");
    let prefix = format!("terraform-provider-{}_", provider.ty);
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let packed = name.strip_prefix(&prefix).and_then(|n| n.strip_suffix(&suffix));
        let location = match packed {
            Some(_) => entry.path(),
            None => entry.path().join(platform),
        };
        if let Ok(version) = packed.unwrap_or(&name).parse()
            && location.exists()
        {
            packages.push(Package { version, location });
        }
    }
    Ok(packages)
}
