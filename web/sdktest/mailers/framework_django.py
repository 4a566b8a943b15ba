# Sends by Django's mailer.
import os
from django.conf import settings

settings.configure(
    EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend",
    EMAIL_HOST=os.environ["SMTP_HOST"],
    EMAIL_PORT=int(os.environ["SMTP_PORT"]),
    EMAIL_HOST_USER="apikey",
    EMAIL_HOST_PASSWORD=os.environ["SMTP_KEY"],
)
from django.core.mail import EmailMultiAlternatives

m = EmailMultiAlternatives("by Django", "Dzień dobry from Django", "Ada <ada@example.test>", ["zofia@example.org"], bcc=["hidden@example.org"], headers={"X-Mailer-Tag": "kind=welcome"})
m.attach_alternative("<p>Dzień dobry from <b>Django</b></p>", "text/html")
m.attach("notes.txt", "first\nsecond\n", "text/plain")
assert m.send() == 1
