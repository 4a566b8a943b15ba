package providerevents_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/erase"
	"mailer/app/rules/feedback"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/sending/providerevents"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestBounceSuppressesRecipient(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("Bob@Example.net", "eve@example.net")
		w.Report(testserver.HardBounce(id, "bob@EXAMPLE.net", "5.1.1"))
		w.WantRecipientStates(id, "Bob@example.net bounced, eve@example.net sent")
		w.WantLastEvent(id, app.Bounced)
		ev := w.OnlyEvent(id, "bounced")
		if ev.Recipient != "Bob@example.net" || ev.Detail.EnhancedCode != "5.1.1" || ev.Detail.BounceType != "Permanent" || ev.Detail.BounceSubType != "General" ||
			ev.Detail.Source != "ses" || !strings.Contains(ev.Detail.Message, "550 5.1.1 sorry") {
			t.Errorf("event %+v", ev)
		}
		if s := w.Suppression("bob@example.net"); s.Origin != app.OriginBounce || s.SourceID != id {
			t.Errorf("suppression %+v", s)
		}
		if s := w.Suppression("eve@example.net"); s.ID != "" {
			t.Errorf("suppression %+v", s)
		}
	})
}

func TestRepeatedReportCountsOnce(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("bob@example.net")
		report := feedback.Report{ID: "one", EmailID: id, Kind: feedback.Delivered, Recipient: "bob@example.net"}
		w.Report(report, report)
		for range 5 {
			w.Report(report)
		}
		w.OnlyEvent(id, "delivered")
		other := report
		other.Source = "mailgun"
		w.Report(other)
		unnamed := feedback.Report{EmailID: id, Kind: feedback.Complained, Diagnostic: "x", At: time.Now()}
		w.Report(unnamed)
		w.Report(unnamed)
		w.OnlyEvent(id, "complained")
		if n := strings.Count(w.Timeline(id), " delivered "); n != 2 {
			t.Errorf("%d deliveries by two providers:\n%s", n, w.Timeline(id))
		}
	})
}

func TestReportsAreRememberedFor30Days(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id := w.Send("bob@example.net")
		report := feedback.Report{ID: "one", EmailID: id, Kind: feedback.Delivered}
		for _, want := range []int{1, 1, 2} {
			w.Report(report)
			if n := strings.Count(w.Timeline(id), " delivered "); n != want {
				t.Errorf("%d deliveries, want %d:\n%s", n, want, w.Timeline(id))
			}
			time.Sleep(16 * 24 * time.Hour)
			testserver.Must(t, w.Services.ProviderEvents.PurgeFeedback(t.Context()))
		}
	})
}

func TestReportsFindEmail(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		const reply = "Ok 010001944a3b2c1d-4f5e6d7c-000000"
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4, Profile: relayurl.ProfileSES},
			testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
				res := testserver.Accept(ctx, m, authorize)
				res.Reply.Text = reply
				return res
			}))
		w := testserver.Start(t, relay)
		id, other := w.SendTaken("bob@example.net"), app.NewID()
		for name, f := range map[string]feedback.Report{
			"our id":                     {EmailID: id, ProviderID: "x", MessageID: "y"},
			"our id in capitals":         {EmailID: strings.ToUpper(id)},
			"provider":                   {ProviderID: "010001944a3b2c1d-4f5e6d7c-000000", EmailID: other},
			"Message-ID":                 {MessageID: id + "@example.com"},
			"Message-ID of the provider": {MessageID: "010001944a3b2c1d-4f5e6d7c-000000@email.amazonses.com"},
			"our id, then anything":      {EmailID: id, Recipient: "BOB@example.net"},
			"Message-ID with a name":     {MessageID: strings.ToUpper(id) + "@EXAMPLE.com"},
		} {
			before := len(w.Events(id))
			f.ID, f.Kind = name, feedback.Delayed
			w.Report(f)
			if len(w.Events(id)) != before+1 {
				t.Errorf("%s: not found", name)
			}
		}
		before := len(w.Events(id))
		for name, f := range map[string]feedback.Report{
			"nothing": {}, "another id": {EmailID: other}, "no id": {EmailID: "x", ProviderID: "x", MessageID: "x"},
			"the Message-ID of another host": {MessageID: id + "@evil.example"}, "half a Message-ID": {MessageID: id},
		} {
			f.ID, f.Kind, f.Recipient = name, feedback.Bounced, "bob@example.net"
			f.Bounce, f.Enhanced = app.BouncePermanent, "5.1.1"
			w.Report(f)
			if len(w.Events(id)) != before || w.Suppression("bob@example.net").ID != "" {
				t.Errorf("%s is taken for the email", name)
			}
		}
		if !w.Log.Contains("not known here") {
			t.Error("the log says nothing of unknown emails")
		}
	})
}

// permutations returns all orders of n items.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for at := 0; at <= len(p); at++ {
			out = append(out, append(append(append([]int{}, p[:at]...), n-1), p[at:]...))
		}
	}
	return out
}

func TestOrderOfReportsDoesNotMatter(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		var want string
		for _, order := range permutations(5) {
			testserver.Must(t, forget(w, "bob@example.net", "eve@example.net"))
			id := w.SendTaken("bob@example.net", "eve@example.net")
			at := time.Now().Add(time.Minute)
			time.Sleep(2 * time.Minute)
			reports := []feedback.Report{
				{EmailID: id, Kind: feedback.Delayed, Recipient: "bob@example.net"},
				{EmailID: id, Kind: feedback.Delivered, Recipient: "bob@example.net"},
				{EmailID: id, Kind: feedback.Opened, At: at, UserAgent: "Mozilla/5.0"},
				testserver.HardBounce(id, "bob@example.net", "5.1.1"),
				{EmailID: id, Kind: feedback.Complained, Recipient: "bob@example.net"},
			}
			for _, i := range order {
				w.Report(reports[i])
			}
			got := fmt.Sprintf("%s; %s; %s; %s; %d events", w.RecipientStates(id), w.Email(id).LastEvent, w.Suppression("bob@example.net").Origin,
				w.Suppression("eve@example.net").Origin, len(w.Events(id)))
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("order %v: %s, want %s", order, got, want)
			}
		}
		if !strings.HasPrefix(want, "bob@example.net complained, eve@example.net sent; complained; complaint; ;") {
			t.Error(want)
		}
	})
}

// forget removes addresses from the suppression list.
func forget(w *testserver.Server, addresses ...string) error {
	_, err := w.Services.Suppressions.RemoveSuppressions(w.T.Context(), w.Key, app.SuppressionRemoval{Emails: addresses})
	return err
}

func TestReportBeforeResult(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := testserver.Accept(ctx, m, authorize)
			<-hang
			return res
		}))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net", "eve@example.net")
		synctest.Wait() // between the dot and its reply
		w.Report(feedback.Report{EmailID: id, Kind: feedback.Delivered, Recipient: "bob@example.net"})
		w.WantRecipientStates(id, "bob@example.net delivered, eve@example.net queued")
		close(hang)
		synctest.Wait()
		w.WantRecipientStates(id, "bob@example.net delivered, eve@example.net sent")
		w.WantLastEvent(id, app.Delivered)
		if w.Unit(id) != nil || len(w.Doubts()) != 0 {
			t.Errorf("unit %v, doubts %v", w.Unit(id), w.Doubts())
		}
	})
}

func TestReportSettlesDoubt(t *testing.T) {
	testserver.BothEngines(t)
	for _, kind := range []feedback.Kind{feedback.Accepted, feedback.Delivered, feedback.Delayed, feedback.Bounced, feedback.Complained, feedback.Opened, feedback.Failed} {
		t.Run(string(kind), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.InOrder(testserver.LoseReply))
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				w.Report(feedback.Report{EmailID: id, Kind: kind})
				if d := w.Doubts(); len(d) != 1 || d[0].Settled != "settled by the provider's report" || w.Unit(id) != nil {
					t.Errorf("doubts %+v, unit %v", d, w.Unit(id))
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := relay.FinalDots(id); n != 1 || strings.Contains(w.RecipientStates(id), "queued") || w.Email(id).LastEvent == app.Queued {
					t.Errorf("sent %d times, %s, %s", n, w.RecipientStates(id), w.Email(id).LastEvent)
				}
			})
		})
	}
}

func TestDoubtResendsUnreportedRecipientsOnly(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.LoseReply))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net", "eve@example.net", "ann@example.net")
		synctest.Wait()
		w.Report(feedback.Report{EmailID: id, Kind: feedback.Delivered, Recipient: "eve@example.net"})
		if d := w.Doubts(); len(d) != 1 || d[0].Settled != "" {
			t.Errorf("doubts %+v", d)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		tries := relay.Transactions(id)
		if len(tries) != 2 || fmt.Sprint(tries[1].Message.Recipients) != "[bob@example.net ann@example.net]" || tries[1].Message.Signature != testserver.FirstSignature(id) {
			t.Errorf("tries %+v", tries)
		}
		w.WantRecipientStates(id, "bob@example.net sent, eve@example.net delivered, ann@example.net sent")
	})
}

func TestReportDuringRetryWithdrawsIt(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.LoseReply, testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net", "eve@example.net")
		time.Sleep(2 * time.Minute)
		synctest.Wait() // before the second dot
		w.Report(feedback.Report{EmailID: id, Kind: feedback.Delivered, Recipient: "bob@example.net"})
		close(hang)
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		tries := relay.Transactions(id)
		if len(tries) != 3 || fmt.Sprint(tries[2].Message.Recipients) != "[eve@example.net]" {
			t.Errorf("tries %+v", tries)
		}
		w.WantRecipientStates(id, "bob@example.net delivered, eve@example.net sent")
	})
}

func TestReportBeforeLostReplyLeavesNoDoubt(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := testserver.LoseReply(ctx, m, authorize)
			<-hang
			return res
		}))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		w.Report(feedback.Report{EmailID: id, Kind: feedback.Delivered})
		next := w.Crash(testserver.NewRelay(nil)) // the same in a process that finds the unit committed
		next.Start()
		close(hang)
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, w := range []*testserver.Server{w, next} {
			if len(w.Doubts()) != 0 || w.Unit(id) != nil || strings.Contains(w.Timeline(id), "in_doubt") {
				t.Errorf("doubts %v, unit %v:\n%s", w.Doubts(), w.Unit(id), w.Timeline(id))
			}
			w.WantLastEvent(id, app.Delivered)
		}
		if n := relay.FinalDots(id); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

func TestReportLeavesOtherRecipientsAlone(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("bob@example.net", "eve@example.net")
		w.Report(testserver.HardBounce(id, "", "5.1.1"), testserver.HardBounce(id, "other@example.net", "5.1.1"))
		w.WantRecipientStates(id, "bob@example.net sent, eve@example.net sent")
		w.WantLastEvent(id, app.Bounced)
		for _, address := range []string{"bob@example.net", "eve@example.net", "other@example.net"} {
			if s := w.Suppression(address); s.ID != "" {
				t.Errorf("suppression %+v", s)
			}
		}
		w.Report(feedback.Report{EmailID: id, Kind: feedback.Failed, Diagnostic: "virus"})
		w.WantRecipientStates(id, "bob@example.net failed, eve@example.net failed")
		alone := w.SendTaken("bob@example.net")
		w.Report(testserver.HardBounce(alone, "", "5.1.1"))
		if s := w.Suppression("bob@example.net"); s.SourceID != alone {
			t.Errorf("suppression %+v", s)
		}
	})
}

func TestBounceOfUnsubscribedAddressSuppresses(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		for _, tt := range []struct{ stands, report, want app.SuppressionOrigin }{
			{app.OriginUnsubscribe, app.OriginBounce, app.OriginBounce},
			{app.OriginUnsubscribe, app.OriginComplaint, app.OriginComplaint},
			{app.OriginBounce, app.OriginComplaint, app.OriginComplaint},
			{app.OriginComplaint, app.OriginBounce, app.OriginComplaint},
			{app.OriginManual, app.OriginBounce, app.OriginManual},
			{app.OriginManual, app.OriginComplaint, app.OriginManual},
		} {
			address := "u" + app.NewID() + "@example.net"
			id := w.SendTaken(address)
			first, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: address, Origin: tt.stands})
			testserver.Must(t, err)
			f := testserver.HardBounce(id, address, "5.1.1")
			if tt.report == app.OriginComplaint {
				f.Kind = feedback.Complained
			}
			w.Report(f)
			if s := w.Suppression(address); s.Origin != tt.want || s.ID != first.ID || (s.SourceID == id) != (tt.want != tt.stands) {
				t.Errorf("%s then %s: %+v", tt.stands, tt.report, s)
			}
		}
	})
}

func TestHardRefusalSuppresses(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		codes := map[string]app.Reply{
			"a@example.net": {Code: 550, Enhanced: "5.1.1"}, "b@example.net": {Code: 550, Enhanced: "5.7.1"}, "c@example.net": {Code: 550},
			"d@example.net": {Code: 552, Enhanced: "5.2.2"}, "e@example.net": {Code: 550, Enhanced: "5.2.1"}, "f@example.net": {Enhanced: "5.1.3"},
			"g@example.net": {Code: 550, Enhanced: "5.5.0", Text: "Requested action not taken: mailbox unavailable"},
			"h@example.net": {Code: 550, Enhanced: "5.2.1", Text: "The user you write to is receiving mail too quickly"},
			"i@example.net": {Code: 550, Text: "User unknown"}, "j@example.net": {Code: 550, Enhanced: "5.5.0", Text: "command not allowed here"},
		}
		hard := []string{"a@example.net", "e@example.net", "g@example.net", "i@example.net"}
		relay := testserver.NewRelay(testserver.Always(func(_ context.Context, m *app.Outgoing, _ func() error) app.Result {
			res := app.Result{Kind: app.ResultDone, Stage: app.StageRcpt}
			for _, address := range m.Recipients {
				res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Outcome: app.Refused, Stage: app.StageRcpt, Reply: codes[address]})
			}
			return res
		}))
		w := testserver.Start(t, relay)
		id := w.Send(slices.Sorted(maps.Keys(codes))...)
		time.Sleep(time.Hour) // ambiguous refusals are tried again
		synctest.Wait()
		w.WantLastEvent(id, app.Bounced)
		for address := range codes {
			s := w.Suppression(address)
			if want := slices.Contains(hard, address); (s.ID != "") != want || want && (s.SourceID != id || s.Origin != app.OriginBounce) {
				t.Errorf("%s: %+v", address, s)
			}
		}
	})
}

func TestOpensAndClicksInAnyOrder(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		begin := time.Now()
		for name, tt := range map[string]struct {
			after time.Duration
			f     feedback.Report
			want  app.EventType
		}{
			"reader":     {time.Minute, feedback.Report{Kind: feedback.Opened, UserAgent: "Mozilla/5.0 (X11)"}, "opened"},
			"click":      {time.Minute, feedback.Report{Kind: feedback.Clicked, Link: "https://example.com/", IPAddress: "192.0.2.1"}, "clicked"},
			"early":      {5 * time.Second, feedback.Report{Kind: feedback.Opened}, app.EventPrefetched},
			"scanner":    {time.Minute, feedback.Report{Kind: feedback.Opened, UserAgent: "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"}, app.EventPrefetched},
			"machine":    {time.Minute, feedback.Report{Kind: feedback.Opened, Machine: true}, app.EventPrefetched},
			"late relay": {time.Minute, feedback.Report{Kind: feedback.Opened, AcceptedBy: begin.Add(55 * time.Second)}, app.EventPrefetched},
		} {
			id := w.SendTaken("bob@example.net")
			accepted := w.Email(id).CreatedAt
			tt.f.EmailID, tt.f.At = id, accepted.Add(tt.after)
			if !tt.f.AcceptedBy.IsZero() {
				tt.f.AcceptedBy = accepted.Add(55 * time.Second)
			}
			time.Sleep(2 * time.Minute)
			w.Report(tt.f)
			ev := w.OnlyEvent(id, tt.want)
			if !ev.CreatedAt.Equal(tt.f.At) || ev.Detail.Link != tt.f.Link || ev.Detail.IPAddress != tt.f.IPAddress {
				t.Errorf("%s: %+v", name, ev)
			}
			if want := map[bool]app.LastEvent{true: app.Sent, false: app.LastEvent(tt.want)}[tt.want == app.EventPrefetched]; w.Email(id).LastEvent != want {
				t.Errorf("%s: last_event %s", name, w.Email(id).LastEvent)
			}
		}
	})
}

func TestManyReportsAreStoredInBatches(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("bob@example.net")
		reports := make([]feedback.Report, 3*providerevents.FeedbackPerWrite+1)
		for i := range reports {
			reports[i] = feedback.Report{ID: fmt.Sprint(i), EmailID: app.NewID(), Kind: feedback.Delivered}
		}
		reports[len(reports)-1].EmailID = id
		w.Report(reports...)
		w.WantLastEvent(id, app.Delivered)
	})
}

func TestReportsSurviveCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("bob@example.net")
		w.Report(testserver.HardBounce(id, "bob@example.net", "5.1.1"))
		next := w.Crash(testserver.NewRelay(nil))
		next.WantRecipientStates(id, "bob@example.net bounced")
		if next.Suppression("bob@example.net").ID == "" {
			t.Error("the suppression is lost")
		}
		next.Report(testserver.HardBounce(id, "bob@example.net", "5.1.1"))
		next.OnlyEvent(id, "bounced")
	})
}

func TestReportOfErasedRecipient(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("bob@example.net", "eve@example.net")
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.EraseTraces(id, erase.NewSet([]string{"bob@example.net"})) }))
		w.Report(testserver.HardBounce(id, "Bob@example.net", "5.1.1"), feedback.Report{EmailID: id, Kind: feedback.Delayed, Recipient: "eve@example.net", Diagnostic: "beside bob@example.net"})
		w.WantRecipientStates(id, "[erased] bounced, eve@example.net delivery_delayed")
		if ev := w.OnlyEvent(id, "bounced"); ev.Recipient != app.Erased {
			t.Errorf("event %+v", ev)
		}
		if s := w.Suppression("bob@example.net"); s.ID != "" {
			t.Errorf("listed: %+v", s)
		}
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		list, _, err := w.Services.Suppressions.ListSuppressions(t.Context(), w.Key, "", app.Page{Limit: 10})
		if err != nil || len(list) > 0 || strings.Contains(w.Timeline(id), "bob@") {
			t.Errorf("list %v, %v:\n%s", list, err, w.Timeline(id))
		}
	})
}

func TestReportOfDeletedEmail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.SendTaken("bob@example.net")
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
		w.Report(testserver.HardBounce(id, "bob@example.net", "5.1.1"))
		if w.Suppression("bob@example.net").ID != "" || !w.Log.Contains("not known here") {
			t.Error("a deleted email suppresses")
		}
	})
}

func TestBroadcastReportsInAnyOrder(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		orders := permutations(4)
		w.AddSubscribers(len(orders))
		draft := w.AddDraft()
		w.Queue(draft)
		time.Sleep(time.Minute)
		synctest.Wait()
		b := w.Broadcast(draft.ID)
		recipients := w.BroadcastRecipients(b)
		if len(recipients) != len(orders) || b.Counts.Sent != int64(len(orders)) {
			t.Fatalf("%d recipients, %d sent", len(recipients), b.Counts.Sent)
		}
		for i, v := range recipients {
			reports := []feedback.Report{
				{EmailID: v.ID, Kind: feedback.Delayed}, {MessageID: v.ID + "@" + testserver.TestDomain, Kind: feedback.Delivered, Recipient: v.Email},
				testserver.HardBounce(v.ID, strings.ToUpper(v.Email), "5.1.1"), {EmailID: v.ID, Kind: feedback.Complained},
			}
			for _, n := range orders[i] {
				reports[n].ID = fmt.Sprint(i, n)
				w.Report(reports[n], reports[n])
			}
		}
		want := app.SeenSent | app.SeenDelayed | app.SeenDelivered | app.SeenBounced | app.SeenComplained
		for i, v := range w.BroadcastRecipients(b) {
			if v.Seen != want || w.Suppression(v.Email).Origin != app.OriginComplaint || w.Suppression(v.Email).SourceID != v.ID {
				t.Errorf("order %v: seen %b, %+v", orders[i], v.Seen, w.Suppression(v.Email))
			}
		}
		n := int64(len(orders))
		if b := w.Broadcast(draft.ID); b.Counts.Sent != n || b.Counts.DeliveryDelayed != n || b.Counts.Delivered != n || b.Counts.Bounced != n || b.Counts.Complained != n || b.Status != app.SentBroadcast {
			t.Errorf("counted %+v", b)
		}
	})
}

func TestReportSettlesBroadcastDoubt(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.LoseReply))
		w := testserver.Start(t, relay)
		w.AddSubscribers(1)
		draft := w.AddDraft()
		w.Queue(draft)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b := w.Broadcast(draft.ID)
		id := app.BroadcastEmailID(b.EmailIDPrefix, 1)
		if d := w.Doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Fatalf("doubts %+v", d)
		}
		w.Report(feedback.Report{EmailID: id, Kind: feedback.Delivered})
		time.Sleep(time.Hour)
		synctest.Wait()
		b = w.Broadcast(draft.ID)
		if d := w.Doubts(); d[0].Settled != "settled by the provider's report" || relay.FinalDots(id) != 1 || b.Status != app.SentBroadcast || b.Open != 0 || b.Counts.Sent != 1 || b.Counts.Delivered != 1 {
			t.Errorf("doubts %+v, %d tries, broadcast %+v", d, len(relay.Transactions(id)), b)
		}
	})
}
