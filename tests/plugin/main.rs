//! What a user gets from providers in other processes, well behaved or not.

#![allow(clippy::unwrap_used)]

mod fake;
mod rules;
mod strange;

use gpuform::addr;
use gpuform::diag::Diagnostics;
use gpuform::plugin::log::{Level, LogEvent, LogSink};
use gpuform::plugin::{ApplyRequest, Host, MoveRequest, Options, PlanRequest, Provider, ReadRequest, parse_reattach};
use gpuform_schema::{Path, Value};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// The provider itself: see `fake.rs`.
#[tokio::test]
#[ignore = "this is the provider that the tests start"]
async fn fake_plugin() {
    fake::serve().await;
}

fn source() -> addr::Provider {
    addr::Provider::parse("example/fake").unwrap()
}

async fn open(executable: &std::path::Path, options: Options) -> Result<Arc<dyn Provider>, Diagnostics> {
    Host::new(options).open(&source(), executable).await
}

async fn start(mode: &str) -> (tempfile::TempDir, Arc<dyn Provider>) {
    let folder = tempfile::tempdir().unwrap();
    let provider = open(&fake::executable(folder.path(), mode), Options::default()).await.unwrap();
    (folder, provider)
}

fn text(d: &Diagnostics) -> String {
    d.iter().map(|d| format!("{d}\n")).collect()
}

fn thing(name: &str) -> Value {
    let ty = fake::schema().resources["fake_thing"].block.clone();
    let Value::Object(empty) = ty.empty_value() else { panic!() };
    Value::object(empty.iter().map(|(n, v)| (n.clone(), if &**n == "name" { name.into() } else { v.clone() })))
}

fn apply(name: &str) -> ApplyRequest<'static> {
    ApplyRequest {
        type_name: "fake_thing",
        prior: Value::Null(thing("").ty()),
        planned: thing(name),
        config: thing(name),
        planned_private: b"private".to_vec(),
        provider_meta: None,
    }
}

/// Calls everything once.
async fn use_provider(provider: &dyn Provider, v5: bool) {
    assert_eq!(*provider.resource_schema("fake_thing").unwrap(), *fake::schema().resources["fake_thing"]);
    assert!(provider.resource_schema("fake_nothing").is_none());
    assert_eq!(provider.schema().functions, fake::schema().functions);

    let (config, warnings) = provider.validate_provider_config(thing("c")).await;
    assert_eq!(config, thing("c"));
    assert_eq!(warnings.iter().next().unwrap().attribute, Some(Path::attrs(["name"])));
    assert_eq!(provider.validate_resource_config("fake_thing", thing("a")).await.len(), 1);
    assert_eq!(provider.validate_data_source_config("fake_data", thing("a")).await.len(), 1);
    assert_eq!(provider.validate_ephemeral_config("fake_secret", thing("a")).await.len(), 1);
    assert_eq!(provider.configure(thing("c")).await, Diagnostics::new());

    let (state, _) = provider.upgrade_resource_state("fake_thing", 1, r#"{"name":"old"}"#).await;
    assert_eq!(state, Some(thing(r#"version 1: {"name":"old"}"#)));
    let request =
        ReadRequest { type_name: "fake_thing", current: thing("r"), private: Vec::new(), provider_meta: None };
    assert_eq!(provider.read_resource(request).await.state, thing("r"));
    let request = PlanRequest {
        type_name: "fake_thing",
        prior: thing("before"),
        proposed: thing("after"),
        config: thing("after"),
        prior_private: Vec::new(),
        provider_meta: None,
    };
    let planned = provider.plan_resource_change(request).await;
    assert_eq!((planned.planned, planned.planned_private), (thing("after"), b"planned".to_vec()));
    assert_eq!((planned.requires_replace, planned.legacy_type_system), (vec![Path::attrs(["name"])], v5));
    let applied = provider.apply_resource_change(apply("new")).await;
    assert_eq!((applied.state, applied.private), (thing("new"), b"private".to_vec()));
    let (imported, _) = provider.import_resource_state("fake_thing", "i-1").await;
    assert_eq!(imported[0].state, thing("i-1"));
    let request = MoveRequest {
        source_provider_address: "registry.terraform.io/hashicorp/null".into(),
        source_type_name: "null_resource".into(),
        source_schema_version: 0,
        source_state_json: "{}",
        source_private: Vec::new(),
        target_type_name: "fake_thing".into(),
    };
    assert_eq!(provider.move_resource_state(request).await.0.unwrap().0, thing("null_resource"));
    assert_eq!(provider.read_data_source("fake_data", thing("d"), None).await.0, Some(thing("d")));

    let opened = provider.open_ephemeral("fake_secret", thing("e")).await.0.unwrap();
    assert_eq!((&opened.result, opened.renew_at), (&thing("e"), Some(SystemTime::UNIX_EPOCH)));
    let ((private, _), _) = provider.renew_ephemeral("fake_secret", opened.private).await;
    assert_eq!(private, b"lease");
    assert_eq!(provider.close_ephemeral("fake_secret", private).await, Diagnostics::new());

    assert_eq!(provider.call_function("double", vec![Value::number(21)]).await, Ok(Value::number(42)));
    let error = provider.call_function("double", vec![Value::number(-1)]).await;
    assert_eq!(error, Err((Some(0), "too small".into())));
    provider.stop().await;
}

#[tokio::test]
async fn protocol_6_over_a_unix_socket() {
    let (_folder, provider) = start("v6").await;
    use_provider(&*provider, false).await;
    provider.close().await;
}

#[tokio::test]
async fn protocol_5_over_a_unix_socket() {
    let (_folder, provider) = start("v5").await;
    use_provider(&*provider, true).await;
    provider.close().await;
}

#[tokio::test]
async fn protocol_6_over_tcp() {
    let (_folder, provider) = start("tcp").await;
    use_provider(&*provider, false).await;
    provider.close().await;
}

#[tokio::test]
async fn protocol_6_over_mutual_tls() {
    let (_folder, provider) = start("tls").await;
    use_provider(&*provider, false).await;
    provider.close().await;
}

#[tokio::test]
async fn a_server_with_another_certificate_than_announced_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = open(&fake::executable(folder.path(), "tls impostor"), Options::default()).await.err().unwrap();
    assert!(text(&refused).contains("Connecting failed: invalid peer certificate"), "{}", text(&refused));
}

#[tokio::test]
async fn a_provider_is_not_asked_to_plan_a_destroy_if_it_does_not_want_to() {
    let (_folder, provider) = start("v6").await;
    let nothing = Value::Null(thing("").ty());
    let request = PlanRequest {
        type_name: "fake_thing",
        prior: thing("before"),
        proposed: nothing.clone(),
        config: nothing.clone(),
        prior_private: b"kept".to_vec(),
        provider_meta: None,
    };
    let planned = provider.plan_resource_change(request).await;
    assert_eq!((planned.planned, planned.planned_private), (nothing, b"kept".to_vec()));
}

#[tokio::test]
async fn a_provider_that_dies_fails_every_call_at_once_and_shows_its_panic() {
    let (_folder, provider) = start("die").await;
    let begun = Instant::now();
    let (one, two) =
        tokio::join!(provider.apply_resource_change(apply("one")), provider.apply_resource_change(apply("two")),);
    for response in [&one, &two] {
        let message = text(&response.diagnostics);
        assert!(message.contains("Plugin did not respond"), "{message}");
        assert!(message.contains("example/fake") && message.contains("ApplyResourceChange"), "{message}");
        assert!(message.contains("exit status: 3") && message.contains("panic: out of cheese"), "{message}");
        assert_eq!((&response.state, response.answered), (&Value::Null(thing("").ty()), false));
    }
    let never_sent = provider.apply_resource_change(apply("three")).await;
    assert!(never_sent.answered && text(&never_sent.diagnostics).contains("was not made"));
    let later = provider.configure(thing("c")).await;
    assert!(text(&later).contains("exit status: 3"), "{}", text(&later));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    provider.close().await;
}

#[tokio::test]
async fn a_provider_that_hangs_in_a_call_is_ended_by_close() {
    let (_folder, provider) = start("hang").await;
    let pending = {
        let provider = provider.clone();
        tokio::spawn(async move { provider.apply_resource_change(apply("x")).await })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    provider.close().await;
    let message = text(&pending.await.unwrap().diagnostics);
    assert!(message.contains("SIGKILL"), "{message}");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_an_error_and_keeps_what_was_known() {
    let (_folder, provider) = start("nonsense").await;
    let response = provider.apply_resource_change(apply("x")).await;
    assert!(text(&response.diagnostics).contains("new state that the provider example/fake returned"));
    assert_eq!((response.state, response.answered), (Value::Null(thing("").ty()), false));
}

#[tokio::test]
async fn unknown_types_are_named() {
    let (_folder, provider) = start("v6").await;
    let message = text(&provider.validate_resource_config("fake_nothing", thing("x")).await);
    assert!(message.contains(r#"The provider example/fake has no resource type "fake_nothing"."#), "{message}");
}

/// The message with which starting a script fails.
async fn failure_of(script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { patience: Duration::from_millis(500), ..Options::default() };
    let executable = fake::script(folder.path(), script);
    match open(&executable, options).await {
        Ok(_) => panic!("started"),
        Err(d) => text(&d),
    }
}

#[tokio::test]
async fn programs_that_are_no_plugins_are_explained() {
    let message = failure_of("echo This is not a provider\nsleep 10").await;
    assert!(message.contains("Failed to start provider") && message.contains("example/fake"), "{message}");
    assert!(message.contains("\"This is not a provider\""), "{message}");

    let message = failure_of("echo no license >&2\nexit 7").await;
    assert!(message.contains("exit status: 7") && message.contains("no license"), "{message}");

    let message = failure_of("exec sleep 10").await;
    assert!(message.contains("did not announce that it listens"), "{message}");

    let message = failure_of("exec 1>&-\nexec sleep 10").await;
    assert!(message.contains("listen"), "{message}");

    let message = failure_of("head -c 3000000 /dev/zero\nexec sleep 10").await;
    assert!(message.contains("not a provider plugin"), "{message}");

    let message = failure_of("echo '1|6|unix|/nowhere|grpc|'\nexec sleep 10").await;
    assert!(message.contains("Connecting failed"), "{message}");
}

#[tokio::test]
async fn files_that_cannot_be_executed_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("terraform-provider-x");
    let explain = async || text(&open(&path, Options::default()).await.err().unwrap());
    assert!(explain().await.contains("There is no such file"));
    std::fs::write(&path, "garbage").unwrap();
    assert!(explain().await.contains("may not be executed"));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(explain().await.contains("not a program for this kind of machine"));
}

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl LogSink for Recorder {
    fn level(&self) -> Option<Level> {
        Some(Level::Debug)
    }

    fn log(&self, e: &LogEvent<'_>) {
        self.0.lock().unwrap().push(format!("{} {}: {}", e.level.as_str(), e.provider, e.message));
    }
}

#[tokio::test]
async fn the_output_of_a_provider_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(Recorder::default());
    let options = Options { log: log.clone(), ..Options::default() };
    let provider = open(&fake::executable(folder.path(), "v6"), options).await.unwrap();
    provider.configure(thing("c")).await;
    provider.close().await;
    let log = log.0.lock().unwrap().join("\n");
    for line in
        ["INFO example/fake: configured by Terraform 1.11.4", "DEBUG example/fake: further output of the provider"]
    {
        assert!(log.contains(line), "{log}");
    }
    assert!(log.contains("ended with exit status: 0"), "{log}");
}

#[tokio::test]
async fn dropping_a_provider_ends_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(Recorder::default());
    let options = Options { log: log.clone(), ..Options::default() };
    drop(open(&fake::executable(folder.path(), "v6"), options).await.unwrap());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let log = log.0.lock().unwrap().join("\n");
    assert!(log.contains("ended with signal: 9 (SIGKILL)"), "{log}");
}

#[tokio::test]
async fn a_running_provider_is_used_and_left_running() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = tokio::process::Command::new(fake::executable(folder.path(), "v6"))
        .env("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
        .kill_on_drop(true)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let socket = folder.path().join("socket");
    while !socket.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let json = format!(
        r#"{{"example/fake":{{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,
            "Addr":{{"Network":"unix","String":{socket:?}}}}}}}"#
    );
    let host = Host::new(Options { running: parse_reattach(&json).unwrap(), ..Options::default() });
    assert!(host.is_running(&source()));
    let provider = host.open(&source(), std::path::Path::new("not needed")).await.unwrap();
    use_provider(&*provider, false).await;
    provider.close().await;
    assert_eq!(child.try_wait().unwrap(), None);
}

#[tokio::test]
async fn cached_schemas_need_no_process_until_a_call_does() {
    let folder = tempfile::tempdir().unwrap();
    let executable = fake::executable(folder.path(), "optional");
    let host = || Host::new(Options { schema_cache: Some(folder.path().join("cache")), ..Options::default() });
    let first = host().open(&source(), &executable).await.unwrap();
    first.close().await;
    while !std::fs::read_dir(folder.path().join("cache"))
        .unwrap()
        .any(|e| e.unwrap().path().extension().is_some_and(|e| e == "schema"))
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_file(folder.path().join("socket")).unwrap_or_default();

    let second = host().open(&source(), &executable).await.unwrap();
    assert!(second.resource_schema("fake_thing").is_some() && second.capabilities().get_provider_schema_optional);
    assert!(!folder.path().join("socket").exists());
    second.configure(thing("c")).await;
    assert!(folder.path().join("socket").exists());
    second.close().await;
    assert!(text(&second.configure(thing("c")).await).contains("after it had been closed"));
}
