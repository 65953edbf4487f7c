//! The data source `aws_iam_policy_document`: a policy in JSON from blocks, merged with other policies. Nothing is asked
//! of AWS. `json` has the very bytes that other providers of this data source make, so that states can be exchanged.

use crate::client::Aws;
use gpuform_provider_sdk::prelude::*;
use serde_json::Value as Json;
use std::collections::HashSet;

/// A policy written in blocks.
#[derive(Model, Clone, PartialEq, Default)]
pub struct PolicyDocument {
    /// A checksum of `json`.
    #[attr(computed)]
    pub id: Attr<String>,
    /// The policy.
    #[attr(computed)]
    pub json: Attr<String>,
    /// The policy without white space.
    #[attr(computed)]
    pub minified_json: Attr<String>,
    /// A policy whose statements replace those with the same `sid`.
    #[attr(optional, deprecated = "use override_policy_documents", validate = json())]
    pub override_json: Attr<String>,
    /// Policies whose statements replace those with the same `sid`.
    #[attr(optional)]
    pub override_policy_documents: Attr<Vec<String>>,
    /// The policy's ID.
    #[attr(optional)]
    pub policy_id: Attr<String>,
    /// A policy to start with.
    #[attr(optional, deprecated = "use source_policy_documents", validate = json())]
    pub source_json: Attr<String>,
    /// Policies to start with; a `sid` may occur once in all of them.
    #[attr(optional)]
    pub source_policy_documents: Attr<Vec<String>>,
    /// Version of the policy language.
    #[attr(optional, validate = one_of(["2008-10-17", "2012-10-17"]))]
    pub version: Attr<String>,
    /// Statements.
    #[block]
    pub statement: Vec<Statement>,
}

/// A statement.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Statement {
    /// Actions.
    #[attr(optional)]
    pub actions: Attr<Set<String>>,
    /// `Allow`, the default, or `Deny`.
    #[attr(optional, validate = one_of(["Allow", "Deny"]))]
    pub effect: Attr<String>,
    /// All actions but these.
    #[attr(optional)]
    pub not_actions: Attr<Set<String>>,
    /// All resources but these.
    #[attr(optional)]
    pub not_resources: Attr<Set<String>>,
    /// Resources.
    #[attr(optional)]
    pub resources: Attr<Set<String>>,
    /// The statement's ID.
    #[attr(optional)]
    pub sid: Attr<String>,
    /// Conditions.
    #[block(nesting = "set")]
    pub condition: Vec<Condition>,
    /// Everyone but these.
    #[block(nesting = "set")]
    pub not_principals: Vec<Principals>,
    /// Who is concerned.
    #[block(nesting = "set")]
    pub principals: Vec<Principals>,
}

/// A condition.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Condition {
    /// The operator, e.g. `StringEquals`.
    #[attr(required)]
    pub test: Attr<String>,
    /// Values of which one must match.
    #[attr(required)]
    pub values: Attr<Vec<String>>,
    /// What is compared, e.g. `aws:SourceAccount`.
    #[attr(required)]
    pub variable: Attr<String>,
}

/// Principals of one kind.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Principals {
    /// Who.
    #[attr(required)]
    pub identifiers: Attr<Set<String>>,
    /// The kind: `AWS`, `Service`, `Federated` or `*`.
    #[attr(required, name = "type")]
    pub kind: Attr<String>,
}

impl DataSource for PolicyDocument {
    type Client = Aws;
    const TYPE: &'static str = "aws_iam_policy_document";

    async fn read(mut self, _ctx: &Context<Aws>) -> Result<Self> {
        let document = self.document()?.node();
        let text = document.pretty();
        self.id.set(crc32fast::hash(text.as_bytes()).to_string());
        self.json.set(text);
        self.minified_json.set(document.minified());
        Ok(self)
    }
}

impl PolicyDocument {
    fn document(&self) -> Result<Document> {
        let mut merged = match self.source_json.as_deref().filter(|s| !s.is_empty()) {
            Some(text) => Document::parse(text, "source_json")?,
            None => Document::default(),
        };
        let mut sids = HashSet::new();
        for text in self.source_policy_documents.or_default().iter().filter(|t| !t.is_empty()) {
            let source = Document::parse(text, "source_policy_documents")?;
            source.unique(&mut sids, "source_policy_documents")?;
            merged.merge(source);
        }
        let own = Document {
            version: self.version.unwrap_or("2012-10-17".into()),
            id: self.policy_id.or_default(),
            statements: self.statement.iter().map(Statement::rendered).collect::<Result<_>>()?,
        };
        own.unique(&mut HashSet::new(), "statement")?;
        merged.merge(own);
        for text in self.override_policy_documents.or_default().iter().filter(|t| !t.is_empty()) {
            merged.merge(Document::parse(text, "override_policy_documents")?);
        }
        if let Some(text) = self.override_json.as_deref().filter(|s| !s.is_empty()) {
            merged.merge(Document::parse(text, "override_json")?);
        }
        Ok(merged)
    }
}

impl Statement {
    fn rendered(&self) -> Result<Rendered> {
        let text = |key: &str, value: &Attr<String>, default: &str| {
            Some(value.unwrap_or(default.to_owned())).filter(|v| !v.is_empty()).map(|v| (key.to_owned(), Node::Text(v)))
        };
        let list = |key: &str, set: &Attr<Set<String>>| {
            set.get().filter(|s| !s.is_empty()).map(|s| (key.to_owned(), variables(strings(s.to_vec()))))
        };
        let who = |key: &str, who: &[Principals]| (!who.is_empty()).then(|| (key.to_owned(), principals(who)));
        let fields = [
            text("Sid", &self.sid, ""),
            text("Effect", &self.effect, "Allow"),
            list("Action", &self.actions),
            list("NotAction", &self.not_actions),
            list("Resource", &self.resources),
            list("NotResource", &self.not_resources),
            who("Principal", &self.principals),
            who("NotPrincipal", &self.not_principals),
            (!self.condition.is_empty()).then(|| ("Condition".to_owned(), conditions(&self.condition))),
        ];
        Ok(Rendered { sid: self.sid.or_default(), fields: fields.into_iter().flatten().collect() })
    }
}

/// A policy: what is merged.
#[derive(Default)]
struct Document {
    version: String,
    id: String,
    statements: Vec<Rendered>,
}

/// A statement in its final form.
struct Rendered {
    sid: String,
    fields: Vec<(String, Node)>,
}

/// The keys of a statement in the order in which they are written.
const KEYS: [&str; 9] =
    ["Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Principal", "NotPrincipal", "Condition"];

impl Document {
    fn parse(text: &str, attribute: &str) -> Result<Document> {
        let parsed: Json = serde_json::from_str(text).map_err(|e| {
            Error::new("Invalid policy").detail(format!("A policy is not valid JSON: {e}.")).at(attribute)
        })?;
        let field = |key: &str| parsed.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let statements = match parsed.get("Statement") {
            Some(Json::Array(all)) => all.iter().map(from_json).collect(),
            Some(one @ Json::Object(_)) => vec![from_json(one)],
            _ => Vec::new(),
        };
        Ok(Document { version: field("Version"), id: field("Id"), statements })
    }

    fn unique(&self, sids: &mut HashSet<String>, attribute: &str) -> Result<()> {
        match self.statements.iter().map(|s| &s.sid).find(|s| !s.is_empty() && !sids.insert((*s).clone())) {
            Some(sid) => Err(Error::new("Duplicate statement ID")
                .detail(format!("The sid {sid:?} occurs more than once."))
                .at(attribute)),
            None => Ok(()),
        }
    }

    /// Statements of `other` replace those with the same ID, the rest is appended.
    fn merge(&mut self, other: Document) {
        if !other.id.is_empty() {
            self.id = other.id;
        }
        if other.version > self.version {
            self.version = other.version;
        }
        for statement in other.statements {
            let same = |s: &&mut Rendered| !s.sid.is_empty() && s.sid == statement.sid;
            match self.statements.iter_mut().find(same) {
                Some(old) => *old = statement,
                None => self.statements.push(statement),
            }
        }
    }

    fn node(self) -> Node {
        let mut fields = Vec::new();
        for (key, value) in [("Version", self.version), ("Id", self.id)] {
            if !value.is_empty() {
                fields.push((key.to_owned(), Node::Text(value)));
            }
        }
        if !self.statements.is_empty() {
            let all = self.statements.into_iter().map(|s| Node::Object(s.fields)).collect();
            fields.push(("Statement".to_owned(), Node::List(all)));
        }
        Node::Object(fields)
    }
}

fn from_json(statement: &Json) -> Rendered {
    let field = |key: &str| {
        let value = statement.get(key)?;
        let empty = value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        let node = match key {
            "Principal" | "NotPrincipal" => principals_of(value),
            _ => Node::of(value),
        };
        (!empty).then_some((key.to_owned(), node))
    };
    let sid = statement.get("Sid").and_then(Json::as_str).unwrap_or_default().to_owned();
    Rendered { sid, fields: KEYS.iter().filter_map(|k| field(k)).collect() }
}

/// Principals of another document, in the order in which this one writes them.
fn principals_of(value: &Json) -> Node {
    let Json::Object(kinds) = value else { return Node::of(value) };
    let everyone = kinds.len() == 1 && kinds.get("*").is_some_and(|v| v == "*" || *v == serde_json::json!(["*"]));
    if everyone {
        return Node::Text("*".into());
    }
    let kinds: BTreeMap<_, _> = kinds.iter().collect();
    let node = |v: &Json| match v {
        Json::Array(all) => descending(all.iter().filter_map(Json::as_str).map(str::to_owned).collect()),
        other => Node::of(other),
    };
    Node::Object(kinds.into_iter().map(|(k, v)| (k.clone(), node(v))).collect())
}

fn principals(all: &[Principals]) -> Node {
    let mut kinds: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for p in all {
        kinds.entry(p.kind.or_default()).or_default().push(p.identifiers.or_default().into_vec());
    }
    let everyone = kinds.len() == 1 && kinds.get("*").is_some_and(|v| v.concat() == ["*"]);
    if everyone {
        return Node::Text("*".into());
    }
    let node = |groups: Vec<Vec<String>>| variables(strings(groups.concat()));
    Node::Object(kinds.into_iter().map(|(k, v)| (k, node(v))).collect())
}

fn conditions(all: &[Condition]) -> Node {
    let mut tests: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for c in all {
        let variables = tests.entry(c.test.or_default()).or_default();
        variables.entry(c.variable.or_default()).or_default().extend(c.values.or_default());
    }
    // The order of the values counts, they are not sorted.
    let values = |v: Vec<String>| match <[String; 1]>::try_from(v) {
        Ok([one]) => Node::Text(one),
        Err(many) => Node::List(many.into_iter().map(Node::Text).collect()),
    };
    let object = |m: BTreeMap<String, Vec<String>>| {
        Node::Object(m.into_iter().map(|(k, v)| (k, variables(values(v)))).collect())
    };
    Node::Object(tests.into_iter().map(|(test, m)| (test, object(m))).collect())
}

/// One string by itself, more as a list in descending order.
fn strings(values: Vec<String>) -> Node {
    match <[String; 1]>::try_from(values) {
        Ok([one]) => Node::Text(one),
        Err(many) => descending(many),
    }
}

fn descending(mut values: Vec<String>) -> Node {
    values.sort_by(|a, b| b.cmp(a));
    Node::List(values.into_iter().map(Node::Text).collect())
}

/// `&{aws:username}` is how blocks write the policy variable `${aws:username}`.
fn variables(node: Node) -> Node {
    match node {
        Node::Text(text) => Node::Text(text.replace("&{", "${")),
        Node::List(all) => Node::List(all.into_iter().map(variables).collect()),
        other => other,
    }
}

/// JSON with its keys in a given order.
enum Node {
    Text(String),
    /// A number, a flag or null.
    Raw(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    fn of(value: &Json) -> Node {
        match value {
            Json::String(text) => Node::Text(text.clone()),
            Json::Array(all) => Node::List(all.iter().map(Node::of).collect()),
            Json::Object(map) => {
                let sorted: BTreeMap<_, _> = map.iter().collect();
                Node::Object(sorted.into_iter().map(|(k, v)| (k.clone(), Node::of(v))).collect())
            }
            other => Node::Raw(other.to_string()),
        }
    }

    fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(0));
        out
    }

    fn minified(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// Writes with two spaces per level from `depth` on, or without white space.
    fn write(&self, out: &mut String, depth: Option<usize>) {
        match self {
            Node::Text(text) => quote(text, out),
            Node::Raw(text) => out.push_str(text),
            Node::List(all) => enclose(out, ['[', ']'], all, depth, |item, out, inner| item.write(out, inner)),
            Node::Object(fields) => enclose(out, ['{', '}'], fields, depth, |(key, value), out, inner| {
                quote(key, out);
                out.push_str(if inner.is_some() { ": " } else { ":" });
                value.write(out, inner);
            }),
        }
    }
}

fn enclose<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: &[T],
    depth: Option<usize>,
    each: impl Fn(&T, &mut String, Option<usize>),
) {
    let inner = depth.map(|d| d + 1);
    out.push(open);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        new_line(out, inner);
        each(item, out, inner);
    }
    if !items.is_empty() {
        new_line(out, depth);
    }
    out.push(close);
}

fn new_line(out: &mut String, depth: Option<usize>) {
    if let Some(depth) = depth {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

/// A JSON string in which the characters that HTML knows are escaped, too.
fn quote(text: &str, out: &mut String) {
    for c in Json::from(text).to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[&str]) -> Attr<Set<String>> {
        Attr::Known(values.iter().map(|v| (*v).to_owned()).collect())
    }

    fn bucket_access() -> Statement {
        Statement {
            sid: "Read".into(),
            actions: set(&["s3:GetObject", "s3:PutObject"]),
            resources: set(&["arn:aws:s3:::data/&{aws:username}/*"]),
            principals: vec![Principals { kind: "Service".into(), identifiers: set(&["ec2.amazonaws.com"]) }],
            condition: vec![Condition {
                test: "StringLike".into(),
                variable: "s3:prefix".into(),
                values: Attr::Known(vec!["home/".into(), "".into()]),
            }],
            ..Statement::default()
        }
    }

    #[test]
    fn a_document_has_its_keys_and_values_in_the_known_order() {
        let document = PolicyDocument { statement: vec![bucket_access()], ..PolicyDocument::default() };
        let node = document.document().expect("the document is valid").node();
        let expected = r#"{
  "Version": "2012-10-17",
  "Statement": [
    {
      "Sid": "Read",
      "Effect": "Allow",
      "Action": [
        "s3:PutObject",
        "s3:GetObject"
      ],
      "Resource": "arn:aws:s3:::data/${aws:username}/*",
      "Principal": {
        "Service": "ec2.amazonaws.com"
      },
      "Condition": {
        "StringLike": {
          "s3:prefix": [
            "home/",
            ""
          ]
        }
      }
    }
  ]
}"#;
        assert_eq!(node.pretty(), expected);
        assert!(node.minified().starts_with(r#"{"Version":"2012-10-17","Statement":[{"Sid":"Read","Effect":"Allow","#));
    }

    #[test]
    fn overriding_statements_replace_those_with_the_same_sid() {
        let document = PolicyDocument {
            statement: vec![bucket_access()],
            source_policy_documents: Attr::Known(vec![
                r#"{"Version":"2012-10-17","Statement":{"Sid":"First","Effect":"Deny","Action":"*","Resource":"*"}}"#
                    .into(),
            ]),
            override_policy_documents: Attr::Known(vec![
                r#"{"Statement":[{"Sid":"Read","Effect":"Deny","Action":["s3:*"],"Resource":"<*>"}]}"#.into(),
            ]),
            ..PolicyDocument::default()
        };
        let expected =
            r#"{"Version":"2012-10-17","Statement":[{"Sid":"First","Effect":"Deny","Action":"*","Resource":"*"},"#
                .to_owned()
                + r#"{"Sid":"Read","Effect":"Deny","Action":["s3:*"],"Resource":"\u003c*\u003e"}]}"#;
        assert_eq!(document.document().expect("the documents are valid").node().minified(), expected);
    }
}
