package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// withTwoServersVia runs a test with two servers on one database that have the same relays.
func withTwoServersVia(t *testing.T, relay relayurl.Relay, script testserver.Script, fn func(t *testing.T, one, two *testserver.Server)) {
	relay.Region, relay.Host, relay.Port, relay.Connections = app.DefaultRegion, "relay.test", 587, 4
	testserver.PostgresOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		one := testserver.Start(t, testserver.NewRelayOf(relay, script))
		two := one.AddNode(testserver.NewRelayOf(relay, script))
		sleep(early)
		fn(t, one, two)
	})
}

// slowReplies accepts everything after a delay.
func slowReplies(by time.Duration) testserver.Script {
	return testserver.Always(func(ctx context.Context, m *app.Outgoing, finalCheck func() error) app.Result {
		time.Sleep(by)
		return testserver.Accept(ctx, m, finalCheck)
	})
}

// sendAll has n emails of two teams be accepted, at one server or at both.
func sendAll(t *testing.T, n int, at ...*testserver.Server) (ids []string) {
	other := at[0].AddTeam("other", "other.example")
	for i := range n {
		w := at[i%len(at)]
		key, in := w.Key, testserver.Message(fmt.Sprintf("n%d@example.net", i))
		if i/len(at)%2 == 1 {
			key, in.From = other, "x@other.example"
		}
		id, err := w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
		testserver.Must(t, err)
		ids = append(ids, id)
	}
	return ids
}

// wantOnce checks that each email passed the final check once, at either server, and returns how
// many each server sent.
func wantOnce(t *testing.T, ids []string, one, two *testserver.Server) (byOne, byTwo int) {
	t.Helper()
	var missing []string
	for _, id := range ids {
		a, b := one.Relays[0].FinalDots(id), two.Relays[0].FinalDots(id)
		if a+b != 1 {
			missing = append(missing, fmt.Sprintf("%s %d+%d", id, a, b))
		}
		byOne, byTwo = byOne+a, byTwo+b
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d left, by the first %d and the second %d, but not once:\n%s", byOne+byTwo, len(ids), byOne, byTwo, strings.Join(missing, "\n"))
	}
	return byOne, byTwo
}

func TestServersShareBacklog(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{}, slowReplies(500*time.Millisecond), func(t *testing.T, one, two *testserver.Server) {
		ids := sendAll(t, 120, two)
		sleep(15 * time.Second)
		byOne, byTwo := wantOnce(t, ids, one, two)
		if byOne < len(ids)/10 || byTwo < len(ids)/10 {
			t.Errorf("one sent %d, the other %d of what was accepted there", byOne, byTwo)
		}
		if n := two.SQL(`SELECT count(*)::text FROM emails WHERE last_event = 'sent'`)[0]; n != "120" {
			t.Errorf("%s are sent", n)
		}
	})
}

func TestServersShareRate(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{Rate: 4}, nil, func(t *testing.T, one, two *testserver.Server) {
		began := time.Now()
		ids := sendAll(t, 40, one, two)
		sleep(time.Minute)
		wantOnce(t, ids, one, two)
		seconds := map[int]int{}
		var last time.Duration
		for _, w := range []*testserver.Server{one, two} {
			for _, id := range ids {
				for _, try := range w.Relays[0].Transactions(id) {
					seconds[int(try.At.Sub(began)/time.Second)]++
					last = max(last, try.At.Sub(began))
				}
			}
		}
		for s, n := range seconds {
			if n > 5 { // at the edges of a second
				t.Errorf("%d in second %d", n, s)
			}
		}
		if last > 14*time.Second {
			t.Errorf("it took %s", last)
		}
	})
}

func TestServersShareDailyLimit(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{Daily: 25}, nil, func(t *testing.T, one, two *testserver.Server) {
		dots := func(ids []string) (n int) {
			for _, id := range ids {
				n += one.Relays[0].FinalDots(id) + two.Relays[0].FinalDots(id)
			}
			return n
		}
		ids := sendAll(t, 15, one, two)
		sleep(soon)
		if n := dots(ids); n != 15 {
			t.Fatalf("%d left", n)
		}
		for range 10 { // two teams, each above the rest of the limit
			ids = append(ids, one.Send("bob@example.net"), two.Send("bob@example.net"))
		}
		sleep(time.Minute)
		if n := dots(ids); n != 25 {
			t.Errorf("%d left of 25", n)
		}
		if used := one.SQL(`SELECT sum(sent)::text FROM relay_usage`)[0]; used != "25" {
			t.Errorf("%s are counted", used)
		}
	})
}

func TestRemainingServerKeepsUsage(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{Daily: 20}, nil, func(t *testing.T, one, two *testserver.Server) {
		var ids []string
		for range 9 {
			ids = append(ids, one.Send("bob@example.net"))
		}
		sleep(soon)
		for range 7 {
			ids = append(ids, two.Send("bob@example.net"))
		}
		synctest.Wait()
		killServer(one) // before the next beat
		for range 20 {
			ids = append(ids, one.Send("bob@example.net"))
		}
		sleep(time.Minute)
		n := 0
		for _, id := range ids {
			n += one.Relays[0].FinalDots(id) + two.Relays[0].FinalDots(id)
		}
		if n != 20 {
			t.Errorf("%d left of 20", n)
		}
	})
}

func TestServersShareBroadcast(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{}, slowReplies(200*time.Millisecond), func(t *testing.T, one, two *testserver.Server) {
		one.AddSubscribers(150)
		b := two.AddDraft()
		two.Queue(b)
		sleep(30 * time.Second)
		testserver.WantEachOnce(t, testserver.Received(one.Relays[0], two.Relays[0]), 150)
		if n, m := len(one.Relays[0].Accepted), len(two.Relays[0].Accepted); n < 10 || m < 10 {
			t.Errorf("one sent %d, the other %d", n, m)
		}
		if got := one.Broadcast(b.ID); got.Status != app.SentBroadcast {
			t.Errorf("it is %s", got.Status)
		}
	})
}

// killServer marks a server dead, as other servers do that get no heartbeat.
func killServer(w *testserver.Server) {
	w.SQL(`UPDATE nodes SET dead = seen_at WHERE leads = 0`)
}

func TestDeadServersMailIsSentByOther(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{}, nil, func(t *testing.T, one, two *testserver.Server) {
		hang := make(chan struct{})
		gone := false
		for _, w := range []*testserver.Server{one, two} {
			w.Relays[0].SetScript(func(m *app.Outgoing, n int) testserver.Answer {
				switch {
				case gone:
					return nil
				case m.Recipients[0] == "dotted@example.net":
					return testserver.ReplyAfter(hang)
				}
				return testserver.After(hang, testserver.Accept)
			})
		}
		begun, dotted := two.Send("begun@example.net"), two.Send("dotted@example.net")
		sleep(time.Second)
		mine := one.Send("mine@example.net") // being sent by the surviving server
		sleep(time.Second)
		gone = true
		killServer(one)
		sleep(soon)
		if n := one.Relays[0].FinalDots(begun); n != 1 {
			t.Errorf("what was begun left %d times\n%s", n, one.Timeline(begun))
		}
		if len(one.Relays[0].Transactions(mine)) != 1 || one.Timeline(mine) != "" && strings.Contains(one.Timeline(mine), "interrupted") {
			t.Errorf("what the one that lives had in work:\n%s", one.Timeline(mine))
		}
		if doubts := one.Doubts(); len(doubts) != 1 || doubts[0].EmailID != dotted {
			t.Errorf("doubts: %v", doubts)
		}
		if n := one.Relays[0].FinalDots(dotted); n != 0 {
			t.Errorf("what is in doubt left at once")
		}
		sleep(2 * time.Minute)
		if n := one.Relays[0].FinalDots(dotted); n != 1 {
			t.Errorf("what was in doubt left %d times", n)
		}
		close(hang)
		sleep(time.Second)
		if n := two.Relays[0].FinalDots(begun); n != 0 {
			t.Errorf("the server that was taken for dead sent %d times", n)
		}
		if err := two.DB.Err(); err == nil {
			t.Error("it goes on")
		}
	})
}

func TestDeadServersTroubleEnds(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{}, testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route")), func(t *testing.T, one, two *testserver.Server) {
		two.Send("bob@example.net")
		sleep(time.Second)
		owner := strings.Join(one.SQL(`SELECT id FROM nodes WHERE leads = 0`), "")
		open := func() string { // of the second server: the other one may have tried the mail too
			return strings.Join(one.SQL(`SELECT count(*)::text FROM relay_troubles WHERE ended_at IS NULL AND owner = '`+owner+`'`), "")
		}
		if n := open(); n != "1" {
			t.Fatalf("%s troubles are open", n)
		}
		one.Relays[0].SetScript(nil)
		killServer(one)
		sleep(soon)
		if n := open(); n != "0" {
			t.Errorf("%s troubles are open", n)
		}
	})
}

func TestMovedEmailLeavesServer(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{}, nil, func(t *testing.T, one, two *testserver.Server) {
		hang := make(chan struct{})
		var tries atomic.Int64
		for _, w := range []*testserver.Server{one, two} {
			w.Relays[0].SetScript(func(*app.Outgoing, int) testserver.Answer {
				if tries.Add(1) == 1 {
					return testserver.After(hang, testserver.RelayTrouble(app.StageMail, "go away"))
				}
				return nil
			})
		}
		id := two.SendAt(time.Now().Add(time.Second).Format(time.RFC3339))
		sleep(soon + soon)
		if tries.Load() != 1 {
			t.Fatalf("%d tries", tries.Load())
		}
		testserver.Must(t, one.Reschedule(id, time.Now().Add(time.Second).Format(time.RFC3339)))
		sleep(4 * soon)
		sent := one.Relays[0].FinalDots(id) + two.Relays[0].FinalDots(id)
		close(hang) // the result of the first attempt no longer counts
		sleep(soon)
		if n := one.Relays[0].FinalDots(id) + two.Relays[0].FinalDots(id); sent != 1 || n != 1 {
			t.Errorf("it left %d times, then %d\n%s", sent, n, one.Timeline(id))
		}
		one.WantLastEvent(id, app.Sent)
	})
}

func TestChangesApplyOnOtherServer(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{}, nil, func(t *testing.T, one, two *testserver.Server) {
		hang := make(chan struct{})
		for _, w := range []*testserver.Server{one, two} {
			w.Relays[0].SetScript(testserver.Always(testserver.After(hang, testserver.Accept)))
		}
		var ids []string
		for _, w := range []*testserver.Server{one, two} { // whose opt-outs arrive between reading and the final dot
			ids = append(ids, w.Send("out@example.net"), w.Send("canceled@example.net"))
		}
		sleep(time.Second)
		_, err := one.Services.Suppressions.AddSuppression(t.Context(), one.Key, app.SuppressionInput{Email: "out@example.net"})
		testserver.Must(t, err)
		testserver.Must(t, one.Cancel(ids[3]))
		testserver.Must(t, two.Cancel(ids[1]))
		close(hang)
		sleep(soon)
		for _, id := range ids {
			if n := one.Relays[0].FinalDots(id) + two.Relays[0].FinalDots(id); n != 0 {
				t.Errorf("%s left\n%s", id, one.Timeline(id))
			}
		}
	})
}

func TestMailDoesNotInvalidateOtherServers(t *testing.T) {
	withTwoServersVia(t, relayurl.Relay{Daily: 1000}, nil, func(t *testing.T, one, two *testserver.Server) {
		hook := one.AddWebhook("in.example.com", webhook.EmailSent)
		one.AddSubscribers(5)
		sleep(soon)
		rules := func() string { return one.SQL(`SELECT rules::text FROM writes ORDER BY n DESC LIMIT 1`)[0] }
		before := rules()
		two.Send("bob@example.net")
		two.Send("carl@example.net", "dora@example.net")
		sleep(soon)
		if n := len(one.Deliveries(hook)); n != 2 {
			t.Errorf("the webhook was told %d times", n)
		}
		if after := rules(); after != before {
			t.Errorf("%s changes of what is remembered", after)
		}
		_, err := two.Services.Topics.CreateTopic(t.Context(), two.Key, app.TopicInput{Name: "News", Default: app.OptIn})
		testserver.Must(t, err)
		if rules() == before {
			t.Error("a topic is none")
		}
	})
}
