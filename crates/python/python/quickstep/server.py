"""A database of this process as a server for others: psql, drivers of PostgreSQL, browsers."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import classified

if TYPE_CHECKING:
    from .connection import Connection

# Until they are stopped: a server does not end because nobody holds its handle.
_running: dict[int, Server] = {}


class Server:
    """A database of this process, reachable on loopback until `stop`, or as `with quickstep.serve(con) as server:`.

    The program goes on using the database. What is committed on one side is seen on the other; data frames that are
    registered, settings and temporary tables are the session's own.
    """

    def __init__(self, native: _native.LocalServer) -> None:
        self._native = native
        _running[id(self)] = self

    @property
    def url(self) -> str:
        """What to open: the page in a browser, with its token; without HTTP what PostgreSQL's clients connect with."""
        return self._native.page or self._native.dsn

    @property
    def dsn(self) -> str:
        """What PostgreSQL's clients connect with, password included: `psycopg.connect(server.dsn)`."""
        return self._native.dsn

    @property
    def port(self) -> int:
        """The port of PostgreSQL's protocol."""
        return self._native.port

    @property
    def http_port(self) -> int | None:
        """The port of HTTP and the page; None without."""
        return self._native.http_port

    @property
    def user(self) -> str:
        """The role that clients come as."""
        return self._native.user

    @property
    def password(self) -> str | None:
        """That role's password as long as this server runs; None where none is asked for."""
        return self._native.password

    @property
    def token(self) -> str | None:
        """What HTTP's clients send: `Authorization: Bearer` and this. None without HTTP."""
        return self._native.token

    @property
    def connections(self) -> int:
        """How many connections of PostgreSQL's protocol and of HTTP there are."""
        return self._native.connections()

    @property
    def running(self) -> bool:
        """Whether it serves."""
        return self._native.is_running()

    def stop(self) -> None:
        """Lets nobody in any more, waits for statements of clients that run, 30 seconds at most (an interrupt cancels
        them at once), and ends. The database stays open for the program. Again, it does nothing."""
        _running.pop(id(self), None)
        with classified():
            self._native.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        if not self.running:
            return "<quickstep.Server, stopped>"
        http = f", http://127.0.0.1:{self.http_port}/" if self.http_port is not None else ""
        return f"<quickstep.Server at 127.0.0.1:{self.port}{http}>"


def serve(
    connection: Connection | None = None,
    *,
    port: int | None = None,
    http: bool = True,
    http_port: int | None = None,
    password: str | None = None,
    trust: bool = False,
    socket: str | os.PathLike[str] | None = None,
) -> Server:
    """Serves a connection's database on loopback, by PostgreSQL's protocol, HTTP and with the page, while the program goes
    on using it; without a connection that of `quickstep.sql`.

    port: of PostgreSQL's protocol; without it 5432 or the next one that is free. 0 is any that is free.
    http: whether to serve HTTP and the page, too.
    http_port: their port; without it 8080 or the next one that is free.
    password: the superuser's, as long as the server runs; without it one is made up, see `Server.password`.
    trust: whether who reaches loopback is believed without a password. HTTP wants its token all the same.
    socket: a folder for a Unix socket.
    """
    if connection is None:
        from . import default_connection

        connection = default_connection()
    connection._check_open()
    folder = None if socket is None else os.fsdecode(socket)
    with classified():
        return Server(connection._native.serve(port, http, http_port, password, trust, folder))


@atexit.register
def _stop_all() -> None:
    for server in list(_running.values()):
        # One that was started before a fork runs in the parent.
        if server.running:
            server.stop()
