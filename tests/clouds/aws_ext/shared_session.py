"""One boto3 session for all of moto: each new session parses AWS's endpoint list again, a third of the start-up time.

Must be imported before any part of moto.
"""

import boto3

_SESSION = boto3.Session()
_MADE = boto3.Session


def session(*args, **kwargs):
    """In place of `boto3.Session`: the shared session, unless one with settings of its own is asked for."""
    return _MADE(*args, **kwargs) if args or kwargs else _SESSION


boto3.Session = session
