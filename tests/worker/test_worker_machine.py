"""Facts of a machine, from files as Linux writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from opsdebug_ci.worker.container_limits import (
    ContainerLimits,
    container_limits,
    legacy_quota,
    memory_limit,
    unified_quota,
)
from opsdebug_ci.worker.processor import Processor, cpu_list, describe_processor

UNLIMITED_V1 = "9223372036854771712\n"
"""What version 1 says without a limit, with pages of 4 KiB."""

KUBERNETES_V2 = {
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/memory.max": "8589934592\n",
}
"""A pod with limits of 1.5 processors and 8 GiB, in its own view of the groups."""

SYSTEMD_V2 = {
    "proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n",
    "sys/fs/cgroup/user.slice/cpu.max": "400000 100000\n",
    "sys/fs/cgroup/user.slice/memory.max": "max\n",
    "sys/fs/cgroup/user.slice/user-1000.slice/cpu.max": "max 100000\n",
    "sys/fs/cgroup/user.slice/user-1000.slice/memory.max": "2147483648\n",
    "sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/memory.max": "4294967296\n",
}
"""Limits of groups above; the tighter one is further up."""

DOCKER_V1 = {
    "proc/self/cgroup": "12:cpu,cpuacct:/docker/4f0a\n7:memory:/docker/4f0a\n1:name=systemd:/docker/4f0a\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
}
"""Version 1: the path is the host's, while what is mounted is the container's own group."""

FREE_V1 = {
    "proc/self/cgroup": "4:memory:/\n1:cpu:/\n0::/\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1,
}
"""Version 1 without limits."""

OUTSIDE_V2 = {
    "proc/self/cgroup": "0::/../other\n",
    "sys/fs/other/memory.max": "1\n",
    "sys/fs/cgroup/memory.max": "max\n",
}
"""A path that leads out of the container's view."""

EPYC = """\
processor	: 0
vendor_id	: AuthenticAMD
cpu family	: 25
model		: 17
model name	: AMD EPYC 9R14
stepping	: 1
cpu MHz		: 2596.132

processor	: 1
model name	: another
"""

GRAVITON = """\
processor	: 0
BogoMIPS	: 2100.00
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x1
CPU part	: 0xd40
CPU revision	: 1
"""


def files(root: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        (KUBERNETES_V2, ContainerLimits(cores=1.5, memory_bytes=8 << 30)),
        (SYSTEMD_V2, ContainerLimits(cores=4.0, memory_bytes=2 << 30)),
        (DOCKER_V1, ContainerLimits(cores=0.5, memory_bytes=512 << 20)),
        (FREE_V1, ContainerLimits()),
        (OUTSIDE_V2, ContainerLimits()),
        ({}, ContainerLimits()),
        ({"proc/self/cgroup": "nonsense\n"}, ContainerLimits()),
    ],
    ids=["kubernetes v2", "systemd v2", "docker v1", "free v1", "outside v2", "no files", "nonsense"],
)
def test_limits_of_the_control_groups(tmp_path: Path, texts: Mapping[str, str], limits: ContainerLimits) -> None:
    assert container_limits(files(tmp_path, texts)) == limits


@pytest.mark.parametrize("text", ["", "max 100000", "150000", "x 100000", "150000 0", "-1 100000", "1 2 3"])
def test_a_quota_that_is_none(text: str) -> None:
    assert unified_quota(text) is None


def test_quotas_and_limits_as_the_kernel_writes_them() -> None:
    assert unified_quota("250000 100000\n") == 2.5
    assert legacy_quota("20000\n", "50000\n") == 0.4
    assert legacy_quota("-1\n", "100000\n") is None
    assert [memory_limit(text) for text in ("1024\n", "max\n", UNLIMITED_V1, "", "-1")] == [
        1024,
        None,
        None,
        None,
        None,
    ]


def cores(siblings: str, cpus: int = 4) -> dict[str, str]:
    """Topology in which the threads of a core are listed, e.g. `0,2 1,3`."""
    texts = {}
    for cpu in range(cpus):
        own = next(part for part in siblings.split() if cpu in cpu_list(part))
        texts[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = f"{own}\n"
    return texts


def test_an_x86_server_with_threads_and_two_memory_nodes(tmp_path: Path) -> None:
    texts = {
        "proc/cpuinfo": EPYC,
        **cores("0,2 1,3"),
        "sys/devices/system/node/node0/cpulist": "0,2\n",
        "sys/devices/system/node/node1/cpulist": "1,3\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "amd-pstate-epp\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpufreq/boost": "1\n",
    }
    assert describe_processor(frozenset({0, 1, 2, 3}), files(tmp_path, texts)) == Processor(
        model="AMD EPYC 9R14",
        revision="family 25 model 17 stepping 1",
        physical_cores=2,
        numa_nodes=2,
        clock_policy="amd-pstate-epp performance, turbo",
    )
    pinned = describe_processor(frozenset({0, 2}), tmp_path)
    assert (pinned.physical_cores, pinned.numa_nodes) == (1, 1)


@pytest.mark.parametrize(
    ("name", "text", "policy"),
    [
        ("cpufreq/boost", "0", "no turbo"),
        ("cpufreq/boost", "1", "turbo"),
        ("intel_pstate/no_turbo", "1", "no turbo"),
        ("intel_pstate/no_turbo", "0", "turbo"),
        ("intel_pstate/no_turbo", "?", ""),
        ("cpu0/cpufreq/scaling_governor", "powersave", "powersave"),
    ],
)
def test_what_is_told_of_the_clocks(tmp_path: Path, name: str, text: str, policy: str) -> None:
    root = files(tmp_path, {f"sys/devices/system/cpu/{name}": f"{text}\n"})
    assert describe_processor(frozenset({0}), root).clock_policy == policy


def test_an_arm_processor_is_known_by_its_part(tmp_path: Path) -> None:
    found = describe_processor(frozenset({0}), files(tmp_path, {"proc/cpuinfo": GRAVITON}))
    assert found.revision == "implementer 0x41 part 0xd40 variant 0x1 revision 1"


def test_a_system_that_tells_nothing(tmp_path: Path) -> None:
    found = describe_processor(frozenset({0}), tmp_path)
    assert (found.revision, found.physical_cores, found.numa_nodes, found.clock_policy) == ("", None, None, "")


def test_lists_of_processors() -> None:
    assert [sorted(cpu_list(text)) for text in ("0-2,5", "3\n", "", "x,1")] == [[0, 1, 2, 5], [3], [], [1]]
