package health

import (
	"context"
	"net/http"
)

// What tests look at one by one.
var (
	JudgeDisk        = judgeDisk
	JudgeDescriptors = judgeDescriptors
)

// Reach are the checks that ask the network.
func (s *Service) Reach(ctx context.Context) []Check {
	return append(s.checkBaseURL(ctx), s.checkBounces(ctx)...)
}

// Network returns how the service reaches the world.
func (s *Service) Network() Network { return s.network }

// Alerter is what tells an operator, step by step.
type Alerter = alerter

// NewAlerter makes one as a start of the server does, with what the last one remembered.
func (s *Service) NewAlerter(ctx context.Context, to Alerts, post http.RoundTripper, mail func(ctx context.Context, to, subject, text string) error) (*Alerter, error) {
	a := &alerter{s: s, to: to, post: post, mail: mail}
	return a, a.load(ctx)
}

// Step tells what is new.
func (a *alerter) Step(ctx context.Context, found []Finding) { a.step(ctx, found) }

// FindingOf makes a finding as a check does.
func FindingOf(id, subject string, pairs ...string) Finding {
	return *bad("check", id, subject, pairs...).Finding
}
