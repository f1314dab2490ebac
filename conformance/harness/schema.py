# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
"""A validator of the part of JSON Schema (2020-12) that the manifest's schema uses. Unknown keywords are errors."""

from __future__ import annotations

import re
from typing import Any, Iterator

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}

_ANNOTATIONS = {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples"}


def validate(value: Any, schema: Any) -> list[str]:
    """All faults of a value, each as 'place: what is wrong'. Empty where the value is valid."""
    return list(_check(value, schema, schema, "$"))


def _is(value: Any, name: str) -> bool:
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])


def _same(left: Any, right: Any) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _resolve(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        raise ValueError(f"schema: a reference to another document: {reference}")
    at = root
    for part in reference[1:].split("/")[1:]:
        at = at[part.replace("~1", "/").replace("~0", "~")]
    return at


def _check(value: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{place}: not allowed here"
        return
    for keyword, argument in schema.items():
        if keyword in _ANNOTATIONS or keyword in ("then", "else"):
            continue
        check = _KEYWORDS.get(keyword)
        if check is None:
            raise ValueError(f"schema: unknown keyword {keyword}")
        yield from check(value, argument, schema, root, place)


def _type(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    names = [argument] if isinstance(argument, str) else argument
    if not any(_is(value, name) for name in names):
        yield f"{place}: not of type {' or '.join(names)}"


def _properties(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in argument.items():
            if name in value:
                yield from _check(value[name], part, root, f"{place}.{name}")


def _additional(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        patterns = schema.get("patternProperties", {})
        for name in value:
            if name in schema.get("properties", {}) or any(re.search(pattern, name) for pattern in patterns):
                continue
            if argument is False:
                yield f"{place}: unknown member {name!r}"
            else:
                yield from _check(value[name], argument, root, f"{place}.{name}")


def _pattern_properties(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for pattern, part in argument.items():
            for name in value:
                if re.search(pattern, name):
                    yield from _check(value[name], part, root, f"{place}.{name}")


def _required(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in argument:
            if name not in value:
                yield f"{place}: no member {name!r}"


def _items(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield from _check(element, argument, root, f"{place}[{index}]")


def _unique(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if argument and isinstance(value, list):
        seen: list[Any] = []
        for element in value:
            if any(_same(element, other) for other in seen):
                yield f"{place}: {element!r} occurs twice"
            seen.append(element)


def _enum(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if not any(_same(value, choice) for choice in argument):
        yield f"{place}: {value!r} is none of {', '.join(map(repr, argument))}"


def _const(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if not _same(value, argument):
        yield f"{place}: {value!r} is not {argument!r}"


def _pattern(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, str) and not re.search(argument, value):
        yield f"{place}: {value!r} does not match {argument}"


def _bound(measure: Any, below: bool, words: str) -> Any:
    def check(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
        size = measure(value)
        if size is not None and (size < argument if below else size > argument):
            yield f"{place}: {words} {argument}"

    return check


def _number(value: Any) -> Any:
    return value if _is(value, "number") else None


def _length(kind: Any) -> Any:
    return lambda value: len(value) if isinstance(value, kind) else None


def _all_of(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    for part in argument:
        yield from _check(value, part, root, place)


def _any_of(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    faults = [list(_check(value, part, root, place)) for part in argument]
    if all(faults):
        yield from min(faults, key=len)


def _one_of(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    faults = [list(_check(value, part, root, place)) for part in argument]
    good = sum(not fault for fault in faults)
    if good == 0:
        yield from min(faults, key=len)
    elif good > 1:
        yield f"{place}: fits {good} of the alternatives"


def _not(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if not list(_check(value, argument, root, place)):
        yield f"{place}: is what it must not be"


def _if(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    branch = "else" if list(_check(value, argument, root, place)) else "then"
    if branch in schema:
        yield from _check(value, schema[branch], root, place)


def _ref(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    yield from _check(value, _resolve(argument, root), root, place)


def _property_names(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name in value:
            yield from _check(name, argument, root, f"{place}: the name {name!r}")


def _contains(value: Any, argument: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    if isinstance(value, list) and all(list(_check(element, argument, root, place)) for element in value):
        yield f"{place}: no element is as one has to be"


_KEYWORDS = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "patternProperties": _pattern_properties,
    "propertyNames": _property_names,
    "required": _required,
    "items": _items,
    "contains": _contains,
    "uniqueItems": _unique,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "minimum": _bound(_number, True, "less than"),
    "maximum": _bound(_number, False, "greater than"),
    "minLength": _bound(_length(str), True, "shorter than"),
    "maxLength": _bound(_length(str), False, "longer than"),
    "minItems": _bound(_length(list), True, "fewer than"),
    "maxItems": _bound(_length(list), False, "more than"),
    "minProperties": _bound(_length(dict), True, "fewer members than"),
    "maxProperties": _bound(_length(dict), False, "more members than"),
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _ref,
}
