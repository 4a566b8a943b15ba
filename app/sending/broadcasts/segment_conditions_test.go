package broadcasts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// contactsMatching returns the contacts that match a condition, and checks that the page of each
// contact agrees.
func contactsMatching(w *testserver.Server, field, op, value string) string {
	w.T.Helper()
	found, err := w.Services.Previews.PreviewSegment(w.T.Context(), w.Key, testserver.FilterOn(field, op, value), "")
	testserver.Must(w.T, err)
	s := w.AddSegment(testserver.FilterOn(field, op, value))
	var names []string
	for i := range found.Sample {
		c := &found.Sample[i]
		names = append(names, strings.TrimSuffix(c.Email, "@example.net"))
		of, _, err := w.Services.Audience.ListContactSegments(w.T.Context(), w.Key, c.ID, app.Page{Limit: 100})
		testserver.Must(w.T, err)
		if !slices.ContainsFunc(of, func(o app.Segment) bool { return o.ID == s.ID }) {
			w.T.Errorf("%s %s %s picks %s, whose page does not say so", field, op, value, c.Email)
		}
	}
	if found.Count != len(names) {
		w.T.Errorf("%s %s %s counts %d and shows %d", field, op, value, found.Count, len(names))
	}
	testserver.Must(w.T, w.Services.Audience.DeleteSegment(w.T.Context(), w.Key, s.ID))
	slices.Sort(names)
	return strings.Join(names, " ")
}

// sendTracked sends an email with a link.
func sendTracked(w *testserver.Server, to string) string {
	w.T.Helper()
	in := testserver.Message(to)
	in.HTML = testserver.Links(2)
	id, err := w.Services.Mail.SendEmail(w.T.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	return id
}

func TestSegmentsByActivity(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		w.AddSubscribers(5)
		want := func(field, op, value, want string) {
			t.Helper()
			if got := contactsMatching(w, field, op, value); got != want {
				t.Errorf("%s %s %s picks %q, want %q", field, op, value, got, want)
			}
		}
		want(app.FieldReceived, app.OpIsTrue, "", "")
		want(app.FieldOpened, app.OpNotWithinDays, "1", "") // they received no mail
		unsubscribed := true
		_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, "p4@example.net", app.ContactPatch{Unsubscribed: &unsubscribed})
		testserver.Must(t, err)

		email := sendTracked(w, "p4@example.net") // an email; the others get a broadcast
		b := w.SendNewsletter(testserver.Links(2), nil)
		testserver.SleepAndSettle(time.Minute)
		w.LoadPixel(w.EmailIDTo(b, "p0@example.net"), testserver.Chrome)
		w.Click(w.EmailIDTo(b, "p1@example.net"), 0, 2, testserver.Chrome)
		w.LoadPixel(w.EmailIDTo(b, "p2@example.net"), testserver.ImageProxy)
		w.LoadPixel(email, testserver.Chrome)
		testserver.SleepAndSettle(time.Minute)
		want(app.FieldReceived, app.OpIsTrue, "", "p0 p1 p2 p3 p4")
		want(app.FieldReceived, app.OpInBroadcast, b.ID, "p0 p1 p2 p3")
		want(app.FieldReceived, app.OpNotInBroadcast, b.ID, "p4")
		want(app.FieldOpened, app.OpIsTrue, "", "p0 p1 p4") // no prefetch
		want(app.FieldOpened, app.OpInBroadcast, b.ID, "p0 p1")
		want(app.FieldOpened, app.OpNotInBroadcast, b.ID, "p2 p3")
		want(app.FieldClicked, app.OpIsTrue, "", "p1")
		want(app.FieldClicked, app.OpNotInBroadcast, b.ID, "p0 p2 p3")
		want(app.FieldOpened, app.OpNotWithinDays, "2", "") // they became contacts minutes ago

		w.StopFor(3 * 24 * time.Hour)
		w.LoadPixel(w.EmailIDTo(b, "p3@example.net"), testserver.Chrome)
		testserver.SleepAndSettle(time.Minute)
		want(app.FieldOpened, app.OpNotWithinDays, "2", "p0 p1 p2 p4")
		want(app.FieldOpened, app.OpWithinDays, "2", "p3")
		want(app.FieldReceived, app.OpWithinDays, "4", "p0 p1 p2 p3 p4")
		want(app.FieldReceived, app.OpNotWithinDays, "2", "p0 p1 p2 p3 p4")

		topic := w.AddTopic("News", app.OptOut, app.PublicTopic)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.SetChoice(topic.ID, w.AddressHash("p2@example.net"), app.OptIn)
			return err
		}))
		want(app.FieldTopic, app.OpSubscribed, topic.ID, "p2")
		want(app.FieldTopic, app.OpNotSubscribed, topic.ID, "p0 p1 p3 p4")
	})
}

// An id of another team is refused like an unknown one.
func TestConditionsNameTeamsObjects(t *testing.T) {
	w := testserver.New(t)
	b, topic := w.AddDraft(), w.AddTopic("News", app.OptIn, app.PublicTopic)
	other := w.AddTeam("Other", "example.org")
	for _, f := range []*app.Filter{testserver.FilterOn(app.FieldOpened, app.OpInBroadcast, b.ID), testserver.FilterOn(app.FieldTopic, app.OpSubscribed, topic.ID)} {
		_, err := w.Services.Audience.CreateSegment(t.Context(), w.Key, app.SegmentInput{Name: "x", Filter: f})
		testserver.Must(t, err)
		_, err = w.Services.Audience.CreateSegment(t.Context(), other, app.SegmentInput{Name: "x", Filter: f})
		testserver.WantCode(t, err, app.CodeValidation)
		_, err = w.Services.Previews.PreviewSegment(t.Context(), other, f, "")
		testserver.WantCode(t, err, app.CodeValidation)
	}
}
