package sdktest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// suppression is any object of the suppression routes.
type suppression struct {
	Object    string  `json:"object"`
	ID        string  `json:"id"`
	Email     string  `json:"email"`
	Origin    string  `json:"origin"`
	SourceID  *string `json:"source_id"`
	CreatedAt string  `json:"created_at"`
	Deleted   bool    `json:"deleted"`
}

type suppressionList struct {
	Object  string        `json:"object"`
	HasMore bool          `json:"has_more"`
	Data    []suppression `json:"data"`
}

func (l suppressionList) emails() []string {
	var out []string
	for _, s := range l.Data {
		out = append(out, s.Email)
	}
	return out
}

// suppressionsResult is the output of suppressions.mjs.
type suppressionsResult struct {
	Added, Again, ByEmail, ByID, Removed suppression
	Batch, First, Rest, Manual, Bounce   suppressionList
	RemovedByEmail, RemovedByID, Left    suppressionList
	Errors                               map[string]apiError
	Emails                               struct{ Sent, After email }
}

func TestNodeClientSuppressions(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientSuppressions)
}

func nodeClientSuppressions(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got suppressionsResult
	runNode(t, w.in.url, w.key, "suppressions.mjs", map[string]string{"FROM": "a@example.test"}).into(t, &got)

	id := got.Added.ID
	if id == "" || got.Added.Object != "suppression" || got.Again.ID != id || got.ByEmail != got.ByID ||
		got.ByID.ID != id || got.ByID.Email != "gone+1@example.com" || got.ByID.Origin != "manual" || got.ByID.CreatedAt == "" {
		t.Errorf("added %+v, again %+v, by address %+v, by id %+v", got.Added, got.Again, got.ByEmail, got.ByID)
	}
	rows := got.Batch.Data
	if len(rows) != 4 || rows[1].ID != id || rows[3].ID != rows[0].ID || rows[2].ID == rows[0].ID || rows[0].Object != "suppression" {
		t.Fatalf("batch.add: %+v", rows)
	}
	if !slices.Equal(got.First.emails(), []string{"c@example.com", "b@example.com"}) || !got.First.HasMore || got.First.Object != "list" ||
		!slices.Equal(got.Rest.emails(), []string{"gone+1@example.com"}) || got.Rest.HasMore || len(got.Manual.Data) != 3 || len(got.Bounce.Data) != 0 {
		t.Errorf("lists: %+v, %+v, %+v, %+v", got.First, got.Rest, got.Manual, got.Bounce)
	}
	if got.Removed.ID != id || !got.Removed.Deleted || len(got.RemovedByEmail.Data) != 1 || got.RemovedByEmail.Data[0].ID != rows[0].ID ||
		len(got.RemovedByID.Data) != 1 || !got.RemovedByID.Data[0].Deleted || len(got.Left.Data) != 0 {
		t.Errorf("removed %+v, %+v, %+v; left %+v", got.Removed, got.RemovedByEmail, got.RemovedByID, got.Left)
	}
	for name, want := range map[string]apiError{
		"refused":   {StatusCode: 422, Name: "all_recipients_suppressed", Message: "All recipients are suppressed"},
		"both":      {StatusCode: 422, Name: "validation_error"},
		"badOrigin": {StatusCode: 422, Name: "validation_error"},
		"badEmail":  {StatusCode: 422, Name: "validation_error"},
		"missing":   {StatusCode: 404, Name: "not_found"},
	} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || e.Name != want.Name || !strings.HasPrefix(e.Message, want.Message) {
			t.Errorf("%s: got %+v, want %+v", name, e, want)
		}
	}
	if s, a := got.Emails.Sent, got.Emails.After; s.LastEvent != "suppressed" || a.LastEvent != "sent" {
		t.Errorf("last_event %s and %s", s.LastEvent, a.LastEvent)
	}
	w.checkEnvelopes(t, "fine@example.com", "gone+1@example.com fine@example.com")
}

// checkEnvelopes waits for as many messages as there are envelopes and compares
// them, in any order.
func (w *fixture) checkEnvelopes(t *testing.T, want ...string) {
	t.Helper()
	w.sink.wait(t, len(want), time.Minute, func(*message) bool { return true })
	var got []string
	for _, m := range w.sink.messages() {
		got = append(got, strings.Join(m.To, " "))
	}
	if !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("envelopes %q, want %q", got, want)
	}
}

func TestGoV3ClientSuppressions(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientSuppressions)
}

func goV3ClientSuppressions(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	added, err := c.Suppressions.Add(&resendv3.AddSuppressionRequest{Email: "Gone+1@Example.com"})
	must(t, err)
	batch, err := c.Suppressions.Batch.Add(&resendv3.BatchAddSuppressionsRequest{Emails: []string{"b@example.com", "gone+1@example.com"}})
	must(t, err)
	if len(batch.Data) != 2 || batch.Data[1].Id != added.Id || batch.Data[0].Object != "suppression" {
		t.Fatalf("batch %+v", batch)
	}
	for _, x := range []string{added.Id, "gone+1@example.com"} {
		got, err := c.Suppressions.Get(x)
		must(t, err)
		if got.Id != added.Id || got.Email != "gone+1@example.com" || got.Origin != resendv3.SuppressionOriginManual || got.SourceId != nil || got.Object != "suppression" {
			t.Errorf("get %s: %+v", x, got)
		}
	}
	limit := 1
	list, err := c.Suppressions.List(&resendv3.ListSuppressionsOptions{Origin: resendv3.SuppressionOriginManual, Limit: &limit})
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Email != "b@example.com" || !list.HasMore {
		t.Errorf("list %+v", list)
	}
	if _, err := c.Emails.Send(&resendv3.SendEmailRequest{From: "a@example.test", To: []string{"b@example.com", "Gone+1@example.com"}, Subject: "s", Text: "t"}); err == nil ||
		seen.last.StatusCode != 422 || seen.last.Name != "all_recipients_suppressed" {
		t.Errorf("send: %v, %+v", err, seen.last)
	}
	removed, err := c.Suppressions.Remove("gone+1@example.com")
	must(t, err)
	many, err := c.Suppressions.Batch.Remove(&resendv3.BatchRemoveSuppressionsRequest{Ids: []string{added.Id, batch.Data[0].Id}})
	must(t, err)
	if removed.Id != added.Id || !removed.Deleted || len(many.Data) != 1 || many.Data[0].Id != batch.Data[0].Id {
		t.Errorf("removed %+v, %+v", removed, many)
	}
	if _, err := c.Suppressions.Get(added.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("get: %v, %+v", err, seen.last)
	}
}

func TestResendCommandLineSuppressions(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineSuppressions)
}

func resendCommandLineSuppressions(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	cli := func(into any, args ...string) {
		t.Helper()
		out, err := runCLI(t, w, w.key, append([]string{"suppressions"}, args...)...)
		must(t, err)
		out.into(t, into)
	}
	var added, got, removed suppression
	cli(&added, "add", "gone+1@example.com")
	cli(&got, "get", "gone+1@example.com")
	if added.ID == "" || got.ID != added.ID || got.Email != "gone+1@example.com" || got.Origin != "manual" {
		t.Errorf("added %+v, got %+v", added, got)
	}
	file := filepath.Join(t.TempDir(), "emails.json")
	must(t, os.WriteFile(file, []byte(`["two@example.com","three@example.com"]`), 0o600))
	var batch, list suppressionList
	cli(&batch, "batch", "add", "--file", file)
	cli(&list, "list")
	if len(batch.Data) != 2 || !slices.Equal(list.emails(), []string{"three@example.com", "two@example.com", "gone+1@example.com"}) {
		t.Errorf("batch %+v, list %q", batch, list.emails())
	}
	cli(&removed, "delete", "gone+1@example.com", "--yes")
	cli(&batch, "batch", "remove", "--file", file)
	cli(&list, "list")
	if !removed.Deleted || len(batch.Data) != 2 || len(list.Data) != 0 {
		t.Errorf("removed %+v, %+v, left %+v", removed, batch, list)
	}
}
