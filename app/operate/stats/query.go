package stats

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for machines without zone files

	"mailer/app"
	"mailer/app/rules/counters"
)

// Granularity is the length of the periods by which metrics are grouped.
type Granularity string

// The granularities.
const (
	Hourly  Granularity = "hourly"
	Daily   Granularity = "daily"
	Weekly  Granularity = "weekly" // from Monday
	Monthly Granularity = "monthly"
)

// Dimension is what metrics are grouped by.
type Dimension string

// The dimensions.
const (
	ByPeriod    Dimension = "period"
	ByDomain    Dimension = "domain"
	ByEmail     Dimension = "email"
	ByBroadcast Dimension = "broadcast"
)

const (
	// MaxIDs is the maximum number of domains, emails or broadcasts in a query.
	MaxIDs = 100
	// MaxPeriods is the maximum number of periods, and of rows, of an answer.
	MaxPeriods = 10_000
	// defaultSpan is the range of a query without a start.
	defaultSpan = 6 * 24 * time.Hour
)

// Query is a query as the caller wrote it. Empty fields have defaults.
type Query struct {
	StartDate, EndDate, Timezone, Granularity string
	Metrics, Dimensions                       []string
	DomainIDs, EmailIDs, BroadcastIDs         []string
}

// Question is a validated Query.
type Question struct {
	Start, End  time.Time
	Granularity Granularity
	Metrics     []Metric
	Dimensions  []Dimension // distinct, in the requested order
	zone        *time.Location
	domains     []string // ids
	emails      []string
	broadcasts  []string
}

// By reports whether metrics are grouped by a dimension.
func (q *Question) By(d Dimension) bool { return slices.Contains(q.Dimensions, d) }

// Read validates a query. now is the current time. Errors: CodeValidation.
func (q *Query) Read(now time.Time) (*Question, error) {
	out := &Question{Granularity: Daily, Metrics: Metrics(), Dimensions: []Dimension{}}
	if err := q.readWords(out); err != nil {
		return nil, err
	}
	for _, ids := range []struct {
		name string
		from []string
		to   *[]string
	}{{"domain_id", q.DomainIDs, &out.domains}, {"email_id", q.EmailIDs, &out.emails}, {"broadcast_id", q.BroadcastIDs, &out.broadcasts}} {
		if err := readIDs(ids.name, ids.from, ids.to); err != nil {
			return nil, err
		}
	}
	ofEmails, ofBroadcasts := len(out.emails) > 0 || out.By(ByEmail), len(out.broadcasts) > 0 || out.By(ByBroadcast)
	switch {
	case ofEmails && ofBroadcasts:
		return nil, app.Invalid("dimensions", "`email` and `email_id` can't be combined with `broadcast` and `broadcast_id`")
	case out.By(ByEmail) && len(out.emails) == 0:
		return nil, app.Invalid("email_id", "must name the emails, up to %d, that the dimension `email` is about", MaxIDs)
	}
	return out, q.readRange(out, now)
}

// readWords parses the fields with enumerated values.
func (q *Query) readWords(out *Question) error {
	if q.Granularity != "" {
		out.Granularity = Granularity(q.Granularity)
		if !slices.Contains([]Granularity{Hourly, Daily, Weekly, Monthly}, out.Granularity) {
			return app.Invalid("granularity", "must be hourly, daily, weekly or monthly")
		}
	}
	for _, word := range q.Dimensions {
		d := Dimension(word)
		if !slices.Contains([]Dimension{ByPeriod, ByDomain, ByEmail, ByBroadcast}, d) {
			return app.Invalid("dimensions", "must be some of period, domain, email and broadcast")
		}
		if !out.By(d) {
			out.Dimensions = append(out.Dimensions, d)
		}
	}
	if len(q.Metrics) == 0 {
		return nil
	}
	out.Metrics = nil
	for _, word := range q.Metrics {
		m := Metric(word)
		if !slices.Contains(Metrics(), m) {
			return app.Invalid("metrics", "must be some of %s", metricNames())
		}
		if !slices.Contains(out.Metrics, m) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return nil
}

func readIDs(name string, from []string, to *[]string) error {
	for _, text := range from {
		id, ok := app.ParseID(text)
		if !ok {
			return app.Invalid(name, "must be ids, with commas between them")
		}
		if !slices.Contains(*to, id) {
			*to = append(*to, id)
		}
	}
	if len(*to) > MaxIDs {
		return app.Invalid(name, "must be at most %d ids", MaxIDs)
	}
	return nil
}

// readRange parses start and end. A date without a time is the whole day in the time zone. The
// future, and times before the retention of counters, are cut off.
func (q *Query) readRange(out *Question, now time.Time) (err error) {
	out.zone = time.UTC
	if q.Timezone != "" {
		if out.zone, err = time.LoadLocation(q.Timezone); err != nil || strings.EqualFold(q.Timezone, "local") {
			return app.Invalid("timezone", "must be the name of a time zone, like Europe/Berlin")
		}
	}
	out.End = now
	if q.EndDate != "" {
		end, whole, ok := readDate(q.EndDate, out.zone)
		if !ok {
			return badDate("end_date")
		}
		if whole {
			end = end.AddDate(0, 0, 1)
		}
		if end.Before(now) {
			out.End = end
		}
	}
	out.Start = out.End.Add(-defaultSpan)
	if q.StartDate != "" {
		start, _, ok := readDate(q.StartDate, out.zone)
		if !ok {
			return badDate("start_date")
		}
		out.Start = start
	}
	if out.Start.After(out.End) {
		return app.Invalid("start_date", "must be on or before `end_date`, and not in the future")
	}
	if out.By(ByPeriod) && out.manyPeriods() {
		return app.Invalid("granularity", "must be longer: the range has more than %d periods", MaxPeriods)
	}
	if oldest := now.Add(-counters.Retention); out.Start.Before(oldest) {
		out.Start = oldest
		out.End = latest(out.End, oldest)
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func badDate(name string) error {
	return app.Invalid(name, "must be a date like 2026-07-01 or a time like 2026-07-01T00:00:00Z")
}

// readDate parses a date, which means the beginning of that day in a zone, or a time.
func readDate(s string, zone *time.Location) (t time.Time, whole, ok bool) {
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t, true, true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t.UTC(), false, true
		}
	}
	return t, false, false
}

// periodOf returns the beginning of the period that contains a time.
func (q *Question) periodOf(t time.Time) time.Time {
	t = t.In(q.zone)
	switch q.Granularity {
	case Hourly:
		return t.Truncate(time.Hour)
	case Weekly:
		t = t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
	case Monthly:
		t = t.AddDate(0, 0, 1-t.Day())
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, q.zone)
}

// after returns the beginning of the next period after the one that begins at t.
func (q *Question) after(t time.Time) time.Time {
	switch q.Granularity {
	case Hourly:
		return t.Add(time.Hour)
	case Weekly:
		return t.AddDate(0, 0, 7)
	case Monthly:
		return t.AddDate(0, 1, 0)
	}
	return t.AddDate(0, 0, 1)
}

// manyPeriods reports whether the range has too many periods.
func (q *Question) manyPeriods() bool {
	n := 0
	for t := q.periodOf(q.Start); t.Before(q.End); t = q.after(t) {
		if n++; n > MaxPeriods {
			return true
		}
	}
	return false
}

// name returns the name of a period in an answer: its first day, or the start time of an hour.
func (q *Question) name(period time.Time) string {
	if q.Granularity == Hourly {
		return period.Format(time.RFC3339)
	}
	return period.Format(time.DateOnly)
}

// hours returns the first hour of the range and the hour after its last.
func (q *Question) hours() (from, to int64) {
	from, to = counters.Hour(q.Start), counters.Hour(q.End.Add(time.Hour-1))
	return from, max(to, from+1)
}
