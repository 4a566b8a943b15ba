package audience_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestTopicOptOutsAreLeftOut(t *testing.T) {
	testserver.BothEngines(t)
	for _, def := range []app.Subscription{app.OptIn, app.OptOut} {
		t.Run(string(def), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelay(nil)
				w := testserver.Start(t, relay)
				news, other := w.AddTopic("News", def, app.PublicTopic), w.AddTopic("Other", app.OptIn, app.PublicTopic)
				for _, s := range []app.SuppressionInput{{Email: "bounced@example.net", Origin: app.OriginBounce}, {Email: "left@example.net", Origin: app.OriginUnsubscribe}} {
					_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, s)
					testserver.Must(t, err)
				}
				w.AddContact("gone@example.net", true)
				w.AddContact("contact@example.net", false)
				choose(w, news, "in@example.net", app.OptIn)
				choose(w, news, "gone@example.net", app.OptIn)
				choose(w, news, "out@example.net", app.OptOut)
				choose(w, news, "contact@example.net", app.OptOut)
				choose(w, other, "new@example.net", app.OptOut)
				id := sendAbout(w, news, "in@example.net", "new@example.net", "Out@Example.net", "contact@example.net", "gone@example.net", "left@example.net", "bounced@example.net")
				plain := w.Send("new@example.net", "out@example.net", "gone@example.net", "left@example.net", "bounced@example.net")
				synctest.Wait()
				time.Sleep(time.Second)
				synctest.Wait()
				want := map[string]string{
					"Out@example.net": "opted out of the topic News", "contact@example.net": "opted out of the topic News",
					"gone@example.net": "unsubscribed from everything", "left@example.net": "origin unsubscribe", "bounced@example.net": "origin bounce",
				}
				sent := "in@example.net new@example.net"
				if def == app.OptOut {
					want["new@example.net"] = "never opted in to the topic News"
					sent = "in@example.net"
				}
				for _, ev := range w.Events(id) {
					if ev.Type != app.EventType(app.Suppressed) {
						continue
					}
					if text := want[ev.Recipient]; text == "" || !strings.Contains(ev.Detail.Message, text) {
						t.Errorf("%s: %s", ev.Recipient, ev.Detail.Message)
					}
					delete(want, ev.Recipient)
				}
				if len(want) > 0 {
					t.Errorf("not told of: %v", want)
				}
				if got := strings.Join(relay.Transactions(id)[0].Message.Recipients, " "); got != sent {
					t.Errorf("sent to %s, want %s", got, sent)
				}
				if got := strings.Join(relay.Transactions(plain)[0].Message.Recipients, " "); got != "new@example.net out@example.net gone@example.net left@example.net" {
					t.Errorf("without a topic sent to %s", got)
				}
			})
		})
	}
}

func TestSendToOptedOutRecipientsIsRefused(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	w.AddContact("gone@example.net", true)
	choose(w, news, "out@example.net", app.OptOut)
	refused := testserver.TopicMessage(news, "out@example.net", "GONE@example.net")
	refused.Cc = []string{"in@example.net"}
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, refused, mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
	if err == nil || !strings.Contains(err.Error(), "All recipients are suppressed: see the email ") {
		t.Error(err)
	}
	items := []mail.BatchItem{{Input: testserver.TopicMessage(news, "in@example.net")}, {Input: refused}}
	_, err = w.Services.Mail.SendBatch(t.Context(), w.Key, items, false, mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
	if err == nil || !strings.Contains(err.Error(), "emails.1: All recipients are suppressed") {
		t.Error(err)
	}
	if got := w.Rows(`SELECT count(*) FROM emails WHERE unsent = 0`); got != "0\n" {
		t.Errorf("%s emails of refused sends", got)
	}
	result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, items, true, mail.SendOptions{})
	testserver.Must(t, err)
	if len(result.IDs) != 1 || len(result.Errors) != 1 || result.Errors[0].Index != 1 || !strings.HasPrefix(result.Errors[0].Message, "All recipients are suppressed: see the email ") {
		t.Errorf("%+v", result)
	}
	if e := w.Email(result.IDs[0]); e.TopicID != news.ID || e.Unsubscribe == "" {
		t.Errorf("%+v", e)
	}
}

func TestTopicCheckOrder(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	otherTeam := &app.Topic{ID: app.NewID(), Name: "Theirs", Default: app.OptIn, Visibility: app.PublicTopic}
	otherTeam.TeamID = w.AddTeam("Other", "other.example").TeamID
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(otherTeam) }))
	unknown := &app.Topic{ID: app.NewID()}
	from := func(in *app.EmailInput, domain string) *app.EmailInput {
		in.From = "x@" + domain
		return in
	}
	scoped := *w.Key
	scoped.DomainName = "elsewhere.example"
	opts := mail.SendOptions{IdempotencyKey: "k", Payload: []byte("a")}
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.TopicMessage(news, "a@example.net"), opts)
	testserver.Must(t, err)
	opts.Payload = []byte("b")
	for name, c := range map[string]struct {
		key  *app.Key
		in   *app.EmailInput
		opts mail.SendOptions
		code app.Code
	}{
		"shape before scope":       {&scoped, testserver.TopicMessage(&app.Topic{ID: "x"}, "a@example.net"), mail.SendOptions{}, app.CodeValidation},
		"scope before topic":       {&scoped, testserver.TopicMessage(unknown, "a@example.net"), mail.SendOptions{}, app.CodeRestrictedAPIKey},
		"idempotency before topic": {w.Key, testserver.TopicMessage(unknown, "a@example.net"), opts, app.CodeInvalidIdempotent},
		"unknown before domain":    {w.Key, from(testserver.TopicMessage(unknown, "a@example.net"), "nowhere.example"), mail.SendOptions{}, app.CodeNotFound},
		"foreign":                  {w.Key, testserver.TopicMessage(otherTeam, "a@example.net"), mail.SendOptions{}, app.CodeNotFound},
		"then the domain":          {w.Key, from(testserver.TopicMessage(news, "a@example.net"), "nowhere.example"), mail.SendOptions{}, app.CodeValidation},
	} {
		_, err := w.Services.Mail.SendEmail(t.Context(), c.key, c.in, c.opts)
		if app.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		_, err = w.Services.Mail.SendBatch(t.Context(), c.key, []mail.BatchItem{{Input: c.in}}, false, mail.SendOptions{})
		if c.code != app.CodeInvalidIdempotent && app.CodeOf(err) != c.code {
			t.Errorf("%s in a batch: %v", name, err)
		}
	}
}

func TestWaitingEmailKeepsItsTopic(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	in := testserver.TopicMessage(news, "a@example.net")
	in.TopicID = strings.ToUpper(in.TopicID)
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	plain := w.Send("a@example.net")
	if w.Email(id).TopicID != news.ID || w.Unit(id).TopicID != news.ID || w.Email(plain).TopicID != "" || w.Email(plain).Unsubscribe != "" || w.Unit(plain).TopicID != "" {
		t.Errorf("%+v, %+v", w.Email(id), w.Email(plain))
	}
	if got := w.Rows(`SELECT count(*) FROM units WHERE topic_id IS NULL`) + w.Rows(`SELECT count(*) FROM emails WHERE topic_id IS NULL`); got != "1\n1\n" {
		t.Errorf("%s are NULL", got)
	}
	w.Read(func(r *db.Reader) error {
		waits, err := r.HasTopicUnits(news.ID)
		if !waits {
			t.Error("the topic could be deleted")
		}
		return err
	})
}

func TestUnsubscribeLinkOfOneOrManyRecipients(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	link := func(in *app.EmailInput) app.PageLink {
		t.Helper()
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		l, ok := w.Config.Sealer.ReadPageToken(app.UnsubscribePage, linkOf(w, id))
		if !ok || l.Source != id || l.TeamID != w.Key.TeamID {
			t.Errorf("%+v, %v", l, ok)
		}
		return l
	}
	one, two, bare := testserver.TopicMessage(news, "Bob@Example.net"), testserver.TopicMessage(news, "bob@example.net"), testserver.Message("bob@example.net")
	one.Cc = []string{"BOB@example.net"} // the same mailbox: one recipient
	two.Bcc = []string{"eve@example.net"}
	bare.HTML = "{{{UNSUBSCRIBE_URL}}}"
	if l := link(one); l.Address != w.AddressHash("bob@example.net") || l.TopicID != news.ID {
		t.Errorf("one: %+v", l)
	}
	if l := link(two); l.Address != (app.AddressHash{}) || l.TopicID != news.ID {
		t.Errorf("two: %+v", l)
	}
	if l := link(bare); l.Address != w.AddressHash("bob@example.net") || l.TopicID != "" {
		t.Errorf("bare: %+v", l)
	}
}

// unsubscribeHeaders returns the List-Unsubscribe headers of a message.
func unsubscribeHeaders(m app.Outgoing) string {
	var b strings.Builder
	for _, h := range m.Mail.Headers {
		if strings.HasPrefix(strings.ToLower(h.Name), "list-") {
			b.WriteString(h.Name + ": " + h.Value + "\n")
		}
	}
	return b.String()
}

func TestEveryAttemptSendsTheSameMessage(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.LoseReply))
		w := testserver.New(t, relay)
		news := w.AddTopic("News", app.OptIn, app.PublicTopic)
		in := testserver.TopicMessage(news, "bob@example.net")
		in.HTML, in.Text = `<a href="{{{ UNSUBSCRIBE_URL }}}">x</a>`, nil
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		w.Start()
		synctest.Wait()
		next := w.Crash(relay) // the reply was lost, and the server restarts with another base URL
		next.Stop()
		next.Config.BaseURL = "https://elsewhere.example.com"
		next.Open()
		next.Start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		next.WantLastEvent(id, app.Sent)
		tries := relay.Transactions(id)
		if len(tries) < 2 {
			t.Fatalf("%d tries", len(tries))
		}
		page := next.Email(id).Unsubscribe
		for _, try := range tries {
			m := try.Message.Mail
			if want := "List-Unsubscribe: <" + page + ">\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n"; unsubscribeHeaders(try.Message) != want ||
				m.HTML != `<a href="`+page+`">x</a>` || m.Text != "x ("+page+")" {
				t.Errorf("sent %+v", m)
			}
		}
		if e := next.Email(id); e.HTML != in.HTML || len(e.Headers) > 0 || !strings.HasPrefix(page, "https://mail.example.com/unsubscribe/") {
			t.Errorf("kept %+v", e)
		}
	})
}

func TestCallersUnsubscribeHeadersReplaceOurs(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		in := testserver.TopicMessage(w.AddTopic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		in.Headers = map[string]string{"List-Unsubscribe": "<https://acme.example/u>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
		in.HTML = "{{{RESEND_UNSUBSCRIBE_URL}}}"
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		synctest.Wait()
		m := relay.Transactions(id)[0].Message
		if unsubscribeHeaders(m) != "List-Unsubscribe: <https://acme.example/u>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n" || m.Mail.HTML != w.Email(id).Unsubscribe {
			t.Errorf("sent %+v", m.Mail)
		}
	})
}

func TestCommandLinksToServersPages(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	command, err := server.New(t.Context(), server.Config{DB: w.DB, Sealer: w.Config.Sealer})
	testserver.Must(t, err)
	in := testserver.Message("bob@example.net")
	in.HTML = "{{{UNSUBSCRIBE_URL}}}"
	_, err = command.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeValidation)
	if err == nil || !strings.Contains(err.Error(), "mailer serve") {
		t.Error(err)
	}
	_, err = command.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
	testserver.Must(t, err)
	w.Start()
	command, err = server.New(t.Context(), server.Config{DB: w.DB, Sealer: w.Config.Sealer})
	testserver.Must(t, err)
	id, err := command.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	linkOf(w, id)
}

func TestOptOutBeforeFinalDotIsObeyed(t *testing.T) {
	for name, c := range map[string]struct {
		answers []testserver.Answer // of the relay before the opt-out
		at      string              // scheduled_at
		dot     bool                // the opt-out comes before the final dot
	}{
		"fresh, at the dot":      {nil, "", true},
		"scheduled":              {nil, "in 5 min", false},
		"scheduled, at the dot":  {nil, "in 5 min", true},
		"put off":                {[]testserver.Answer{testserver.ReplyWith(app.StageMail, 451, "later")}, "", false},
		"put off, at the dot":    {[]testserver.Answer{testserver.ReplyWith(app.StageMail, 451, "later")}, "", true},
		"the relay's trouble":    {[]testserver.Answer{testserver.RelayTrouble(app.StageConnect, "no route")}, "", false},
		"in doubt":               {[]testserver.Answer{testserver.LoseReply}, "", false},
		"in doubt, at the dot":   {[]testserver.Answer{testserver.LoseReply}, "", true},
		"after a crash-like try": {[]testserver.Answer{testserver.RelayTrouble(app.StageRcpt, "closed")}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				var w *testserver.Server
				var token string
				leave := func() {
					view, err := w.Services.Pages.Unsubscribe(t.Context(), token)
					if err != nil || view.Topic.Subscription != app.OptOut {
						t.Errorf("%+v, %v", view, err)
					}
				}
				relay := testserver.NewRelay(func(_ *app.Outgoing, n int) testserver.Answer {
					if n <= len(c.answers) {
						return c.answers[n-1]
					}
					return func(ctx context.Context, m *app.Outgoing, block func() error) app.Result {
						leave()
						res := testserver.Accept(ctx, m, block)
						if res.Kind != app.ResultWithdrawn {
							t.Errorf("it left in attempt %d: %+v", n, res)
						}
						return res
					}
				})
				w = testserver.New(t, relay)
				in := testserver.TopicMessage(w.AddTopic("News", app.OptIn, app.PrivateTopic), "bob@example.net")
				in.ScheduledAt = c.at
				id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
				testserver.Must(t, err)
				token = linkOf(w, id)
				w.Start()
				synctest.Wait()
				if !c.dot {
					leave()
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				w.WantLastEvent(id, app.Suppressed)
				want := len(c.answers)
				if c.dot {
					want++
				}
				if got := len(relay.Transactions(id)); got != want {
					t.Errorf("%d transactions, want %d", got, want)
				}
				if ev := w.OnlyEvent(id, app.EventType(app.Suppressed)); w.Unit(id) != nil || !strings.Contains(ev.Detail.Message, "opted out of the topic News") {
					t.Errorf("unit %+v, event %+v", w.Unit(id), ev)
				}
				for _, d := range w.Doubts() {
					if d.Settled == "" {
						t.Errorf("open doubt %+v", d)
					}
				}
			})
		})
	}
}

func TestOtherRecipientsAreSentWithoutOptedOut(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		var w *testserver.Server
		var news *app.Topic
		relay := testserver.NewRelay(testserver.InOrder(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			_, err := w.Services.Pages.Unsubscribe(t.Context(), w.PageToken(app.UnsubscribePage, app.PageLink{TopicID: news.ID, Address: w.AddressHash("carl@example.net")}))
			if err != nil {
				t.Error(err)
			}
			return testserver.Accept(ctx, m, hold)
		}))
		w = testserver.Start(t, relay)
		news = w.AddTopic("News", app.OptIn, app.PublicTopic)
		id := sendAbout(w, news, "bob@example.net", "Carl@example.net")
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		tries := relay.Transactions(id)
		if len(tries) != 2 || strings.Join(tries[1].Message.Recipients, " ") != "bob@example.net" || unsubscribeHeaders(tries[0].Message) != unsubscribeHeaders(tries[1].Message) {
			t.Errorf("tries %+v", tries)
		}
		if ev := w.OnlyEvent(id, app.EventType(app.Sent)); ev.Recipient != "bob@example.net" || ev.Detail.Attempt != 1 {
			t.Errorf("%+v", ev)
		}
	})
}

func TestUnsubscribeBlocksTopicsNotPlainMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		var w *testserver.Server
		relay := testserver.NewRelay(testserver.InOrder(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			_, err := w.Services.Pages.Unsubscribe(t.Context(), w.PageToken(app.UnsubscribePage, app.PageLink{Address: w.AddressHash("bob@example.net")}))
			if err != nil {
				t.Error(err)
			}
			return testserver.Accept(ctx, m, hold)
		}))
		w = testserver.Start(t, relay)
		id := sendAbout(w, w.AddTopic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		synctest.Wait()
		plain := w.Send("bob@example.net")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.WantLastEvent(id, app.Suppressed)
		w.WantLastEvent(plain, app.Sent)
	})
}

func TestOptOutsOnFullDisk(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		news, other := w.AddTopic("News", app.OptIn, app.PublicTopic), w.AddTopic("Other", app.OptIn, app.PublicTopic)
		id := sendAbout(w, news, "bob@example.net")
		address := w.AddressHash("bob@example.net")
		for _, change := range []func() (*audience.PageView, error){
			func() (*audience.PageView, error) { return w.Services.Pages.Unsubscribe(t.Context(), linkOf(w, id)) },
			func() (*audience.PageView, error) {
				return w.Services.Pages.Unsubscribe(t.Context(), w.PageToken(app.UnsubscribePage, app.PageLink{Address: address, Source: id}))
			},
			func() (*audience.PageView, error) {
				return w.Services.Pages.SavePreferences(t.Context(), w.PageToken(app.PreferencesPage, app.PageLink{Address: address}), map[string]app.Subscription{other.ID: app.OptOut, news.ID: app.OptIn}, "")
			},
		} {
			if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
				t.Fatal(err)
			}
			if _, err := change(); err != nil {
				t.Error(err)
			}
		}
		if got := w.Rows(`SELECT subscription, count(*) FROM choices GROUP BY subscription`) + w.Rows(`SELECT origin, email FROM suppressions`); got != "opt_in 1\nopt_out 1\nunsubscribe bob@example.net\n" {
			t.Error(got)
		}
		if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err := w.Services.Pages.SavePreferences(t.Context(), w.PageToken(app.PreferencesPage, app.PageLink{Address: address}), map[string]app.Subscription{other.ID: app.OptIn}, "")
		testserver.WantCode(t, err, app.CodeServiceUnavailable) // an opt-in needs space on the disk
	})
}

// BenchmarkSuppressionChecks measures the lookup of blocked recipients for a send, without and with
// a topic.
func BenchmarkSuppressionChecks(b *testing.B) {
	w := testserver.New(b, testserver.NewRelay(nil))
	news := w.AddTopic("News", app.OptIn, app.PublicTopic)
	for _, n := range []int{1, 50} {
		var recipients []string
		for i := range n {
			recipients = append(recipients, fmt.Sprintf("u%d@example.net", i))
		}
		for _, topic := range []string{"", news.ID} {
			b.Run(fmt.Sprintf("recipients=%d/topic=%v", n, topic != ""), func(b *testing.B) {
				w.Read(func(r *db.Reader) error {
					for b.Loop() {
						if _, err := w.Services.Audience.BlockedRecipients(r, w.Key.TeamID, topic, recipients); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}
