"""Failures that schemathesis reports and that are none, each with its reason; and what becomes of requests before they are sent."""

import itertools
import os
import re

import schemathesis

# Ids of the keys that authorize the requests of this run.
KEYS_IN_USE = os.environ.get("TB_KEYS_IN_USE", "").split()

# Refusals that depend on records, on numbering plans or on the clock: a schema cannot state them.
BEYOND_A_SCHEMA = {
    "CHANNEL_NOT_SUPPORTED": "the channel of the message or chat has no such action",
    "GROUP_SMS_UNSUPPORTED": "the chat is an SMS chat",
    "INVALID_PHONE_NUMBER": "the number has the form of E.164 and is impossible in its country",
    "INVALID_STATUS": "the record's status does not allow the action",
    "NO_CHANNEL_AVAILABLE": "the sender has no channel of the preference",
    "NO_DEFAULT_ADDRESS": "the customer has no number",
    "NOT_SCHEDULED": "the message is not scheduled",
    "SCHEDULED_IN_PAST": "the time is over",
    "SCHEDULED_TOO_FAR": "the time is more than 30 days ahead",
}

# The same for refusals with the code VALIDATION_ERROR, by the operation and each detail.
BEYOND_A_PATTERN = {
    r"^PATCH /v1/admin/instances/\{id\} config\b": "the provider of the stored instance decides which settings there are",
    r": (must be in the future|is not in the future|is more than 30 days ahead)": "the clock decides",
    r": (must be (later than since|before (to|now))|asks for \d+ points)": "the two ends of a period decide together",
    r": (must start with https://; |leads to .* not a public address)": "the operator decides which private addresses are open",
    r": (names no conversation: )?there is no \S+": "the record does not exist",
    r" is no (request in the log|event of this customer)": "the record does not exist",
    r": cannot be used together with ": "two query parameters exclude each other",
    r": is a parameter of (the list; a stream begins|a stream)": "a list and a stream share one operation",
    r": is not a possible phone number": "the number has the form of E.164 and is impossible in its country",
    r": differs from .* alias": "an alias may be sent beside its name if both are equal",
    r"(, which cannot be sent; |, but the file is )": "the bytes of a file decide, and which types can be sent is a table",
    r" amount: must be 0\.01 to ": "two decimals of a number: multipleOf 0.01 fails for binary fractions",
    r" (type|reaction): must be love, .* or one emoji": "which signs are an emoji is a table of Unicode",
    r" mentions\[\d+\]: ": "a mention must lie within the text, in UTF-16 units",
    r": a contact needs a phoneNumber or an email": "the stored contact counts, too",
    r" (number|to): is the phone itself": "the contact's number is the customer's own",
    r": is a number that cannot be returned as it came: write it as a string": "a schema states ranges, and not which numbers JSON keeps",
    r"^PUT /v1/opt-outs/settings (keywords|resume)\[\d+\]: ": "two lists exclude each other, in the form in which words are compared",
    r"must be a time zone of the IANA database": "which names of that form exist is a table",
    # The message quotes the beginning of a long address only, and that of a recipient nothing.
    r"must be a phone number in E.164 form.*(@|…|address$)": "a part of an e-mail address has at most 63 or 64 characters, which a pattern states only with a lookahead",
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure counts."""
    code = getattr(failure, "code", "")
    if code != "ST202" or response.status_code != 400:
        return True
    error = response.json()["error"]
    if error["code"] != "VALIDATION_ERROR":
        return error["code"] not in BEYOND_A_SCHEMA
    operation = f"{case.method} {case.path}"
    found = [f"{operation} {detail['path']}: {detail['message']}" for detail in error.get("details", [error | {"path": ""}])]
    return not all(any(re.search(pattern, one) for pattern in BEYOND_A_PATTERN) for one in found)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out requests that open a stream: it ends when the client leaves."""
    return not (case.path == "/v1/events" and "events" in (case.query or {}))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Changes a request in ways that `filter_case` cannot: ids of responses and cursors come into it later."""
    if case.path.startswith("/v1/admin/keys/") and (case.path_parameters or {}).get("id") in KEYS_IN_USE:
        case.path_parameters = {**case.path_parameters, "id": "key_spared"}
    if isinstance(case.body, (dict, list)):
        case.body = nowhere(case.body)
    if case.meta is not None and case.meta.generation.mode.is_positive:
        be_new(case)
        if case.path == "/v1/sandbox/wait":
            # It would wait up to 30 s for an event.
            case.query = {**(case.query or {}), "timeoutSeconds": 0}


# Fields whose host the service would call.
HOSTS = {"url", "callbackUrl", "mediaUrl", "mediaUrls", "baseUrl", "host"}


def nowhere(value, name=None):
    """The value with every host under `.invalid`, which no name server knows (RFC 2606): nothing is sent to strangers."""
    if isinstance(value, dict):
        return {key: nowhere(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [nowhere(inner, name) for inner in value]
    if not isinstance(value, str) or name not in HOSTS:
        return value
    if name == "host":
        return f"{value}.invalid" if 0 < len(value) <= 240 else value
    return re.sub(r"^(https?://[^/?#:\\]+)", r"\1.invalid", value, flags=re.IGNORECASE)[: max(2048, len(value))]


numbers = itertools.count()


def be_new(case):
    """
    Gives a valid request an idempotency key of its own, in one place, since a key that was used before or that differs
    between header and body is refused. Removes the cursor: the service makes cursors, and no pattern describes their content.
    """
    if case.query and "cursor" in case.query:
        case.query = {name: value for name, value in case.query.items() if name != "cursor"}
    headers = dict(case.headers or {})
    key = headers.pop("Idempotency-Key", None)
    if isinstance(case.body, dict) and "idempotencyKey" in case.body:
        case.body = {**case.body, "idempotencyKey": f"{next(numbers)} {case.body['idempotencyKey']}"[:255]}
        case.headers = headers
    elif key is not None:
        case.headers = {**headers, "Idempotency-Key": f"{next(numbers)} {key}"[:255].rstrip()}
