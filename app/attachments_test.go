package app

import (
	"strings"
	"testing"
)

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
