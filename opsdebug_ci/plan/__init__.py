"""From what the person wants to the cases to run: configuration, selection, pairwise cover, what changed."""

from opsdebug_ci.plan.axes import Axes as Axes
from opsdebug_ci.plan.axes import parse_axes as parse_axes
from opsdebug_ci.plan.changed import unchanged as unchanged
from opsdebug_ci.plan.choices import mismatch as mismatch
from opsdebug_ci.plan.configuration import Configuration as Configuration
from opsdebug_ci.plan.configuration import load_configuration as load_configuration
from opsdebug_ci.plan.revision import changed_files as changed_files
from opsdebug_ci.plan.revision import committed_files as committed_files
from opsdebug_ci.plan.revision import content_digest as content_digest
from opsdebug_ci.plan.revision import difference_digest as difference_digest
from opsdebug_ci.plan.revision import read_revision as read_revision
from opsdebug_ci.plan.revision import work_tree as work_tree
from opsdebug_ci.plan.selection import is_glob as is_glob
from opsdebug_ci.plan.selection import select as select
from opsdebug_ci.plan.selection import select_names as select_names
from opsdebug_ci.plan.setting import Performance as Performance
from opsdebug_ci.plan.shard import Shard as Shard
from opsdebug_ci.plan.shard import parse_shard as parse_shard
from opsdebug_ci.plan.shard import shard as shard
from opsdebug_ci.plan.stages import cases as cases
from opsdebug_ci.plan.stages import pair_coverage as pair_coverage
