package mailreport

import "slices"

// What advice needs.
const (
	MinDays      = 14
	MinReporters = 3
	MinMessages  = 1000
)

// PublishedPolicy is the DMARC policy that a domain publishes.
type PublishedPolicy string

// The policies.
const (
	PolicyAbsent     PublishedPolicy = "" // no DMARC record
	PolicyNone       PublishedPolicy = "none"
	PolicyQuarantine PublishedPolicy = "quarantine"
	PolicyReject     PublishedPolicy = "reject"
)

// Ownership is what the team said of a source.
type Ownership string

// The answers.
const (
	NotNamed Ownership = ""
	Own      Ownership = "own"     // it sends for the team
	NotOwn   Ownership = "not_own" // it does not, so its failures don't matter
)

// Source is a sender of mail with the domain in its From, with sums of the messages in reports.
type Source struct {
	Source        string    `json:"source"` // IP address, or a name under which several are summed
	ReverseName   string    `json:"reverse_name,omitempty"`
	Messages      int64     `json:"messages"`
	PassedAligned int64     `json:"passed"` // SPF or DKIM passed and was aligned
	FailedBoth    int64     `json:"failed"` // neither did
	Named         Ownership `json:"named,omitempty"`
}

// AdviceInput is what the reports say about a domain.
type AdviceInput struct {
	Domain string
	Policy PublishedPolicy // at present
	// Days, Reporters, Messages and Sources cover the counted reports that found the present policy, so
	// that each step is observed before the next one.
	Days      int
	Reporters int
	Messages  int64
	Sources   []Source // all of them, in any order
}

// AdviceKind is what to do next about the DMARC policy of a domain.
type AdviceKind string

// The kinds.
const (
	AdvicePublish       AdviceKind = "publish_none"    // there is no DMARC record
	AdviceTooLittleData AdviceKind = "too_little_data" // wait for reports
	AdviceNameSources   AdviceKind = "name_sources"    // say which failing sources are yours
	AdviceFixOwnSources AdviceKind = "fix_own_sources" // authorize your own failing sources
	AdviceStay          AdviceKind = "stay"            // too much fails from many small sources
	AdviceGoQuarantine  AdviceKind = "go_quarantine"
	AdviceGoReject      AdviceKind = "go_reject"
	AdviceDone          AdviceKind = "done" // p=reject is published
)

// Advice is the next step.
type Advice struct {
	Kind     AdviceKind `json:"kind"`
	Sentence Sentence   `json:"sentence"`
}

// Shares of failures that are tolerated.
const (
	toleratedOwn   = 0.005 // of the messages of an own source: DNS fails now and then
	toleratedOther = 0.02  // of all messages, from small sources that the team did not name
)

// Advise returns the next step from no policy over none and quarantine to reject. It needs MinDays,
// MinReporters and MinMessages. It first asks which failing sources are the team's own, then for
// those to be fixed. It asks about a source with 10 failed messages, or, if there are fewer than
// 10,000 messages in all, with a thousandth of them. Failures of smaller sources hold the policy only
// if they are more than 2 % of all messages. An own source is to be fixed if more than 0.5 % of its
// messages failed. At p=reject no question is asked: each forgery would raise it again.
func Advise(in AdviceInput) Advice {
	p := Params{Domain: in.Domain, Policy: in.Policy, Days: in.Days, Reporters: in.Reporters, Messages: in.Messages}
	if in.Policy == PolicyAbsent {
		return advice(AdvicePublish, CodePublish, p)
	}
	if in.Days < MinDays || in.Reporters < MinReporters || in.Messages < MinMessages {
		p.MinDays, p.MinReporters, p.MinMessages = MinDays, MinReporters, MinMessages
		return advice(AdviceTooLittleData, CodeTooLittleData, p)
	}
	var all, ask, fix, small failures
	for _, s := range in.Sources {
		if s.FailedBoth <= 0 {
			continue
		}
		all.add(s)
		switch {
		case s.Named == Own && float64(s.FailedBoth) > float64(s.Messages)*toleratedOwn:
			fix.add(s)
		case s.Named == Own:
			p.OwnFailed += s.FailedBoth
		case s.Named == NotNamed && s.FailedBoth >= min(10, in.Messages/1000):
			ask.add(s)
		case s.Named == NotNamed:
			small.add(s)
		}
	}
	p.Passed = max(0, in.Messages-all.messages)
	switch {
	case in.Policy != PolicyReject && len(ask.sources) > 0:
		return ask.advise(AdviceNameSources, CodeNameSources, p)
	case len(fix.sources) > 0 && in.Policy == PolicyReject:
		return fix.advise(AdviceFixOwnSources, CodeFixRefused, p)
	case len(fix.sources) > 0:
		return fix.advise(AdviceFixOwnSources, CodeFixOwnSources, p)
	case in.Policy == PolicyReject && len(ask.sources) > 0:
		return ask.advise(AdviceDone, CodeDoneFailing, p)
	case in.Policy == PolicyReject:
		return all.advise(AdviceDone, CodeDone, p)
	case float64(small.messages) > float64(in.Messages)*toleratedOther:
		return small.advise(AdviceStay, CodeStay, p)
	case in.Policy == PolicyQuarantine:
		return all.advise(AdviceGoReject, CodeGoReject, p)
	}
	return all.advise(AdviceGoQuarantine, CodeGoQuarantine, p)
}

func advice(kind AdviceKind, code SentenceCode, p Params) Advice {
	return Advice{kind, sentence(code, p)}
}

// failures are sources with failed messages.
type failures struct {
	sources  []Source
	messages int64
}

func (f *failures) add(s Source) {
	f.sources = append(f.sources, s)
	f.messages += s.FailedBoth
}

func (f *failures) advise(kind AdviceKind, code SentenceCode, p Params) Advice {
	p.setFailed(f)
	return advice(kind, code, p)
}

// largest returns up to n sources, those with the most failed messages first.
func (f *failures) largest(n int) []Source {
	sorted := slices.Clone(f.sources)
	slices.SortFunc(sorted, byFailures)
	return sorted[:min(n, len(sorted))]
}
