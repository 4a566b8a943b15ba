package health

import "context"

func (s *Service) checkRelays(context.Context) ([]Check, error)  { return nil, nil }
func (s *Service) checkWaiting(context.Context) ([]Check, error) { return nil, nil }
func (s *Service) checkBackups(context.Context) ([]Check, error) { return nil, nil }
