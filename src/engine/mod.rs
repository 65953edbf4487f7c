//! The engine: dependency graph, planner, execution graph, executor.
