package audience_test

import (
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestWebhooksHearOfSuppressionsThatAreNewAndThoseThatGo(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.Idle(t)
	ctx := t.Context()
	ann, err := w.Server.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "Ann@example.net", Origin: app.OriginBounce})
	testserver.Must(t, err)
	for range 2 { // the second time nothing is new
		_, err = w.Server.Suppressions.AddSuppressions(ctx, w.Key, app.SuppressionBatch{Emails: []string{"ann@example.net", "bob@example.net", "BOB@example.net", "eve@example.net"}})
		testserver.Must(t, err)
	}
	added := []string{`suppression.added "ann@example.net" "bounce"`, `suppression.added "bob@example.net" "manual"`, `suppression.added "eve@example.net" "manual"`}
	wantHeard(w, added...)
	data := w.Heard(w.Key.TeamID)[0].Data
	if data["id"] != ann.ID || data["source_id"] != nil || data["created_at"] != app.FormatTime(ann.CreatedAt) || len(data) != 5 {
		t.Errorf("data %v", data)
	}
	_, err = w.Server.Suppressions.RemoveSuppression(ctx, w.Key, "eve@example.net")
	testserver.Must(t, err)
	_, err = w.Server.Suppressions.RemoveSuppression(ctx, w.Key, "eve@example.net")
	testserver.WantCode(t, err, app.CodeNotFound)
	for range 2 {
		_, err = w.Server.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{IDs: []string{ann.ID, app.NewID()}})
		testserver.Must(t, err)
		_, err = w.Server.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{Emails: []string{"bob@example.net", "nobody@example.net"}})
		testserver.Must(t, err)
	}
	foreign := w.AddTeam("Other", "example.org")
	if heard := w.Heard(foreign.TeamID); len(heard) != 0 {
		t.Errorf("another team heard %v", heard)
	}
	wantHeard(w, append(added, `suppression.removed "eve@example.net" "manual"`, `suppression.removed "ann@example.net" "bounce"`,
		`suppression.removed "bob@example.net" "manual"`)...)
}

func TestWebhooksDontHearAnErasedAddressAgain(t *testing.T) {
	w := testserver.Idle(t)
	ctx := t.Context()
	s, err := w.Server.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "ann@example.net"})
	testserver.Must(t, err)
	w.Sql("UPDATE suppressions SET email = NULL")
	// It is on no list, so that its id names nothing any more.
	removed, err := w.Server.Suppressions.RemoveSuppressions(ctx, w.Key, app.SuppressionRemoval{IDs: []string{s.ID}})
	testserver.Must(t, err)
	if len(removed) != 0 {
		t.Errorf("removed %v", removed)
	}
	id, err := w.Server.Suppressions.RemoveSuppression(ctx, w.Key, "ann@example.net")
	testserver.Must(t, err)
	if id != s.ID {
		t.Errorf("removed %s, not %s", id, s.ID)
	}
	wantHeard(w, `suppression.added "ann@example.net" "manual"`, `suppression.removed "[erased]" "manual"`)
}
