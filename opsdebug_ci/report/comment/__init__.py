"""What the bot says of a commit, in markdown: the comment, rung by rung, and the words of the check."""

from opsdebug_ci.report.comment.check import check_summary as check_summary
from opsdebug_ci.report.comment.check import check_title as check_title
from opsdebug_ci.report.comment.check import tells_of_acceptance as tells_of_acceptance
from opsdebug_ci.report.comment.ladder import rungs as rungs
from opsdebug_ci.report.comment.policy import wanted as wanted
