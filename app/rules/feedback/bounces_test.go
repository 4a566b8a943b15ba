package feedback

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// crlf converts a message to CRLF line ends.
func crlf(s string) string { return strings.ReplaceAll(strings.TrimPrefix(s, "\n"), "\n", "\r\n") }

// report returns a multipart/report with a delivery status.
func report(status string) string {
	return crlf(`
From: MAILER-DAEMON@mx.test
To: bounce@send.acme.test
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b=1"

This is a MIME-encapsulated message.
--b=1
Content-Type: text/plain; charset=us-ascii

Your message could not be delivered.

--b=1
Content-Type: message/delivery-status

` + status + `
--b=1
Content-Type: message/rfc822

From: a@acme.test
Message-ID: <` + apptest.PathEmail + `@acme.test>
X-Mailer-Email-ID: ` + apptest.PathEmail + `
Subject: Hello

Text with 5.1.1 and user unknown
--b=1--
`)
}

type wanted struct {
	kind     Kind
	bounce   app.BounceType
	subType  string
	enhanced string
	named    string // separated by blanks
	words    string // contained in the diagnostic
}

func check(t *testing.T, raw string, want ...wanted) {
	t.Helper()
	got := ReadBounce([]byte(raw), true)
	if len(got) != len(want) {
		t.Fatalf("%d reports, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		g := got[i]
		if g.Kind != w.kind || g.Bounce != w.bounce || g.SubType != w.subType || g.Enhanced != w.enhanced || strings.Join(g.Addresses, " ") != w.named {
			t.Errorf("report %d: %+v\nwant %+v", i, g, w)
		}
		if !strings.Contains(g.Diagnostic, w.words) || g.Source != "bounce" {
			t.Errorf("report %d: diagnostic %q, source %q", i, g.Diagnostic, g.Source)
		}
	}
}

func noEmail(enhanced, named, words string) wanted {
	return wanted{Bounced, app.BouncePermanent, "NoEmail", enhanced, named, words}
}

func TestDeliveryStatusOfPostfix(t *testing.T) {
	raw := report(`Reporting-MTA: dns; mx.test
X-Postfix-Queue-ID: 4F1234
X-Postfix-Sender: rfc822; bounce@send.acme.test
Arrival-Date: Mon,  2 Nov 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; Bob@Example.com
Original-Recipient: rfc822;info@example.com
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.example.com
Diagnostic-Code: smtp; 550 5.1.1 <bob@example.com>: Recipient address
    rejected: User unknown in
	local recipient table
`)
	check(t, raw, noEmail("5.1.1", "info@example.com bob@example.com", "550 5.1.1 <bob@example.com>: Recipient address rejected: User unknown in local recipient table"))
	if got := ReadBounce([]byte(raw), true)[0]; got.EmailID != apptest.PathEmail || got.MessageID != apptest.PathEmail+"@acme.test" {
		t.Errorf("the original is %q %q", got.EmailID, got.MessageID)
	}
}

func TestDeliveryStatusOfSeveralRecipients(t *testing.T) {
	check(t, report(`Reporting-MTA: dns; mx.test

Final-Recipient: rfc822; a@example.com
Action: failed
Status: 5.2.2
Diagnostic-Code: smtp; 552 5.2.2 mailbox is full

Final-Recipient: rfc822; b@example.com
Action: delayed
Status: 4.4.1
Will-Retry-Until: Sat, 7 Nov 2026 10:00:00 +0000

Final-Recipient: rfc822; c@example.com
Action: delivered
Status: 2.1.5

Final-Recipient: rfc822; d@example.com
Action: relayed
Status: 2.1.9

Final-Recipient: rfc822; e@example.com
Action: expanded
Status: 2.1.5

Final-Recipient: rfc822; f@example.com
Action: FAILED (permanently)
Status: 5.7.1 (delivery not authorized)
`),
		wanted{Bounced, app.BounceTransient, "MailboxFull", "5.2.2", "a@example.com", "552 5.2.2 mailbox is full"},
		wanted{Delayed, "", "", "4.4.1", "b@example.com", ""},
		wanted{Delivered, "", "", "2.1.5", "c@example.com", ""},
		wanted{Bounced, app.BounceTransient, "ContentRejected", "5.7.1", "f@example.com", ""})
}

func TestDeliveryStatusOfExim(t *testing.T) {
	check(t, crlf(`
X-Failed-Recipients: bob@example.com
Auto-Submitted: auto-replied
From: Mail Delivery System <Mailer-Daemon@exim.test>
Subject: Mail delivery failed: returning message to sender
Content-Type: multipart/report; report-type=delivery-status; boundary=1762-eximdsn-1

--1762-eximdsn-1
Content-type: text/plain; charset=us-ascii

This message was created automatically by mail delivery software.
--1762-eximdsn-1
Content-type: message/delivery-status

Reporting-MTA: dns; exim.test

Action: failed
Final-Recipient: rfc822;bob@example.com
Status: 5.0.0
Remote-MTA: dns; mx.example.com
Diagnostic-Code: smtp; 550 5.1.1 The email account that you tried to reach does not exist.

--1762-eximdsn-1
Content-type: message/rfc822

X-Mailer-Email-ID: `+apptest.PathEmail+`

--1762-eximdsn-1--
`), noEmail("5.1.1", "bob@example.com", "550 5.1.1 The email account"))
}

func TestSeveralEmailIDHeadersInBounceAreIgnored(t *testing.T) {
	header := "X-Mailer-Email-ID: " + apptest.PathEmail + "\r\n"
	for name, raw := range map[string]string{
		"delivery status": report(`Reporting-MTA: dns; mx.example.com

Final-Recipient: rfc822; bob@example.com
Action: failed
Status: 5.1.1`),
		"complaint": crlf(`
From: fbl@example.com
Content-Type: multipart/report; report-type=feedback-report; boundary="b"

--b
Content-Type: message/feedback-report

Feedback-Type: abuse
Version: 1

--b
Content-Type: text/rfc822-headers

Message-ID: <` + apptest.PathEmail + `@acme.test>
X-Mailer-Email-ID: ` + apptest.PathEmail + `

--b--
`),
	} {
		if got := ReadBounce([]byte(raw), true); len(got) != 1 || got[0].EmailID != apptest.PathEmail || got[0].MessageID == "" {
			t.Fatalf("%s: %+v", name, got)
		}
		for _, second := range []string{"x-mailer-email-id: 0199c2f0-7a3e-7d11-9a2b-000000000000\r\n", header, "X-Mailer-Email-ID:\r\n"} {
			for where, twice := range map[string]string{"first": second + header, "last": header + second} {
				got := ReadBounce([]byte(strings.Replace(raw, header, twice, 1)), true)
				if len(got) != 1 || got[0].EmailID != "" || got[0].MessageID != "" {
					t.Errorf("%s, %q %s: %+v", name, second, where, got)
				}
			}
		}
	}
}

func TestDeliveryStatusOfExchange(t *testing.T) {
	check(t, crlf(`
From: Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@corp.test>
Subject: Undeliverable: Hello
Content-Type: multipart/report; report-type=delivery-status;
	boundary="_000_x"
Auto-Submitted: auto-replied

--_000_x
Content-Type: multipart/alternative; boundary="_001_y"

--_001_y
Content-Type: text/plain; charset="windows-1252"
Content-Transfer-Encoding: quoted-printable

bob@corp.test<mailto:bob@corp.test>
The email address you entered couldn=92t be found.

--_001_y--
--_000_x
Content-Type: message/delivery-status

Reporting-MTA: dns;EX1.corp.test
Received-From-MTA: dns;mx.acme.test
Arrival-Date: Mon, 2 Nov 2026 10:00:00 +0000

Final-Recipient: rfc822;bob@corp.test
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup

--_000_x
Content-Type: text/rfc822-headers

X-Mailer-Email-ID: `+apptest.PathEmail+`
--_000_x--
`), noEmail("5.1.10", "bob@corp.test", "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient"))
}

func TestDeliveryStatusOfGmailWithImagesAround(t *testing.T) {
	check(t, crlf(`
From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>
Auto-Submitted: auto-replied
Subject: Delivery Status Notification (Failure)
X-Failed-Recipients: bob@gmail.test
Content-Type: multipart/report; boundary="000"; report-type=delivery-status

--000
Content-Type: multipart/related; boundary="001"

--001
Content-Type: multipart/alternative; boundary="002"

--002
Content-Type: text/plain; charset="UTF-8"

** Address not found **
--002--
--001
Content-Type: image/png; name="icon.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--001--
--000
Content-Type: message/delivery-status

Reporting-MTA: dns; googlemail.com
Arrival-Date: Mon, 02 Nov 2026 02:00:00 -0800 (PST)
X-Original-Message-ID: <x@acme.test>

Final-Recipient: rfc822; bob@gmail.test
Action: failed
Status: 5.2.1
Remote-MTA: dns; gmail-smtp-in.l.google.com. (192.0.2.1, the server for the domain gmail.test.)
Diagnostic-Code: smtp; 550-5.2.1 The email account that you tried to reach is inactive.
 550 5.2.1 x - gsmtp
Last-Attempt-Date: Mon, 02 Nov 2026 02:00:01 -0800 (PST)

--000
Content-Type: message/rfc822

X-Mailer-Email-ID: `+apptest.PathEmail+`
--000--
`), noEmail("5.2.1", "bob@gmail.test", "550-5.2.1 The email account"))
}

func TestDeliveryStatusWithFaults(t *testing.T) {
	for name, status := range map[string]string{
		"no blank line between":  "Reporting-MTA: dns; x\nFinal-Recipient: rfc822; b@example.com\nAction: failed\nStatus: 5.1.1\n",
		"lines that are none":    "Reporting-MTA: dns; x\n\nhello world\nFinal-Recipient: rfc822; b@example.com\n;;\nAction: failed\nStatus: 5.1.1\n",
		"no type, brackets":      "X: y\n\n\n\nFinal-Recipient: <b@example.com>\nAction: failed\nStatus: 5.1.1\n",
		"no action":              "X: y\n\nFinal-Recipient: rfc822;b@example.com\nStatus: 5.1.1\n",
		"other case and spacing": "X: y\n\nFINAL-RECIPIENT : RFC822 ;  B@Example.COM\naction:FAILED\nstatus:   5.1.1\n",
		"NULs":                   "X: y\x00\n\nFinal-Recipient: rfc822;b@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 \x00\x01\x02\n",
		"repeated fields":        "X: y\n\nFinal-Recipient: rfc822;b@example.com\nFinal-Recipient: rfc822;victim@example.com\nAction: failed\nStatus: 5.1.1\nStatus: 2.0.0\n",
	} {
		t.Run(name, func(t *testing.T) { check(t, report(status), noEmail("5.1.1", "b@example.com", "")) })
	}
}

func TestDeliveryStatusInBase64(t *testing.T) {
	raw := strings.Replace(report("@"), "Content-Type: message/delivery-status\r\n\r\n@",
		"Content-Type: message/delivery-status\r\nContent-Transfer-Encoding: base64\r\n\r\nWDogeQoKRmluYWwtUmVjaXBpZW50OiByZmM4MjI7YkBleGFtcGxlLmNvbQpBY3Rpb246IGZh\r\naWxlZApTdGF0dXM6IDUuMS4xCg==", 1)
	check(t, raw, noEmail("5.1.1", "b@example.com", ""))
}

func TestBounceCodes(t *testing.T) {
	for code, want := range map[string]string{
		"5.1.1": "Permanent NoEmail", "5.1.2": "Permanent NoEmail", "5.2.1": "Permanent NoEmail", "5.1.3": "Permanent NoEmail",
		"5.2.2": "Transient MailboxFull", "4.2.2": "Transient MailboxFull", "5.3.4": "Transient MessageTooLarge", "5.2.3": "Transient MessageTooLarge",
		"5.7.1": "Transient ContentRejected", "5.7.26": "Transient ContentRejected", "5.6.0": "Transient ContentRejected", "4.7.0": "Transient ContentRejected",
		"4.1.1": "Transient General", "4.4.7": "Transient General",
		"5.0.0": "Undetermined General", "5.5.0": "Undetermined General", "5.1.0": "Undetermined General", "5.4.4": "Transient General", "5.1.8": "Undetermined General",
		"9.9.9": "Undetermined General", "": "Undetermined General", "5.1.1.1": "Undetermined General", "550": "Undetermined General",
	} {
		got := ReadBounce([]byte(report("X: y\n\nFinal-Recipient: rfc822;b@example.com\nAction: failed\nStatus: "+code+"\n")), true)
		if len(got) != 1 || string(got[0].Bounce)+" "+got[0].SubType != want {
			t.Errorf("%q: %+v, want %s", code, got, want)
		}
	}
}

func TestDiagnosticDecidesWhenStatusIsVague(t *testing.T) {
	for words, want := range map[string]string{
		"smtp; 550 5.1.1 whatever":                 "Permanent NoEmail 5.1.1",
		"smtp; 550 User unknown":                   "Permanent NoEmail 5.0.0",
		"smtp; 550-5.7.1 Our policy: user unknown": "Transient ContentRejected 5.7.1",
		"smtp; 550 User unknown, blocked as spam":  "Transient ContentRejected 5.0.0",
		"smtp; 552 exceeded":                       "Transient MailboxFull 5.0.0",
		"smtp; 554 no":                             "Undetermined General 5.0.0",
		"smtp; 550 host 5.1.1.1 said no":           "Undetermined General 5.0.0",
		"X-Unix; 67":                               "Undetermined General 5.0.0",
		"smtp; 451 4.0.0 later":                    "Transient General 4.0.0",
		"550 5.5.0 says nothing, and 5.7.1 does":   "Transient ContentRejected 5.7.1",
	} {
		got := ReadBounce([]byte(report("X: y\n\nFinal-Recipient: rfc822;b@example.com\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: "+words+"\n")), true)
		if have := string(got[0].Bounce) + " " + got[0].SubType + " " + got[0].Enhanced; have != want {
			t.Errorf("%q: %s, want %s", words, have, want)
		}
	}
}

func TestDiagnosticIsOneShortLine(t *testing.T) {
	long := strings.Repeat("Zürich \x1b[31m", 200)
	got := ReadBounce([]byte(report("X: y\n\nFinal-Recipient: rfc822;b@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; "+long+"\n")), true)
	d := got[0].Diagnostic
	if len(d) > 500 || len(d) < 480 || !utf8.ValidString(d) || strings.ContainsAny(d, "\x1b\r\n") {
		t.Errorf("%d bytes: %q", len(d), d)
	}
}

// complaint returns a feedback report.
func complaint(fields string) string {
	return crlf(`
From: <abuse@provider.test>
Subject: FW: Hello
Content-Type: multipart/report; report-type=feedback-report; boundary="part"

--part
Content-Type: text/plain; charset="US-ASCII"

This is an email abuse report.
--part
Content-Type: message/feedback-report

` + fields + `
--part
Content-Type: message/rfc822
Content-Disposition: inline

X-Mailer-Email-ID: ` + apptest.PathEmail + `
Subject: Hello

Spam Spam Spam
--part--
`)
}

func TestAbuseReportIsComplaint(t *testing.T) {
	check(t, complaint("Feedback-Type: abuse\nUser-Agent: SomeGenerator/1.0\nVersion: 1\nOriginal-Mail-From: <x@acme.test>\nOriginal-Rcpt-To: <Bob@example.com>\nArrival-Date: Thu, 8 Mar 2026 14:00:00 EDT\n"),
		wanted{Complained, "", "", "", "bob@example.com", "SomeGenerator/1.0"})
	check(t, complaint("feedback-type:  ABUSE\n"), wanted{kind: Complained})
	check(t, complaint("Feedback-Type: abuse\nOriginal-Rcpt-To: redacted\n"), wanted{kind: Complained})
}

func TestOtherFeedbackReportsAreIgnored(t *testing.T) {
	for _, kind := range []string{"not-spam", "fraud", "virus", "other", "auth-failure", "opt-out", "", "abuse\nFeedback-Type: not-spam"} {
		check(t, complaint("Feedback-Type: "+kind+"\nUser-Agent: x\nVersion: 1\n"))
	}
	check(t, complaint("User-Agent: x\n"))
}

func TestFreeFormBounces(t *testing.T) {
	const qmail = "Hi. This is the qmail-send program at mx.test.\nI'm afraid I wasn't able to deliver your message to the following addresses.\n\n<bob@example.com>:\n192.0.2.1 does not like recipient.\nRemote host said: 550 5.1.1 unknown\n\n--- Below this line is a copy of the message.\n\nSubject: spam policy\n"
	for name, c := range map[string]struct {
		raw  string
		want wanted
	}{
		"qmail":         {"From: MAILER-DAEMON@mx.test\nSubject: failure notice\n\n" + qmail, noEmail("5.1.1", "bob@example.com", "does not like recipient")},
		"qmail's code":  {"From: MAILER-DAEMON@mx.test\nSubject: failure notice\n\nSorry, no mailbox here by that name. (#5.1.1)\n", noEmail("5.1.1", "", "no mailbox here")},
		"old exim":      {"X-Failed-Recipients: bob@example.com\nFrom: Mail Delivery System <Mailer-Daemon@x.test>\nSubject: Mail delivery failed\n\n  bob@example.com\n    SMTP error from remote mail server: 550 user unknown\n", noEmail("", "bob@example.com", "550 user unknown")},
		"quota":         {"Subject: Undeliverable mail\n\nThe mailbox is full\n", wanted{Bounced, app.BounceTransient, "MailboxFull", "", "", "full"}},
		"says nothing":  {"Subject: Mail could not be delivered\n\nSorry.\n", wanted{Bounced, app.BounceUndetermined, "General", "", "", "Sorry"}},
		"bare SMTP 554": {"Subject: Returned mail\n\n554 transaction failed\n", wanted{Bounced, app.BounceUndetermined, "General", "", "", "554"}},
		"encoded":       {"Subject: =?utf-8?q?Undeliver=61ble?=\nContent-Transfer-Encoding: quoted-printable\n\n550 5=2E7.1 no\n", wanted{Bounced, app.BounceTransient, "ContentRejected", "5.7.1", "", "550 5.7.1 no"}},
		"from nobody":   {"From: x@y.test\nSubject: Hello\n\nsmtp error 5.2.2\n", wanted{Bounced, app.BounceTransient, "MailboxFull", "5.2.2", "", "5.2.2"}},
		"delay":         {"From: mailer-daemon@x.test\nSubject: Delivery delayed\n\nWill be tried again, 4.4.1\n", wanted{Delayed, "", "", "4.4.1", "", "again"}},
		"broken header": {"no header at all\nundelivered 5.1.1\n", noEmail("5.1.1", "", "5.1.1")},
	} {
		t.Run(name, func(t *testing.T) { check(t, crlf(c.raw), c.want) })
	}
}

func TestFreeFormBounceOfSeveralRecipients(t *testing.T) {
	check(t, crlf("X-Failed-Recipients: a@x.test, b@x.test\nSubject: Mail delivery failed\n\n550 5.1.1\n"), noEmail("5.1.1", "a@x.test", ""), noEmail("5.1.1", "b@x.test", ""))
}

func TestOtherMailIsNotABounce(t *testing.T) {
	for name, raw := range map[string]string{
		"vacation":      "From: bob@example.com\nAuto-Submitted: auto-replied (vacation)\nSubject: Away\n\nUser unknown 5.1.1\n",
		"out of office": "From: bob@example.com\nSubject: Automatic reply: Hello\n\nI am away until 5.1.2027, 550 5.1.1\n",
		"abwesend":      "From: bob@example.com\nSubject: =?utf-8?q?Abwesenheitsnotiz?=\n\n5.1.1\n",
		"X-Autoreply":   "From: bob@example.com\nX-Autoreply: yes\nSubject: Undeliverable\n\n5.1.1\n",
		"an answer":     "From: bob@example.com\nSubject: Re: Hello\n\nThanks! By the way, user unknown?\n",
		"receipt":       "From: bob@example.com\nSubject: Read: Undelivered\nContent-Type: multipart/report; report-type=disposition-notification; boundary=x\n\n--x\n\nread\n--x\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822;bob@example.com\nDisposition: manual-action; displayed\n--x--\n",
		"empty":         "",
		"a dot":         ".",
		"relayed":       strings.ReplaceAll(report("X: y\n\nFinal-Recipient: rfc822;b@example.com\nAction: relayed\nStatus: 2.0.0\n"), "\r\n", "\n"),
	} {
		t.Run(name, func(t *testing.T) { check(t, crlf(raw)) })
	}
	if got := ReadBounce([]byte("From: bob@example.com\r\nSubject: Hello\r\n\r\n5.1.1 is the version\r\n"), false); len(got) != 0 {
		t.Errorf("a person's mail was taken for %+v", got)
	}
}

func TestReportInReturnedMessageIsIgnored(t *testing.T) {
	raw := crlf("From: x@y.test\nSubject: Fwd\nContent-Type: multipart/mixed; boundary=o\n\n--o\n\nlook at this\n--o\nContent-Type: message/rfc822\n\n") +
		report("X: y\n\nFinal-Recipient: rfc822;b@example.com\nAction: failed\nStatus: 5.1.1\n") + "\r\n--o--\r\n"
	check(t, raw)
}

func TestHostileMailIsReadInBoundedTime(t *testing.T) {
	deep := strings.Builder{}
	for range 5000 {
		deep.WriteString("Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n")
	}
	for name, raw := range map[string]string{
		"deep":            "MIME-Version: 1.0\r\n" + deep.String(),
		"many parts":      "Content-Type: multipart/report; boundary=x\r\n\r\n" + strings.Repeat("--x\r\n\r\na\r\n", 60000),
		"endless header":  "Subject: a\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 900)+"\r\n", 1000),
		"one line":        strings.Repeat("a", 1<<20),
		"folds":           "Subject: a\r\n" + strings.Repeat(" b\r\n", 200000),
		"parameters":      "Content-Type: multipart/report" + strings.Repeat("; a*0*=x", 8000) + "; boundary=x\r\n\r\n--x\r\n",
		"NULs":            strings.Repeat("\x00", 1<<20),
		"groups":          report(strings.Repeat("Final-Recipient: rfc822;b@example.com\nAction: failed\nStatus: 5.1.1\n\n", 5000)),
		"empty boundary":  "Content-Type: multipart/report; boundary=\"\"\r\n\r\n" + strings.Repeat("--\r\n\r\n", 10000),
		"lines of dashes": "Content-Type: multipart/mixed; boundary=x\r\n\r\n" + strings.Repeat("--\n", 170000),
		"no boundary":     strings.Repeat("Content-Type: multipart/mixed\r\n\r\n--a\r\n", 10000),
		"addresses":       "From: postmaster@x.test\r\nSubject: Undelivered\r\n\r\n" + strings.Repeat("bob@far.test:\n550 5.1.1\n", 20000),
		"failed field":    "X-Failed-Recipients: " + strings.Repeat("a@x.test,", 20000) + "\r\nSubject: Undelivered\r\n\r\n" + strings.Repeat("a@x.test\n552 5.2.2 mailbox of user\n", 2000),
		"quoted":          "Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + strings.Repeat("=", 500000),
		"encoded words":   report("Final-Recipient: rfc822; b@x.test\nAction: failed\nDiagnostic-Code: " + strings.Repeat("=?utf-8?q?=", 5000) + "\n"),
		"embedded":        report("Final-Recipient: utf-8; " + strings.Repeat(`\x{`, 2000) + "@x.test\nAction: failed\nStatus: 5.1.1\n"),
		"users":           "From: postmaster@x.test\r\nSubject: Undelivered\r\n\r\n" + strings.Repeat("mailbox user account ", 20000),
		"tags":            "From: postmaster@x.test\r\nContent-Type: text/html\r\n\r\n" + strings.Repeat("<div><", 50000),
		"numbers":         "Subject: Undelivered\r\n\r\n" + strings.Repeat("5.1.", 100000),
	} {
		if got := ReadBounce([]byte(raw), true); len(got) > 100 {
			t.Errorf("%s: %d reports", name, len(got))
		}
	}
}

func TestAuthenticate(t *testing.T) {
	envelope := map[int]string{0: "Ann@example.com", 1: "bob@example.com"}
	bounce := func(named ...string) Claim {
		return Claim{Addresses: named, Report: Report{Source: "bounce", Kind: Bounced, Bounce: app.BouncePermanent, SubType: "NoEmail", Enhanced: "5.1.1"}}
	}
	complained := func(named ...string) Claim {
		return Claim{Addresses: named, Report: Report{Kind: Complained}}
	}
	foreign := bounce("ann@example.com")
	foreign.EmailID = "0199c2f0-7a3e-7d11-9a2b-000000000000"
	for name, c := range map[string]struct {
		n    int
		said []Claim
		want string
	}{
		"the path's own, named":           {0, []Claim{bounce("ann@example.com")}, "Ann@example.com bounced Permanent"},
		"the path's own, not named":       {1, []Claim{bounce()}, "bob@example.com bounced Permanent"},
		"before and after a forward":      {0, []Claim{bounce("ann@example.com", "x@y.test")}, "Ann@example.com bounced Permanent"},
		"another of the email":            {0, []Claim{bounce("bob@example.com")}, "Ann@example.com bounced Undetermined"},
		"a stranger":                      {0, []Claim{bounce("victim@example.net")}, "Ann@example.com bounced Undetermined"},
		"own and a stranger":              {0, []Claim{bounce("victim@example.net"), bounce("ann@example.com")}, "Ann@example.com bounced Permanent"},
		"twice the same":                  {0, []Claim{bounce("ann@example.com"), bounce("ann@example.com")}, "Ann@example.com bounced Permanent"},
		"another email":                   {0, []Claim{foreign}, ""},
		"complaint":                       {0, []Claim{complained()}, "Ann@example.com complained "},
		"complaint about a stranger":      {0, []Claim{complained("victim@example.net")}, ""},
		"all, named":                      {app.AllRecipients, []Claim{bounce("bob@example.com")}, "bob@example.com bounced Undetermined"},
		"all, complaint that names one":   {app.AllRecipients, []Claim{complained("bob@example.com")}, ""},
		"all, not named":                  {app.AllRecipients, []Claim{bounce()}, ""},
		"all, a stranger":                 {app.AllRecipients, []Claim{bounce("victim@example.net")}, ""},
		"all, complaint naming nobody":    {app.AllRecipients, []Claim{complained()}, ""},
		"a number that the email has not": {7, []Claim{bounce()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Authenticate((app.ReturnPath{EmailID: apptest.PathEmail, Recipient: c.n}), c.said, envelope) {
				got = append(got, f.Recipient+" "+string(f.Kind)+" "+string(f.Bounce))
				if f.EmailID != apptest.PathEmail || f.ID == "" {
					t.Errorf("%+v", f)
				}
			}
			if strings.Join(got, "|") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := Authenticate((app.ReturnPath{EmailID: apptest.PathEmail}), []Claim{bounce()}, map[int]string{0: app.Erased}); len(got) != 0 {
		t.Errorf("an erased address bounces: %+v", got)
	}
}

func TestReplyQuotingABounceIsNotABounce(t *testing.T) {
	envelope := map[int]string{0: "Bob@Bücher.test"}
	for from, want := range map[string]int{"Bob <bob@xn--bcher-kva.test>": 0, "bob@bücher.test": 0, "\"Bob, B.\" <BOB@BÜCHER.test>": 0, "Postmaster <postmaster@bücher.test>": 1, "eve@bücher.test": 1} {
		claims := ReadBounce([]byte("From: "+from+"\r\nSubject: Undeliverable\r\n\r\n550 5.1.1 user unknown\r\n"), true)
		if got := Authenticate(app.ReturnPath{EmailID: apptest.PathEmail}, claims, envelope); len(claims) != 1 || len(got) != want {
			t.Errorf("%s: %+v, believed %+v", from, claims, got)
		}
	}
}

func TestReportIDIsStable(t *testing.T) {
	raw := []byte(report("X: y\n\nFinal-Recipient: rfc822;b@example.com\nAction: failed\nStatus: 5.1.1\n"))
	id := func(email, status string) string {
		reports := ReadBounce([]byte(strings.ReplaceAll(strings.ReplaceAll(string(raw), "5.1.1\r\n\r\n--b", status+"\r\n\r\n--b"), apptest.PathEmail, email)), true)
		return Authenticate((app.ReturnPath{EmailID: email}), reports, map[int]string{0: "b@example.com"})[0].ID
	}
	const other = "0199c2f0-7a3e-7d11-9a2b-000000000000"
	first, again := id(apptest.PathEmail, "5.1.1"), id(apptest.PathEmail, "5.1.1")
	if first != again || first == id(apptest.PathEmail, "5.2.2") || first == id(other, "5.1.1") {
		t.Error("ids do not distinguish reports")
	}
}

func FuzzReadBounce(f *testing.F) {
	f.Add([]byte(report("Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; b@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550\n 5.1.1 x\n")), true)
	f.Add([]byte(complaint("Feedback-Type: abuse\nOriginal-Rcpt-To: <b@example.com>\n")), false)
	f.Add([]byte("X-Failed-Recipients: a@x.test\r\nSubject: failure notice\r\n\r\n<a@x.test>:\r\n550 5.1.1\r\n"), false)
	f.Add([]byte("\x00: \x00\r\n\r\n"), true)
	for _, c := range corpus(f) {
		f.Add([]byte(c.raw), !c.person)
	}
	f.Fuzz(func(t *testing.T, raw []byte, null bool) {
		reports := ReadBounce(raw, null)
		if len(reports) > 100 {
			t.Fatalf("%d reports", len(reports))
		}
		for _, r := range reports {
			if r.Kind == "" || r.Recipient != "" || len(r.Diagnostic) > 500 || !utf8.ValidString(r.Diagnostic) || strings.ContainsAny(r.Diagnostic, "\r\n\x00") {
				t.Errorf("%+v", r)
			}
			if r.Bounce == app.BouncePermanent && r.SubType != "NoEmail" {
				t.Errorf("permanent for another reason: %+v", r)
			}
		}
		Authenticate((app.ReturnPath{EmailID: apptest.PathEmail}), reports, map[int]string{0: "b@example.com"})
	})
}
