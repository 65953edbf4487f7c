//! Dependency graphs in the DOT language, laid out as Terraform does it: one line for each vertex and edge, sorted.

use crate::addr::{ConfigResource, Module};
use crate::engine::diagram::{Diagram, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The resources, grouped by module, and the edges between them.
pub fn resources(diagram: &Diagram) -> String {
    let mut out = String::from("digraph G {\n  rankdir = \"RL\";\n  node [shape = rect, fontname = \"sans-serif\"];\n");
    let mut modules: BTreeMap<&Module, BTreeSet<&ConfigResource>> = BTreeMap::new();
    for r in diagram.vertices.iter().filter_map(|v| v.resource.as_ref()) {
        modules.entry(&r.module).or_default().insert(r);
    }
    if modules.is_empty() {
        out.push_str("  /* This configuration does not contain any resources.         */\n");
        out.push_str("  /* For a more detailed graph, try: gpuform graph -type=plan */\n");
    }
    for (module, resources) in &modules {
        let indent = if module.is_root() { "  " } else { "    " };
        if !module.is_root() {
            let name = quoted(&module.to_string());
            let cluster = quoted(&format!("cluster_{module}"));
            let _ = writeln!(out, "  subgraph {cluster} {{\n    label = {name}\n    fontname = \"sans-serif\"");
        }
        for r in resources {
            let _ = writeln!(out, "{indent}{} [label={}];", quoted(&r.to_string()), quoted(&r.resource.to_string()));
        }
        if !module.is_root() {
            out.push_str("  }\n");
        }
    }
    let of = |v: usize| diagram.vertices.get(v).and_then(|v| v.resource.as_ref());
    let edges: BTreeSet<_> = diagram.resource_edges().into_iter().filter_map(|(a, b)| of(a).zip(of(b))).collect();
    for (from, to) in edges {
        let _ = writeln!(out, "  {} -> {};", quoted(&from.to_string()), quoted(&to.to_string()));
    }
    out.push_str("}\n");
    out
}

/// Everything that an operation does, and what it waits for.
pub fn operation(diagram: &Diagram) -> String {
    let mut out = String::from("digraph {\n\tcompound = \"true\"\n\tnewrank = \"true\"\n\tsubgraph \"root\" {\n");
    let name = |name: &str| quoted(&format!("[root] {name}"));
    let mut vertices: Vec<_> = diagram.vertices.iter().collect();
    vertices.sort_by(|a, b| a.name.cmp(&b.name));
    for v in vertices {
        let shape = match v.shape {
            Shape::Box => "box",
            Shape::Diamond => "diamond",
            Shape::Note => "note",
            Shape::Point => continue,
        };
        let _ = writeln!(out, "\t\t{} [label = {}, shape = \"{shape}\"]", name(&v.name), quoted(&v.label));
    }
    let of = |v: usize| diagram.vertices.get(v).map(|v| v.name.as_str());
    let edges: BTreeSet<String> = (diagram.edges().into_iter().filter_map(|(a, b)| of(a).zip(of(b))))
        .map(|(from, to)| format!("\t\t{} -> {}\n", name(from), name(to)))
        .collect();
    out.extend(edges);
    out.push_str("\t}\n}\n");
    out
}

/// A name in double quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
