package mailreport

import "time"

// WarningKind is what a team is warned of.
type WarningKind string

// The kinds.
const (
	WarnOwnSource WarningKind = "own_source_failed" // a source that the team named as its own fails
	WarnFailures  WarningKind = "failures_rise"     // far more messages fail than on the days before
	WarnTLS       WarningKind = "tls_failed"        // senders can't use TLS with the servers of the domain
)

// Bounds of warnings.
const (
	minOwnFailed = 10 // messages of an own source in one report
	minRise      = 100
	riseFactor   = 5
	minRiseDays  = 7 // with reports, before the day
	minTLSFailed = 10
	minTLSPart   = 0.05

	// RiseHistory is how long before a day FailedBefore reaches.
	RiseHistory = 28 * 24 * time.Hour
	// WarnEvery is how often a team is warned of the same.
	WarnEvery = 7 * 24 * time.Hour
)

// WarningInput is what is known when a counted report arrived by mail.
type WarningInput struct {
	Domain string
	Day    time.Time // that the report is about
	// Sources are those of the report. Messages and Failed are of all counted reports about Day. FailedBefore has the
	// failed messages of each day before that has reports, at most RiseHistory ago.
	Sources          []Source
	Messages, Failed int64
	FailedBefore     []int64
	// Sessions and FailedSessions are those of a TLS report.
	Sessions, FailedSessions int64
}

// Warning is a fact that the team should know.
type Warning struct {
	Kind     WarningKind
	Sentence Sentence
}

// Codes of warnings.
const (
	CodeFailuresRose SentenceCode = "failures_rose"
	CodeTLSFailed    SentenceCode = "tls_failed"
)

// Warn returns what a report gives reason to warn of. A source that the team named as its own is reported if 10 of its
// messages and more than 0.5 % of them failed. Failures have risen if a day has 100, and five times as many as the days
// before have on average, of which at least 7 must have reports. TLS is reported if 10 sessions and 5 % of them failed.
func Warn(in WarningInput) (out []Warning) {
	day := Params{Domain: in.Domain, Since: in.Day.UTC()}
	var own failures
	for _, s := range in.Sources {
		if s.Named == Own && s.FailedBoth >= minOwnFailed && float64(s.FailedBoth) > float64(s.Messages)*toleratedOwn {
			own.add(s)
		}
	}
	if len(own.sources) > 0 {
		p := day
		p.setFailed(&own)
		out = append(out, Warning{WarnOwnSource, sentence(CodeOwnSourceFailed, p)})
	}
	if n := int64(len(in.FailedBefore)); n >= minRiseDays && in.Failed >= minRise {
		var sum int64
		for _, failed := range in.FailedBefore {
			sum += failed
		}
		if mean := sum / n; in.Failed >= riseFactor*max(1, mean) {
			p := day
			p.Failed, p.Messages, p.Before = in.Failed, in.Messages, mean
			out = append(out, Warning{WarnFailures, sentence(CodeFailuresRose, p)})
		}
	}
	if in.FailedSessions >= minTLSFailed && float64(in.FailedSessions) >= float64(in.Sessions)*minTLSPart {
		p := day
		p.Failed, p.Messages = in.FailedSessions, in.Sessions
		out = append(out, Warning{WarnTLS, sentence(CodeTLSFailed, p)})
	}
	return out
}
