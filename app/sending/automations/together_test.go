package automations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/automations"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestRunThatFailsDoesNotHoldOthers lets one of many runs that are moved together fail in the database. It alone is
// tried again later.
func TestRunThatFailsDoesNotHoldOthers(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w, _ := newMidRun(t, app.StepContactUpdate, `{"first_name":"Bob"}`)
		contacts := make([]*app.Contact, 20)
		for i := range contacts {
			contacts[i] = w.AddContact(testserver.SubscriberAddress(i), false)
			testserver.Must(t, w.Services.Automations.Send(t.Context(), w.Key, automations.Sent{Event: "go", ContactID: contacts[i].ID}))
		}
		testserver.Sleep(time.Minute)
		broken := contacts[7]
		w.SQL(fmt.Sprintf("CREATE TRIGGER broken BEFORE UPDATE ON automation_runs WHEN NEW.contact_id = '%s' AND NEW.step_key <> OLD.step_key BEGIN SELECT RAISE(ABORT, 'broken'); END", broken.ID))
		want := func(when string, fixed bool) {
			t.Helper()
			for _, c := range contacts {
				now, err := w.Services.Audience.GetContact(t.Context(), w.Key, c.ID)
				testserver.Must(t, err)
				if changed := now.FirstName == "Bob"; changed != (fixed || c != broken) {
					t.Errorf("%s: the contact %s is changed: %t", when, c.Email, changed)
				}
			}
		}
		testserver.Sleep(time.Hour)
		want("after the pause", false)
		w.SQL("DROP TRIGGER broken")
		testserver.Sleep(3 * time.Minute)
		want("before it is tried again", false)
		testserver.Sleep(3 * time.Minute)
		want("after it is tried again", true)
	})
}

// TestMailAfterPauseWaitsWhileSendingIsPaused pauses a team while the pauses of its runs end. Their mails wait with the
// reason, and leave once each when the team may send again.
func TestMailAfterPauseWaitsWhileSendingIsPaused(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := newViewed(t)
		contact := w.AddContact("ann@example.org", false)
		w.event("signed_up", contact.ID, `{"plan":"free"}`)
		testserver.Sleep(time.Minute)
		command := w.CommandServices()
		_, err := command.Teams.SuspendTeam(t.Context(), w.Key.TeamID, "unpaid")
		testserver.Must(t, err)
		testserver.Sleep(2 * time.Hour)
		if got, want := w.path(contact.ID), "start completed, pause completed, mail running"; got != want {
			t.Errorf("while the team is paused: %s", got)
		}
		if got := w.explain("ann@example.org", "mail"); !strings.HasPrefix(got, `The mail of step "mail" of Welcome for ann@example.org waits: `) || !strings.Contains(got, "unpaid") {
			t.Errorf("the explanation is %s", got)
		}
		w.Read(func(r *db.Reader) error {
			counts, err := r.AutomationCounts(w.id)
			if counts["pause"][db.CountWaiting] != 0 || counts["mail"][db.CountWaiting] != 1 || counts["mail"][db.CountDone] != 0 {
				t.Errorf("the numbers are %v", counts)
			}
			return err
		})
		_, err = command.Teams.ResumeTeam(t.Context(), w.Key.TeamID)
		testserver.Must(t, err)
		testserver.Sleep(2 * time.Minute)
		if got, want := w.path(contact.ID), "start completed, pause completed, mail completed, plan completed, wait waiting"; got != want {
			t.Errorf("afterwards: %s", got)
		}
	})
}
