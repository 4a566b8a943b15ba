//go:build perf

package dnscheck

import (
	"context"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

func TestPerfHugeAnswersTakeLinearTime(t *testing.T) {
	d := testDomain("example.com")
	d.TrackingSubdomain = "links"
	apptest.Linear(t, "records", 10, func(n int) func() {
		many := hugeAnswer(n)
		return func() {
			Check(t.Context(), d, sesNeeds, "mail.acme.test", func(context.Context, string, app.DNSType) (app.DNSAnswer, error) { return many, nil })
		}
	})
}
