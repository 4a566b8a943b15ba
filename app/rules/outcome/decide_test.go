package outcome_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/outcome"
)

func reply(code int, enhanced string) app.Reply {
	return app.Reply{Code: code, Enhanced: enhanced, Text: "text"}
}

// to returns the results of recipients named a, b, …
func to(results ...app.RecipientResult) []app.RecipientResult {
	for i := range results {
		results[i].Address = string(rune('a'+i)) + "@x.test"
	}
	return results
}

var (
	accepted  = app.RecipientResult{Outcome: app.Accepted, Stage: app.StageDot, Reply: reply(250, "")}
	noMailbox = app.RecipientResult{Outcome: app.Refused, Stage: app.StageRcpt, Reply: reply(550, "5.1.1")}
	blocked   = app.RecipientResult{Outcome: app.Refused, Stage: app.StageRcpt, Reply: reply(550, "5.7.1")}
	greylist  = app.RecipientResult{Outcome: app.Postponed, Stage: app.StageRcpt, Reply: reply(450, "4.7.1")}
)

// TestDecide has a row for each kind of result with each history that matters.
func TestDecide(t *testing.T) {
	const (
		works, trips, none          = outcome.Works, outcome.Trips, outcome.None
		handBack, settle, doubt     = outcome.HandBack, outcome.Settle, outcome.Doubt
		byTable, delay, withBreaker = outcome.ByTable, outcome.AfterDelay, outcome.WithBreaker
	)
	res := func(kind app.ResultKind, stage app.Stage, r app.Reply, recipients ...app.RecipientResult) app.Result {
		return app.Result{Kind: kind, Stage: stage, Reply: r, Recipients: to(slices.Clone(recipients)...)}
	}
	done := func(recipients ...app.RecipientResult) app.Result {
		return res(app.ResultDone, app.StageDot, reply(250, ""), recipients...)
	}
	refused := res(app.ResultRefused, app.StageDot, reply(554, "5.7.1"))
	lost := res(app.ResultTrouble, app.StageData, app.Reply{Text: "connection reset"})
	type want struct {
		relay, sender outcome.Effect
		pause         outcome.Pause
		refused       bool
		action        outcome.Action
		outcomes      []app.Outcome // of the recipients that the result names
		rest          app.Outcome
		schedule      outcome.Schedule
		delay         time.Duration
		uncounted     bool
	}
	for _, c := range []struct {
		name string
		res  app.Result
		h    outcome.History
		want want
	}{
		{"accepted", done(accepted, accepted), outcome.History{Repeated: []bool{false, false}},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Accepted, app.Accepted}}},
		{"one has no mailbox", done(accepted, noMailbox), outcome.History{Repeated: []bool{false, false}},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Accepted, app.Refused}}},
		{"one is refused for a policy, first", done(accepted, blocked), outcome.History{Repeated: []bool{false, false}},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Accepted, app.Postponed}, delay: 5 * time.Minute}},
		{"one is refused for a policy, again", done(accepted, blocked), outcome.History{Repeated: []bool{false, true}},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Accepted, app.Refused}}},
		{"all are refused for a policy, first", done(blocked), outcome.History{},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Postponed}, schedule: delay, delay: 5 * time.Minute, uncounted: true}},
		{"all are refused for a policy, again", done(blocked), outcome.History{Ruling: outcome.RulingFail},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Refused}}},
		{"all are refused for a policy, as all mail of the sender", done(blocked), outcome.History{Ruling: outcome.RulingSender},
			want{relay: works, sender: trips, pause: outcome.RefusalPause, refused: true, action: settle, outcomes: []app.Outcome{app.Postponed}, schedule: withBreaker, uncounted: true}},
		{"deferred", res(app.ResultDeferred, app.StageMail, reply(451, "4.3.2")), outcome.History{},
			want{relay: works, sender: works, action: settle, rest: app.Postponed}},
		{"one is deferred", done(accepted, greylist), outcome.History{Repeated: []bool{false, false}},
			want{relay: works, sender: works, action: settle, outcomes: []app.Outcome{app.Accepted, app.Postponed}}},
		{"refused, first", refused, outcome.History{},
			want{relay: works, sender: works, action: settle, rest: app.Postponed, schedule: delay, delay: 5 * time.Second, uncounted: true}},
		{"refused, again", refused, outcome.History{Ruling: outcome.RulingFail},
			want{relay: works, sender: works, action: settle, rest: app.Refused}},
		{"refused, as all mail of the sender", refused, outcome.History{Ruling: outcome.RulingSender},
			want{relay: works, sender: trips, pause: outcome.RefusalPause, refused: true, action: settle, rest: app.Postponed, schedule: withBreaker, uncounted: true}},
		{"refused, as the mail of all senders", refused, outcome.History{Ruling: outcome.RulingRelay},
			want{relay: trips, sender: none, pause: outcome.RefusalPause, refused: true, action: settle, rest: app.Postponed, schedule: withBreaker, uncounted: true}},
		{"too large for the relay", res(app.ResultRefused, app.StageMail, app.Reply{Text: "too large"}), outcome.History{},
			want{action: settle, rest: app.Refused}},
		{"no connection", res(app.ResultTrouble, app.StageConnect, app.Reply{Text: "connection refused"}), outcome.History{},
			want{relay: trips, action: handBack}},
		{"wrong password", res(app.ResultTrouble, app.StageAuth, reply(535, "5.7.8")), outcome.History{},
			want{relay: trips, action: handBack}},
		{"connection lost, once", lost, outcome.History{Strikes: 1},
			want{relay: works, action: settle, rest: app.Postponed, schedule: delay, delay: time.Second, uncounted: true}},
		{"connection lost, twice", lost, outcome.History{Strikes: 2, Ruling: outcome.RulingFail},
			want{relay: works, action: settle, rest: app.Postponed, schedule: delay, delay: 2 * time.Second, uncounted: true}},
		{"connection lost, three times", lost, outcome.History{Strikes: outcome.MaxStrikes, Ruling: outcome.RulingFail},
			want{relay: works, action: settle, rest: app.Postponed, schedule: byTable}},
		{"connection lost, as with all mail of the sender", lost, outcome.History{Strikes: 1, Ruling: outcome.RulingSender},
			want{relay: works, sender: trips, refused: true, action: handBack}},
		{"connection lost, as with all mail", lost, outcome.History{Strikes: 1, Ruling: outcome.RulingRelay},
			want{relay: trips, refused: true, action: handBack}},
		{"connection lost after one was answered", res(app.ResultTrouble, app.StageData, app.Reply{Text: "reset"}, noMailbox), outcome.History{},
			want{action: settle, outcomes: []app.Outcome{app.Refused}, rest: app.Postponed, schedule: delay, uncounted: true}},
		{"connection lost after one was refused for a policy", res(app.ResultTrouble, app.StageData, app.Reply{Text: "reset"}, blocked), outcome.History{Ruling: outcome.RulingWait},
			want{relay: works, action: settle, outcomes: []app.Outcome{app.Postponed}, rest: app.Postponed, schedule: delay, delay: 5 * time.Minute, uncounted: true}},
		{"reply to the final dot lost", res(app.ResultDoubt, app.StageDot, app.Reply{Text: "reset"}), outcome.History{},
			want{relay: works, sender: trips, action: doubt}},
		{"reply to the final dot lost, as with all mail", res(app.ResultDoubt, app.StageDot, app.Reply{Text: "reset"}), outcome.History{Ruling: outcome.RulingRelay},
			want{relay: trips, refused: true, action: doubt}},
	} {
		before := slices.Clone(c.res.Recipients)
		d := outcome.Decide(c.res, c.h)
		got := want{relay: d.Relay, sender: d.Sender, pause: d.Pause, refused: d.Refused, action: d.Action, rest: d.Rest,
			schedule: d.Retry.Schedule, delay: d.Retry.Delay, uncounted: d.Retry.Uncounted}
		if d.Action == settle {
			for _, r := range d.Result.Recipients {
				got.outcomes = append(got.outcomes, r.Outcome)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
		if !slices.Equal(c.res.Recipients, before) {
			t.Errorf("%s: the result was changed", c.name)
		}
		if d.Retry.Uncounted && d.Action == settle && d.Retry.Reason == "" {
			t.Errorf("%s: the timeline has no reason", c.name)
		}
	}
}

// TestDecisionShowsJudgedReply: the reply that opened a breaker may be a recipient's.
func TestDecisionShowsJudgedReply(t *testing.T) {
	d := outcome.Decide(app.Result{Kind: app.ResultDone, Stage: app.StageDot, Recipients: to(blocked)}, outcome.History{Ruling: outcome.RulingRelay})
	if d.Shown.Stage != app.StageRcpt || d.Shown.Reply != blocked.Reply {
		t.Errorf("%+v", d.Shown)
	}
}

// TestMissingRecipientIsTriedAgain: a recipient that the relay did not answer is never dropped.
func TestMissingRecipientIsTriedAgain(t *testing.T) {
	d := outcome.Decide(app.Result{Kind: app.ResultDone, Stage: app.StageDot, Recipients: to(accepted)}, outcome.History{Repeated: []bool{false}})
	if open := outcome.Open([]string{"a@x.test", "b@x.test"}, &d.Result); !slices.Equal(open, []string{"b@x.test"}) || !d.Postpones(open) {
		t.Errorf("open %q", open)
	}
}
