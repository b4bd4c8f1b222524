"""The views that people and programs query, as SQL over the four tables of the schema ``raw``.

The same text serves the file ``history.duckdb`` and our own query worker; they differ only in what ``raw`` is.
Instants are TIMESTAMPTZ and show in the session's time zone; days (``starts_on``, ``booked_on``, ``day``) are DATEs by
the source's own calendar and do not move with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from forewatch.storage import hot, manifest, schema
from forewatch.storage.schema import Stream
from forewatch.storage.sql import identifiers, literal, struct

EVENTS = """
SELECT * EXCLUDE (batch) FROM raw.events
"""

MAIL = """
SELECT id, account, kind, op, subject, version, occurred_at, observed_at, title,
       party_name AS sender_name, party_address AS sender_address, party_domain AS sender_domain,
       thread, message_id, payload->>'$.in_reply_to' AS in_reply_to, payload->>'$.folder' AS folder,
       CAST(payload->'$.bulk' AS BOOLEAN) AS bulk, payload->>'$.list_id' AS list_id,
       payload->'$.flags' AS flags, payload->'$.attachments' AS attachments,
       due_at, text, matter, trust, parties, facts
FROM raw.events WHERE kind LIKE 'mail.%'
"""

CALENDAR = """
SELECT id, account, kind, subject, version, occurred_at, observed_at, title, starts_at, ends_at, all_day,
       starts_on, ends_on, wall_start, wall_end, zone, uid, payload->>'$.recurrence_id' AS recurrence_id,
       status, payload->>'$.location' AS location, payload->>'$.organizer' AS organizer,
       payload->'$.attendees' AS attendees, CAST(payload->'$.transparent' AS BOOLEAN) AS transparent,
       payload->>'$.calendar' AS calendar, CAST(payload->>'$.previous_start' AS TIMESTAMPTZ) AS previous_start,
       text, matter, trust
FROM raw.events WHERE kind LIKE 'calendar.%'
QUALIFY row_number() OVER (PARTITION BY account, subject ORDER BY observed_at DESC, seq DESC) = 1
"""
"""The newest version of each entry; a cancelled one stays, with its kind and status."""

BANK = """
WITH newest AS (
    SELECT * FROM raw.events WHERE kind IN ('bank.pending', 'bank.posted', 'bank.removed')
    QUALIFY row_number() OVER (PARTITION BY account, subject ORDER BY observed_at DESC, seq DESC) = 1
)
SELECT id, account, kind, subject, version, occurred_at, observed_at, booked_on, amount, currency, merchant,
       payload->>'$.counterparty' AS counterparty, payload->>'$.counterparty_iban' AS counterparty_iban,
       payload->>'$.purpose' AS purpose, kind = 'bank.pending' AS pending,
       coalesce(CAST(payload->'$.reversal' AS BOOLEAN), false) AS reversal,
       payload->>'$.mandate_id' AS mandate_id, payload->>'$.end_to_end_id' AS end_to_end_id,
       CAST(payload->>'$.value_on' AS DATE) AS value_on, payload->>'$.bank_account' AS bank_account,
       payload->>'$.native_id' AS native_id, row_key, title, text, matter
FROM newest
WHERE kind <> 'bank.removed' AND op = 'upsert' AND (kind = 'bank.posted' OR row_key IS NULL OR row_key NOT IN (
    SELECT payload->>'$.replaces' FROM newest WHERE kind = 'bank.posted' AND (payload->>'$.replaces') IS NOT NULL))
"""
"""Each transaction once: its newest version, without what was removed and without a pending row that was booked."""

FACTS = """
WITH one AS (
    SELECT id, account, occurred_at, matter, unnest(CAST(facts AS JSON[])) AS fact
    FROM raw.events WHERE facts IS NOT NULL
)
SELECT id AS event, account, occurred_at, matter, fact->>'$.kind' AS kind, fact->>'$.origin' AS origin,
       CAST(fact->'$.certainty' AS DOUBLE) AS certainty,
       TRY_CAST(coalesce(fact->>'$.on', fact->>'$.due', fact->>'$.by') AS DATE) AS day,
       TRY_CAST(coalesce(fact->>'$.amount.amount', fact->>'$.new.amount') AS DECIMAL(18,4)) AS amount,
       coalesce(fact->>'$.amount.currency', fact->>'$.new.currency') AS currency,
       coalesce(fact->>'$.number', fact->>'$.code', fact->>'$.uid') AS number,
       coalesce(fact->>'$.what', fact->>'$.category', fact->>'$.role', fact->>'$.outcome') AS what,
       fact->>'$.span.quote' AS quote, fact AS value
FROM one
"""

TRIGGERS = """
SELECT id, owner, rule, revision, key, occurrence, matter, happened_at AS fired_at, title, goal, urgency, certainty,
       playbook, deadline_at, expires_at, late, reason, evidence, typed_values, explanation
FROM raw.signals WHERE type = 'trigger'
"""

RETRACTIONS = """
SELECT id, owner, trigger, rule, key, matter, happened_at AS retracted_at, reason, says, evidence
FROM raw.signals WHERE type = 'retraction'
"""

SUPPRESSIONS = """
SELECT id, owner, rule, key, happened_at AS suppressed_at, reason, explanation->>'$.event' AS event, explanation
FROM raw.signals WHERE type = 'suppression'
"""

MERGES = """
SELECT id, owner, matter, key AS other, happened_at AS merged_at, explanation->>'$.outcome' AS outcome, reason,
       certainty AS score, explanation->>'$.event' AS event, explanation
FROM raw.signals WHERE type = 'merge'
"""

EVIDENCE = """
WITH one AS (
    SELECT id, type, trigger, unnest(CAST(evidence AS JSON[])) AS item FROM raw.signals WHERE evidence IS NOT NULL
)
SELECT id AS signal, type, CASE type WHEN 'trigger' THEN id ELSE trigger END AS trigger, item->>'$.event' AS event,
       item->>'$.kind' AS kind, item->>'$.title' AS title, item->>'$.quote' AS quote, item->>'$.trust' AS trust
FROM one
"""
"""One row per event behind a trigger or a retraction: the way from a proposal to its source (law L5)."""

AUDIT = """
SELECT id, owner, proposal, number AS seq, epoch, type, happened_at AS written_at, actor, cause, body, prev_hash, hash
FROM raw.journal
"""

JOURNAL = """
SELECT * FROM raw.journal
QUALIFY row_number() OVER (PARTITION BY proposal, number ORDER BY epoch DESC) = 1
"""
"""The entries that count: of two at one place (a fenced writer's and its successor's) the newer generation's."""

PROPOSALS = """
WITH state AS (
    SELECT *, CASE
        WHEN type IN ('proposal.joined', 'proposal.reduced') AND (body->'$.trigger') IS NULL THEN NULL
        WHEN type IN ('proposal.refreshed', 'proposal.joined', 'proposal.reduced')
            THEN CASE WHEN (body->'$.planning') IS NOT NULL THEN 'drafted'
                      WHEN (body->'$.plan') IS NULL THEN 'needs_input' ELSE 'offered' END
        WHEN type = 'proposal.planning' THEN 'drafted'
        WHEN type = 'proposal.woken' THEN 'offered'
        WHEN type IN ('proposal.drafted', 'proposal.offered', 'proposal.needs_input', 'proposal.snoozed',
                      'proposal.rejected', 'proposal.expired', 'proposal.retracted') THEN substr(type, 10)
        WHEN type IN ('run.stopping', 'run.undoing', 'run.stopped', 'run.done', 'run.failed') THEN substr(type, 5)
        WHEN type IN ('run.started', 'plan.revised') THEN 'running' END AS state
    FROM raw.current_journal
), folded AS (
    SELECT proposal AS id, any_value(owner) AS owner,
        arg_max(body->'$.trigger', number) FILTER ((body->'$.trigger') IS NOT NULL) AS trigger,
        arg_max(coalesce(body->'$.plan', 'null'), number) FILTER (type IN ('proposal.offered', 'proposal.refreshed',
            'proposal.edited', 'proposal.needs_input', 'proposal.drafted', 'proposal.planning', 'plan.revised',
            'run.undoing')
            OR (type IN ('proposal.joined', 'proposal.reduced') AND (body->'$.trigger') IS NOT NULL)) AS plan,
        arg_max(state, number) AS state,
        arg_max(type, number) FILTER (state IS NOT NULL) AS last_type,
        max(number) FILTER (type = 'proposal.snoozed') AS snoozed,
        max(number) FILTER (type IN ('proposal.woken', 'proposal.offered') OR body->>'$.wakes' = 'true') AS woken,
        arg_max(body->>'$.surface', number) AS surface, arg_max(body->>'$.surface_reason', number) AS surface_reason,
        arg_max(TRY_CAST(body->>'$.priority.score' AS DOUBLE), number) AS priority,
        arg_max(coalesce(body->>'$.reason', ''), number) FILTER (state IS NOT NULL) AS reason,
        arg_max(coalesce(body->>'$.says', ''), number) FILTER (state IS NOT NULL) AS says,
        min(happened_at) AS drafted_at, arg_max(happened_at, number) AS updated_at, max(number) AS entries
    FROM state GROUP BY proposal
)
SELECT id, owner, trigger->>'$.id' AS trigger, trigger->>'$.title' AS title, trigger->>'$.rule' AS rule,
       trigger->>'$.key' AS key, trigger->>'$.matter' AS matter, trigger->>'$.urgency' AS urgency,
       CASE WHEN last_type IN ('proposal.refreshed', 'proposal.joined', 'proposal.reduced') AND state = 'offered'
                 AND snoozed > coalesce(woken, 0)
            THEN 'snoozed' ELSE state END AS state,
       reason, says, TRY_CAST(trigger->>'$.deadline_at' AS TIMESTAMPTZ) AS deadline_at, drafted_at, updated_at, entries,
       surface, surface_reason, priority,
       TRY_CAST(plan->>'$.version' AS INTEGER) AS plan_version, plan->>'$.run' AS run, plan->>'$.risk' AS risk,
       nullif(plan, 'null') AS plan
FROM folded WHERE trigger IS NOT NULL
"""

RUNS = """
WITH folded AS (
    SELECT proposal, min(happened_at) FILTER (type = 'run.started') AS started_at,
        max(happened_at) FILTER (type IN ('run.stopped', 'run.done', 'run.failed')) AS ended_at,
        count(*) FILTER (type = 'step.intent') AS intents, count(*) FILTER (type = 'step.result') AS results
    FROM raw.current_journal GROUP BY proposal
)
SELECT p.run AS id, p.id AS proposal, p.owner, p.title, p.state, p.reason, p.says,
       started_at, ended_at, intents, results
FROM folded JOIN proposals p ON p.id = folded.proposal WHERE started_at IS NOT NULL
"""

STEPS = """
WITH planned AS (
    SELECT id AS proposal, run, unnest(CAST(plan->'$.steps' AS JSON[])) AS step FROM proposals WHERE plan IS NOT NULL
), entries AS (
    SELECT proposal, body->>'$.step' AS uid, count(*) FILTER (type = 'step.intent') AS attempts,
        arg_max(type, number) AS last_entry,
        arg_max(body->>'$.outcome', number) FILTER (type = 'step.result') AS outcome,
        arg_max(body->>'$.seen', number) FILTER (type = 'step.verified') AS seen,
        arg_max(body->'$.receipt', number) FILTER ((body->'$.receipt') IS NOT NULL) AS receipt,
        max(happened_at) AS updated_at
    FROM raw.current_journal WHERE (body->>'$.step') IS NOT NULL GROUP BY ALL
)
SELECT step->>'$.uid' AS uid, planned.proposal, run, step->>'$.id' AS id, step->>'$.tool' AS tool,
       step->>'$.effect' AS effect, step->>'$.effect_class' AS effect_class, step->>'$.gate' AS gate,
       step->>'$.why' AS why, coalesce(last_entry, 'planned') AS last_entry, coalesce(attempts, 0) AS attempts, outcome,
       CAST(seen AS BOOLEAN) AS seen, receipt, updated_at, step AS plan
FROM planned LEFT JOIN entries ON entries.proposal = planned.proposal AND entries.uid = step->>'$.uid'
"""

EGRESS = """
WITH ends AS (
    SELECT body->>'$.asked' AS asked, body->>'$.outcome' AS outcome, CAST(body->>'$.bytes' AS BIGINT) AS received_bytes,
        CAST(body->>'$.prompt_tokens' AS BIGINT) + CAST(body->>'$.completion_tokens' AS BIGINT) AS tokens,
        CAST(body->>'$.cost' AS DECIMAL(18,6)) AS cost
    FROM raw.current_journal WHERE type = 'model.answered'
)
SELECT id, owner, proposal, happened_at AS left_at, body->>'$.host' AS host, body->>'$.model' AS model,
       CAST(body->>'$.bytes' AS BIGINT) AS sent_bytes, body->>'$.sha256' AS sha256,
       coalesce(received_bytes, 0) AS received_bytes,
       coalesce(tokens, CAST(body->>'$.prompt_tokens' AS BIGINT) + CAST(body->>'$.max_tokens' AS BIGINT)) AS tokens,
       coalesce(cost, CAST(body->>'$.cost' AS DECIMAL(18,6))) AS cost, body->>'$.currency' AS currency,
       coalesce(outcome, 'unknown') AS outcome, json_array_length(body->'$.withheld') AS withheld_values,
       body->'$.withheld' AS withheld, body->'$.request' AS request
FROM raw.current_journal LEFT JOIN ends ON asked = id WHERE type = 'model.asked'
"""
"""One row per request that left for a model. One that has no end counts with all that was reserved for it."""

DEAD_LETTERS = """
SELECT id, topic, key, code, reason, account, happened_at AS refused_at, from_base64(raw) AS payload, meta FROM raw.dead
"""

PUBLIC: Mapping[str, str] = {
    "events": EVENTS,
    "mail": MAIL,
    "calendar": CALENDAR,
    "bank": BANK,
    "facts": FACTS,
    "triggers": TRIGGERS,
    "retractions": RETRACTIONS,
    "suppressions": SUPPRESSIONS,
    "merges": MERGES,
    "evidence": EVIDENCE,
    "proposals": PROPOSALS,
    "runs": RUNS,
    "steps": STEPS,
    "egress": EGRESS,
    "audit": AUDIT,
    "dead_letters": DEAD_LETTERS,
}
"""In the order in which they may refer to each other."""


NEEDS: Mapping[str, tuple[str, ...]] = {"runs": ("proposals",), "steps": ("proposals",)}
"""The views that other views are made of, besides ``raw``."""


def public(catalog: str, asked: Set[str] | None = None) -> list[str]:
    """Statements that make views of ``PUBLIC`` over the schema ``raw`` of this catalog.

    Only what is needed for ``asked``, because making a view opens every part; all of them for None, and where there is
    a name that nobody knows (its error then names the nearest one).
    """
    known = asked if asked is not None and asked <= PUBLIC.keys() else PUBLIC.keys()
    names = {need for name in known for need in (name, *NEEDS.get(name, ()))}
    statements = [f"CREATE VIEW {catalog}.raw.current_journal AS {JOURNAL}"]
    return statements + [f"CREATE VIEW {catalog}.{n} AS {text}" for n, text in PUBLIC.items() if n in names]


def raw_over_patterns(root: Path, stream: Stream) -> str:
    """``raw`` for anybody's DuckDB: whatever files there are when a query begins, less what the manifest hides.

    Manifest and hot rows are each read at one place only: read twice, they could differ within one query. (A window
    function over ``read_json`` would do that: DuckDB turns ``max() OVER ()`` into a join of two scans.)
    """
    cold = root / manifest.COLD / (stream.folder or "[!_]*") / "*" / "*.parquet"
    return f"""
WITH lines AS MATERIALIZED ({_lines(literal(str(root / hot.FOLDER / "*.jsonl")), stream.columns)})
SELECT * EXCLUDE (file) FROM (
    SELECT * FROM {_parts(literal(str(cold)))}
    UNION ALL BY NAME
    SELECT {_columns(stream)}, file FROM lines
    WHERE stream = {literal(stream.name)} AND batch <= (SELECT max(seq) FROM lines)
) WHERE file NOT IN (
    SELECT unnest(hidden) FROM read_json({literal(str(root / manifest.NAME))}, columns = {{hidden: 'VARCHAR[]'}})
)"""


def hot_table(files: Sequence[Path]) -> list[str]:
    """Statements that make ``raw.hot``, the visible rows of all streams in these segments."""
    lines = _lines(literal(map(str, files)), {name: kind for s in schema.STREAMS for name, kind in s.columns.items()})
    return [
        f"CREATE TABLE raw.hot AS {lines}",
        "DELETE FROM raw.hot WHERE batch > (SELECT max(seq) FROM raw.hot)",
    ]


def raw_over_files(stream: Stream, files: Sequence[Path]) -> str:
    """``raw`` over ``raw.hot`` and exactly these parts: one state of history, however often a query looks at it."""
    rows = f"SELECT {_columns(stream)} FROM raw.hot WHERE stream = {literal(stream.name)}"
    if not files:
        return rows
    return f"SELECT * EXCLUDE (file) FROM {_parts(literal(map(str, files)))} UNION ALL BY NAME {rows}"


def _lines(source: str, columns: Mapping[str, str]) -> str:
    """A line that is only half written is no JSON yet and comes as a row of NULLs."""
    known = struct({**schema.PLACE, "stream": "VARCHAR", **columns})
    return (
        f"SELECT * FROM read_json({source}, format = 'newline_delimited', ignore_errors = true, filename = 'file',"
        f" maximum_object_size = {schema.LINE_MAX}, columns = {known}) WHERE seq IS NOT NULL"
    )


def _parts(source: str) -> str:
    return f"read_parquet({source}, union_by_name = true, hive_partitioning = false, filename = 'file')"


def _columns(stream: Stream) -> str:
    return identifiers([*schema.PLACE, *stream.columns])


def empty_part(root: Path, stream: Stream) -> Path:
    """A part without rows, so that the pattern of the stream matches a file."""
    return root / manifest.COLD / (stream.folder or "-") / manifest.NEVER / "empty.parquet"
