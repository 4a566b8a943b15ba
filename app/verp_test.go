package app_test

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

func TestReturnPathIgnoresCase(t *testing.T) {
	s := apptest.Sealer(t, 1)
	for _, n := range []int{0, 1, 49, app.MaxReturnPathRecipient, app.AllRecipients} {
		want := app.ReturnPath{EmailID: apptest.PathEmail, Recipient: n}
		mailbox := s.ReturnPath("Send.Acme.test", want)
		local, host, _ := strings.Cut(mailbox, "@")
		if len(local) > 64 || host != "send.acme.test" || mailbox != strings.ToLower(mailbox) {
			t.Errorf("%s: %d octets before the @", mailbox, len(local))
		}
		if _, err := app.ParseAddress(mailbox); err != nil {
			t.Errorf("%s: %v", mailbox, err)
		}
		for _, spelling := range []string{mailbox, strings.ToUpper(mailbox), strings.Replace(mailbox, "bounce", "BoUnCe", 1)} {
			if got, ok := s.ReadReturnPath(spelling); !ok || got != want {
				t.Errorf("%s: %+v, %v", spelling, got, ok)
			}
		}
	}
}

func TestReturnPathBeyondLimitMeansAllRecipients(t *testing.T) {
	s := apptest.Sealer(t, 1)
	got, ok := s.ReadReturnPath(s.ReturnPath("a.test", app.ReturnPath{EmailID: apptest.PathEmail, Recipient: 255}))
	if !ok || got.Recipient != app.AllRecipients {
		t.Errorf("%+v, %v", got, ok)
	}
}

func TestForeignReturnPathIsRefused(t *testing.T) {
	s := apptest.Sealer(t, 1)
	good := s.ReturnPath("send.acme.test", app.ReturnPath{EmailID: apptest.PathEmail, Recipient: 0})
	local, _, _ := strings.Cut(good, "@")
	bad := []string{
		"", "@", "bounce+", "bounce+@send.acme.test", "bounce@send.acme.test", "a@b.test",
		local, local + "@", local + "@other.test", local + "@send.acme.test.", local + "a@send.acme.test",
		local[:len(local)-1] + "@send.acme.test", local[:20] + "\r\n" + local[20:] + "@send.acme.test",
		local + "=@send.acme.test", good + "@x.test", strings.Replace(good, "bounce+", "bounces+", 1),
		apptest.Sealer(t, 2).ReturnPath("send.acme.test", app.ReturnPath{EmailID: apptest.PathEmail}),
		"bounce+" + strings.Repeat("a", 55) + "@send.acme.test", "bounce+" + strings.Repeat("a", 5000) + "@send.acme.test",
	}
	for i := len("bounce+"); i < len(local); i++ {
		for _, c := range []byte("ab") {
			changed := []byte(good)
			changed[i] = c
			if string(changed) != good {
				bad = append(bad, string(changed))
			}
		}
	}
	for _, mailbox := range bad {
		if p, ok := s.ReadReturnPath(mailbox); ok {
			t.Errorf("%q was taken for %+v", mailbox, p)
		}
	}
}

func TestReturnPathHasOneSpelling(t *testing.T) {
	s := apptest.Sealer(t, 1)
	good := s.ReturnPath("a.test", app.ReturnPath{EmailID: apptest.PathEmail})
	at := strings.IndexByte(good, '@') - 1
	taken := 0
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz234567") {
		changed := []byte(good)
		changed[at] = c
		if _, ok := s.ReadReturnPath(string(changed)); ok {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d spellings are taken", taken)
	}
}

func FuzzReadReturnPath(f *testing.F) {
	s := apptest.Sealer(f, 1)
	f.Add(s.ReturnPath("send.acme.test", app.ReturnPath{EmailID: apptest.PathEmail, Recipient: 3}))
	f.Add("bounce+@")
	f.Add("bounce+aaaa@b")
	f.Fuzz(func(t *testing.T, mailbox string) {
		p, ok := s.ReadReturnPath(mailbox)
		if !ok {
			return
		}
		_, host, _ := strings.Cut(mailbox, "@")
		if again := s.ReturnPath(host, p); !strings.EqualFold(again, mailbox) {
			t.Errorf("%q is taken for %+v, which is %q", mailbox, p, again)
		}
	})
}

func TestReplyAddress(t *testing.T) {
	s := apptest.Sealer(t, 1)
	want := app.ReturnPath{EmailID: apptest.PathEmail, Recipient: app.AllRecipients}
	address := s.ReplyAddress("Acme.test", want)
	if len(address.Local) > 64 || address.Domain != "acme.test" || address.Local != strings.ToLower(address.Local) {
		t.Errorf("%s: %d octets before the @", address, len(address.Local))
	}
	if parsed, err := app.ParseAddress(address.Mailbox()); err != nil || parsed != address {
		t.Errorf("%s: %v, %v", address, parsed, err)
	}
	path := s.ReturnPath("acme.test", want)
	for spelling, valid := range map[string]bool{
		address.Mailbox():                           true,
		strings.ToUpper(address.Mailbox()):          true,
		address.Local + "@other.test":               false,
		address.Local[:40] + "@acme.test":           false,
		"reply+support@acme.test":                   false,
		"reply@acme.test":                           false,
		strings.Replace(path, "bounce", "reply", 1): false, // signed for another purpose
		path: false,
		apptest.Sealer(t, 2).ReplyAddress("acme.test", want).Mailbox(): false,
	} {
		if got, ok := s.ReadReplyAddress(spelling); ok != valid || ok && got != want {
			t.Errorf("%s: %+v, %t", spelling, got, ok)
		}
	}
	if _, ok := s.ReadReturnPath(strings.Replace(address.Mailbox(), "reply", "bounce", 1)); ok {
		t.Error("a reply address is a return path")
	}
}
