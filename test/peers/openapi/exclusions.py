"""Failures that schemathesis reports and that are none, each with its reason. Everything else fails the test."""

import re

import schemathesis

# Refusals that depend on records, on numbering plans or on two parts of a request at once: a schema cannot state them.
BEYOND_A_SCHEMA = {
    "ADDRESS_NOT_AUTHORIZED": "the number belongs to nobody or to another customer",
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

# The same for refusals with the code VALIDATION_ERROR, by their message.
BEYOND_A_PATTERN = {
    r"^cursor must be the nextCursor": "the content of a cursor must decode to a position: a pattern states its form only",
    r"^cursor: comes from a ": "a list and a feed share one operation, and each takes its own cursors",
    r"^[a-zA-Z]+: is a parameter of the list; a stream begins": "a list and a stream share one operation",
    r"^[a-zA-Z]+: is a parameter of a stream": "a list and a stream share one operation",
    r"^[a-zA-Z.]+: differs from .* alias": "an alias may be sent beside its name if both are equal",
    r"is no request in the log$": "the request does not exist",
    r"^[\w.\[\]]+: must be base64 ": "a pattern would be matched against files of megabytes",
    r"^[\w.\[\]]+: is .*, which is no media type": "a media type has a name that only a long pattern states",
    r"^amount: must be 0\.01 to ": "two decimals of a number: multipleOf 0.01 fails for binary fractions",
    r"^reaction: must be love, .* or one emoji": "which signs are an emoji is a table of Unicode",
    r"^mentions\[\d+\]: ": "a mention must lie within the text, in UTF-16 units",
    r": a contact needs a phoneNumber or an email": "the stored contact counts, too",
    r"must not contain NUL": "no text may contain NUL, and a pattern at every text would say so a hundred times",
    r"must be a time zone of the IANA database": "which names of that form exist is a table",
    r"names no conversation: there is no": "the chat does not exist",
    r"is no event of this customer": "the event does not exist",
    # The message quotes the beginning of a long address only.
    r"must be a phone number in E.164 form.*(@|…)": "a label of a host name has at most 63 characters, which a pattern states only with a lookahead",
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure counts."""
    code = getattr(failure, "code", "")
    if code == "ST108" and response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
        # The document describes the stream as text; schemathesis compares each event with that schema.
        return False
    if code != "ST202" or response.status_code != 400:
        return True
    error = response.json()["error"]
    if error["code"] == "VALIDATION_ERROR":
        # OpenAPI cannot state that two query parameters exclude each other.
        if case.method == "GET" and ": cannot be used together with " in error["message"]:
            return False
        return not any(re.search(pattern, error["message"]) for pattern in BEYOND_A_PATTERN)
    return error["code"] not in BEYOND_A_SCHEMA


@schemathesis.hook
def map_case(context, case):
    """Leaves one idempotency key: a header and a field that differ are refused, and no schema can say so."""
    if isinstance(case.body, dict) and "idempotencyKey" in case.body and case.headers:
        case.headers.pop("Idempotency-Key", None)
    return case
