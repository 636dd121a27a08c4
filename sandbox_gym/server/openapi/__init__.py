"""Declarations of routes' requests and responses, and OpenAPI documents made of them."""

from sandbox_gym.server.openapi.document import make_document
from sandbox_gym.server.openapi.operations import Content, Header, Operation, Parameter, Reply, parameters_of

__all__ = ["Content", "Header", "Operation", "Parameter", "Reply", "make_document", "parameters_of"]
