//! Plan to plan: rules, join order, estimates, costs; logical plan to physical plan.
#![forbid(unsafe_code)]
