//! Secrets that a resource repeats in another attribute. `terraform_data` copies its `input` to `output`, and a provider
//! cannot mark what it answers; where the input is sensitive, people are not shown the copy either. Views for people
//! call this; JSON documents say what Terraform's say.

use crate::addr::{Mode, Resource};
use gpuform_schema::{Marks, Path, Step, Value};
use std::borrow::Cow;

/// The object as people may see it: what is sensitive in the input of a `terraform_data` is so in its output.
pub fn hide<'v>(resource: &Resource, object: &'v Value) -> Cow<'v, Value> {
    let secret = secrets(resource, object);
    if secret.is_empty() { Cow::Borrowed(object) } else { Cow::Owned(with_output(object, &secret)) }
}

/// Both sides of a change as people may see them. What is secret on one side is hidden on both; an output that is not
/// known yet and replaces nothing is no secret.
pub fn hide_change<'v>(resource: &Resource, before: &'v Value, after: &'v Value) -> (Cow<'v, Value>, Cow<'v, Value>) {
    let mut secret = secrets(resource, before);
    secret.extend(secrets(resource, after));
    if secret.is_empty() {
        return (Cow::Borrowed(before), Cow::Borrowed(after));
    }
    let open = before.is_null() && after.get("output").is_some_and(|v| !v.unmark().0.is_known());
    let after = if open { Cow::Borrowed(after) } else { Cow::Owned(with_output(after, &secret)) };
    (Cow::Owned(with_output(before, &secret)), after)
}

/// Where the input of a `terraform_data` is sensitive.
fn secrets(resource: &Resource, object: &Value) -> Vec<(Path, Marks)> {
    if resource.mode != Mode::Managed || &*resource.ty != "terraform_data" {
        return Vec::new();
    }
    object.get("input").map(|input| input.unmark_with_paths().1).unwrap_or_default()
}

fn with_output(object: &Value, secret: &[(Path, Marks)]) -> Value {
    object.map_children(&mut |step, value| match step() {
        Step::Attr(name) if &*name == "output" && value.unmark().0.is_known() => value.mark_paths(secret),
        // Of what is not known yet there are no parts to be hidden, only the whole.
        Step::Attr(name) if &*name == "output" && secret.iter().any(|(path, _)| path.0.is_empty()) => {
            value.clone().with_marks(Marks::SENSITIVE)
        }
        _ => value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sensitive_in_the_input_is_hidden_in_the_output() {
        let settings = |password: Value| Value::object([("name", Value::string("a")), ("password", password)]);
        let (secret, open) = (Value::string("s3cret").with_marks(Marks::SENSITIVE), Value::string("s3cret"));
        let object = Value::object([("input", settings(secret.clone())), ("output", settings(open.clone()))]);
        let resource = |ty: &str| Resource { mode: Mode::Managed, ty: ty.into(), name: "a".into() };
        let shown = hide(&resource("terraform_data"), &object);
        assert_eq!(shown.get("output"), Some(&settings(secret)));
        assert_eq!(hide(&resource("demo_thing"), &object).get("output"), Some(&settings(open)));
    }
}
