package audience_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// randomChange makes a random change that may affect a counter to one of few contacts. A refused
// change changes nothing.
func randomChange(w *testserver.Server, r *rand.Rand, segmentID string) {
	ctx, s := w.T.Context(), w.Services
	contact := func() string { return fmt.Sprintf("p%d@example.net", r.IntN(30)) }
	switch r.IntN(10) {
	case 0:
		_, _, _ = s.Audience.PutContact(ctx, w.Key, app.ContactInput{Email: contact(), Segments: []app.SegmentRef{{ID: segmentID}}}, app.ConflictUpsert)
	case 1:
		items := []audience.ContactItem{{Input: &app.ContactInput{Email: contact()}}, {Input: &app.ContactInput{Email: contact(), Unsubscribed: true}}}
		_, _ = s.Audience.PutContacts(ctx, w.Key, items, app.ConflictUpsert, true)
	case 2:
		_, _ = s.Audience.DeleteContact(ctx, w.Key, contact(), r.IntN(2) == 0)
	case 3:
		_, _ = s.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: contact(), Origin: app.OriginManual})
	case 4:
		_, _ = s.Suppressions.AddSuppressions(ctx, w.Key, app.SuppressionBatch{Emails: []string{contact(), contact(), contact()}, Origin: app.OriginBounce})
	case 5:
		_, _ = s.Suppressions.RemoveSuppression(ctx, w.Key, contact())
	case 6:
		_, _ = s.Audience.AddToSegment(ctx, w.Key, contact(), segmentID)
	case 7:
		_, _ = s.Audience.RemoveFromSegment(ctx, w.Key, contact(), segmentID)
	case 8:
		_ = s.DB.Write(ctx, func(tx *db.Tx) error {
			email := contact()
			_, err := tx.InsertOptOut(&app.Suppression{ID: app.NewID(), TeamID: w.Key.TeamID, Email: email, Hash: w.AddressHash(email), CreatedAt: tx.Now})
			if err == nil && r.IntN(2) == 0 {
				err = fmt.Errorf("rolled back")
			}
			return err
		})
	case 9:
		unsubscribed := r.IntN(2) == 0
		_, _ = s.Audience.UpdateContact(ctx, w.Key, contact(), app.ContactPatch{Email: contact(), Unsubscribed: &unsubscribed})
	}
}

// Counters are correct after many concurrent changes.
func TestTotalsMatchCounts(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	segment := w.AddSegment(nil)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 38))
			for range 150 {
				randomChange(w, r, segment.ID)
			}
		})
	}
	all.Wait()
	_, _, err := w.Services.Audience.PutContact(t.Context(), w.Key, app.ContactInput{Email: "gone@example.net", Segments: []app.SegmentRef{{ID: segment.ID}}}, app.ConflictError)
	testserver.Must(t, err)
	_, err = w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "gone@example.net", Origin: app.OriginManual})
	testserver.Must(t, err)
	_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, "gone@example.net", true)
	testserver.Must(t, err)
	wantTotals(w, segment.ID)
	if n := w.SQL(`SELECT count(*) FROM suppressions WHERE email IS NULL`)[0]; n == "0" {
		t.Error("no suppression was erased")
	}
}

// wantTotals compares the counters of lists with the number of rows.
func wantTotals(w *testserver.Server, segmentID string) {
	w.T.Helper()
	contacts, err := w.Services.Audience.CountContacts(w.T.Context(), w.Key, "")
	testserver.Must(w.T, err)
	members, err := w.Services.Audience.CountContacts(w.T.Context(), w.Key, segmentID)
	testserver.Must(w.T, err)
	suppressions, err := w.Services.Suppressions.CountSuppressions(w.T.Context(), w.Key)
	testserver.Must(w.T, err)
	for what, pair := range map[string][2]string{
		"contacts":     {fmt.Sprint(*contacts), w.Count("contacts")},
		"members":      {fmt.Sprint(*members), w.Count("members")},
		"suppressions": {fmt.Sprint(suppressions), w.SQL(`SELECT count(*) FROM suppressions WHERE email IS NOT NULL`)[0]},
	} {
		if pair[0] != pair[1] || pair[1] == "0" {
			w.T.Errorf("%s %s by the counter, and %s are there", pair[0], what, pair[1])
		}
	}
}

func TestTotalsCountImports(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		w.Start()
		segment := w.AddSegment(nil)
		for range 2 {
			id := upload(w, contactfile.Input{OnConflict: "upsert", Segments: []app.SegmentRef{{ID: segment.ID}}},
				"email,unsubscribed,state\na@example.net,false,\nb@example.net,true,\nc@example.net,false,bounced\na@example.net,false,\n")
			testserver.SleepAndSettle(0)
			if i, _ := w.GetImport(id); i.Status != contactfile.Completed {
				t.Fatalf("%+v", i)
			}
		}
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "d@example.net", Origin: app.OriginManual})
		testserver.Must(t, err)
		wantTotals(w, segment.ID)
	})
}
