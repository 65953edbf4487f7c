//! Compares answers, makes what differs small, and says it all at the end.

use crate::batch::{Facts, Stage, evaluate};
use crate::configurations::Configuration;
use crate::deployment::deploy;
use crate::known;
use crate::program::Program;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What was compared, and what differed.
pub struct Report {
    compared: usize,
    accepted: usize,
    /// Known differences by their reason.
    known: BTreeMap<&'static str, usize>,
    differences: usize,
    /// How many more differences are made small.
    room: usize,
}

impl Report {
    pub fn new(room: usize) -> Report {
        Report { compared: 0, accepted: 0, known: BTreeMap::new(), differences: 0, room }
    }

    /// Compares the answers to expressions, and tells at once what differs.
    pub fn compare_expressions(&mut self, trees: Vec<Tree>, until: Stage) {
        let both = |trees: &[Tree]| {
            let texts: Vec<String> = trees.iter().map(Tree::to_string).collect();
            pairs(|program| evaluate(program, &texts, until))
        };
        self.compare(trees, both, Tree::reductions, Tree::to_string);
    }

    /// Compares what becomes of configurations, and tells at once what differs.
    pub fn compare_configurations(&mut self, configurations: Vec<Configuration>) {
        let both = |made: &[Configuration]| pairs(|program| deploy(program, made));
        self.compare(configurations, both, Configuration::reductions, Configuration::story);
    }

    fn compare<C: Clone>(
        &mut self,
        cases: Vec<C>,
        both: impl Fn(&[C]) -> Vec<(Facts, Facts)>,
        reductions: impl Fn(&C) -> Vec<C>,
        text: impl Fn(&C) -> String,
    ) {
        let answers = both(&cases);
        self.compared += cases.len();
        for (case, (ours, theirs)) in cases.into_iter().zip(answers) {
            self.accepted += usize::from(theirs.get("verdict").is_some_and(|v| v == "accepted"));
            if ours == theirs {
                continue;
            }
            if let Some(reason) = known::reason(&text(&case), &ours, &theirs) {
                *self.known.entry(reason).or_default() += 1;
                continue;
            }
            self.differences += 1;
            let mut found = Difference { case, ours, theirs };
            if self.room > 0 {
                self.room -= 1;
                while found.reduce(&both, &reductions, &text) {}
            }
            println!("--- {}\n{}", text(&found.case), tell(&found.ours, &found.theirs));
        }
    }

    /// Fails when anything differed.
    pub fn finish(self) {
        println!("{} compared, {} of them accepted, {} differences", self.compared, self.accepted, self.differences);
        self.known.iter().for_each(|(reason, count)| println!("{count} known: {reason}"));
        assert!(self.differences == 0, "{} differences: see above", self.differences);
    }
}

/// What both programs answer, case by case.
fn pairs(answers: impl Fn(Program) -> Vec<Facts>) -> Vec<(Facts, Facts)> {
    answers(Program::Gpuform).into_iter().zip(answers(Program::Terraform)).collect()
}

/// The ways in which answers differ.
fn differing(ours: &Facts, theirs: &Facts) -> Vec<&'static str> {
    let names = ours.keys().chain(theirs.keys()).copied().collect::<std::collections::BTreeSet<_>>();
    names.into_iter().filter(|n| ours.get(n) != theirs.get(n)).collect()
}

/// A case with two answers.
struct Difference<C> {
    case: C,
    ours: Facts,
    theirs: Facts,
}

impl<C: Clone> Difference<C> {
    /// Goes on with the first smaller case that still differs in this way, if there is one.
    fn reduce(
        &mut self,
        both: impl Fn(&[C]) -> Vec<(Facts, Facts)>,
        reductions: impl Fn(&C) -> Vec<C>,
        text: impl Fn(&C) -> String,
    ) -> bool {
        let ways = differing(&self.ours, &self.theirs);
        let same = |(ours, theirs): &(Facts, Facts)| {
            let verdicts =
                [(ours, &self.ours), (theirs, &self.theirs)].iter().all(|(a, b)| a.get("verdict") == b.get("verdict"));
            verdicts && differing(ours, theirs).iter().any(|way| ways.contains(way))
        };
        for candidates in reductions(&self.case).chunks(24) {
            let answers = both(candidates);
            let unmeant = |i: &usize| known::reason(&text(&candidates[*i]), &answers[*i].0, &answers[*i].1).is_none();
            if let Some(i) = (0..answers.len()).find(|i| same(&answers[*i]) && unmeant(i)) {
                (self.ours, self.theirs) = answers[i].clone();
                self.case = candidates[i].clone();
                return true;
            }
        }
        false
    }
}

/// What differs, line by line where the answers are long.
fn tell(ours: &Facts, theirs: &Facts) -> String {
    let mut text = String::new();
    for name in differing(ours, theirs) {
        let of = |facts: &Facts| facts.get(name).map_or("nothing".to_owned(), Clone::clone);
        let (ours, theirs) = (of(ours), of(theirs));
        let _ = writeln!(text, "  {name} (- terraform, + gpuform)");
        let diff = similar::TextDiff::from_lines(&theirs, &ours);
        for line in diff.unified_diff().context_radius(2).to_string().lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
