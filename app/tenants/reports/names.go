package reports

import (
	"context"
	"mailer/app"
)

type nameLookups struct{}

func newNameLookups() *nameLookups { return &nameLookups{} }

func (s *Service) reverseNames(ctx context.Context, sources []app.ReportSource) (map[string]string, error) {
	return nil, nil
}
