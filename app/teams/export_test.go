package teams

import (
	"time"

	"mailer/app"
)

// What the tests of this package from outside reach into it for.

func (x *Service) Keys() *keyCache { return &x.keys }

func (x *keyCache) Forget() { x.forget() }

func (x *keyCache) Get(a0 string, a1 time.Time) (k app.Key, era int, ok bool) { return x.get(a0, a1) }

func (x *keyCache) Put(a0 app.Key, a1 time.Time, a2 int) { x.put(a0, a1, a2) }
