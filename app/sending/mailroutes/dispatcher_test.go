package mailroutes_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// TestTeamsTakeTurns: a team with much received mail does not delay that of another.
func TestTeamsTakeTurns(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		keys, addresses := []*app.Key{f.Key, f.second}, []string{"in@example.com", "in@two.test"}
		if f.Key.TeamID > f.second.TeamID { // the team whose turn comes first has much mail
			slices.Reverse(keys)
			slices.Reverse(addresses)
		}
		for i, match := range addresses {
			_, err := f.service.Create(t.Context(), keys[i], app.MailRouteInput{Match: match, Actions: []app.RouteAction{to(fmt.Sprintf("ann%d@example.org", i))}})
			testserver.Must(t, err)
			f.agree(fmt.Sprintf("ann%d@example.org", i))
		}
		f.Services.StopClaiming()
		for range 70 {
			f.deliver(f.message(""), addresses[0])
		}
		f.deliver(f.message(""), addresses[1])
		for _, suspended := range []any{1, nil} {
			f.SQL("UPDATE teams SET suspended_at = ?", suspended)
			testserver.Must(t, f.service.Round(t.Context()))
			if got := f.Count("emails"); suspended != nil && got != "2" {
				t.Errorf("%s emails while the teams are suspended", got)
			}
		}
		before, of := 0, f.SQL("SELECT team_id FROM emails WHERE forward_id IS NOT NULL ORDER BY id")
		for before < len(of) && of[before] == keys[0].TeamID {
			before++
		}
		if len(of) != 71 || before != 20 {
			t.Errorf("%d emails, that of the second team after %d", len(of), before)
		}
	})
}

// TestWorkThatFailsIsTriedAgainLater: after a minute, while other work is done.
func TestWorkThatFailsIsTriedAgainLater(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		f.route("in@example.com", to("ann@example.org"))
		f.agree("ann@example.org")
		f.Services.StopClaiming()
		f.deliver(f.message(""), "in@example.com")
		f.SQL("UPDATE received_emails SET files = 'x'")
		f.deliver(f.message(""), "in@example.com")
		round := func(fails bool, forwarded string) {
			t.Helper()
			err := f.service.Round(t.Context())
			if got := f.SQL("SELECT count(*) FROM emails WHERE forward_id IS NOT NULL")[0]; got != forwarded || (err != nil) != fails {
				t.Errorf("%s forwarded, %v", got, err)
			}
		}
		round(true, "1")
		round(false, "1")
		testserver.Sleep(time.Minute)
		round(true, "1")
		testserver.Sleep(time.Minute)
		f.SQL("UPDATE received_emails SET files = NULL")
		round(false, "2")
	})
}
