package app_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/schedule"
	"mailer/app/rules/render"
)

func goodBroadcast() app.BroadcastInput {
	return app.BroadcastInput{From: "Acme <news@example.com>", Subject: "News", HTML: "<p>Hi</p>"}
}

func TestBroadcastNameDefaultsToSubject(t *testing.T) {
	for subject, want := range map[string]string{
		"News": "News", "a\tb": "a b", strings.Repeat("é", 300): strings.Repeat("é", 255), strings.Repeat("é", 255): strings.Repeat("é", 255),
	} {
		in := goodBroadcast()
		in.Subject = subject
		b, err := in.Validate(time.Now())
		if err != nil || b.Name != want {
			t.Errorf("%q is called %q, %v", subject, b.Name, err)
		}
	}
	in := goodBroadcast()
	in.Name = "June"
	if b, err := in.Validate(time.Now()); err != nil || b.Name != "June" || b.Status != app.DraftBroadcast || !b.ScheduledAt.IsZero() {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestBroadcastTimeMustBeInTheFuture(t *testing.T) {
	now := time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"": {}, "2026-08-05T12:00:00Z": {}, "2020-01-01T00:00:00Z": {}, "in 1 hour": now.Add(time.Hour), "2026-09-04T12:00:00Z": now.Add(30 * schedule.Day),
	} {
		in := goodBroadcast()
		in.Send, in.ScheduledAt = true, s
		if b, err := in.Validate(now); err != nil || !b.ScheduledAt.Equal(want) {
			t.Errorf("%q: %s, %v; want %s", s, b.ScheduledAt, err, want)
		}
	}
	for _, s := range []string{"2026-09-04T12:00:01Z", "soon"} {
		if _, err := app.ParseBroadcastTime(s, now); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`scheduled_at`") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestBroadcastContentSizeLimits(t *testing.T) {
	in := goodBroadcast()
	text := strings.Repeat("x", 1000)
	in.HTML, in.Text = strings.Repeat("x", app.MaxBroadcastContent-len(text)), &text
	if _, err := in.Validate(time.Now()); err != nil {
		t.Error(err)
	}
	in.HTML += "x"
	if _, err := in.Validate(time.Now()); app.CodeOf(err) != app.CodeValidation {
		t.Errorf("one byte too much: %v", err)
	}
}

// FuzzBroadcastPatch checks that a draft can be sent after any valid patch.
func FuzzBroadcastPatch(f *testing.F) {
	f.Add("June", "", "a@example.com", "Hi {{{FIRST_NAME|there}}}", "p", "<p>x</p>", "", byte(0))
	f.Add("", "018f3c1e-0000-7000-8000-000000000001", "", "", "", "", "x", byte(0x15))
	f.Add("a\nb", "X", "{{{EMAIL}}}", "{{{", "\x00", "{{{UNSUBSCRIBE_URL}}}", "\xff", byte(0xff))
	f.Fuzz(func(t *testing.T, name, segment, from, subject, preview, html, text string, nulls byte) {
		change := func(bit int, s string) app.Change[string] {
			if nulls>>bit&1 == 1 {
				return app.Change[string]{Set: true, Null: true}
			}
			return app.Change[string]{Set: true, Value: s}
		}
		in := goodBroadcast()
		b, err := in.Validate(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c, err := app.BroadcastPatch{
			Name: change(0, name), SegmentID: change(1, segment), From: from, Subject: subject, Preview: change(2, preview), HTML: change(3, html), Text: change(4, text),
		}.Validate()
		if err == nil {
			err = c.Apply(&b)
		}
		if err == nil {
			err = render.CheckBroadcast(&b, nil)
		}
		if err != nil {
			if app.CodeOf(err) != app.CodeValidation {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if b.Name == "" || utf8.RuneCountInString(b.Name) > app.MaxBroadcastName || app.HasControl(b.Name) || !utf8.ValidString(b.Subject) || strings.ContainsAny(b.Subject, "\r\n") {
			t.Errorf("name %q, subject %q", b.Name, b.Subject)
		}
		if id, ok := app.ParseID(b.SegmentID); b.SegmentID != "" && (!ok || id != b.SegmentID) {
			t.Errorf("segment %q", b.SegmentID)
		}
		if b.TeamID = "018f3c1e-0000-7000-8000-000000000002"; b.HTML == "" && (b.Text == nil || *b.Text == "") {
			t.Error("nothing to say")
		}
		if _, err := render.Compile(&b); err != nil {
			t.Errorf("can't be compiled: %v", err)
		}
	})
}
