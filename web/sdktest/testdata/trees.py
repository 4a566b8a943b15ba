"""Makes messages as programs hand them in by SMTP: trees of parts by Python's email
package, with inline images, calendars, PGP/MIME and S/MIME, messages in the message,
every transfer encoding, 8-bit headers, and long lines.

Usage: trees.py make COUNT SEED prints them as JSON lines. trees.py judge NAME VALUE reads
pairs of handed in and arrived messages as JSON lines and prints what is wrong with an
arrived one: its DKIM signature by the record NAME with VALUE, or what it says.
"""
import base64
import json
import random
import sys
from email import message_from_bytes, policy
from email.generator import BytesGenerator
from email.message import EmailMessage
from io import BytesIO

import dkim

WORDS = ["Hello", "Grüße aus Köln", "こんにちは世界", ".", ".. dots", "From the start", "trailing  \t", "", "--", "-- ",
         "x" * 998, "ä" * 499, "=3D", "a\tb", "<b>bold</b>", "Zażółć gęślą jaźń"]
IMAGE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def text(self):
        return "\n".join(self.r.choice(WORDS) for _ in range(self.r.randint(0, 12))) + "\n"

    def data(self):
        return self.r.randbytes(self.r.randint(0, 3000))

    def leaf(self, kind="plain"):
        m = EmailMessage(policy=policy.SMTPUTF8)
        text, cte = self.text(), self.r.choice(["7bit", "8bit", "quoted-printable", "base64"])
        charset = "utf-8"
        if cte == "7bit":
            text = "".join(c for c in text if ord(c) < 128)
            charset = "us-ascii"
        m.set_content(text, subtype=kind, charset=charset, cte=cte)
        return m

    def file(self):
        m = EmailMessage(policy=policy.SMTPUTF8)
        name = self.r.choice(["a.bin", "résumé.pdf", "a b.txt", "日本.dat"])
        m.set_content(self.data(), "application", "octet-stream", disposition="attachment", filename=name)
        return m

    def image(self):
        m = EmailMessage(policy=policy.SMTPUTF8)
        m.set_content(IMAGE + self.data(), "image", "png", disposition="inline", filename="logo.png", cid="<logo@example.test>")
        return m

    def calendar(self):
        m = EmailMessage(policy=policy.SMTPUTF8)
        m.set_content("BEGIN:VCALENDAR\nMETHOD:REQUEST\nSUMMARY:Größe\nEND:VCALENDAR\n", subtype="calendar", params={"method": "REQUEST"},
                      cte=self.r.choice(["8bit", "base64", "quoted-printable"]))
        return m

    def multi(self, subtype, parts, **params):
        m = EmailMessage(policy=policy.SMTPUTF8)
        m["Content-Type"] = "multipart/" + subtype
        for name, value in params.items():
            m.set_param(name, value)
        m.set_boundary(self.r.choice(["=_", "----=_Part_", "b'()+_,-./:=?"]) + "%x" % self.r.getrandbits(64))
        for p in parts:
            m.attach(p)
        if self.r.random() < 0.2:
            m.preamble, m.epilogue = "This is MIME.\n", "after\n"
        return m

    def inner(self):
        m = self.leaf()
        m["From"], m["Subject"], m["Bcc"] = "x@elsewhere.example", "inner", "kept@elsewhere.example"
        return m

    def forwarded(self):
        m = EmailMessage(policy=policy.SMTPUTF8)
        m.set_content(self.inner())
        return m

    def pgp(self, depth):
        if self.r.random() < 0.5:
            sig = EmailMessage(policy=policy.SMTPUTF8)
            sig.set_content("-----BEGIN PGP SIGNATURE-----\n\n" + "A" * 64 + "\n-----END PGP SIGNATURE-----\n", subtype="plain")
            sig.replace_header("Content-Type", "application/pgp-signature")
            return self.multi("signed", [self.tree(depth - 1), sig], micalg="pgp-sha256", protocol="application/pgp-signature")
        version = EmailMessage(policy=policy.SMTPUTF8)
        version.set_content(b"Version: 1\r\n", "application", "pgp-encrypted", cte="7bit")
        return self.multi("encrypted", [version, self.file()], protocol="application/pgp-encrypted")

    def smime(self, depth):
        sealed = EmailMessage(policy=policy.SMTPUTF8)
        if self.r.random() < 0.5:
            sealed.set_content(self.data(), "application", "pkcs7-mime", filename="smime.p7m", params={"smime-type": "enveloped-data"})
            return sealed
        sealed.set_content(self.data(), "application", "pkcs7-signature", disposition="attachment", filename="smime.p7s")
        return self.multi("signed", [self.tree(depth - 1), sealed], micalg="sha-256", protocol="application/pkcs7-signature")

    def tree(self, depth=3):
        if depth <= 0:
            return self.leaf(self.r.choice(["plain", "html"]))
        return self.r.choice([
            lambda: self.leaf(self.r.choice(["plain", "html"])),
            lambda: self.multi("alternative", [self.leaf(), self.leaf("html")]),
            lambda: self.multi("related", [self.leaf("html"), self.image(), self.image()], type="text/html"),
            lambda: self.multi("alternative", [self.leaf(), self.multi("related", [self.leaf("html"), self.image()]), self.calendar()]),
            lambda: self.multi("mixed", [self.tree(depth - 1) for _ in range(self.r.randint(1, 3))] + [self.file()]),
            lambda: self.multi("mixed", [self.leaf(), self.forwarded()]),
            lambda: self.multi("digest", [self.forwarded(), self.forwarded()]),
            lambda: self.pgp(depth),
            lambda: self.smime(depth),
            self.calendar, self.file, self.forwarded,
        ])()

    def message(self, number):
        body = bytes_of(self.tree())
        header = [self.r.choice(["From: Ann <ann@example.test>", "from:ann@example.test", "From: =?utf-8?q?J=C3=B6rg?=\r\n <ann@example.test>",
                                 'From: "Jörg, Köln"\r\n\t<ann@example.test>']),
                  "X-Number: %d" % number,
                  self.r.choice(["To: zofia@example.org", "To: undisclosed-recipients:;", "To: Zofia Ż <zofia@example.org>,\r\n bob@example.com"]),
                  self.r.choice(["Subject: plain", "Subject: Grüße", "SUBJECT:  two  spaces \t", "Subject:", "Subject: =?utf-8?b?R3LDvMOfZQ==?="])]
        for field in ["Date: Mon, 23 Nov 2026 08:00:00 +0100", "Message-ID: <%x@tool.example>" % self.r.getrandbits(64), "X-Long: " + "x" * 990,
                      "References: <1@tool.example>\r\n <2@tool.example>", "Sender: other@elsewhere.example", "Bcc: hidden@example.org",
                      "X-Mailer-Tag: tree=%d" % number, "Return-Path: <ret@elsewhere.example>", "X-Empty:", "X-Mailer: tool 1",
                      "Cc: Eve Ö <eve@example.net>", "DKIM-Signature: v=1; a=rsa-sha256; d=elsewhere.example; s=x; h=from; bh=YQ==; b=YQ=="]:
            if self.r.random() < 0.4:
                header.append(field)
        self.r.shuffle(header)
        raw = "\r\n".join(header).encode() + b"\r\n" + body
        to = ["zofia@example.org"]
        if self.r.random() < 0.1:
            to.append("zażółć@example.org")
        return {"raw": base64.b64encode(raw).decode(), "to": to}


def bytes_of(m):
    out = BytesIO()
    BytesGenerator(out, mangle_from_=False, policy=policy.SMTPUTF8.clone(max_line_length=900)).flatten(m)
    return out.getvalue()


def utf8(text):
    """Repairs what the parser makes of UTF-8 in a header."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8")


def leaves(raw):
    """What a message says: the decoded parts, with line ends that no encoding changes."""
    m = message_from_bytes(raw, policy=policy.default)
    out = [utf8(str(m["Subject"]).strip()), [(utf8(a.display_name), a.addr_spec) for a in m["From"].addresses]]
    for p in m.walk():
        if not p.is_multipart():
            out.append((p.get_content_type(), p.get_filename(), p.get_payload(decode=True).replace(b"\r\n", b"\n").rstrip(b"\n")))
    return out


def judge(pair, name, value):
    before, after = base64.b64decode(pair["before"]), base64.b64decode(pair["after"])
    verifier = dkim.DKIM(after)
    lookup = lambda asked, timeout=5: value.encode() if asked.rstrip(b".").decode() == name else None
    try:
        if not verifier.verify(idx=0, dnsfunc=lookup) or verifier.signature_fields[b"d"] != b"example.test":
            return "DKIM fails"
    except dkim.DKIMException as error:
        return "DKIM: %s" % error
    if pair["changed"] and leaves(before) != leaves(after):
        return "it says %r, handed in was %r" % (leaves(after), leaves(before))
    return ""


def main():
    if sys.argv[1] == "make":
        maker = Maker(int(sys.argv[3]))
        for n in range(int(sys.argv[2])):
            print(json.dumps(maker.message(n)))
        return
    for line in sys.stdin:
        pair = json.loads(line)
        wrong = judge(pair, sys.argv[2].rstrip("."), sys.argv[3])
        if wrong:
            print(pair["number"], wrong)


main()
