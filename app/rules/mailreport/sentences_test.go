package mailreport

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestSummary(t *testing.T) {
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	own := Source{Source: "192.0.2.10", Messages: 40_688, PassedAligned: 40_688, Named: Own}
	old := Source{Source: "203.0.113.9", ReverseName: "mta.oldshop.example", Messages: 312, FailedBoth: 312}
	ownFailed, notOwn := old, old
	ownFailed.Named, notOwn.Named = Own, NotOwn
	good := SummaryInput{Since: since, Until: since.AddDate(0, 0, 30), Policy: PolicyNone, Messages: 41_000, Days: 30}
	for name, test := range map[string]struct {
		change  func(*SummaryInput)
		sources []Source
		want    string
	}{
		"as specified": {nil, []Source{own, old},
			"Since 1 November 99.2 % of 41,000 messages passed. 312 from 203.0.113.9 (reverse name mta.oldshop.example) failed SPF and DKIM: an old provider, or a forgery. " +
				"With p=quarantine these would go to spam. In 30 days no source that you named as yours failed."},
		"nothing named": {nil, []Source{old},
			"Since 1 November 99.2 % of 41,000 messages passed. 312 from 203.0.113.9 (reverse name mta.oldshop.example) failed SPF and DKIM: an old provider, or a forgery. " +
				"With p=quarantine these would go to spam. You have not named any source as yours yet."},
		"own source at quarantine": {func(in *SummaryInput) { in.Policy = PolicyQuarantine }, []Source{ownFailed},
			"Since 1 November 99.2 % of 41,000 messages passed. 312 from 203.0.113.9 (reverse name mta.oldshop.example), which you named as yours, failed SPF and DKIM. " +
				"With p=quarantine these go to spam; with p=reject they would be refused. In 30 days 312 messages from 1 source that you named as yours failed."},
		"forger at reject": {func(in *SummaryInput) { in.Policy = PolicyReject }, []Source{own, notOwn},
			"Since 1 November 99.2 % of 41,000 messages passed. 312 from 203.0.113.9 (reverse name mta.oldshop.example), which you named as not yours, failed SPF and DKIM. " +
				"With p=reject these are refused. In 30 days no source that you named as yours failed."},
		"several": {nil, append(many(5, 10), own),
			"Since 1 November 99.8 % of 41,000 messages passed. 10 from 203.0.113.0 failed SPF and DKIM: an old provider, or a forgery. 10 from 203.0.113.1 failed SPF and DKIM: an old provider, or a forgery. " +
				"10 from 203.0.113.2 failed SPF and DKIM: an old provider, or a forgery. 20 more from 2 other sources failed. With p=quarantine these would go to spam. In 30 days no source that you named as yours failed."},
		"all passed":   {nil, []Source{own}, "Since 1 November 41,000 messages passed, and none failed."},
		"no message":   {func(in *SummaryInput) { in.Messages = 0 }, nil, "Since 1 November no report named a message."},
		"another year": {func(in *SummaryInput) { in.Until = since.AddDate(0, 3, 0) }, []Source{own}, "Since 1 November 2026 41,000 messages passed, and none failed."},
		"one message":  {func(in *SummaryInput) { in.Messages = 1 }, nil, "Since 1 November 1 message passed, and none failed."},
	} {
		in := good
		in.Sources = test.sources
		if test.change != nil {
			test.change(&in)
		}
		sentences := Summary(in)
		if got := Text(sentences); got != test.want {
			t.Errorf("%s:\n%s\n%s", name, got, test.want)
		}
		for _, s := range sentences {
			checkSentence(t, s)
		}
	}
}

func TestPercentIsNotRoundedToAllOrNothing(t *testing.T) {
	for _, test := range []struct {
		part, all int64
		want      string
	}{
		{0, 0, "0"}, {0, 5, "0"}, {5, 5, "100"}, {999_999, 1_000_000, "99.9"}, {1, 1_000_000, "0.1"}, {1, 2, "50"}, {1, 3, "33.3"}, {2, 3, "66.6"}, {40_688, 41_000, "99.2"}, {7, 5, "100"},
	} {
		if got := percent(test.part, test.all); got != test.want {
			t.Errorf("%d of %d: %s", test.part, test.all, got)
		}
	}
}

// TestTemplatesUseKnownValues, so that each can be translated by its code and Params.
func TestTemplatesUseKnownValues(t *testing.T) {
	p := Params{Domain: "example.com", Policy: PolicyNone, Since: time.Unix(1, 0), Days: 1, Reporters: 1, Messages: 2, Passed: 1, Failed: 1, OwnFailed: 1, Count: 1,
		Sources: []SourceName{{Source: "192.0.2.1"}}, MinDays: 1, MinReporters: 1, MinMessages: 1}
	for code, template := range texts {
		for _, field := range strings.Split(template, "{")[1:] {
			name, _, _ := strings.Cut(field, "}")
			if name, _, _ = strings.Cut(name, "|"); p.value(name) == "" {
				t.Errorf("%s: unknown value %s", code, name)
			}
		}
		checkSentence(t, sentence(code, p))
	}
}

// TestTimesOfSentences: as in the API, also read back.
func TestTimesOfSentences(t *testing.T) {
	in := Params{Domain: "a.test", Since: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Days: 2}
	b, err := json.Marshal(in)
	if want := `{"domain":"a.test","days":2,"since":"2026-11-01T00:00:00.000Z"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	var back Params
	if err := json.Unmarshal(b, &back); err != nil || !back.Since.Equal(in.Since) || back.Days != 2 {
		t.Errorf("%+v, %v", back, err)
	}
	if b, err := json.Marshal(Params{}); err != nil || string(b) != "{}" {
		t.Errorf("%s, %v", b, err)
	}
}
