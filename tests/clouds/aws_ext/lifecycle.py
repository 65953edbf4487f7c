"""Time in transitional states (pending, shutting-down, creating, …), shared by all subjects.

States are computed from the clock when they are read: no thread changes them.
"""

import time

#: How long an object stays in each transitional state, in seconds (`--settle`).
SETTLE_SECONDS = 0.2


class Clock:
    """A moment from which an object's transitional state is measured."""

    def __init__(self):
        self.restart()

    def restart(self):
        self.start = time.monotonic()

    def settled(self):
        """Whether the transitional state is over."""
        return time.monotonic() - self.start >= SETTLE_SECONDS
