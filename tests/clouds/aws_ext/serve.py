"""Builds the HTTP server: moto's application, extended, behind the middleware.

Called by `aws.py` only. No AWS behaviour lives here.
"""

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from . import autoscaling, ec2, iam, kms, lifecycle, s3
from .middleware import Middleware


class QuietHandler(MotoRequestHandler):
    """Moto's request handler without an access log."""

    def log_request(self, *_args):
        pass


def create_server(port, region, settle, log):
    """Returns a bound threaded server on 127.0.0.1; `settle` is in seconds, see `lifecycle`."""
    lifecycle.SETTLE_SECONDS = settle
    for service in (autoscaling, ec2, iam, kms, s3):
        service.install()
    ec2.backend(DEFAULT_ACCOUNT_ID, region)
    application = Middleware(DomainDispatcherApplication(create_backend_app), log)
    return make_server("127.0.0.1", port, application, threaded=True, request_handler=QuietHandler)
