package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func secretText(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n))
}

func TestEndpointsOfWebhooks(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	for _, tt := range []struct {
		endpoint string
		bare     bool // accepted without allowed ranges
		inside   bool // accepted with the allowed ranges
	}{
		{"https://example.com/in", true, true},
		{"https://example.com", true, true},
		{"https://example.com:8443/in?a=b&c=%20d", true, true},
		{"HTTPS://Example.COM/", true, true},
		{"https://1.1.1.1/", true, true},
		{"https://[2606:4700::1111]:444/", true, true},
		{"https://bücher.example/", true, true},
		{"https://my_host/", true, true},
		{"http://example.com/", false, true}, // the address is checked when it is dialled
		{"http://10.1.2.3:3000/in", false, true},
		{"https://10.1.2.3/", false, true},
		{"http://[fd00::1]/", false, true},
		{"http://[::ffff:10.1.2.3]/", false, true},
		{"https://10.2.0.1/", false, false},
		{"http://10.2.0.1/", false, false},
		{"http://1.1.1.1/", false, false},
		{"https://127.0.0.1/", false, false},
		{"https://[::1]/", false, false},
		{"https://[::ffff:169.254.169.254]/", false, false},
		{"https://[64:ff9b::7f00:1]/", false, false},
		{"https://[fe80::1%25eth0]/", false, false},
		{"", false, false},
		{"example.com/in", false, false},
		{"//example.com/in", false, false},
		{"ftp://example.com/", false, false},
		{"javascript:alert(1)", false, false},
		{"https:example.com", false, false},
		{"https:///in", false, false},
		{"https://:443/in", false, false},
		{"https://user@example.com/", false, false},
		{"https://user:pass@example.com/", false, false},
		{"https://@example.com/", false, false},
		{"https://example.com/#top", false, false},
		{"https://example.com/#", false, false},
		{"https://example.com:0/", false, false},
		{"https://example.com:65536/", false, false},
		{"https://example.com:/", false, false},
		{"https://example.com:http/", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com/a b", false, false},
		{"https://example.com/\r\nX: y", false, false},
		{"https://exa\x00mple.com/", false, false},
		{"https://a%2fb/", false, false},
		{"https://a,b/", false, false},
		{"https://" + strings.Repeat("a", 254) + "/", false, false},
		{"https://example.com/" + strings.Repeat("a", MaxEndpoint), false, false},
	} {
		for _, with := range []struct {
			allow []netip.Prefix
			want  bool
		}{{nil, tt.bare}, {allow, tt.inside}} {
			in := Input{Endpoint: tt.endpoint, Events: []EventName{EmailSent}}
			w, err := in.Validate(with.allow)
			if (err == nil) != with.want {
				t.Errorf("%q with %v: %v", tt.endpoint, with.allow, err)
			}
			if err == nil && w.Endpoint != tt.endpoint {
				t.Errorf("%q became %q", tt.endpoint, w.Endpoint)
			}
			if err != nil && (app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`endpoint`")) {
				t.Errorf("%q: %v", tt.endpoint, err)
			}
		}
	}
}

func TestEventsOfWebhooks(t *testing.T) {
	for _, tt := range []struct {
		events []EventName
		field  string // of the error; empty: none
	}{
		{EventNames(), ""},
		{slices.Concat(EventNames(), notSentYet), ""},
		{[]EventName{RelaySwitched}, "`events[0]` is relay.switched, which is not an event of this service: remove it"},
		{nil, "`events`"},
		{[]EventName{"inbox.replied"}, "`events[0]` is inbox.replied, which is not an event of this service: remove it"},
		{[]EventName{EmailSent, "email.lost"}, "`events[1]`"},
		{[]EventName{EmailSent, "Email.Sent"}, "`events[1]` is Email.Sent, which is not the name of an event: use email.sent"},
		{[]EventName{"email.recieved"}, "`events[0]` is email.recieved, which is not the name of an event: use email.received"},
		{[]EventName{"email.sent`<b>"}, "`events[0]` is not the name of an event"},
		{[]EventName{EmailSent, EmailBounced, "*"}, "`events[2]`"},
		{[]EventName{""}, "`events[0]`"},
		{slices.Repeat([]EventName{EmailSent}, 101), "`events`"},
	} {
		in := Input{Endpoint: "https://example.com", Events: tt.events}
		w, err := in.Validate(nil)
		if tt.field == "" && (err != nil || !slices.Equal(w.Events, tt.events)) || tt.field != "" && (err == nil || !strings.Contains(err.Error(), tt.field)) {
			t.Errorf("%q: %v", tt.events, err)
		}
	}
	if n := len(EventNames()); n != 34 {
		t.Errorf("%d events", n)
	}
	in := Input{Endpoint: "https://example.com", Events: []EventName{TopicDeleted, EmailSent, TopicDeleted}}
	if w, err := in.Validate(nil); err != nil || !slices.Equal(w.Events, []EventName{TopicDeleted, EmailSent}) || w.Status != Enabled {
		t.Errorf("%+v %v", w, err)
	}
	in.Status = "paused"
	if _, err := in.Validate(nil); err == nil {
		t.Error("any status is taken")
	}
}

func TestSecretsOfWebhooks(t *testing.T) {
	for text, want := range map[string]bool{
		secretText(24): true, secretText(32): true, secretText(64): true,
		secretText(23): false, secretText(65): false, secretText(0): false, "whsec_": false,
		strings.TrimPrefix(secretText(32), "whsec_"): false, "WHSEC_" + secretText(32)[6:]: false,
		strings.TrimRight(secretText(32), "="): false, "whsec_" + strings.Repeat("-_-_", 11): false,
		secretText(24)[:20] + "\n" + secretText(24)[20:]: false, secretText(32) + "\n": false, " " + secretText(32): false,
		"whsec_" + strings.Repeat("A", 42) + "B=": false, // unused bits are set
	} {
		in := Input{Endpoint: "https://example.com", Events: []EventName{EmailSent}, Secret: text}
		w, err := in.Validate(nil)
		if (err == nil) != want || err == nil && w.Secrets[0].String() != text {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && len(text) > 10 && strings.Contains(err.Error(), text) {
			t.Errorf("the refusal repeats %q", text)
		}
	}
	seen := map[string]bool{}
	for range 10 {
		in := Input{Endpoint: "https://example.com", Events: []EventName{EmailSent}}
		w, err := in.Validate(nil)
		if text := w.Secrets[0].String(); err != nil || seen[text] || len(w.Secrets[0].Key) != 32 {
			t.Errorf("made %q, %v", text, err)
		} else {
			seen[text] = true
		}
	}
}

func TestRotationsOfSecrets(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	hours := func(n int) *int { return &n }
	key := func(c byte) []byte { return []byte(strings.Repeat(string(c), 24)) }
	in := func(h int) int64 { return now.Add(time.Duration(h) * time.Hour).UnixMilli() }
	for _, tt := range []struct {
		name   string
		old    []SigningSecret
		hours  *int
		untils []int64 // of the remaining old secrets
	}{
		{"one day by itself", []SigningSecret{{Key: key('a')}}, nil, []int64{in(24)}},
		{"none", []SigningSecret{{Key: key('a')}}, hours(0), nil},
		{"the longest", []SigningSecret{{Key: key('a')}}, hours(72), []int64{in(72)}},
		{"an older one ends when it was to", []SigningSecret{{Key: key('a')}, {Key: key('b'), Until: in(5)}}, hours(10), []int64{in(10), in(5)}},
		{"an older one ends with it", []SigningSecret{{Key: key('a')}, {Key: key('b'), Until: in(50)}}, hours(10), []int64{in(10), in(10)}},
		{"one that ended goes", []SigningSecret{{Key: key('a')}, {Key: key('b'), Until: in(0)}}, hours(10), []int64{in(10)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Rotation{OverlapHours: tt.hours}
			got, err := r.Apply(tt.old, now)
			var untils []int64
			for _, s := range got[1:] {
				untils = append(untils, s.Until)
			}
			if err != nil || got[0].Until != 0 || !slices.Equal(untils, tt.untils) {
				t.Errorf("%v %v", got, err)
			}
		})
	}
	for _, bad := range []Rotation{{OverlapHours: hours(-1)}, {OverlapHours: hours(73)}, {Secret: "whsec_x"}} {
		if _, err := bad.Apply([]SigningSecret{{Key: key('a')}}, now); app.CodeOf(err) != app.CodeValidation {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	secrets := []SigningSecret{{Key: key('a')}}
	for range 50 {
		r := Rotation{}
		var err error
		if secrets, err = r.Apply(secrets, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(secrets) > maxSecrets {
		t.Errorf("%d secrets are kept", len(secrets))
	}
}

// TestSignaturesFollowStandardWebhooks: values are from the standard's documents, and computed
// with openssl dgst -sha256 -mac HMAC.
func TestSignaturesFollowStandardWebhooks(t *testing.T) {
	secret, err := secretOf("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1614265330, 0)
	const id, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := Sign([]SigningSecret{secret}, id, at, []byte(body)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := SigningSecret{Key: make([]byte, 24), Until: at.UnixMilli() + 1}
	ended := SigningSecret{Key: make([]byte, 24), Until: at.UnixMilli()}
	if got := strings.Fields(Sign([]SigningSecret{secret, other, ended}, id, at, []byte(body))); len(got) != 2 || got[0] != want || got[1] == want {
		t.Errorf("%q", got)
	}
	head := http.Header{}
	SignHeaders(head, []SigningSecret{secret}, id, at, []byte(body))
	for _, family := range []string{"webhook-", "svix-"} {
		if head.Get(family+"id") != id || head.Get(family+"timestamp") != "1614265330" || head.Get(family+"signature") != want {
			t.Errorf("%v", head)
		}
	}
}

func TestNextWebhookAttempt(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for i, want := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour} {
		if got := NextAttempt(i+1, now, 0).Sub(now); got != want {
			t.Errorf("after attempt %d: %s, want %s", i+1, got, want)
		}
	}
	for _, n := range []int{8, 9, 100} {
		if got := NextAttempt(n, now, time.Hour); !got.IsZero() {
			t.Errorf("after attempt %d: %s", n, got)
		}
	}
	if got := CrashTime(now).Sub(now); got <= Timeout || got > 30*time.Second {
		t.Errorf("after a crash: %s", got)
	}
	for wait, want := range map[time.Duration]time.Duration{
		time.Second: 5 * time.Second, time.Hour: time.Hour, 25 * time.Hour: 24 * time.Hour, math.MaxInt64: 24 * time.Hour,
	} {
		if got := NextAttempt(1, now, wait).Sub(now); got != want {
			t.Errorf("asked for %s: %s", wait, got)
		}
	}
	if got := NextAttempt(6, now, time.Hour).Sub(now); got != 10*time.Hour {
		t.Errorf("what is asked for makes the pause shorter: %s", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, " 120 ": 2 * time.Minute, "0005": 5 * time.Second,
		"86400": 24 * time.Hour, "86401": 24 * time.Hour, "4294967295": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour,
		"-1": 0, "+5": 0, "1.5": 0, "1e3": 0, "5 s": 0, "soon": 0,
		"Fri, 20 Nov 2026 12:01:00 GMT": time.Minute, "Friday, 20-Nov-26 12:01:00 GMT": time.Minute, "Fri Nov 20 12:01:00 2026": time.Minute,
		"Fri, 20 Nov 2026 11:00:00 GMT": 0, "Fri, 20 Nov 2099 11:00:00 GMT": 24 * time.Hour,
	} {
		for status, counts := range map[int]bool{429: true, 503: true, 500: false, 200: false, 301: false, 0: false} {
			expected := want
			if !counts {
				expected = 0
			}
			if got := RetryAfter(status, value, now); got != expected {
				t.Errorf("%d %q: %s, want %s", status, value, got, expected)
			}
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "1", "-1", "Fri, 20 Nov 2026 12:01:00 GMT", "99999999999999999999", "Fri, 20 Nov 9999 12:01:00 GMT", "\x00"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if got := RetryAfter(429, value, now); got < 0 || got > 24*time.Hour {
			t.Errorf("%q: %s", value, got)
		}
	})
}

func TestResponseExcerpts(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "ok": "ok", "a\r\nb\tc": "a\nb\tc", "\x1b[31m\x00": "[31m", "\xff\xfeé": "é", "\u0085\u007f": "",
		strings.Repeat("x", 2000):       strings.Repeat("x", 1000),
		strings.Repeat("x", 999) + "é€": strings.Repeat("x", 999),
	} {
		if got := ResponseExcerpt([]byte(in)); got != want {
			t.Errorf("%.20q: %.20q (%d)", in, got, len(got))
		}
	}
}

func TestMessageIDs(t *testing.T) {
	id := app.NewID()
	if got, ok := ParseMessageID(MessageID(id)); !ok || got != id {
		t.Errorf("%s: %s", id, got)
	}
	for _, bad := range []string{"", "msg_", id, "msg_x", "MSG_" + id, "msg_msg_" + id, "msg_" + id + "0"} {
		if _, ok := ParseMessageID(bad); ok {
			t.Errorf("%q is an id", bad)
		}
	}
}

func TestWebhookPatches(t *testing.T) {
	since := time.Unix(5, 0)
	was := Webhook{Endpoint: "https://a.example", Events: []EventName{EmailSent}, Status: Disabled, FailingSince: since}
	for _, tt := range []struct {
		patch Patch
		want  string // endpoint, events, status, whether it fails; empty: refused
	}{
		{Patch{}, "https://a.example [email.sent] disabled true"},
		{Patch{Endpoint: "https://a.example", Status: Disabled}, "https://a.example [email.sent] disabled true"},
		{Patch{Status: Enabled}, "https://a.example [email.sent] enabled false"},
		{Patch{Endpoint: "https://b.example"}, "https://b.example [email.sent] disabled false"},
		{Patch{Events: []EventName{TopicCreated, TopicCreated}}, "https://a.example [topic.created] disabled true"},
		{Patch{Endpoint: "http://b.example"}, ""},
		{Patch{Events: []EventName{"x"}}, ""},
		{Patch{Status: "paused"}, ""},
	} {
		got, err := tt.patch.Apply(was, nil)
		text := fmt.Sprint(got.Endpoint, " ", got.Events, " ", got.Status, " ", !got.FailingSince.IsZero())
		var refusal *app.Error
		if err != nil && (tt.want != "" || !errors.As(err, &refusal)) || err == nil && text != tt.want {
			t.Errorf("%+v: %s, %v", tt.patch, text, err)
		}
	}
}

func TestSubTypesOfBounces(t *testing.T) {
	for enhanced, want := range map[string]string{
		"5.1.1": "NoEmail", "5.1.2": "NoEmail", "5.1.10": "NoEmail", "5.2.1": "General", "5.2.2": "MailboxFull", "5.2.3": "MessageTooLarge",
		"5.3.4": "MessageTooLarge", "5.6.1": "ContentRejected", "5.7.1": "ContentRejected", "5.7.26": "General", "5.0.0": "General", "": "Undetermined",
	} {
		if got := BounceSubType(enhanced); got != want {
			t.Errorf("%s: %s, want %s", enhanced, got, want)
		}
	}
}
