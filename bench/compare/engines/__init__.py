"""The engines by name, imported only in the process that runs them.

An engine's own package may cost a second to import or fail to import at all;
neither may touch the process that measures.
"""

from __future__ import annotations

import importlib

from compare.engines.base import Engine

KNOWN_ENGINES: dict[str, str] = {
    "quickstep": "compare.engines.quickstep:QuickstepEngine",
    "duckdb": "compare.engines.duckdb:DuckDbEngine",
    "hyper": "compare.engines.hyper:HyperEngine",
    "datafusion": "compare.engines.datafusion:DataFusionEngine",
    "chdb": "compare.engines.chdb:ClickHouseEngine",
    "polars": "compare.engines.polars:PolarsEngine",
    "polars-float64": "compare.engines.polars:FloatPolarsEngine",
    "monetdb": "compare.engines.monetdb:MonetDbEngine",
    "postgres": "compare.engines.postgres:PostgresEngine",
    "spark": "compare.engines.spark:SparkEngine",
}


def create_engine(name: str) -> Engine:
    """Makes the engine called `name`, or the class at `module:Class`."""
    location = KNOWN_ENGINES.get(name, name)
    module_name, separator, class_name = location.partition(":")
    if not separator:
        known = ", ".join(KNOWN_ENGINES)
        raise ValueError(f"unknown engine {name!r}; known engines: {known}")
    engine_class = getattr(importlib.import_module(module_name), class_name)
    engine: Engine = engine_class()
    return engine
