package smtpout

import (
	"strings"
	"testing"

	"mailer/app"
)

// Quoted-printable is chosen for such a line because a mailbox file would put a > before it, so the
// line must be encoded.
func TestFromLineIsEncoded(t *testing.T) {
	for _, text := range []string{"From here\nFrom there", "ok\r\nFrom here", strings.Repeat("x", quotedLine) + "From here", "From é"} {
		m := outgoing(t, app.EmailInput{From: "a@b.test", To: []string{"c@d.test"}, Subject: "s", Text: &text})
		b, err := compose(m)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(b), "\r\n\r\n")
		if strings.Contains("\n"+body, "\nFrom ") {
			t.Errorf("%q became %q", text, body)
		}
		checkReadsBack(t, m, b)
	}
}

func TestLineBreaksAreKept(t *testing.T) {
	for _, text := range []string{"a\ré\nb", "a\r=\n", "a\r\x01\nb", "é\r\n\r\n\n\r\r\nb"} {
		m := outgoing(t, app.EmailInput{From: "a@b.test", To: []string{"c@d.test"}, Subject: "s", Text: &text})
		b, err := compose(m)
		if err != nil {
			t.Fatal(err)
		}
		checkReadsBack(t, m, b)
	}
}
