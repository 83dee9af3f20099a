"""A small PostgreSQL client: the start-up packet and the simple query protocol.

Why it exists: the expected answers of this corpus come from PostgreSQL, and the
script that fetches them must run wherever Python 3.11 and a PostgreSQL 15 server
are installed, with no driver package. It speaks protocol 3.0 over a Unix socket
with trust authentication, text results only.

What it leaves to others: starting a server (private_cluster.py) and the meaning
of the values (regenerate.py).
"""

import socket
import struct


class PostgresError(Exception):
    """An error the server reported: its SQLSTATE and its primary message."""

    def __init__(self, sqlstate, message):
        super().__init__(f"{sqlstate}: {message}")
        self.sqlstate = sqlstate
        self.message = message


class Connection:
    """One session. `execute` runs one statement and returns (type oids, rows)."""

    def __init__(self, socket_folder, port, user, database):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(f"{socket_folder}/.s.PGSQL.{port}")
        self._reader = self._socket.makefile("rb")
        fields = ["user", user, "database", database, "client_encoding", "UTF8"]
        body = b"".join(field.encode() + b"\0" for field in fields) + b"\0"
        self._socket.sendall(struct.pack("!ii", 8 + len(body), 196608) + body)
        self._answer()

    def close(self):
        self._socket.sendall(b"X" + struct.pack("!i", 4))
        self._reader.close()
        self._socket.close()

    def execute(self, sql):
        body = sql.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", 4 + len(body)) + body)
        return self._answer()

    def _message(self):
        head = self._reader.read(5)
        if len(head) < 5:
            raise ConnectionError("the server closed the connection")
        length = struct.unpack("!i", head[1:])[0] - 4
        return head[:1], self._reader.read(length)

    def _answer(self):
        """Reads messages until the server is ready again; raises what it reported."""
        oids, rows, error = [], [], None
        while True:
            kind, body = self._message()
            if kind == b"Z":
                if error is not None:
                    raise error
                return oids, rows
            if kind == b"E":
                error = _read_error(body)
            elif kind == b"T":
                oids, rows = _read_description(body), []
            elif kind == b"D":
                rows.append(_read_row(body))
            elif kind == b"R" and struct.unpack("!i", body[:4])[0] != 0:
                raise ConnectionError("only trust authentication is spoken here")


def _read_error(body):
    fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
    return PostgresError(fields.get(b"C", "XX000"), fields.get(b"M", "no message"))


def _read_description(body):
    """Type oids of the result columns, from a RowDescription message."""
    (count,), position, oids = struct.unpack("!h", body[:2]), 2, []
    for _ in range(count):
        # A name ends in a zero byte; then table oid (4), column (2), type oid (4),
        # size (2), modifier (4), format (2).
        position = body.index(b"\0", position) + 1
        oids.append(struct.unpack("!I", body[position + 6 : position + 10])[0])
        position += 18
    return oids


def _read_row(body):
    """The values of a DataRow message as strings, NULL as None."""
    (count,), position, values = struct.unpack("!h", body[:2]), 2, []
    for _ in range(count):
        (length,) = struct.unpack("!i", body[position : position + 4])
        position += 4
        if length < 0:
            values.append(None)
        else:
            values.append(body[position : position + length].decode())
            position += length
    return values
