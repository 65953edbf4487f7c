//! Addresses: the names by which modules, resources, their instances and providers are known in configurations,
//! states and messages. An address is never a bare string inside the program; text is parsed here and printed here.

use gpuform_schema::{Number, Str, Value};
use std::fmt;
use std::sync::Arc;

/// The key of one instance of a module or resource.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum InstanceKey {
    /// Neither `count` nor `for_each`.
    #[default]
    None,
    /// From `count`.
    Int(u64),
    /// From `for_each`.
    String(Str),
}

/// Terraform's order: no key, then numbers, then strings.
impl Ord for InstanceKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        use InstanceKey::{Int, None, String};
        match (self, other) {
            (None, None) => std::cmp::Ordering::Equal,
            (Int(a), Int(b)) => a.cmp(b),
            (String(a), String(b)) => a.cmp(b),
            (None, _) | (Int(_), String(_)) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        }
    }
}

impl PartialOrd for InstanceKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl InstanceKey {
    pub fn is_none(&self) -> bool {
        matches!(self, InstanceKey::None)
    }

    /// As an expression value: null, number or string.
    pub fn to_value(&self) -> Value {
        match self {
            InstanceKey::None => Value::null(),
            InstanceKey::Int(i) => Value::Number(Number::from(*i)),
            InstanceKey::String(s) => Value::String(s.clone()),
        }
    }
}

impl fmt::Display for InstanceKey {
    /// `[0]`, `["a"]`, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceKey::None => Ok(()),
            InstanceKey::Int(i) => write!(f, "[{i}]"),
            InstanceKey::String(s) => write!(f, "[{}]", quote(s)),
        }
    }
}

/// A string as a quoted HCL literal.
pub fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    let mut chars = s.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '$' | '%' if chars.peek() == Some(&'{') => {
                out.push(c);
                out.push(c);
            }
            c if crate::lang::render::is_visible(c) => out.push(c),
            c => {
                let code = u32::from(c);
                out.push_str(&if code < 0x1_0000 { format!("\\u{code:04x}") } else { format!("\\U{code:08x}") });
            }
        }
    }
    out.push('"');
    out
}

/// A module by its declaration: the names of the calls that lead to it. The root module has none.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Module(pub Arc<[Str]>);

impl Module {
    pub fn root() -> Module {
        Module::default()
    }

    #[must_use]
    pub fn child(&self, name: impl Into<Str>) -> Module {
        Module(self.0.iter().cloned().chain([name.into()]).collect())
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn parent(&self) -> Option<Module> {
        self.0.split_last().map(|(_, rest)| Module(rest.into()))
    }
}

impl fmt::Display for Module {
    /// `module.a.module.b`; nothing for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, n) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { ".module." } else { "module." })?;
            f.write_str(n)?;
        }
        Ok(())
    }
}

/// One instance of a module: each call with its instance key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct ModuleInstance(pub Arc<[(Str, InstanceKey)]>);

impl ModuleInstance {
    pub fn root() -> ModuleInstance {
        ModuleInstance::default()
    }

    /// The instance without keys, which stands for the declaration in printed addresses.
    pub fn of(module: &Module) -> ModuleInstance {
        ModuleInstance(module.0.iter().map(|n| (n.clone(), InstanceKey::None)).collect())
    }

    #[must_use]
    pub fn child(&self, name: impl Into<Str>, key: InstanceKey) -> ModuleInstance {
        ModuleInstance(self.0.iter().cloned().chain([(name.into(), key)]).collect())
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The declaration that this is an instance of.
    pub fn module(&self) -> Module {
        Module(self.0.iter().map(|(n, _)| n.clone()).collect())
    }

    /// Whether `self` is `other` or lies within it.
    pub fn is_within(&self, other: &ModuleInstance) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (n, k)) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { ".module." } else { "module." })?;
            f.write_str(n)?;
            k.fmt(f)?;
        }
        Ok(())
    }
}

/// What kind of resource block an object comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// `data`
    Data,
    /// `resource`
    Managed,
    /// `ephemeral`
    Ephemeral,
}

impl Mode {
    /// The word in state files and JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Managed => "managed",
            Mode::Data => "data",
            Mode::Ephemeral => "ephemeral",
        }
    }

    /// The prefix in addresses.
    pub fn prefix(self) -> &'static str {
        match self {
            Mode::Managed => "",
            Mode::Data => "data.",
            Mode::Ephemeral => "ephemeral.",
        }
    }
}

/// A resource within its module.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Resource {
    pub mode: Mode,
    pub ty: Str,
    pub name: Str,
}

impl Resource {
    pub fn managed(ty: impl Into<Str>, name: impl Into<Str>) -> Resource {
        Resource { mode: Mode::Managed, ty: ty.into(), name: name.into() }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Piece by piece, which is faster than a format string: addresses are printed for each object, often.
        f.write_str(self.mode.prefix())?;
        f.write_str(&self.ty)?;
        f.write_str(".")?;
        f.write_str(&self.name)
    }
}

/// A resource block in the configuration, whatever the instances of its module.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ConfigResource {
    pub module: Module,
    pub resource: Resource,
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, self.module.is_root(), &self.module, &self.resource)
    }
}

/// A resource in one instance of its module, with all its instances.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AbsResource {
    pub module: ModuleInstance,
    pub resource: Resource,
}

impl AbsResource {
    pub fn instance(&self, key: InstanceKey) -> ResourceInstance {
        ResourceInstance { module: self.module.clone(), resource: self.resource.clone(), key }
    }

    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.module(), resource: self.resource.clone() }
    }
}

impl fmt::Display for AbsResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, self.module.is_root(), &self.module, &self.resource)
    }
}

/// One instance of a resource.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ResourceInstance {
    pub module: ModuleInstance,
    pub resource: Resource,
    pub key: InstanceKey,
}

impl ResourceInstance {
    pub fn abs_resource(&self) -> AbsResource {
        AbsResource { module: self.module.clone(), resource: self.resource.clone() }
    }

    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.module(), resource: self.resource.clone() }
    }
}

impl fmt::Display for ResourceInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, self.module.is_root(), &self.module, &self.resource)?;
        self.key.fmt(f)
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, root: bool, module: &dyn fmt::Display, rest: &dyn fmt::Display) -> fmt::Result {
    if !root {
        module.fmt(f)?;
        f.write_str(".")?;
    }
    rest.fmt(f)
}

/// A provider by its source address.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Provider {
    pub hostname: Str,
    pub namespace: Str,
    pub ty: Str,
}

/// Where providers without a host in their source come from.
pub const DEFAULT_REGISTRY: &str = "registry.terraform.io";

impl Provider {
    pub fn new(hostname: impl Into<Str>, namespace: impl Into<Str>, ty: impl Into<Str>) -> Provider {
        Provider { hostname: hostname.into(), namespace: namespace.into(), ty: ty.into() }
    }

    /// What a provider name means where nothing is declared: `hashicorp/NAME`, or the built-in `terraform`.
    pub fn implied(name: &str) -> Provider {
        if name == "terraform" { Provider::builtin(name) } else { Provider::new(DEFAULT_REGISTRY, "hashicorp", name) }
    }

    pub fn builtin(name: &str) -> Provider {
        Provider::new("terraform.io", "builtin", name)
    }

    pub fn is_builtin(&self) -> bool {
        &*self.hostname == "terraform.io" && &*self.namespace == "builtin"
    }

    /// Parses a source address: `NAME`, `NAMESPACE/NAME` or `HOST/NAMESPACE/NAME`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(source: &str) -> Result<Provider, String> {
        let parts: Vec<&str> = source.split('/').collect();
        if parts.len() > 3 {
            return Err("A provider source address has at most three parts: [HOSTNAME/]NAMESPACE/NAME.".into());
        }
        let valid = |p: &str| {
            !p.is_empty()
                && p.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
                && !p.starts_with('-')
                && !p.ends_with('-')
        };
        let ty = parts[parts.len() - 1].to_lowercase();
        let namespace = if parts.len() > 1 { parts[parts.len() - 2].to_lowercase() } else { "hashicorp".into() };
        for p in [&ty, &namespace] {
            if !valid(p) {
                return Err(format!("\"{p}\" is not a valid part of a provider source address."));
            }
        }
        let hostname = if parts.len() == 3 { parts[0].to_lowercase() } else { DEFAULT_REGISTRY.into() };
        let host_ok = parts.len() < 3
            || (!hostname.is_empty()
                && (hostname.contains('.') || hostname.contains(':') || hostname == "localhost")
                && hostname.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | ':')));
        if !host_ok {
            return Err(format!("\"{hostname}\" is not a valid registry host name."));
        }
        if parts.len() == 1 && ty == "terraform" {
            return Ok(Provider::builtin("terraform"));
        }
        Ok(Provider::new(hostname, namespace, ty))
    }

    /// The short form for people: without the default registry, and for the built-in provider as Terraform shows it.
    pub fn for_display(&self) -> String {
        if &*self.hostname == DEFAULT_REGISTRY { format!("{}/{}", self.namespace, self.ty) } else { self.to_string() }
    }
}

impl fmt::Display for Provider {
    /// The full form `registry.terraform.io/hashicorp/aws`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (before, part) in [("", &self.hostname), ("/", &self.namespace), ("/", &self.ty)] {
            f.write_str(before)?;
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// A provider configuration of a module: which provider, under which alias, and which instance of its `for_each`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AbsProviderConfig {
    pub module: Module,
    pub provider: Provider,
    pub alias: Option<Str>,
    /// Without key where the block has no `for_each`, and where the block as a whole is meant.
    pub key: InstanceKey,
}

impl AbsProviderConfig {
    /// The block that this is an instance of.
    #[must_use]
    pub fn block(&self) -> AbsProviderConfig {
        AbsProviderConfig { key: InstanceKey::None, ..self.clone() }
    }

    /// An instance of this block.
    #[must_use]
    pub fn instance(&self, key: InstanceKey) -> AbsProviderConfig {
        AbsProviderConfig { key, ..self.clone() }
    }

    /// Whether both are instances of the same block.
    pub fn same_block(&self, other: &AbsProviderConfig) -> bool {
        self.module == other.module && self.provider == other.provider && self.alias == other.alias
    }
}

impl fmt::Display for AbsProviderConfig {
    /// As in the state: `module.a.provider["registry.terraform.io/hashicorp/aws"].west`, and OpenTofu's key after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            self.module.fmt(f)?;
            f.write_str(".")?;
        }
        f.write_str("provider[\"")?;
        self.provider.fmt(f)?;
        f.write_str("\"]")?;
        if let Some(alias) = &self.alias {
            write!(f, ".{alias}")?;
        }
        self.key.fmt(f)
    }
}

mod parse;
pub use parse::{ParseError, Target};
