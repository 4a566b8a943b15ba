package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// Alerts is where the operator is notified of errors. The zero value means nowhere.
type Alerts struct {
	Webhook string // URL that gets a POST with JSON
	Secret  string // whsec_… that signs the requests like webhooks; empty: unsigned
	Email   string // address that gets a mail
}

// Bind adds the flags to those of a command.
func (a *Alerts) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&a.Webhook, "alert-webhook", "", "URL that gets a POST of JSON when the server finds an error")
	flags.StringVar(&a.Secret, "alert-webhook-secret", "", "secret (whsec_…) that signs these requests as webhooks are signed; better in MAILER_ALERT_WEBHOOK_SECRET or its _FILE")
	flags.StringVar(&a.Email, "alert-email", "", "address that gets a mail when the server finds an error")
}

// Check validates the flags. Errors name the flag.
func (a *Alerts) Check() error {
	if a.Webhook != "" {
		if u, err := url.Parse(a.Webhook); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("--alert-webhook is not an http or https URL")
		}
	}
	if a.Secret != "" {
		if _, err := webhook.ParseSecret(a.Secret); err != nil {
			return errors.New("--alert-webhook-secret must be whsec_ and the base64 of 24 to 64 bytes")
		}
		if a.Webhook == "" {
			return errors.New("--alert-webhook-secret is of no use without --alert-webhook")
		}
	}
	if a.Email != "" {
		if _, err := app.ParseAddress(a.Email); err != nil {
			return fmt.Errorf("--alert-email: %w", err)
		}
	}
	return nil
}

const (
	// alertInterval is how long a finding is not reported again, and the period in which at most
	// maxAlertMails mails are sent. Further alerts are sent in a digest at its end.
	alertInterval = 24 * time.Hour
	maxAlertMails = 10
	// alertWebhookTime is how long a webhook is retried, alertMailTime how long a mail waits for a
	// working relay.
	alertWebhookTime = 24 * time.Hour
	alertMailTime    = 7 * 24 * time.Hour
	// maxAlerts is the maximum number of pending alerts, and of lines in a digest.
	maxAlerts = 200
	// postTime is the timeout of a request to the webhook.
	postTime = 10 * time.Second

	alertsSetting = "alerts"
)

// alertState is the stored state of alerts. It is stored before anything is sent, so that after a
// crash only notifications in flight are repeated.
type alertState struct {
	Reported map[string]*findingState `json:"told"` // by Finding.key
	Pending  []alert                  `json:"waiting"`
	Window   time.Time                `json:"window"` // start of the 24 hours in which Mails were sent
	Mails    int                      `json:"mails"`
	Digest   []string                 `json:"digest"`
}

// findingState is the state of a finding.
type findingState struct {
	At  time.Time `json:"at"`  // last report; zero: never
	Red bool      `json:"red"` // it exists
	Due bool      `json:"due"` // it came back within alertInterval and is reported afterwards if it remains
}

// alert is an alert that was not sent everywhere yet. It contains only fixed texts and ids.
type alert struct {
	ID      string    `json:"id"`
	Finding string    `json:"finding"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
	Webhook bool      `json:"webhook"` // to be posted
	Mail    bool      `json:"mail"`    // to be mailed
}

// note updates the state by current findings and reports whether it changed.
func (s *alertState) note(found []Finding, now time.Time, to *Alerts) (changed bool) {
	if s.Reported == nil {
		s.Reported = map[string]*findingState{}
	}
	red := map[string]bool{}
	for i := range found {
		f := &found[i]
		if f.Severity != Error {
			continue
		}
		key := f.key()
		red[key] = true
		t := s.Reported[key]
		if t == nil {
			t = &findingState{}
			s.Reported[key] = t
		}
		if t.Red && !t.Due {
			continue
		}
		alerted := !t.At.IsZero() && now.Sub(t.At) < alertInterval
		changed = changed || !t.Red || !alerted
		t.Red, t.Due = true, alerted
		if !alerted && len(s.Pending) < maxAlerts {
			t.At = now
			s.Pending = append(s.Pending, alert{ID: app.NewID(), Finding: f.ID, Subject: f.Subject, Text: f.Notice(), At: now, Webhook: to.Webhook != "", Mail: to.Email != ""})
		}
	}
	for key, t := range s.Reported {
		if red[key] {
			continue
		}
		changed = changed || t.Red
		t.Red, t.Due = false, false
		if now.Sub(t.At) >= alertInterval {
			delete(s.Reported, key)
			changed = true
		}
	}
	return changed
}

// window starts the next 24 hours if the last have ended, with a digest of alerts beyond the
// limit.
func (s *alertState) window(now time.Time) (changed bool) {
	if now.Sub(s.Window) < alertInterval {
		return false
	}
	s.Window, s.Mails = now, 0
	if len(s.Digest) > 0 {
		s.Pending = append(s.Pending, alert{ID: app.NewID(), Finding: "digest", Text: fmt.Sprintf("%d more findings\n\n%s", len(s.Digest), strings.Join(s.Digest, "\n")), At: now, Mail: true})
		s.Digest = nil
	}
	return true
}

// done removes alerts that were sent everywhere or waited too long.
func (s *alertState) done(now time.Time) {
	s.Pending = slices.DeleteFunc(s.Pending, func(a alert) bool {
		age := now.Sub(a.At)
		return (!a.Webhook || age > alertWebhookTime) && (!a.Mail || age > alertMailTime)
	})
}

// alerter sends alerts to the operator.
type alerter struct {
	s     *Service
	to    Alerts
	state alertState
	post  http.RoundTripper
	mail  func(ctx context.Context, to, subject, text string) error
}

func (a *alerter) load(ctx context.Context) error {
	value, err := a.s.setting(ctx, alertsSetting)
	if err != nil || value == nil {
		return err
	}
	return json.Unmarshal(value, &a.state)
}

func (a *alerter) store(ctx context.Context) {
	value, err := json.Marshal(a.state)
	if err == nil {
		err = a.s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.SetSetting(alertsSetting, value) })
	}
	if err != nil && ctx.Err() == nil { // alerts are sent nevertheless: the operator should know about a full disk
		a.s.LogUnlessUnavailable("what was told of findings is not stored", err)
	}
}

// step sends alerts about new findings and retries earlier ones.
func (a *alerter) step(ctx context.Context, found []Finding) {
	now := clock.Now()
	changed := a.state.note(found, now, &a.to)
	if a.state.window(now) || changed {
		a.store(ctx)
	}
	mails := true // a relay may work
	for i := range a.state.Pending {
		w := &a.state.Pending[i]
		w.Webhook, w.Mail = w.Webhook && a.to.Webhook != "", w.Mail && a.to.Email != "" // the setting may have been cleared
		if w.Webhook && a.posted(ctx, w) {
			w.Webhook = false
			a.store(ctx)
		}
		if !w.Mail || !mails {
			continue
		}
		if a.state.Mails >= maxAlertMails {
			w.Mail = false
			if len(a.state.Digest) < maxAlerts {
				a.state.Digest = append(a.state.Digest, app.FormatTime(w.At)+" "+w.Text)
			}
			a.store(ctx)
			continue
		}
		if mails = a.mailed(ctx, w); mails {
			w.Mail = false
			a.state.Mails++
			a.store(ctx)
		}
	}
	if before := len(a.state.Pending); before > 0 {
		if a.state.done(now); len(a.state.Pending) != before {
			a.store(ctx)
		}
	}
}

func (a *alerter) mailed(ctx context.Context, w *alert) bool {
	title, _, _ := strings.Cut(w.Text, "\n")
	text := fmt.Sprintf("%s\n\nFound at %s by the Mailer server %s.\n\nDetails and what helps: %s/dashboard/operator/health, or the commands mailer status and mailer doctor.\nYou get at most one mail about a finding in 24 hours, and at most %d mails a day.\n",
		w.Text, app.FormatTime(w.At), a.s.Settings.BaseURL, a.s.Settings.BaseURL, maxAlertMails)
	if err := a.mail(ctx, a.to.Email, "Mailer: "+title, text); err != nil {
		if ctx.Err() == nil {
			a.s.Log.Warn("an alert could not be mailed, and is tried again", "finding", w.Finding, "subject", w.Subject, "err", err)
		}
		return false
	}
	return true
}

// alertBody is the body of a webhook request.
type alertBody struct {
	Type      string    `json:"type"`
	CreatedAt string    `json:"created_at"`
	Data      alertData `json:"data"`
}

type alertData struct {
	Finding  string   `json:"finding"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"`
	Text     string   `json:"text"`
	Server   string   `json:"server"`
}

func (a *alerter) posted(ctx context.Context, w *alert) bool {
	body, err := json.Marshal(alertBody{"server.finding", app.FormatTime(w.At), alertData{w.Finding, Error, w.Subject, w.Text, a.s.Settings.BaseURL}})
	if err == nil {
		err = a.send(ctx, w.ID, body)
	}
	if err != nil && ctx.Err() == nil {
		a.s.Log.Warn("an alert could not be posted, and is tried again", "finding", w.Finding, "subject", w.Subject, "err", err)
	}
	return err == nil
}

// send posts to the webhook. Any address is allowed, since the operator chose it. Redirects are
// not followed.
func (a *alerter) send(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.to.Webhook, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL of the webhook can't be used")
	}
	req.Header.Set("Content-Type", "application/json")
	if a.to.Secret != "" {
		secret, err := webhook.ParseSecret(a.to.Secret)
		if err != nil {
			return err
		}
		webhook.SignHeaders(req.Header, []webhook.SigningSecret{secret}, webhook.MessageID(id), clock.Now(), body)
	}
	client := http.Client{Transport: a.post, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var why *url.Error
		if errors.As(err, &why) { // its text contains the URL, which may have a secret
			err = why.Err
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // allows reuse of the connection
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("it answered %d", res.StatusCode)
	}
	return nil
}

const (
	// watchEvery is the interval of checks for findings, roundEvery of deep checks.
	watchEvery = 30 * time.Second
	roundEvery = 10 * time.Minute
)

// SetAlerts changes where the operator is notified. Check has validated to.
func (s *Service) SetAlerts(to Alerts) {
	if s.Settings.Capture { // no mail is sent
		to.Email = ""
	}
	s.alerts.Store(&to)
}

// Watch checks the server in the background and notifies the operator of errors.
func (s *Service) Watch() { s.watch(nil, s.routing.SendNotice) }

func (s *Service) watch(post http.RoundTripper, mail func(ctx context.Context, to, subject, text string) error) {
	a := &alerter{s: s, post: post, mail: mail}
	s.Workers.Go(func() {
		if err := a.load(s.Claiming); err != nil && s.Claiming.Err() == nil {
			s.Log.Warn("what was told of findings can't be read", "err", err)
		}
		var next time.Time
		for base.Sleep(s.Claiming, watchEvery, nil) {
			if !s.DB.Cluster().Leads() {
				continue
			}
			if now := clock.Now(); !now.Before(next) {
				next = now.Add(roundEvery)
				<-s.begin(false).done
			}
			found, err := s.Findings(s.Claiming)
			if err != nil {
				continue // the log has the database's error
			}
			if to := s.alerts.Load(); to != nil && (to.Webhook != "" || to.Email != "") {
				a.to = *to
				a.step(s.Claiming, found)
			}
		}
	})
}
