"""What an operator did to memory that is not its own, and what the guards around that memory can claim."""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Access, PageMode, Profile, Role, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReading:
    """Bytes that changed though nothing was declared to change them."""

    argument: str
    """Tensor it is about: an argument's place, an output's name, or an allocation of the operator's own in words."""

    side: Side
    """Where the bytes lie; a reading is about one side."""

    bytes_changed: int
    """How many."""

    first_offset: int
    """Offset of the first, in bytes from the tensor's first element; negative: before it."""

    role: Role = Role.INPUT
    """What the tensor is to the operator."""

    nearest_bytes: int = 0
    """Distance of the nearest of them from the storage, 1 for the byte beside it; 0 in the storage."""

    farthest_bytes: int = 0
    """Distance of the farthest."""

    wanted_hex: str = ""
    """What the first sixteen held before."""

    found_hex: str = ""
    """What they hold now."""

    value: str | None = None
    """The first overwritten element as the tensor's dtype reads it, or whose value it is; None: cannot be said."""

    step: str | None = None
    """First step after which it showed; None: not looked for."""

    place: str | None = None
    """`file:line` of that step in the user's code."""

    @property
    def inside(self) -> bool:
        """Elements of the tensor itself changed, rather than bytes around them."""
        return self.side is Side.INSIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRead:
    """Output elements that follow bytes which belong to no element of any argument."""

    side: Side
    """Where those bytes lie; `tail` stands for both ends until a later launch tells them apart."""

    argument: str | None
    """Whose storage; None: it was not told apart."""

    output: str
    """Which output follows them."""

    elements: int
    """How many of its elements."""

    fill: str
    """What the bytes held when it showed, e.g. `NaN`."""

    step: str | None = None
    """First step whose values follow them; None: not looked for."""

    place: str | None = None
    """`file:line` of that step in the user's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasReading:
    """An output that shares memory with an argument or with another output, undeclared."""

    output: str
    """Which output."""

    other: str
    """Argument or output it shares memory with."""

    role: Role
    """What the other one is."""

    bytes_shared: int
    """How many bytes elements of both lie in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutChange:
    """A tensor whose shape, strides, offset or storage is another than before, undeclared."""

    tensor: str
    """Argument or checkpoint; a list, dict or item of one that is an argument."""

    field: str
    """`shape`, `stride`, `offset`, `storage` or `dtype`; `content` of a list or dict, `object` of an item."""

    before: str
    """What it was."""

    after: str
    """What it is."""

    step: str | None = None
    """First step after which it showed; None: not looked for."""

    place: str | None = None
    """`file:line` in the user's code; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFacts:
    """What the guards of a case can claim."""

    profile: Profile
    """How much was done."""

    zone_bytes: int
    """Bytes watched on either side of every storage: writes farther away are not seen."""

    launches: int
    """Launches of the operator, the first included."""

    scratch: bool
    """The operator's own allocations were guarded too."""

    note: str | None = None
    """Why less was guarded than could be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFault:
    """What watched pages caught: one kind of access, by one line."""

    access: Access
    """Read or written."""

    side: Side
    """Where: behind, before, or in an argument nobody may write."""

    place: str | None
    """`file:line` in the user's code; None: no line is known."""

    frames: tuple[str, ...]
    """Innermost last, `file:line function`."""

    modes: tuple[PageMode, ...]
    """Modes in which it died; together they tell reads from writes."""

    argument: str | None = None
    """Whose storage; None: it was not told apart."""

    source: str | None = None
    """That line of code; None: it could not be read."""

    own: bool = False
    """It is a tensor that the operator made, rather than an argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLaunch:
    """One launch under watched pages."""

    mode: PageMode
    """Which pages were watched."""

    alignment: int
    """Bytes that the beginnings of storages were multiples of."""

    protected: bool
    """False: pages were open, so that what died there died of something else."""

    died: bool
    """It ended its process as one does that touches a protected page."""

    place: str | None = None
    """`file:line` in the user's code where it died."""

    frames: tuple[str, ...] = ()
    """Where it died, innermost last, `file:line function`."""

    reason: str | None = None
    """Why nothing was learnt of it; None: something was."""

    only: str | None = None
    """Argument whose pages alone were watched; None: those of all tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInquiry:
    """What a case did to watched pages."""

    launches: tuple[PageLaunch, ...]
    """In the order they were made."""

    faults: tuple[PageFault, ...]
    """At most the first of each access on each side: a process dies once."""

    notes: tuple[str, ...]
    """What a reader must know."""

    @property
    def watched(self) -> bool:
        """Whether any launch could be watched at all."""
        return any(launch.reason is None for launch in self.launches)
