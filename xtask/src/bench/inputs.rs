//! The configurations that are measured, written to a folder. Each is what a user of that size might have: resources
//! that depend on each other in chains of ten, nested modules, one block with many instances.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// Writes a configuration of a size into a folder.
pub type Input = fn(&Path, u32) -> Result<()>;

const CHAIN: u32 = 10;

fn file(folder: &Path, name: &str) -> Result<BufWriter<File>> {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(BufWriter::new(File::create(path)?))
}

/// Nothing at all.
pub fn empty(_: &Path, _: u32) -> Result<()> {
    Ok(())
}

/// `n` resources in chains of ten, each block written out.
pub fn chains(folder: &Path, n: u32) -> Result<()> {
    let mut f = file(folder, "main.tf")?;
    chain(&mut f, n, "\"chain ${0}\"")?;
    f.flush()
}

fn chain(f: &mut impl Write, n: u32, first: &str) -> Result<()> {
    for i in 0..n {
        let input = match i % CHAIN {
            0 => first.replace("${0}", &(i / CHAIN).to_string()),
            _ => format!("terraform_data.r{}.output", i - 1),
        };
        writeln!(f, "resource \"terraform_data\" \"r{i}\" {{\n  input = {input}\n}}\n")?;
    }
    Ok(())
}

/// As [`chains`], each with a kilobyte of its own: the state of 20,000 has about 50 MB.
pub fn bulky(folder: &Path, n: u32) -> Result<()> {
    let mut f = file(folder, "main.tf")?;
    for i in 0..n {
        let text = format!("{i:08x} ").repeat(100);
        let before = if i % CHAIN == 0 { "null".to_owned() } else { format!("terraform_data.r{}.id", i - 1) };
        writeln!(
            f,
            "resource \"terraform_data\" \"r{i}\" {{\n  input = {{\n    text   = \"{text}\"\n    before = {before}\n  }}\n}}\n"
        )?;
    }
    f.flush()
}

/// `n` resources of a plugin process, as instances of one block.
pub fn things(folder: &Path, n: u32) -> Result<()> {
    let mut f = file(folder, "main.tf")?;
    writeln!(
        f,
        "terraform {{\n  required_providers {{\n    demo = {{\n      source = \"gpuform/demo\"\n    }}\n  }}\n}}\n"
    )?;
    writeln!(
        f,
        "resource \"demo_thing\" \"t\" {{\n  count = {n}\n  name  = \"thing-${{count.index}}\"\n  value = \"v\"\n}}"
    )?;
    f.flush()
}

/// Modules nested four deep with `for_each`: `n` instances of the innermost one, with 50 resources each.
pub fn modules(folder: &Path, n: u32) -> Result<()> {
    let levels = [("main.tf", 2), ("region/main.tf", 5), ("region/zone/main.tf", 4)];
    let above: u32 = levels.iter().map(|(_, each)| each).product();
    let names = ["region", "zone", "cluster", "rack"];
    let each = levels.iter().map(|(_, each)| *each).chain([n.div_ceil(above)]);
    let mut path = String::new();
    for (name, each) in names.iter().zip(each) {
        let mut f = file(folder, &format!("{path}main.tf"))?;
        let prefix = if path.is_empty() {
            "root".to_owned()
        } else {
            writeln!(f, "variable \"name\" {{\n  type = string\n}}\n")?;
            "${var.name}".to_owned()
        };
        let keys: Vec<String> = (0..each).map(|i| format!("\"{name}{i}\"")).collect();
        writeln!(
            f,
            "module \"{name}\" {{\n  source   = \"./{name}\"\n  for_each = toset([{}])\n  name     = \"{prefix}/${{each.key}}\"\n}}\n",
            keys.join(", ")
        )?;
        writeln!(f, "output \"last\" {{\n  value = [for m in module.{name} : m.last]\n}}")?;
        f.flush()?;
        path = format!("{path}{name}/");
    }
    let mut f = file(folder, &format!("{path}main.tf"))?;
    writeln!(f, "variable \"name\" {{\n  type = string\n}}\n")?;
    chain(&mut f, 50, "\"${var.name}/${0}\"")?;
    writeln!(f, "output \"last\" {{\n  value = terraform_data.r49.output\n}}")?;
    f.flush()
}

/// One block with `count`.
pub fn count(folder: &Path, n: u32) -> Result<()> {
    let mut f = file(folder, "main.tf")?;
    writeln!(f, "resource \"terraform_data\" \"r\" {{\n  count = {n}\n  input = \"instance ${{count.index}}\"\n}}\n")?;
    writeln!(f, "output \"all\" {{\n  value = length(terraform_data.r[*].id)\n}}")?;
    f.flush()
}

/// Lists of up to a thousand each, since `range` gives no more than 1,024 values.
fn rows(n: u32) -> (u32, u32) {
    let width = n.min(1000);
    (n.div_ceil(width), width)
}

/// A map that is computed, and a block with one instance for each of its elements.
pub fn for_each(folder: &Path, n: u32) -> Result<()> {
    let (rows, width) = rows(n);
    let mut f = file(folder, "main.tf")?;
    writeln!(f, "locals {{\n  machines = merge([\n    for r in range({rows}) : {{")?;
    writeln!(
        f,
        "      for c in range({width}) : \"machine-${{r * {width} + c}}\" => {{ row = r, column = c }}\n    }}\n  ]...)\n}}\n"
    )?;
    writeln!(f, "resource \"terraform_data\" \"r\" {{\n  for_each = local.machines")?;
    writeln!(f, "  input    = \"${{each.key}} at ${{each.value.row}}/${{each.value.column}}\"\n}}\n")?;
    writeln!(f, "output \"all\" {{\n  value = length(terraform_data.r)\n}}")?;
    f.flush()
}

/// Locals that transform `n` elements with `for`, `if`, grouping, string functions and look-ups.
pub fn locals(folder: &Path, n: u32) -> Result<()> {
    let (rows, width) = rows(n);
    let mut f = file(folder, "main.tf")?;
    writeln!(
        f,
        "locals {{
  elements = flatten([for r in range({rows}) : [for c in range({width}) : r * {width} + c]])
  named    = [for e in local.elements : {{ name = format(\"host-%06d\", e), shard = e % 16, even = e % 2 == 0 }}]
  upper    = [for h in local.named : upper(replace(h.name, \"-\", \"_\")) if h.even]
  by_name  = {{ for h in local.named : h.name => h.shard }}
  by_shard = {{ for h in local.named : \"shard-${{h.shard}}\" => h.name... }}
  joined   = [for h in local.named : \"${{h.name}}.${{local.by_name[h.name]}}.example.com\"]
}}

output \"summary\" {{
  value = {{
    upper  = length(local.upper)
    shards = {{ for name, hosts in local.by_shard : name => length(hosts) }}
    length = length(join(\",\", local.joined))
  }}
}}"
    )?;
    f.flush()
}
