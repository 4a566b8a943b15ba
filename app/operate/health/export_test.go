package health

import (
	"context"
	"net/http"
)

// Unexported functions for tests.
var (
	JudgeDisk        = judgeDisk
	JudgeDescriptors = judgeDescriptors
)

// Reach makes the network checks.
func (s *Service) Reach(ctx context.Context) []Check {
	return append(s.checkBaseURL(ctx), s.checkBounces(ctx)...)
}

// Network returns the network access of the service.
func (s *Service) Network() Network { return s.network }

// Alerter is the alerter.
type Alerter = alerter

// NewAlerter returns an alerter with the stored state, as after a start of the server.
func (s *Service) NewAlerter(ctx context.Context, to Alerts, post http.RoundTripper, mail func(ctx context.Context, to, subject, text string) error) (*Alerter, error) {
	a := &alerter{s: s, to: to, post: post, mail: mail}
	return a, a.load(ctx)
}

// Step sends alerts about new findings.
func (a *alerter) Step(ctx context.Context, found []Finding) { a.step(ctx, found) }

// FindingOf returns a finding like a check does.
func FindingOf(id, subject string, pairs ...string) Finding {
	return *bad("check", id, subject, pairs...).Finding
}

// ReportRecord makes the check of the record for reports.
func (s *Service) ReportRecord(ctx context.Context) ([]Check, error) { return s.checkReportRecord(ctx) }
