"""Dovecot: the IMAP and LMTP server of the tests. Own ports, own folders; a mailbox per test."""

from __future__ import annotations

import os
import pwd
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from imapclient import IMAPClient

from tests.peers.process import PeerMissing, free_port, running

PASSWORD = "s3cret"
ODD_PASSWORDS = {
    "quoting@example.org": 'quo"ted \\ back',
    "wide@example.org": "schlüssel€",
    "braces@example.org": "a{5}b",
}
"""Of people who are there besides."""
USERS = 2_000
"""That can be made. All are there from the start, because Dovecot looks for new ones once in a second."""


@dataclass(frozen=True)
class Dovecot:
    """``imaps``, ``imap`` (with STARTTLS) and ``lmtp`` are ports on localhost; ``ca`` proves its name."""

    folder: Path
    imaps: int
    imap: int
    lmtp: int
    ca: Path
    made: list[str] = field(default_factory=list)

    def user(self) -> str:
        """A new person with an empty mailbox."""
        name = f"nora{len(self.made)}@example.org"
        self.made.append(name)
        return name

    @contextmanager
    def client(self, user: str, password: str = PASSWORD) -> Iterator[IMAPClient]:
        """What another program of the same person does."""
        client = IMAPClient("localhost", self.imaps, ssl_context=self.tls(), timeout=20)
        try:
            client.login(user, password)
            yield client
        finally:
            client.logout()

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))

    def admin(self, *words: str) -> str:
        """doveadm: what an administrator does."""
        command = ["doveadm", "-c", str(self.folder / "dovecot.conf"), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    def deliver(self, user: str, mails: Iterable[bytes]) -> None:
        """Into the inbox of somebody whom Dovecot does not know yet, past the server: fast."""
        inbox = self.folder / "mail" / user / "Maildir"
        for name in ("cur", "new", "tmp"):
            (inbox / name).mkdir(parents=True, exist_ok=True)
        for number, mail in enumerate(mails):
            (inbox / "cur" / f"{1_700_000_000 + number}.M{number}P1.host,S={len(mail)}:2,").write_bytes(mail)
        if os.geteuid() == 0:
            account = pwd.getpwnam("nobody")
            for path in (inbox.parent, inbox, *inbox.rglob("*")):
                os.chown(path, account.pw_uid, account.pw_gid)

    def new_validity(self, user: str, mailbox: str, value: int) -> None:
        """All UIDs of the mailbox are void from now on."""
        self.admin("mailbox", "update", "-u", user, "--uid-validity", str(value), mailbox)


@contextmanager
def dovecot(folder: Path, *, introspection: str = "", hide: str = "") -> Iterator[Dovecot]:
    """``introspection``: where access tokens are asked about. ``hide``: capabilities that it must not offer."""
    for program, package in (("dovecot", "dovecot-imapd dovecot-lmtpd"), ("openssl", "openssl")):
        if shutil.which(program) is None:
            raise PeerMissing(f"{program} is not installed: apt-get install {package}")
    with tempfile.TemporaryDirectory(prefix="dovecot") as place:  # paths of sockets must be short
        home = Path(place)
        home.chmod(0o755)
        peer = Dovecot(home, free_port(), free_port(), free_port(), home / "cert.pem")
        _certificate(home)
        people = {**{f"nora{number}@example.org": PASSWORD for number in range(USERS)}, **ODD_PASSWORDS}
        (home / "users").write_text("".join(f"{name}:{{PLAIN}}{word}\n" for name, word in people.items()), "utf-8")
        (home / "mail").mkdir()
        owner = _owner(home)
        (home / "oauth2.conf").write_text(_oauth(introspection or "http://127.0.0.1:9/"))
        (home / "dovecot.conf").write_text(_settings(peer, owner, hide))
        with running(["dovecot", "-F", "-c", str(home / "dovecot.conf")], peer.imaps, folder / "dovecot.out"):
            yield peer


def _owner(home: Path) -> str:
    """Dovecot lets nobody in as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    account = pwd.getpwnam("nobody")
    os.chown(home / "mail", account.pw_uid, account.pw_gid)
    return "nobody"


def _certificate(home: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-days", "2", "-keyout", str(home / "key.pem"), "-out", str(home / "cert.pem")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True, timeout=60)


def _oauth(url: str) -> str:
    return (
        f"introspection_mode = post\nintrospection_url = {url}\nusername_attribute = sub\n"
        "active_attribute = active\nactive_value = true\nforce_introspection = yes\n"
    )


def _capability(hide: str) -> str:
    offered = "IMAP4rev1 SASL-IR LOGIN-REFERRALS ID ENABLE IDLE LITERAL+ UIDPLUS ESEARCH CONDSTORE QRESYNC SPECIAL-USE"
    return " ".join(word for word in f"{offered} LIST-EXTENDED MOVE".split() if word not in hide.split())


def _settings(peer: Dovecot, owner: str, hide: str) -> str:
    home = peer.folder
    group = "nogroup" if owner == "nobody" else owner
    rootless: Mapping[str, str] = {} if os.geteuid() == 0 else {
        "default_internal_user": owner, "default_login_user": owner, "default_internal_group": group
    }  # fmt: skip
    extra = "".join(f"{name} = {value}\n" for name, value in rootless.items())
    hidden = f"  imap_capability = {_capability(hide)}\n" if hide else ""
    return f"""
{extra}base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/dovecot.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = yes
ssl_cert = <{home}/cert.pem
ssl_key = <{home}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login xoauth2 oauthbearer
auth_failure_delay = 0
auth_verbose = yes
first_valid_uid = 0
mail_uid = {owner}
mail_gid = {group}
mail_home = {home}/mail/%u
mail_location = maildir:~/Maildir
mailbox_list_index = yes
mail_fsync = never
default_process_limit = 200
mail_max_userip_connections = 100
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Sent {{
    auto = subscribe
    special_use = \\Sent
  }}
  mailbox Trash {{
    auto = subscribe
    special_use = \\Trash
  }}
}}
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {home}/oauth2.conf
}}
passdb {{
  driver = passwd-file
  mechanisms = plain login
  args = scheme=PLAIN username_format=%u {home}/users
}}
userdb {{
  driver = static
  args = allow_all_users=yes uid={owner} gid={group} home={home}/mail/%u
}}
service imap-login {{
  service_count = 0
  process_min_avail = 1
  inet_listener imap {{
    port = {peer.imap}
  }}
  inet_listener imaps {{
    port = {peer.imaps}
    ssl = yes
  }}
}}
service imap {{
  process_min_avail = 2
}}
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {peer.lmtp}
  }}
}}
protocol imap {{
  imap_idle_notify_interval = 30 s
{hidden}}}
"""
