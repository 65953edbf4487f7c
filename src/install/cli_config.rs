//! The CLI configuration file (`~/.terraformrc`, or what `TF_CLI_CONFIG_FILE` names): where providers are installed
//! from, and which are overridden by executables under development.

use crate::addr::Provider;
use crate::diag::{Diagnostics, Range, Sources};
use crate::lang::body::BodySchema;
use crate::lang::parse;
use crate::lang::static_expr::constant;
use crate::lang::syntax::{Attribute, Block, Body};
use gpuform_schema::{Type, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The settings that gpuform knows.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct CliConfig {
    /// Providers whose executables lie in a given directory, used without installation.
    pub dev_overrides: BTreeMap<Provider, PathBuf>,
    /// In order; `None` where the file has no `provider_installation` block (then the usual places are searched).
    pub methods: Option<Vec<Method>>,
    pub plugin_cache_dir: Option<PathBuf>,
}

/// One way to install providers.
#[derive(Clone, PartialEq, Debug)]
pub struct Method {
    pub source: Source,
    /// Patterns such as `registry.terraform.io/hashicorp/*`; empty for all.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    FilesystemMirror(PathBuf),
    NetworkMirror(String),
    /// The provider's own registry.
    Direct,
}

impl Method {
    /// Whether the method may be used for a provider.
    pub fn serves(&self, provider: &Provider) -> bool {
        let matches = |p: &String| pattern_matches(p, provider);
        (self.include.is_empty() || self.include.iter().any(matches)) && !self.exclude.iter().any(matches)
    }
}

fn pattern_matches(pattern: &str, provider: &Provider) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    let (host, namespace, ty) = match parts[..] {
        [ns, ty] => (crate::addr::DEFAULT_REGISTRY, ns, ty),
        [host, ns, ty] => (host, ns, ty),
        _ => return false,
    };
    let fits = |p: &str, actual: &str| p == "*" || p.eq_ignore_ascii_case(actual);
    fits(host, &provider.hostname) && fits(namespace, &provider.namespace) && fits(ty, &provider.ty)
}

/// Reads the file at `path`; relative paths in it start from the working directory, `~` from `home`.
pub fn load(path: &Path, home: Option<&Path>, sources: &Sources, diags: &mut Diagnostics) -> CliConfig {
    let bytes = match crate::input::read(path) {
        Ok(b) => b,
        Err(e) => {
            diags.warning(
                "CLI configuration file cannot be read",
                format!("{}: {e}. Its settings are not in effect.", path.display()),
                None,
            );
            return CliConfig::default();
        }
    };
    let text = with_object_overrides(&parse::decode(&bytes));
    let file = sources.add(path.display().to_string(), text.as_str());
    let body = parse::parse_file(&text, file, diags);
    let mut config = CliConfig::default();
    let place = |p: &str| match (p.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(p),
    };
    for a in &body.attributes {
        match &*a.name {
            "plugin_cache_dir" => config.plugin_cache_dir = text_of(a, diags).map(|p| place(&p)),
            // Settings of Terraform that mean nothing here.
            "disable_checkpoint" | "disable_checkpoint_signature" | "plugin_cache_may_break_dependency_lock_file" => {}
            _ => unknown(&a.name, a.name_range, diags),
        }
    }
    for b in body.blocks {
        match &*b.ty {
            "provider_installation" => installation(b, &place, &mut config, diags),
            "credentials" | "credentials_helper" | "host" => {}
            "providers" | "provisioners" => {}
            _ => unknown(&b.ty, b.ty_range, diags),
        }
    }
    config
}

fn unknown(name: &str, at: Range, diags: &mut Diagnostics) {
    diags.warning("Unknown CLI configuration setting", format!("\"{name}\" has no meaning here and is ignored."), at);
}

fn text_of(a: &Attribute, diags: &mut Diagnostics) -> Option<String> {
    let v = constant(&a.expr, &Type::String, false, diags)?;
    v.as_str().map(str::to_owned)
}

fn texts_of(a: &Attribute, diags: &mut Diagnostics) -> Vec<String> {
    let v = constant(&a.expr, &Type::list(Type::String), false, diags);
    let items = v.as_ref().and_then(Value::items).unwrap_or_default();
    items.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

fn installation(block: Block, place: &dyn Fn(&str) -> PathBuf, config: &mut CliConfig, diags: &mut Diagnostics) {
    let Body::Native(body) = block.body else { return };
    let mut methods = Vec::new();
    for a in &body.attributes {
        if &*a.name == "dev_overrides" {
            overrides(a, place, config, diags)
        } else {
            unknown(&a.name, a.name_range, diags)
        }
    }
    for b in body.blocks {
        let schema = BodySchema::new().optional(["include", "exclude", "path", "url"]);
        let mut content = b.body.content(&schema, diags);
        let mut list = |name: &str| content.take(name).map(|a| texts_of(&a, diags)).unwrap_or_default();
        let (include, exclude) = (list("include"), list("exclude"));
        let mut text = |name: &str| content.take(name).and_then(|a| text_of(&a, diags));
        let source = match &*b.ty {
            "filesystem_mirror" => text("path").map(|p| Source::FilesystemMirror(place(&p))),
            "network_mirror" => text("url").map(Source::NetworkMirror),
            "direct" => Some(Source::Direct),
            _ => {
                diags.error(
                    "Invalid provider installation method",
                    format!(
                        "\"{}\" is not a way to install providers: dev_overrides, filesystem_mirror, network_mirror and \
                         direct are.",
                        b.ty
                    ),
                    b.ty_range,
                );
                continue;
            }
        };
        match source {
            Some(source) => methods.push(Method { source, include, exclude }),
            None => diags.error(
                "Incomplete provider installation method",
                format!("\"{}\" needs its address: \"path\" or \"url\".", b.ty),
                b.header_range,
            ),
        }
    }
    config.methods = Some(methods);
}

fn overrides(a: &Attribute, place: &dyn Fn(&str) -> PathBuf, config: &mut CliConfig, diags: &mut Diagnostics) {
    let value = constant(&a.expr, &Type::map(Type::String), false, diags);
    for (source, path) in value.as_ref().and_then(Value::entries).into_iter().flatten() {
        match (Provider::parse(source), path.as_str()) {
            (Ok(p), Some(path)) => {
                config.dev_overrides.insert(p, place(path));
            }
            (Err(e), _) => diags.error("Invalid provider source address", e, a.expr.range),
            (_, None) => {}
        }
    }
}

/// These files are in an older syntax, in which names of arguments may be quoted: the keys of `dev_overrides { … }`
/// are source addresses. As an object, `dev_overrides = { … }`, the block can be read by the parser of today's syntax.
fn with_object_overrides(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut rest = text;
    while let Some(at) = rest.find("dev_overrides") {
        let (before, after) = rest.split_at(at + "dev_overrides".len());
        out.push_str(before);
        let gap = after.len() - after.trim_start().len();
        rest = after;
        if after[gap..].starts_with('{') {
            out.push('=');
            rest = &after[gap.min(1)..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (CliConfig, Diagnostics) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rc");
        std::fs::write(&path, text).unwrap();
        let mut diags = Diagnostics::new();
        let config = load(&path, Some(Path::new("/home/u")), &Sources::default(), &mut diags);
        (config, diags)
    }

    #[test]
    fn installation_methods_are_read_in_order() {
        let (config, diags) = read(
            "provider_installation {\n  dev_overrides {\n    \"gpuform/aws\" = \"~/bin\"\n  }\n  filesystem_mirror {\n    path \
             = \"/mirror\"\n    include = [\"example.com/*/*\"]\n  }\n  direct {\n    exclude = [\"a/*\"]\n  }\n}\n",
        );
        assert_eq!(diags, Diagnostics::new());
        let aws = Provider::parse("gpuform/aws").unwrap();
        assert_eq!(config.dev_overrides.get(&aws), Some(&PathBuf::from("/home/u/bin")));
        let methods = config.methods.unwrap();
        assert_eq!(methods[0].source, Source::FilesystemMirror("/mirror".into()));
        assert!(methods[0].serves(&Provider::parse("example.com/x/y").unwrap()) && !methods[0].serves(&aws));
        assert!(methods[1].serves(&aws) && !methods[1].serves(&Provider::parse("a/b").unwrap()));
    }

    #[test]
    fn a_broken_file_is_reported_with_its_place() {
        let (_, diags) = read("provider_installation {\n  filesystem_mirror {}\n}\n");
        assert!(diags.has_errors() && diags.iter().all(|d| d.subject.is_some()));
    }
}
