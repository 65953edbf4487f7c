//! The parts of a run measured one by one, for whoever changes one of them: `cargo bench --bench suite [NAME]`. What a
//! user sees as a whole is measured by `cargo xtask bench`.

use async_trait::async_trait;
use divan::{Bencher, black_box, counter::ItemsCount};
use gpuform::addr;
use gpuform::cli::context::Style;
use gpuform::cli::view::{Next, plan as plan_view};
use gpuform::config::model::Config;
use gpuform::config::{self, Early, LoadOptions, ModuleRequest, ModuleResolver};
use gpuform::diag::{Diagnostics, Failure, Sources};
use gpuform::engine::events::NoEvents;
use gpuform::engine::plan::Plan;
use gpuform::engine::providers::{ProviderFactory, ProviderPool};
use gpuform::engine::runtime::Place;
use gpuform::engine::{self, PlanOptions, Session};
use gpuform::lang::parse;
use gpuform::lang::scope::EmptyScope;
use gpuform::plugin::Provider;
use gpuform::plugin::builtin::{Builtin, RemoteStates};
use gpuform::state::{State, file};
use gpuform_schema::schema::Block;
use gpuform_schema::{Str, Type, Value, json, msgpack};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

/// How many resources the inputs have.
const SIZE: usize = 1000;

/// Resources in chains of ten.
fn text() -> String {
    let block = |i: usize| {
        let input =
            if i.is_multiple_of(10) { "\"first\"".to_owned() } else { format!("terraform_data.r{}.output", i - 1) };
        format!("resource \"terraform_data\" \"r{i}\" {{\n  input = {input}\n}}\n\n")
    };
    (0..SIZE).map(block).collect()
}

#[divan::bench]
fn parser(bencher: Bencher) {
    let text = text();
    let file = Sources::default().add("main.tf", text.as_str());
    bencher.counter(divan::counter::BytesCount::of_str(&text)).bench(|| {
        let mut diags = Diagnostics::new();
        let body = parse::parse_file(black_box(&text), file, &mut diags);
        assert!(diags.is_empty());
        body
    });
}

#[divan::bench]
fn evaluator(bencher: Bencher) {
    let text = "{ for s in flatten([for r in range(10) : [for c in range(100) : format(\"%03d-%d\", r, c)]]) : s => upper(\"${s}!\") if length(s) > 1 }";
    let file = Sources::default().add("expression", text);
    let expr = parse::parse_expression(text, file, 0).expect("the expression is valid");
    bencher.counter(ItemsCount::new(SIZE)).bench(|| expr.eval(&EmptyScope::default()).expect("it has a value"));
}

struct NoModules;

impl ModuleResolver for NoModules {
    fn resolve(&self, _: &ModuleRequest) -> Result<PathBuf, Failure> {
        Ok(PathBuf::new())
    }
}

struct NoStates;

#[async_trait]
impl RemoteStates for NoStates {
    fn backend_schema(&self, _: &str) -> Option<Arc<Block>> {
        None
    }

    async fn outputs(&self, _: &str, _: Value, _: &str) -> Result<Option<BTreeMap<Str, Value>>, Diagnostics> {
        Ok(None)
    }
}

struct BuiltinOnly;

#[async_trait]
impl ProviderFactory for BuiltinOnly {
    async fn start(&self, _: &addr::Provider) -> Result<Arc<dyn Provider>, Diagnostics> {
        Ok(Arc::new(Builtin::new(Arc::new(NoStates))))
    }
}

/// A configuration loaded, and what it takes to plan it.
struct Loaded {
    config: Config,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Loaded {
    fn new() -> Loaded {
        let folder = tempfile::tempdir().expect("a folder for the configuration");
        std::fs::write(folder.path().join("main.tf"), text()).expect("the configuration is written");
        let version = "1.11.4".parse().expect("a version");
        let options =
            LoadOptions { modules: &NoModules, version, sources: Sources::default(), early: Early::default() };
        let (config, diags) = config::load(folder.path(), &options);
        assert!(diags.is_empty(), "{diags:?}");
        let session = Session {
            pool: Arc::new(ProviderPool::new(Arc::new(BuiltinOnly))),
            events: Arc::new(NoEvents),
            stop: CancellationToken::new(),
            parallelism: 10,
            place: Place::default(),
            substitutes: None,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        Loaded { config: config.expect("a configuration"), session, runtime }
    }

    fn plan(&self, state: &State) -> Plan {
        let options = PlanOptions { refresh: true, ..PlanOptions::default() };
        let (plan, diags) = self.runtime.block_on(engine::plan(&self.session, &self.config, state, &options));
        assert!(diags.is_empty(), "{diags:?}");
        plan.expect("a plan")
    }

    /// The state after applying everything.
    fn state(&self) -> State {
        let plan = self.plan(&State::new());
        self.runtime.block_on(engine::apply(&self.session, &self.config, plan, None)).state
    }
}

#[divan::bench]
fn planner_creates(bencher: Bencher) {
    let loaded = Loaded::new();
    let state = State::new();
    bencher.counter(ItemsCount::new(SIZE)).bench(|| loaded.plan(&state));
}

#[divan::bench]
fn planner_finds_no_changes(bencher: Bencher) {
    let loaded = Loaded::new();
    let state = loaded.state();
    bencher.counter(ItemsCount::new(SIZE)).bench(|| loaded.plan(&state));
}

#[divan::bench]
fn executor(bencher: Bencher) {
    let loaded = Loaded::new();
    bencher
        .counter(ItemsCount::new(SIZE))
        .with_inputs(|| loaded.plan(&State::new()))
        .bench_values(|plan| loaded.runtime.block_on(engine::apply(&loaded.session, &loaded.config, plan, None)).state);
}

#[divan::bench]
fn diff(bencher: Bencher) {
    let loaded = Loaded::new();
    let plan = loaded.plan(&State::new());
    let style = Style { color: true, width: 80, terminal: false };
    bencher.counter(ItemsCount::new(SIZE)).bench(|| plan_view::render(&plan, &loaded.config, style, Next::Unsaved));
}

#[divan::bench]
fn state_is_written(bencher: Bencher) {
    let state = Loaded::new().state();
    bencher.counter(ItemsCount::new(SIZE)).bench(|| file::to_bytes(&state).expect("the state is written"));
}

#[divan::bench]
fn state_is_read(bencher: Bencher) {
    let bytes = file::to_bytes(&Loaded::new().state()).expect("the state is written");
    bencher.counter(ItemsCount::new(SIZE)).bench(|| file::read(&bytes, "state").expect("the state is read"));
}

/// An object as a cloud's provider has it, with its type.
fn instance() -> (Value, Type) {
    let tags = Value::map(Type::String, (0..8).map(|i| (format!("tag{i}"), Value::string(format!("value {i}")))));
    let disk = |i: i64| {
        Value::object([
            ("size", Value::from(100 + i)),
            ("type", Value::from("gp3")),
            ("encrypted", Value::TRUE),
            ("id", Value::unknown(Type::String)),
        ])
    };
    let disks = Value::list(disk(0).ty(), (0..4).map(disk).collect());
    let texts = (0..30).map(|i| (format!("attribute{i:02}"), Value::string(format!("what attribute {i} holds"))));
    let value = Value::object(texts.chain([("tags".to_owned(), tags), ("disks".to_owned(), disks)]));
    let ty = value.ty();
    (value, ty)
}

#[divan::bench]
fn msgpack_encodes(bencher: Bencher) {
    let (value, ty) = instance();
    bencher.bench(|| msgpack::encode(&value, &ty).expect("the value is encoded"));
}

#[divan::bench]
fn msgpack_decodes(bencher: Bencher) {
    let (value, ty) = instance();
    let bytes = msgpack::encode(&value, &ty).expect("the value is encoded");
    bencher.bench(|| msgpack::decode(&bytes, &ty).expect("the value is decoded"));
}

#[divan::bench]
fn json_decodes(bencher: Bencher) {
    let (value, ty) = instance();
    let mut text = String::new();
    let known = value.transform(&mut |_, v| if v.is_known() { v } else { Value::from("known") });
    json::encode(&known, &ty, &mut text).expect("the value is encoded");
    bencher.bench(|| json::decode(&text, &ty, json::ExtraAttributes::Refuse).expect("the value is decoded"));
}
