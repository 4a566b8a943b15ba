package teams

import (
	"context"
	"errors"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// keyTTL is how long a key that was looked up is believed: half of the second
// within which a key that another process revokes must have stopped.
const keyTTL = 500 * time.Millisecond

// KeysFlushEvery is how often the last uses of keys are stored, those of all keys
// at once: the first shows within 5 seconds, also to commands beside the server.
const KeysFlushEvery = 3 * time.Second

// maxCachedKeys bounds the cache; above it, it is emptied.
const maxCachedKeys = 10_000

type cachedKey struct {
	key app.Key
	at  time.Time
}

// keyCache spares a database read for each request.
type keyCache struct {
	mu   sync.Mutex
	keys map[string]cachedKey
	era  int                  // grows with each forget
	used map[string]time.Time // key id -> last use that is not stored yet
}

// get gives a key that was looked up within keyTTL, and the era, which put asks
// for.
func (c *keyCache) get(public string, now time.Time) (k app.Key, era int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.keys[public]
	return cached.key, c.era, ok && now.Sub(cached.at) < keyTTL
}

// put keeps what was read after the get that gave the era; not when keys were
// forgotten in between, since it may have been read before the revocation that
// they were forgotten for.
func (c *keyCache) put(k app.Key, now time.Time, era int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if era != c.era {
		return
	}
	if c.keys == nil || len(c.keys) >= maxCachedKeys {
		c.keys = map[string]cachedKey{}
	}
	c.keys[k.Public] = cachedKey{key: k, at: now}
}

// forget has every key asked of the database anew.
func (c *keyCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = nil
	c.era++
}

func (c *keyCache) touch(id string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = map[string]time.Time{}
	}
	c.used[id] = now
}

func (c *keyCache) takeUsed() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := c.used
	c.used = nil
	return used
}

// Authenticate finds the key of an API token; the secret is compared in
// constant time. Errors: CodeInvalidAPIKey.
func (s *Service) Authenticate(ctx context.Context, token string) (*app.Key, error) {
	invalid := app.InvalidKey()
	public, hash, ok := app.ParseKey(token)
	if !ok {
		return nil, invalid
	}
	now := time.Now()
	k, era, ok := s.keys.get(public, now)
	if !ok {
		err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
			k, err = r.FindKey(public)
			return err
		})
		if errors.Is(err, db.ErrNotFound) {
			return nil, invalid
		}
		if err != nil {
			return nil, service.Unavailable(err)
		}
		s.keys.put(k, now, era)
	}
	if !k.Matches(hash) {
		return nil, invalid
	}
	if now.Sub(k.LastUsedAt) > time.Minute {
		s.keys.touch(k.ID, now)
	}
	return &k, nil
}

// FlushKeys stores when keys were last used.
func (s *Service) FlushKeys(ctx context.Context) error {
	used := s.keys.takeUsed()
	if len(used) == 0 {
		return nil
	}
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		for id, at := range used {
			if err := tx.TouchKey(id, at.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
}

// CreateKey makes an API key of a team and gives its token, which is kept
// nowhere. Errors: CodeNotFound for an unknown domain.
func (s *Service) CreateKey(ctx context.Context, teamID string, in app.KeyInput) (token string, k app.Key, err error) {
	if err := in.Validate(); err != nil {
		return "", app.Key{}, err
	}
	token, public, hash := app.NewKey()
	k = app.Key{ID: app.NewID(), TeamID: teamID, Name: in.Name, Permission: in.Permission, Role: in.Role,
		Public: public, Hash: hash, CreatedAt: time.Now()}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		d, err := domainOfKey(tx, teamID, &in)
		if err != nil {
			return service.Lookup("domain", err)
		}
		k.DomainID, k.DomainName = d.ID, d.Name
		return tx.InsertKey(k)
	})
	return token, k, service.Unavailable(err)
}

// domainOfKey finds the domain that a new key is bound to; none: an empty one.
func domainOfKey(tx *db.Tx, teamID string, in *app.KeyInput) (app.Domain, error) {
	switch {
	case in.DomainID != "":
		return tx.Domain(teamID, in.DomainID)
	case in.Domain != "":
		return tx.DomainByName(teamID, in.Domain)
	}
	return app.Domain{}, nil
}

// ListKeys gives all keys of a team, newest first: for the operator's command
// line.
func (s *Service) ListKeys(ctx context.Context, teamID string) (keys []app.Key, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		keys, err = r.AllKeys(teamID)
		return err
	})
	return keys, service.Unavailable(err)
}

// RevokeKey ends a key of any team, for the operator's command line; servers
// obey within a second. Errors: CodeNotFound.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	return service.Lookup("API key", s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		tx.AfterCommit(s.keys.forget)
		return tx.DeleteKey(id)
	}))
}

const devKeySetting = "dev_key"

// DevKey gives the token of the key that `serve --dev` shows; it is made at the
// first call and kept sealed, so that the line that shows it works each time.
func (s *Service) DevKey(ctx context.Context) (string, error) {
	var sealed []byte
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		sealed, err = r.Setting(devKeySetting)
		return err
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", service.Unavailable(err)
	}
	if token, err := s.Sealer.Open(devKeySetting, "", sealed); err == nil {
		if _, err := s.Authenticate(ctx, string(token)); err == nil {
			return string(token), nil
		}
	}
	team, err := s.FindTeam(ctx, "")
	if err != nil {
		return "", err
	}
	token, _, err := s.CreateKey(ctx, team.ID, app.KeyInput{Name: "dev", Permission: app.FullAccess, Role: app.RoleOwner})
	if err != nil {
		return "", err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		return tx.SetSetting(devKeySetting, s.Sealer.Seal(devKeySetting, "", []byte(token)))
	})
	return token, service.Unavailable(err)
}

// ForgetKeys has every key read anew: what it may do was changed.
func (s *Service) ForgetKeys() { s.keys.forget() }
