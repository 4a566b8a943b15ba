package sdktest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	resendv2 "github.com/resend/resend-go/v2"
	resendv3 "github.com/resend/resend-go/v3"
)

// reply is what Resend's Node client gives for a call.
type reply[T any] struct {
	Data  T         `json:"data"`
	Error *apiError `json:"error"`
}

type batchAnswer struct {
	Data   []struct{ ID string }
	Errors []struct {
		Index   int
		Message string
	}
}

type changed struct{ Object, ID string }

// schedulesResult is the output of schedules.mjs.
type schedulesResult struct {
	Later                                                               string
	Strict, StrictAgain, Mismatch, Refused, Permissive, PermissiveAgain reply[batchAnswer]
	Minute, AfterMove, AfterCancel, ISO                                 reply[email]
	Moved, BadMove, Canceled, CanceledAgain, Now                        reply[changed]
	Shared                                                              reply[struct{ Object, ID, URL string }]
}

func TestNodeClientBatchesAndSchedules(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientBatchesAndSchedules)
}

func nodeClientBatchesAndSchedules(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got schedulesResult
	runNode(t, w.in.url, w.key, "schedules.mjs", map[string]string{"FROM": "shop@example.test"}).into(t, &got)
	checkNodeBatches(t, &got)
	checkNodeSchedules(t, &got)
	w.wantTo(t, "one@example.com", "three@example.com", "four@example.com", "iso@example.com")
}

func checkNodeBatches(t *testing.T, got *schedulesResult) {
	t.Helper()
	if got.Strict.Error != nil || len(got.Strict.Data.Data) != 2 || !reflect.DeepEqual(got.Strict, got.StrictAgain) {
		t.Errorf("strict: %+v, then %+v", got.Strict, got.StrictAgain)
	}
	if e := got.Mismatch.Error; e == nil || e.StatusCode != 409 || e.Name != "invalid_idempotent_request" {
		t.Errorf("the same key with another batch: %+v", e)
	}
	if e := got.Refused.Error; e == nil || e.StatusCode != 422 || !strings.HasPrefix(e.Message, "emails.1: ") {
		t.Errorf("a bad item: %+v", e)
	}
	p := got.Permissive.Data
	if len(p.Data) != 2 || len(p.Errors) != 1 || p.Errors[0].Index != 1 || p.Errors[0].Message == "" || !reflect.DeepEqual(got.Permissive, got.PermissiveAgain) {
		t.Errorf("permissive: %+v, then %+v", got.Permissive, got.PermissiveAgain)
	}
}

func checkNodeSchedules(t *testing.T, got *schedulesResult) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, got.Minute.Data.ScheduledAt)
	if in := time.Until(at); err != nil || in > time.Minute || in < 20*time.Second || got.Minute.Data.LastEvent != "scheduled" {
		t.Errorf("in 1 min: %+v, that is in %s", got.Minute.Data, in)
	}
	if m := got.Moved.Data; m.Object != "email" || m.ID != got.Minute.Data.ID {
		t.Errorf("update: %+v", got.Moved)
	}
	if s := got.AfterMove.Data.ScheduledAt; s != got.Later {
		t.Errorf("moved to %s, it reads %s", got.Later, s)
	}
	if got.Shared.Data.Object != "email" || !strings.Contains(got.Shared.Data.URL, "/shared/") {
		t.Errorf("share: %+v", got.Shared)
	}
	if e := got.BadMove.Error; e == nil || e.StatusCode != 422 || e.Name != "validation_error" {
		t.Errorf("moved too far: %+v", got.BadMove)
	}
	if c := got.Canceled.Data; c.Object != "email" || c.ID != got.Minute.Data.ID || got.AfterCancel.Data.LastEvent != "canceled" {
		t.Errorf("cancel: %+v, then %+v", got.Canceled, got.AfterCancel.Data)
	}
	if e := got.CanceledAgain.Error; e == nil || e.StatusCode != 422 {
		t.Errorf("canceled twice: %+v", got.CanceledAgain)
	}
	if got.ISO.Data.ScheduledAt != got.Later || got.Now.Error != nil || got.Now.Data.ID != got.ISO.Data.ID {
		t.Errorf("ISO: %+v, moved to the past: %+v", got.ISO.Data, got.Now)
	}
}

// wantTo waits until exactly these recipients got one message each.
func (w *fixture) wantTo(t *testing.T, want ...string) {
	t.Helper()
	w.sink.wait(t, len(want), time.Minute, func(*message) bool { return true })
	var got []string
	for _, m := range w.sink.messages() {
		got = append(got, m.To...)
	}
	if !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("arrived for %v, want %v", sorted(got), sorted(want))
	}
}

func TestGoV3ClientBatchesAndSchedules(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientBatchesAndSchedules)
}

func goV3ClientBatchesAndSchedules(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	email := func(to, at string) *resendv3.SendEmailRequest {
		return &resendv3.SendEmailRequest{From: "shop@example.test", To: []string{to}, Subject: "batch", Text: "hello", ScheduledAt: at}
	}
	good := []*resendv3.SendEmailRequest{email("one@example.com", ""), email("two@example.com", "in 1 hour")}
	mixed := []*resendv3.SendEmailRequest{email("three@example.com", ""), email("nobody", ""), email("four@example.com", "")}
	sent, err := c.Batch.Send(good)
	must(t, err)
	if len(sent.Data) != 2 || len(sent.Errors) != 0 {
		t.Errorf("batch: %+v", sent)
	}
	if _, err := c.Batch.Send(mixed); err == nil || seen.last.StatusCode != 422 || !strings.HasPrefix(seen.last.Message, "emails.1: ") {
		t.Errorf("a bad item: %v, %+v", err, seen.last)
	}
	opts := &resendv3.BatchSendEmailOptions{IdempotencyKey: "go-v3", BatchValidation: resendv3.BatchValidationPermissive}
	first, err := c.Batch.SendWithOptions(t.Context(), mixed, opts)
	must(t, err)
	again, err := c.Batch.SendWithOptions(t.Context(), mixed, opts)
	must(t, err)
	if len(first.Data) != 2 || len(first.Errors) != 1 || first.Errors[0].Index != 1 || !reflect.DeepEqual(first, again) {
		t.Errorf("permissive: %+v, then %+v", first, again)
	}
	if _, err := c.Batch.SendWithOptions(t.Context(), good, opts); err == nil || seen.last.Name != "invalid_idempotent_request" {
		t.Errorf("the same key with another batch: %v, %+v", err, seen.last)
	}
	id := sent.Data[1].Id
	moved, err := c.Emails.Update(&resendv3.UpdateEmailRequest{Id: id, ScheduledAt: "in 2 hours"})
	must(t, err)
	canceled, err := c.Emails.Cancel(id)
	must(t, err)
	if moved.Id != id || moved.Object != "email" || canceled.Id != id || canceled.Object != "email" {
		t.Errorf("update %+v, cancel %+v", moved, canceled)
	}
	if _, err := c.Emails.Cancel(id); err == nil || seen.last.StatusCode != 422 {
		t.Errorf("canceled twice: %v, %+v", err, seen.last)
	}
	w.wantTo(t, "one@example.com", "three@example.com", "four@example.com")
}

func TestGoV2ClientBatchesAndSchedules(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV2ClientBatchesAndSchedules)
}

func goV2ClientBatchesAndSchedules(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, _ := v2Client(t, w.in.url, w.key)
	batch := []*resendv2.SendEmailRequest{
		{From: "shop@example.test", To: []string{"one@example.com"}, Subject: "batch", Text: "hello"},
		{From: "shop@example.test", To: []string{"two@example.com"}, Subject: "batch", Text: "hello", ScheduledAt: "in 1 hour"},
	}
	opts := &resendv2.BatchSendEmailOptions{IdempotencyKey: "go-v2"}
	first, err := c.Batch.SendWithOptions(t.Context(), batch, opts)
	must(t, err)
	again, err := c.Batch.SendWithOptions(t.Context(), batch, opts)
	must(t, err)
	if len(first.Data) != 2 || !reflect.DeepEqual(first, again) {
		t.Fatalf("batch: %+v, then %+v", first, again)
	}
	id := first.Data[1].Id
	moved, err := c.Emails.Update(&resendv2.UpdateEmailRequest{Id: id, ScheduledAt: time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	must(t, err)
	canceled, err := c.Emails.Cancel(id)
	must(t, err)
	if moved.Id != id || canceled.Id != id {
		t.Errorf("update %+v, cancel %+v", moved, canceled)
	}
	w.wantTo(t, "one@example.com")
}

func TestResendCommandLineBatchesAndSchedules(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineBatchesAndSchedules)
}

func resendCommandLineBatchesAndSchedules(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	items := func(second string) string {
		text, err := json.Marshal([]map[string]any{
			{"from": "shop@example.test", "to": []string{"one@example.com"}, "subject": "batch", "text": "hello"},
			{"from": "shop@example.test", "to": []string{second}, "subject": "batch", "text": "hello", "scheduled_at": "in 1 hour"},
		})
		must(t, err)
		path := filepath.Join(t.TempDir(), "batch.json")
		must(t, os.WriteFile(path, text, 0o600))
		return path
	}
	good, bad := items("two@example.com"), items("nobody")
	var first, again []struct{ ID string }
	for _, ids := range []*[]struct{ ID string }{&first, &again} {
		out, err := runCLI(t, w, w.key, "emails", "batch", "--file", good, "--idempotency-key", "cli")
		must(t, err)
		out.into(t, ids)
	}
	if len(first) != 2 || !reflect.DeepEqual(first, again) {
		t.Fatalf("batch: %+v, then %+v", first, again)
	}
	if out, err := runCLI(t, w, w.key, "emails", "batch", "--file", bad); err == nil {
		t.Errorf("a strict batch with a bad item: %s", out)
	}
	out, err := runCLI(t, w, w.key, "emails", "batch", "--file", bad, "--batch-validation", "permissive")
	must(t, err)
	if !strings.Contains(string(out), "`to[0]`") {
		t.Errorf("a permissive batch with a bad item: %s", out)
	}
	var moved, canceled changed
	out, err = runCLI(t, w, w.key, "emails", "update", first[1].ID, "--scheduled-at", time.Now().Add(2*time.Hour).UTC().Format(time.RFC3339))
	must(t, err)
	out.into(t, &moved)
	out, err = runCLI(t, w, w.key, "emails", "cancel", first[1].ID)
	must(t, err)
	out.into(t, &canceled)
	if want := (changed{"email", first[1].ID}); moved != want || canceled != want {
		t.Errorf("update %+v, cancel %+v", moved, canceled)
	}
	if got := (client{w.in.url, w.key}).email(t, first[1].ID).LastEvent; got != "canceled" {
		t.Errorf("it is %s", got)
	}
	w.wantTo(t, "one@example.com", "one@example.com")
}
