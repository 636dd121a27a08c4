"""Makes an OpenAPI 3.1 document of declared operations; pydantic makes the schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, cast

from pydantic import TypeAdapter

from sandbox_gym import __version__
from sandbox_gym.server.openapi.operations import Content, Header, Operation, Parameter, Reply

Json = dict[str, object]
_Mode = Literal["validation", "serialization"]
_REFERENCE: Final = "#/components/schemas/{model}"
_BINARY: Final[Json] = {"type": "string", "format": "binary"}
SECURITY: Final[Mapping[str, Json]] = {
    "token": {"type": "http", "scheme": "bearer", "description": "The server's token, or a tenant's."},
    "api_key": {"type": "apiKey", "in": "header", "name": "X-API-KEY", "description": "A tenant's key."},
    "access_token": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Access-Token",
        "description": "The sandbox's token: `envdAccessToken` of the response that created it.",
    },
    "traffic_token": {
        "type": "apiKey",
        "in": "header",
        "name": "E2B-Traffic-Access-Token",
        "description": "The sandbox's traffic token: `trafficAccessToken` of the response that created it.",
    },
}


def make_document(title: str, description: str, operations: Sequence[Operation]) -> Json:
    """The document. Raises ValueError where two operations have one method and path, or one id."""
    schemas = _Schemas(operations)
    paths: dict[str, Json] = {}
    for operation in operations:
        methods = paths.setdefault(operation.template, {})
        if operation.method.lower() in methods:
            raise ValueError(f"{operation.method} {operation.path} is declared twice")
        methods[operation.method.lower()] = _operation(operation, schemas)
    ids = [operation.operation_id for operation in operations]
    if len(ids) != len(set(ids)):
        raise ValueError(f"operation ids are repeated: {sorted(one for one in ids if ids.count(one) > 1)}")
    used = {name for operation in operations for name in operation.security}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__, "description": description},
        "paths": paths,
        "components": {
            "schemas": schemas.definitions,
            "securitySchemes": {name: scheme for name, scheme in SECURITY.items() if name in used},
        },
    }


class _Schemas:
    """Each shape's schema, with models as references to the document's components."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        inputs: dict[tuple[int, _Mode], TypeAdapter[object]] = {}
        for content, mode in _contents(operations):
            if content.shape is not None:
                inputs.setdefault((id(content.shape), mode), TypeAdapter(cast("type[object]", content.shape)))
        found, rest = TypeAdapter.json_schemas(
            [(key, mode, adapter) for (key, mode), adapter in inputs.items()], ref_template=_REFERENCE
        )
        self._found = found
        self.definitions: Json = rest.get("$defs", {})

    def of(self, content: Content, mode: _Mode) -> Json:
        return dict(_BINARY) if content.shape is None else self._found[id(content.shape), mode]


def _contents(operations: Iterable[Operation]) -> Iterable[tuple[Content, _Mode]]:
    for operation in operations:
        for content in operation.bodies:
            yield content, "validation"
        for reply in operation.replies.values():
            for content in reply.contents:
                yield content, "serialization"


def _operation(operation: Operation, schemas: _Schemas) -> Json:
    missing = set(operation.path_parameters) - {one.name for one in operation.parameters if one.within == "path"}
    if missing:
        raise ValueError(f"{operation.method} {operation.path}: {sorted(missing)} is not declared")
    document: Json = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": [_parameter(one) for one in operation.parameters],
        "responses": {str(status): _reply(one, schemas) for status, one in sorted(operation.replies.items())},
        "security": [*({name: []} for name in operation.security)],
    }
    if operation.description:
        document["description"] = operation.description
    if operation.bodies:
        content = {one.media_type: _media(one, schemas, "validation") for one in operation.bodies}
        document["requestBody"] = {"required": operation.body_required, "content": content}
    return document


def _reply(reply: Reply, schemas: _Schemas) -> Json:
    document: Json = {"description": reply.description}
    if reply.contents:
        document["content"] = {one.media_type: _media(one, schemas, "serialization") for one in reply.contents}
    if reply.headers:
        document["headers"] = {one.name: _header(one) for one in reply.headers}
    return document


def _media(content: Content, schemas: _Schemas, mode: _Mode) -> Json:
    # OpenAPI 3.1 has no schema for binary responses; request bodies get one, for clients that generate data
    bytes_back = content.shape is None and mode == "serialization"
    document: Json = {} if bytes_back else {"schema": schemas.of(content, mode)}
    if content.examples:
        document["examples"] = {name: {"value": value} for name, value in content.examples.items()}
    return document


def _header(header: Header) -> Json:
    return {"description": header.description, "required": header.always, "schema": dict(header.schema)}


def _parameter(parameter: Parameter) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.within,
        "required": parameter.required or parameter.within == "path",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
