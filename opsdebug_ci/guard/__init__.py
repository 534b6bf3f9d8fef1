"""Guards around one launch: fresh copies of the arguments, fresh memory with a known fill, bytes before and after."""

from opsdebug_ci.guard.addresses import SameAddresses as SameAddresses
from opsdebug_ci.guard.allocations import FreshFills as FreshFills
from opsdebug_ci.guard.allocations import FreshMemory as FreshMemory
from opsdebug_ci.guard.allocations import fresh_memory as fresh_memory
from opsdebug_ci.guard.fills import FILL_A as FILL_A
from opsdebug_ci.guard.fills import FILL_B as FILL_B
from opsdebug_ci.guard.fills import byte_for as byte_for
from opsdebug_ci.guard.fills import fill_bytes as fill_bytes
from opsdebug_ci.guard.fills import soil_heap as soil_heap
from opsdebug_ci.guard.grounds import Grounds as Grounds
from opsdebug_ci.guard.grounds import Laid as Laid
from opsdebug_ci.guard.grounds import ZoneFills as ZoneFills
from opsdebug_ci.guard.location import Locator as Locator
from opsdebug_ci.guard.patterns import Fill as Fill
from opsdebug_ci.guard.sharing import shared_memory as shared_memory
from opsdebug_ci.guard.storages import Snapshot as Snapshot
from opsdebug_ci.guard.storages import clone_values as clone_values
