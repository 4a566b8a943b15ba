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

// shareThrough are two servers on one database whose relays are alike.
func shareThrough(t *testing.T, relay relayurl.Relay, script testserver.Script, fn func(t *testing.T, one, two *testserver.World)) {
	relay.Region, relay.Host, relay.Port, relay.Connections = app.DefaultRegion, "relay.test", 587, 4
	testserver.Elsewhere(t)
	testserver.Bubble(t, func(t *testing.T) {
		testserver.Several(t)
		one := testserver.Serving(t, testserver.NewRelayOf(relay, script))
		two := one.Neighbour(testserver.NewRelayOf(relay, script))
		pass(early)
		fn(t, one, two)
	})
}

// slowly takes everything after a while.
func slowly(by time.Duration) testserver.Script {
	return testserver.Always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
		time.Sleep(by)
		return testserver.Accept(ctx, m, hold)
	})
}

// sendAll has n emails of two teams be accepted, at one server or at both.
func sendAll(t *testing.T, n int, at ...*testserver.World) (ids []string) {
	other := at[0].AddTeam("other", "other.example")
	for i := range n {
		w := at[i%len(at)]
		key, in := w.Key, testserver.Letter(fmt.Sprintf("n%d@example.net", i))
		if i/len(at)%2 == 1 {
			key, in.From = other, "x@other.example"
		}
		id, err := w.Server.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
		testserver.Must(t, err)
		ids = append(ids, id)
	}
	return ids
}

// wantOnce checks that mail was let past its dot once, at either server, and returns how much
// each sent.
func wantOnce(t *testing.T, ids []string, one, two *testserver.World) (byOne, byTwo int) {
	t.Helper()
	var missing []string
	for _, id := range ids {
		a, b := one.Relays[0].Dots(id), two.Relays[0].Dots(id)
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

func TestServersSendABacklogTogether(t *testing.T) {
	shareThrough(t, relayurl.Relay{}, slowly(500*time.Millisecond), func(t *testing.T, one, two *testserver.World) {
		ids := sendAll(t, 120, two)
		pass(15 * time.Second)
		byOne, byTwo := wantOnce(t, ids, one, two)
		if byOne < len(ids)/10 || byTwo < len(ids)/10 {
			t.Errorf("one sent %d, the other %d of what was accepted there", byOne, byTwo)
		}
		if n := two.Sql(`SELECT count(*)::text FROM emails WHERE last_event = 'sent'`)[0]; n != "120" {
			t.Errorf("%s are sent", n)
		}
	})
}

func TestServersKeepToOneRate(t *testing.T) {
	shareThrough(t, relayurl.Relay{Rate: 4}, nil, func(t *testing.T, one, two *testserver.World) {
		began := time.Now()
		ids := sendAll(t, 40, one, two)
		pass(time.Minute)
		wantOnce(t, ids, one, two)
		seconds := map[int]int{}
		var last time.Duration
		for _, w := range []*testserver.World{one, two} {
			for _, id := range ids {
				for _, try := range w.Relays[0].Seen(id) {
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

func TestServersKeepToOneDailyLimit(t *testing.T) {
	shareThrough(t, relayurl.Relay{Daily: 25}, nil, func(t *testing.T, one, two *testserver.World) {
		dots := func(ids []string) (n int) {
			for _, id := range ids {
				n += one.Relays[0].Dots(id) + two.Relays[0].Dots(id)
			}
			return n
		}
		ids := sendAll(t, 15, one, two)
		pass(soon)
		if n := dots(ids); n != 15 {
			t.Fatalf("%d left", n)
		}
		for range 10 { // two teams, each over what is left
			ids = append(ids, one.Send("bob@example.net"), two.Send("bob@example.net"))
		}
		pass(time.Minute)
		if n := dots(ids); n != 25 {
			t.Errorf("%d left of 25", n)
		}
		if used := one.Sql(`SELECT sum(sent)::text FROM relay_usage`)[0]; used != "25" {
			t.Errorf("%s are counted", used)
		}
	})
}

func TestAServerThatIsLeftAloneKnowsWhatWasUsed(t *testing.T) {
	shareThrough(t, relayurl.Relay{Daily: 20}, nil, func(t *testing.T, one, two *testserver.World) {
		var ids []string
		for range 9 {
			ids = append(ids, one.Send("bob@example.net"))
		}
		pass(soon)
		for range 7 {
			ids = append(ids, two.Send("bob@example.net"))
		}
		synctest.Wait()
		bury(one) // before the next beat
		for range 20 {
			ids = append(ids, one.Send("bob@example.net"))
		}
		pass(time.Minute)
		n := 0
		for _, id := range ids {
			n += one.Relays[0].Dots(id) + two.Relays[0].Dots(id)
		}
		if n != 20 {
			t.Errorf("%d left of 20", n)
		}
	})
}

func TestServersSendABroadcastTogether(t *testing.T) {
	shareThrough(t, relayurl.Relay{}, slowly(200*time.Millisecond), func(t *testing.T, one, two *testserver.World) {
		one.People(150)
		b := two.Draft()
		two.Queue(b)
		pass(30 * time.Second)
		testserver.WantEachOnce(t, testserver.Received(one.Relays[0], two.Relays[0]), 150)
		if n, m := len(one.Relays[0].Took), len(two.Relays[0].Took); n < 10 || m < 10 {
			t.Errorf("one sent %d, the other %d", n, m)
		}
		if got := one.Broadcast(b.ID); got.Status != app.SentBroadcast {
			t.Errorf("it is %s", got.Status)
		}
	})
}

// bury takes a server for dead, as the others do that hear nothing of it.
func bury(w *testserver.World) {
	w.Sql(`UPDATE nodes SET dead = seen_at WHERE leads = 0`)
}

func TestWhatAServerHadInWorkThatIsGoneIsSentByTheOther(t *testing.T) {
	shareThrough(t, relayurl.Relay{}, nil, func(t *testing.T, one, two *testserver.World) {
		hang := make(chan struct{})
		gone := false
		for _, w := range []*testserver.World{one, two} {
			w.Relays[0].Follow(func(m *app.Outgoing, n int) testserver.Answer {
				switch {
				case gone:
					return nil
				case m.Recipients[0] == "dotted@example.net":
					return testserver.DotThen(hang)
				}
				return testserver.After(hang, testserver.Accept)
			})
		}
		begun, dotted := two.Send("begun@example.net"), two.Send("dotted@example.net")
		pass(time.Second)
		mine := one.Send("mine@example.net") // in work at the one that lives
		pass(time.Second)
		gone = true
		bury(one)
		pass(soon)
		if n := one.Relays[0].Dots(begun); n != 1 {
			t.Errorf("what was begun left %d times\n%s", n, one.Story(begun))
		}
		if len(one.Relays[0].Seen(mine)) != 1 || one.Story(mine) != "" && strings.Contains(one.Story(mine), "interrupted") {
			t.Errorf("what the one that lives had in work:\n%s", one.Story(mine))
		}
		if doubts := one.Doubts(); len(doubts) != 1 || doubts[0].EmailID != dotted {
			t.Errorf("doubts: %v", doubts)
		}
		if n := one.Relays[0].Dots(dotted); n != 0 {
			t.Errorf("what is in doubt left at once")
		}
		pass(2 * time.Minute)
		if n := one.Relays[0].Dots(dotted); n != 1 {
			t.Errorf("what was in doubt left %d times", n)
		}
		close(hang)
		pass(time.Second)
		if n := two.Relays[0].Dots(begun); n != 0 {
			t.Errorf("the server that was taken for dead sent %d times", n)
		}
		if err := two.DB.Err(); err == nil {
			t.Error("it goes on")
		}
	})
}

func TestATroubleOfAServerEndsWithIt(t *testing.T) {
	shareThrough(t, relayurl.Relay{}, testserver.Always(testserver.Trouble(app.StageConnect, "no route")), func(t *testing.T, one, two *testserver.World) {
		two.Send("bob@example.net")
		pass(time.Second)
		open := func() string {
			return strings.Join(one.Sql(`SELECT count(*)::text FROM relay_troubles WHERE ended_at IS NULL`), "")
		}
		if n := open(); n != "1" {
			t.Fatalf("%s troubles are open", n)
		}
		one.Relays[0].Follow(nil)
		bury(one)
		pass(soon)
		if n := open(); n != "0" {
			t.Errorf("%s troubles are open", n)
		}
	})
}

func TestAnEmailThatWasMovedFromAServerIsNoLongerIts(t *testing.T) {
	shareThrough(t, relayurl.Relay{}, nil, func(t *testing.T, one, two *testserver.World) {
		hang := make(chan struct{})
		var tries atomic.Int64
		for _, w := range []*testserver.World{one, two} {
			w.Relays[0].Follow(func(*app.Outgoing, int) testserver.Answer {
				if tries.Add(1) == 1 {
					return testserver.After(hang, testserver.Trouble(app.StageMail, "go away"))
				}
				return nil
			})
		}
		id := two.SendAt(time.Now().Add(time.Second).Format(time.RFC3339))
		pass(soon + soon)
		if tries.Load() != 1 {
			t.Fatalf("%d tries", tries.Load())
		}
		testserver.Must(t, one.Move(id, time.Now().Add(time.Second).Format(time.RFC3339)))
		pass(4 * soon)
		sent := one.Relays[0].Dots(id) + two.Relays[0].Dots(id)
		close(hang) // what the first attempt met is nobody's business by now
		pass(soon)
		if n := one.Relays[0].Dots(id) + two.Relays[0].Dots(id); sent != 1 || n != 1 {
			t.Errorf("it left %d times, then %d\n%s", sent, n, one.Story(id))
		}
		one.WantLast(id, app.Sent)
	})
}

func TestWhatOneServerWasToldHoldsAtTheOther(t *testing.T) {
	shareThrough(t, relayurl.Relay{}, nil, func(t *testing.T, one, two *testserver.World) {
		hang := make(chan struct{})
		for _, w := range []*testserver.World{one, two} {
			w.Relays[0].Follow(testserver.Always(testserver.After(hang, testserver.Accept)))
		}
		var ids []string
		for _, w := range []*testserver.World{one, two} { // whose opt-outs come between reading and the dot
			ids = append(ids, w.Send("out@example.net"), w.Send("canceled@example.net"))
		}
		pass(time.Second)
		_, err := one.Server.Suppressions.AddSuppression(t.Context(), one.Key, app.SuppressionInput{Email: "out@example.net"})
		testserver.Must(t, err)
		testserver.Must(t, one.Cancel(ids[3]))
		testserver.Must(t, two.Cancel(ids[1]))
		close(hang)
		pass(soon)
		for _, id := range ids {
			if n := one.Relays[0].Dots(id) + two.Relays[0].Dots(id); n != 0 {
				t.Errorf("%s left\n%s", id, one.Story(id))
			}
		}
	})
}

func TestMailOfAServerHasTheOthersReadNothingAgain(t *testing.T) {
	shareThrough(t, relayurl.Relay{Daily: 1000}, nil, func(t *testing.T, one, two *testserver.World) {
		hook := one.Webhook("in.example.com", webhook.EmailSent)
		one.People(5)
		pass(soon)
		rules := func() string { return one.Sql(`SELECT rules::text FROM writes ORDER BY n DESC LIMIT 1`)[0] }
		before := rules()
		two.Send("bob@example.net")
		two.Send("carl@example.net", "dora@example.net")
		pass(soon)
		if n := len(one.Deliveries(hook)); n != 2 {
			t.Errorf("the webhook was told %d times", n)
		}
		if after := rules(); after != before {
			t.Errorf("%s changes of what is remembered", after)
		}
		_, err := two.Server.Topics.CreateTopic(t.Context(), two.Key, app.TopicInput{Name: "News", Default: app.OptIn})
		testserver.Must(t, err)
		if rules() == before {
			t.Error("a topic is none")
		}
	})
}
