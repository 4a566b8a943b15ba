package broadcasts_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func file(name, content string) app.Attachment {
	return app.Attachment{Filename: name, Content: []byte(content)}
}

func newsWith(files ...app.Attachment) app.BroadcastInput {
	return app.BroadcastInput{From: "ann@" + testserver.TestDomain, Subject: "News", HTML: "<p>Hello</p>", Attachments: files}
}

func names(files []app.Attachment) (out []string) {
	for _, f := range files {
		out = append(out, f.Filename)
	}
	return out
}

func wantCode(t *testing.T, err error, code app.Code, field string) {
	t.Helper()
	var refused *app.Error
	if !errors.As(err, &refused) || refused.Code != code || !bytes.Contains([]byte(refused.Message), []byte(field)) {
		t.Errorf("%v, want %s naming %q", err, code, field)
	}
}

func TestBroadcastCarriesAttachments(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		big := string(bytes.Repeat([]byte("0123456789"), 60_000)) // three pieces
		var mu sync.Mutex
		sent := map[string][]app.Attachment{}
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			mu.Lock()
			sent[m.Recipients[0]] = m.Mail.Attachments
			mu.Unlock()
			return testserver.Accept(ctx, m, authorize)
		}))
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		v := sendBroadcast(w, newsWith(file("a.pdf", "one"), file("big.txt", big)), "")
		testserver.SleepAndSettle(time.Minute)
		for i := range 3 {
			got := sent[testserver.SubscriberAddress(i)]
			if len(got) != 2 || got[0].ContentType != "application/pdf" || string(got[0].Content) != "one" || string(got[1].Content) != big {
				t.Errorf("%s got %q", testserver.SubscriberAddress(i), names(got))
			}
		}
		if n := w.Count("attachments"); n != "2" {
			t.Errorf("%s attachments are stored, want 2", n)
		}
		head := w.Broadcast(v.ID)
		id := w.EmailIDTo(&head, testserver.SubscriberAddress(1))
		if email := w.Email(id); !slices.Equal(names(email.Attachments), []string{"a.pdf", "big.txt"}) {
			t.Errorf("the email has %q", names(email.Attachments))
		}
		files, more, err := w.Services.Mail.ListAttachments(t.Context(), w.Key, id, app.Page{Limit: 1})
		testserver.Must(t, err)
		if !more || !slices.Equal(names(files), []string{"big.txt"}) {
			t.Errorf("the first page is %q", names(files))
		}
		token, _ := w.Services.Mail.AttachmentToken(w.Key, id, files[0].ID)
		d, err := w.Services.Mail.OpenAttachment(t.Context(), token)
		testserver.Must(t, err)
		var content []byte
		for piece, err := d.Next(t.Context()); len(piece) > 0; piece, err = d.Next(t.Context()) {
			testserver.Must(t, err)
			content = append(content, piece...)
		}
		if string(content) != big {
			t.Errorf("%d bytes were downloaded", len(content))
		}
		copied, err := w.Services.Broadcasts.DuplicateBroadcast(t.Context(), w.Key, v.ID)
		testserver.Must(t, err)
		ids, err := w.Services.Broadcasts.TestBroadcast(t.Context(), w.Key, copied.ID, []string{"x@example.org", "y@example.org"}, "", mail.SendOptions{})
		testserver.Must(t, err)
		testserver.SleepAndSettle(time.Minute)
		for _, to := range []string{"x@example.org", "y@example.org"} {
			if got := sent[to]; len(got) != 2 || string(got[1].Content) != big {
				t.Errorf("the test to %s has %q of %d emails", to, names(got), len(ids))
			}
		}
	})
}

func TestDraftKeepsAttachments(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.NewWithConfig(t, server.Config{MaxAttachments: 20}, testserver.NewRelay(nil))
	s := w.Services.Broadcasts
	created, err := s.CreateBroadcast(t.Context(), w.Key, newsWith(file("a.txt", "aaaa"), file("b.txt", "bbbb")), mail.SendOptions{})
	testserver.Must(t, err)
	read := func() []app.Attachment {
		v, err := s.GetBroadcast(t.Context(), w.Key, created.ID)
		testserver.Must(t, err)
		return v.Attachments
	}
	patch := func(p app.BroadcastPatch) error {
		_, err := s.UpdateBroadcast(t.Context(), w.Key, created.ID, p)
		return err
	}
	set := func(files ...app.Attachment) app.BroadcastPatch {
		return app.BroadcastPatch{Attachments: app.Change[[]app.Attachment]{Set: true, Value: files}}
	}
	testserver.Must(t, patch(app.BroadcastPatch{Subject: "Other"}))
	first := read()
	if !slices.Equal(names(first), []string{"a.txt", "b.txt"}) {
		t.Fatalf("another change left %q", names(first))
	}
	testserver.Must(t, patch(set(app.Attachment{ID: first[1].ID}, file("c.txt", "cccc"))))
	second := read()
	if !slices.Equal(names(second), []string{"b.txt", "c.txt"}) || second[0].ID != first[1].ID || w.Count("attachment_pieces") != "2" {
		t.Errorf("%q, %s pieces", names(second), w.Count("attachment_pieces"))
	}
	wantCode(t, patch(set(app.Attachment{ID: first[0].ID})), app.CodeValidation, "attachments[0].keep")
	wantCode(t, patch(set(app.Attachment{ID: second[0].ID}, app.Attachment{ID: second[0].ID})), app.CodeValidation, "attachments[1].keep")
	wantCode(t, patch(set(file("x/y", "1"))), app.CodeValidation, "attachments[0].filename")
	wantCode(t, patch(set(app.Attachment{Path: "https://example.com/a"})), app.CodeValidation, "attachments[0].path")
	wantCode(t, patch(set(app.Attachment{ID: second[0].ID}, file("d.txt", "12345678901234567"))), app.CodePayloadTooLarge, "attachments")
	_, err = s.CreateBroadcast(t.Context(), w.Key, newsWith(file("d.txt", "123456789012345678901")), mail.SendOptions{})
	wantCode(t, err, app.CodePayloadTooLarge, "attachments")
	plan, err := s.Reviews.PlanBroadcast(t.Context(), w.Key, created.ID, "")
	testserver.Must(t, err)
	without := plan.Size
	testserver.Must(t, patch(set()))
	if plan, err = s.Reviews.PlanBroadcast(t.Context(), w.Key, created.ID, ""); err != nil || without-plan.Size != 10 { // two files of four bytes, encoded
		t.Errorf("the size is %d, with attachments %d: %v", plan.Size, without, err)
	}
	if left := read(); len(left) != 0 || w.Count("attachment_pieces") != "0" {
		t.Errorf("%q are left, and %s pieces", names(left), w.Count("attachment_pieces"))
	}
	testserver.Must(t, patch(set(file("e.txt", "eeee"))))
	testserver.Must(t, s.DeleteBroadcast(t.Context(), w.Key, created.ID))
	if w.Count("attachments") != "0" {
		t.Error("the deleted draft left its attachments")
	}
}

// A replaced attachment must not let two editors overwrite each other.
func TestAttachmentsChangeTheRevision(t *testing.T) {
	files := app.BroadcastContent{Attachments: []app.Attachment{{ID: "a"}}}
	one, err := broadcasts.Revision(&app.Broadcast{BroadcastContent: files})
	testserver.Must(t, err)
	none, err := broadcasts.Revision(&app.Broadcast{})
	testserver.Must(t, err)
	if one == none {
		t.Error("the revision is the same without the attachment")
	}
}

func TestFetchedFilesOfBroadcasts(t *testing.T) {
	calls, held := 0, 0
	fetch := func(_ context.Context, _ string, urls []string, limit int64) ([][]byte, func(), error) {
		if calls++; limit != 1000-int64(len("given")) {
			t.Errorf("the limit is %d", limit)
		}
		held++
		return [][]byte{[]byte("content of " + urls[0])}, func() { held-- }, nil
	}
	w := testserver.NewWithConfig(t, server.Config{FetchFiles: fetch, MaxAttachments: 1000}, testserver.NewRelay(nil))
	s := w.Services.Broadcasts
	in := newsWith(file("given.txt", "given"), app.Attachment{Path: "https://example.com/a.pdf"})
	options := mail.SendOptions{IdempotencyKey: "k", Payload: []byte("x")}
	v, err := s.CreateBroadcast(t.Context(), w.Key, in, options)
	testserver.Must(t, err)
	_, err = s.CreateBroadcast(t.Context(), w.Key, in, options)
	testserver.Must(t, err)
	refused := in
	refused.SegmentID = app.NewID()
	_, err = s.CreateBroadcast(t.Context(), w.Key, refused, mail.SendOptions{})
	wantCode(t, err, app.CodeNotFound, "segment")
	_, err = s.UpdateBroadcast(t.Context(), w.Key, v.ID, app.BroadcastPatch{Revision: "old", Attachments: app.Change[[]app.Attachment]{Set: true, Value: in.Attachments}})
	wantCode(t, err, app.CodeConflict, "")
	if calls != 1 {
		t.Errorf("%d fetches, want 1", calls)
	}
	_, err = s.UpdateBroadcast(t.Context(), w.Key, v.ID, app.BroadcastPatch{Attachments: app.Change[[]app.Attachment]{Set: true, Value: in.Attachments}})
	testserver.Must(t, err)
	var files []app.Attachment
	w.Read(func(r *db.Reader) (err error) {
		files, err = r.BroadcastFiles(w.Key.TeamID, v.ID)
		return err
	})
	if calls != 2 || held != 0 || len(files) != 2 || string(files[1].Content) != "content of https://example.com/a.pdf" || files[1].ContentType != "application/pdf" {
		t.Errorf("%d fetches, %d held, %+v", calls, held, files)
	}
}

// A damaged attachment holds the broadcast before recipients begin.
func TestDamagedAttachmentHoldsBroadcast(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		v, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, newsWith(file("a.txt", "aaaa")), mail.SendOptions{})
		testserver.Must(t, err)
		w.SQL(`UPDATE attachment_pieces SET content = CAST('bbbb' AS BLOB)`)
		_, err = w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, v.ID, "", mail.SendOptions{})
		testserver.Must(t, err)
		testserver.SleepAndSettle(time.Minute)
		if b := w.Broadcast(v.ID); b.Held != app.HoldDamaged || b.Started != 0 || len(testserver.Received(relay)) != 0 {
			t.Errorf("held %q, %d started, %d received", b.Held, b.Started, len(testserver.Received(relay)))
		}
	})
}
