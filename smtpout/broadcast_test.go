package smtpout

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
)

const (
	testTeam  = "0198c0de-0000-7000-8000-00000000000a"
	testMails = "0198c0de-0000-7000-8000-0000"
)

func testSealer(t testing.TB) *app.Sealer {
	t.Helper()
	s, err := app.NewSealer(make([]byte, app.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newsletter is a broadcast of 5 KB of html with three placeholders and ten
// links, tracked or not.
func newsletter(tracked bool) *app.Broadcast {
	b := &app.Broadcast{
		TeamID: testTeam, From: app.Address{Name: "Acme News", Local: "news", Domain: "acme.test"}, Subject: "News for {{{FIRST_NAME|you}}}",
		BroadcastContent: app.BroadcastContent{Preview: "What is new in spring", Frozen: &app.BroadcastFrozen{Pages: "https://mail.acme.test"}},
	}
	if tracked {
		b.Frozen.Tracking = &app.Tracking{Base: "https://links.acme.test", Pages: "https://mail.acme.test", Open: true, Click: true}
	}
	var html strings.Builder
	html.WriteString("<!DOCTYPE html><html><head><style>td{color:red}</style></head><body><h1>Hello {{{FIRST_NAME|there}}} of {{{contact.company|your company}}}</h1>\n")
	for i := range 10 {
		fmt.Fprintf(&html, `<p style="margin:0 0 16px;font-family:Helvetica,Arial,sans-serif;font-size:16px;color:#333333">%s<a href="https://shop.acme.test/products/%d?utm_source=mail&amp;utm_campaign=spring">Have a look</a></p>`+"\n", strings.Repeat("Lorem ipsum dolor sit amet, ", 9), i)
	}
	html.WriteString(`<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p></body></html>`)
	b.HTML = html.String()
	return b
}

func compiled(t testing.TB, b *app.Broadcast) *app.BroadcastMail {
	t.Helper()
	m, err := app.CompileBroadcast(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// toRecipient is the transaction of a broadcast's n-th recipient.
func toRecipient(s *app.Sealer, m *app.BroadcastMail, n int64, email string, fields map[string]string) *app.Outgoing {
	id := app.MailID(testMails, n)
	out := transaction(m.Mail(s, &app.BroadcastRecipient{ID: id, Email: email, Fields: fields}))
	out.EmailID, out.MessageID, out.Bulk = id, id+"@acme.test", true
	return out
}

func BenchmarkComposeBroadcast(b *testing.B) {
	for _, tracked := range []bool{false, true} {
		b.Run(fmt.Sprintf("tracked=%v", tracked), func(b *testing.B) {
			s, m := testSealer(b), compiled(b, newsletter(tracked))
			fields := map[string]string{"first_name": "Ann", "property:company": "Bell & Sons"}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compose(toRecipient(s, m, 7, "ann@example.org", fields)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSignBroadcast(b *testing.B) {
	key, _ := testKey(b)
	s, m := testSealer(b), compiled(b, newsletter(true))
	message, err := compose(toRecipient(s, m, 7, "ann@example.org", nil))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("sign", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sign(message, key, app.ProfileGeneric); err != nil {
				b.Fatal(err)
			}
		}
	})
}
