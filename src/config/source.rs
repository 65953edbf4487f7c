//! Source addresses of modules.

/// Where a module comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleSource {
    /// A directory relative to the calling module, with forward slashes.
    Local(String),
    /// `NAMESPACE/NAME/SYSTEM`, perhaps with a host before it and a directory (`//DIR`) after it.
    Registry(String),
    /// A version control system, an archive or an absolute path.
    Remote(String),
}

impl ModuleSource {
    /// Reads a source address.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<ModuleSource, String> {
        let text = text.trim();
        if let Some(local) = local(text) {
            return Ok(ModuleSource::Local(local));
        }
        if text.is_empty() {
            return Err("The address is empty.".into());
        }
        if is_remote(text) {
            return Ok(ModuleSource::Remote(text.into()));
        }
        if is_registry(text) {
            return Ok(ModuleSource::Registry(text.into()));
        }
        Err(format!(
            "\"{text}\" is neither a registry address nor any known way to fetch a module. If it is a directory next to \
             this module, write \"./{}\".",
            text.trim_start_matches("./")
        ))
    }
}

/// `./…` or `../…`, cleaned.
fn local(text: &str) -> Option<String> {
    let windows = text.starts_with(".\\") || text.starts_with("..\\");
    if !(windows || text.starts_with("./") || text.starts_with("../")) {
        return None;
    }
    let text = if windows { text.replace('\\', "/") } else { text.to_owned() };
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| *p != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Some(if joined.starts_with("..") { joined } else { format!("./{joined}") })
}

fn is_remote(text: &str) -> bool {
    let scheme = text.split_once("://").is_some_and(|(s, _)| {
        !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ':'))
    });
    let forced = text.split_once("::").is_some_and(|(g, _)| g.chars().all(|c| c.is_ascii_alphanumeric()));
    let hosts = ["github.com/", "gitlab.com/", "bitbucket.org/", "www.googleapis.com/", "git@"];
    let drive = text.get(1..3).is_some_and(|d| d == ":\\" || d == ":/");
    scheme
        || forced
        || hosts.iter().any(|h| text.starts_with(h))
        || text.starts_with('/')
        || drive
        || text.contains(".amazonaws.com/")
}

fn is_registry(text: &str) -> bool {
    let package = text.split_once("//").map_or(text, |(p, _)| p);
    let parts: Vec<&str> = package.split('/').collect();
    let name = |p: &&str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        !p.is_empty() && p.chars().all(inner) && p.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    match parts.as_slice() {
        names @ [_, _, _] => names.iter().all(name),
        [host, names @ ..] if names.len() == 3 => {
            (host.contains('.') || host.contains(':') || *host == "localhost") && names.iter().all(name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let parse = |s: &str| match ModuleSource::parse(s) {
            Ok(ModuleSource::Local(l)) => format!("local {l}"),
            Ok(ModuleSource::Registry(_)) => "registry".into(),
            Ok(ModuleSource::Remote(_)) => "remote".into(),
            Err(_) => "error".into(),
        };
        for (source, expected) in [
            ("./a", "local ./a"),
            ("../a/./b/../c", "local ../a/c"),
            ("./r/../r", "local ./r"),
            ("./../x", "local ../x"),
            (".\\x", "local ./x"),
            ("./", "local ./"),
            ("hashicorp/consul/aws", "registry"),
            ("app.example.com/a/b/c//sub", "registry"),
            ("git::https://example.com/x.git?ref=v1", "remote"),
            ("github.com/a/b", "remote"),
            ("https://example.com/m.zip", "remote"),
            ("/abs", "remote"),
            ("C:\\foo", "remote"),
            ("hashicorp/consul", "error"),
            ("m", "error"),
            (".", "error"),
            ("", "error"),
        ] {
            assert_eq!(parse(source), expected, "{source}");
        }
    }
}
