"""What a server's routes take and answer, declared beside their handlers, and the OpenAPI documents made of that."""

from sandbox_gym.server.openapi.document import make_document
from sandbox_gym.server.openapi.operations import Content, Header, Operation, Parameter, Reply, parameters_of

__all__ = ["Content", "Header", "Operation", "Parameter", "Reply", "make_document", "parameters_of"]
