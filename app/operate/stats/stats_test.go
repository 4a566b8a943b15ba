package stats_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/operate/stats"
	"mailer/app/rules/feedback"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// relay returns a relay that refuses no@, simulates test-bounce@ and test-block@, and accepts
// others.
func relay() *testserver.FakeRelay {
	return testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
		for _, to := range m.Recipients {
			v := app.RecipientResult{Address: to, Outcome: app.Accepted, Stage: app.StageDot, Reply: app.Reply{Code: 250}}
			switch local, _, _ := strings.Cut(to, "@"); local {
			case "no":
				v.Outcome, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: 550, Enhanced: "5.1.1"}
			case "test-bounce":
				v.Outcome = app.SimulatedBounce
			case "test-block":
				v.Outcome = app.SimulatedBlock
			}
			res.Recipients = append(res.Recipients, v)
		}
		if err := authorize(); err != nil {
			return app.Result{Kind: app.ResultWithdrawn}
		}
		return res
	}))
}

// totals returns the metrics of a query that are not 0, without rates.
func totals(t *testing.T, w *testserver.Server, key *app.Key, q stats.Query) string {
	t.Helper()
	a, err := w.Services.Stats.Metrics(t.Context(), key, &q)
	testserver.Must(t, err)
	return message(a.Totals)
}

func message(values map[stats.Metric]float64) string {
	var out []string
	for _, name := range stats.Metrics() {
		if v := values[name]; v != 0 && !strings.HasSuffix(string(name), "_rate") {
			out = append(out, fmt.Sprintf("%s %g", name, v))
		}
	}
	return strings.Join(out, " ")
}

// rows returns the rows of a query: their groups and metrics.
func rows(t *testing.T, w *testserver.Server, q stats.Query) string {
	t.Helper()
	a, err := w.Services.Stats.Metrics(t.Context(), w.Key, &q)
	testserver.Must(t, err)
	var out []string
	for _, row := range a.Rows {
		what := strings.Fields(strings.Join([]string{row.Period, row.DomainName, row.EmailID, row.BroadcastName}, " "))
		out = append(out, strings.Join(append(what, message(row.Values)), " "))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestMetrics(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t, relay())
		id := w.SendTaken("bob@example.net", "eve@example.net")
		w.Send("no@example.net", "test-bounce@example.net", "test-block@example.net")
		testserver.SleepAndSettle(time.Hour)
		for range 2 { // reports are repeated
			w.Report(feedback.Report{ID: app.NewID(), EmailID: id, Recipient: "bob@example.net", Kind: feedback.Delivered, At: time.Now()})
			w.Report(feedback.Report{ID: app.NewID(), EmailID: id, Recipient: "eve@example.net", Kind: feedback.Bounced, Bounce: app.BounceTransient, At: time.Now()})
			w.Report(feedback.Report{ID: app.NewID(), EmailID: id, Recipient: "bob@example.net", Kind: feedback.Complained, At: time.Now()})
		}
		w.Report(testserver.HardBounce(id, "stranger@example.net", "5.1.1"))
		for range 3 {
			w.LoadPixel(id, testserver.Chrome)
			testserver.SleepAndSettle(time.Hour)
		}
		const first = "sent 2"
		all := "delivered 1 complained 1 suppressed 1 bounced 3 bounced_transient 1 bounced_permanent 2 opened 3 sent 4 unique_opened 1"
		want(t, "totals", totals(t, w, w.Key, stats.Query{}), all)
		want(t, "of the domain", rows(t, w, stats.Query{Dimensions: []string{"domain"}}), testserver.TestDomain+" "+all)
		want(t, "of one email", totals(t, w, w.Key, stats.Query{EmailIDs: []string{id}}),
			"delivered 1 complained 1 bounced 1 bounced_transient 1 opened 3 sent 2 unique_opened 1")
		want(t, "of the first hour", totals(t, w, w.Key, stats.Query{EmailIDs: []string{id}, EndDate: time.Now().Add(-3 * time.Hour).Format(time.RFC3339)}), first)

		other := w.AddTeam("others", "others.test")
		want(t, "of another team", totals(t, w, other, stats.Query{}), "")
		want(t, "another team's of the email", totals(t, w, other, stats.Query{EmailIDs: []string{id}}), "")
		a, err := w.Services.Stats.Metrics(t.Context(), w.Key, &stats.Query{Metrics: []string{"bounce_rate", "open_rate", "delivery_rate"}})
		testserver.Must(t, err)
		if got := fmt.Sprint(a.Totals); got != "map[bounce_rate:0.75 delivery_rate:0.25 open_rate:1]" {
			t.Errorf("rates are %s", got)
		}
	})
}

func TestBroadcastMetrics(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t, relay())
		w.AddSubscribers(3)
		b := w.SendNewsletter(testserver.Links(1), nil)
		testserver.SleepAndSettle(time.Minute)
		w.SendTaken("bob@example.net")
		mail := w.EmailIDTo(b, testserver.SubscriberAddress(1))
		w.Report(feedback.Report{ID: app.NewID(), EmailID: mail, Kind: feedback.Delivered, At: time.Now()})
		w.Click(mail, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(time.Hour)
		const own = "delivered 1 clicked 1 sent 3 unique_clicked 1"
		want(t, "by broadcast", rows(t, w, stats.Query{Dimensions: []string{"broadcast"}}), "News "+own)
		want(t, "of the broadcast", totals(t, w, w.Key, stats.Query{BroadcastIDs: []string{b.ID}}), own)
		want(t, "of all mail", totals(t, w, w.Key, stats.Query{}), "delivered 1 clicked 1 sent 4 unique_clicked 1")
		want(t, "of another broadcast", totals(t, w, w.Key, stats.Query{BroadcastIDs: []string{app.NewID()}}), "")
	})
}

func TestEarlyDeliveryReportCountsOnce(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, relay())
		id := w.Send("bob@example.net")
		w.Report(feedback.Report{ID: "1", EmailID: id, Recipient: "bob@example.net", Kind: feedback.Delivered, At: time.Now()})
		w.Start()
		testserver.SleepAndSettle(time.Minute)
		want(t, "totals", totals(t, w, w.Key, stats.Query{}), "delivered 1 sent 1")
	})
}

func TestPeriodsUseTimeZone(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) { // the bubble begins at midnight of 2000-01-01, a Saturday, in UTC
		w := testserver.New(t, relay())
		start := time.Now().UTC().Truncate(24 * time.Hour)
		testserver.SleepAndSettle(time.Until(start.AddDate(0, 0, 60)))
		day := start.AddDate(0, 0, 50)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			for _, at := range []time.Time{day, day.Add(18 * time.Hour), day.Add(19 * time.Hour)} {
				ev := app.Event{ID: app.NewID(), TeamID: w.Key.TeamID, EmailID: "x", BroadcastID: "b", Domain: "a.test", Type: app.EventType(app.Failed), CreatedAt: at}
				if err := tx.InsertEvent(ev); err != nil {
					return err
				}
			}
			return nil
		}))
		synctest.Wait()
		date := day.Format(time.DateOnly)
		next := day.AddDate(0, 0, 1).Format(time.DateOnly)
		q := stats.Query{Dimensions: []string{"period"}, StartDate: date, EndDate: next}
		want(t, "in UTC", rows(t, w, q), date+" failed 3\n"+next)
		q.Timezone = "Asia/Kolkata" // midnight there is at 18:30 UTC, within an hour that began before
		want(t, "in Kolkata", rows(t, w, q), date+" failed 2\n"+next+" failed 1")
		q.Dimensions, q.Granularity = []string{"period", "domain"}, "hourly"
		want(t, "by hour", rows(t, w, q), date+"T05:30:00+05:30 a.test failed 1\n"+date+"T23:30:00+05:30 a.test failed 1\n"+next+"T00:30:00+05:30 a.test failed 1")
		q.Timezone, q.Granularity = "", "monthly"
		want(t, "by month", rows(t, w, q), day.AddDate(0, 0, 1-day.Day()).Format(time.DateOnly)+" a.test failed 3")
		q.Granularity = "weekly"
		if monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7); !strings.HasPrefix(rows(t, w, q), monday.Format(time.DateOnly)) {
			t.Errorf("the week of %s begins otherwise: %s", date, rows(t, w, q))
		}
	})
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	now := time.Date(2026, 7, 8, 12, 30, 0, 0, time.UTC)
	ids := strings.Split(strings.TrimSuffix(strings.Repeat(app.NewID()+",", 3), ","), ",")
	many := make([]string, stats.MaxIDs+1)
	for i := range many {
		many[i] = app.NewID()
	}
	for field, q := range map[string]stats.Query{
		"start_date": {StartDate: "2026-07-09"}, "end_date": {EndDate: "yesterday"}, "timezone": {Timezone: "Mars/Base"}, "timezone of the machine": {Timezone: "local"}, "granularity": {Granularity: "yearly"},
		"metrics": {Metrics: []string{"joy"}}, "dimensions": {Dimensions: []string{"color"}}, "domain_id": {DomainIDs: []string{"x"}},
		"broadcast_id": {BroadcastIDs: many}, "email_id": {Dimensions: []string{"email"}},
		"range": {StartDate: "2020-01-01", Granularity: "hourly", Dimensions: []string{"period"}}, "both": {EmailIDs: ids, BroadcastIDs: ids},
	} {
		if _, err := q.Read(now); err == nil {
			t.Errorf("%s: answered", field)
		} else {
			testserver.WantCode(t, err, app.CodeValidation)
		}
	}
	q := stats.Query{StartDate: "2020-01-01", EndDate: "2030-01-01", EmailIDs: ids}
	got, err := q.Read(now)
	testserver.Must(t, err)
	if !got.End.Equal(now) || !got.Start.Equal(now.AddDate(0, 0, -400)) {
		t.Errorf("the range is %s to %s", got.Start, got.End)
	}
}

func TestMetricsOfForeignMessageID(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t, relay())
		const message = "From: ann@example.com\r\nMessage-ID: <1@tool.example>\r\nContent-Type: text/html\r\n\r\n<p>Hello\r\n"
		id, err := w.Services.Mail.Submissions.Accept(t.Context(), w.Key, &mail.Submission{Recipients: []string{"bo@example.org"}, Message: []byte(message)})
		testserver.Must(t, err)
		testserver.SleepAndSettle(time.Minute)
		w.LoadPixel(id, testserver.Chrome)
		testserver.SleepAndSettle(time.Minute)
		all := totals(t, w, w.Key, stats.Query{})
		if !strings.Contains(all, "opened 1") {
			t.Errorf("totals %s", all)
		}
		for _, q := range []stats.Query{{}, {EmailIDs: []string{id}}} {
			q.Dimensions = []string{"domain"}
			want(t, "by domain", rows(t, w, q), testserver.TestDomain+" "+all)
		}
	})
}
