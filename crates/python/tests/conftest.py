"""SQLAlchemy's own suite has a plugin that takes the whole run over: `sqlalchemy/run.py` runs it by itself."""

collect_ignore = ["sqlalchemy"]
