package mailreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mailer/app"
)

// SentenceCode is the stable name of a sentence, under which it is translated.
type SentenceCode string

// Sentence is a sentence with the values in it. Text is the English one.
type Sentence struct {
	Code   SentenceCode `json:"code"`
	Params Params       `json:"params"`
	Text   string       `json:"text"`
}

// Params are the values in sentences. Unused values are zero. Names of sources and of reverse DNS
// come from reports: show them as text.
type Params struct {
	Domain       string          `json:"domain,omitempty"`
	Policy       PublishedPolicy `json:"policy,omitempty"`
	Since        time.Time       `json:"since,omitzero"`
	Year         bool            `json:"year,omitempty"` // Since is shown with its year
	Days         int             `json:"days,omitempty"`
	Reporters    int             `json:"reporters,omitempty"`
	Messages     int64           `json:"messages,omitempty"`
	Passed       int64           `json:"passed,omitempty"`     // of Messages
	Failed       int64           `json:"failed,omitempty"`     // that this sentence is about
	OwnFailed    int64           `json:"own_failed,omitempty"` // of own sources, within what is tolerated
	Before       int64           `json:"before,omitempty"`     // failed messages a day before Since
	Count        int             `json:"count,omitempty"`      // of sources that this sentence is about
	Sources      []SourceName    `json:"sources,omitempty"`    // the largest of them
	MinDays      int             `json:"min_days,omitempty"`
	MinReporters int             `json:"min_reporters,omitempty"`
	MinMessages  int64           `json:"min_messages,omitempty"`
}

// MarshalJSON implements json.Marshaler: Since has the form of all times of the API.
func (p Params) MarshalJSON() ([]byte, error) {
	type plain Params
	out := struct {
		plain
		Since string `json:"since,omitempty"`
	}{plain: plain(p)}
	if !p.Since.IsZero() {
		out.Since = app.FormatTime(p.Since)
	}
	return json.Marshal(out)
}

// SourceName names a source in a sentence.
type SourceName struct {
	Source      string `json:"source"`
	ReverseName string `json:"reverse_name,omitempty"`
}

const maxSources = 5 // in one sentence

// setFailed sets the values about failing sources.
func (p *Params) setFailed(f *failures) {
	p.Failed, p.Count = f.messages, len(f.sources)
	for _, s := range f.largest(maxSources) {
		p.Sources = append(p.Sources, SourceName{cut(s.Source, maxText), cut(s.ReverseName, maxText)})
	}
}

// byFailures orders the sources with the most failed messages first.
func byFailures(a, b Source) int {
	return cmp.Or(cmp.Compare(b.FailedBoth, a.FailedBoth), strings.Compare(a.Source, b.Source))
}

// Codes of advice.
const (
	CodePublish       SentenceCode = "publish_none"
	CodeTooLittleData SentenceCode = "too_little_data"
	CodeNameSources   SentenceCode = "name_sources"
	CodeFixOwnSources SentenceCode = "fix_own_sources"
	CodeFixRefused    SentenceCode = "fix_own_sources_refused"
	CodeStay          SentenceCode = "stay"
	CodeGoQuarantine  SentenceCode = "go_quarantine"
	CodeGoReject      SentenceCode = "go_reject"
	CodeDone          SentenceCode = "done"
	CodeDoneFailing   SentenceCode = "done_failing"
)

// Codes of summaries.
const (
	CodeNoMessages       SentenceCode = "no_messages"
	CodePassed           SentenceCode = "passed"
	CodeAllPassed        SentenceCode = "all_passed"
	CodeSourceFailed     SentenceCode = "source_failed"
	CodeOwnSourceFailed  SentenceCode = "own_source_failed"
	CodeNotOwnFailed     SentenceCode = "not_own_source_failed"
	CodeOthersFailed     SentenceCode = "others_failed"
	CodeWouldBeSpam      SentenceCode = "would_be_spam"
	CodeAreSpam          SentenceCode = "are_spam"
	CodeAreRefused       SentenceCode = "are_refused"
	CodeNoOwnFailed      SentenceCode = "no_own_failed"
	CodeOwnFailed        SentenceCode = "own_failed"
	CodeNoSourceNamedYet SentenceCode = "no_source_named"
)

// texts are the English sentences. {name} is a value of Params; {name|one|many} is a number with its
// noun. Text in square brackets is left out if one of its values is zero.
var texts = map[SentenceCode]string{
	CodePublish: "{domain} has no DMARC record. Publish p=none with the address for reports, so that receivers report who sends mail as {domain}.",
	CodeTooLittleData: "The reports so far cover {days|day|days} and {messages|message|messages}, from {reporters|reporter|reporters}. " +
		"Advice needs {min_days} days, {min_reporters} reporters and {min_messages} messages.",
	CodeNameSources: "{failed|message|messages} from {count|source|sources} failed SPF and DKIM. Say of each source whether it is yours: {sources}.",
	CodeFixOwnSources: "{failed|message|messages} from {count|source|sources} that you named as yours failed SPF and DKIM: {sources}. " +
		"Let these servers sign with DKIM for {domain}, or use a return path of {domain} whose SPF record names them. Keep p={policy} until then.",
	CodeFixRefused: "{failed|message|messages} from {count|source|sources} that you named as yours failed SPF and DKIM, and p=reject asks receivers to refuse them: {sources}. " +
		"Let these servers sign with DKIM for {domain}, or use a return path of {domain} whose SPF record names them.",
	CodeStay: "{failed} of {messages|message|messages} failed SPF and DKIM, from {count|source|sources} with few messages each: forwarded mail, or forgeries. " +
		"The largest are {sources}. Keep p={policy} until fewer fail, or name these sources.",
	CodeGoQuarantine: "{reporters|reporter|reporters} saw {messages|message|messages} in {days|day|days}, and {percent} % passed[; from your own sources {own_failed|message|messages} failed]. " +
		"Publish p=quarantine[: the {failed|message|messages} that failed would then go to spam].",
	CodeGoReject: "{reporters|reporter|reporters} saw {messages|message|messages} in {days|day|days}, and {percent} % passed[; from your own sources {own_failed|message|messages} failed]. " +
		"Publish p=reject[: the {failed|message|messages} that failed would then be refused].",
	CodeDone: "p=reject is published. In {days|day|days}, {percent} % of {messages|message|messages} passed[; receivers were asked to refuse {failed|message|messages}].",
	CodeDoneFailing: "p=reject is published. In {days|day|days}, {percent} % of {messages|message|messages} passed; " +
		"receivers were asked to refuse {failed|message|messages} from {count|source|sources} that you did not name. If one of these is yours, name it: {sources}.",

	CodeNoMessages:       "Since {since} no report named a message.",
	CodePassed:           "Since {since} {percent} % of {messages|message|messages} passed.",
	CodeAllPassed:        "Since {since} {messages|message|messages} passed, and none failed.",
	CodeSourceFailed:     "{failed} from {sources} failed SPF and DKIM: an old provider, or a forgery.",
	CodeOwnSourceFailed:  "{failed} from {sources}, which you named as yours, failed SPF and DKIM.",
	CodeNotOwnFailed:     "{failed} from {sources}, which you named as not yours, failed SPF and DKIM.",
	CodeOthersFailed:     "{failed} more from {count|other source|other sources} failed.",
	CodeWouldBeSpam:      "With p=quarantine these would go to spam.",
	CodeAreSpam:          "With p=quarantine these go to spam; with p=reject they would be refused.",
	CodeAreRefused:       "With p=reject these are refused.",
	CodeNoOwnFailed:      "In {days|day|days} no source that you named as yours failed.",
	CodeOwnFailed:        "In {days|day|days} {failed|message|messages} from {count|source|sources} that you named as yours failed.",
	CodeFailuresRose:     "On {since} {failed} of {messages|message|messages} failed SPF and DKIM[; the days before had {before} on average]: a source of yours that lost its authorization, or a wave of forgeries.",
	CodeTLSFailed:        "On {since} {failed} of {messages|session|sessions} with TLS to the servers of {domain} failed: senders that require TLS can't deliver.",
	CodeNoSourceNamedYet: "You have not named any source as yours yet.",
}

func sentence(code SentenceCode, p Params) Sentence {
	return Sentence{code, p, p.fill(texts[code])}
}

// fill inserts the values into a template.
func (p *Params) fill(template string) string {
	var out strings.Builder
	for {
		before, rest, optional := strings.Cut(template, "[")
		text, _ := p.insert(before)
		out.WriteString(text)
		if !optional {
			return out.String()
		}
		inside, after, _ := strings.Cut(rest, "]")
		if text, whole := p.insert(inside); whole {
			out.WriteString(text)
		}
		template = after
	}
}

// insert inserts the values into a text and reports whether none of them is zero.
func (p *Params) insert(text string) (string, bool) {
	var out strings.Builder
	whole := true
	for {
		before, rest, ok := strings.Cut(text, "{")
		out.WriteString(before)
		if !ok {
			return out.String(), whole
		}
		field, after, _ := strings.Cut(rest, "}")
		name, nouns, counted := strings.Cut(field, "|")
		value := p.value(name)
		whole = whole && value != "" && value != "0"
		out.WriteString(value)
		if counted {
			one, many, _ := strings.Cut(nouns, "|")
			if value != "1" {
				one = many
			}
			out.WriteString(" " + one)
		}
		text = after
	}
}

// value returns a value as English text.
func (p *Params) value(name string) string {
	switch name {
	case "domain":
		return p.Domain
	case "policy":
		return string(p.Policy)
	case "since":
		return day(p.Since, p.Year)
	case "percent":
		return percent(p.Passed, p.Messages)
	case "sources":
		return p.sourceNames()
	case "days":
		return strconv.Itoa(p.Days)
	case "reporters":
		return strconv.Itoa(p.Reporters)
	case "count":
		return humanize.Comma(int64(p.Count))
	case "messages":
		return humanize.Comma(p.Messages)
	case "passed":
		return humanize.Comma(p.Passed)
	case "failed":
		return humanize.Comma(p.Failed)
	case "before":
		return humanize.Comma(p.Before)
	case "own_failed":
		return humanize.Comma(p.OwnFailed)
	case "min_days":
		return strconv.Itoa(p.MinDays)
	case "min_reporters":
		return strconv.Itoa(p.MinReporters)
	case "min_messages":
		return humanize.Comma(p.MinMessages)
	}
	return ""
}

// sourceNames lists the sources with their reverse names.
func (p *Params) sourceNames() string {
	var names []string
	for _, s := range p.Sources {
		name := s.Source
		if s.ReverseName != "" {
			name += " (reverse name " + s.ReverseName + ")"
		}
		names = append(names, name)
	}
	list := strings.Join(names, ", ")
	if more := p.Count - len(p.Sources); more > 0 {
		list += fmt.Sprintf(" and %s more", humanize.Comma(int64(more)))
	}
	return list
}

// percent returns a share with one decimal, rounded down, so that 100 means all. It is at least 0.1
// if anything is counted.
func percent(part, all int64) string {
	if all <= 0 || part <= 0 {
		return "0"
	}
	if part >= all {
		return "100"
	}
	tenths := max(1, int64(float64(part)/float64(all)*1000))
	tenths = min(tenths, 999)
	if tenths%10 == 0 {
		return strconv.FormatInt(tenths/10, 10)
	}
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// SummaryInput is what the counted reports say of a domain.
type SummaryInput struct {
	Since, Until time.Time // of the sums; Until decides whether the year is named
	Policy       PublishedPolicy
	Messages     int64
	Days         int // that reports cover
	Sources      []Source
}

const maxSummarySources = 3 // with a sentence each

// Summary returns sentences about the messages of a domain: how many passed, which sources failed,
// what the policy means for these, and whether own sources failed.
func Summary(in SummaryInput) []Sentence {
	p := Params{Since: in.Since.UTC(), Year: in.Since.UTC().Year() != in.Until.UTC().Year(), Policy: in.Policy, Days: in.Days, Messages: in.Messages}
	if in.Messages <= 0 {
		return []Sentence{sentence(CodeNoMessages, p)}
	}
	var all, own failures
	named := false
	for _, s := range in.Sources {
		named = named || s.Named == Own
		if s.FailedBoth > 0 {
			all.add(s)
			if s.Named == Own {
				own.add(s)
			}
		}
	}
	p.Passed = max(0, in.Messages-all.messages)
	if all.messages == 0 {
		return []Sentence{sentence(CodeAllPassed, p)}
	}
	out := append([]Sentence{sentence(CodePassed, p)}, all.describe(in.Policy)...)
	q := Params{Days: in.Days}
	switch {
	case own.messages > 0:
		q.setFailed(&own)
		out = append(out, sentence(CodeOwnFailed, q))
	case named:
		out = append(out, sentence(CodeNoOwnFailed, q))
	default:
		out = append(out, sentence(CodeNoSourceNamedYet, Params{}))
	}
	return out
}

// describe returns sentences about the largest sources and what a policy means for them.
func (f *failures) describe(policy PublishedPolicy) (out []Sentence) {
	rest := failures{f.sources, f.messages}
	shown := f.largest(maxSummarySources)
	for _, s := range shown {
		code := CodeSourceFailed
		switch s.Named {
		case Own:
			code = CodeOwnSourceFailed
		case NotOwn:
			code = CodeNotOwnFailed
		}
		p := Params{}
		p.setFailed(&failures{[]Source{s}, s.FailedBoth})
		out = append(out, sentence(code, p))
		rest.messages -= s.FailedBoth
	}
	if n := len(f.sources) - len(shown); n > 0 {
		out = append(out, sentence(CodeOthersFailed, Params{Failed: rest.messages, Count: n}))
	}
	switch policy {
	case PolicyReject:
		return append(out, sentence(CodeAreRefused, Params{Policy: policy}))
	case PolicyQuarantine:
		return append(out, sentence(CodeAreSpam, Params{Policy: policy}))
	}
	return append(out, sentence(CodeWouldBeSpam, Params{Policy: policy}))
}

// Text returns sentences as one English text.
func Text(sentences []Sentence) string {
	texts := make([]string, len(sentences))
	for i, s := range sentences {
		texts[i] = s.Text
	}
	return strings.Join(texts, " ")
}
