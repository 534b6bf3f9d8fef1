"""The job on GitHub: its event, its annotations, its summary, its outputs. The only reader of GITHUB_* variables."""

from opsdebug_ci.github.annotations import annotate as annotate
from opsdebug_ci.github.artifact import artifact_of as artifact_of
from opsdebug_ci.github.event import Event as Event
from opsdebug_ci.github.event import actor as actor
from opsdebug_ci.github.event import ci_context as ci_context
from opsdebug_ci.github.event import read_event as read_event
from opsdebug_ci.github.outputs import write_outputs as write_outputs
from opsdebug_ci.github.summary import append_summary as append_summary
from opsdebug_ci.github.workflow_commands import Annotation as Annotation
from opsdebug_ci.github.workflow_commands import render_annotations as render_annotations
