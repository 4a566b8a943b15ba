package mailreport

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func failing(name string, failed int64, named Ownership) Source {
	return Source{Source: name, Messages: failed, FailedBoth: failed, Named: named}
}

func many(n int, failed int64) (out []Source) {
	for i := range n {
		out = append(out, failing(fmt.Sprintf("203.0.113.%d", i), failed, NotNamed))
	}
	return out
}

func TestAdvise(t *testing.T) {
	own := Source{Source: "192.0.2.10", Messages: 40_000, PassedAligned: 40_000, Named: Own}
	ownFew := Source{Source: "192.0.2.10", Messages: 40_000, PassedAligned: 39_900, FailedBoth: 100, Named: Own}
	ownMany := Source{Source: "192.0.2.10", Messages: 40_000, PassedAligned: 39_000, FailedBoth: 1000, Named: Own}
	old := Source{Source: "203.0.113.9", ReverseName: "mta.oldshop.example", Messages: 312, FailedBoth: 312}
	forger, ours := old, old
	forger.Named, ours.Named = NotOwn, Own
	good := AdviceInput{Domain: "example.com", Policy: PolicyNone, Days: 30, Reporters: 5, Messages: 41_000, Sources: []Source{own}}
	with := func(change func(*AdviceInput)) AdviceInput {
		in := good
		change(&in)
		return in
	}
	policy := func(p PublishedPolicy, sources ...Source) AdviceInput {
		return with(func(in *AdviceInput) { in.Policy, in.Sources = p, sources })
	}
	for name, test := range map[string]struct {
		in   AdviceInput
		kind AdviceKind
		text string
	}{
		"no record": {policy(PolicyAbsent, own, old), AdvicePublish,
			"example.com has no DMARC record. Publish p=none with the address for reports, so that receivers report who sends mail as example.com."},
		"no record and no data": {AdviceInput{Domain: "example.com"}, AdvicePublish, ""},
		"nothing yet": {AdviceInput{Domain: "example.com", Policy: PolicyNone}, AdviceTooLittleData,
			"The reports so far cover 0 days and 0 messages, from 0 reporters. Advice needs 14 days, 3 reporters and 1,000 messages."},
		"13 days":          {with(func(in *AdviceInput) { in.Days = 13 }), AdviceTooLittleData, ""},
		"14 days":          {with(func(in *AdviceInput) { in.Days = 14 }), AdviceGoQuarantine, ""},
		"2 reporters":      {with(func(in *AdviceInput) { in.Reporters = 2 }), AdviceTooLittleData, ""},
		"3 reporters":      {with(func(in *AdviceInput) { in.Reporters = 3 }), AdviceGoQuarantine, ""},
		"999 messages":     {with(func(in *AdviceInput) { in.Messages = 999 }), AdviceTooLittleData, ""},
		"1000 messages":    {with(func(in *AdviceInput) { in.Messages = 1000 }), AdviceGoQuarantine, ""},
		"reject, 1 of all": {AdviceInput{Policy: PolicyReject, Days: 1, Reporters: 1, Messages: 1}, AdviceTooLittleData, "The reports so far cover 1 day and 1 message, from 1 reporter. Advice needs 14 days, 3 reporters and 1,000 messages."},
		"all passed": {good, AdviceGoQuarantine,
			"5 reporters saw 41,000 messages in 30 days, and 100 % passed. Publish p=quarantine."},
		"a source that was not named": {policy(PolicyNone, own, old), AdviceNameSources,
			"312 messages from 1 source failed SPF and DKIM. Say of each source whether it is yours: 203.0.113.9 (reverse name mta.oldshop.example)."},
		"asks before it says what to fix": {policy(PolicyNone, ownMany, old), AdviceNameSources, ""},
		"names the largest": {policy(PolicyQuarantine, many(8, 50)...), AdviceNameSources,
			"400 messages from 8 sources failed SPF and DKIM. Say of each source whether it is yours: 203.0.113.0, 203.0.113.1, 203.0.113.2, 203.0.113.3, 203.0.113.4 and 3 more."},
		"few messages, one failed": {with(func(in *AdviceInput) { in.Messages, in.Sources = 1500, many(1, 1) }), AdviceNameSources, ""},
		"the source is yours": {policy(PolicyNone, own, ours), AdviceFixOwnSources,
			"312 messages from 1 source that you named as yours failed SPF and DKIM: 203.0.113.9 (reverse name mta.oldshop.example). " +
				"Let these servers sign with DKIM for example.com, or use a return path of example.com whose SPF record names them. Keep p=none until then."},
		"1 of 40 of your own fails": {policy(PolicyQuarantine, ownMany), AdviceFixOwnSources, ""},
		"few of your own fail": {policy(PolicyNone, ownFew), AdviceGoQuarantine,
			"5 reporters saw 41,000 messages in 30 days, and 99.7 % passed; from your own sources 100 messages failed. Publish p=quarantine: the 100 messages that failed would then go to spam."},
		"the source is not yours": {policy(PolicyNone, own, forger), AdviceGoQuarantine,
			"5 reporters saw 41,000 messages in 30 days, and 99.2 % passed. Publish p=quarantine: the 312 messages that failed would then go to spam."},
		"only forgeries": {policy(PolicyQuarantine, failing("198.51.100.1", 41_000, NotOwn)), AdviceGoReject,
			"5 reporters saw 41,000 messages in 30 days, and 0 % passed. Publish p=reject: the 41,000 messages that failed would then be refused."},
		"few from small sources": {policy(PolicyNone, append(many(91, 9), own)...), AdviceGoQuarantine, ""},
		"many from small sources": {policy(PolicyNone, append(many(92, 9), own)...), AdviceStay,
			"828 of 41,000 messages failed SPF and DKIM, from 92 sources with few messages each: forwarded mail, or forgeries. " +
				"The largest are 203.0.113.0, 203.0.113.1, 203.0.113.10, 203.0.113.11, 203.0.113.12 and 87 more. Keep p=none until fewer fail, or name these sources."},
		"quarantine, all passed": {policy(PolicyQuarantine, own), AdviceGoReject, "5 reporters saw 41,000 messages in 30 days, and 100 % passed. Publish p=reject."},
		"reject, all passed":     {policy(PolicyReject, own), AdviceDone, "p=reject is published. In 30 days, 100 % of 41,000 messages passed."},
		"reject, a forgery":      {policy(PolicyReject, own, forger), AdviceDone, "p=reject is published. In 30 days, 99.2 % of 41,000 messages passed; receivers were asked to refuse 312 messages."},
		"reject, a source that was not named": {policy(PolicyReject, own, old), AdviceDone,
			"p=reject is published. In 30 days, 99.2 % of 41,000 messages passed; receivers were asked to refuse 312 messages from 1 source that you did not name. If one of these is yours, name it: 203.0.113.9 (reverse name mta.oldshop.example)."},
		"reject, your own": {policy(PolicyReject, own, ours, failing("198.51.100.1", 500, NotNamed)), AdviceFixOwnSources,
			"312 messages from 1 source that you named as yours failed SPF and DKIM, and p=reject asks receivers to refuse them: 203.0.113.9 (reverse name mta.oldshop.example). " +
				"Let these servers sign with DKIM for example.com, or use a return path of example.com whose SPF record names them."},
		"negative sums": {policy(PolicyNone, failing("198.51.100.1", -5, NotNamed)), AdviceGoQuarantine, ""},
		"huge sums":     {with(func(in *AdviceInput) { in.Messages, in.Sources = math.MaxInt64, many(1, math.MaxInt64/2) }), AdviceNameSources, ""},
	} {
		got := Advise(test.in)
		if got.Kind != test.kind || test.text != "" && got.Sentence.Text != test.text {
			t.Errorf("%s: %s %s\n%s", name, got.Kind, got.Sentence.Code, got.Sentence.Text)
		}
		checkSentence(t, got.Sentence)
	}
}

// checkSentence fails t if a sentence has unfilled values or promises safety.
func checkSentence(t *testing.T, s Sentence) {
	t.Helper()
	if s.Text == "" || strings.ContainsAny(s.Text, "{}[]|") || strings.Contains(strings.ToLower(s.Text), "safe") || strings.Contains(s.Text, "  ") || !strings.HasSuffix(s.Text, ".") {
		t.Errorf("%s: %q", s.Code, s.Text)
	}
}

// TestAdviceDependsOnSumsAlone, not on the order of the sources, and does not change its input.
func TestAdviceDependsOnSumsAlone(t *testing.T) {
	a := many(30, 20)
	for i := range a {
		a[i].FailedBoth += int64(i)
	}
	first := a[0]
	in := AdviceInput{Domain: "example.com", Policy: PolicyNone, Days: 30, Reporters: 5, Messages: 41_000, Sources: a}
	want := Advise(in).Sentence.Text
	b := make([]Source, len(a))
	for i, s := range a {
		b[len(a)-1-i] = s
	}
	in.Sources = b
	if got := Advise(in).Sentence.Text; got != want || a[0] != first || !strings.Contains(want, "203.0.113.29, 203.0.113.28") {
		t.Errorf("%s\n%s", got, want)
	}
}
