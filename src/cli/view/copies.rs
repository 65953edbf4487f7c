//! Secrets that a resource repeats in another attribute. `terraform_data` copies its `input` to `output`, and a provider
//! cannot mark what it answers; where the input is sensitive, people are not shown the copy either. Views for people
//! call this; JSON documents say what Terraform's say.

use crate::addr::{Mode, Resource};
use gpuform_schema::{Step, Value};
use std::borrow::Cow;

/// The object as people may see it: what is sensitive in the input of a `terraform_data` is so in its output.
pub fn hide<'v>(resource: &Resource, object: &'v Value) -> Cow<'v, Value> {
    if resource.mode != Mode::Managed || &*resource.ty != "terraform_data" {
        return Cow::Borrowed(object);
    }
    let secret = object.get("input").map(|input| input.unmark_with_paths().1).unwrap_or_default();
    if secret.is_empty() {
        return Cow::Borrowed(object);
    }
    Cow::Owned(object.map_children(&mut |step, value| match step() {
        Step::Attr(name) if &*name == "output" => value.mark_paths(&secret),
        _ => value.clone(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuform_schema::Marks;

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
