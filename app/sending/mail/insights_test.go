package mail_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/reputation"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestAcceptedEmailHasInsights(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		in := testserver.Message("bob@example.net", "eve@example.net", "ann@example.net")
		in.From, in.Subject = "noreply@"+testserver.TestDomain, "BUY NOW"
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		synctest.Wait()
		found, err := w.Services.Mail.GetInsights(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if !slices.Equal(found.Found, []string{"no_reply_sender", "shouting_subject"}) || found.Score() != 9.25 || found.Version != app.ScoreVersion {
			t.Errorf("found %+v", found)
		}
		if got := w.TeamOutcome(); got.Scored != 3 || got.Points != 3*925 {
			t.Errorf("counted %+v", got)
		}
		_, err = w.Services.Mail.GetInsights(t.Context(), w.AddTeam("other", "other.example"), id)
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = w.Services.Mail.GetInsights(t.Context(), w.Key, app.NewID())
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}

func TestInsightsUseLastDomainCheck(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		for _, c := range []struct {
			live app.Live
			want int
		}{{app.LiveMissing, 1}, {app.LiveFound, 0}, {app.LiveMismatch, 1}, {app.LiveUnknown, 0}} {
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				d, err := tx.DomainByName(w.Key.TeamID, testserver.TestDomain)
				if err != nil {
					return err
				}
				d.Checks = []app.RecordCheck{{Record: app.RecordDMARC, Live: c.live}}
				return tx.SetDomainChecks(&d)
			}))
			found, err := w.Services.Mail.GetInsights(t.Context(), w.Key, w.Send("bob@example.net"))
			testserver.Must(t, err)
			if len(found.Found) != c.want {
				t.Errorf("with the record %s found %q", c.live, found.Found)
			}
		}
	})
}

func TestBroadcastEmailHasBroadcastInsights(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddSubscribers(30)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		rows, _, err := w.Services.Broadcasts.ListBroadcastRecipients(t.Context(), w.Key, b.ID, app.RecipientQuery{}, app.Page{Limit: 1})
		testserver.Must(t, err)
		email, err := w.Services.Mail.GetEmail(t.Context(), w.Key, rows[0].ID)
		testserver.Must(t, err)
		if want := []string{"no_unsubscribe_link", "bare_domain"}; email.Insights == nil || !slices.Equal(email.Insights.Found, want) {
			t.Fatalf("found %+v, want %q", email.Insights, want)
		}
		if got := w.TeamOutcome(); got.Scored != 30 || got.Points != 30*875 {
			t.Errorf("counted %+v", got)
		}
	})
}

// historyEntry is the count of a team at a time.
type historyEntry struct {
	at time.Time
	reputation.Outcome
}

// outcomesSince computes the windows of 30 days, 7 days, and today and yesterday from the times of
// the entries.
func outcomesSince(history []historyEntry, now time.Time) (month, week, recent reputation.Outcome) {
	hour := now.Truncate(time.Hour)
	yesterday := time.Date(now.Year(), now.Month(), now.Day()-1, 0, 0, 0, 0, time.UTC)
	for _, m := range history {
		if m.at.After(hour.AddDate(0, 0, -30).Add(time.Hour - 1)) {
			month.Add(m.Outcome)
		}
		if m.at.After(hour.AddDate(0, 0, -7).Add(time.Hour - 1)) {
			week.Add(m.Outcome)
		}
		if !m.at.Before(yesterday) {
			recent.Add(m.Outcome)
		}
	}
	return month, week, recent
}

// guardrailOf returns the state for the limits between good, fair and poor, in percent.
func guardrailOf(week, recent reputation.Outcome) reputation.Guardrail {
	percent := func(n, of int64) float64 { return 100 * float64(n) / math.Max(1, float64(of)) }
	switch {
	case week.Sent < 100 && (week.HardBounced >= 10 || week.Complained >= 3):
		return reputation.GuardrailPaused
	case recent.Sent >= 100 && (recent.HardBounced >= 10 && percent(recent.HardBounced, recent.Sent) >= 5 ||
		recent.Complained >= 3 && percent(recent.Complained, recent.Sent) >= 0.1):
		return reputation.GuardrailPaused
	case week.Sent >= 100 && (percent(week.HardBounced, week.Sent) >= 4 || week.Complained >= 2 && percent(week.Complained, week.Sent) >= 0.05):
		return reputation.GuardrailWarning
	}
	return reputation.GuardrailOK
}

func TestReputationWindowsOfRandomHistories(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		const teams, steps = 1000, 25
		w := testserver.New(t, testserver.NewRelay(nil))
		r := rand.New(rand.NewPCG(30, 7))
		ids, histories := make([]string, teams), make([][]historyEntry, teams)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			for i := range ids {
				ids[i] = app.NewID()
				if err := tx.InsertTeam(app.Team{ID: ids[i], Name: ids[i], CreatedAt: tx.Now}); err != nil {
					return err
				}
			}
			return nil
		}))
		for range steps {
			time.Sleep(time.Duration(r.Int64N(int64(70 * time.Hour))))
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				for i, id := range ids {
					if r.IntN(4) > 0 {
						continue
					}
					o := reputation.Outcome{Sent: r.Int64N(400), Scored: 1, Points: r.Int64N(1001)}
					if r.IntN(3) == 0 {
						o.HardBounced, o.Complained = r.Int64N(20), r.Int64N(2)
					}
					histories[i] = append(histories[i], historyEntry{tx.Now, o})
					tx.CountOutcome(counters.Key{TeamID: id, Region: "r", Domain: testserver.TestDomain}, o)
				}
				return nil
			}))
		}
		seen := map[reputation.Guardrail]int{}
		for i, id := range ids {
			month, week, recent := outcomesSince(histories[i], time.Now().UTC())
			state := guardrailOf(week, recent)
			want := reputation.NewDeliverability(month, state)
			got, err := w.Services.Guardrails.Deliverability(t.Context(), &app.Key{TeamID: id})
			testserver.Must(t, err)
			if got.Sent != month.Sent || got.Scored != month.Scored || got.Guardrail != state || (got.Score == nil) != (want.Score == nil) ||
				got.Score != nil && *got.Score != *want.Score {
				t.Fatalf("team %d has %+v, want %+v", i, got, want)
			}
			seen[state]++
		}
		if len(seen) != 3 {
			t.Errorf("the histories came to %v", seen)
		}
	})
}
