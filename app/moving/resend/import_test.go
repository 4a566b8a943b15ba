package resend_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/moving/resend"
	"mailer/app/moving/resend/resendtest"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/sending/broadcasts"
	"mailer/app/testing/testserver"
)

// readSample reads a sample into a new directory.
func readSample(t *testing.T, s *resendtest.Server) *archive.Reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	synctestRun(t, func(t *testing.T) {
		w, err := archive.Create(dir)
		testserver.Must(t, err)
		testserver.Must(t, resend.Read(t.Context(), resend.Options{APIKey: resendtest.FullKey, Transport: s}.WithPages(7, 100), w, "", nil))
		finish(t, w)
	})
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	return r
}

// team returns the server's team.
func team(t *testing.T, w *testserver.Server) *app.Team {
	t.Helper()
	found, err := w.Services.Teams.FindTeam(t.Context(), "")
	testserver.Must(t, err)
	return &found
}

// checkTeam compares a team with the imported account.
func checkTeam(t *testing.T, w *testserver.Server, a *resendtest.Account) {
	t.Helper()
	checkOptOuts(t, w, a)
	for _, c := range a.Contacts {
		got, err := w.Services.Audience.GetContact(t.Context(), w.Key, c.Email)
		if err != nil || got.Unsubscribed != c.Unsubscribed || got.FirstName != *c.FirstName {
			t.Fatalf("%s: %+v %v", c.Email, got, err)
		}
		segments, _, err := w.Services.Audience.ListContactSegments(t.Context(), w.Key, c.Email, app.Page{Limit: 100})
		if err != nil || len(segments) != len(c.Segments) {
			t.Errorf("%s is in %+v, not %q: %v", c.Email, segments, c.Segments, err)
		}
	}
	drafts, _, err := w.Services.Broadcasts.ListBroadcasts(t.Context(), w.Key, app.Page{Limit: 100})
	if err != nil || len(drafts) != len(a.Broadcasts) || slices.ContainsFunc(drafts, func(b broadcasts.BroadcastView) bool { return b.Status != app.DraftBroadcast }) {
		t.Errorf("%+v %v", drafts, err)
	}
}

// checkOptOuts checks that no contact gets mail that it opted out of.
func checkOptOuts(t *testing.T, w *testserver.Server, a *resendtest.Account) {
	t.Helper()
	for _, c := range a.Contacts {
		got, err := w.Services.Audience.GetContact(t.Context(), w.Key, c.Email)
		if err != nil { // not imported yet
			continue
		}
		if got.Unsubscribed != c.Unsubscribed {
			t.Fatalf("%s is unsubscribed: %v", c.Email, got.Unsubscribed)
		}
		if c.Unsubscribed {
			continue // gets no broadcast in any case, and comes before the choices
		}
		topics, _, err := w.Services.Audience.ListContactTopics(t.Context(), w.Key, c.Email, app.Page{Limit: 100})
		testserver.Must(t, err)
		for _, topic := range a.Topics {
			choice := c.Choices[topic.ID]
			if choice == "" {
				choice = topic.Default
			}
			at := slices.IndexFunc(topics, func(ct app.ContactTopic) bool { return ct.Name == topic.Name })
			if at < 0 || choice == "opt_out" && topics[at].Subscription != app.OptOut {
				t.Fatalf("%s says %s of %s: %+v", c.Email, choice, topic.Name, topics)
			}
		}
		for _, s := range a.Suppressions {
			if _, err := w.Services.Suppressions.GetSuppression(t.Context(), w.Key, s.Email); err != nil {
				t.Fatalf("%s is a contact, and %s not suppressed: %v", c.Email, s.Email, err)
			}
		}
	}
}

// TestImportAccount: the plan is what is done, a second run does nothing, and no opt-out is lost.
func TestImportAccount(t *testing.T) {
	testserver.BothEngines(t)
	s := &resendtest.Server{Account: resendtest.Sample(45)}
	r := readSample(t, s)
	w := testserver.New(t)
	run := func(o transfer.Options) (*transfer.Report, string) {
		t.Helper()
		report, err := w.Services.Transfer.Import(t.Context(), team(t, w), r, o)
		testserver.Must(t, err)
		report.Applied = false
		for i := range report.Domains { // their keys are made by --apply
			report.Domains[i].Records, report.Domains[i].Status = nil, ""
		}
		text, err := json.MarshalIndent(report, "", " ")
		testserver.Must(t, err)
		return report, string(text)
	}
	_, plan := run(transfer.Options{})
	report, applied := run(transfer.Options{Apply: true})
	if plan != applied {
		t.Errorf("planned %s\ndone %s", plan, applied)
	}
	if report.Contacts.New != 45 || report.Contacts.Existing != 0 || report.Contacts.Refused != 0 || report.OptedOut != 9 || report.Suppressions.Bounce != 1 || report.Suppressions.Complaint != 1 || report.Suppressions.Manual != 1 ||
		len(report.Templates) != 5 || len(report.Domains) != 2 || len(report.Webhooks) != 2 || len(report.Segments) != 4 {
		t.Errorf("%s", applied)
	}
	checkTeam(t, w, &s.Account)
	before := w.AudienceRows()
	if again, text := run(transfer.Options{Apply: true}); again.Contacts.New != 0 || again.OptedOut != 0 || again.TopicChoices != 0 || w.AudienceRows() != before {
		t.Errorf("a second run: %s", text)
	}
}

// TestInterruptedImportKeepsOptOuts interrupts the import at each report of progress and
// continues.
func TestInterruptedImportKeepsOptOuts(t *testing.T) {
	s := &resendtest.Server{Account: resendtest.Sample(45)}
	r := readSample(t, s)
	for _, at := range []struct {
		kind archive.Kind
		n    int
	}{{archive.Segments, 1}, {archive.Contacts, 1}, {archive.Choices, 1}, {archive.Suppressions, 1}, {archive.Contacts, 2}} {
		w := testserver.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		reports := 0
		_, err := w.Services.Transfer.Import(ctx, team(t, w), r, transfer.Options{Apply: true, Progress: func(kind archive.Kind, _ int) {
			if kind != at.kind {
				return
			}
			if reports++; reports == at.n {
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) && (err == nil || !strings.Contains(err.Error(), "interrupted")) {
			t.Fatalf("%v: %v", at, err)
		}
		checkOptOuts(t, w, &s.Account)
		_, err = w.Services.Transfer.Import(t.Context(), team(t, w), r, transfer.Options{Apply: true})
		testserver.Must(t, err)
		checkTeam(t, w, &s.Account)
	}
}
