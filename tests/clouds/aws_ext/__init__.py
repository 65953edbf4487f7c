"""What gpuform's test cloud adds to moto: a file per subject.

Files named after an AWS subject extend moto's models and responses; `serve`, `middleware`, `admin`, `faults`,
`staleness`, `limits` and `calls` are the server around them. Nothing here is used outside `tests/clouds`.
"""

from . import shared_session as _shared_session  # noqa: F401  (before anything imports moto)
