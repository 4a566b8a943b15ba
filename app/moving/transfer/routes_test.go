package transfer_test

import (
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// importedWith imports a directory with options.
func importedWith(t *testing.T, w *testserver.Server, dir string, o transfer.Options) *transfer.Report {
	t.Helper()
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	team, err := w.Services.Teams.FindTeam(t.Context(), w.Key.TeamID)
	testserver.Must(t, err)
	report, err := w.Services.Transfer.Import(t.Context(), &team, r, o)
	testserver.Must(t, err)
	return report
}

// destinations returns the addresses to which a team forwards with their statuses.
func destinations(w *testserver.Server) (out []string) {
	w.T.Helper()
	all, err := db.Get(w.T.Context(), w.DB, func(r *db.Reader) ([]app.ForwardAddress, error) { return r.ForwardAddresses(w.Key.TeamID, 10) })
	testserver.Must(w.T, err)
	for _, d := range all {
		out = append(out, d.Address+" "+string(d.Status()))
	}
	return out
}

// TestMovedDestinations agree again unless the operator trusts the directory, and stay stopped in any case. Named sources
// and reply addresses move with the domain.
func TestMovedDestinations(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			d := app.ForwardAddress{ID: app.NewID(), TeamID: w.Key.TeamID, Address: "no@mine.example", AskedAt: tx.Now, AgreedAt: tx.Now, StoppedAt: tx.Now, CreatedAt: tx.Now}
			return tx.PutForwardAddress(&d)
		}))
		w.SQL(`UPDATE domains SET report_sources = '{"own":["203.0.113.0/24"]}', receiving = 1 WHERE team_id = ?`, w.Key.TeamID)
		w.SQL(`UPDATE teams SET reply_addresses = 1 WHERE id = ?`, w.Key.TeamID)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		for trust, want := range map[bool]string{false: "waiting", true: "agreed"} {
			to := testserver.New(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
			to.SQL(`DELETE FROM domains`)
			plan := importedWith(t, to, dir, transfer.Options{Trust: trust})
			if got := destinations(to); len(got) > 0 || len(plan.Routes) != 1 || !plan.Routes[0].New {
				t.Errorf("a plan wrote %q, routes %+v", got, plan.Routes)
			}
			report := importedWith(t, to, dir, transfer.Options{Trust: trust, Apply: true})
			if got := destinations(to); !slices.Equal(got, []string{"fwd@mine.example " + want, "no@mine.example stopped"}) {
				t.Errorf("trust %t: %q", trust, got)
			}
			named := slices.ContainsFunc(report.Cannot, func(u archive.Unmovable) bool {
				return u.Item == "destination fwd@mine.example" && strings.Contains(u.Reason, "agree again")
			})
			if named == trust {
				t.Errorf("trust %t: %+v", trust, report.Cannot)
			}
			routes, err := db.Get(t.Context(), to.DB, func(r *db.Reader) ([]app.MailRoute, error) { return r.MailRoutes(to.Key.TeamID) })
			testserver.Must(t, err)
			if len(routes) != 1 || routes[0].Match != "*@mine.example" || len(routes[0].Actions) != 2 || routes[0].Position != 1 {
				t.Errorf("routes %+v", routes)
			}
			if again := importedWith(t, to, dir, transfer.Options{Trust: trust, Apply: true}); len(again.Routes) != 1 || again.Routes[0].New || to.Count("mail_routes") != "1" || len(destinations(to)) != 2 {
				t.Errorf("again: %+v", again.Routes)
			}
			if got := to.SQL(`SELECT report_sources FROM domains`); len(got) != 1 || !strings.Contains(got[0], "203.0.113.0/24") {
				t.Errorf("named sources %q", got)
			}
			if got := to.SQL(`SELECT CAST(reply_addresses AS text) FROM teams WHERE id = ?`, to.Key.TeamID); !slices.Equal(got, []string{"1"}) {
				t.Errorf("reply addresses %q", got)
			}
		}
	})
}
