package app

import (
	"testing"
)

func sealer(t testing.TB) *Sealer {
	t.Helper()
	s, err := NewSealer(make([]byte, MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	testTeam      = "01920000-0000-7000-8000-00000000000a"
	testRecipient = "01920000-0000-7000-8000-00000000000b"
)

// rendered compiles a broadcast and gives the mail to one recipient, as strings.
func rendered(t testing.TB, b *Broadcast, email string, fields map[string]string) *Mail {
	t.Helper()
	if b.TeamID == "" {
		b.TeamID = testTeam
	}
	if b.From.Local == "" {
		b.From = Address{Local: "news", Domain: "acme.test"}
	}
	m, err := CompileBroadcast(b)
	if err != nil {
		t.Fatal(err)
	}
	return m.Mail(sealer(t), &BroadcastRecipient{ID: testRecipient, Email: email, Fields: fields}).Whole()
}

func TestABroadcastIsFilledForItsRecipient(t *testing.T) {
	b := &Broadcast{Subject: "Hi {{{FIRST_NAME|there}}}", BroadcastContent: BroadcastContent{
		HTML: `<html><body class=x><p>{{{contact.first_name|<b>you</b>}}}, {{{EMAIL}}}</p></body></html>`, Preview: "For {{{FIRST_NAME|<all>}}}",
	}}
	m := rendered(t, b, "ann@example.org", map[string]string{"first_name": "<Ann>"})
	const hidden = `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0">`
	if want := `<html><body class=x>` + hidden + `For &lt;Ann&gt;</div><p>&lt;Ann&gt;, ann@example.org</p></body></html>`; m.HTML != want {
		t.Errorf("html\n%s\n%s", m.HTML, want)
	}
	if m.Subject != "Hi <Ann>" || m.Text != "<Ann>, ann@example.org" {
		t.Errorf("%q %q", m.Subject, m.Text)
	}
	m = rendered(t, b, "ann@example.org", nil)
	if want := `<html><body class=x>` + hidden + `For &lt;all&gt;</div><p><b>you</b>, ann@example.org</p></body></html>`; m.HTML != want {
		t.Errorf("html\n%s\n%s", m.HTML, want)
	}
	if m.Subject != "Hi there" || m.Text != "you, ann@example.org" {
		t.Errorf("%q %q", m.Subject, m.Text)
	}
}
