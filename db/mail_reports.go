package db

import (
	"database/sql"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/rules/counters"
)

const mailReportColumns = `m.id, m.team_id, m.domain_id, m.kind, m.origin, m.counted, m.why, m.reporter, m.name, m.report_id, m.begin_at, m.end_at, m.policy, m.messages, m.passed, m.created_at`

func scanMailReport(s scanner) (m app.MailReport, err error) {
	var why sql.NullString
	var begin, end, created int64
	err = s.Scan(&m.ID, &m.TeamID, &m.DomainID, &m.Kind, &m.Origin, &m.Counted, &why, &m.Reporter, &m.Name, &m.ReportID, &begin, &end, &m.Policy, &m.Messages, &m.Passed, &created)
	m.Why, m.Begin, m.End, m.CreatedAt = why.String, fromMilli(begin), fromMilli(end), fromMilli(created)
	return m, err
}

// HasMailReport reports whether a domain has a report already: one with the same kind, reporter, id and counting.
func (r *Reader) HasMailReport(m *app.MailReport) (bool, error) {
	err := r.Exists(`SELECT 1 FROM mail_reports WHERE team_id = ? AND domain_id = ? AND kind = ? AND reporter = ? AND report_id = ? AND counted = ?`,
		m.TeamID, m.DomainID, string(m.Kind), m.Reporter, m.ReportID, m.Counted)
	return err == nil, ignoreNotFound(err)
}

// MailReportsOfDay counts the reports of a domain on a day that are counted, or those that are not, up to limit.
func (r *Reader) MailReportsOfDay(m *app.MailReport, limit int) (n int, err error) {
	ids, err := list(r, scanText, `SELECT id FROM mail_reports WHERE team_id = ? AND domain_id = ? AND counted = ? AND day = ? LIMIT ?`, m.TeamID, m.DomainID, m.Counted, m.Day(), limit)
	return len(ids), err
}

// InsertMailReport adds a report. A counted one enters the sums with its sources, of which a day has at most
// app.MaxSourcesOfDay; the others are added to app.OtherSources. Error: ErrConflict if the domain has the report.
func (tx *Tx) InsertMailReport(m *app.MailReport, sources []app.ReportSource) error {
	n, err := tx.Exec(`INSERT INTO mail_reports (id, team_id, domain_id, kind, origin, counted, why, reporter, name, report_id, day, begin_at, end_at, policy, messages, passed, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, domain_id, kind, reporter, report_id, counted) DO NOTHING`,
		m.ID, m.TeamID, m.DomainID, string(m.Kind), string(m.Origin), m.Counted, nullText(m.Why), m.Reporter, m.Name, m.ReportID, m.Day(), milli(m.Begin), milli(m.End), m.Policy, m.Messages, m.Passed, milli(m.CreatedAt))
	if err := oneRow(n, err, ErrConflict); err != nil || !m.Counted {
		return err
	}
	var uploaded int64
	if m.Origin == app.ReportUploaded {
		uploaded = m.Messages
	}
	err = tx.Write(`INSERT INTO mail_report_days (team_id, domain_id, kind, day, reporter, policy, messages, passed, quarantined, rejected, uploaded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, domain_id, kind, day, reporter, policy) DO UPDATE SET messages = mail_report_days.messages + excluded.messages, passed = mail_report_days.passed + excluded.passed,
			quarantined = mail_report_days.quarantined + excluded.quarantined, rejected = mail_report_days.rejected + excluded.rejected, uploaded = mail_report_days.uploaded + excluded.uploaded`,
		m.TeamID, m.DomainID, string(m.Kind), m.Day(), m.Reporter, m.Policy, m.Messages, m.Passed, m.Quarantined, m.Rejected, uploaded)
	if err != nil {
		return err
	}
	return tx.addReportSources(m, sources)
}

// addReportSources adds the sources of a report to the sums of its day.
func (tx *Tx) addReportSources(m *app.MailReport, sources []app.ReportSource) error {
	known, err := list(&tx.Reader, scanText, `SELECT source FROM mail_report_sources WHERE team_id = ? AND domain_id = ? AND kind = ? AND day = ?`, m.TeamID, m.DomainID, string(m.Kind), m.Day())
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range known {
		seen[s] = true
	}
	other := app.ReportSource{Source: app.OtherSources}
	add := func(s *app.ReportSource) error {
		return tx.Write(`INSERT INTO mail_report_sources (team_id, domain_id, kind, day, source, policy, messages, passed, spf, dkim, quarantined, rejected) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (team_id, domain_id, kind, day, source, policy) DO UPDATE SET messages = mail_report_sources.messages + excluded.messages, passed = mail_report_sources.passed + excluded.passed,
				spf = mail_report_sources.spf + excluded.spf, dkim = mail_report_sources.dkim + excluded.dkim, quarantined = mail_report_sources.quarantined + excluded.quarantined, rejected = mail_report_sources.rejected + excluded.rejected`,
			m.TeamID, m.DomainID, string(m.Kind), m.Day(), s.Source, m.Policy, s.Messages, s.Passed, s.SPF, s.DKIM, s.Quarantined, s.Rejected)
	}
	for i := range sources {
		s := &sources[i]
		if !seen[s.Source] && len(seen) >= app.MaxSourcesOfDay || s.Source == app.OtherSources {
			other.Add(s)
			continue
		}
		seen[s.Source] = true
		if err := add(s); err != nil {
			return err
		}
	}
	if other.Messages == 0 {
		return nil
	}
	return add(&other)
}

// SentOf reports whether mail of a team's domain left between two times.
func (r *Reader) SentOf(teamID, domain string, from, to time.Time) (bool, error) {
	err := r.Exists(`SELECT 1 FROM mail_counts WHERE team_id = ? AND hour >= ? AND hour <= ? AND domain = ? AND sent > 0 LIMIT 1`, teamID, counters.Hour(from), counters.Hour(to), domain)
	return err == nil, ignoreNotFound(err)
}

// ReportDomain returns the domain with an id, of any team that is not deleted. Error: ErrNotFound.
func (r *Reader) ReportDomain(id string) (teamID, name string, err error) {
	err = r.Row(`SELECT d.team_id, d.name FROM domains AS d JOIN teams AS t ON t.id = d.team_id WHERE d.id = ? AND t.deleted_at IS NULL`, []any{id}, &teamID, &name)
	return teamID, name, err
}

// ReportDays returns the sums of a domain from a day on, by day, reporter and policy.
func (r *Reader) ReportDays(teamID, domainID string, kind app.MailReportKind, from string) ([]app.ReportDay, error) {
	return list(r, func(s scanner) (d app.ReportDay, err error) {
		err = s.Scan(&d.Day, &d.Reporter, &d.Policy, &d.Messages, &d.Passed, &d.Quarantined, &d.Rejected, &d.Uploaded)
		return d, err
	}, `SELECT day, reporter, policy, messages, passed, quarantined, rejected, uploaded FROM mail_report_days
		WHERE team_id = ? AND domain_id = ? AND kind = ? AND day >= ? ORDER BY day, reporter, policy`, teamID, domainID, string(kind), from)
}

// ReportSources returns the sums of a domain from a day on, by source. policy limits them to reports that found that
// policy; empty: all.
func (r *Reader) ReportSources(teamID, domainID string, kind app.MailReportKind, from, policy string) ([]app.ReportSource, error) {
	return list(r, func(s scanner) (o app.ReportSource, err error) {
		err = s.Scan(&o.Source, &o.Messages, &o.Passed, &o.SPF, &o.DKIM, &o.Quarantined, &o.Rejected)
		return o, err
	}, `SELECT source, sum(messages), sum(passed), sum(spf), sum(dkim), sum(quarantined), sum(rejected) FROM mail_report_sources
		WHERE team_id = ?1 AND domain_id = ?2 AND kind = ?3 AND day >= ?4 AND (CAST(?5 AS text) IS NULL OR policy = ?5) GROUP BY source ORDER BY source`, teamID, domainID, string(kind), from, nullText(policy))
}

// MailReport returns a report of a team. Error: ErrNotFound.
func (r *Reader) MailReport(teamID, id string) (app.MailReport, error) {
	return one(r, scanMailReport, `SELECT `+mailReportColumns+` FROM mail_reports AS m WHERE m.team_id = ? AND m.id = ?`, teamID, id)
}

// ListMailReports returns a page of the reports of a team's domain, newest first; of all domains if domainID is empty.
// Error: ErrNotFound for a cursor that is not in the list.
func (r *Reader) ListMailReports(teamID, domainID string, page app.Page) ([]app.MailReport, bool, error) {
	exists := func(cursor string) error {
		m, err := r.MailReport(teamID, cursor)
		if err == nil && domainID != "" && m.DomainID != domainID {
			err = ErrNotFound
		}
		return err
	}
	if domainID == "" {
		return listPage(r, page, exists, scanMailReport,
			`SELECT `+mailReportColumns+` FROM mail_reports AS m WHERE m.team_id = ? AND m.id < ? ORDER BY m.id DESC LIMIT ?`,
			`SELECT `+mailReportColumns+` FROM mail_reports AS m WHERE m.team_id = ? AND m.id > ? ORDER BY m.id LIMIT ?`, teamID)
	}
	return listPage(r, page, exists, scanMailReport,
		`SELECT `+mailReportColumns+` FROM mail_reports AS m WHERE m.team_id = ? AND m.domain_id = ? AND m.id < ? ORDER BY m.id DESC LIMIT ?`,
		`SELECT `+mailReportColumns+` FROM mail_reports AS m WHERE m.team_id = ? AND m.domain_id = ? AND m.id > ? ORDER BY m.id LIMIT ?`, teamID, domainID)
}

// NamedSources returns the sources of a domain that its team named. Error: ErrNotFound.
func (r *Reader) NamedSources(teamID, domainID string) (n app.NamedSources, err error) {
	var text sql.NullString
	if err := r.Row(`SELECT report_sources FROM domains WHERE team_id = ? AND id = ?`, []any{teamID, domainID}, &text); err != nil {
		return n, err
	}
	return n, fromJSON(text, &n)
}

// SetNamedSources stores the sources of a domain that its team named. Error: ErrNotFound.
func (tx *Tx) SetNamedSources(teamID, domainID string, n *app.NamedSources) error {
	text, err := jsonText(n)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE domains SET report_sources = ? WHERE team_id = ? AND id = ?`, text, teamID, domainID)
}

// WarnOfReports records a warning about a domain. It returns false if the team was warned of the same since a time.
func (tx *Tx) WarnOfReports(teamID, domainID, warning string, since time.Time) (bool, error) {
	n, err := tx.Exec(`INSERT INTO mail_report_warnings (team_id, domain_id, warning, warned_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (team_id, domain_id, warning) DO UPDATE SET warned_at = excluded.warned_at WHERE mail_report_warnings.warned_at < ?`,
		teamID, domainID, warning, milli(tx.Now), milli(since))
	return n > 0, err
}

// PurgeReportsOfDomain deletes rows of reports of a deleted domain, at most limit of each table, and reports whether
// there may be more.
func (tx *Tx) PurgeReportsOfDomain(teamID, domainID string, limit int) (more bool, err error) {
	for _, statement := range []string{
		`DELETE FROM mail_reports WHERE team_id = ?1 AND id IN (SELECT o.id FROM mail_reports AS o WHERE o.team_id = ?1 AND o.domain_id = ?2 LIMIT ?3)`,
		`DELETE FROM mail_report_days WHERE team_id = ?1 AND domain_id = ?2 AND (kind, day, reporter, policy) IN
			(SELECT o.kind, o.day, o.reporter, o.policy FROM mail_report_days AS o WHERE o.team_id = ?1 AND o.domain_id = ?2 LIMIT ?3)`,
		`DELETE FROM mail_report_sources WHERE team_id = ?1 AND domain_id = ?2 AND (kind, day, source, policy) IN
			(SELECT o.kind, o.day, o.source, o.policy FROM mail_report_sources AS o WHERE o.team_id = ?1 AND o.domain_id = ?2 LIMIT ?3)`,
		`DELETE FROM mail_report_warnings WHERE team_id = ?1 AND domain_id = ?2 AND CAST(?3 AS bigint) > 0`,
	} {
		n, err := tx.Exec(statement, teamID, domainID, limit)
		if err != nil {
			return false, err
		}
		more = more || n >= int64(limit)
	}
	return more, nil
}

// PurgeOldReports deletes reports, sums and reverse names from before a time, at most limit of each table, and reports
// whether there may be more.
func (tx *Tx) PurgeOldReports(before time.Time, limit int) (more bool, err error) {
	day := before.UTC().Format(time.DateOnly)
	for _, s := range []struct {
		statement string
		before    any
	}{
		{`DELETE FROM mail_reports WHERE id IN (SELECT o.id FROM mail_reports AS o WHERE o.day < ? LIMIT ?)`, day},
		{`DELETE FROM mail_report_days WHERE (team_id, domain_id, kind, day, reporter, policy) IN
			(SELECT o.team_id, o.domain_id, o.kind, o.day, o.reporter, o.policy FROM mail_report_days AS o WHERE o.day < ? LIMIT ?)`, day},
		{`DELETE FROM mail_report_sources WHERE (team_id, domain_id, kind, day, source, policy) IN
			(SELECT o.team_id, o.domain_id, o.kind, o.day, o.source, o.policy FROM mail_report_sources AS o WHERE o.day < ? LIMIT ?)`, day},
		{`DELETE FROM reverse_names WHERE address IN (SELECT o.address FROM reverse_names AS o WHERE o.checked_at < ? LIMIT ?)`, milli(before)},
	} {
		n, err := tx.Exec(s.statement, s.before, limit)
		if err != nil {
			return false, err
		}
		more = more || n >= int64(limit)
	}
	return more, nil
}

// ReverseName is the reverse name of an address, as it was last looked up.
type ReverseName struct {
	Name      string // empty: none
	CheckedAt time.Time
}

// ReverseNames returns the reverse names of addresses that were looked up.
func (r *Reader) ReverseNames(addresses []string) (map[string]ReverseName, error) {
	out := map[string]ReverseName{}
	for _, a := range addresses {
		var name sql.NullString
		var at int64
		err := r.Row(`SELECT name, checked_at FROM reverse_names WHERE address = ?`, []any{a}, &name, &at)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[a] = ReverseName{name.String, fromMilli(at)}
	}
	return out, nil
}

// SetReverseName stores the reverse name of an address; empty: it has none.
func (tx *Tx) SetReverseName(address, name string) error {
	return tx.Write(`INSERT INTO reverse_names (address, name, checked_at) VALUES (?, ?, ?)
		ON CONFLICT (address) DO UPDATE SET name = excluded.name, checked_at = excluded.checked_at`, address, nullText(name), milli(tx.Now))
}
