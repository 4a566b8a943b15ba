package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mailer/app/operate/health"
)

func TestSettingsShowSourceWithoutSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "relay")
	if err := os.WriteFile(file, []byte("eu=smtp://someone:hunter2@relay.example:587"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MAILER_RELAY_FILE", file)
	t.Setenv("MAILER_SNS_TOPIC", "arn:a arn:b")
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.StringArray("relay", nil, "relays")
	flags.StringArray("sns-topic", nil, "topics")
	flags.String("listen", "127.0.0.1:3000", "address")
	flags.String("mode", "self-hosted", "mode")
	flags.String("base-url", "", "public address")
	flags.String("rspamd", "", "spam filter")
	flags.Bool("help", false, "")
	if err := flags.Parse([]string{"--mode", "cloud", "--rspamd", "http://someone:hunter2@127.0.0.1:11333"}); err != nil {
		t.Fatal(err)
	}
	if err := ReadEnvironment(flags); err != nil {
		t.Fatal(err)
	}
	got := map[string]health.Setting{}
	for _, s := range SettingsInForce(flags, map[string]string{"base-url": "http://127.0.0.1:3000"}) {
		if got[s.Name] = s; strings.Contains(s.Value, "someone") || strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s shows %s", s.Name, s.Value)
		}
	}
	for name, want := range map[string]health.Setting{
		"relay":     {Value: "eu (smtp://relay.example:587)", From: health.FromFile, Variable: "MAILER_RELAY_FILE", About: "relays"},
		"sns-topic": {Value: "arn:a, arn:b", From: health.FromEnvironment, Variable: "MAILER_SNS_TOPIC", About: "topics"},
		"mode":      {Value: "cloud", From: health.FromFlag, Variable: "MAILER_MODE", About: "mode"},
		"listen":    {Value: "127.0.0.1:3000", From: health.FromDefault, Variable: "MAILER_LISTEN", About: "address"},
		"rspamd":    {Value: "http://…@127.0.0.1:11333", From: health.FromFlag, Variable: "MAILER_RSPAMD", About: "spam filter"},
		"base-url":  {Value: "http://127.0.0.1:3000", From: health.FromDefault, Variable: "MAILER_BASE_URL", About: "public address"},
	} {
		want.Name = name
		if got[name] != want {
			t.Errorf("%+v, want %+v", got[name], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d settings", len(got))
	}
}
