"""The first program in a sandbox: bounds the number of processes, opens the door to the broker, becomes the tool.

Runs inside, with nothing but Python's standard library: ``inside.py PROCESSES PORT SOCKET -- COMMAND...``. PORT
is 0 for a program that may reach nobody; else 127.0.0.1:PORT, in a network namespace of its own, leads to the broker's
SOCKET.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import sys

_CHUNK = 65_536


def main(arguments: list[str]) -> None:
    at = arguments.index("--")
    processes, port, broker = int(arguments[0]), int(arguments[1]), arguments[2]
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    if port:
        _open_door(port, broker)
    command = arguments[at + 1 :]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        raise SystemExit(127) from None


def _open_door(port: int, broker: str) -> None:
    """Listens before it forks, so that the program finds the door open; the sandbox's end takes the child along."""
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork():
        listener.close()
        return
    for stream in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    asyncio.run(_carry(listener, broker))


async def _carry(listener: socket.socket, broker: str) -> None:
    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(broker)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        for end in (writer, far_writer):
            end.close()

    server = await asyncio.start_server(one, sock=listener)
    await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()


if __name__ == "__main__":
    main(sys.argv[1:])
