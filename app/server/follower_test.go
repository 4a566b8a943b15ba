package server_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// withTwoServers runs a test with two servers on one database, of which the first leads.
func withTwoServers(t *testing.T, fn func(t *testing.T, one, two *testserver.Server)) {
	testserver.PostgresOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		one := testserver.Start(t, testserver.NewRelay(nil))
		two := one.AddNode(testserver.NewRelay(nil))
		fn(t, one, two)
	})
}

// soon is the longest time until a server has processed a write of the other one; early is the time
// for which a new server sends nothing, since the other may not know it yet.
const (
	soon  = 3 * base.SweepEvery
	early = 3 * time.Second
)

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestMailIsSentByAcceptingServer(t *testing.T) {
	withTwoServers(t, func(t *testing.T, one, two *testserver.Server) {
		other := one.AddTeam("other", "other.example")
		sleep(early)
		first, second := one.Send("bob@example.net"), two.Send("bob@example.net")
		in := testserver.Message("eve@example.net")
		in.From = "x@other.example"
		theirs, err := two.Services.Mail.SendEmail(t.Context(), other, in, mail.SendOptions{})
		testserver.Must(t, err)
		sleep(100 * time.Millisecond)
		for id, by := range map[string][2]*testserver.Server{first: {one, two}, second: {two, one}, theirs: {two, one}} {
			if len(by[0].Relays[0].Transactions(id)) != 1 || len(by[1].Relays[0].Transactions(id)) != 0 {
				t.Errorf("%s left %d times through the server that accepted it, %d times through the other", id, len(by[0].Relays[0].Transactions(id)), len(by[1].Relays[0].Transactions(id)))
			}
		}
		one.WantLastEvent(second, app.Sent)
	})
}

func TestFollowerTakesOver(t *testing.T) {
	withTwoServers(t, func(t *testing.T, one, two *testserver.Server) {
		later := two.SendAt(time.Now().Add(time.Hour).Format(time.RFC3339))
		first := two.Send("bob@example.net")
		sleep(soon)
		one.Stop()
		id := two.Send("carl@example.net")
		sleep(soon)
		two.WantLastEvent(first, app.Sent)
		two.WantLastEvent(id, app.Sent)
		if len(two.Relays[0].Transactions(id)) != 1 || !two.DB.Cluster().Leads() {
			t.Errorf("it left %d times", len(two.Relays[0].Transactions(id)))
		}
		sleep(2 * time.Hour)
		two.WantLastEvent(later, app.Sent)
		if n := one.Relays[0].FinalDots(first) + two.Relays[0].FinalDots(first); n != 1 {
			t.Errorf("what had left before did so %d times", n)
		}
	})
}

func TestIdempotencyKeyAcrossServers(t *testing.T) {
	withTwoServers(t, func(t *testing.T, one, two *testserver.Server) {
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			opts := mail.SendOptions{IdempotencyKey: key, Payload: []byte("the same")}
			var ids [2]string
			var wait sync.WaitGroup
			for i, w := range []*testserver.Server{one, two} {
				wait.Go(func() {
					id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), opts)
					testserver.Must(t, err)
					ids[i] = id
				})
			}
			wait.Wait()
			if ids[0] != ids[1] {
				t.Errorf("%s: %q", key, ids)
			}
		}
		opts := mail.SendOptions{IdempotencyKey: "a", Payload: []byte("another")}
		if _, err := two.Services.Mail.SendEmail(t.Context(), two.Key, testserver.Message("bob@example.net"), opts); app.CodeOf(err) != app.CodeInvalidIdempotent {
			t.Errorf("another request with a key: %v", err)
		}
		sleep(soon)
		if n := one.SQL(`SELECT count(*)::text FROM emails`)[0]; n != "6" {
			t.Errorf("%s emails", n)
		}
	})
}

func TestFollowerServesRequests(t *testing.T) {
	withTwoServers(t, func(t *testing.T, one, two *testserver.Server) {
		two.AddSubscribers(30)
		b := two.AddDraft()
		two.Queue(b)
		sleep(soon)
		if got := two.Recipients(b, "sent"); strings.Count(got, "@") != 30 {
			t.Errorf("a broadcast: sent to %q", got)
		}
		began := time.Now()
		testserver.Must(t, two.Services.Audience.EraseContacts(t.Context(), two.Key.TeamID, []app.Contact{two.CreateContact(two.Key.TeamID, testserver.SubscriberAddress(3))}))
		if n := two.OpenErasures(); n != 0 || time.Since(began) > soon {
			t.Errorf("%d erasures are open after %s", n, time.Since(began))
		}
		two.AddWebhook("in.example.com", webhook.TopicCreated)
		_, err := two.Services.Topics.CreateTopic(t.Context(), two.Key, app.TopicInput{Name: "News", Default: app.OptIn})
		testserver.Must(t, err)
		if n := len(two.TeamWebhookEvents(two.Key.TeamID)); n == 0 {
			t.Error("a webhook that was made there hears nothing")
		}
	})
}

func TestSettingsDifferentFromLeaderAreReported(t *testing.T) {
	withTwoServers(t, func(t *testing.T, one, two *testserver.Server) {
		if two.Log.Contains("other flags") || two.Log.Contains("another --base-url") {
			t.Error("one that was told the same says so too")
		}
		one.Config.Compat, one.Config.BaseURL = app.CompatResend, "https://other.example.com"
		three := one.AddNode(testserver.NewRelay(nil))
		for _, words := range []string{"this.compat=resend", "it.compat=strict", "this.base_url=https://other.example.com", "it.base_url=https://mail.example.com"} {
			if !three.Log.Contains(words) {
				t.Errorf("the log does not say %s:\n%s", words, three.Log.String())
			}
		}
	})
}
