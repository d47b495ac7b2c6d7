"""The kernel alone stops code that has the whole C library, as after an escape, also where one mechanism is missing."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from pipeline.confinement import platform_coverage, process

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not all(platform_coverage().values()), reason="this machine lacks a mechanism")

CONFINED = """
import ctypes, errno, fcntl, mmap, os, socket, sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from pipeline.confinement import confine, landlock, namespaces, privileges, system_calls
allowed, secret, without = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
if without == "namespaces":
    namespaces.is_permitted = lambda: False
elif without == "Landlock":
    landlock.version = lambda: 0
elif without == "seccomp":
    system_calls.library = lambda: None
descriptor, (reading, writing), parent = os.open("/dev/null", 0), os.pipe(), os.getppid()
confine([allowed], seconds=5, memory_mb=300)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def advise(advice):
    page = libc.mmap(None, 4096, 3, 34, -1, 0)
    call(28, ctypes.c_void_p(page), ctypes.c_long(4096), advice)

files = {
    "read": lambda: open(secret).read(),
    "write": lambda: open(allowed / "x", "w"),
    "list": lambda: os.listdir("/etc"),
    "environment": lambda: open("/proc/self/environ").read(),
    "device": lambda: open("/dev/zero", "rb").read(1),
    "delete": lambda: os.unlink(secret),
    "link": lambda: os.symlink(secret, allowed / "y"),
    "folder": lambda: os.mkdir(allowed / "z"),
}
names = {
    "size": lambda: os.stat(secret),
    "existence": lambda: os.access(secret, os.F_OK) or os.stat(secret),
    "link target": lambda: os.readlink("/proc/self/exe"),
}
calls = {
    "mode": lambda: os.chmod(secret, 0o600),
    "owner": lambda: os.chown(secret, -1, -1),
    "times": lambda: os.utime(secret),
    "root": lambda: os.chroot("/"),
    "memory file": lambda: os.memfd_create("x"),
    "internet": lambda: socket.socket(),
    "local socket": lambda: socket.socketpair(),
    "kernel socket": lambda: socket.socket(16, 3, 0),
    "program": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(parent, 0),
    "user": lambda: os.setuid(os.getuid()),
    "process": lambda: os.fork() or os._exit(0),
    "names": lambda: libc.prctl(15, b"x", 0, 0, 0) and call(-1),
    "limits": lambda: __import__("resource").setrlimit(4, (0, 0)),
    "owner of a pipe": lambda: fcntl.fcntl(reading, 8, parent),
    "signal of a pipe": lambda: fcntl.fcntl(reading, 10, 9),
    "signals at every change": lambda: fcntl.fcntl(reading, 4, 0o20000),
    "lease": lambda: fcntl.fcntl(descriptor, 1024, 0),
}
# Numbers of x86-64; the arguments have no effect if a call is allowed.
numbers = dict(ptrace=101, mount=165, unshare=272, bpf=321, keyctl=250, userfaultfd=323, io_uring=425, pidfd=434,
               readv=310, seccomp=317, setns=308, perf=298, fanotify=300, add_key=248, kexec=246, module=175)
if os.uname().machine == "x86_64":
    calls |= {name: lambda number=number: call(number, -1, -1, -1, -1, -1, -1) for name, number in numbers.items()}
    advice = dict(remove=9, mergeable=12, pageout=21, poison=100, offline=101)
    calls |= {f"advice {name}": lambda value=value: advise(value) for name, value in advice.items()}
    thread_in_new_network = 0x40000000 | 0x00010000 | 0x0900
    calls["clone into a network"] = lambda: call(56, thread_in_new_network, 0, 0, 0, 0)
skipped = {"namespaces": names, "Landlock": {}, "seccomp": calls}.get(without, {})
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS)
for name, attempt in (files | names | calls).items():
    if name in skipped:
        continue
    try:
        attempt()
        print("OPEN", name)
    except OSError as error:
        if error.errno not in REFUSALS:
            print("OPEN", name, error)
    except ValueError:
        pass
try:
    bytearray(10**9)
    print("OPEN memory")
except MemoryError:
    pass
fcntl.fcntl(writing, 4, fcntl.fcntl(writing, 3) | os.O_NONBLOCK)
mmap.mmap(-1, 4096).madvise(mmap.MADV_DONTNEED)
print((allowed / "readable").read_text())
thread = threading.Thread(target=lambda: print("a thread"))
thread.start()
thread.join()
"""


def run_confined(code: str, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code, str(ROOT), *map(str, arguments)],
        capture_output=True, text=True, env={"OPENBLAS_NUM_THREADS": "1"}, timeout=120,
    )  # fmt: skip


@pytest.fixture
def secret(tmp_path) -> Path:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "readable").write_text("the scene")
    (tmp_path / "secret").write_text("canary")
    return tmp_path / "secret"


@pytest.mark.parametrize("without", ["nothing", "namespaces", "Landlock", "seccomp"])
def test_the_kernel_alone_blocks_every_forbidden_call(secret, without):
    done = run_confined(CONFINED, secret.parent / "allowed", secret, without)
    assert done.stdout == "the scene\na thread\n", done.stderr
    assert done.returncode == 0 and secret.read_text() == "canary"


SIGNALLING = """
import fcntl, os, sys, time
sys.path.insert(0, sys.argv[1])
from pipeline.confinement import landlock, privileges
privileges.drop_capabilities()
landlock.restrict([])
reading, writing = os.pipe()
fcntl.fcntl(reading, 8, os.getppid())
fcntl.fcntl(reading, 10, 9)
fcntl.fcntl(reading, 4, 0o20000)
os.write(writing, b"x")
"""


@pytest.mark.skipif(platform_coverage()["files"] is False, reason="no Landlock")
def test_landlock_alone_keeps_a_pipe_from_killing_the_parent():
    from pipeline.confinement import landlock

    if landlock.version() < 6:
        pytest.skip("this kernel's Landlock has no scope for signals")
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True); print('alive')"
    command = [sys.executable, "-c", parent, SIGNALLING, str(ROOT)]
    assert subprocess.check_output(command, text=True, timeout=120) == "alive\n"


PRIVILEGES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pipeline.confinement import privileges
status = lambda: dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
privileges.drop_capabilities()
now = status()
print([now[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs")], now["CapBnd"].strip())
"""


def test_no_capability_is_left_and_a_process_whose_parent_ended_ends_at_once():
    done, none = run_confined(PRIVILEGES), "0" * 16
    assert f"['{none}', '{none}', '{none}', '{none}', '1']" in done.stdout, done.stderr
    assert (os.getuid() or done.stdout.strip().endswith(none)) and run_confined(LATE).stdout == ""


WRITING = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from pipeline.confinement import confine
out, readable = Path(sys.argv[2]), Path(sys.argv[3])
confine([readable], [out], seconds=5, memory_mb=300, file_mb=1)
(out / "folder").mkdir()
(out / "folder" / "file").write_text(readable.read_text())
(out / "folder" / "file").rename(out / "moved")
for attempt in (lambda: readable.write_text("x"), lambda: os.symlink("/etc", out / "link"), lambda: os.mkdir("/tmp/x")):
    try:
        attempt()
        print("OPEN")
    except OSError:
        pass
try:
    (out / "large").write_bytes(bytes(2 << 20))
    print("OPEN size")
except OSError:
    pass
"""


def test_a_confined_process_writes_only_where_it_may_and_not_much(secret, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    alias = tmp_path / "alias"
    alias.symlink_to(secret.parent / "allowed")
    done = run_confined(WRITING, out, alias / "readable")
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
    assert (out / "moved").read_text() == "the scene" and (out / "large").stat().st_size <= 1 << 20


LATE = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pipeline.confinement import end_with_parent
end_with_parent(os.getppid() + 1)
print("OPEN")
"""


def test_packages_reached_through_a_link_are_readable_under_both_names(tmp_path, monkeypatch):
    (tmp_path / "packages").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "packages")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "link"))
    assert set(process.library_folders.__wrapped__()) == {tmp_path / "link", tmp_path / "packages"}
