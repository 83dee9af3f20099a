"""Compares Quickstep with its peers: the same files, the same SQL, one run.

Each engine lives in a process of its own (`worker`), told over a line protocol
(`protocol`) what to load and which query to run.  `runner` gives the engines
their turns, `answers` compares what they returned, `report` prints, `record`
keeps.  Nothing here knows how an engine works: that is `engines`.
"""
