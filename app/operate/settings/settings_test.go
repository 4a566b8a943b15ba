package settings_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// started are the settings of the tests' servers at the start, with --keep-emails 1y.
var started = []health.Setting{
	{Name: "listen", Value: ":3000", From: health.FromFlag},
	{Name: "keep-content", Value: "0", From: health.FromDefault},
	{Name: "keep-emails", Value: "1y", From: health.FromFlag},
	{Name: "guardrails", Value: "warn", From: health.FromDefault},
	{Name: "alert-webhook", From: health.FromDefault},
	{Name: "alert-webhook-secret", From: health.FromDefault},
	{Name: "backup-dir", From: health.FromDefault},
}

func idle(t *testing.T, relays ...*testserver.FakeRelay) *testserver.Server {
	return testserver.NewWithConfig(t, server.Config{FlagValues: map[string]string{"keep-emails": "1y"}, Retention: app.Retention{Emails: 365 * 24 * time.Hour}}, relays...)
}

func values(pairs ...string) map[string]*string {
	out := map[string]*string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &pairs[i+1]
	}
	return out
}

// message returns a setting as an operator sees it.
func message(s *server.Server, name string) string {
	for _, one := range s.RuntimeSettings.List(started) {
		if one.Name == name {
			word := " fixed"
			if one.Changeable {
				word = " changeable"
			}
			return one.Value + " " + one.From + word
		}
	}
	return "not there"
}

func want(t *testing.T, s *server.Server, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := message(s, pairs[i]); got != pairs[i+1] {
			t.Errorf("%s: %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}

func TestStoredSettingTakesEffect(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := idle(t, testserver.NewRelay(nil))
		w.Start()
		want(t, w.Services, "keep-content", "0 default changeable", "keep-emails", "1y flag fixed", "listen", ":3000 flag fixed")
		testserver.Must(t, w.Services.RuntimeSettings.Change(t.Context(), values("keep-content", "30d", "guardrails", "enforce", "webhooks-per-team", "1")))
		for range 2 {
			want(t, w.Services, "keep-content", "30d database changeable", "guardrails", "enforce database changeable")
			kept := app.Retention{Content: 30 * 24 * time.Hour, Emails: 365 * 24 * time.Hour, OptIns: 30 * 24 * time.Hour, Received: 30 * 24 * time.Hour, Reports: 400 * 24 * time.Hour}
			if r := w.Services.Settings.Rules(); !r.Enforce || r.Keep != kept {
				t.Errorf("in force are %+v", r)
			}
			if r := w.CommandServices().Settings.Rules(); !r.Enforce || r.Keep != kept {
				t.Errorf("a command uses %+v while the server runs", r)
			}
			_, err := w.Services.Webhooks.CreateWebhook(t.Context(), w.Key, webhook.Input{Endpoint: "https://two.example.com", Events: []webhook.EventName{"email.sent"}})
			testserver.WantCode(t, err, app.CodeConflict)
			w.StopFor(time.Second)
		}
		testserver.Must(t, w.Services.RuntimeSettings.Change(t.Context(), map[string]*string{"keep-content": nil, "guardrails": nil}))
		want(t, w.Services, "keep-content", "0 default changeable", "guardrails", "warn default changeable")
		if r := w.Services.Settings.Rules(); r.Enforce || r.Keep.Content != 0 {
			t.Errorf("the defaults are not in force: %+v", r)
		}
	})
}

func TestNewMaxWaitAppliesAtNextAttempt(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := idle(t, testserver.NewRelay(testserver.Always(testserver.ReplyWith(app.StageRcpt, 451, "come again"))))
		w.Start()
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("anna@example.net"), mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(time.Hour)
		w.WantLastEvent(id, app.Queued)
		testserver.Must(t, w.Services.RuntimeSettings.Change(t.Context(), values("max-wait", "30m")))
		time.Sleep(time.Hour) // its next attempt is within this time
		w.WantLastEvent(id, app.Failed)
	})
}

func TestInvalidSettingIsRefused(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := idle(t, testserver.NewRelay(nil))
		w.Start()
		for name, c := range map[string]struct {
			values map[string]*string
			code   app.Code
			words  string
		}{
			"none":             {nil, app.CodeValidation, "must name a setting"},
			"unknown":          {values("nothing", "1"), app.CodeValidation, `"nothing"`},
			"only at a start":  {values("listen", ":1"), app.CodeValidation, `"listen"`},
			"by a flag":        {values("keep-emails", "2y"), app.CodeConflict, "--keep-emails"},
			"no time":          {values("keep-content", "30"), app.CodeValidation, "keep-content"},
			"no choice":        {values("guardrails", "off"), app.CodeValidation, "enforce or warn"},
			"no number":        {values("webhooks-per-team", "many"), app.CodeValidation, "webhooks-per-team"},
			"no share":         {values("transactional-reserve", "NaN"), app.CodeValidation, "between 0 and 0.95"},
			"no address":       {values("alert-email", "ops"), app.CodeValidation, "alert-email"},
			"no URL":           {values("alert-webhook", "ftp://example.com"), app.CodeValidation, "http"},
			"a lone secret":    {values("alert-webhook-secret", "whsec_"+strings.Repeat("A", 32)), app.CodeValidation, "alert-webhook"},
			"a relative path":  {values("backup-dir", "backups"), "", "backup-dir"},
			"no such folder":   {values("backup-dir", "/nowhere/at/all"), "", "backup-dir"},
			"one of two is no": {values("keep-content", "7d", "compat", "x"), app.CodeValidation, "strict or resend"},
		} {
			err := w.Services.RuntimeSettings.Change(t.Context(), c.values)
			if c.code != "" {
				testserver.WantCode(t, err, c.code)
			}
			if err == nil || c.code != "" && !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v", name, err)
			}
		}
		want(t, w.Services, "keep-content", "0 default changeable")
	})
}

func TestSecretSettingIsSealed(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := idle(t, testserver.NewRelay(nil))
		w.Start()
		secret := "whsec_" + strings.Repeat("Qk", 20)
		testserver.Must(t, w.Services.RuntimeSettings.Change(t.Context(), values("alert-webhook", "https://hooks.example.com/services/T0KEN", "alert-webhook-secret", secret)))
		want(t, w.Services, "alert-webhook", "https://hooks.example.com/… database changeable", "alert-webhook-secret", "… database changeable")
		var seen strings.Builder
		w.Read(func(r *db.Reader) error {
			entries, _, err := r.AuditPages(&db.AuditFilter{}, app.Page{Limit: 50})
			for _, e := range entries {
				seen.WriteString(e.Action + e.Target + e.Before + e.After)
			}
			value, _ := r.Setting(db.SealedSetting + "flags")
			seen.Write(value)
			return err
		})
		if !strings.Contains(seen.String(), "settings.updatealert-webhook-secret") {
			t.Error("the audit log does not have the change")
		}
		if strings.Contains(seen.String(), "T0KEN") || strings.Contains(seen.String(), secret) || w.Log.Contains("T0KEN") || w.Log.Contains(secret) {
			t.Errorf("a secret is shown: %s", seen.String())
		}
		testserver.Must(t, w.Services.RuntimeSettings.Change(t.Context(), map[string]*string{"alert-webhook": nil}))
		want(t, w.Services, "alert-webhook", " default changeable", "alert-webhook-secret", " default changeable")
	})
}

func TestUnusableStoredSettingIsIgnored(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := idle(t, testserver.NewRelay(nil))
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			return w.Services.SetSealedSetting(tx, "flags", []byte(`{"keep-content":"7d","guardrails":"perhaps","gone":"1"}`))
		}))
		w.Start()
		if r := w.Services.Settings.Rules(); r.Keep.Content != 7*24*time.Hour || r.Enforce {
			t.Errorf("in force are %+v", r)
		}
		if !w.Log.Contains("a stored setting can't be used") {
			t.Error("it is not logged")
		}
	})
}

func TestStoredSettingReachesAllServers(t *testing.T) {
	testserver.PostgresOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		one := idle(t, testserver.NewRelay(nil))
		one.Start()
		two := one.AddNode(testserver.NewRelay(nil))
		for _, change := range []struct{ at, other *testserver.Server }{{one, two}, {two, one}} {
			testserver.Must(t, change.at.Services.RuntimeSettings.Change(t.Context(), values("guardrails", "enforce")))
			time.Sleep(3 * time.Second)
			want(t, change.other.Services, "guardrails", "enforce database changeable")
			if !change.other.Services.Settings.Rules().Enforce {
				t.Error("the other server does not use it")
			}
			testserver.Must(t, change.at.Services.RuntimeSettings.Change(t.Context(), map[string]*string{"guardrails": nil}))
			time.Sleep(3 * time.Second)
		}
		if one.Log.Contains("other flags") || two.Log.Contains("other flags") {
			t.Error("a stored setting is taken for a flag that differs")
		}
	})
}
