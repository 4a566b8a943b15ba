package retention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/operate/retention"
)

func TestParseRetention(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "30d": 30 * day, "2w": 14 * day, "1y": 365 * day, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "200y": 200 * 365 * day} {
		got, err := retention.ParseRetention(text)
		if err != nil || got != want {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
		if again, err := retention.ParseRetention(retention.FormatRetention(got)); err != nil || again != got {
			t.Errorf("%s is written as %s", text, retention.FormatRetention(got))
		}
	}
	for _, text := range []string{"", "30", "-1d", "d", "1.5y", "201y", "99999999999999y", "1ms", "0d", "x", "1d12h"} {
		if got, err := retention.ParseRetention(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

func TestInvalidFlagsAreNamed(t *testing.T) {
	var f retention.Flags
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.Bind(set)
	if err := set.Parse([]string{"--keep-content", "30d", "--keep-emails=soon"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), `--keep-emails: "soon"`) {
		t.Errorf("%v", err)
	}
	if err := set.Set("keep-emails", "1y"); err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); err != nil || f.Retention() != (app.Retention{Content: 30 * day, Emails: 365 * day, OptIns: 30 * day, Received: 30 * day, Reports: 400 * day}) {
		t.Errorf("%+v, %v", f.Retention(), err)
	}
	text, err := f.Retention().MarshalText()
	var back app.Retention
	if err != nil || back.UnmarshalText(text) != nil || back != f.Retention() {
		t.Errorf("%s is read as %+v", text, back)
	}
	back = app.Retention{}
	if err := back.UnmarshalText([]byte("1 2 3")); err != nil || back != (app.Retention{Content: 1, Emails: 2, Broadcasts: 3}) { // of an earlier version
		t.Errorf("%+v, %v", back, err)
	}
	for text, ok := range map[string]bool{"30d": true, "10y": true, "29d": false, "11y": false, "0": false} {
		if err := set.Set("keep-reports", text); err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "--keep-reports") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := set.Set("keep-reports", "400d"); err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{"1d": true, "365d": true, "23h": false, "366d": false, "0": false} {
		if err := set.Set("keep-opt-ins", text); err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "--keep-opt-ins") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
