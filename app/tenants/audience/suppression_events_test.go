package audience_test

import (
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestSuppressionEvents(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	ann, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "Ann@example.net", Origin: app.OriginBounce})
	testserver.Must(t, err)
	for range 2 { // the second call changes nothing
		_, err = w.Services.Suppressions.AddSuppressions(ctx, w.Key, app.SuppressionBatch{Emails: []string{"ann@example.net", "bob@example.net", "BOB@example.net", "eve@example.net"}})
		testserver.Must(t, err)
	}
	added := []string{`suppression.added "ann@example.net" "bounce"`, `suppression.added "bob@example.net" "manual"`, `suppression.added "eve@example.net" "manual"`}
	wantEvents(w, added...)
	data := w.TeamWebhookEvents(w.Key.TeamID)[0].Data
	if data["id"] != ann.ID || data["source_id"] != nil || data["created_at"] != app.FormatTime(ann.CreatedAt) || len(data) != 5 {
		t.Errorf("data %v", data)
	}
	_, err = w.Services.Suppressions.RemoveSuppression(ctx, w.Key, "eve@example.net")
	testserver.Must(t, err)
	_, err = w.Services.Suppressions.RemoveSuppression(ctx, w.Key, "eve@example.net")
	testserver.WantCode(t, err, app.CodeNotFound)
	for range 2 {
		_, err = w.Services.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{IDs: []string{ann.ID, app.NewID()}})
		testserver.Must(t, err)
		_, err = w.Services.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{Emails: []string{"bob@example.net", "nobody@example.net"}})
		testserver.Must(t, err)
	}
	otherTeam := w.AddTeam("Other", "example.org")
	if events := w.TeamWebhookEvents(otherTeam.TeamID); len(events) != 0 {
		t.Errorf("another team heard %v", events)
	}
	wantEvents(w, append(added, `suppression.removed "eve@example.net" "manual"`, `suppression.removed "ann@example.net" "bounce"`,
		`suppression.removed "bob@example.net" "manual"`)...)
}

func TestErasedAddressIsNotInEvents(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	s, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "ann@example.net"})
	testserver.Must(t, err)
	w.SQL("UPDATE suppressions SET email = NULL")
	// The erased suppression is not listed, so its id is unknown.
	removed, err := w.Services.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{IDs: []string{s.ID}})
	testserver.Must(t, err)
	if len(removed) != 0 {
		t.Errorf("removed %v", removed)
	}
	id, err := w.Services.Suppressions.RemoveSuppression(ctx, w.Key, "ann@example.net")
	testserver.Must(t, err)
	if id != s.ID {
		t.Errorf("removed %s, not %s", id, s.ID)
	}
	wantEvents(w, `suppression.added "ann@example.net" "manual"`, `suppression.removed "[erased]" "manual"`)
}
