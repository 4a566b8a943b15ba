package relays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/db"
)

// TestInput is the input of Test.
type TestInput struct {
	Region string
	To     string // empty: no message is sent
	From   string // empty: postmaster at a verified domain
}

// Tested is the result of Test.
type Tested struct {
	OK    bool            `json:"ok"` // all steps succeeded
	Steps []relayurl.Step `json:"steps"`
}

// Test tests a relay from this process, step by step, and with a recipient sends one signed
// message. Errors: app.CodeNotFound, CodeValidation.
func (s *Service) Test(ctx context.Context, in TestInput) (Tested, error) {
	relay, err := db.Get(ctx, s.DB, func(r *db.Reader) (relayurl.Relay, error) { return s.find(r, in.Region) })
	if err != nil {
		return Tested{}, wrap("test", in.Region, err)
	}
	m, err := s.testMessage(ctx, in)
	if err != nil {
		return Tested{}, err
	}
	if s.Probe == nil {
		return Tested{}, fmt.Errorf("test the relay %s: this process makes no connections", in.Region)
	}
	out := Tested{OK: true, Steps: s.Probe(ctx, relay, m, in.To != "")}
	for _, step := range out.Steps {
		out.OK = out.OK && step.OK
	}
	if last := len(out.Steps) - 1; last >= 0 {
		s.recordTest(relay, LastTest{OK: out.OK, TestedAt: clock.Now().UTC().Truncate(time.Millisecond), Step: out.Steps[last].Step, Reply: out.Steps[last].Reply})
	}
	return out, nil
}

func (s *Service) recordTest(relay relayurl.Relay, last LastTest) {
	s.testing.Lock()
	defer s.testing.Unlock()
	s.tests[testKey(relay.FullName(), hostOf(relay))] = last
}

// testKey is the key of a relay in tests: a changed host counts as not tested.
func testKey(region, host string) string { return region + " " + host }

// lastTest returns the last test of a relay by this process; zero: none.
func (s *Service) lastTest(region, host string) LastTest {
	s.testing.Lock()
	defer s.testing.Unlock()
	return s.tests[testKey(region, host)]
}

// TestAll tests every relay in the background, without sending a message, so that a wrong address
// or password shows before the first email does.
func (s *Service) TestAll() {
	if s.Probe == nil || s.Settings.Capture {
		return
	}
	for _, st := range s.delivery.RelayQueues.States() {
		s.Workers.Go(func() {
			tested, err := s.Test(s.Claiming, TestInput{Region: st.Relay.FullName()})
			if s.Claiming.Err() != nil {
				return
			}
			if err != nil {
				s.LogUnlessUnavailable("test a relay", err)
			} else if !tested.OK {
				last := tested.Steps[len(tested.Steps)-1]
				s.Log.Warn("a relay failed its test", "relay", st.Relay.FullName(), "host", hostOf(st.Relay), "step", last.Step, "said", last.Reply)
			}
		})
	}
}

// testMessage composes the message of a test. Without a verified domain the message has no sender
// and no recipient.
func (s *Service) testMessage(ctx context.Context, in TestInput) (*app.Outgoing, error) {
	team, domain, err := s.sender(ctx, in)
	if err != nil {
		return nil, err
	}
	if domain == "" {
		if in.To != "" || in.From != "" {
			return nil, app.Errorf(app.CodeValidation, "No team has a verified domain to send the message from; see `mailer domains list`")
		}
		return &app.Outgoing{}, nil
	}
	from, err := app.ParseAddress(orDefault(in.From, "postmaster@"+domain))
	if err != nil {
		return nil, app.Invalid("from", "%v", err)
	}
	to := from
	if in.To != "" {
		if to, err = app.ParseAddress(in.To); err != nil {
			return nil, app.Invalid("to", "%v", err)
		}
	}
	key, err := s.domains.DKIMKey(ctx, team, domain)
	if err != nil {
		return nil, fmt.Errorf("read the DKIM key of %s: %w", domain, err)
	}
	id, now := app.NewID(), clock.Now()
	return &app.Outgoing{EmailID: id, TeamID: team, EnvelopeFrom: from.Mailbox(), Recipients: []string{to.Mailbox()}, MessageID: app.EmailMessageID(id, domain), Date: now, DKIM: key,
		Mail: &app.Mail{From: from, To: []app.Address{to}, Subject: "Test of the relay " + in.Region,
			Text: "This message was sent by `mailer relays test " + in.Region + "` at " + app.FormatTime(now) + ".\n"}}, nil
}

func orDefault(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// sender returns a verified domain to send a test message from, and its team; preferably one of the
// relay's region. Empty: there is none.
func (s *Service) sender(ctx context.Context, in TestInput) (team, domain string, err error) {
	wanted := ""
	if in.From != "" {
		from, err := app.ParseAddress(in.From)
		if err != nil {
			return "", "", app.Invalid("from", "%v", err)
		}
		wanted = from.Domain
	}
	teams, err := s.teams.ListTeams(ctx)
	if err != nil {
		return "", "", err
	}
	for _, t := range teams {
		rows, _, err := s.domains.ListDomains(ctx, t.ID, app.Page{Limit: app.MaxLimit})
		if err != nil {
			return "", "", err
		}
		for _, d := range rows {
			if d.Status != app.DomainVerified || wanted != "" && !strings.EqualFold(d.Name, wanted) {
				continue
			}
			if s.Settings.RegionOf(d.Region) == regionOf(in.Region) {
				return t.ID, d.Name, nil
			}
			if domain == "" {
				team, domain = t.ID, d.Name
			}
		}
	}
	return team, domain, nil
}

// SendNotice sends a mail of the server to its operator through the first relay that accepts it,
// outside of the queue, quotas and suppressions.
func (s *Service) SendNotice(ctx context.Context, to, subject, text string) error {
	if s.Probe == nil {
		return errors.New("this process makes no connections")
	}
	states := s.delivery.RelayQueues.States()
	slices.SortStableFunc(states, func(a, b delivery.State) int { return isOpen(b) - isOpen(a) })
	why := errors.New("no relay is configured")
	for _, st := range states {
		m, err := s.testMessage(ctx, TestInput{Region: st.Relay.FullName(), To: to})
		if err != nil {
			return err
		}
		m.Mail.Subject, m.Mail.Text = subject, text
		m.Mail.Headers = []app.Header{{Name: "Auto-Submitted", Value: "auto-generated"}}
		if why = firstFailure(s.Probe(ctx, st.Relay, m, true)); why == nil {
			return nil
		}
	}
	return why
}

// isOpen returns 1 for a relay that accepts mail, else 0, for sorting.
func isOpen(st delivery.State) int {
	if st.State == delivery.RelayOpen {
		return 1
	}
	return 0
}

// firstFailure returns the step at which a relay failed as an error; nil: all steps succeeded.
func firstFailure(steps []relayurl.Step) error {
	for _, step := range steps {
		if !step.OK {
			return fmt.Errorf("%s: %s", step.Step, step.Reply)
		}
	}
	if len(steps) == 0 {
		return errors.New("nothing was tried")
	}
	return nil
}
