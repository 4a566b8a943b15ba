package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// fileHost answers FetchFiles.
type fileHost struct {
	calls int
	limit int64 // of the last call
	held  int   // contents that were not released
	err   error
}

func (h *fileHost) fetch(_ context.Context, _ string, urls []string, limit int64) ([][]byte, func(), error) {
	h.calls++
	h.limit = limit
	if h.err != nil {
		return nil, nil, h.err
	}
	h.held++
	contents := make([][]byte, len(urls))
	for i, url := range urls {
		contents[i] = []byte("content of " + url)
	}
	return contents, func() { h.held-- }, nil
}

func withFiles(to string, paths ...string) *app.EmailInput {
	in := testserver.Message(to)
	in.Attachments = append(in.Attachments, app.Attachment{Filename: "given.txt", Content: []byte("12345")})
	for _, path := range paths {
		in.Attachments = append(in.Attachments, app.Attachment{Path: path})
	}
	return in
}

func TestFetchedAttachmentsAreSent(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		host, relay := &fileHost{}, testserver.NewRelay(nil)
		w := testserver.NewWithConfig(t, server.Config{FetchFiles: host.fetch, MaxAttachments: 1000}, relay)
		w.Start()
		options := mail.SendOptions{IdempotencyKey: "k", Payload: []byte("x")}
		send := func() string {
			id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, withFiles("bob@example.net", "https://example.com/a.pdf", "https://example.com/b.png"), options)
			testserver.Must(t, err)
			return id
		}
		id := send()
		if again := send(); again != id || host.calls != 1 || host.limit != 995 || host.held != 0 {
			t.Errorf("%s and %s, %+v", id, again, host)
		}
		files, _, err := w.Services.Mail.ListAttachments(t.Context(), w.Key, id, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(files) != 3 || files[1].Filename != "a.pdf" || files[0].ContentType != "image/png" || files[0].Size != int64(len("content of https://example.com/b.png")) {
			t.Errorf("%+v", files)
		}
		testserver.SleepAndSettle(time.Minute)
		if got := testserver.Received(relay)["bob@example.net"]; got != 1 {
			t.Errorf("%d messages, want 1", got)
		}
	})
}

// Nothing is fetched for an email that is refused anyway, and a failed fetch leaves no email.
func TestRefusedEmailFetchesNothing(t *testing.T) {
	host := &fileHost{}
	w := testserver.NewWithConfig(t, server.Config{FetchFiles: host.fetch, MaxAttachments: 1000}, testserver.NewRelay(nil))
	_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "gone@example.net"})
	testserver.Must(t, err)
	foreign := withFiles("bob@example.net", "https://example.com/a")
	foreign.From = "x@unknown.example"
	for _, in := range []*app.EmailInput{foreign, withFiles("gone@example.net", "https://example.com/a"), withFiles("bob@example.net", "ftp://example.com/a")} {
		if _, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{}); err == nil || host.calls != 0 {
			t.Errorf("%v, %d calls", err, host.calls)
		}
	}
	for _, c := range []struct {
		err  error
		code app.Code
		text string
	}{
		{&app.FetchError{Index: 1, Reason: app.FetchForbidden}, app.CodeValidation, "`attachments[2].path` names an address"},
		{&app.FetchError{Reason: app.FetchSlow}, app.CodeValidation, "`attachments[1].path` could not be fetched within"},
		{&app.FetchError{Reason: app.FetchTooLarge}, app.CodePayloadTooLarge, "at most 1000 bytes together"},
		{&app.FetchLimitError{RetryAfter: 1}, app.CodeRateLimitExceeded, "Too many attachments"},
		{context.Canceled, "", ""},
	} {
		host.err = c.err
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, withFiles("bob@example.net", "https://example.com/a", "https://example.com/b"), mail.SendOptions{})
		var refused *app.Error
		if c.code == "" {
			if !errors.Is(err, c.err) {
				t.Errorf("%v, want %v", err, c.err)
			}
		} else if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(refused.Message, c.text) {
			t.Errorf("%v, want %s %s", err, c.code, c.text)
		}
	}
	if n := w.Count("emails"); n != "1" { // the record of the suppressed one
		t.Errorf("%s emails are stored", n)
	}
}
