package feedback

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func TestSuppresses(t *testing.T) {
	for _, tt := range []struct {
		kind    Kind
		bounce  app.BounceType
		subType string
		code    string
		want    bool
	}{
		{Bounced, app.BouncePermanent, "General", "5.1.1", true},
		{Bounced, app.BouncePermanent, "General", "5.1.2", true},
		{Bounced, app.BouncePermanent, "General", "5.1.3", true},
		{Bounced, app.BouncePermanent, "General", "5.1.6", true},
		{Bounced, app.BouncePermanent, "General", "5.1.10", true},
		{Bounced, app.BouncePermanent, "General", "5.2.1", true},
		{Bounced, "", "", "5.1.1", true},
		{Bounced, app.BouncePermanent, "NoEmail", "", true},
		{Bounced, app.BouncePermanent, "NoEmail", "5.0.0", true},
		{Bounced, app.BouncePermanent, "NoEmail", "5.1.0", true},
		{Bounced, app.BouncePermanent, "Suppressed", "", true},
		{Bounced, app.BouncePermanent, "OnAccountSuppressionList", "", true},
		{Complained, "", "", "", true},
		{Complained, "", "", "5.7.1", true},
		{Bounced, app.BouncePermanent, "NoEmail", "5.7.1", false},
		{Bounced, app.BouncePermanent, "General", "5.7.1", false},
		{Bounced, app.BouncePermanent, "General", "5.7.26", false},
		{Bounced, app.BouncePermanent, "General", "5.2.2", false},
		{Bounced, app.BouncePermanent, "General", "5.2.3", false},
		{Bounced, app.BouncePermanent, "General", "5.3.4", false},
		{Bounced, app.BouncePermanent, "General", "5.6.0", false},
		{Bounced, app.BouncePermanent, "General", "5.1.7", false},
		{Bounced, app.BouncePermanent, "General", "5.1.8", false},
		{Bounced, app.BouncePermanent, "General", "5.4.4", false},
		{Bounced, app.BouncePermanent, "General", "5.0.0", false},
		{Bounced, app.BouncePermanent, "General", "5.5.0", false},
		{Bounced, app.BouncePermanent, "General", "", false},
		{Bounced, app.BouncePermanent, "MailboxFull", "", false},
		{Bounced, app.BouncePermanent, "MessageTooLarge", "", false},
		{Bounced, app.BouncePermanent, "ContentRejected", "5.0.0", false},
		{Bounced, app.BouncePermanent, "General", "4.1.1", false},
		{Bounced, app.BounceTransient, "General", "5.1.1", false},
		{Bounced, app.BounceTransient, "NoEmail", "", false},
		{Bounced, app.BounceUndetermined, "NoEmail", "5.1.1", false},
		{Bounced, "", "NoEmail", "", false},
		{Delayed, app.BouncePermanent, "NoEmail", "5.1.1", false},
		{Failed, app.BouncePermanent, "NoEmail", "5.1.1", false},
		{Delivered, "", "", "", false},
		{Opened, "", "", "", false},
	} {
		f := Report{Kind: tt.kind, Bounce: tt.bounce, SubType: tt.subType, Enhanced: tt.code}
		if got := Suppresses(f); got != tt.want {
			t.Errorf("%s %s %s %s: suppresses %v", tt.kind, tt.bounce, tt.subType, tt.code, got)
		}
	}
}

func TestStrongerOriginReplacesWeaker(t *testing.T) {
	order := []app.SuppressionOrigin{app.OriginUnsubscribe, app.OriginBounce, app.OriginComplaint, app.OriginManual}
	for i, stands := range order {
		for j, report := range order[1:3] {
			if got, want := stands.OverriddenBy(report), j+1 > i; got != want {
				t.Errorf("%s gives way to %s: %v", stands, report, got)
			}
		}
	}
}

func TestProviderIDInReply(t *testing.T) {
	for text, want := range map[string]string{
		"Ok 010001944a3b2c1d-4f5e6d7c-1111-2222-3333-444455556666-000000": "010001944a3b2c1d-4f5e6d7c-1111-2222-3333-444455556666-000000",
		"Ok: queued as 4Wx":                 "",
		"Ok short":                          "",
		"OK 010001944a3b2c1d-4f5e6d7c-1111": "",
		"Ok 010001944a3b2c1d 4f5e6d7c-1111": "",
		"":                                  "",
		"Ok " + strings.Repeat("a", 200):    "",
	} {
		if got := ProviderIDIn(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestBound(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	accepted := now.Add(-time.Hour)
	f := Report{Kind: Bounced, Enhanced: "5.1.1", Diagnostic: "a\r\nb\x00" + strings.Repeat("ü", 600), IPAddress: "<script>",
		UserAgent: "x\ny", At: now.Add(time.Hour)}.Bound(accepted, now)
	if !strings.HasPrefix(f.Diagnostic, "a b ü") || len(f.Diagnostic) > 500 || f.IPAddress != "" || f.UserAgent != "xy" || !f.At.Equal(now) ||
		f.Bounce != app.BouncePermanent || len(f.ID) != 64 {
		t.Errorf("%+v", f)
	}
	if got := (Report{At: accepted.Add(-time.Hour), Enhanced: "5.1.1 x"}).Bound(accepted, now); !got.At.Equal(accepted) || got.Enhanced != "" {
		t.Errorf("%+v", got)
	}
	a, b := Report{Recipient: "ab", MessageID: "c"}, Report{Recipient: "b", MessageID: "ca"}
	if a.Bound(accepted, now).ID == b.Bound(accepted, now).ID {
		t.Error("different reports have the same fingerprint")
	}
	if again := (Report{Recipient: "ab", MessageID: "c"}); again.Bound(accepted, now).ID != a.Bound(accepted, now.Add(time.Minute)).ID {
		t.Error("the same report has another fingerprint later")
	}
}
