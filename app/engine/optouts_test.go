package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/db"
)

func TestWhoIsLeftOutOfMailOfATopic(t *testing.T) {
	for _, def := range []app.Subscription{app.OptIn, app.OptOut} {
		t.Run(string(def), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(nil)
				w := serving(t, relay)
				news, other := w.topic("News", def, app.PublicTopic), w.topic("Other", app.OptIn, app.PublicTopic)
				for _, s := range []app.SuppressionInput{{Email: "bounced@example.net", Origin: app.OriginBounce}, {Email: "left@example.net", Origin: app.OriginUnsubscribe}} {
					_, err := w.e.AddSuppression(t.Context(), w.key, s)
					must(t, err)
				}
				w.contact("gone@example.net", true)
				w.contact("contact@example.net", false)
				w.choose(news, "in@example.net", app.OptIn)
				w.choose(news, "gone@example.net", app.OptIn)
				w.choose(news, "out@example.net", app.OptOut)
				w.choose(news, "contact@example.net", app.OptOut)
				w.choose(other, "new@example.net", app.OptOut)
				id := w.sendAbout(news, "in@example.net", "new@example.net", "Out@Example.net", "contact@example.net", "gone@example.net", "left@example.net", "bounced@example.net")
				plain := w.send("new@example.net", "out@example.net", "gone@example.net", "left@example.net", "bounced@example.net")
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
				for _, ev := range w.events(id) {
					if ev.Type != app.EventType(app.Suppressed) {
						continue
					}
					if words := want[ev.Recipient]; words == "" || !strings.Contains(ev.Detail.Message, words) {
						t.Errorf("%s: %s", ev.Recipient, ev.Detail.Message)
					}
					delete(want, ev.Recipient)
				}
				if len(want) > 0 {
					t.Errorf("not told of: %v", want)
				}
				if got := strings.Join(relay.seen(id)[0].m.Recipients, " "); got != sent {
					t.Errorf("sent to %s, want %s", got, sent)
				}
				if got := strings.Join(relay.seen(plain)[0].m.Recipients, " "); got != "new@example.net out@example.net gone@example.net left@example.net" {
					t.Errorf("without a topic sent to %s", got)
				}
			})
		})
	}
}

func TestASendWhoseToAllOptedOutIsRefused(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	w.contact("gone@example.net", true)
	w.choose(news, "out@example.net", app.OptOut)
	refused := about(news, "out@example.net", "GONE@example.net")
	refused.Cc = []string{"in@example.net"}
	_, err := w.e.SendEmail(t.Context(), w.key, refused, SendOptions{})
	wantCode(t, err, app.CodeAllRecipientsSuppressed)
	if err == nil || !strings.HasSuffix(err.Error(), "All recipients are suppressed") {
		t.Error(err)
	}
	items := []BatchItem{{Input: about(news, "in@example.net")}, {Input: refused}}
	_, err = w.e.SendBatch(t.Context(), w.key, items, false, SendOptions{})
	wantCode(t, err, app.CodeAllRecipientsSuppressed)
	if err == nil || !strings.Contains(err.Error(), "emails.1: All recipients are suppressed") {
		t.Error(err)
	}
	if got := w.rows(`SELECT count(*) FROM emails`); got != "0\n" {
		t.Errorf("%s emails of refused sends", got)
	}
	result, err := w.e.SendBatch(t.Context(), w.key, items, true, SendOptions{})
	must(t, err)
	if len(result.IDs) != 1 || len(result.Errors) != 1 || result.Errors[0] != (BatchError{1, "All recipients are suppressed"}) {
		t.Errorf("%+v", result)
	}
	if e := w.email(result.IDs[0]); e.TopicID != news.ID || e.Unsubscribe == "" {
		t.Errorf("%+v", e)
	}
}

func TestTheTopicIsCheckedAfterIdempotencyAndBeforeTheDomain(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	foreign := &app.Topic{ID: app.NewID(), Name: "Theirs", Default: app.OptIn, Visibility: app.PublicTopic}
	foreign.TeamID = w.addTeam("Other", "other.example").TeamID
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertTopic(foreign) }))
	unknown := &app.Topic{ID: app.NewID()}
	from := func(in *app.EmailInput, domain string) *app.EmailInput {
		in.From = "x@" + domain
		return in
	}
	scoped := *w.key
	scoped.DomainName = "elsewhere.example"
	opts := SendOptions{IdempotencyKey: "k", Payload: []byte("a")}
	_, err := w.e.SendEmail(t.Context(), w.key, about(news, "a@example.net"), opts)
	must(t, err)
	opts.Payload = []byte("b")
	for name, c := range map[string]struct {
		key  *app.Key
		in   *app.EmailInput
		opts SendOptions
		code app.Code
	}{
		"shape before scope":       {&scoped, about(&app.Topic{ID: "x"}, "a@example.net"), SendOptions{}, app.CodeValidation},
		"scope before topic":       {&scoped, about(unknown, "a@example.net"), SendOptions{}, app.CodeRestrictedAPIKey},
		"idempotency before topic": {w.key, about(unknown, "a@example.net"), opts, app.CodeInvalidIdempotent},
		"unknown before domain":    {w.key, from(about(unknown, "a@example.net"), "nowhere.example"), SendOptions{}, app.CodeNotFound},
		"foreign":                  {w.key, about(foreign, "a@example.net"), SendOptions{}, app.CodeNotFound},
		"then the domain":          {w.key, from(about(news, "a@example.net"), "nowhere.example"), SendOptions{}, app.CodeValidation},
	} {
		_, err := w.e.SendEmail(t.Context(), c.key, c.in, c.opts)
		if app.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		_, err = w.e.SendBatch(t.Context(), c.key, []BatchItem{{Input: c.in}}, false, SendOptions{})
		if c.code != app.CodeInvalidIdempotent && app.CodeOf(err) != c.code {
			t.Errorf("%s in a batch: %v", name, err)
		}
	}
}

func TestEmailAndUnitKeepTheirTopicWhileTheyWait(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	in := about(news, "a@example.net")
	in.TopicID = strings.ToUpper(in.TopicID)
	id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
	plain := w.send("a@example.net")
	if w.email(id).TopicID != news.ID || w.unit(id).TopicID != news.ID || w.email(plain).TopicID != "" || w.email(plain).Unsubscribe != "" || w.unit(plain).TopicID != "" {
		t.Errorf("%+v, %+v", w.email(id), w.email(plain))
	}
	if got := w.rows(`SELECT count(*) FROM units WHERE topic_id IS NULL`) + w.rows(`SELECT count(*) FROM emails WHERE topic_id IS NULL`); got != "1\n1\n" {
		t.Errorf("%s are NULL", got)
	}
	w.read(func(r *db.Reader) error {
		waits, err := r.HasTopicUnits(news.ID)
		if !waits {
			t.Error("the topic could be deleted")
		}
		return err
	})
}

func TestTheLinkStandsForTheOneRecipientOrForTheEmail(t *testing.T) {
	w := idle(t, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	link := func(in *app.EmailInput) app.PageLink {
		t.Helper()
		id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		l, ok := w.cfg.Sealer.ReadPageToken(app.UnsubscribePage, w.linkOf(id))
		if !ok || l.Source != id || l.TeamID != w.key.TeamID {
			t.Errorf("%+v, %v", l, ok)
		}
		return l
	}
	one, two, bare := about(news, "Bob@Example.net"), about(news, "bob@example.net"), letter("bob@example.net")
	one.Cc = []string{"BOB@example.net"} // the same mailbox: one recipient
	two.Bcc = []string{"eve@example.net"}
	bare.HTML = "{{{UNSUBSCRIBE_URL}}}"
	if l := link(one); l.Address != w.hash("bob@example.net") || l.TopicID != news.ID {
		t.Errorf("one: %+v", l)
	}
	if l := link(two); l.Address != (app.AddressHash{}) || l.TopicID != news.ID {
		t.Errorf("two: %+v", l)
	}
	if l := link(bare); l.Address != w.hash("bob@example.net") || l.TopicID != "" {
		t.Errorf("bare: %+v", l)
	}
}

// pairOf gives the unsubscribe pair of a message.
func pairOf(m app.Outgoing) string {
	var b strings.Builder
	for _, h := range m.Mail.Headers {
		if strings.HasPrefix(strings.ToLower(h.Name), "list-") {
			b.WriteString(h.Name + ": " + h.Value + "\n")
		}
	}
	return b.String()
}

func TestTheSameMessageLeavesInEachAttemptAlsoFromAnotherAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(lost))
		w := idle(t, relay)
		news := w.topic("News", app.OptIn, app.PublicTopic)
		in := about(news, "bob@example.net")
		in.HTML, in.Text = `<a href="{{{ UNSUBSCRIBE_URL }}}">x</a>`, nil
		id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		w.start()
		synctest.Wait()
		next := w.crash(relay) // the reply was lost, and the server comes back elsewhere
		next.stop()
		next.cfg.BaseURL = "https://elsewhere.example.com"
		next.open()
		next.start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		next.wantLast(id, app.Sent)
		tries := relay.seen(id)
		if len(tries) < 2 {
			t.Fatalf("%d tries", len(tries))
		}
		page := next.email(id).Unsubscribe
		for _, try := range tries {
			m := try.m.Mail
			if want := "List-Unsubscribe: <" + page + ">\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n"; pairOf(try.m) != want ||
				m.HTML != `<a href="`+page+`">x</a>` || m.Text != "x ("+page+")" {
				t.Errorf("sent %+v", m)
			}
		}
		if e := next.email(id); e.HTML != in.HTML || len(e.Headers) > 0 || !strings.HasPrefix(page, "https://mail.example.com/unsubscribe/") {
			t.Errorf("kept %+v", e)
		}
	})
}

func TestACallersPairReplacesOursAndThePlaceholderStillLeadsToUs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		in := about(w.topic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		in.Headers = map[string]string{"List-Unsubscribe": "<https://acme.example/u>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
		in.HTML = "{{{RESEND_UNSUBSCRIBE_URL}}}"
		id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		synctest.Wait()
		m := relay.seen(id)[0].m
		if pairOf(m) != "List-Unsubscribe: <https://acme.example/u>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n" || m.Mail.HTML != w.email(id).Unsubscribe {
			t.Errorf("sent %+v", m.Mail)
		}
	})
}

func TestACommandBesideTheServerLinksToTheServersPages(t *testing.T) {
	w := idle(t, newRelay(nil))
	command, err := New(t.Context(), Config{DB: w.db, Sealer: w.cfg.Sealer})
	must(t, err)
	in := letter("bob@example.net")
	in.HTML = "{{{UNSUBSCRIBE_URL}}}"
	_, err = command.SendEmail(t.Context(), w.key, in, SendOptions{})
	wantCode(t, err, app.CodeValidation)
	if err == nil || !strings.Contains(err.Error(), "mailer serve") {
		t.Error(err)
	}
	_, err = command.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
	must(t, err)
	w.start()
	command, err = New(t.Context(), Config{DB: w.db, Sealer: w.cfg.Sealer})
	must(t, err)
	id, err := command.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
	w.linkOf(id)
}

func TestAnOptOutBeforeTheDotIsObeyedHoweverTheMailWaits(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer // to the attempts before the opt-out
		at      string   // when it is scheduled
		dot     bool     // the opt-out comes while the relay waits for the dot
	}{
		"fresh, at the dot":      {nil, "", true},
		"scheduled":              {nil, "in 5 min", false},
		"scheduled, at the dot":  {nil, "in 5 min", true},
		"put off":                {[]answer{says(app.StageMail, 451, "later")}, "", false},
		"put off, at the dot":    {[]answer{says(app.StageMail, 451, "later")}, "", true},
		"the relay's trouble":    {[]answer{trouble(app.StageConnect, "no route")}, "", false},
		"in doubt":               {[]answer{lost}, "", false},
		"in doubt, at the dot":   {[]answer{lost}, "", true},
		"after a crash-like try": {[]answer{trouble(app.StageRcpt, "closed")}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var w *world
				var token string
				leave := func() {
					view, err := w.e.Unsubscribe(t.Context(), token)
					if err != nil || view.Topic.Subscription != app.OptOut {
						t.Errorf("%+v, %v", view, err)
					}
				}
				relay := newRelay(func(_ *app.Outgoing, n int) answer {
					if n <= len(c.answers) {
						return c.answers[n-1]
					}
					return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
						leave()
						res := accept(ctx, m, hold)
						if res.Kind != app.ResultWithdrawn {
							t.Errorf("it left in attempt %d: %+v", n, res)
						}
						return res
					}
				})
				w = idle(t, relay)
				in := about(w.topic("News", app.OptIn, app.PrivateTopic), "bob@example.net")
				in.ScheduledAt = c.at
				id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
				must(t, err)
				token = w.linkOf(id)
				w.start()
				synctest.Wait()
				if !c.dot {
					leave()
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				w.wantLast(id, app.Suppressed)
				want := len(c.answers)
				if c.dot {
					want++
				}
				if got := len(relay.seen(id)); got != want {
					t.Errorf("%d transactions, want %d", got, want)
				}
				if ev := w.eventOf(id, app.EventType(app.Suppressed)); w.unit(id) != nil || !strings.Contains(ev.Detail.Message, "opted out of the topic News") {
					t.Errorf("unit %+v, event %+v", w.unit(id), ev)
				}
				for _, d := range w.doubts() {
					if d.Settled == "" {
						t.Errorf("open doubt %+v", d)
					}
				}
			})
		})
	}
}

func TestTheOthersOfAnEmailAreSentAtOnceWithoutWhoLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var w *world
		var news *app.Topic
		relay := newRelay(firstly(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			_, err := w.e.Unsubscribe(t.Context(), w.link(app.UnsubscribePage, app.PageLink{TopicID: news.ID, Address: w.hash("carl@example.net")}))
			if err != nil {
				t.Error(err)
			}
			return accept(ctx, m, hold)
		}))
		w = serving(t, relay)
		news = w.topic("News", app.OptIn, app.PublicTopic)
		id := w.sendAbout(news, "bob@example.net", "Carl@example.net")
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		tries := relay.seen(id)
		if len(tries) != 2 || strings.Join(tries[1].m.Recipients, " ") != "bob@example.net" || pairOf(tries[0].m) != pairOf(tries[1].m) {
			t.Errorf("tries %+v", tries)
		}
		if ev := w.eventOf(id, app.EventType(app.Sent)); ev.Recipient != "bob@example.net" || ev.Detail.Attempt != 1 {
			t.Errorf("%+v", ev)
		}
	})
}

func TestABareOptOutHoldsBackTopicsAndLetsPlainMailPass(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var w *world
		relay := newRelay(firstly(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			_, err := w.e.Unsubscribe(t.Context(), w.link(app.UnsubscribePage, app.PageLink{Address: w.hash("bob@example.net")}))
			if err != nil {
				t.Error(err)
			}
			return accept(ctx, m, hold)
		}))
		w = serving(t, relay)
		id := w.sendAbout(w.topic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		synctest.Wait()
		plain := w.send("bob@example.net")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantLast(id, app.Suppressed)
		w.wantLast(plain, app.Sent)
	})
}

func TestOptOutsAreTakenWhileTheDiskIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		news := w.topic("News", app.OptIn, app.PublicTopic)
		id := w.sendAbout(news, "bob@example.net")
		address := w.hash("bob@example.net")
		for _, change := range []func() (*PageView, error){
			func() (*PageView, error) { return w.e.Unsubscribe(t.Context(), w.linkOf(id)) },
			func() (*PageView, error) {
				return w.e.Unsubscribe(t.Context(), w.link(app.UnsubscribePage, app.PageLink{Address: address, Source: id}))
			},
			func() (*PageView, error) {
				return w.e.SavePreferences(t.Context(), w.link(app.PreferencesPage, app.PageLink{Address: address}), map[string]app.Subscription{news.ID: app.OptIn})
			},
		} {
			if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
				t.Fatal(err)
			}
			if _, err := change(); err != nil {
				t.Error(err)
			}
		}
		if got := w.rows(`SELECT subscription, count(*) FROM choices`) + w.rows(`SELECT origin, email FROM suppressions`); got != "opt_in 1\nunsubscribe bob@example.net\n" {
			t.Error(got)
		}
	})
}

// BenchmarkStandings is what looking up who is left out costs a send, without and
// with a topic.
func BenchmarkStandings(b *testing.B) {
	w := idle(b, newRelay(nil))
	news := w.topic("News", app.OptIn, app.PublicTopic)
	for _, n := range []int{1, 50} {
		var recipients []string
		for i := range n {
			recipients = append(recipients, fmt.Sprintf("u%d@example.net", i))
		}
		for _, topic := range []string{"", news.ID} {
			b.Run(fmt.Sprintf("recipients=%d/topic=%v", n, topic != ""), func(b *testing.B) {
				w.read(func(r *db.Reader) error {
					for b.Loop() {
						if _, err := w.e.blockedAmong(r, w.key.TeamID, topic, recipients); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}
