//! Changes to a lock file that leave alone what people have added to it: comments, blank lines, and the entries in
//! which nothing changes. Terraform drops all of that.

use hcl_edit::Decorate;
use hcl_edit::expr::Expression;
use hcl_edit::structure::{Block, Body, Structure};
use std::collections::{BTreeMap, BTreeSet};

/// The old text with the entries of the new one.
pub(super) fn update(old: &str, new: &str) -> String {
    let (Ok(old), Ok(entries)) = (old.parse::<Body>(), new.parse::<Body>()) else { return new.to_owned() };
    if old.is_empty() {
        return new.to_owned();
    }
    let mut entries: BTreeMap<String, Block> = entries.into_blocks().map(|b| (source(&b), b)).collect();
    let mut body: Vec<Structure> = Vec::with_capacity(old.len());
    for structure in old {
        let Structure::Block(mut block) = structure else { continue };
        if let Some(entry) = entries.remove(&source(&block)) {
            update_entry(&mut block, entry);
            body.push(block.into());
        }
    }
    for (name, entry) in entries {
        let at = body.iter().position(|s| s.as_block().is_some_and(|b| source(b) > name)).unwrap_or(body.len());
        body.insert(at, entry.into());
    }
    Body::from(body).to_string()
}

/// The provider that an entry is about.
fn source(entry: &Block) -> String {
    entry.labels.first().map(|l| l.as_str().to_owned()).unwrap_or_default()
}

fn update_entry(old: &mut Block, new: Block) {
    let dropped: Vec<String> =
        old.body.attributes().map(|a| a.key.to_string()).filter(|k| !new.body.has_attribute(k)).collect();
    for key in dropped {
        old.body.remove_attribute(&key);
    }
    for attribute in new.body.into_attributes() {
        match old.body.get_attribute_mut(&attribute.key) {
            Some(mut kept) => {
                let kept = kept.value_mut();
                if texts(kept) != texts(&attribute.value) {
                    *kept = attribute.value.decorated(kept.decor().clone());
                }
            }
            None => old.body.push(attribute),
        }
    }
}

/// The strings of a value; their order means nothing.
fn texts(value: &Expression) -> BTreeSet<&str> {
    match value {
        Expression::Array(items) => items.iter().filter_map(Expression::as_str).collect(),
        value => value.as_str().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::update;

    #[test]
    fn comments_and_what_has_not_changed_stay() {
        let old = r#"# Ours.

# Pinned: see the incident of May.
provider "registry.terraform.io/a/x" {
  version     = "1.0.0" # not newer
  constraints = "1.0.0"
  hashes = [
    "h1:old=", # of our build
  ]
}

provider "registry.terraform.io/c/gone" {
  version = "3.0.0"
}
"#;
        let new = r#"# Header.

provider "registry.terraform.io/a/x" {
  version     = "1.0.1"
  constraints = "1.0.1"
  hashes = [
    "h1:old=",
  ]
}

provider "registry.terraform.io/b/y" {
  version = "0.1.0"
  hashes = [
    "h1:b=",
  ]
}
"#;
        let expected = r#"# Ours.

# Pinned: see the incident of May.
provider "registry.terraform.io/a/x" {
  version     = "1.0.1" # not newer
  constraints = "1.0.1"
  hashes = [
    "h1:old=", # of our build
  ]
}

provider "registry.terraform.io/b/y" {
  version = "0.1.0"
  hashes = [
    "h1:b=",
  ]
}
"#;
        assert_eq!(update(old, new), expected);
        assert_eq!(update(expected, new), expected);
        assert_eq!((update("", new), update("{", new)), (new.to_owned(), new.to_owned()));
    }
}
