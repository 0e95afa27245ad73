"""What looks wrong in a run as a whole, over all of its recorded steps."""

from tb_gradgraph.diagnose.run.course import Course, course_of
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.whole_run import find_in_course

__all__ = ["Course", "RunFinding", "course_of", "find_in_course"]
