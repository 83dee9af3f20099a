"""Quickstep: an analytic SQL engine in your process.

>>> import quickstep
>>> con = quickstep.connect()
>>> con.sql("SELECT 40 + 2 AS answer").fetchall()
[(42,)]
"""

from ._native import Connection, Cursor, Error, Result, __version__, connect

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

__all__ = ["Connection", "Cursor", "Error", "Result", "__version__", "connect", "apilevel", "threadsafety", "paramstyle"]
