//! The dependency graph as a picture: what is declared, stored or planned, and what needs what, named as in Terraform.
//! Only for people to look at; the engine works with `program` and `execution`.

use crate::addr::{AbsProviderConfig, ConfigResource, Mode, Module};
use crate::config::model::{Config, Variable};
use crate::diag::Diagnostics;
use crate::engine::plan::{Action, Plan, ResourceChange};
use crate::engine::program::{ModuleId, Node, Program};
use crate::engine::providers::ProviderPool;
use crate::lang::syntax::{Expr, Slot};
use crate::state::State;
use petgraph::graph::NodeIndex;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Which picture.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// What a plan does: declared objects, and stored ones that are declared no longer.
    Plan,
    /// What a plan to destroy everything does: stored objects.
    Destroy,
    /// What an apply does, as far as that is known without a plan: declared objects.
    Apply,
    /// What applying this plan does: declared objects and planned changes.
    Changes(&'a Plan),
}

/// How a vertex is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Box,
    Diamond,
    Note,
    /// Only its edges are drawn.
    Point,
}

/// One thing that is done.
#[derive(Clone, Debug)]
pub struct Vertex {
    pub name: String,
    pub label: String,
    pub shape: Shape,
    pub resource: Option<ConfigResource>,
}

/// Things and what they need.
#[derive(Default, Debug)]
pub struct Diagram {
    pub vertices: Vec<Vertex>,
    needs: Vec<BTreeSet<usize>>,
}

/// Draws a configuration. With `cycles` one that has cycles is drawn too, with all its edges.
pub async fn draw(
    config: &Config,
    pool: &ProviderPool,
    state: &State,
    kind: Kind<'_>,
    cycles: bool,
    diags: &mut Diagnostics,
) -> Option<Diagram> {
    // A plan to destroy does not evaluate the configuration, so cycles there do no harm.
    let program = if cycles || matches!(kind, Kind::Destroy) {
        Program::unchecked(config, pool, [], diags).await?
    } else {
        Program::build(config, pool, [], diags).await?
    };
    let mut drawing = Drawing::new(&program);
    match kind {
        Kind::Destroy => drawing.destroy_all(state),
        Kind::Plan => {
            drawing.declared(true);
            drawing.orphans(state);
        }
        Kind::Apply => drawing.declared(false),
        Kind::Changes(plan) => {
            drawing.declared(false);
            drawing.changes(plan);
            drawing.lost_outputs(&plan.previous_state);
        }
    }
    Some(drawing.finish())
}

impl Diagram {
    fn add(&mut self, name: String, label: String, shape: Shape) -> usize {
        self.vertices.push(Vertex { name, label, shape, resource: None });
        self.needs.push(BTreeSet::new());
        self.vertices.len() - 1
    }

    fn point(&mut self, name: String) -> usize {
        self.add(name.clone(), name, Shape::Point)
    }

    fn resource(&mut self, name: String, resource: ConfigResource) -> usize {
        let v = self.add(name, resource.to_string(), Shape::Box);
        if let Some(vertex) = self.vertices.get_mut(v) {
            vertex.resource = Some(resource);
        }
        v
    }

    fn need(&mut self, from: usize, to: usize) {
        if from != to
            && let Some(needs) = self.needs.get_mut(from)
        {
            needs.insert(to);
        }
    }

    /// The edges that do not follow from others, from what needs to what is needed.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        self.reduced(|_| true)
    }

    /// The edges between resources that do not follow from others, with everything between them left out.
    pub fn resource_edges(&self) -> Vec<(usize, usize)> {
        self.reduced(|v| v.resource.is_some())
    }

    /// The edges of the graph of the vertices to `keep`. For 64 targets at a time, `near` says for each vertex which of
    /// them it reaches with no kept vertex between, `far` which with one or more; what is near and not far is an edge.
    fn reduced(&self, keep: impl Fn(&Vertex) -> bool) -> Vec<(usize, usize)> {
        let kept: Vec<bool> = self.vertices.iter().map(keep).collect();
        let is_kept = |v: usize| kept.get(v) == Some(&true);
        let Some(order) = self.dependencies_first() else { return self.all_edges(is_kept) };
        let targets: Vec<usize> = (0..self.vertices.len()).filter(|v| is_kept(*v)).collect();
        let mut edges = Vec::new();
        for chunk in targets.chunks(64) {
            let bits: HashMap<usize, u64> = chunk.iter().zip(0..).map(|(v, i)| (*v, 1 << i)).collect();
            let mut reach = vec![(0_u64, 0_u64); self.vertices.len()];
            for &v in &order {
                let (mut near, mut far) = (0, 0);
                for w in self.needs.get(v).into_iter().flatten() {
                    let (w_near, w_far) = reach.get(*w).copied().unwrap_or_default();
                    if is_kept(*w) {
                        near |= bits.get(w).copied().unwrap_or(0);
                        far |= w_near | w_far;
                    } else {
                        near |= w_near;
                        far |= w_far;
                    }
                }
                if let Some(r) = reach.get_mut(v) {
                    *r = (near, far);
                }
                if is_kept(v) {
                    edges.extend(
                        chunk.iter().filter(|t| bits.get(*t).is_some_and(|b| near & !far & b != 0)).map(|t| (v, *t)),
                    );
                }
            }
        }
        edges
    }

    fn all_edges(&self, is_kept: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
        let from = |(v, needs): (usize, &BTreeSet<usize>)| needs.iter().map(move |w| (v, *w)).collect::<Vec<_>>();
        self.needs.iter().enumerate().flat_map(from).filter(|(v, w)| is_kept(*v) && is_kept(*w)).collect()
    }

    /// The vertices, each after what it needs; `None` if there is a cycle.
    fn dependencies_first(&self) -> Option<Vec<usize>> {
        let mut waiting: Vec<usize> = self.needs.iter().map(BTreeSet::len).collect();
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); self.needs.len()];
        for (v, needs) in self.needs.iter().enumerate() {
            for w in needs {
                dependents.get_mut(*w)?.push(v);
            }
        }
        let mut order: Vec<usize> = (0..waiting.len()).filter(|v| waiting.get(*v) == Some(&0)).collect();
        let mut next = 0;
        while let Some(v) = order.get(next) {
            for d in dependents.get(*v)?.clone() {
                let count = waiting.get_mut(d)?;
                *count -= 1;
                if *count == 0 {
                    order.push(d);
                }
            }
            next += 1;
        }
        (order.len() == self.needs.len()).then_some(order)
    }
}

/// A diagram while it is made.
struct Drawing<'a> {
    program: &'a Program,
    diagram: Diagram,
    /// What those that refer to a node of the program need.
    vertices: HashMap<NodeIndex, usize>,
    /// The values of variables with conditions, whose vertex in `vertices` is the check of the conditions.
    unchecked: HashMap<NodeIndex, usize>,
    /// The begin and the end of each provider configuration that is used.
    providers: BTreeMap<AbsProviderConfig, (usize, usize)>,
}

impl<'a> Drawing<'a> {
    fn new(program: &'a Program) -> Drawing<'a> {
        Drawing {
            program,
            diagram: Diagram::default(),
            vertices: HashMap::new(),
            unchecked: HashMap::new(),
            providers: BTreeMap::new(),
        }
    }

    /// Adds the vertex `root`, which needs all that nothing else needs.
    fn finish(mut self) -> Diagram {
        let needed: BTreeSet<usize> = self.diagram.needs.iter().flatten().copied().collect();
        let last: Vec<usize> = (0..self.diagram.vertices.len()).filter(|v| !needed.contains(v)).collect();
        let root = self.diagram.point("root".into());
        last.into_iter().for_each(|v| self.diagram.need(root, v));
        self.diagram
    }

    /// Every declared object. With `reports`, results of checks are collected before the checks are made.
    fn declared(&mut self, reports: bool) {
        let nodes: Vec<NodeIndex> = self.program.graph.node_indices().collect();
        let mut inside: HashMap<ModuleId, Vec<usize>> = HashMap::new();
        for n in &nodes {
            if let Some((v, module)) = self.vertex(*n) {
                inside.entry(module).or_default().push(v);
            }
        }
        for n in &nodes {
            self.inputs(*n);
        }
        if reports {
            self.reports(&mut inside);
        }
        for (module, vertices) in inside {
            if let Some(close) = self.vertices.get(&self.program.close_index(module)).copied() {
                vertices.into_iter().for_each(|v| self.diagram.need(close, v));
            }
        }
    }

    /// Adds the vertex of a node, unless it comes with others; the module that it is in as well.
    fn vertex(&mut self, n: NodeIndex) -> Option<(usize, ModuleId)> {
        let node = *self.program.graph.node_weight(n)?;
        let described = self.program.describe(node);
        let name = described.strip_suffix(" (expand)").unwrap_or(&described).to_owned();
        let (v, module) = match node {
            Node::Close(0) | Node::Provider(_) => return None,
            Node::Variable(m, s) => (self.variable(n, m, s, name), m),
            Node::Resource(m, s) => {
                (self.diagram.resource(format!("{name} (expand)"), self.program.config_resource(m, s)), m)
            }
            Node::Local(m, _) | Node::Output(m, _) | Node::Check(m, _) | Node::Call(m, _) => {
                (self.diagram.point(format!("{name} (expand)")), m)
            }
            Node::Close(m) => {
                (self.diagram.point(name), self.program.modules.get(m).and_then(|m| m.parent).map_or(0, |(p, _)| p))
            }
        };
        self.vertices.insert(n, v);
        Some((v, module))
    }

    /// A variable with conditions has a vertex for its value and one for the check, which those that use the variable
    /// need.
    fn variable(&mut self, n: NodeIndex, m: ModuleId, s: Slot, name: String) -> usize {
        let check = format!("{name} (validation)");
        let value = if m == 0 {
            self.diagram.add(name.clone(), name, Shape::Note)
        } else {
            self.diagram.point(format!("{name} (expand)"))
        };
        if self.declaration(m, s).is_none_or(|v| v.validations.is_empty()) {
            return value;
        }
        self.unchecked.insert(n, value);
        let check = self.diagram.point(check);
        self.diagram.need(check, value);
        check
    }

    fn declaration(&self, m: ModuleId, s: Slot) -> Option<&'a Variable> {
        self.program.modules.get(m)?.module().variables.get_index(s as usize).map(|(_, v)| v)
    }

    /// Adds the edges from a node to what it needs.
    fn inputs(&mut self, n: NodeIndex) {
        let Some(node) = self.program.graph.node_weight(n).copied() else { return };
        let Some(v) = self.vertices.get(&n).copied() else { return };
        if let Node::Variable(m, s) = node
            && let Some(value) = self.unchecked.get(&n).copied()
        {
            return self.checked_variable(n, m, s, value, v);
        }
        if let Node::Resource(m, s) = node
            && let Some(provider) = self.program.providers.get(self.program.resource_meta(m, s).provider)
        {
            self.provided(v, &provider.addr);
        }
        for i in self.program.graph.neighbors_directed(n, petgraph::Direction::Incoming) {
            self.need_node(v, i);
        }
    }

    fn need_node(&mut self, v: usize, n: NodeIndex) {
        if let Some(w) = self.vertices.get(&n).copied() {
            self.diagram.need(v, w);
        }
    }

    /// The edges from a variable's value to what the call of its module passes, and from the check to what the
    /// conditions refer to.
    fn checked_variable(&mut self, n: NodeIndex, m: ModuleId, s: Slot, value: usize, check: usize) {
        let (Some(variable), Some(meta)) = (self.declaration(m, s), self.program.modules.get(m)) else { return };
        let conditions = variable.validations.iter().flat_map(|v| [&v.condition, &v.error_message]);
        for i in self.referred(m, conditions).into_iter().filter(|i| *i != n) {
            self.need_node(check, i);
        }
        let Some((parent, call)) = meta.parent else { return };
        self.need_node(value, self.program.call_index(parent, call));
        let call = self.program.modules.get(parent).and_then(|p| p.module().calls.get_index(call as usize));
        let input = call.and_then(|(_, c)| c.inputs.get(&variable.name)).map(|(e, _)| e);
        for i in self.referred(parent, input) {
            self.need_node(value, i);
        }
    }

    /// The nodes that expressions in a module refer to.
    fn referred<'e>(&self, m: ModuleId, expressions: impl IntoIterator<Item = &'e Expr>) -> BTreeSet<NodeIndex> {
        let mut found = BTreeSet::new();
        for e in expressions {
            e.visit_traversals(&mut |t| {
                self.program.nodes_of(m, t, &mut |i| {
                    found.insert(i);
                });
            });
        }
        found
    }

    /// Makes `v` need a provider configuration, and the end of that wait for `v`.
    fn provided(&mut self, v: usize, addr: &AbsProviderConfig) {
        let (begin, end) = match self.providers.get(addr) {
            Some(both) => *both,
            None => self.provider(addr),
        };
        self.diagram.need(v, begin);
        self.diagram.need(end, v);
    }

    fn provider(&mut self, addr: &AbsProviderConfig) -> (usize, usize) {
        let name = addr.to_string();
        let begin = self.diagram.add(name.clone(), name.clone(), Shape::Diamond);
        let end = self.diagram.point(format!("{name} (close)"));
        self.diagram.need(end, begin);
        self.providers.insert(addr.clone(), (begin, end));
        let declared = self.program.providers.iter().position(|p| p.addr == *addr);
        if let Some(n) = declared.map(|id| self.program.provider_index(id)) {
            for i in self.program.graph.neighbors_directed(n, petgraph::Direction::Incoming) {
                self.need_node(begin, i);
            }
        }
        (begin, end)
    }

    /// A check's result is prepared before it and before its data source.
    fn reports(&mut self, inside: &mut HashMap<ModuleId, Vec<usize>>) {
        for (m, meta) in self.program.modules.iter().enumerate() {
            for (s, check) in meta.module().checks.values().enumerate() {
                let node = Node::Check(m, s as Slot);
                let report = self.diagram.point(format!("{} (report)", self.program.describe(node)));
                inside.entry(m).or_default().push(report);
                let data = check.data.map(|d| meta.resource_index(d));
                for v in [Some(self.program.check_index(m, s as Slot)), data].into_iter().flatten() {
                    if let Some(v) = self.vertices.get(&v).copied() {
                        self.diagram.need(v, report);
                    }
                }
                let call = meta.parent.map(|(parent, call)| self.program.call_index(parent, call));
                if let Some(call) = call.and_then(|c| self.vertices.get(&c).copied()) {
                    self.diagram.need(report, call);
                }
            }
        }
    }

    /// Stored objects, modules and outputs that are declared no longer.
    fn orphans(&mut self, state: &State) {
        let mut modules = BTreeSet::new();
        for i in state.instances() {
            let addr = i.addr();
            let config = addr.config();
            if config.resource.mode != Mode::Managed || self.program.find_resource(&config).is_some() {
                continue;
            }
            modules.insert(config.module.clone());
            let v = self.diagram.resource(format!("{addr} (orphan)"), config);
            if let Some(resource) = state.resource(&addr.abs_resource()) {
                self.provided(v, &resource.provider);
            }
        }
        self.lost_modules(modules);
        self.lost_outputs(state);
    }

    /// The ends of those of the modules, and of the modules around them, that are called no longer.
    fn lost_modules(&mut self, of: BTreeSet<Module>) {
        let mut lost = BTreeSet::new();
        for module in of {
            let mut next = Some(module);
            while let Some(m) = next.filter(|m| !self.program.module_ids.contains_key(m)) {
                next = m.parent();
                lost.insert(m);
            }
        }
        for module in lost {
            self.diagram.point(format!("{module} (close)"));
        }
    }

    fn lost_outputs(&mut self, state: &State) {
        let declared = self.program.modules.first().map(|m| m.module().clone());
        for name in state.outputs.keys() {
            if declared.as_ref().is_none_or(|m| !m.outputs.contains_key(name)) {
                let name = format!("output.{name} (destroy)");
                self.diagram.add(name.clone(), name, Shape::Note);
            }
        }
    }

    /// Stored objects, dependents before what they depend on, and the outputs of the root module.
    fn destroy_all(&mut self, state: &State) {
        let mut by_resource: BTreeMap<ConfigResource, Vec<usize>> = BTreeMap::new();
        let mut dependencies = Vec::new();
        for i in state.instances() {
            let addr = i.addr();
            let config = addr.config();
            let v = self.diagram.resource(format!("{config} (destroy)"), config.clone());
            if let Some(resource) = state.resource(&addr.abs_resource()) {
                self.provided(v, &resource.provider);
            }
            by_resource.entry(config).or_default().push(v);
            let stored = state.get(&addr).map(|o| o.dependencies.clone()).unwrap_or_default();
            dependencies.extend(stored.iter().map(|d| (v, d.clone())));
        }
        self.destroyed_after(&by_resource, dependencies);
        if let Some(root) = self.program.modules.first() {
            for name in root.module().outputs.keys() {
                self.diagram.point(format!("output.{name} (expand)"));
            }
        }
        self.lost_outputs(state);
    }

    /// What is depended on is destroyed after its dependents.
    fn destroyed_after(
        &mut self,
        destroyed: &BTreeMap<ConfigResource, Vec<usize>>,
        dependencies: Vec<(usize, ConfigResource)>,
    ) {
        for (dependent, on) in dependencies {
            for v in destroyed.get(&on).into_iter().flatten() {
                self.diagram.need(*v, dependent);
            }
        }
    }

    /// Planned changes, beside the resources that they belong to.
    fn changes(&mut self, plan: &Plan) {
        let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
        for (v, needs) in self.diagram.needs.iter().enumerate() {
            needs.iter().for_each(|w| users.entry(*w).or_default().push(v));
        }
        let mut made_of: BTreeMap<ConfigResource, Vec<usize>> = BTreeMap::new();
        let mut destroyed_of: BTreeMap<ConfigResource, Vec<usize>> = BTreeMap::new();
        let mut dependencies = Vec::new();
        for change in &plan.changes {
            let config = change.addr.config();
            let made = self.made(change, &users);
            made_of.entry(config.clone()).or_default().extend(made);
            let Some(v) = self.destroyed(change) else { continue };
            let stored = plan.prior_state.get(&change.addr);
            let last = change.action == Action::CreateThenDelete || stored.is_some_and(|o| o.create_before_destroy);
            if let Some(made) = made {
                self.in_order(v, made, last);
            }
            destroyed_of.entry(config).or_default().push(v);
            let on = stored.map(|o| o.dependencies.clone()).unwrap_or_default();
            dependencies.extend(on.iter().map(|d| (v, last, d.clone())));
        }
        for (v, last, on) in &dependencies {
            for made in made_of.get(on).into_iter().flatten() {
                self.in_order(*v, *made, *last);
            }
        }
        self.destroyed_after(&destroyed_of, dependencies.into_iter().map(|(v, _, on)| (v, on)).collect());
        self.lost_modules(plan.changes.iter().map(|c| c.addr.config().module).collect());
    }

    /// Objects are destroyed before those that they depend on are changed, or `last`.
    fn in_order(&mut self, destroyed: usize, made: usize, last: bool) {
        let (later, first) = if last { (destroyed, made) } else { (made, destroyed) };
        self.diagram.need(later, first);
    }

    /// The vertex of an object that is created, changed or read; what needs the resource needs it as well.
    fn made(&mut self, change: &ResourceChange, users: &HashMap<usize, Vec<usize>>) -> Option<usize> {
        if matches!(change.action, Action::NoOp | Action::Delete | Action::Forget) {
            return None;
        }
        let v = self.diagram.resource(change.addr.to_string(), change.addr.config());
        self.provided(v, &change.provider);
        let (m, s) = self.program.find_resource(&change.addr.config())?;
        let expand = *self.vertices.get(&self.program.modules.get(m)?.resource_index(s))?;
        self.diagram.need(v, expand);
        for user in users.get(&expand).into_iter().flatten() {
            self.diagram.need(*user, v);
        }
        Some(v)
    }

    fn destroyed(&mut self, change: &ResourceChange) -> Option<usize> {
        let what = match (change.action, &change.deposed) {
            (Action::Delete, Some(key)) => format!("destroy deposed {key}"),
            (Action::Delete, None) => "destroy".into(),
            (action, _) if action.is_replace() => "destroy".into(),
            (Action::Forget, _) => "forget".into(),
            _ => return None,
        };
        let v = self.diagram.resource(format!("{} ({what})", change.addr), change.addr.config());
        self.provided(v, &change.provider);
        Some(v)
    }
}
