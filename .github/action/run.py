"""The action's run step: hands the step's environment to the pipeline and exits with the code it returns."""

import os
import sys

from opsdebug_ci.pipeline.action import run_action

# The control side starts isolated: neither the workspace nor PYTHON* variables can change what it imports.
OPSDEBUG = (sys.executable, "-I", "-X", "utf8", "-m", "opsdebug_ci")

sys.exit(run_action(os.environ, opsdebug=OPSDEBUG, stdout=sys.stdout))
