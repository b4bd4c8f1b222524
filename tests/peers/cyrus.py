"""Cyrus, a mail server that speaks JMAP, in a root file system of its own: it cannot be installed beside Dovecot.

Needs to be root, and Debian's debootstrap. What it mounts and starts ends with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from imaplib import IMAP4
from pathlib import Path

from tests.peers.process import CHECKOUT, PEERS, PeerMissing, free_port, running

ROOT = PEERS / "cyrus"
USER, PASSWORD = "nora", "sesame"
_SUITE = "bookworm"
_PACKAGES = "cyrus-imapd cyrus-caldav cyrus-admin sasl2-bin libsasl2-modules"
_RUN = "/srv/run"
"""Inside of ROOT: the state of the server that runs, made anew each time."""
_MARK = "installed"

_IMAPD = f"""configdirectory: {_RUN}/config
defaultpartition: default
partition-default: {_RUN}/mail
proc_path: {_RUN}/proc
mboxname_lockpath: {_RUN}/lock
servername: localhost
admins: cyrus
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: {_RUN}/sasldb2
sasl_mech_list: PLAIN
allowplaintext: yes
httpmodules: jmap
conversations: yes
conversations_db: twoskip
altnamespace: yes
unixhierarchysep: yes
virtdomains: off
jmap_nonstandard_extensions: no
search_engine: none
"""
_CYRUS = """START {{
  recover cmd="/usr/sbin/cyrus ctl_cyrusdb -C {run}/imapd.conf -r"
}}
SERVICES {{
  imap cmd="imapd -C {run}/imapd.conf" listen="127.0.0.1:{imap}" prefork=0
  http cmd="httpd -C {run}/imapd.conf" listen="127.0.0.1:{http}" prefork=0
}}
EVENTS {{
}}
"""
_SETUP = f"""set -e
mkdir -p {_RUN}/config {_RUN}/mail {_RUN}/proc {_RUN}/lock
for user in cyrus {USER}; do
    printf %s {PASSWORD} | saslpasswd2 -p -c -f {_RUN}/sasldb2 -u localhost $user
done
chown -R cyrus:mail {_RUN}
"""


@dataclass(frozen=True)
class Server:
    """``url`` speaks JMAP; ``imap`` is the port of the other door, by which tests change things."""

    url: str
    imap: int

    def login(self) -> IMAP4:
        """As the owner of the mails."""
        door = IMAP4("127.0.0.1", self.imap)
        door.login(USER, PASSWORD)
        return door


def is_fetched() -> bool:
    return (ROOT / _MARK).is_file()


def fetch_cyrus() -> str:
    """A minimal Debian with Cyrus in it, made once; says where it is."""
    where = f"Cyrus is in {ROOT.relative_to(CHECKOUT)}"
    if is_fetched():
        return where
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise PeerMissing("Cyrus is installed with debootstrap by root, and one of them is missing")
    shutil.rmtree(ROOT, ignore_errors=True)
    subprocess.run(["debootstrap", "--variant=minbase", _SUITE, str(ROOT)], check=True, capture_output=True)
    policy = ROOT / "usr" / "sbin" / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    shutil.copyfile("/etc/resolv.conf", ROOT / "etc" / "resolv.conf")
    install = f"apt-get update -q && apt-get install -y -q --no-install-recommends {_PACKAGES}"
    _inside(f"export DEBIAN_FRONTEND=noninteractive; {install}")
    (ROOT / _MARK).write_text("")
    return where


@contextmanager
def cyrus(folder: Path) -> Iterator[Server]:
    """A server with the mailboxes of one user; logs to ``folder``."""
    if not is_fetched():
        raise PeerMissing("Cyrus is not here: run 'python -m tests.peers cyrus' as root")
    if os.geteuid() != 0:
        raise PeerMissing("Cyrus runs in a root file system of its own, and only root may change to it")
    state = ROOT / _RUN.removeprefix("/")
    shutil.rmtree(state, ignore_errors=True)
    imap, http = free_port(), free_port()
    _inside(_SETUP)
    (state / "imapd.conf").write_text(_IMAPD)
    (state / "cyrus.conf").write_text(_CYRUS.format(imap=imap, http=http, run=_RUN))
    master = f"cyrmaster -D -C {_RUN}/imapd.conf -M {_RUN}/cyrus.conf -p {_RUN}/master.pid"
    mounts = f"mount --rbind /dev {ROOT}/dev && mount -t proc proc {ROOT}/proc && exec chroot {ROOT} /usr/sbin/{master}"
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounts]
    with running(command, imap, folder / "cyrus.log"):
        _make_mailboxes(imap)
        yield Server(f"http://127.0.0.1:{http}", imap)
    shutil.rmtree(state, ignore_errors=True)


def _make_mailboxes(port: int) -> None:
    with IMAP4("127.0.0.1", port) as door:
        door.login("cyrus", PASSWORD)
        for name in (f"user/{USER}", f"user/{USER}/Sent", f"user/{USER}/Trash", f"user/{USER}/Bills"):
            door.create(name)
    with IMAP4("127.0.0.1", port) as door:
        door.login(USER, PASSWORD)
        for name, use in (("Sent", r"\Sent"), ("Trash", r"\Trash")):
            door.xatom("SETMETADATA", name, f'(/private/specialuse "{use}")')


def _inside(script: str) -> None:
    done = subprocess.run(["chroot", str(ROOT), "sh", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"in {ROOT}: {done.stdout[-1_000:]}{done.stderr[-1_000:]}")
