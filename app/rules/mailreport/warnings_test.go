package mailreport

import (
	"slices"
	"testing"
	"time"
)

func TestWarn(t *testing.T) {
	day := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	before := []int64{1, 0, 3, 0, 0, 2, 1}
	own := func(messages, failed int64) []Source {
		return []Source{{Source: "203.0.113.9", Messages: messages, FailedBoth: failed, Named: Own}}
	}
	for name, c := range map[string]struct {
		in   WarningInput
		want []string
	}{
		"nothing":                  {WarningInput{Messages: 100}, nil},
		"own source":               {WarningInput{Sources: own(100, 10)}, []string{"10 from 203.0.113.9, which you named as yours, failed SPF and DKIM."}},
		"few of an own source":     {WarningInput{Sources: own(100, 9)}, nil},
		"tolerated of many":        {WarningInput{Sources: own(10_000, 50)}, nil},
		"source of others":         {WarningInput{Sources: []Source{{Source: "203.0.113.9", Messages: 50, FailedBoth: 50}}}, nil},
		"rise":                     {WarningInput{Messages: 1500, Failed: 100, FailedBefore: before}, []string{"On 3 November 100 of 1,500 messages failed SPF and DKIM; the days before had 1 on average: a source of yours that lost its authorization, or a wave of forgeries."}},
		"rise from nothing":        {WarningInput{Messages: 1500, Failed: 100, FailedBefore: make([]int64, 7)}, []string{"On 3 November 100 of 1,500 messages failed SPF and DKIM: a source of yours that lost its authorization, or a wave of forgeries."}},
		"too few days":             {WarningInput{Messages: 1500, Failed: 100, FailedBefore: before[:6]}, nil},
		"as before":                {WarningInput{Messages: 1500, Failed: 499, FailedBefore: []int64{100, 100, 100, 100, 100, 100, 100}}, nil},
		"TLS":                      {WarningInput{Sessions: 200, FailedSessions: 10}, []string{"On 3 November 10 of 200 sessions with TLS to the servers of example.com failed: senders that require TLS can't deliver."}},
		"few TLS failures of many": {WarningInput{Sessions: 201, FailedSessions: 10}, nil},
	} {
		c.in.Domain, c.in.Day = "example.com", day
		var got []string
		for _, w := range Warn(c.in) {
			got = append(got, w.Sentence.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
