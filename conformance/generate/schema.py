# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""As much of JSON Schema as the manifest's schema uses, so that checking it needs no package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "integer": int}
KNOWN = {
    "$schema",
    "$comment",
    "$defs",
    "$ref",
    "title",
    "type",
    "const",
    "enum",
    "pattern",
    "minLength",
    "minimum",
    "items",
    "minItems",
    "properties",
    "required",
    "additionalProperties",
    "oneOf",
}


class Schema:
    """A schema whose references stay inside it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def problems(self, value: Any, schema: dict[str, Any] | None = None, at: str = "$") -> Iterator[str]:
        """What is wrong with a value; nothing where it is as the schema says."""
        schema = self.document if schema is None else schema
        assert set(schema) <= KNOWN, f"{at}: this checker does not know {set(schema) - KNOWN}"
        if "$ref" in schema:
            yield from self.problems(value, self.document["$defs"][schema["$ref"].removeprefix("#/$defs/")], at)
        if "type" in schema and not isinstance(value, TYPES[schema["type"]]):
            yield f"{at}: not of type {schema['type']}"
            return
        if "const" in schema and value != schema["const"]:
            yield f"{at}: not {schema['const']}"
        if "enum" in schema and value not in schema["enum"]:
            yield f"{at}: not one of {schema['enum']}"
        if "oneOf" in schema:
            fits = [not any(self.problems(value, branch, at)) for branch in schema["oneOf"]]
            if sum(fits) != 1:
                yield f"{at}: fits {sum(fits)} of the forms"
        if isinstance(value, dict):
            yield from self._object(value, schema, at)
        if isinstance(value, list):
            if len(value) < schema.get("minItems", 0):
                yield f"{at}: too few elements"
            for i, element in enumerate(value if "items" in schema else []):
                yield from self.problems(element, schema["items"], f"{at}[{i}]")
        if isinstance(value, str):
            if "pattern" in schema and not re.search(schema["pattern"], value):
                yield f"{at}: {value!r} does not match {schema['pattern']}"
            if len(value) < schema.get("minLength", 0):
                yield f"{at}: too short"
        if isinstance(value, int) and value < schema.get("minimum", value):
            yield f"{at}: too small"

    def _object(self, value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
        members = schema.get("properties", {})
        yield from (f"{at}: lacks {name}" for name in schema.get("required", []) if name not in value)
        for name, member in value.items():
            if name in members:
                yield from self.problems(member, members[name], f"{at}.{name}")
            elif not schema.get("additionalProperties", True):
                yield f"{at}: {name} is not known"
