package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"mailer/app"
	"mailer/db"
)

// keyTTL is how long a key that was looked up is believed: half of the second
// within which a key that another process revokes must have stopped.
const keyTTL = 500 * time.Millisecond

// keysFlushEvery is how often the last uses of keys are stored, those of all keys
// at once: the first shows within 5 seconds, also to commands beside the server.
const keysFlushEvery = 3 * time.Second

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
func (e *Engine) Authenticate(ctx context.Context, token string) (*app.Key, error) {
	invalid := app.InvalidKey()
	public, hash, ok := app.ParseKey(token)
	if !ok {
		return nil, invalid
	}
	now := time.Now()
	k, era, ok := e.keys.get(public, now)
	if !ok {
		err := e.db.Read(ctx, func(r *db.Reader) (err error) {
			k, err = r.FindKey(public)
			return err
		})
		if errors.Is(err, db.ErrNotFound) {
			return nil, invalid
		}
		if err != nil {
			return nil, unavailable(err)
		}
		e.keys.put(k, now, era)
	}
	if !k.Matches(hash) {
		return nil, invalid
	}
	if now.Sub(k.LastUsedAt) > time.Minute {
		e.keys.touch(k.ID, now)
	}
	return &k, nil
}

// flushKeys stores when keys were last used.
func (e *Engine) flushKeys(ctx context.Context) error {
	used := e.keys.takeUsed()
	if len(used) == 0 {
		return nil
	}
	return e.db.Write(ctx, func(tx *db.Tx) error {
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
func (e *Engine) CreateKey(ctx context.Context, teamID string, in app.KeyInput) (token string, k app.Key, err error) {
	if err := in.Validate(); err != nil {
		return "", app.Key{}, err
	}
	token, public, hash := app.NewKey()
	k = app.Key{ID: app.NewID(), TeamID: teamID, Name: in.Name, Permission: in.Permission, Role: in.Role,
		Public: public, Hash: hash, CreatedAt: time.Now()}
	err = e.db.Write(ctx, func(tx *db.Tx) error {
		d, err := domainOfKey(tx, teamID, &in)
		if err != nil {
			return lookup("domain", err)
		}
		k.DomainID, k.DomainName = d.ID, d.Name
		return tx.InsertKey(k)
	})
	return token, k, unavailable(err)
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
func (e *Engine) ListKeys(ctx context.Context, teamID string) (keys []app.Key, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		keys, err = r.AllKeys(teamID)
		return err
	})
	return keys, unavailable(err)
}

// RevokeKey ends a key of any team, for the operator's command line; servers
// obey within a second. Errors: CodeNotFound.
func (e *Engine) RevokeKey(ctx context.Context, id string) error {
	return lookup("API key", e.db.WriteVital(ctx, func(tx *db.Tx) error {
		tx.AfterCommit(e.keys.forget)
		return tx.DeleteKey(id)
	}))
}

const devKeySetting = "dev_key"

// DevKey gives the token of the key that `serve --dev` shows; it is made at the
// first call and kept sealed, so that the line that shows it works each time.
func (e *Engine) DevKey(ctx context.Context) (string, error) {
	var sealed []byte
	err := e.db.Read(ctx, func(r *db.Reader) (err error) {
		sealed, err = r.Setting(devKeySetting)
		return err
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", unavailable(err)
	}
	if token, err := e.cfg.Sealer.Open(devKeySetting, "", sealed); err == nil {
		if _, err := e.Authenticate(ctx, string(token)); err == nil {
			return string(token), nil
		}
	}
	team, err := e.FindTeam(ctx, "")
	if err != nil {
		return "", err
	}
	token, _, err := e.CreateKey(ctx, team.ID, app.KeyInput{Name: "dev", Permission: app.FullAccess, Role: app.RoleOwner})
	if err != nil {
		return "", err
	}
	err = e.db.Write(ctx, func(tx *db.Tx) error {
		return tx.SetSetting(devKeySetting, e.cfg.Sealer.Seal(devKeySetting, "", []byte(token)))
	})
	return token, unavailable(err)
}

// forgetKeys has every key read anew: what it may do was changed.
func (e *Engine) forgetKeys() { e.keys.forget() }
