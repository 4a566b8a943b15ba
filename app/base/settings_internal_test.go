package base

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

func TestDifferentSettingsAreLoggedOnce(t *testing.T) {
	own := Settings{BaseURL: "https://a.example", Compat: app.CompatStrict}
	for name, c := range map[string]struct {
		leader            Settings
		logged, notLogged []string
	}{
		"the same":         {Settings{BaseURL: "https://a.example"}, nil, []string{"WARN"}},
		"a rule":           {Settings{BaseURL: "https://a.example", Compat: app.CompatResend}, []string{"different rules", "this.compat=strict", "it.compat=resend"}, []string{"capture", "mode", "bounce_host", "base_url", "passkey"}},
		"what is kept":     {Settings{BaseURL: "https://a.example", Keep: app.Retention{Content: time.Hour}}, []string{"this.keep_content=0s", "it.keep_content=1h0m0s"}, []string{"keep_emails", "compat"}},
		"two rules":        {Settings{BaseURL: "https://a.example", Cloud: true, Enforce: true}, []string{"this.mode=self-hosted", "it.mode=cloud", "this.guardrails=warn", "it.guardrails=enforce"}, []string{"compat"}},
		"the address":      {Settings{BaseURL: "https://b.example"}, []string{"--base-url", "passkey", "this.base_url=https://a.example", "it.base_url=https://b.example"}, []string{"rules", "compat"}},
		"address and rule": {Settings{BaseURL: "https://b.example", BounceHost: "in.example"}, []string{"it.base_url=https://b.example", "it.bounce_host=in.example", "different rules"}, []string{"compat"}},
	} {
		var log bytes.Buffer
		s := &Base{Log: slog.New(slog.NewTextHandler(&log, nil)), Settings: own}
		s.warnDifferentSettings(&c.leader)
		first := log.String()
		s.warnDifferentSettings(&c.leader)
		if log.String() != first {
			t.Errorf("%s: logged again: %s", name, log.String())
		}
		for _, text := range c.logged {
			if !strings.Contains(first, text) {
				t.Errorf("%s: no %q in %s", name, text, first)
			}
		}
		for _, text := range c.notLogged {
			if strings.Contains(first, text) {
				t.Errorf("%s: %q in %s", name, text, first)
			}
		}
	}
}
