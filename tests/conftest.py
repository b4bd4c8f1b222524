"""The peers, each started once per session for all suites that run on it."""

import gc
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from actions.isolation.sandbox import Mode
from forewatch.storage import process
from tests import forks
from tests.order import longest_first
from tests.peers import brokers, dovecot
from tests.peers.bwrap import bwrap
from tests.peers.mcp_servers import Servers, mcp_servers
from tests.peers.oidc import Oidc, oidc
from tests.peers.process import provided
from tests.scale import THOROUGH

START = process.start

settings.register_profile("patient", settings.default, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
"""How long examples take to draw says something about the machine, and nothing about us."""


@pytest.fixture(autouse=True)
def logging_of_its_own() -> Iterator[None]:
    """A command that a test calls in this process sets up logging for the whole process: not for the tests after it."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session", autouse=True)
def workers_are_forked() -> Iterator[None]:
    """What reads and writes history is started many hundred times; ``real_workers`` are as a user has them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(process, "start", forks.start_worker)
        yield


@pytest.fixture
def real_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of how they start, and of what keeps a query of a person in."""
    monkeypatch.setattr(process, "start", START)


@pytest.fixture(scope="session")
def kafka_server(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One for all workers, whose folders are beside one another."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if hasattr(pytestconfig, "workerinput") else own) / "kafka"
    folder.mkdir(exist_ok=True)
    yield from provided(brokers.shared_kafka, folder)


@pytest.fixture(scope="session")
def tansu_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from provided(brokers.tansu, tmp_path_factory.mktemp("tansu"))


@pytest.fixture(scope="session")
def oidc_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oidc]:
    yield from provided(oidc, tmp_path_factory.mktemp("oidc"))


@pytest.fixture(scope="session")
def dovecot_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dovecot.Dovecot]:
    yield from provided(dovecot.dovecot, tmp_path_factory.mktemp("dovecot"))


@pytest.fixture(scope="session")
def bwrap_mode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mode]:
    yield from provided(bwrap, tmp_path_factory.mktemp("bwrap"))


@pytest.fixture(scope="session")
def servers(bwrap_mode: Mode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    yield from provided(mcp_servers, tmp_path_factory.mktemp("mcp"))


def pytest_collection_finish() -> None:
    """What was imported and collected stays, and what plays of many days make is seldom a circle: a tenth of the time
    went into looking for them. pytest looks for all that is left at its end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


LENIENT = {"contract", "acceptance"}
"""A Kafka client that a test kills or fences there leaves its socket to the garbage collector: no fault of the test in
which that finds it. All other tests stay strict."""


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a lenient file leaves is found before a strict one begins."""
    if LENIENT & set(item.path.parts) and (nextitem is None or nextitem.path != item.path):
        gc.collect()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    longest_first(items)
    outside = pytest.mark.skip(reason="nightly: FOREWATCH_THOROUGH=1 runs it, beside its peer (see tests.peers)")
    lenient = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    for item in items:
        if item.get_closest_marker("nightly") and not THOROUGH:
            item.add_marker(outside)
        if LENIENT & set(item.path.parts):
            item.add_marker(lenient)
