package audience_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/db"
	"mailer/db/dbtest"
)

// transaction is one call of fakeSender.Send.
type transaction struct {
	at         time.Time
	recipients []string
	left       bool // the final dot was sent
}

// fakeSender is a relay that accepts everything. before runs before the final dot of the n-th
// transaction (from 1) and may end it with its own result.
type fakeSender struct {
	before func(n int, m *app.Outgoing) (app.Result, bool)
	mu     sync.Mutex
	all    []*transaction
}

func (s *fakeSender) Close() {}

func (s *fakeSender) Drain() {}

func (s *fakeSender) Bound() int { return 0 }

func (s *fakeSender) Send(ctx context.Context, m *app.Outgoing, authorize func(context.Context, string) error) app.Result {
	tr := &transaction{at: time.Now(), recipients: slices.Clone(m.Recipients)}
	s.mu.Lock()
	s.all = append(s.all, tr)
	n := len(s.all)
	s.mu.Unlock()
	if s.before != nil {
		if res, over := s.before(n, m); over {
			if res.Kind == app.ResultDoubt {
				if authorize(ctx, "") != nil {
					return app.Result{Kind: app.ResultWithdrawn}
				}
				tr.left = true
			}
			return res
		}
	}
	if authorize(ctx, "") != nil {
		return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
	}
	tr.left = true
	res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
	for _, address := range m.Recipients {
		res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Outcome: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250, Text: "Ok"}})
	}
	return res
}

// deferred is a result without recipients.
var deferred = app.Result{Kind: app.ResultDeferred, Stage: app.StageMail, Reply: app.Reply{Code: 451, Text: "later"}}

// deliveryTest is a server that sends through a fakeSender, in a synctest bubble.
type deliveryTest struct {
	*testing.T
	*server.Server
	store  *db.DB
	sender *fakeSender
	sealer *app.Sealer
	key    *app.Key
}

func runDeliveryTest(t *testing.T, fn func(m *deliveryTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &deliveryTest{T: t, sender: &fakeSender{}}
		var err error
		m.store, err = db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: dbtest.Schema(t), Create: true})
		m.must(err)
		defer func() { m.must(m.store.Close()) }()
		m.sealer, err = app.NewSealer(seal.MasterKey{Key: seal.NewMasterKey()})
		m.must(err)
		m.Server, err = server.New(t.Context(), server.Config{DB: m.store, Sealer: m.sealer, Capture: true, BaseURL: "https://mail.example.com", Jitter: func() float64 { return 0.5 },
			Routes: []delivery.Route{{Relay: relayurl.Relay{Region: app.CaptureRegion, Connections: 2}, Sender: m.sender}}})
		m.must(err)
		team, err := m.Teams.FindTeam(t.Context(), "")
		m.must(err)
		m.key = &app.Key{TeamID: team.ID, Permission: app.FullAccess}
		m.must(m.Start(t.Context()))
		defer func() {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			m.Stop(ctx)
		}()
		fn(m)
	})
}

func (m *deliveryTest) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *deliveryTest) suppress(email string, origin app.SuppressionOrigin) {
	m.Helper()
	if _, err := m.Suppressions.AddSuppression(m.Context(), m.key, app.SuppressionInput{Email: email, Origin: origin}); err != nil {
		m.Error(err) // not Fatal: called from sender goroutines too
	}
}

func (m *deliveryTest) send(to ...string) string {
	m.Helper()
	return m.sendAt("", to...)
}

func (m *deliveryTest) sendAt(at string, to ...string) string {
	m.Helper()
	text := "Hello"
	id, err := m.Mail.SendEmail(m.Context(), m.key, &app.EmailInput{From: "ann@example.com", To: to, Subject: "Hi", Text: &text, ScheduledAt: at}, mail.SendOptions{})
	m.must(err)
	return id
}

// wait advances the time and waits until all goroutines are blocked.
func (m *deliveryTest) wait(d time.Duration) {
	synctest.Wait()
	time.Sleep(d) // synctest time
	synctest.Wait()
}

// tries returns the recipients of each transaction, one line each. A line of a transaction that
// sent its final dot ends with a dot.
func (m *deliveryTest) tries() string {
	m.sender.mu.Lock()
	defer m.sender.mu.Unlock()
	var b strings.Builder
	for _, tr := range m.sender.all {
		b.WriteString(strings.Join(tr.recipients, " "))
		if tr.left {
			b.WriteByte('.')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (m *deliveryTest) wantTries(lines ...string) {
	m.Helper()
	if got, want := m.tries(), strings.Join(lines, "\n")+"\n"; got != want && got+want != "\n" {
		m.Errorf("transactions:\n%swant:\n%s", got, want)
	}
}

// want checks last_event, and the timeline as lines of "type recipient", oldest first, without the
// acceptance. It checks that the work on the email has ended.
func (m *deliveryTest) want(id string, last app.LastEvent, lines ...string) {
	m.Helper()
	email, err := m.Mail.GetEmail(m.Context(), m.key, id)
	m.must(err)
	events, _, err := m.Mail.ListEvents(m.Context(), m.key, id, app.Page{Limit: 100})
	m.must(err)
	slices.Reverse(events)
	var got []string
	for _, ev := range events[1:] {
		got = append(got, strings.TrimSpace(string(ev.Type)+" "+ev.Recipient))
		if optedOut := strings.Contains(ev.Detail.Message, "opted out of the topic News"); optedOut {
			continue
		}
		if ev.Type == app.EventType(app.Suppressed) && ev.Detail.Attempt == 0 && (!strings.Contains(ev.Detail.Message, "origin ") || !strings.Contains(ev.Detail.Message, "since 2000-01-01T")) {
			m.Errorf("words %q", ev.Detail.Message)
		}
	}
	if email.LastEvent != last || !slices.Equal(got, lines) {
		m.Errorf("last_event %s, timeline %q; want %s, %q", email.LastEvent, got, last, lines)
	}
	m.must(m.store.Read(m.Context(), func(r *db.Reader) error {
		open, err := r.HasUnit(id)
		if open {
			m.Error("the unit is still there")
		}
		committed, err2 := r.CommittedUnits()
		if len(committed) > 0 {
			m.Errorf("dotted %+v", committed)
		}
		waiting, err3 := r.OpenRecipients(app.Unit{EmailID: id})
		if len(waiting) > 0 {
			m.Errorf("still waiting: %v", waiting)
		}
		return errors.Join(err, err2, err3)
	}))
}

func TestSuppressionBeforeFinalDotIsObeyed(t *testing.T) {
	for _, attempt := range []int{1, 2} {
		t.Run(fmt.Sprint("attempt ", attempt), func(t *testing.T) {
			runDeliveryTest(t, func(m *deliveryTest) {
				m.sender.before = func(n int, _ *app.Outgoing) (app.Result, bool) {
					if n == attempt {
						m.suppress("BOB@example.org", app.OriginComplaint)
						return app.Result{}, false
					}
					return deferred, true
				}
				id := m.send("Bob@example.org")
				m.wait(3 * time.Minute)
				tries := []string{"Bob@example.org", "Bob@example.org"}[:attempt]
				m.wantTries(tries...)
				m.want(id, app.Suppressed, append([]string{"deferred"}[:attempt-1], "suppressed Bob@example.org")...)
			})
		})
	}
}

func TestOtherRecipientsAreSentWithoutSuppressed(t *testing.T) {
	for _, attempt := range []int{1, 2} {
		t.Run(fmt.Sprint("attempt ", attempt), func(t *testing.T) {
			runDeliveryTest(t, func(m *deliveryTest) {
				m.sender.before = func(n int, _ *app.Outgoing) (app.Result, bool) {
					if n < attempt {
						return deferred, true
					}
					if n == attempt {
						m.suppress("carl@example.org", app.OriginManual)
					}
					return app.Result{}, false
				}
				id := m.send("bob@example.org", "Carl@example.org", "dora@example.org")
				m.wait(3 * time.Minute)
				all := "bob@example.org Carl@example.org dora@example.org"
				m.wantTries(append([]string{all, all}[:attempt], "bob@example.org dora@example.org.")...)
				if n := len(m.sender.all); n != attempt+1 {
					m.Fatalf("%d transactions", n)
				}
				if d := m.sender.all[attempt].at.Sub(m.sender.all[attempt-1].at); d > 100*time.Millisecond {
					m.Errorf("the others waited %v", d)
				}
				m.want(id, app.Suppressed, append([]string{"deferred"}[:attempt-1], "suppressed Carl@example.org", "sent bob@example.org", "sent dora@example.org")...)
				events, _, err := m.Mail.ListEvents(m.Context(), m.key, id, app.Page{Limit: 1})
				m.must(err)
				if got := events[0].Detail.Attempt; got != attempt {
					m.Errorf("it was sent in attempt %d, want %d: obeying counts none", got, attempt)
				}
			})
		})
	}
}

func TestRetryObeysSuppressionWithoutRelay(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		m.sender.before = func(n int, _ *app.Outgoing) (app.Result, bool) { return deferred, n <= 2 }
		alone := m.send("bob@example.org")
		m.wait(100 * time.Millisecond) // two workers would attempt them in any order
		both := m.send("bob@example.org", "carl@example.org")
		m.wait(100 * time.Millisecond)
		m.suppress("bob@example.org", app.OriginBounce)
		m.wait(2 * time.Minute)
		m.wantTries("bob@example.org", "bob@example.org carl@example.org", "carl@example.org.")
		m.want(alone, app.Suppressed, "deferred", "suppressed bob@example.org")
		m.want(both, app.Suppressed, "deferred", "suppressed bob@example.org", "sent carl@example.org")
	})
}

func TestLeftOutRecipientStaysLeftOut(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		m.sender.before = func(n int, _ *app.Outgoing) (app.Result, bool) {
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect, Reply: app.Reply{Text: "refused"}}, n == 1
		}
		m.suppress("carl@example.org", app.OriginManual)
		id := m.send("Carl@example.org", "bob@example.org")
		if _, err := m.Suppressions.RemoveSuppression(m.Context(), m.key, "carl@example.org"); err != nil {
			m.Error(err)
		}
		m.wait(time.Minute)
		m.wantTries("bob@example.org", "bob@example.org.")
		m.want(id, app.Suppressed, "suppressed Carl@example.org", "relay_trouble", "sent bob@example.org")
	})
}

func TestUnrelatedSuppressionsAreIgnored(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		other, err := m.Teams.CreateTeam(m.Context(), "Other")
		m.must(err)
		m.sender.before = func(int, *app.Outgoing) (app.Result, bool) {
			m.suppress("out@example.org", app.OriginUnsubscribe)
			_, err := m.Suppressions.AddSuppression(m.Context(), &app.Key{TeamID: other.ID}, app.SuppressionInput{Email: "theirs@example.org"})
			if err != nil {
				m.Error(err)
			}
			return app.Result{}, false
		}
		id := m.send("out@example.org", "theirs@example.org")
		m.wait(100 * time.Millisecond)
		m.want(id, app.Sent, "sent out@example.org", "sent theirs@example.org")
		again := m.send("out@example.org", "theirs@example.org")
		m.wait(100 * time.Millisecond)
		m.want(again, app.Sent, "sent out@example.org", "sent theirs@example.org")
	})
}

func TestDoubtIsNotRepeatedToSuppressed(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		m.sender.before = func(int, *app.Outgoing) (app.Result, bool) {
			return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "closed"}}, true
		}
		id := m.send("bob@example.org")
		m.wait(100 * time.Millisecond)
		m.suppress("bob@example.org", app.OriginManual)
		m.wait(5 * time.Minute)
		m.wantTries("bob@example.org.")
		doubts, err := m.Delivery.ListDoubts(m.Context(), true)
		m.must(err)
		if len(doubts) != 1 || doubts[0].SettledAt.IsZero() || !strings.Contains(doubts[0].Settled, "suppressed") {
			m.Errorf("doubts %+v", doubts)
		}
		email, err := m.Mail.GetEmail(m.Context(), m.key, id)
		m.must(err)
		if email.LastEvent != app.Suppressed {
			m.Errorf("last_event %s", email.LastEvent)
		}
	})
}

func TestCanceledEmailIsNotSuppressed(t *testing.T) {
	for name, withdraw := range map[string]func(*db.Tx, string) error{
		"gone":  func(tx *db.Tx, id string) error { return tx.DeleteUnit(app.Unit{EmailID: id}) },
		"moved": func(tx *db.Tx, id string) error { return tx.MoveUnit(id, tx.Now.Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			runDeliveryTest(t, func(m *deliveryTest) {
				m.sender.before = func(n int, out *app.Outgoing) (app.Result, bool) {
					m.suppress("bob@example.org", app.OriginManual)
					if err := m.store.Write(m.Context(), func(tx *db.Tx) error { return withdraw(tx, out.EmailID) }); err != nil {
						m.Error(err)
					}
					return app.Result{}, false
				}
				id := m.send("bob@example.org", "carl@example.org")
				m.wait(time.Minute)
				m.wantTries("bob@example.org carl@example.org")
				events, _, err := m.Mail.ListEvents(m.Context(), m.key, id, app.Page{Limit: 10})
				m.must(err)
				if len(events) != 1 {
					m.Errorf("events %+v", events)
				}
				m.must(m.store.Read(m.Context(), func(r *db.Reader) error {
					next, err := r.NextLater(app.CaptureRegion, false)
					if name == "moved" && time.Until(next) < 50*time.Minute {
						m.Errorf("due at %v", next)
					}
					if errors.Is(err, db.ErrNotFound) {
						return nil
					}
					return err
				}))
			})
		})
	}
}

func TestScheduledEmailWithLeftOutRecipient(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		m.suppress("carl@example.org", app.OriginManual)
		soon := app.FormatTime(time.Now().Add(time.Hour))
		moved, canceled := m.sendAt(soon, "bob@example.org", "carl@example.org"), m.sendAt(soon, "bob@example.org", "carl@example.org")
		m.must(m.Mail.RescheduleEmail(m.Context(), m.key, moved, app.FormatTime(time.Now().Add(2*time.Hour))))
		m.must(m.Mail.CancelEmail(m.Context(), m.key, canceled))
		m.wait(time.Hour + time.Minute)
		m.wantTries()
		m.wait(time.Hour)
		m.wantTries("bob@example.org.")
		m.want(moved, app.Suppressed, "suppressed carl@example.org", "rescheduled", "sent bob@example.org")
		m.want(canceled, app.Canceled, "suppressed carl@example.org", "canceled")
		for _, id := range []string{moved, canceled} {
			if err := m.Mail.CancelEmail(m.Context(), m.key, id); app.CodeOf(err) != app.CodeValidation {
				m.Error(err)
			}
		}
	})
}

func TestSuppressedScheduledEmailNeverLeaves(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		id := m.sendAt(app.FormatTime(time.Now().Add(time.Hour)), "bob@example.org")
		m.wait(time.Minute)
		m.suppress("bob@example.org", app.OriginBounce)
		m.wait(2 * time.Hour)
		m.wantTries()
		m.want(id, app.Suppressed, "suppressed bob@example.org")
	})
}

func TestTestRecipientsArentSuppressed(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		m.sender.before = func(_ int, out *app.Outgoing) (app.Result, bool) {
			res := app.Result{Kind: app.ResultDone}
			for i, verdict := range []app.Outcome{app.SimulatedBounce, app.SimulatedSpam, app.SimulatedBlock} {
				res.Recipients = append(res.Recipients, app.RecipientResult{Address: out.Recipients[i], Outcome: verdict})
			}
			return res, true
		}
		to := []string{"bounced@simulator.mailer.test", "complained@simulator.mailer.test", "suppressed@simulator.mailer.test"}
		for range 2 {
			id := m.send(to...)
			m.wait(100 * time.Millisecond)
			m.want(id, app.Suppressed, "bounced "+to[0], "complained "+to[1], "suppressed "+to[2])
		}
		list, _, err := m.Suppressions.ListSuppressions(m.Context(), m.key, "", app.Page{Limit: 100})
		if err != nil || len(list) > 0 {
			m.Errorf("list %+v, %v", list, err)
		}
	})
}

// TestNothingLeavesAfterSuppression suppresses addresses while mail to them approaches its final
// dot: no final dot may follow the answer, and no email may be both sent and suppressed.
func TestNothingLeavesAfterSuppression(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		const n = 150
		var answered [n]atomic.Bool
		var late sync.Map // index of each email that was suppressed before the final check
		var wg sync.WaitGroup
		index := func(recipients []string) (i int) {
			if _, err := fmt.Sscanf(recipients[0], "u%d@", &i); err != nil {
				m.Error(err)
			}
			return i
		}
		m.sender.before = func(_ int, out *app.Outgoing) (app.Result, bool) {
			i := index(out.Recipients)
			done := make(chan struct{})
			wg.Go(func() {
				defer close(done)
				m.suppress(out.Recipients[0], app.OriginManual)
				answered[i].Store(true)
			})
			if i%3 == 0 {
				<-done
			}
			if answered[i].Load() {
				late.Store(i, true)
			}
			return app.Result{}, false
		}
		var ids []string
		for i := range n {
			ids = append(ids, m.send(fmt.Sprintf("u%d@example.org", i)))
		}
		m.wait(10 * time.Second)
		wg.Wait()
		left := map[int]bool{}
		for _, tr := range m.sender.all {
			if i := index(tr.recipients); tr.left {
				left[i] = true
				if _, known := late.Load(i); known {
					m.Errorf("%v left after its suppression was answered", tr.recipients)
				}
			}
		}
		m.Logf("%d of %d left before they were suppressed", len(left), n)
		for i, id := range ids {
			if address := fmt.Sprintf("u%d@example.org", i); left[i] {
				m.want(id, app.Sent, "sent "+address)
			} else {
				m.want(id, app.Suppressed, "suppressed "+address)
			}
		}
	})
}
