package smtpout

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-smtp"

	"mailer/app"
)

func TestReply(t *testing.T) {
	tests := []struct {
		code int
		text string
		want app.Reply
	}{
		{250, "2.0.0 Ok: queued as 4B", app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Ok: queued as 4B"}},
		{250, "Ok 0100018f-abc", app.Reply{Code: 250, Text: "Ok 0100018f-abc"}},
		{550, "5.1.1", app.Reply{Code: 550, Enhanced: "5.1.1"}},
		{550, "5.01.1 unknown", app.Reply{Code: 550, Text: "5.01.1 unknown"}},
		{450, "4.2.00 full", app.Reply{Code: 450, Text: "4.2.00 full"}},
		{550, "5.1.1 one\n5.1.1 two", app.Reply{Code: 550, Enhanced: "5.1.1", Text: "one two"}},
		{550, "5.7.26\nnot aligned", app.Reply{Code: 550, Enhanced: "5.7.26", Text: "not aligned"}},
		{550, "4.1.1 class differs", app.Reply{Code: 550, Text: "4.1.1 class differs"}},
		{550, "5.1 short", app.Reply{Code: 550, Text: "5.1 short"}},
		{550, "5.1.1234 long", app.Reply{Code: 550, Text: "5.1.1234 long"}},
		{550, "5.-1.1 sign", app.Reply{Code: 550, Text: "5.-1.1 sign"}},
		{550, "", app.Reply{Code: 550}},
		{550, " \t a\x00\x1b[31mb\u202ec\xff \u00a0 é\n", app.Reply{Code: 550, Text: "a [31mb c? é"}},
		{550, strings.Repeat("é", 400), app.Reply{Code: 550, Text: strings.Repeat("é", 250)}},
		{550, "x" + strings.Repeat("é", 400), app.Reply{Code: 550, Text: "x" + strings.Repeat("é", 249)}},
	}
	for _, tt := range tests {
		if got := (replySanitizer{}).reply(tt.code, tt.text); got != tt.want {
			t.Errorf("%d %q:\n got %+v\nwant %+v", tt.code, tt.text, got, tt.want)
		}
	}
}

// go-smtp parses an address as an enhanced code; the text must not be lost.
func TestReplyOfFalseEnhancedCode(t *testing.T) {
	got := replySanitizer{}.replyOf(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{10, 0, 0}, Message: "is listed"})
	if want := (app.Reply{Code: 550, Text: "10.0.0 is listed"}); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestCheckPath(t *testing.T) {
	for _, good := range []string{"", "a@example.net", `"a b"@example.net`, `"a\"> b"@example.net`, "o'neil+x@example.net", "jürgen@example.net"} {
		if err := checkPath(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"a b@example.net", "a>@example.net", "<a@example.net", "a\r\n@example.net", `"a@example.net`, `"a\"@example.net`, "a\x7f@x", "\"a\n\"@example.net", `""> x"@example.net`} {
		if checkPath(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestCleanLines(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a\r\nb\r\n": true, "a": true,
		"a\nb\r\n": false, "a\rb\r\n": false, "a\r\r\n": false, "a\n\r\n": false, "a\n\r": false,
	} {
		if cleanLines([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func FuzzReply(f *testing.F) {
	const password, blob, secret = "pass word", "AHVzZXIAcGFzcyB3b3Jk", "cGFzcyB3b3Jk"
	for _, seed := range []string{"2.0.0 Ok", "5.1.1 a\n5.1.1 b", "pass\n word", "pass  word pass\x00word", "AUTH " + blob, "\xff\u202e", strings.Repeat("é", 300)} {
		f.Add(550, seed)
		f.Add(250, seed)
	}
	clean := newReplySanitizer("user", password)
	f.Fuzz(func(t *testing.T, code int, text string) {
		got := clean.reply(code, text)
		if len(got.Text) > maxReplyText || !utf8.ValidString(got.Text) || got.Text != strings.TrimSpace(got.Text) {
			t.Errorf("text %q", got.Text)
		}
		if i := strings.IndexFunc(got.Text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("not printable at %d: %q", i, got.Text)
		}
		for _, s := range []string{password, blob, secret} {
			if strings.Contains(got.Text, s) {
				t.Errorf("%q in %q", s, got.Text)
			}
		}
		if got.Enhanced != "" && (!app.IsEnhancedCode(got.Enhanced) || !strings.HasPrefix(text, got.Enhanced)) {
			t.Errorf("enhanced %q of %q", got.Enhanced, text)
		}
	})
}
