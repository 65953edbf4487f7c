use super::*;
use crate::prelude::*;
use gpuform_schema::Type;
use std::sync::Mutex;

/// A cloud that remembers what was asked of it and misbehaves on demand.
#[derive(Default)]
struct Cloud {
    asked: Mutex<Vec<String>>,
    fault: &'static str,
}

#[derive(Model, Clone, PartialEq, Default, Debug)]
struct Machine {
    #[attr(computed)]
    id: Attr<String>,
    #[attr(required)]
    name: Attr<String>,
    #[attr(computed)]
    address: Attr<String>,
    #[attr(optional, write_only)]
    key: Attr<String>,
    #[timeouts(create = "1m", update = "1m")]
    timeouts: Timeouts,
}

impl Resource for Machine {
    type Client = Cloud;
    const TYPE: &'static str = "test_machine";

    async fn create(&mut self, ctx: &Context<Cloud>) -> Result<()> {
        let cloud = ctx.client();
        cloud.ask(format!(
            "create {} with {} and key {:?}",
            self.name.or_default(),
            ctx.client_token(),
            self.key.get()
        ));
        if cloud.fault == "before" {
            return Err(Error::new("Refused").detail("before the effect"));
        }
        self.id.set("m-1");
        match cloud.fault {
            "after" => Err(Error::new("Lost")),
            "panic" => panic!("index out of bounds"),
            _ => Ok(()),
        }
    }

    async fn read(mut self, ctx: &Context<Cloud>) -> Result<Option<Self>> {
        ctx.client().ask("read".into());
        match ctx.client().fault {
            "gone" => return Ok(None),
            "not found" => return Err(Error::not_found("No such machine")),
            _ => {}
        }
        self.address.set("10.0.0.1");
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Cloud>) -> Result<()> {
        ctx.client().ask(format!("rename {} to {}", prior.name.or_default(), self.name.or_default()));
        if ctx.client().fault == "before" { Err(Error::new("Refused")) } else { Ok(()) }
    }

    async fn delete(self, ctx: &Context<Cloud>) -> Result<()> {
        match ctx.client().fault {
            "not found" => Err(Error::not_found("No such machine")),
            "before" => Err(Error::new("Refused")),
            _ => Ok(()),
        }
    }

    async fn find_by_token(&self, token: &str, _: &Context<Cloud>) -> Result<Option<Self>> {
        Ok((token == "known").then(|| Machine { id: "m-9".into(), ..self.clone() }))
    }
}

impl Cloud {
    fn with(fault: &'static str) -> Session<Cloud> {
        let client = Arc::new(Cloud { fault, ..Cloud::default() });
        Session { client, cancel: CancellationToken::new(), settings: Value::null() }
    }

    fn ask(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
}

fn asked(session: &Session<Cloud>) -> Vec<String> {
    session.client.asked.lock().unwrap().clone()
}

fn config() -> Machine {
    Machine { name: "a".into(), key: "k".into(), ..Machine::default() }
}

fn state() -> Machine {
    Machine { id: "m-1".into(), name: "a".into(), address: "10.0.0.1".into(), ..Machine::default() }
}

fn runner() -> ResourceRunner<Machine> {
    ResourceRunner::default()
}

/// Plans and applies a create.
async fn create(session: &Session<Cloud>) -> Outcome {
    let (prior, config) = (null::<Machine>(), config().encode());
    let plan = runner().plan(&prior, &config, Private::new(), Some(session.client.clone())).await.outcome;
    runner().apply(&prior, &plan.value, &config, plan.private, session.clone()).await
}

fn machine(outcome: &Outcome) -> Machine {
    <Machine as Model>::decode(&outcome.value).unwrap()
}

fn said(outcome: &Outcome) -> Vec<&str> {
    outcome.diagnostics.iter().map(|d| d.summary.as_str()).collect()
}

#[tokio::test]
async fn a_create_uses_the_planned_token_and_is_completed_by_a_read() {
    let session = Cloud::with("");
    let (prior, config) = (null::<Machine>(), config().encode());
    let plan = runner().plan(&prior, &config, Private::new(), None).await.outcome;
    let token = plan.private[TOKEN_KEY].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let made = runner().apply(&prior, &plan.value, &config, plan.private.clone(), session.clone()).await;
        assert_eq!((machine(&made), said(&made)), (state(), vec![]));
        assert!(made.private.is_empty(), "the token has done its work");
    }
    let create = format!("create a with {token} and key Some(\"k\")");
    assert_eq!(asked(&session), [create.as_str(), "read", &create, "read"], "repeated with the same token");
}

#[tokio::test]
async fn a_create_that_fails_keeps_the_object_only_if_it_exists() {
    let refused = create(&Cloud::with("before")).await;
    assert!(refused.value.is_null());
    assert_eq!(said(&refused), ["Refused"]);
    let lost = create(&Cloud::with("after")).await;
    assert_eq!(machine(&lost), Machine { address: Attr::Null, ..state() });
    assert_eq!(said(&lost), ["Lost"]);
    let crashed = create(&Cloud::with("panic")).await;
    assert_eq!(machine(&crashed).id, "m-1");
    assert!(crashed.diagnostics[0].detail.contains("index out of bounds"));
}

#[tokio::test]
async fn an_update_that_fails_leaves_the_state_as_it_was() {
    let (prior, planned) = (state().encode(), Machine { name: "b".into(), ..state() }.encode());
    let session = Cloud::with("");
    let done = runner().apply(&prior, &planned, &config().encode(), Private::new(), session.clone()).await;
    assert_eq!(done.value, planned);
    assert_eq!(asked(&session), ["rename a to b"], "nothing was unknown, so nothing is read");
    let failed = runner().apply(&prior, &planned, &config().encode(), Private::new(), Cloud::with("before")).await;
    assert_eq!((failed.value.clone(), said(&failed)), (prior, vec!["Refused"]));
}

#[tokio::test]
async fn timeouts_alone_change_without_a_call() {
    let session = Cloud::with("");
    let written = Value::object([("create", Value::from("5m")), ("update", Value::Null(Type::String))]);
    let planned = state().encode().map_children(&mut |step, v| match step() {
        gpuform_schema::Step::Attr(n) if &*n == "timeouts" => written.clone(),
        _ => v.clone(),
    });
    let done = runner().apply(&state().encode(), &planned, &planned, Private::new(), session.clone()).await;
    assert_eq!((done.value, asked(&session)), (planned, vec![]));
}

#[tokio::test]
async fn what_is_gone_is_null_and_deleting_it_succeeds() {
    let current = state().encode();
    for fault in ["gone", "not found"] {
        assert!(runner().read(&current, Private::new(), Cloud::with(fault)).await.value.is_null());
    }
    let delete = |fault| {
        let current = current.clone();
        async move {
            let null = null::<Machine>();
            runner().apply(&current, &null, &null, Private::new(), Cloud::with(fault)).await
        }
    };
    let gone = delete("not found").await;
    assert!(gone.value.is_null() && gone.diagnostics.is_empty());
    let refused = delete("before").await;
    assert_eq!((refused.value.clone(), said(&refused)), (current, vec!["Refused"]));
}

#[tokio::test]
async fn recovery_finds_the_object_of_an_interrupted_create() {
    let planned = plan::planned(Machine::object(), None, &config().encode());
    let ask = |token: &str| {
        let private = serde_json::json!({ TOKEN_KEY: token, RECOVER_KEY: true, "own": 1 });
        let private = private.as_object().unwrap().clone();
        let planned = planned.clone();
        async move { runner().read(&planned, private, Cloud::with("")).await }
    };
    let found = ask("known").await;
    assert_eq!((machine(&found).id, machine(&found).name), ("m-9".into(), "a".into()));
    assert_eq!(serde_json::Value::Object(found.private), serde_json::json!({"own": 1}));
    assert!(ask("unknown").await.value.is_null());
}

#[tokio::test]
async fn an_import_begins_with_the_id() {
    let imported = runner().import("m-7", Cloud::with("")).await;
    assert_eq!(machine(&imported), Machine { id: "m-7".into(), ..Machine::default() });
}
