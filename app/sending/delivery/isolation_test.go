package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// twoTeams is a test server with a second team on the same relay.
type twoTeams struct {
	*testserver.Server
	relay *testserver.FakeRelay
	other *app.Key
}

const otherDomain = "other.example"

func startTwoTeams(t *testing.T, relay relayurl.Relay) *twoTeams {
	r := testserver.NewRelayOf(relay, nil)
	w := testserver.Start(t, r)
	return &twoTeams{w, r, w.AddTeam("Other", otherDomain)}
}

func (n *twoTeams) sendOther(to ...string) string {
	n.T.Helper()
	in := testserver.Message(to...)
	in.From = "x@" + otherDomain
	id, err := n.Services.Mail.SendEmail(n.T.Context(), n.other, in, mail.SendOptions{})
	testserver.Must(n.T, err)
	return id
}

// ofOther makes the relay answer the other team's mail with a and accept all other mail.
func (n *twoTeams) ofOther(a testserver.Answer) {
	n.relay.SetScript(func(m *app.Outgoing, _ int) testserver.Answer {
		if m.TeamID == n.other.TeamID {
			return a
		}
		return nil
	})
}

// wait is how long an email waited for its first transaction; -1: there was none.
func (n *twoTeams) wait(id string, since time.Time) time.Duration {
	seen := n.relay.Transactions(id)
	if len(seen) == 0 {
		return -1
	}
	return seen[0].At.Sub(since)
}

// steady sends an email of the test team every 1.9 seconds for a while, so that they fall on all
// parts of a second, and checks that each is sent soon.
func (n *twoTeams) steady(span time.Duration) {
	n.T.Helper()
	const interval = 1900 * time.Millisecond
	for range int(span / interval) {
		at := time.Now()
		id := n.Send("bob@example.net")
		time.Sleep(interval)
		synctest.Wait()
		if d := n.wait(id, at); d < 0 || d > 400*time.Millisecond {
			n.T.Fatalf("an email of the team that has no trouble left after %v", d)
		}
		n.WantLastEvent(id, app.Sent)
		if timeline := n.Timeline(id); strings.Contains(timeline, otherDomain) || strings.Contains(timeline, "relay_trouble") {
			n.T.Fatalf("it shows the trouble of another team:\n%s", timeline)
		}
	}
}

// laterOther checks that mail of the other team is sent automatically, each once.
func (n *twoTeams) laterOther(ids []string, within time.Duration) {
	n.T.Helper()
	n.relay.SetScript(nil)
	time.Sleep(within)
	synctest.Wait()
	taken := map[string]int{}
	for _, try := range n.relay.Transactions("") {
		taken[try.Message.EmailID]++
	}
	for _, id := range ids {
		if email, _ := n.Services.Mail.GetEmail(n.T.Context(), n.other, id); email == nil || email.LastEvent != app.Sent {
			n.T.Errorf("%s is %v after %d transactions", id, email.LastEvent, taken[id])
		}
	}
}

const notVerified = "Message rejected: Email address is not verified. The following identities failed the check in region US-EAST-1: x@" + otherDomain

func TestRefusedDomainDoesNotStopOthers(t *testing.T) {
	for _, stage := range []app.Stage{app.StageMail, app.StageData, app.StageDot} {
		t.Run(string(stage), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 4})
				n.ofOther(testserver.ReplyWith(stage, 554, notVerified))
				hook, err := n.Services.Webhooks.CreateWebhook(t.Context(), n.other, webhook.Input{Endpoint: "https://o.example/in", Events: []webhook.EventName{webhook.DeliverabilityPaused}})
				testserver.Must(t, err)
				var ids []string
				for i := range 200 {
					ids = append(ids, n.sendOther(fmt.Sprintf("u%d@example.net", i)))
				}
				n.steady(4 * time.Minute)
				for _, id := range ids {
					if email, err := n.Services.Mail.GetEmail(t.Context(), n.other, id); err != nil || email.LastEvent != app.Queued {
						t.Fatalf("%s is %v, %v", id, email.LastEvent, err)
					}
				}
				events, _, err := n.Services.Mail.ListEvents(t.Context(), n.other, ids[150], app.Page{Limit: 50})
				testserver.Must(t, err)
				if timeline := fmt.Sprint(events); !strings.Contains(timeline, "is not verified") || !strings.Contains(timeline, "relay_trouble") {
					t.Errorf("its own timeline says %s", timeline)
				}
				if !n.Log.Contains("relay takes nothing of a sender's domain") || !n.Log.Contains("waiting=200") || n.Log.Contains("x@"+otherDomain) || n.Log.Contains("relay can't be used") {
					t.Errorf("log:\n%.2000s", n.Log.String())
				}
				if got := n.SQL("SELECT type FROM webhook_events WHERE team_id = ? AND payload LIKE '%is not verified%'", n.other.TeamID); len(got) != 1 || got[0] != string(webhook.DeliverabilityPaused) {
					t.Errorf("webhook %s heard %q", hook.ID, got)
				}
				n.laterOther(ids, 11*time.Minute)
				if !n.Log.Contains("relay takes mail of the sender again") {
					t.Error("the end is not logged")
				}
			})
		})
	}
}

func TestRelayRefusingEverythingBouncesNothing(t *testing.T) {
	refuse := func(_ context.Context, m *app.Outgoing, _ func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageRcpt}
		for _, to := range m.Recipients {
			res.Recipients = append(res.Recipients, app.RecipientResult{Address: to, Outcome: app.Refused, Stage: app.StageRcpt,
				Reply: app.Reply{Code: 554, Enhanced: "5.7.1", Text: "<" + to + ">: Relay access denied"}})
		}
		return res
	}
	testserver.SynctestHours(t, func(t *testing.T) {
		n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Connections: 4})
		n.relay.SetScript(testserver.Always(refuse))
		var own, others []string
		for i := range 100 {
			own = append(own, n.Send(fmt.Sprintf("u%d@d%d.example.net", i, i%7)))
			others = append(others, n.sendOther(fmt.Sprintf("v%d@d%d.example.net", i, i%7)))
		}
		lone := n.AddTeam("Lone", "lone.example")
		in := testserver.Message("one@example.net")
		in.From = "x@lone.example"
		time.Sleep(time.Minute)
		single, err := n.Services.Mail.SendEmail(t.Context(), lone, in, mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for _, id := range own {
			n.WantLastEvent(id, app.Queued)
		}
		for key, id := range map[*app.Key]string{lone: single, n.other: others[0]} {
			email, err := n.Services.Mail.GetEmail(t.Context(), key, id)
			if err != nil || email.LastEvent != app.Queued {
				t.Errorf("an email of another team is %v, %v", email, err)
			}
			events, _, err := n.Services.Mail.ListEvents(t.Context(), key, id, app.Page{Limit: 50})
			testserver.Must(t, err)
			for _, ev := range events {
				if words := ev.Detail.Message + ev.Detail.Reply; strings.Contains(words, "<u") || key == lone && strings.Contains(words, "@d") {
					t.Errorf("it shows another's address: %s", ev.Detail.Message)
				}
			}
		}
		if !n.Log.Contains("relay can't be used") || !n.Log.Contains("stage=rcpt code=554 enhanced_code=5.7.1") {
			t.Errorf("log:\n%.2000s", n.Log.String())
		}
		if got := len(n.relay.Transactions("")); got > 60 {
			t.Errorf("%d transactions with a relay that refuses everything", got)
		}
		n.laterOther(append(others, n.Send("late@example.net"))[:100], 11*time.Minute)
		for _, id := range own {
			n.WantLastEvent(id, app.Sent)
		}
	})
}

func TestReplyIsHiddenFromOtherTeams(t *testing.T) {
	for _, stage := range []app.Stage{app.StageMail, app.StageRcpt, app.StageData} {
		t.Run(string(stage), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 4})
				n.relay.SetScript(testserver.Always(testserver.RelayTrouble(stage, "not an SMTP reply: nonsense of x@"+otherDomain)))
				for range 12 {
					n.Send("bob@example.net")
					n.sendOther("bob@example.net")
				}
				synctest.Wait()
				lone := n.AddTeam("Lone", "lone.example")
				in := testserver.Message("one@example.net")
				in.From = "x@lone.example"
				id, err := n.Services.Mail.SendEmail(t.Context(), lone, in, mail.SendOptions{})
				testserver.Must(t, err)
				events, _, err := n.Services.Mail.ListEvents(t.Context(), lone, id, app.Page{Limit: 50})
				testserver.Must(t, err)
				if timeline := fmt.Sprint(events); !strings.Contains(timeline, "not an SMTP reply") || strings.Contains(timeline, "nonsense") {
					t.Errorf("the timeline of another team says %s", timeline)
				}
			})
		})
	}
}

func TestPolicyRefusalBouncesAtSecondTry(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 4})
		n.relay.SetScript(testserver.Always(func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
			for _, to := range m.Recipients {
				v := app.RecipientResult{Address: to, Outcome: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
				if strings.HasPrefix(to, "policy") {
					v.Outcome, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: 550, Enhanced: "5.7.1", Text: "<" + to + ">: blocked"}
				}
				res.Recipients = append(res.Recipients, v)
			}
			if res.Recipients[0].Outcome == app.Accepted && authorize() != nil {
				return app.Result{Kind: app.ResultWithdrawn}
			}
			return res
		}))
		alone, both := n.Send("policy@example.net"), n.Send("bob@example.net", "policy@example.org")
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		n.WantLastEvent(alone, app.Queued)
		n.WantLastEvent(both, app.Sent)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		n.WantLastEvent(alone, app.Bounced)
		n.WantLastEvent(both, app.Bounced)
		for _, id := range []string{alone, both} {
			if got := len(n.relay.Transactions(id)); got != 2 {
				t.Errorf("%d transactions", got)
			}
		}
	})
}

func TestVerdictsSurviveLostConnection(t *testing.T) {
	const limit = 20 // refused recipients per connection
	testserver.Synctest(t, func(t *testing.T) {
		n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 4})
		n.ofOther(func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
			refused := 0
			for _, to := range m.Recipients {
				v := app.RecipientResult{Address: to, Outcome: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
				if strings.HasPrefix(to, "bad") {
					if refused++; refused > limit {
						return app.Result{Kind: app.ResultTrouble, Stage: app.StageRcpt, Reply: app.Reply{Code: 421, Text: "too many errors"}, Recipients: res.Recipients}
					}
					v.Outcome, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: 550, Enhanced: "5.1.1", Text: "no such user"}
				}
				res.Recipients = append(res.Recipients, v)
			}
			if authorize() != nil {
				return app.Result{Kind: app.ResultWithdrawn}
			}
			return res
		})
		var ids []string
		for e := range 10 {
			var to []string
			for i := range 45 {
				to = append(to, fmt.Sprintf("bad%d-%d@example.net", e, i))
			}
			ids = append(ids, n.sendOther(append(to, "good@example.net")...))
		}
		n.steady(10 * time.Second)
		for _, id := range ids {
			if rows := n.SQL("SELECT state || count(*) FROM recipients WHERE email_id = ? GROUP BY state ORDER BY state", id); fmt.Sprint(rows) != "[bounced45 sent1]" {
				t.Errorf("recipients %v after %d transactions", rows, len(n.relay.Transactions(id)))
			}
		}
	})
}

func TestLostConnectionsOfSenderDoNotStopOthers(t *testing.T) {
	for name, answer := range map[string]testserver.Answer{"before the dot": testserver.RelayTrouble(app.StageData, "the relay closed the connection"), "after the dot": testserver.LoseReply} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 4})
				n.ofOther(answer)
				var ids []string
				for i := range 50 {
					ids = append(ids, n.sendOther(fmt.Sprintf("u%d@example.net", i)))
				}
				n.steady(2 * time.Minute)
				n.laterOther(ids, time.Hour)
			})
		})
	}
}

func TestRelayRateIsSharedBetweenTeams(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 2, 14} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 8, Rate: rate})
				for i := range 300 {
					n.sendOther(fmt.Sprintf("u%d@example.net", i))
				}
				time.Sleep(5 * time.Second)
				at := time.Now()
				id := n.Send("bob@example.net")
				time.Sleep(30 * time.Second)
				synctest.Wait()
				// One second's worth claimed before, the email itself, and emails claimed with it
				// whose workers reached the rate limit first.
				if d, most := n.wait(id, at), time.Second+time.Duration(3*float64(time.Second)/rate); d < 0 || d > most {
					t.Errorf("it waited %v, at most %v is fair", d, most)
				}
			})
		})
	}
}

func TestEndOfDailyLimitIsShared(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 8, Daily: 50, MaxWait: -1})
		var ids []string
		for i := range 100 {
			ids = append(ids, n.sendOther(fmt.Sprintf("u%d@example.net", i)))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(n.relay.Transactions("")); got != 40 {
			t.Errorf("%d of the other team left before the test team sent", got)
		}
		events, _, err := n.Services.Mail.ListEvents(t.Context(), n.other, ids[99], app.Page{Limit: 50})
		testserver.Must(t, err)
		if timeline := fmt.Sprint(events); !strings.Contains(timeline, "its share of the limit of 50") {
			t.Errorf("its timeline says %s", timeline)
		}
		for range 10 {
			at := time.Now()
			id := n.Send("bob@example.net")
			time.Sleep(time.Second)
			synctest.Wait()
			if d := n.wait(id, at); d < 0 {
				t.Fatal("the test team's email waits for the next day")
			}
		}
		n.StopFor(23 * time.Hour)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := len(n.relay.Transactions("")); got > 100 {
			t.Errorf("%d transactions in two windows of 50", got)
		}
		n.StopFor(22 * time.Hour)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := len(n.relay.Transactions("")); got != 110 {
			t.Errorf("%d of 110 left in the end", got)
		}
	})
}

func TestProbeUsesAnotherSender(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		n := startTwoTeams(t, relayurl.Relay{Region: app.DefaultRegion, Connections: 1})
		n.relay.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route")))
		bad := n.sendOther("a@example.net")
		synctest.Wait()
		good := n.Send("b@example.net")
		n.relay.SetScript(func(m *app.Outgoing, _ int) testserver.Answer {
			if m.EmailID == bad {
				return testserver.RelayTrouble(app.StageConnect, "no route")
			}
			return nil
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		n.WantLastEvent(good, app.Sent)
	})
}
