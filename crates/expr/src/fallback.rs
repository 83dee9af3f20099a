//! DataFusion's scalar function library, called by name over vectors.

/// True when the library knows a scalar function of that name (or alias).
pub fn function_exists(name: &str) -> bool {
    datafusion_functions::all_default_functions()
        .iter()
        .any(|f| f.name() == name || f.aliases().iter().any(|a| a == name))
}
