"""Checks the DKIM signature of the message on standard input.

Usage: verify.py RECORD-NAME RECORD-VALUE. The record stands in for DNS. Prints
the signature's domain and signed header fields as JSON; exits 1 when the
signature is missing or wrong.
"""
import json
import sys

import dkim


def main():
    name, value = sys.argv[1].rstrip("."), sys.argv[2]

    def lookup(asked, timeout=5):
        asked = asked.decode() if isinstance(asked, bytes) else asked
        return value.encode() if asked.rstrip(".") == name else None

    verifier = dkim.DKIM(sys.stdin.buffer.read())
    try:
        good = verifier.verify(dnsfunc=lookup)
    except dkim.DKIMException as error:
        good = False
        print(error, file=sys.stderr)
    if not good:
        sys.exit(1)
    fields = verifier.signature_fields
    print(json.dumps({
        "domain": fields[b"d"].decode(),
        "signed": fields[b"h"].decode().lower().split(":"),
    }))


main()
