"""A seccomp filter written by hand: system calls that no tool needs and that break sandboxes answer "not permitted".

The program is classic BPF, one ``struct sock_filter`` (code, jump if true, jump if false, operand) per instruction, run
by the kernel over ``struct seccomp_data`` (number, architecture, instruction pointer, six arguments). It goes to
bubblewrap as a file descriptor, or is installed by the launcher itself where there is no bubblewrap.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in seccomp_data; of an argument the low half, which both architectures keep first."""

_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
"""Numbers from here on are x86-64's second table, which would go round the filter."""

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_BARRED: dict[str, tuple[int, int]] = {
    # other processes, and the kernel's own memory of secrets
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # large and often broken parts of the kernel
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    # the machine
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "syslog": (103, 116), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "personality": (135, 92),
}  # fmt: skip
"""Name -> its number on x86-64 and on 64-bit ARM (Linux's syscall_64.tbl and asm-generic/unistd.h)."""
_CLONE, _CLONE3, _IOCTL, _SOCKET = (56, 220), (435, 435), (16, 29), (41, 198)
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""Typing into the terminal of whoever started us."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2

Instruction = tuple[int, int, int, int]


def is_supported(machine: str = "") -> bool:
    return (machine or platform.machine()) in _AUDIT


def program(machine: str = "", *, internet: bool) -> bytes:
    """The filter for a machine ("" is this one). ``internet``: may sockets of the Internet families be made, for the
    loopback of an own network namespace? Never those of a virtual machine's host, of radio, of packets."""
    column = list(_AUDIT).index(machine or platform.machine())
    families = [_UNIX, *((_INET, _INET6, _NETLINK) if internet else ())]
    steps: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, list(_AUDIT.values())[column]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        steps += _refused_if((_IF_AT_LEAST, 0, 0, _X32), errno.ENOSYS)
    for numbers in _BARRED.values():
        steps += _refused_if((_IF_EQUAL, 0, 0, numbers[column]), errno.EPERM)
    # its flags lie in memory that the filter cannot read; the C library falls back to clone
    steps += _refused_if((_IF_EQUAL, 0, 0, _CLONE3[column]), errno.ENOSYS)
    steps += _on(_CLONE[column], _FIRST, _refused_if((_IF_ANY_BIT, 0, 0, _NEW_NAMESPACES), errno.EPERM))
    bad_requests = [_refused_if((_IF_EQUAL, 0, 0, request), errno.EPERM) for request in (_TIOCSTI, _TIOCLINUX)]
    steps += _on(_IOCTL[column], _SECOND, [step for block in bad_requests for step in block])
    good_families = [step for family in families for step in ((_IF_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW))]
    steps += _on(_SOCKET[column], _FIRST, [*good_families, (_RETURN, 0, 0, _REFUSE | errno.EAFNOSUPPORT)])
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def install(code: bytes) -> None:
    """For this process and what it starts, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(memory))
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0)):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl: the seccomp filter was refused")


def _refused_if(test: Instruction, error: int) -> list[Instruction]:
    code, _, _, operand = test
    return [(code, 0, 1, operand), (_RETURN, 0, 0, _REFUSE | error)]


def _on(number: int, argument: int, body: list[Instruction]) -> list[Instruction]:
    """``body`` over an argument of one system call; the number is in the register again after it."""
    inner = [(_LOAD, 0, 0, argument), *body, (_LOAD, 0, 0, _NUMBER)]
    return [(_IF_EQUAL, 0, len(inner), number), *inner]
