//! The quickstep Python package.
