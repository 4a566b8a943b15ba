package teams

import (
	"mailer/app"
	"mailer/app/kit/cache"
)

// What the tests of this package from outside reach into it for.

func (s *Service) Keys() *cache.Cache[string, app.Key] { return s.keys }
