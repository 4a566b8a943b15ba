package reports

import (
	"context"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/mailreport"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// warn announces what a counted report that came by mail gives reason to warn of, each kind once in
// mailreport.WarnEvery.
func (s *Service) warn(ctx context.Context, m *app.MailReport, domain string, sources []app.ReportSource) error {
	in := mailreport.WarningInput{Domain: domain, Day: m.Begin}
	if m.Kind == app.ReportTLS {
		in.Sessions, in.FailedSessions = m.Messages, m.Messages-m.Passed
	} else if err := s.failures(ctx, m, sources, &in); err != nil {
		return err
	}
	warnings := mailreport.Warn(in)
	if len(warnings) == 0 {
		return nil
	}
	return base.Unavailable(s.DB.Write(ctx, func(tx *db.Tx) error {
		for _, w := range warnings {
			first, err := tx.WarnOfReports(m.TeamID, m.DomainID, string(w.Kind), tx.Now.Add(-mailreport.WarnEvery))
			if err != nil {
				return err
			}
			if !first {
				continue
			}
			err = s.events.Announce(tx, m.TeamID, webhook.DomainReportWarning, func() (any, error) {
				return webhook.ReportWarningData{DomainID: m.DomainID, Domain: domain, Warning: w.Kind, Message: w.Sentence.Text, Day: m.Day(), ReportID: m.ID}, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// failures reads what a warning of failing messages depends on. Uploaded reports don't count for it.
func (s *Service) failures(ctx context.Context, m *app.MailReport, sources []app.ReportSource, in *mailreport.WarningInput) error {
	var named app.NamedSources
	var days []app.ReportDay
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if named, err = r.NamedSources(m.TeamID, m.DomainID); err != nil {
			return err
		}
		days, err = r.ReportDays(m.TeamID, m.DomainID, m.Kind, m.Begin.Add(-mailreport.RiseHistory).UTC().Format(time.DateOnly))
		return err
	})
	if err != nil {
		return base.Lookup("domain", err)
	}
	in.Sources = sourcesOf(sources, &named, nil)
	failed := map[string]int64{}
	for _, d := range days {
		if d.Uploaded > 0 || d.Day > m.Day() {
			continue
		}
		failed[d.Day] += d.Messages - d.Passed
		if d.Day == m.Day() {
			in.Messages += d.Messages
		}
	}
	in.Failed = failed[m.Day()]
	for day, n := range failed {
		if day != m.Day() {
			in.FailedBefore = append(in.FailedBefore, n)
		}
	}
	return nil
}

// sourcesOf returns sources as rules take them, with the answers of the team and the reverse names.
func sourcesOf(sources []app.ReportSource, named *app.NamedSources, names map[string]string) []mailreport.Source {
	out := make([]mailreport.Source, len(sources))
	for i := range sources {
		s := &sources[i]
		out[i] = mailreport.Source{Source: s.Source, ReverseName: names[s.Source], Messages: s.Messages, PassedAligned: s.Passed, FailedBoth: s.Messages - s.Passed}
		switch own, other := named.Named(s.Source); {
		case own:
			out[i].Named = mailreport.Own
		case other:
			out[i].Named = mailreport.NotOwn
		}
	}
	return out
}
