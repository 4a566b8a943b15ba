package reports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/inbound"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/mailreport"
	"mailer/db"
)

// Take stores the report in a message for each domain among its recipients. It returns nil once that is on disk; also
// for a message without a report, with one that can't be read or is about another domain, and for a report that is
// stored already. why says so for the log; empty: it was stored. Errors: ErrNotNow, those of the store and of ctx.
func (s *Service) Take(ctx context.Context, in Delivery) (why string, err error) {
	if len(in.To) == 0 {
		return "", errors.New("reports: a message without recipients")
	}
	err = s.read(ctx, in.To[0].TeamID, func() error {
		why, err = s.take(ctx, &in)
		return err
	})
	return why, err
}

func (s *Service) take(ctx context.Context, in *Delivery) (why string, err error) {
	raw := make([]byte, in.Size)
	if _, err := io.ReadFull(io.NewSectionReader(in.Raw, 0, in.Size), raw); err != nil {
		return "", fmt.Errorf("read a message with a report: %w", err)
	}
	found := reportInMail(raw)
	if found == nil {
		return "the message has no report", nil
	}
	c, err := readReport(found)
	if err != nil {
		return reasonOf(err), nil
	}
	m := inbound.Parse(raw)
	auth := s.Check(ctx, mailauth.Input{Raw: raw, Remote: in.RemoteIP, Helo: in.Helo, MailFrom: in.MailFrom, FromDomains: m.FromDomains})
	for _, t := range in.To {
		fault, err := s.takeFor(ctx, c, m.FromEmail, auth, t)
		if err != nil {
			return "", err
		}
		if fault != "" {
			why = fault
		}
	}
	return why, nil
}

// takeFor stores a report for one domain.
func (s *Service) takeFor(ctx context.Context, c *content, from string, auth app.ReceivedAuth, t Target) (why string, err error) {
	head, sources, ok := c.about(t.Domain, true)
	if !ok || c.kind != t.Kind {
		return "the report is not about the domain of its address", nil
	}
	if err := checkPeriod(&head, clock.Now(), s.kept()); err != nil {
		return reasonOf(err), nil
	}
	sent, err := db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) {
		return r.SentOf(t.TeamID, t.Domain, head.Begin.Add(-sentBefore), head.End)
	})
	if err != nil {
		return "", base.Unavailable(err)
	}
	head.ID, head.TeamID, head.DomainID, head.Origin = app.NewID(), t.TeamID, t.DomainID, app.ReportMailed
	head.Counted, head.Why = mailreport.Counts(mailreport.CountsInput{From: from, Email: c.email, DKIMDomains: auth.DKIMDomains, Domain: t.Domain, Begin: head.Begin, End: head.End, Sent: sent})
	if !head.Counted && auth.DKIM == app.AuthTempError {
		return "", ErrNotNow
	}
	stored, err := s.store(ctx, &head, sources)
	switch {
	case err != nil:
		return "", err
	case stored != "":
		return stored, nil
	case !head.Counted:
		return head.Why, nil
	}
	return "", s.warn(ctx, &head, t.Domain, sources)
}

// sentBefore is how long before the period of a report its mail may have left: receivers defer mail.
const sentBefore = 24 * time.Hour

// Why a report was not stored.
const (
	alreadyStored = "the report is stored already"
	dayIsFull     = "the domain has the most reports already that are kept of a day"
)

// store stores a report. why says why it is not stored; empty: it is.
func (s *Service) store(ctx context.Context, m *app.MailReport, sources []app.ReportSource) (why string, err error) {
	limit := app.MaxReportsOfDay
	if !m.Counted {
		limit = app.MaxUncountedOfDay
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		why = ""
		if dup, err := tx.HasMailReport(m); err != nil || dup {
			why = alreadyStored
			return err
		}
		if n, err := tx.MailReportsOfDay(m, limit); err != nil || n >= limit {
			why = dayIsFull
			return err
		}
		if _, err := tx.NamedSources(m.TeamID, m.DomainID); err != nil { // the domain was deleted meanwhile
			return err
		}
		m.CreatedAt = tx.Now
		return tx.InsertMailReport(m, sources)
	})
	return why, base.Lookup("domain", err)
}
