//! Parsing of addresses written by people (`-target`, `state mv`, …) and found in state files.

use super::{
    AbsProviderConfig, AbsResource, InstanceKey, Mode, Module, ModuleInstance, Provider, Resource, ResourceInstance,
};
use gpuform_schema::Str;
use std::fmt;
use std::str::FromStr;

/// What `-target` and friends may name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// A module instance and everything in it; a call without key stands for all its instances.
    Module(ModuleInstance),
    /// All instances of a resource.
    Resource(AbsResource),
    /// One instance.
    Instance(ResourceInstance),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Module(m) => m.fmt(f),
            Target::Resource(r) => r.fmt(f),
            Target::Instance(i) => i.fmt(f),
        }
    }
}

/// Why a text is not an address; the text says what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError(pub String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

fn err<T>(message: impl Into<String>) -> Result<T, ParseError> {
    Err(ParseError(message.into()))
}

/// Splits an address into names and the keys that follow them.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn name(&mut self) -> Result<&'a str, ParseError> {
        let end = self
            .rest
            .char_indices()
            .find(|(i, c)| !(c.is_alphanumeric() || *c == '_' || (*c == '-' && *i > 0)))
            .map_or(self.rest.len(), |(i, _)| i);
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
            return err(match self.rest.chars().next() {
                Some(c) => format!("A name was expected in place of \"{c}\"."),
                None => "The address ends where a name was expected.".into(),
            });
        }
        self.rest = rest;
        Ok(name)
    }

    fn dot(&mut self) -> bool {
        match self.rest.strip_prefix('.') {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn key(&mut self) -> Result<InstanceKey, ParseError> {
        let Some(inner) = self.rest.strip_prefix('[') else { return Ok(InstanceKey::None) };
        if let Some(quoted) = inner.strip_prefix('"') {
            let (text, used) = unquote(quoted)?;
            let Some(rest) = quoted[used..].strip_prefix(']') else {
                return err("A closing bracket is missing after the instance key.");
            };
            self.rest = rest;
            return Ok(InstanceKey::String(text.into()));
        }
        let Some((digits, rest)) = inner.split_once(']') else {
            return err("A closing bracket is missing after the instance key.");
        };
        self.rest = rest;
        match digits.trim().parse() {
            Ok(i) => Ok(InstanceKey::Int(i)),
            Err(_) => err(format!(
                "The instance key \"{digits}\" is neither a whole number nor a quoted string (on a command line, quotes \
                 need protection from the shell)."
            )),
        }
    }

    fn end(&self) -> Result<(), ParseError> {
        if self.rest.is_empty() { Ok(()) } else { err(format!("Unexpected \"{}\" after the address.", self.rest)) }
    }
}

/// Reads up to the closing quote; gives the text and how many bytes were used, the quote included.
fn unquote(s: &str) -> Result<(String, usize), ParseError> {
    let mut out = String::new();
    let mut chars = s.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((out, i + 1)),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(c @ ('"' | '\\')) => out.push(c),
                Some(selector @ ('u' | 'U')) => {
                    let digits: String =
                        chars.by_ref().take(if selector == 'u' { 4 } else { 8 }).map(|(_, c)| c).collect();
                    match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                        Some(c) => out.push(c),
                        None => return err("Unknown escape sequence in an instance key."),
                    }
                }
                _ => return err("Unknown escape sequence in an instance key."),
            },
            '$' | '%' if s[i + 1..].starts_with(c) && s[i + 2..].starts_with('{') => {
                out.push(c);
                chars.next();
            }
            c => out.push(c),
        }
    }
    err("A closing quote is missing in an instance key.")
}

/// `module.a[0].module.b`, leaving the cursor at what follows.
fn module_path(c: &mut Cursor<'_>) -> Result<(ModuleInstance, bool), ParseError> {
    let mut steps: Vec<(Str, InstanceKey)> = Vec::new();
    loop {
        let Some(rest) = c.rest.strip_prefix("module.") else { return Ok((ModuleInstance(steps.into()), false)) };
        c.rest = rest;
        let name = c.name()?;
        let key = c.key()?;
        steps.push((name.into(), key));
        if !c.dot() {
            return Ok((ModuleInstance(steps.into()), true));
        }
    }
}

fn resource(c: &mut Cursor<'_>) -> Result<Resource, ParseError> {
    let mut ty = c.name()?;
    let mut mode = Mode::Managed;
    if ty == "data" || ty == "ephemeral" {
        mode = if ty == "data" { Mode::Data } else { Mode::Ephemeral };
        if !c.dot() {
            return err("A resource type and name must follow.");
        }
        ty = c.name()?;
    } else if ty == "resource" && c.rest.starts_with('.') {
        c.dot();
        ty = c.name()?;
    }
    if !c.dot() {
        return err("A resource address is a type and a name, separated by a dot.");
    }
    Ok(Resource { mode, ty: ty.into(), name: c.name()?.into() })
}

impl FromStr for Target {
    type Err = ParseError;

    fn from_str(s: &str) -> Result<Target, ParseError> {
        let mut c = Cursor { rest: s };
        let (module, ended) = module_path(&mut c)?;
        if ended {
            c.end()?;
            return Ok(Target::Module(module));
        }
        let resource = resource(&mut c)?;
        let key = c.key()?;
        c.end()?;
        Ok(match key {
            InstanceKey::None => Target::Resource(AbsResource { module, resource }),
            key => Target::Instance(ResourceInstance { module, resource, key }),
        })
    }
}

impl FromStr for ResourceInstance {
    type Err = ParseError;

    fn from_str(s: &str) -> Result<ResourceInstance, ParseError> {
        match s.parse()? {
            Target::Instance(i) => Ok(i),
            Target::Resource(r) => Ok(r.instance(InstanceKey::None)),
            Target::Module(_) => err("A resource instance address is needed here, not a module address."),
        }
    }
}

impl FromStr for ModuleInstance {
    type Err = ParseError;

    fn from_str(s: &str) -> Result<ModuleInstance, ParseError> {
        match s.parse()? {
            Target::Module(m) => Ok(m),
            _ => err("A module address is needed here."),
        }
    }
}

impl FromStr for AbsProviderConfig {
    type Err = ParseError;

    /// The form in state files. Instance keys in the module path are dropped.
    fn from_str(s: &str) -> Result<AbsProviderConfig, ParseError> {
        let mut c = Cursor { rest: s };
        let (module, _) = module_path(&mut c)?;
        let module: Module = module.module();
        let Some(rest) = c.rest.strip_prefix("provider[\"") else {
            return err("A provider configuration address has the form provider[\"HOST/NAMESPACE/NAME\"].");
        };
        let (source, used) = unquote(rest)?;
        let Some(rest) = rest[used..].strip_prefix(']') else {
            return err("A closing bracket is missing after the provider source.");
        };
        let provider = Provider::parse(&source).map_err(ParseError)?;
        c.rest = rest;
        let alias: Option<Str> = if c.dot() { Some(c.name()?.into()) } else { None };
        let key = if alias.is_some() { c.key()? } else { InstanceKey::None };
        c.end()?;
        Ok(AbsProviderConfig { module, provider, alias, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_they_were_read() {
        for text in [
            "aws_vpc.main",
            "aws_instance.gpu[3]",
            "data.aws_ami.deep[\"a \\\"b\\\" $${c}\"]",
            "module.net[\"eu\"].module.vpc.aws_subnet.this[0]",
            "module.net[0]",
        ] {
            assert_eq!(text.parse::<Target>().map(|t| t.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn bad_addresses_say_what_is_wrong() {
        for (text, part) in [
            ("aws_vpc", "type and a name"),
            ("aws_vpc.a[x]", "neither a whole number"),
            ("aws_vpc.a[\"x]", "closing quote"),
            ("aws_vpc.a.b", "Unexpected"),
            ("module.", "ends where a name"),
            ("", "ends where a name"),
        ] {
            let e = text.parse::<Target>().expect_err(text);
            assert!(e.0.contains(part), "{text}: {e}");
        }
    }

    #[test]
    fn provider_configurations_parse_from_state() {
        let text = "module.a.provider[\"registry.terraform.io/hashicorp/aws\"].west";
        let a: AbsProviderConfig = text.parse().expect("valid");
        assert_eq!((a.to_string().as_str(), a.alias.as_deref()), (text, Some("west")));
        let text = "provider[\"registry.terraform.io/hashicorp/aws\"].by_region[\"eu\"]";
        let a: AbsProviderConfig = text.parse().expect("valid");
        assert_eq!((a.to_string().as_str(), a.key.clone()), (text, InstanceKey::String("eu".into())));
        assert!(a.same_block(&a.block()) && a.block().key.is_none());
    }
}
