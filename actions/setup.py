"""What deciding and executing rest on, handed over as one: playbooks, tools, policy and the person's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from actions.planning.playbook import Playbook
from actions.planning.spending import ModelSettings
from actions.policy.policy import Policy
from actions.run.replan import Replanner
from actions.settings import ActSettings
from actions.tools.fields import Reader
from actions.tools.tool import Registry


@dataclass(frozen=True)
class Setup:
    playbooks: Mapping[str, Playbook]
    tools: Registry
    policy: Policy = field(default_factory=Policy)
    settings: ActSettings = field(default_factory=ActSettings)
    replanner: Replanner | None = None
    """Who is asked for another way when a run cannot go on; None: nobody, it fails."""
    reader: Reader | None = None
    """Who reads outside text for the ``extract`` tools where no pattern decides."""
    model: ModelSettings | None = None
    """A model may be asked for a plan where no playbook fits; None: it is off, and nothing of it is used (law L1)."""
