"""SQLAlchemy's plugin of pytest, which runs its suite of tests for dialects."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.dialects import registry  # noqa: E402

for name in ("quickstep", "quickstep.quickstep"):
    registry.register(name, "quickstep.sqlalchemy", "QuickstepDialect")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
