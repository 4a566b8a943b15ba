package engine

import (
	"testing"

	"mailer/app"
)

func TestWebhooksHearOfSuppressionsThatAreNewAndThoseThatGo(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	ann, err := w.e.AddSuppression(ctx, w.key, app.SuppressionInput{Email: "Ann@example.net", Origin: app.OriginBounce})
	must(t, err)
	for range 2 { // the second time nothing is new
		_, err = w.e.AddSuppressions(ctx, w.key, app.SuppressionBatch{Emails: []string{"ann@example.net", "bob@example.net", "BOB@example.net", "eve@example.net"}})
		must(t, err)
	}
	added := []string{`suppression.added "ann@example.net" "bounce"`, `suppression.added "bob@example.net" "manual"`, `suppression.added "eve@example.net" "manual"`}
	w.wantHeard(added...)
	data := w.heard(w.key.TeamID)[0].Data
	if data["id"] != ann.ID || data["source_id"] != nil || data["created_at"] != app.FormatTime(ann.CreatedAt) || len(data) != 5 {
		t.Errorf("data %v", data)
	}
	_, err = w.e.RemoveSuppression(ctx, w.key, "eve@example.net")
	must(t, err)
	_, err = w.e.RemoveSuppression(ctx, w.key, "eve@example.net")
	wantCode(t, err, app.CodeNotFound)
	for range 2 {
		_, err = w.e.RemoveSuppressions(ctx, w.key, app.SuppressionRemoval{IDs: []string{ann.ID, app.NewID()}})
		must(t, err)
		_, err = w.e.RemoveSuppressions(ctx, w.key, app.SuppressionRemoval{Emails: []string{"bob@example.net", "nobody@example.net"}})
		must(t, err)
	}
	foreign := w.addTeam("Other", "example.org")
	if heard := w.heard(foreign.TeamID); len(heard) != 0 {
		t.Errorf("another team heard %v", heard)
	}
	w.wantHeard(append(added, `suppression.removed "eve@example.net" "manual"`, `suppression.removed "ann@example.net" "bounce"`,
		`suppression.removed "bob@example.net" "manual"`)...)
}

func TestWebhooksDontHearAnErasedAddressAgain(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	s, err := w.e.AddSuppression(ctx, w.key, app.SuppressionInput{Email: "ann@example.net"})
	must(t, err)
	w.sql("UPDATE suppressions SET email = NULL")
	// It is on no list, so that its id names nothing any more.
	removed, err := w.e.RemoveSuppressions(ctx, w.key, app.SuppressionRemoval{IDs: []string{s.ID}})
	must(t, err)
	if len(removed) != 0 {
		t.Errorf("removed %v", removed)
	}
	id, err := w.e.RemoveSuppression(ctx, w.key, "ann@example.net")
	must(t, err)
	if id != s.ID {
		t.Errorf("removed %s, not %s", id, s.ID)
	}
	w.wantHeard(`suppression.added "ann@example.net" "manual"`, `suppression.removed "[erased]" "manual"`)
}
