"""AgentDojo: published agent tasks with injections in what the agent reads, run here without any network or model."""

from __future__ import annotations

from pathlib import Path

from tests.peers.packages import fetched_pip, from_pip
from tests.peers.process import PeerMissing

REQUIREMENT = "agentdojo==0.1.35"


def fetch_agentdojo() -> str:
    return f"agentdojo: {from_pip('agentdojo', REQUIREMENT)}"


def agentdojo_python() -> Path:
    """The interpreter that has it; PeerMissing where it was not fetched."""
    try:
        return fetched_pip("agentdojo") / "python"
    except PeerMissing as error:
        raise PeerMissing("AgentDojo is not here: run 'make peers PEERS=agentdojo'") from error
