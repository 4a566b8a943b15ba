package app

import (
	"strings"
	"testing"
)

func parseAttachments(files []Attachment) ([]Attachment, error) {
	return attachmentsIn(CompatStrict, files)
}

func attachmentsIn(compat Compat, files []Attachment) ([]Attachment, error) {
	in, m := &EmailInput{Attachments: files, Compat: compat}, &Mail{}
	err := in.attachments(m)
	return m.Attachments, err
}

func TestAttachmentType(t *testing.T) {
	for _, c := range []struct{ filename, given, want string }{
		{"a.pdf", "", "application/pdf"},
		{"A.PDF", "", "application/pdf"},
		{"notes.txt", "", "text/plain; charset=utf-8"},
		{"a.tar.gz", "", "application/gzip"},
		{"Rechnung.für.März.xlsx", "", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{"mail.eml", "", "application/octet-stream"},
		{"noext", "", "application/octet-stream"},
		{"pdf", "", "application/pdf"},
		{"dot.", "", "application/octet-stream"},
		{"a.pdf", "image/png", "image/png"},
		{"a.ics", `Text/Calendar; METHOD=REQUEST; charset="utf-8"`, "text/calendar; charset=utf-8; method=REQUEST"},
		{"a.x", "application/vnd.acme+json", "application/vnd.acme+json"},
	} {
		got, err := parseAttachments([]Attachment{{Filename: c.filename, ContentType: c.given, Content: []byte("12345")}})
		if err != nil {
			t.Errorf("%s %q: %v", c.filename, c.given, err)
			continue
		}
		if got[0].ContentType != c.want || got[0].Size != 5 || got[0].Filename != c.filename {
			t.Errorf("%s %q: %+v, want %s", c.filename, c.given, got[0], c.want)
		}
	}
}

func TestAttachmentsRefused(t *testing.T) {
	content := []byte("x")
	for _, c := range []struct {
		a     Attachment
		field string
	}{
		{Attachment{Content: content}, "filename"},
		{Attachment{Filename: " ", Content: content}, "filename"},
		{Attachment{Filename: "a/b", Content: content}, "filename"},
		{Attachment{Filename: `a\b`, Content: content}, "filename"},
		{Attachment{Filename: "../etc/passwd", Content: content}, "filename"},
		{Attachment{Filename: "..", Content: content}, "filename"},
		{Attachment{Filename: ".", Content: content}, "filename"},
		{Attachment{Filename: "a\r\nX: y", Content: content}, "filename"},
		{Attachment{Filename: "a\x00.exe", Content: content}, "filename"},
		{Attachment{Filename: "a\u0085", Content: content}, "filename"},
		{Attachment{Filename: "a\xff", Content: content}, "filename"},
		{Attachment{Filename: strings.Repeat("é", 128), Content: content}, "filename"},
		{Attachment{Filename: "a"}, "content"},
		{Attachment{Filename: "a", ContentType: "pdf", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "application/", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "a/b; c", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "a/b\r\nX: y", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "a/b; x*=utf-8''%0d%0aX", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "multipart/mixed; boundary=x", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "Message/RFC822", Content: content}, "content_type"},
		{Attachment{Filename: "a", ContentType: "a/" + strings.Repeat("b", 254), Content: content}, "content_type"},
	} {
		got, err := parseAttachments([]Attachment{{Filename: "fine", Content: content}, c.a})
		if err == nil {
			t.Errorf("%+v passes as %+v", c.a, got[1])
			continue
		}
		if e := err.(*Error); e.Code != CodeValidation || !strings.HasPrefix(e.Message, "`attachments[1]."+c.field+"` ") {
			t.Errorf("%+v: %v, want field %s", c.a, err, c.field)
		}
	}
}

func TestAttachmentsTogether(t *testing.T) {
	many := make([]Attachment, MaxAttachments+1)
	for i := range many {
		many[i] = Attachment{Filename: "same.txt", Content: []byte{}}
	}
	if _, err := parseAttachments(many); err == nil {
		t.Errorf("%d attachments pass", len(many))
	}
	got, err := parseAttachments(many[:MaxAttachments])
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, a := range got {
		if _, ok := ParseID(a.ID); !ok || ids[a.ID] {
			t.Fatalf("id %q", a.ID)
		}
		ids[a.ID] = true
	}
	if got, err := parseAttachments(nil); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
}

const calendar = "BEGIN:VCALENDAR\r\nSUMMARY:Grüße\r\nEND:VCALENDAR\r\n"

// TestRawText: calendars may be text with Resend's rules, other files may not.
func TestRawText(t *testing.T) {
	const base64 = "must be valid base64"
	for _, c := range []struct{ filename, contentType, text, want string }{ // want: the type, or the error message
		{"a.ics", "", calendar, "text/calendar; charset=utf-8"},
		{"a.ics", "text/calendar", calendar, "text/calendar; charset=utf-8"},
		{"invite", "Text/Calendar; method=REQUEST", calendar, "text/calendar; charset=utf-8; method=REQUEST"},
		{"a.ics", `text/calendar; charset="us-ascii"`, "begin:vcalendar", "text/calendar; charset=us-ascii"},
		{"a.txt", "", calendar, base64},
		{"a.ics", "application/octet-stream", calendar, base64},
		{"a.ics", "", "hello world", base64},
		{"a.ics", "", "QkVHSU46VkNBTEVOREFSCg", base64}, // a calendar in base64 without its padding
		{"a.ics", "", "BEGIN:VCALENDAR\xff", base64},
	} {
		file := []Attachment{{Filename: c.filename, ContentType: c.contentType, Text: c.text}}
		if _, err := attachmentsIn(CompatStrict, file); err == nil || !strings.Contains(err.Error(), "`attachments[0].content` "+base64) {
			t.Errorf("%s in strict mode: %v", c.filename, err)
		}
		got, err := attachmentsIn(CompatResend, file)
		if err != nil {
			if !strings.Contains(err.Error(), "`attachments[0].content` "+c.want) {
				t.Errorf("%s %q %q: %v", c.filename, c.contentType, c.text, err)
			}
			continue
		}
		if a := got[0]; a.ContentType != c.want || string(a.Content) != c.text || a.Size != int64(len(c.text)) || a.Text != "" {
			t.Errorf("%s %q: %+v, want %s", c.filename, c.contentType, a, c.want)
		}
	}
}

func TestContentIDs(t *testing.T) {
	file := func(id string) Attachment {
		return Attachment{Filename: "a.png", ContentID: id, Content: []byte("x")}
	}
	for _, id := range []string{"logo", "logo-1_x.png", "a1b2@symfony", "0198c0de-0000@acme.test", "x+y=z", strings.Repeat("x", 128)} {
		if got, err := attachmentsIn(CompatResend, []Attachment{file(id), file("other"), file(""), file("")}); err != nil || got[0].ContentID != id || !got[0].Inline() || got[2].Inline() {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
		if _, err := parseAttachments([]Attachment{file(id)}); err == nil || !strings.Contains(err.Error(), "`attachments[0].content_id` is not supported") {
			t.Errorf("%q in strict mode: %v", id, err)
		}
	}
	for _, id := range []string{"<logo>", "a b", "a\r\nX: y", "a\x00", "logo@", "@logo", "a@b@c", ".a", "a.", "a..b", "a;b", "a\"b", "a(b)", "é", strings.Repeat("x", 129)} {
		if _, err := attachmentsIn(CompatResend, []Attachment{file(id)}); err == nil || !strings.Contains(err.Error(), "`attachments[0].content_id` must ") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := attachmentsIn(CompatResend, []Attachment{file("a"), file("b"), file("a")}); err == nil || !strings.Contains(err.Error(), "`attachments[2].content_id` is given twice") {
		t.Error(err)
	}
}

func TestAttachmentPath(t *testing.T) {
	for path, want := range map[string]string{
		"https://files.example.com/a.pdf":                  "",
		"https://files.example.com:443/a.pdf?x=1":          "",
		"http://files.example.com/a.pdf":                   "", // refused when it is dialled, unless the address is allowed
		"ftp://files.example.com/a.pdf":                    "must be an https URL",
		"/a.pdf":                                           "must be an https URL",
		"file:///etc/passwd":                               "must be an https URL",
		"https://":                                         "must be an https URL",
		"https://user:password@files.example.com/a":        "must not contain a user name or password",
		"https://files.example.com/a\n.pdf":                "must be an https URL",
		"https://example.com/" + strings.Repeat("x", 2048): "must not be longer than 2048 bytes",
	} {
		in, m := &EmailInput{Attachments: []Attachment{{Filename: "a.pdf", Path: path}}}, &Mail{}
		if err := in.attachments(m); err == nil || !strings.Contains(err.Error(), "`attachments[0].path` is not supported") {
			t.Errorf("%q without --fetch-attachments: %v", path, err)
		}
		in.FetchAttachments = true
		err := in.attachments(m)
		if want == "" && (err != nil || m.Attachments[0].Path != path || !m.FetchesAttachments()) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	in, m := &EmailInput{FetchAttachments: true, Attachments: []Attachment{{Path: "https://example.com/files/invoice%201.pdf?download"}}}, &Mail{}
	if err := in.attachments(m); err != nil || m.Attachments[0].Filename != "invoice 1.pdf" || m.Attachments[0].ContentType != "application/pdf" {
		t.Errorf("without a file name: %v, %+v", err, m.Attachments)
	}
	in.Attachments[0].Content = []byte("x")
	if err := in.attachments(&Mail{}); err == nil || !strings.Contains(err.Error(), "can't be combined with `content`") {
		t.Errorf("with content: %v", err)
	}
	in.Attachments = []Attachment{{Path: "https://example.com/"}}
	if err := in.attachments(&Mail{}); err == nil || !strings.Contains(err.Error(), "attachments[0].filename") {
		t.Errorf("a URL without a name: %v", err)
	}
}
