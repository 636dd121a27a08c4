"""NeMo Gym's own verify: its body as it comes, its answer the body with the verdict's fields over it. Beside it the
short row, whose answer is the verdict's fields alone."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request, Response

from sandbox_gym.errors import Unavailable
from sandbox_gym.server.protocol.envelope import body_of
from sandbox_gym.server.protocol.exchange import reply, unavailable
from sandbox_gym.server.protocol.resources import no_verdict
from sandbox_gym.server.protocol.shapes import NO_VERDICT_HEADER
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest, set_aside


class GymProtocol:
    """`rows_without_verdict`: "no verdict" is a masked row with status 200 for every client."""

    def __init__(self, *, rows_without_verdict: bool) -> None:
        self._rows_without_verdict = rows_without_verdict

    async def verify_body(self, body: Document) -> Document:
        """It is one already."""
        return body

    def verdict_reply(self, body: Document, fields: Document, headers: Mapping[str, str]) -> Response:
        """The whole row."""
        return reply(set_aside({**body, **fields}), 200, headers)

    def no_verdict_reply(
        self, request: Request, wanted: VerifyRequest, none: VerifyFields, error: Unavailable
    ) -> Response:
        """503 (422 where a retry would find the same), or 200 for a client that can't retry; masked either way."""
        return self._masked(request, none.answer(wanted), error)

    def _masked(self, request: Request, document: Document, error: Unavailable) -> Response:
        document = set_aside(document)
        return reply(document) if self.wants_row(request) else unavailable(error, document)

    def failed_seed_reply(self, server_name: str, error: Unavailable, document: Document, *, by_id: bool) -> Response:
        """200 for a client that would end its whole run at anything else; the session's verify has no verdict then.
        `by_id`: the client takes no field that NeMo Gym does not name, and is told in the header alone."""
        none = no_verdict(server_name, error)
        told = {"mask_sample": True, "failure_kind": none.failure_kind, "failure_reason": none.failure_reason}
        headers = {NO_VERDICT_HEADER: none.failure_kind or error.failure_kind}
        return reply(document if by_id else {**document, **told}, 200, headers)

    def wants_row(self, request: Request) -> bool:
        """Whether "no verdict" is answered with status 200: every request's, or this client's wish."""
        return self._rows_without_verdict or _wants_body(request)


class ShortProtocol(GymProtocol):
    """A row with the answer's text beside its task. Its sender has the row, which is not sent back."""

    async def verify_body(self, body: Document) -> Document:
        """Raises RequestError."""
        return body_of(body)

    def verdict_reply(self, body: Document, fields: Document, headers: Mapping[str, str]) -> Response:
        return reply(set_aside(fields), 200, headers)

    def no_verdict_reply(
        self, request: Request, wanted: VerifyRequest, none: VerifyFields, error: Unavailable
    ) -> Response:
        return self._masked(request, none.document(), error)


def _wants_body(request: Request) -> bool:
    """Whether this client can't retry, and wants "no verdict" as a 200."""
    wish = request.headers.get(NO_VERDICT_HEADER) or request.query_params.get("no_verdict") or ""
    return wish.strip().lower() == "body"
