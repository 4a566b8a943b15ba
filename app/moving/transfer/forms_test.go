package transfer_test

import (
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/testing/testserver"
)

// Opt-ins that moved are not mailed again, an address that refused gets no confirmation, and a second
// import adds nothing.
func TestMovedOptInsAreNotMailed(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		w.SQL(`UPDATE opt_ins SET mail = 'due' WHERE status = 'pending'`)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		to, report := moved(t, dir)
		if report.OptIns != (transfer.ItemCounts{New: 2}) || report.Consents != (transfer.ItemCounts{New: 1}) || len(report.Forms) != 1 || !report.Forms[0].New || len(report.Refused) != 0 {
			t.Errorf("moved %+v %+v %+v %v", report.OptIns, report.Consents, report.Forms, report.Refused)
		}
		testserver.SleepAndSettle(time.Hour)
		if got := to.SQL(`SELECT mail FROM opt_ins`); !slices.Equal(got, []string{"none", "none"}) {
			t.Errorf("the confirmations are %q", got)
		}
		if got := to.SQL(`SELECT id FROM emails`); len(got) != 0 {
			t.Errorf("%d mails were made", len(got))
		}
		to.AddDomain(to.Key.TeamID, "ours.example", app.DefaultRegion, app.DomainVerified)
		_, err := to.Services.SignUp.StartOptIn(t.Context(), to.Key, app.SignUpInput{Email: "refused@mine.example"})
		if app.CodeOf(err) != app.CodeConflict {
			t.Errorf("an address that refused: %v", err)
		}
		again := imported(t, to, dir, true)
		if again.OptIns != (transfer.ItemCounts{Existing: 2}) || again.Consents != (transfer.ItemCounts{Existing: 1}) || again.Forms[0].New {
			t.Errorf("again: %+v %+v %+v", again.OptIns, again.Consents, again.Forms)
		}
	})
}

// A plan has the numbers of the import. A team that has the ids of forms, opt-ins and consents elsewhere
// gets new ones, and a second import finds them.
func TestSignUpsMoveIntoASecondTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		old := w.SQL(`SELECT id FROM forms WHERE team_id = ?`, w.Key.TeamID)
		w.Key = w.AddTeam("second", "second.example")
		plan := imported(t, w, dir, false)
		made := imported(t, w, dir, true)
		again := imported(t, w, dir, true)
		if plan.OptIns != made.OptIns || plan.Consents != made.Consents || len(plan.Forms) != len(made.Forms) || made.OptIns.New != 2 || made.Consents.New != 1 {
			t.Errorf("planned %+v %+v, made %+v %+v", plan.OptIns, plan.Consents, made.OptIns, made.Consents)
		}
		if again.OptIns.New+again.Consents.New != 0 || again.Forms[0].New {
			t.Errorf("again: %+v %+v %+v", again.OptIns, again.Consents, again.Forms)
		}
		forms, _, err := w.Services.SignUp.ListForms(t.Context(), w.Key, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(forms) != 1 || forms[0].ID == old[0] || forms[0].Version != 2 || forms[0].Requested != 3 {
			t.Fatalf("forms %+v, was %s", forms, old)
		}
		f := forms[0]
		for _, id := range []string{f.Topics[0].ID, f.Segments[0], f.ConfirmationTemplate} {
			if owner := w.SQL(`SELECT team_id FROM topics WHERE id = ? UNION SELECT team_id FROM segments WHERE id = ? UNION SELECT team_id FROM templates WHERE id = ?`, id, id, id); !slices.Equal(owner, []string{w.Key.TeamID}) {
				t.Errorf("%s belongs to %q", id, owner)
			}
		}
		if got := w.SQL(`SELECT DISTINCT form_id FROM opt_ins WHERE team_id = ? UNION SELECT form_id FROM consents WHERE team_id = ?`, w.Key.TeamID, w.Key.TeamID); !slices.Equal(got, []string{f.ID}) {
			t.Errorf("opt-ins and consents name the forms %q, not %s", got, f.ID)
		}
	})
}
