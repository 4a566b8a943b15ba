package audience_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/db"
)

// TestNoAuthorizeSucceedsAfterOptOut opts 1,000 recipients of mail with a topic out: a quarter before
// their mail is authorized, a quarter after all mail was sent, and the others at a random moment of a
// transaction. Some of the mail has a second recipient, who must get it.
func TestNoAuthorizeSucceedsAfterOptOut(t *testing.T) {
	runDeliveryTest(t, func(m *deliveryTest) {
		const n = 1000
		topic := app.Topic{ID: app.NewID(), TeamID: m.key.TeamID, Name: "News", Default: app.OptIn, Visibility: app.PublicTopic}
		m.must(m.store.Write(m.Context(), func(tx *db.Tx) error { return tx.InsertTopic(&topic) }))
		var answered, late [n]atomic.Bool
		var once [n]sync.Once
		var clicks sync.WaitGroup
		click := func(i int, address string) {
			token := m.sealer.PageToken(app.UnsubscribePage, app.PageLink{TeamID: m.key.TeamID, TopicID: topic.ID, Address: m.sealer.AddressHash(m.key.TeamID, app.KeyOf(address))})
			if _, err := m.Pages.Unsubscribe(m.Context(), token); err != nil {
				m.Error(err)
			}
			answered[i].Store(true)
		}
		var mu sync.Mutex
		var waiting []func()
		m.sender.before = func(_ int, out *app.Outgoing) (app.Result, bool) {
			var i int
			if _, err := fmt.Sscanf(out.Recipients[0], "u%d@", &i); err != nil {
				return app.Result{}, false // the second recipient alone
			}
			once[i].Do(func() {
				optOut := func() { click(i, out.Recipients[0]) }
				if i%4 == 0 {
					optOut()
				}
				if i%4 < 2 {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				waiting = append(waiting, optOut)
				if k := rand.IntN(2); k < len(waiting) {
					clicks.Go(waiting[k])
					waiting = slices.Delete(waiting, k, k+1)
				}
			})
			if answered[i].Load() {
				late[i].Store(true)
			}
			return app.Result{}, false
		}
		text := "Hello"
		var ids [n]string
		for i := range n {
			to := []string{fmt.Sprintf("u%d@example.org", i)}
			if i%3 == 0 {
				to = append(to, "other@example.org")
			}
			in := &app.EmailInput{From: "ann@example.com", To: to, Subject: "Hi", Text: &text, TopicID: topic.ID}
			var err error
			ids[i], err = m.Mail.SendEmail(m.Context(), m.key, in, mail.SendOptions{})
			m.must(err)
		}
		m.wait(time.Minute)
		clicks.Wait()
		for _, optOut := range waiting {
			optOut()
		}
		for i := 1; i < n; i += 4 {
			click(i, fmt.Sprintf("u%d@example.org", i))
		}
		left := map[int]bool{}
		others := 0
		for _, tr := range m.sender.all {
			for _, address := range tr.recipients {
				var i int
				switch _, err := fmt.Sscanf(address, "u%d@", &i); {
				case !tr.left:
				case err != nil:
					others++
				case late[i].Load() || left[i]:
					m.Errorf("%s got it after the answer, or twice", address)
				default:
					left[i] = true
				}
			}
		}
		if others != (n+2)/3 {
			m.Errorf("the other one got %d mails", others)
		}
		for i := range n {
			if i%4 == 0 && left[i] || i%4 == 1 && !left[i] {
				m.Errorf("u%d@example.org got it: %t", i, left[i])
			}
		}
		m.Logf("%d of %d left before the opt-out was answered", len(left), n)
		for i, id := range ids {
			want := app.Suppressed
			if left[i] {
				want = app.Sent
			}
			if email, err := m.Mail.GetEmail(m.Context(), m.key, id); err != nil || email.LastEvent != want {
				m.Errorf("email %d: %v, %v; want %s", i, email, err, want)
			}
		}
	})
}
