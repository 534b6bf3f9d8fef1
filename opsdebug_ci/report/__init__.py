"""A run as others read it: the document, JSON, text, markdown. Pure: everything here returns a value."""

from opsdebug_ci.report.attribution import attribution_text as attribution_text
from opsdebug_ci.report.compare import compare_text as compare_text
from opsdebug_ci.report.document import document as document
from opsdebug_ci.report.failures import failures_text as failures_text
from opsdebug_ci.report.json_format import decode as decode
from opsdebug_ci.report.json_format import decode_published as decode_published
from opsdebug_ci.report.json_format import encode as encode
from opsdebug_ci.report.json_format import schema_text as schema_text
from opsdebug_ci.report.markdown import markdown as markdown
from opsdebug_ci.report.pages import pages_text as pages_text
from opsdebug_ci.report.profile import profile_text as profile_text
from opsdebug_ci.report.respelling import respelled as respelled
from opsdebug_ci.report.respelling import spelled as spelled
from opsdebug_ci.report.selftest import selftest_text as selftest_text
from opsdebug_ci.report.text import text as text
from opsdebug_ci.report.trace import trace_text as trace_text
