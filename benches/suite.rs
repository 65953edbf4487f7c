//! The parts of a run measured one by one, for whoever changes one of them: `cargo bench --bench suite [NAME]`. What a
//! user sees as a whole is measured by `cargo xtask bench`.

use async_trait::async_trait;
use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
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
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How many resources the inputs have.
const SIZE: usize = 1000;

criterion_group!(lang, parser, evaluator);
criterion_group!(work, planner, executor, diff);
criterion_group!(codecs, state, msgpack_codec, json_codec);
criterion_main!(lang, work, codecs);

/// Measurements of a part that handles [`SIZE`] things at once: the report has the things per second.
fn sized<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(SIZE as u64)).sample_size(20);
    group
}

/// Resources in chains of ten.
fn text() -> String {
    let block = |i: usize| {
        let input =
            if i.is_multiple_of(10) { "\"first\"".to_owned() } else { format!("terraform_data.r{}.output", i - 1) };
        format!("resource \"terraform_data\" \"r{i}\" {{\n  input = {input}\n}}\n\n")
    };
    (0..SIZE).map(block).collect()
}

fn parser(criterion: &mut Criterion) {
    let text = text();
    let file = Sources::default().add("main.tf", text.as_str());
    let mut group = criterion.benchmark_group("parser");
    group.throughput(Throughput::Bytes(text.len() as u64)).bench_function("file", |bencher| {
        bencher.iter(|| {
            let mut diags = Diagnostics::new();
            let body = parse::parse_file(black_box(&text), file, &mut diags);
            assert!(diags.is_empty());
            body
        });
    });
}

fn evaluator(criterion: &mut Criterion) {
    let text = "{ for s in flatten([for r in range(10) : [for c in range(100) : format(\"%03d-%d\", r, c)]]) : s => upper(\"${s}!\") if length(s) > 1 }";
    let file = Sources::default().add("expression", text);
    let expr = parse::parse_expression(text, file, 0).expect("the expression is valid");
    sized(criterion, "evaluator").bench_function("expression", |bencher| {
        bencher.iter(|| expr.eval(&EmptyScope::default()).expect("it has a value"));
    });
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

fn planner(criterion: &mut Criterion) {
    let loaded = Loaded::new();
    let (nothing, everything) = (State::new(), loaded.state());
    let mut group = sized(criterion, "planner");
    group.bench_function("creates", |bencher| bencher.iter(|| loaded.plan(&nothing)));
    group.bench_function("finds no changes", |bencher| bencher.iter(|| loaded.plan(&everything)));
}

fn executor(criterion: &mut Criterion) {
    let loaded = Loaded::new();
    let apply = |plan| loaded.runtime.block_on(engine::apply(&loaded.session, &loaded.config, plan, None)).state;
    sized(criterion, "executor").bench_function("creates", |bencher| {
        bencher.iter_batched(|| loaded.plan(&State::new()), apply, BatchSize::LargeInput);
    });
}

fn diff(criterion: &mut Criterion) {
    let loaded = Loaded::new();
    let plan = loaded.plan(&State::new());
    let style = Style { color: true, width: 80, terminal: false };
    sized(criterion, "diff").bench_function("shows creates", |bencher| {
        bencher.iter(|| plan_view::render(&plan, &loaded.config, style, Next::Unsaved));
    });
}

fn state(criterion: &mut Criterion) {
    let state = Loaded::new().state();
    let bytes = file::to_bytes(&state).expect("the state is written");
    let mut group = sized(criterion, "state");
    group.bench_function("is written", |bencher| {
        bencher.iter(|| file::to_bytes(&state).expect("the state is written"));
    });
    group.bench_function("is read", |bencher| {
        bencher.iter(|| file::read(&bytes, "state").expect("the state is read"));
    });
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

fn msgpack_codec(criterion: &mut Criterion) {
    let (value, ty) = instance();
    let bytes = msgpack::encode(&value, &ty).expect("the value is encoded");
    let mut group = criterion.benchmark_group("msgpack");
    group.bench_function("encodes", |bencher| {
        bencher.iter(|| msgpack::encode(&value, &ty).expect("the value is encoded"));
    });
    group.bench_function("decodes", |bencher| {
        bencher.iter(|| msgpack::decode(&bytes, &ty).expect("the value is decoded"));
    });
}

fn json_codec(criterion: &mut Criterion) {
    let (value, ty) = instance();
    let known = value.transform(&mut |_, v| if v.is_known() { v } else { Value::from("known") });
    let mut text = String::new();
    json::encode(&known, &ty, &mut text).expect("the value is encoded");
    criterion.benchmark_group("json").bench_function("decodes", |bencher| {
        bencher.iter(|| json::decode(&text, &ty, json::ExtraAttributes::Refuse).expect("the value is decoded"));
    });
}
