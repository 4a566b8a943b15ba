package teams

import (
	"mailer/app"
	"mailer/app/kit/cache"
)

// Exports for the external tests of this package.

func (s *Service) Keys() *cache.Cache[string, app.Key] { return s.keys }
