package sdktest

import (
	"slices"
	"strings"
	"testing"
	"time"

	resendv2 "github.com/resend/resend-go/v2"
	resendv3 "github.com/resend/resend-go/v3"
)

// broadcastThing is a broadcast as the Node client and the command line give it.
type broadcastThing struct {
	Object      string   `json:"object"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	SegmentID   string   `json:"segment_id"`
	AudienceID  string   `json:"audience_id"`
	Status      string   `json:"status"`
	ScheduledAt *string  `json:"scheduled_at"`
	SentAt      *string  `json:"sent_at"`
	SentCount   int      `json:"sent_count"`
	FinishesAt  *string  `json:"finishes_at"`
	From        string   `json:"from"`
	Subject     string   `json:"subject"`
	ReplyTo     []string `json:"reply_to"`
	PreviewText *string  `json:"preview_text"`
	HTML        string   `json:"html"`
	Text        *string  `json:"text"`
	Remaining   *int     `json:"canceled_remaining"`
	Deleted     bool     `json:"deleted"`
}

type broadcastThings struct {
	HasMore bool             `json:"has_more"`
	Data    []broadcastThing `json:"data"`
}

func (l broadcastThings) names() string {
	var out []string
	for _, v := range l.Data {
		out = append(out, v.Name+" "+v.Status)
	}
	return strings.Join(out, ", ")
}

// checkBroadcast fails the test unless the messages with a subject that ends so
// are one for each address.
func (w *fixture) checkBroadcast(t *testing.T, end string, want ...string) {
	t.Helper()
	mine := func(m *message) bool { return strings.HasSuffix(m.header("Subject"), end) }
	w.sink.wait(t, len(want), time.Minute, mine)
	var got []string
	for _, m := range w.sink.matching(mine) {
		got = append(got, m.To...)
		link := m.header("List-Unsubscribe")
		if !strings.HasPrefix(link, "<http") || m.header("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || m.header("X-Mailer-Email-ID") == "" {
			t.Errorf("the header of a broadcast's mail: %s", m.Raw)
		}
		if strings.Contains(string(m.Raw), "{{{") {
			t.Errorf("a placeholder is left in %s", m.Raw)
		}
	}
	if !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("%q arrived at %v, want %v", end, got, want)
	}
}

func TestNodeClientBroadcasts(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientBroadcasts)
}

func nodeClientBroadcasts(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got struct {
		Segment, Created, Draft, Updated, Edited, Copy, Copied, Later, Scheduled broadcastThing
		Sent, Done, Canceled, AfterCancel, Removed                               broadcastThing
		First, Rest                                                              broadcastThings
		Errors                                                                   map[string]apiError
	}
	runNode(t, w.in.url, w.key, "broadcasts.mjs", map[string]string{"FROM": "News <news@example.test>"}).into(t, &got)
	d := got.Draft
	if d.ID != got.Created.ID || d.Object != "broadcast" || d.Status != "draft" || d.Name != "June" || d.SegmentID != got.Segment.ID || d.AudienceID != got.Segment.ID ||
		d.From != "News <news@example.test>" || !slices.Equal(d.ReplyTo, []string{"help@example.test"}) || d.PreviewText == nil || d.Text != nil || d.FinishesAt != nil {
		t.Errorf("draft %+v", d)
	}
	if e := got.Edited; got.Updated.ID != d.ID || e.Name != "July" || len(e.ReplyTo) != 2 || e.Text == nil || e.HTML != d.HTML || e.Subject != d.Subject {
		t.Errorf("edited %+v", e)
	}
	if c := got.Copied; c.ID == d.ID || c.Name != "July (copy)" || c.Status != "draft" || c.HTML != d.HTML || c.SegmentID != d.SegmentID {
		t.Errorf("copy %+v", c)
	}
	if s := got.Scheduled; s.ID != got.Later.ID || s.Status != "scheduled" || s.ScheduledAt == nil || s.SegmentID != got.Segment.ID {
		t.Errorf("scheduled %+v", s)
	}
	if got.First.names() != "Later scheduled, July (copy) draft" || !got.First.HasMore || got.Rest.names() != "July draft" || got.Rest.HasMore {
		t.Errorf("lists %s; %s", got.First.names(), got.Rest.names())
	}
	if s := got.Done; got.Sent.ID != d.ID || s.Status != "sent" || s.SentCount != 2 || s.SentAt == nil {
		t.Errorf("sent %+v", s)
	}
	if c := got.Canceled; c.Object != "broadcast" || c.ID != got.Later.ID || c.Status != "canceled" || c.Remaining == nil || *c.Remaining != 2 || got.AfterCancel.Status != "canceled" {
		t.Errorf("canceled %+v, %+v", c, got.AfterCancel)
	}
	if !got.Removed.Deleted || got.Removed.ID != got.Copy.ID {
		t.Errorf("removed %+v", got.Removed)
	}
	checkBroadcastErrors(t, got.Errors)
	w.checkBroadcast(t, "", "ann@example.com", "bob@example.com")
	for subject, html := range map[string]string{"Hello Ann & Bo": "<p>Hi Ann &amp; Bo</p>", "Hello there": "<p>Hi you</p>"} {
		m := w.sink.wait(t, 1, time.Minute, subjectIs(subject))[0]
		if body := content(m.leaves(t), "text/html"); !strings.Contains(body, html) || !strings.Contains(body, "What is new") || !strings.Contains(body, "/unsubscribe/") {
			t.Errorf("%s: %s", subject, body)
		}
		checkDKIM(t, w.in, &m, "example.test")
	}
}

func checkBroadcastErrors(t *testing.T, got map[string]apiError) {
	t.Helper()
	invalid, parameter := apiError{StatusCode: 422, Name: "validation_error"}, apiError{StatusCode: 400, Name: "invalid_parameter"}
	for name, want := range map[string]apiError{
		"noFrom": invalid, "noBody": invalid, "unverified": invalid, "early": invalid, "brokenPlaceholder": invalid,
		"unknownSegment": {StatusCode: 404, Name: "not_found"}, "gone": {StatusCode: 404, Name: "not_found"}, "segmentInUse": {StatusCode: 409, Name: "conflict"},
		"updateSent": parameter, "sendSent": parameter, "removeSent": parameter, "cancelSent": parameter,
	} {
		if e := got[name]; e.StatusCode != want.StatusCode || e.Name != want.Name {
			t.Errorf("%s: got %+v, want %+v", name, e, want)
		}
	}
}

func TestGoV3ClientBroadcasts(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientBroadcasts)
}

func goV3ClientBroadcasts(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	segment, err := c.Segments.Create(&resendv3.CreateSegmentRequest{Name: "Readers"})
	must(t, err)
	for _, email := range []string{"ann@example.com", "bob@example.com"} {
		made, err := c.Contacts.Create(&resendv3.CreateContactRequest{Email: email})
		must(t, err)
		_, err = c.Contacts.Segments.Add(&resendv3.AddContactSegmentRequest{ContactId: made.Id, SegmentId: segment.Id})
		must(t, err)
	}
	made, err := c.Broadcasts.Create(&resendv3.CreateBroadcastRequest{
		SegmentId: segment.Id, From: "news@example.test", Subject: "v3", Html: "<p>Hi {{{FIRST_NAME|there}}}</p>", ReplyTo: []string{"help@example.test"}, Name: "June",
	})
	must(t, err)
	updated, err := c.Broadcasts.Update(&resendv3.UpdateBroadcastRequest{BroadcastId: made.Id, Name: "July", AudienceId: segment.Id})
	must(t, err)
	draft, err := c.Broadcasts.Get(made.Id)
	must(t, err)
	if updated.Id != made.Id || draft.Name != "July" || draft.Status != "draft" || draft.SegmentId != segment.Id || draft.AudienceId != segment.Id || draft.Html == "" || len(draft.ReplyTo) != 1 {
		t.Errorf("draft %+v", draft)
	}
	sent, err := c.Broadcasts.Send(&resendv3.SendBroadcastRequest{BroadcastId: made.Id}) // scheduled_at is sent as an empty string
	must(t, err)
	later, err := c.Broadcasts.Create(&resendv3.CreateBroadcastRequest{AudienceId: segment.Id, From: "news@example.test", Subject: "later", Text: "x", Send: true, ScheduledAt: "in 1 hour"})
	must(t, err)
	eventually(t, time.Minute, "the broadcast is sent", func() (bool, string) {
		got, err := c.Broadcasts.Get(sent.Id)
		must(t, err)
		return got.Status == "sent" && got.SentAt != "", got.Status
	})
	w.checkBroadcast(t, "v3", "ann@example.com", "bob@example.com")
	if _, err := c.Broadcasts.Update(&resendv3.UpdateBroadcastRequest{BroadcastId: made.Id, Name: "x"}); err == nil || seen.last.StatusCode != 400 {
		t.Errorf("editing what was sent: %v", err)
	}
	canceled, err := c.Broadcasts.Cancel(later.Id)
	must(t, err)
	draft2, err := c.Broadcasts.Create(&resendv3.CreateBroadcastRequest{SegmentId: segment.Id, From: "news@example.test", Subject: "s", Text: "x"})
	must(t, err)
	if _, err = c.Broadcasts.Send(&resendv3.SendBroadcastRequest{BroadcastId: draft2.Id, ScheduledAt: "tomorrow at 9am"}); err != nil {
		t.Error(err)
	}
	removable, err := c.Broadcasts.Create(&resendv3.CreateBroadcastRequest{SegmentId: segment.Id, From: "news@example.test", Subject: "s", Text: "x"})
	must(t, err)
	removed, err := c.Broadcasts.Remove(removable.Id)
	must(t, err)
	rows, err := c.Broadcasts.List()
	must(t, err)
	var states []string
	for _, row := range rows.Data {
		states = append(states, row.Status)
	}
	if canceled.Id != later.Id || !removed.Deleted || !slices.Equal(states, []string{"scheduled", "canceled", "sent"}) || rows.Data[0].ScheduledAt == "" {
		t.Errorf("canceled %+v, removed %+v, list %v", canceled, removed, states)
	}
}

func TestGoV2ClientBroadcasts(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV2ClientBroadcasts)
}

func goV2ClientBroadcasts(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, _ := v2Client(t, w.in.url, w.key)
	audience, err := c.Audiences.Create(&resendv2.CreateAudienceRequest{Name: "Readers"})
	must(t, err)
	_, err = c.Contacts.Create(&resendv2.CreateContactRequest{AudienceId: audience.Id, Email: "ann@example.com", FirstName: "Ann"})
	must(t, err)
	made, err := c.Broadcasts.Create(&resendv2.CreateBroadcastRequest{AudienceId: audience.Id, From: "news@example.test", Subject: "{{{FIRST_NAME}}} v2", Text: "Hi {{{FIRST_NAME}}}"})
	must(t, err)
	if _, err := c.Broadcasts.Update(&resendv2.UpdateBroadcastRequest{BroadcastId: made.Id, Name: "July"}); err != nil {
		t.Error(err)
	}
	if _, err := c.Broadcasts.Send(&resendv2.SendBroadcastRequest{BroadcastId: made.Id}); err != nil {
		t.Error(err)
	}
	w.checkBroadcast(t, "Ann v2", "ann@example.com")
	got, err := c.Broadcasts.Get(made.Id)
	must(t, err)
	rows, err := c.Broadcasts.List()
	must(t, err)
	if got.Name != "July" || got.AudienceId != audience.Id || len(rows.Data) != 1 || rows.Data[0].Id != made.Id {
		t.Errorf("read %+v, listed %+v", got, rows)
	}
	second, err := c.Broadcasts.Create(&resendv2.CreateBroadcastRequest{AudienceId: audience.Id, From: "news@example.test", Subject: "s", Html: "x"})
	must(t, err)
	if removed, err := c.Broadcasts.Remove(second.Id); err != nil || !removed.Deleted {
		t.Errorf("removed %+v, %v", removed, err)
	}
}

func TestResendCommandLineBroadcasts(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineBroadcasts)
}

func resendCommandLineBroadcasts(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	call := func(into any, args ...string) {
		t.Helper()
		out, err := runCLI(t, w, w.key, args...)
		must(t, err)
		out.into(t, into)
	}
	var segment, contact struct{ ID string }
	call(&segment, "segments", "create", "--name", "Readers")
	call(&contact, "contacts", "create", "--email", "ann@example.com", "--first-name", "Ann", "--segment-id", segment.ID)
	var made, got, copied, later, canceled, removed broadcastThing
	call(&made, "broadcasts", "create", "--from", "news@example.test", "--subject", "Hello {{{FIRST_NAME|there}}}, CLI", "--segment-id", segment.ID,
		"--html", "<p>Hi {{{FIRST_NAME|there}}}</p>", "--name", "June", "--reply-to", "help@example.test", "--preview-text", "What is new")
	call(&got, "broadcasts", "update", made.ID, "--name", "July", "--text", "Hi {{{FIRST_NAME|there}}}")
	call(&copied, "broadcasts", "duplicate", made.ID)
	call(&later, "broadcasts", "create", "--from", "news@example.test", "--subject", "Later", "--segment-id", segment.ID, "--text", "x", "--send", "--scheduled-at", "in 1 hour")
	call(&got, "broadcasts", "get", made.ID)
	if got.Name != "July" || got.Status != "draft" || got.SegmentID != segment.ID || got.Text == nil || got.PreviewText == nil || *got.PreviewText != "What is new" {
		t.Errorf("draft %+v", got)
	}
	var rows broadcastThings
	call(&rows, "broadcasts", "list")
	if rows.names() != "Later scheduled, July (copy) draft, July draft" || rows.Data[1].ID != copied.ID {
		t.Errorf("list %s", rows.names())
	}
	call(&got, "broadcasts", "send", made.ID)
	w.checkBroadcast(t, "Hello Ann, CLI", "ann@example.com")
	call(&canceled, "broadcasts", "cancel", later.ID)
	call(&got, "broadcasts", "get", later.ID)
	if got.Status != "canceled" || canceled.ID != later.ID {
		t.Errorf("canceled %+v, %+v", canceled, got)
	}
	call(&removed, "broadcasts", "delete", copied.ID, "--yes")
	if !removed.Deleted {
		t.Errorf("removed %+v", removed)
	}
	if _, err := runCLI(t, w, w.key, "broadcasts", "send", made.ID); err == nil {
		t.Error("a broadcast was sent twice")
	}
}
