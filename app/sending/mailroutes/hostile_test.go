package mailroutes_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/testing/testserver"
)

// TestHostileMailIsForwardedWithoutHarm: no field of a stranger adds another field, and no mail is lost for one.
func TestHostileMailIsForwardedWithoutHarm(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		f.route("in@example.com", to("ann@BÜCHER.example"))
		f.agree("ann@xn--bcher-kva.example")
		var ids []string
		for i := range 30 {
			ids = append(ids, fmt.Sprintf("<%d%s@example.net>", i, strings.Repeat("x", 230)))
		}
		page := func(text string) string {
			return "From: bob@example.net\r\nSubject: s\r\nContent-Type: text/html\r\n\r\n" + text + "\r\n"
		}
		for name, text := range map[string]string{
			"subject":          "From: bob@example.net\r\nSubject: =?utf-8?q?a=0d=0aBcc:_evil@example.org=0d=0a=0d=0ax?=\r\n\r\nx\r\n",
			"long subject":     "From: bob@example.net\r\nSubject: " + strings.Repeat("é", 5000) + "\r\n\r\nx\r\n",
			"name":             "From: =?utf-8?q?A=0d=0aBcc:_evil@example.org?= <bob@example.net>\r\n\r\nx\r\n",
			"long name":        "From: \"" + strings.Repeat("\\\"é", 3000) + "\" <bob@example.net>\r\n\r\nx\r\n",
			"control in name":  "From: \"a\x00\u202eb\x7f\" <bob@example.net>\r\n\r\nx\r\n",
			"many authors":     "From: a@example.net, b@example.net\r\nFrom: c@example.net\r\n\r\nx\r\n",
			"no author":        "Subject: s\r\n\r\nx\r\n",
			"author not ASCII": "From: jörg@bücher.example\r\nReply-To: jörg@bücher.example, \"x\" <a b@c>\r\n\r\nx\r\n",
			"reply to":         "From: bob@example.net\r\nReply-To: =?utf-8?q?x=0d=0aBcc:?= <desk@example.net>, <a@example.net\x00>\r\n\r\nx\r\n",
			"references":       "From: bob@example.net\r\nMessage-ID: <" + strings.Repeat("y", 900) + "@example.net>\r\nReferences: " + strings.Join(ids, "\r\n ") + "\r\n\r\nx\r\n",
			"message id":       "From: bob@example.net\r\nMessage-ID: <a\x00b> <c@example.net>\r\nReferences: <=?utf-8?q?=0d=0aBcc:x?=@example.net>\r\n\r\nx\r\n",
			"file name":        "From: bob@example.net\r\nContent-Type: application/pdf; name=\"=?utf-8?q?a=0d=0aBcc:_x?=\"\r\nContent-Disposition: attachment\r\nContent-ID: <=?utf-8?q?a=0d=0aBcc:_x?=>\r\n\r\nx\r\n",
			"no body":          "From: bob@example.net\r\n\r\n",
			"comment":          page("<p>x</p></body><!-- </body> -->"),
			"open comment":     page("<p>x</p></body><!-- </body>"),
			"open style":       page("<p>x</p></body><style> </body>"),
			"open tag":         page("<p>x</p><a href='"),
			"open textarea":    page("<p>x</p><textarea></body>"),
			"plaintext":        page("<p>x</p><plaintext></body>"),
		} {
			before := len(f.sentTo("ann@xn--bcher-kva.example"))
			f.deliver(text, "in@example.com")
			sent := f.sentTo("ann@xn--bcher-kva.example")
			if len(sent) != before+1 {
				effects := strings.Split(strings.TrimSpace(f.effects()), "\n")
				t.Errorf("%s: %s", name, effects[len(effects)-1])
				continue
			}
			got := sent[before].Mail
			fields := []string{got.Subject, got.From.Name, got.From.Mailbox()}
			for _, a := range got.ReplyTo {
				fields = append(fields, a.Name, a.Mailbox())
			}
			for _, h := range got.Headers {
				fields = append(fields, h.Name, h.Value)
			}
			for _, a := range got.Attachments {
				fields = append(fields, a.Filename, a.ContentType, a.ContentID)
			}
			for _, field := range fields {
				if app.HasControl(field) {
					t.Errorf("%s: %q", name, field)
				}
			}
			if got.From.Mailbox() != "in@example.com" || len(got.To) != 1 || len(got.Cc)+len(got.Bcc) != 0 || !strings.Contains(got.Text, "/forwarding/") {
				t.Errorf("%s: from %s, %v %q", name, got.From, got.To, got.Text)
			}
			if got.HTML != "" {
				root, err := html.Parse(strings.NewReader(got.HTML))
				testserver.Must(t, err)
				shown := false
				for n := range root.Descendants() {
					shown = shown || n.Data == "a" && len(n.Attr) == 1 && n.Attr[0].Key == "href" && strings.Contains(n.Attr[0].Val, "/forwarding/")
				}
				if !shown {
					t.Errorf("%s: the link is not shown: %s", name, got.HTML)
				}
			}
		}
	})
}

// TestRoutesOfInternationalAddresses: a route and a recipient are compared in their canonical spelling.
func TestRoutesOfInternationalAddresses(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		key := f.AddTeam("Third", "xn--bcher-kva.test")
		f.SQL("UPDATE domains SET receiving = 1, receives = 1, receives_at = ?", clock.Now().UnixMilli())
		for i, match := range []string{"Info@BÜCHER.test", "jörg@bücher.test", "+grüße"} {
			_, err := f.service.Create(t.Context(), key, app.MailRouteInput{Match: match, Actions: []app.RouteAction{to(fmt.Sprintf("ann%d@example.org", i))}})
			testserver.Must(t, err)
			f.agree(fmt.Sprintf("ann%d@example.org", i))
		}
		for i, address := range []string{"info@xn--bcher-kva.test", "jörg@bücher.test", "x+GRÜSSE@bücher.test", "x+grüße@Bücher.TEST"} {
			f.deliver(f.message(""), address)
			if got := len(f.sentTo(fmt.Sprintf("ann%d@example.org", min(i, 2)))); got != 2 && i < 2 {
				t.Errorf("%s: %d mails", address, got)
			}
		}
		if got := len(f.sentTo("ann2@example.org")); got != 2 {
			t.Errorf("%d mails by the tag", got)
		}
	})
}

// TestRoutesDoNotLoop: two routes forward to each other, and two answer each other.
func TestRoutesDoNotLoop(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		template := f.PublishTemplate(f.Key, "thanks", app.TemplateContent{Subject: "We got it", HTML: "<p>Thanks</p>"})
		other := f.PublishTemplate(f.second, "thanks", app.TemplateContent{Subject: "We got it", HTML: "<p>Thanks</p>"})
		f.route("a@example.com", to("b@two.test"), app.RouteAction{Type: app.RouteReply, TemplateID: template.ID})
		f.agree("b@two.test")
		_, err := f.service.Create(t.Context(), f.second, app.MailRouteInput{Match: "b@two.test", Actions: []app.RouteAction{to("a@example.com"), {Type: app.RouteReply, TemplateID: other.ID}}})
		testserver.Must(t, err)
		f.agree("a@example.com")
		f.deliver(f.message(""), "a@example.com")
		again := func(m app.Outgoing, at string) {
			text := "From: " + m.Mail.From.String() + "\r\nSubject: " + m.Mail.Subject + "\r\nMessage-ID: <" + m.EmailID + "@example.com>\r\n"
			for _, h := range m.Mail.Headers {
				text += h.Name + ": " + h.Value + "\r\n"
			}
			f.from = m.Mail.From.Mailbox() // worse than the return path
			f.deliver(text+"\r\n"+m.Mail.Text, at)
		}
		sent := f.sentTo("b@two.test")
		if len(sent) != 2 || len(f.sentTo("bob@example.net")) != 1 {
			t.Fatalf("%d forwarded", len(sent)-1)
		}
		before := f.Count("emails")
		again(sent[1], "b@two.test")
		again(f.sentTo("bob@example.net")[0], "b@two.test")
		if got := f.Count("emails"); got != before {
			t.Errorf("%s emails, before %s", got, before)
		}
	})
}
