import asyncio
import subprocess
import sys
from pathlib import Path

from streams.log import open_log
from streams.work import Output

LOOK = """
import asyncio, sys
from streams.log import open_log
async def main():
    log = await open_log(sys.argv[1], "x", 1)
    print([entry.value.decode() for entry in await log.read("dead", 0, 0, 100)])
    await log.close()
asyncio.run(main())
"""


def test_a_process_that_comes_and_goes_takes_no_record_with_it(tmp_path: Path) -> None:
    """The last process to close a WAL deletes it; SQLite must know that we still hold it."""
    url = f"embedded://{tmp_path}/log.db"

    def look() -> str:
        command = [sys.executable, "-c", LOOK, url]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    async def scenario() -> None:
        log = await open_log(url, "x", 1)
        seen = []
        for word in (b"one", b"two", b"three"):
            await log.append([Output("dead", b"k", word)])
            seen.append(await asyncio.to_thread(look))
            assert (tmp_path / "log.db-wal").exists()
        await log.close()
        assert seen == ["['one']", "['one', 'two']", "['one', 'two', 'three']"]

    asyncio.run(scenario())
