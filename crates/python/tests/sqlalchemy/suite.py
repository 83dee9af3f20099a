"""SQLAlchemy's suite of tests for dialects of others, as it is."""

import provision  # noqa: F401
from sqlalchemy.testing.suite import *  # noqa: F403
