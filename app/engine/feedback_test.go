package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/erase"
	"mailer/app/feedback"
	"mailer/app/relays"
	"mailer/db"
)

// take has the engine take reports; they come from SES unless they say more.
func (w *world) take(reports ...feedback.Feedback) {
	w.t.Helper()
	for i := range reports {
		if reports[i].Source == "" {
			reports[i].Source = "ses"
		}
	}
	must(w.t, w.e.TakeFeedback(w.t.Context(), reports))
}

// states are the recipients of an email with what became of them.
func (w *world) states(id string) string {
	w.t.Helper()
	var out []string
	w.read(func(r *db.Reader) error {
		s, err := r.Subject(id)
		if err != nil {
			return err
		}
		for _, v := range s.Recipients {
			out = append(out, v.Address+" "+string(v.State))
		}
		return nil
	})
	return strings.Join(out, ", ")
}

func (w *world) wantStates(id, want string) {
	w.t.Helper()
	if got := w.states(id); got != want {
		w.t.Errorf("recipients are %q, want %q; timeline:\n%s", got, want, w.story(id))
	}
}

// suppressed is an address's suppression as the API shows it; empty: there is none.
func (w *world) suppressed(address string) app.Suppression {
	s, err := w.e.GetSuppression(w.t.Context(), w.key, address)
	if err != nil {
		wantCode(w.t, err, app.CodeNotFound)
		return app.Suppression{}
	}
	return s
}

// sentTo gives an email that the relay took.
func (w *world) sentTo(to ...string) string {
	w.t.Helper()
	id := w.send(to...)
	synctest.Wait()
	w.wantLast(id, app.Sent)
	return id
}

func bounce(id, recipient, code string) feedback.Feedback {
	return feedback.Feedback{EmailID: id, Recipient: recipient, Kind: feedback.FeedbackBounced, Bounce: app.BouncePermanent, SubType: "General", Enhanced: code,
		Diagnostic: "smtp; 550 " + code + " sorry"}
}

func TestABounceMovesItsRecipientAndSuppressesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("Bob@Example.net", "eve@example.net")
		w.take(bounce(id, "bob@EXAMPLE.net", "5.1.1"))
		w.wantStates(id, "Bob@example.net bounced, eve@example.net sent")
		w.wantLast(id, app.Bounced)
		ev := w.eventOf(id, "bounced")
		if ev.Recipient != "Bob@example.net" || ev.Detail.EnhancedCode != "5.1.1" || ev.Detail.BounceType != "Permanent" || ev.Detail.BounceSubType != "General" ||
			ev.Detail.Source != "ses" || !strings.Contains(ev.Detail.Message, "550 5.1.1 sorry") {
			t.Errorf("event %+v", ev)
		}
		if s := w.suppressed("bob@example.net"); s.Origin != app.OriginBounce || s.SourceID != id {
			t.Errorf("suppression %+v", s)
		}
		if s := w.suppressed("eve@example.net"); s.ID != "" {
			t.Errorf("suppression %+v", s)
		}
	})
}

func TestTheSameReportCountsOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("bob@example.net")
		report := feedback.Feedback{ID: "one", EmailID: id, Kind: feedback.FeedbackDelivered, Recipient: "bob@example.net"}
		w.take(report, report)
		for range 5 {
			w.take(report)
		}
		w.eventOf(id, "delivered")
		other := report
		other.Source = "mailgun"
		w.take(other)
		unnamed := feedback.Feedback{EmailID: id, Kind: feedback.FeedbackComplained, Diagnostic: "x", At: time.Now()}
		w.take(unnamed)
		w.take(unnamed)
		w.eventOf(id, "complained")
		if n := strings.Count(w.story(id), " delivered "); n != 2 {
			t.Errorf("%d deliveries by two providers:\n%s", n, w.story(id))
		}
	})
}

func TestAReportIsRememberedFor30Days(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		id := w.send("bob@example.net")
		report := feedback.Feedback{ID: "one", EmailID: id, Kind: feedback.FeedbackDelivered}
		for _, want := range []int{1, 1, 2} {
			w.take(report)
			if n := strings.Count(w.story(id), " delivered "); n != want {
				t.Errorf("%d deliveries, want %d:\n%s", n, want, w.story(id))
			}
			time.Sleep(16 * 24 * time.Hour)
			must(t, w.e.purgeFeedback(t.Context()))
		}
	})
}

func TestReportsFindTheirEmail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const reply = "Ok 010001944a3b2c1d-4f5e6d7c-000000"
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4, Profile: relays.ProfileSES},
			always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
				res := accept(ctx, m, hold)
				res.Reply.Text = reply
				return res
			}))
		w := serving(t, relay)
		id, other := w.sentTo("bob@example.net"), app.NewID()
		for name, f := range map[string]feedback.Feedback{
			"our id":                     {EmailID: id, ProviderID: "x", MessageID: "y"},
			"our id in capitals":         {EmailID: strings.ToUpper(id)},
			"provider":                   {ProviderID: "010001944a3b2c1d-4f5e6d7c-000000", EmailID: other},
			"Message-ID":                 {MessageID: id + "@example.com"},
			"Message-ID of the provider": {MessageID: "010001944a3b2c1d-4f5e6d7c-000000@email.amazonses.com"},
			"our id, then anything":      {EmailID: id, Recipient: "BOB@example.net"},
			"Message-ID with a name":     {MessageID: strings.ToUpper(id) + "@EXAMPLE.com"},
		} {
			before := len(w.events(id))
			f.ID, f.Kind = name, feedback.FeedbackDelayed
			w.take(f)
			if len(w.events(id)) != before+1 {
				t.Errorf("%s: not found", name)
			}
		}
		before := len(w.events(id))
		for name, f := range map[string]feedback.Feedback{
			"nothing": {}, "another id": {EmailID: other}, "no id": {EmailID: "x", ProviderID: "x", MessageID: "x"},
			"the Message-ID of another host": {MessageID: id + "@evil.example"}, "half a Message-ID": {MessageID: id},
		} {
			f.ID, f.Kind, f.Recipient = name, feedback.FeedbackBounced, "bob@example.net"
			f.Bounce, f.Enhanced = app.BouncePermanent, "5.1.1"
			w.take(f)
			if len(w.events(id)) != before || w.suppressed("bob@example.net").ID != "" {
				t.Errorf("%s is taken for the email", name)
			}
		}
		if !w.log.has("not known here") {
			t.Error("the log says nothing of unknown emails")
		}
	})
}

// permutations gives all orders of n things.
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

func TestAnyOrderOfReportsEndsEqual(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		var want string
		for _, order := range permutations(5) {
			must(t, forget(w, "bob@example.net", "eve@example.net"))
			id := w.sentTo("bob@example.net", "eve@example.net")
			at := time.Now().Add(time.Minute)
			time.Sleep(2 * time.Minute)
			reports := []feedback.Feedback{
				{EmailID: id, Kind: feedback.FeedbackDelayed, Recipient: "bob@example.net"},
				{EmailID: id, Kind: feedback.FeedbackDelivered, Recipient: "bob@example.net"},
				{EmailID: id, Kind: feedback.FeedbackOpened, At: at, UserAgent: "Mozilla/5.0"},
				bounce(id, "bob@example.net", "5.1.1"),
				{EmailID: id, Kind: feedback.FeedbackComplained, Recipient: "bob@example.net"},
			}
			for _, i := range order {
				w.take(reports[i])
			}
			got := fmt.Sprintf("%s; %s; %s; %s; %d events", w.states(id), w.email(id).LastEvent, w.suppressed("bob@example.net").Origin,
				w.suppressed("eve@example.net").Origin, len(w.events(id)))
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

// forget takes addresses off the list.
func forget(w *world, addresses ...string) error {
	_, err := w.e.RemoveSuppressions(w.t.Context(), w.key, app.SuppressionRemoval{Emails: addresses})
	return err
}

func TestAReportBeforeOurOwnResultEndsEqual(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			res := accept(ctx, m, hold)
			<-hang
			return res
		}))
		w := serving(t, relay)
		id := w.send("bob@example.net", "eve@example.net")
		synctest.Wait() // between the dot and its reply
		w.take(feedback.Feedback{EmailID: id, Kind: feedback.FeedbackDelivered, Recipient: "bob@example.net"})
		w.wantStates(id, "bob@example.net delivered, eve@example.net queued")
		close(hang)
		synctest.Wait()
		w.wantStates(id, "bob@example.net delivered, eve@example.net sent")
		w.wantLast(id, app.Delivered)
		if w.unit(id) != nil || len(w.doubts()) != 0 {
			t.Errorf("unit %v, doubts %v", w.unit(id), w.doubts())
		}
	})
}

func TestAReportSettlesADoubtAndNothingIsSentAgain(t *testing.T) {
	for _, kind := range []feedback.FeedbackKind{feedback.FeedbackTaken, feedback.FeedbackDelivered, feedback.FeedbackDelayed, feedback.FeedbackBounced, feedback.FeedbackComplained, feedback.FeedbackOpened, feedback.FeedbackFailed} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(firstly(lost))
				w := serving(t, relay)
				id := w.send("bob@example.net")
				synctest.Wait()
				w.take(feedback.Feedback{EmailID: id, Kind: kind})
				if d := w.doubts(); len(d) != 1 || d[0].Settled != "settled by the provider's report" || w.unit(id) != nil {
					t.Errorf("doubts %+v, unit %v", d, w.unit(id))
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := len(relay.seen(id)); n != 1 || strings.Contains(w.states(id), "queued") || w.email(id).LastEvent == app.Queued {
					t.Errorf("sent %d times, %s, %s", n, w.states(id), w.email(id).LastEvent)
				}
			})
		})
	}
}

func TestOnlyTheOthersAreSentAgainAfterADoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(lost))
		w := serving(t, relay)
		id := w.send("bob@example.net", "eve@example.net", "ann@example.net")
		synctest.Wait()
		w.take(feedback.Feedback{EmailID: id, Kind: feedback.FeedbackDelivered, Recipient: "eve@example.net"})
		if d := w.doubts(); len(d) != 1 || d[0].Settled != "" {
			t.Errorf("doubts %+v", d)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		tries := relay.seen(id)
		if len(tries) != 2 || fmt.Sprint(tries[1].m.Recipients) != "[bob@example.net ann@example.net]" || tries[1].m.Signature != firstSignature(id) {
			t.Errorf("tries %+v", tries)
		}
		w.wantStates(id, "bob@example.net sent, eve@example.net delivered, ann@example.net sent")
	})
}

func TestAReportDuringTheSecondTryWithdrawsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(firstly(lost, after(hang, accept)))
		w := serving(t, relay)
		id := w.send("bob@example.net", "eve@example.net")
		time.Sleep(2 * time.Minute)
		synctest.Wait() // before the second dot
		w.take(feedback.Feedback{EmailID: id, Kind: feedback.FeedbackDelivered, Recipient: "bob@example.net"})
		close(hang)
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		tries := relay.seen(id)
		if len(tries) != 3 || fmt.Sprint(tries[2].m.Recipients) != "[eve@example.net]" {
			t.Errorf("tries %+v", tries)
		}
		w.wantStates(id, "bob@example.net delivered, eve@example.net sent")
	})
}

func TestAReportBeforeALostReplyLeavesNoDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(firstly(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			res := lost(ctx, m, hold)
			<-hang
			return res
		}))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		w.take(feedback.Feedback{EmailID: id, Kind: feedback.FeedbackDelivered})
		next := w.crash(newRelay(nil)) // the same in a process that finds the unit dotted
		next.start()
		close(hang)
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, w := range []*world{w, next} {
			if len(w.doubts()) != 0 || w.unit(id) != nil || strings.Contains(w.story(id), "in_doubt") {
				t.Errorf("doubts %v, unit %v:\n%s", w.doubts(), w.unit(id), w.story(id))
			}
			w.wantLast(id, app.Delivered)
		}
		if n := len(relay.seen(id)); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

func TestWhoIsToldNothingOfIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("bob@example.net", "eve@example.net")
		w.take(bounce(id, "", "5.1.1"), bounce(id, "stranger@example.net", "5.1.1"))
		w.wantStates(id, "bob@example.net sent, eve@example.net sent")
		w.wantLast(id, app.Bounced)
		for _, address := range []string{"bob@example.net", "eve@example.net", "stranger@example.net"} {
			if s := w.suppressed(address); s.ID != "" {
				t.Errorf("suppression %+v", s)
			}
		}
		w.take(feedback.Feedback{EmailID: id, Kind: feedback.FeedbackFailed, Diagnostic: "virus"})
		w.wantStates(id, "bob@example.net failed, eve@example.net failed")
		alone := w.sentTo("bob@example.net")
		w.take(bounce(alone, "", "5.1.1"))
		if s := w.suppressed("bob@example.net"); s.SourceID != alone {
			t.Errorf("suppression %+v", s)
		}
	})
}

func TestAnUnsubscribedAddressThatBouncesIsBlockedWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		for _, tt := range []struct{ stands, report, want app.SuppressionOrigin }{
			{app.OriginUnsubscribe, app.OriginBounce, app.OriginBounce},
			{app.OriginUnsubscribe, app.OriginComplaint, app.OriginComplaint},
			{app.OriginBounce, app.OriginComplaint, app.OriginComplaint},
			{app.OriginComplaint, app.OriginBounce, app.OriginComplaint},
			{app.OriginManual, app.OriginBounce, app.OriginManual},
			{app.OriginManual, app.OriginComplaint, app.OriginManual},
		} {
			address := "u" + app.NewID() + "@example.net"
			id := w.sentTo(address)
			first, err := w.e.AddSuppression(t.Context(), w.key, app.SuppressionInput{Email: address, Origin: tt.stands})
			must(t, err)
			f := bounce(id, address, "5.1.1")
			if tt.report == app.OriginComplaint {
				f.Kind = feedback.FeedbackComplained
			}
			w.take(f)
			if s := w.suppressed(address); s.Origin != tt.want || s.ID != first.ID || (s.SourceID == id) != (tt.want != tt.stands) {
				t.Errorf("%s then %s: %+v", tt.stands, tt.report, s)
			}
		}
	})
}

func TestAHardRefusalAtTheRecipientSuppressesByTheSameRule(t *testing.T) {
	bubble(t, func(t *testing.T) {
		codes := map[string]app.Reply{
			"a@example.net": {Code: 550, Enhanced: "5.1.1"}, "b@example.net": {Code: 550, Enhanced: "5.7.1"}, "c@example.net": {Code: 550},
			"d@example.net": {Code: 552, Enhanced: "5.2.2"}, "e@example.net": {Code: 550, Enhanced: "5.2.1"}, "f@example.net": {Enhanced: "5.1.3"},
		}
		relay := newRelay(always(func(_ context.Context, m *app.Outgoing, _ func() error) app.Result {
			res := app.Result{Kind: app.ResultDone, Stage: app.StageRcpt}
			for _, address := range m.Recipients {
				res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Verdict: app.Refused, Stage: app.StageRcpt, Reply: codes[address]})
			}
			return res
		}))
		w := serving(t, relay)
		id := w.send("a@example.net", "b@example.net", "c@example.net", "d@example.net", "e@example.net", "f@example.net")
		synctest.Wait()
		w.wantLast(id, app.Bounced)
		for address := range codes {
			s := w.suppressed(address)
			if want := address == "a@example.net" || address == "e@example.net"; (s.ID != "") != want || want && (s.SourceID != id || s.Origin != app.OriginBounce) {
				t.Errorf("%s: %+v", address, s)
			}
		}
	})
}

func TestOpensAndClicksAreJudgedInAnyOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		begin := time.Now()
		for name, tt := range map[string]struct {
			after time.Duration
			f     feedback.Feedback
			want  app.EventType
		}{
			"reader":     {time.Minute, feedback.Feedback{Kind: feedback.FeedbackOpened, UserAgent: "Mozilla/5.0 (X11)"}, "opened"},
			"click":      {time.Minute, feedback.Feedback{Kind: feedback.FeedbackClicked, Link: "https://example.com/", IPAddress: "192.0.2.1"}, "clicked"},
			"early":      {5 * time.Second, feedback.Feedback{Kind: feedback.FeedbackOpened}, app.EventPrefetched},
			"scanner":    {time.Minute, feedback.Feedback{Kind: feedback.FeedbackOpened, UserAgent: "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"}, app.EventPrefetched},
			"machine":    {time.Minute, feedback.Feedback{Kind: feedback.FeedbackOpened, Machine: true}, app.EventPrefetched},
			"late relay": {time.Minute, feedback.Feedback{Kind: feedback.FeedbackOpened, Taken: begin.Add(55 * time.Second)}, app.EventPrefetched},
		} {
			id := w.sentTo("bob@example.net")
			accepted := w.email(id).CreatedAt
			tt.f.EmailID, tt.f.At = id, accepted.Add(tt.after)
			if !tt.f.Taken.IsZero() {
				tt.f.Taken = accepted.Add(55 * time.Second)
			}
			time.Sleep(2 * time.Minute)
			w.take(tt.f)
			ev := w.eventOf(id, tt.want)
			if !ev.CreatedAt.Equal(tt.f.At) || ev.Detail.Link != tt.f.Link || ev.Detail.IPAddress != tt.f.IPAddress {
				t.Errorf("%s: %+v", name, ev)
			}
			if want := map[bool]app.LastEvent{true: app.Sent, false: app.LastEvent(tt.want)}[tt.want == app.EventPrefetched]; w.email(id).LastEvent != want {
				t.Errorf("%s: last_event %s", name, w.email(id).LastEvent)
			}
		}
	})
}

func TestManyReportsAreTakenInPieces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("bob@example.net")
		reports := make([]feedback.Feedback, 3*feedbackAtOnce+1)
		for i := range reports {
			reports[i] = feedback.Feedback{ID: fmt.Sprint(i), EmailID: app.NewID(), Kind: feedback.FeedbackDelivered}
		}
		reports[len(reports)-1].EmailID = id
		w.take(reports...)
		w.wantLast(id, app.Delivered)
	})
}

func TestWhatWasTakenSurvivesACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("bob@example.net")
		w.take(bounce(id, "bob@example.net", "5.1.1"))
		next := w.crash(newRelay(nil))
		next.wantStates(id, "bob@example.net bounced")
		if next.suppressed("bob@example.net").ID == "" {
			t.Error("the suppression is lost")
		}
		next.take(bounce(id, "bob@example.net", "5.1.1"))
		next.eventOf(id, "bounced")
	})
}

func TestAReportOfAnErasedRecipientNamesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("bob@example.net", "eve@example.net")
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.EraseTraces(id, erase.NewErasure([]string{"bob@example.net"})) }))
		w.take(bounce(id, "Bob@example.net", "5.1.1"), feedback.Feedback{EmailID: id, Kind: feedback.FeedbackDelayed, Recipient: "eve@example.net", Diagnostic: "beside bob@example.net"})
		w.wantStates(id, "[erased] bounced, eve@example.net delivery_delayed")
		if ev := w.eventOf(id, "bounced"); ev.Recipient != app.Erased {
			t.Errorf("event %+v", ev)
		}
		if s := w.suppressed("bob@example.net"); s.ID != "" {
			t.Errorf("listed: %+v", s)
		}
		_, err := w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
		wantCode(t, err, app.CodeAllRecipientsSuppressed)
		list, _, err := w.e.ListSuppressions(t.Context(), w.key, "", app.Page{Limit: 10})
		if err != nil || len(list) > 0 || strings.Contains(w.story(id), "bob@") {
			t.Errorf("list %v, %v:\n%s", list, err, w.story(id))
		}
	})
}

func TestAReportOfADeletedEmailLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sentTo("bob@example.net")
		must(t, w.e.DeleteEmail(t.Context(), w.key, id))
		w.take(bounce(id, "bob@example.net", "5.1.1"))
		if w.suppressed("bob@example.net").ID != "" || !w.log.has("not known here") {
			t.Error("a deleted email suppresses")
		}
	})
}

// broadcastRecipients gives the recipients of a broadcast as the database has
// them, in their order.
func (w *world) broadcastRecipients(b app.Broadcast) (all []app.BroadcastRecipient) {
	w.t.Helper()
	w.read(func(r *db.Reader) error {
		for n := range b.Written {
			v, err := r.BroadcastRecipient(app.MailID(b.Mails, n+1))
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		return nil
	})
	return all
}

func TestReportsOfABroadcastsRecipientsEndEqualInAnyOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		orders := permutations(4)
		w.people(len(orders))
		draft := w.draft()
		w.queue(draft)
		time.Sleep(time.Minute)
		synctest.Wait()
		b := w.broadcast(draft.ID)
		recipients := w.broadcastRecipients(b)
		if len(recipients) != len(orders) || b.Counts.Sent != int64(len(orders)) {
			t.Fatalf("%d recipients, %d sent", len(recipients), b.Counts.Sent)
		}
		for i, v := range recipients {
			reports := []feedback.Feedback{
				{EmailID: v.ID, Kind: feedback.FeedbackDelayed}, {MessageID: v.ID + "@" + testDomain, Kind: feedback.FeedbackDelivered, Recipient: v.Email},
				bounce(v.ID, strings.ToUpper(v.Email), "5.1.1"), {EmailID: v.ID, Kind: feedback.FeedbackComplained},
			}
			for _, n := range orders[i] {
				reports[n].ID = fmt.Sprint(i, n)
				w.take(reports[n], reports[n])
			}
		}
		want := app.SeenSent | app.SeenDelayed | app.SeenDelivered | app.SeenBounced | app.SeenComplained
		for i, v := range w.broadcastRecipients(b) {
			if v.Seen != want || w.suppressed(v.Email).Origin != app.OriginComplaint || w.suppressed(v.Email).SourceID != v.ID {
				t.Errorf("order %v: seen %b, %+v", orders[i], v.Seen, w.suppressed(v.Email))
			}
		}
		n := int64(len(orders))
		if b := w.broadcast(draft.ID); b.Counts.Sent != n || b.Counts.DeliveryDelayed != n || b.Counts.Delivered != n || b.Counts.Bounced != n || b.Counts.Complained != n || b.Status != app.SentBroadcast {
			t.Errorf("counted %+v", b)
		}
	})
}

func TestAReportSettlesTheDoubtOfABroadcastsRecipient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(lost))
		w := serving(t, relay)
		w.people(1)
		draft := w.draft()
		w.queue(draft)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b := w.broadcast(draft.ID)
		id := app.MailID(b.Mails, 1)
		if d := w.doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Fatalf("doubts %+v", d)
		}
		w.take(feedback.Feedback{EmailID: id, Kind: feedback.FeedbackDelivered})
		time.Sleep(time.Hour)
		synctest.Wait()
		b = w.broadcast(draft.ID)
		if d := w.doubts(); d[0].Settled != "settled by the provider's report" || len(relay.seen(id)) != 1 || b.Status != app.SentBroadcast || b.Open != 0 || b.Counts.Sent != 1 || b.Counts.Delivered != 1 {
			t.Errorf("doubts %+v, %d tries, broadcast %+v", d, len(relay.seen(id)), b)
		}
	})
}
