# Hands in one message by Python's smtplib, as scripts do.
import os, smtplib, ssl
from email.message import EmailMessage

m = EmailMessage()
m["From"], m["To"], m["Subject"] = "Ada <ada@example.test>", "zofia@example.org", "by smtplib"
m.set_content("Dzień dobry from smtplib")
m.add_alternative("<p>Dzień dobry from <b>smtplib</b></p>", subtype="html")
m.add_attachment(b"%PDF-1.4 one", maintype="application", subtype="pdf", filename="Rechnung März.pdf")
host, port, tls = os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"]), os.environ["SMTP_TLS"]
context = ssl.create_default_context(cafile=os.environ.get("SMTP_CA"))
s = smtplib.SMTP_SSL(host, port, context=context) if tls == "tls" else smtplib.SMTP(host, port)
with s:
    if tls == "starttls":
        s.starttls(context=context)
    s.login("resend", os.environ["SMTP_KEY"])
    s.send_message(m, to_addrs=["zofia@example.org", "hidden@example.org"])
