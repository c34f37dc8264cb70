"""The description of ``/api`` as OpenAPI: made from the tables by which requests are checked."""

import json
import sys
from typing import Any

from veilroute import __version__
from veilroute.studio.files import KINDS
from veilroute.studio.schema import ID, JOB_KINDS, RESULT, group_schema
from veilroute.studio.store import STATES

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_NUMBER = {"type": "number"}
_JSON = "application/json"


def openapi() -> dict[str, Any]:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "veilroute studio",
            "version": __version__,
            "description": "Files and jobs of `veilroute serve`. The secret is never sent here. Errors are one line in "
            "`error`. When the server listens elsewhere than on this machine, every request needs its token.",
        },
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "refused": {
                    "description": "Why it is not done, in one line.",
                    "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
            },
        },
        "security": [{}, {"token": []}],
    }


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _schemas() -> dict[str, Any]:
    numbers = ("mac", "bound", "gap")
    progress = {"stage": _TEXT, "done": _WHOLE, "total": _WHOLE, "hidden": _or_null(_WHOLE)}
    progress |= {name: _or_null(_NUMBER) for name in numbers} | {"elapsed_s": _NUMBER}
    lines = {"type": "array", "items": _TEXT}
    job = {
        "id": _id("job"),
        "kind": {"type": "string", "enum": list(JOB_KINDS)},
        "params": {"type": "object"},
        "state": {"type": "string", "enum": list(STATES)},
        "created": _NUMBER,
        "started": _or_null(_NUMBER),
        "finished": _or_null(_NUMBER),
        "attempt": _WHOLE,
        "progress": _or_null(_ref("Progress")),
        "results": lines,
        "error": _or_null(_TEXT),
        "exit_code": _or_null(_WHOLE),
        "remarks": lines,
    }
    file = {
        "id": _id("file"),
        "name": _TEXT,
        "kind": {"type": "string", "enum": list(KINDS)},
        "bytes": _WHOLE,
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "created": _NUMBER,
    }
    requests = [
        _object({"kind": {"const": kind}, "params": group_schema(fields)}, additionalProperties=False)
        for kind, fields in JOB_KINDS.items()
    ]
    return {
        "Error": _object({"error": _TEXT}),
        "File": _object(file),
        "Job": _object(job),
        "Progress": _object(progress),
        "JobRequest": {"oneOf": requests},
        "About": _object(
            {"version": _TEXT, "limits": {"type": "object"}, "demo": {"type": "boolean"}, "files": _WHOLE}
        ),
    }


def _id(what: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{ID.pattern}$", "description": f"Of a {what}."}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answers(
    status: int, about: str, schema: dict[str, Any] | None, *refusals: int, kind: str = _JSON
) -> dict[str, Any]:
    good: dict[str, Any] = {"description": about}
    if schema is not None:
        good["content"] = {kind: {"schema": schema}}
    refused = {"$ref": "#/components/responses/refused"}
    return {str(status): good, **{str(code): refused for code in (*refusals, 401, 403, 421)}}


def _asked(name: str, place: str, schema: dict[str, Any], *, is_needed: bool = True) -> dict[str, Any]:
    return {"name": name, "in": place, "required": is_needed, "schema": schema}


def _paths() -> dict[str, Any]:
    file, job = _asked("id", "path", _id("file")), _asked("id", "path", _id("job"))
    name = _asked("name", "path", {"type": "string", "pattern": f"^{RESULT.pattern}$"})
    raw = {"type": "string", "format": "binary"}
    octets = "application/octet-stream"
    return {
        "/api/about": {"get": {"summary": "This server.", "responses": _answers(200, "Limits.", _ref("About"))}},
        "/api/openapi.json": {
            "get": {"summary": "This description.", "responses": _answers(200, "OpenAPI.", {"type": "object"})}
        },
        "/api/files": {
            "get": {"summary": "All files.", "responses": _answers(200, "Files.", _list_of("files", "File"))},
            "post": {
                "summary": "Upload a file. A private key is refused.",
                "parameters": [_asked("name", "query", _TEXT)],
                "requestBody": {"required": True, "content": {octets: {"schema": raw}}},
                "responses": _answers(201, "The file.", _ref("File"), 408, 413, 415, 422, 503, 507),
            },
        },
        "/api/files/{id}": {
            "get": {
                "summary": "The file as it came.",
                "parameters": [file],
                "responses": _answers(200, "Its bytes.", raw, 404, kind=octets),
            },
            "delete": {"summary": "Forget it.", "parameters": [file], "responses": _answers(204, "Done.", None, 404)},
        },
        "/api/jobs": {
            "get": {"summary": "Jobs, the newest first.", "responses": _answers(200, "Jobs.", _list_of("jobs", "Job"))},
            "post": {
                "summary": "Queue a job. The same key and the same job: the job that is there already.",
                "parameters": [
                    _asked("Idempotency-Key", "header", {"type": "string", "maxLength": 512}, is_needed=False)
                ],
                "requestBody": {"required": True, "content": {_JSON: {"schema": _ref("JobRequest")}}},
                "responses": _answers(202, "The job.", _ref("Job"), 409, 413, 415, 422, 429, 507),
            },
        },
        "/api/jobs/{id}": {
            "get": {"summary": "One job.", "parameters": [job], "responses": _answers(200, "It.", _ref("Job"), 404)},
            "delete": {
                "summary": "Forget it, with its results; not while it runs.",
                "parameters": [job],
                "responses": _answers(204, "Done.", None, 404, 409),
            },
        },
        "/api/jobs/{id}/events": {
            "get": {
                "summary": "Events: state (a Job), progress (a Progress), result (name, is_final). Ends with the job.",
                "parameters": [job],
                "responses": _answers(200, "Server-sent events.", _TEXT, 404, 503, kind="text/event-stream"),
            }
        },
        "/api/jobs/{id}/cancel": {
            "post": {
                "summary": "End it with the best so far; a second time, at once.",
                "parameters": [job],
                "responses": _answers(202, "The job.", _ref("Job"), 404, 409, 415),
            }
        },
        "/api/jobs/{id}/resume": {
            "post": {
                "summary": "Queue one again that failed, was cancelled or was killed.",
                "parameters": [job],
                "responses": _answers(202, "The job.", _ref("Job"), 404, 409, 415),
            }
        },
        "/api/jobs/{id}/results/{name}": {
            "get": {
                "summary": "A result, to be saved.",
                "parameters": [job, name],
                "responses": _answers(200, "Its bytes.", raw, 404, kind=octets),
            }
        },
    }


def _list_of(key: str, name: str) -> dict[str, Any]:
    return _object({key: {"type": "array", "items": _ref(name)}})


if __name__ == "__main__":
    sys.stdout.write(json.dumps(openapi(), indent=1, ensure_ascii=False) + "\n")
