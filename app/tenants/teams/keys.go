package teams

import (
	"context"
	"errors"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/seal"
	"mailer/db"
)

// keyTTL is how long a key that was looked up is believed: half of the second
// within which a key that another process revokes must have stopped.
const keyTTL = 500 * time.Millisecond

// KeysFlushEvery is how often the last uses of keys are stored, those of all keys
// at once: the first shows within 5 seconds, also to commands beside the server.
const KeysFlushEvery = 3 * time.Second

// maxCachedKeys is how many keys are remembered.
const maxCachedKeys = 10_000

// keyUses are the last uses of keys that are not stored yet. The zero value is
// ready.
type keyUses struct {
	mu   sync.Mutex
	last map[string]time.Time // by key id
}

func (u *keyUses) record(id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]time.Time{}
	}
	u.last[id] = now
}

func (u *keyUses) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last
	u.last = nil
	return last
}

// Authenticate finds the key of an API token; the secret is compared in
// constant time. From where it may be used the door checks, which knows.
// Errors: CodeInvalidAPIKey, also for one that has expired.
func (s *Service) Authenticate(ctx context.Context, token string) (*app.Key, error) {
	invalid := app.InvalidKey()
	public, hash, ok := app.ParseKey(token)
	if !ok {
		return nil, invalid
	}
	now := clock.Now()
	k, err := s.keys.Load(ctx, public, func(ctx context.Context) (app.Key, error) {
		return db.Get(ctx, s.DB, func(r *db.Reader) (app.Key, error) { return r.FindKey(public) })
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil, invalid
	}
	if err != nil {
		return nil, base.Unavailable(err)
	}
	if !k.Matches(hash) || expired(&k, now) {
		return nil, invalid
	}
	if now.Sub(k.LastUsedAt) > time.Minute {
		s.uses.record(k.ID, now)
	}
	return &k, nil
}

// FlushKeys stores when keys were last used.
func (s *Service) FlushKeys(ctx context.Context) error {
	used := s.uses.take()
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

// CreateKey makes an API key of a team and returns its token, which is kept
// nowhere. Errors: CodeValidation, for a team with base.CapKeys too; CodeNotFound for
// an unknown domain.
func (s *Service) CreateKey(ctx context.Context, teamID string, in app.KeyInput) (token string, k app.Key, err error) {
	return s.createKey(ctx, teamID, "", in)
}

// createKey is CreateKey for a person who makes it, or whose key does; empty: the command
// line.
func (s *Service) createKey(ctx context.Context, teamID, maker string, in app.KeyInput) (token string, k app.Key, err error) {
	if err := in.Validate(); err != nil {
		return "", app.Key{}, err
	}
	now := clock.Now()
	allowed, err := parseKeyBounds(now, in.ExpiresAt, in.AllowedIPs)
	if err != nil {
		return "", app.Key{}, err
	}
	token, public, hash := app.NewKey()
	k = app.Key{ID: app.NewID(), TeamID: teamID, Name: in.Name, Permission: in.Permission, Role: in.Role,
		Public: public, Hash: hash, ExpiresAt: in.ExpiresAt, AllowedIPs: allowed, CreatedBy: maker, CreatedAt: now}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := base.CapKeys.Check(&tx.Reader, teamID); err != nil {
			return err
		}
		d, err := domainOfKey(tx, teamID, &in)
		if err != nil {
			return base.Lookup("domain", err)
		}
		k.DomainID, k.DomainName = d.ID, d.Name
		if err := tx.InsertKey(k); err != nil {
			return err
		}
		return base.Audit(ctx, tx, teamID, "key.create", k.ID, nil, auditedKey(&k))
	})
	return token, k, base.Unavailable(err)
}

// auditedKey is what the audit log says of a key.
func auditedKey(k *app.Key) map[string]any {
	out := map[string]any{"name": k.Name, "permission": k.Permission, "role": k.Role}
	if k.DomainName != "" {
		out["domain"] = k.DomainName
	}
	if !k.ExpiresAt.IsZero() {
		out["expires_at"] = app.FormatTime(k.ExpiresAt)
	}
	if len(k.AllowedIPs) > 0 {
		out["allowed_ips"] = k.AllowedIPs
	}
	return out
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

// ListKeys returns all keys of a team, newest first: for the operator's command
// line.
func (s *Service) ListKeys(ctx context.Context, teamID string) (keys []app.Key, err error) {
	keys, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Key, error) { return r.AllKeys(teamID) })
	return keys, base.Unavailable(err)
}

// RevokeKey ends a key of any team, for the operator's command line; servers
// obey within a second. Errors: CodeNotFound.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	return base.Lookup("API key", s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		k, err := tx.AnyKey(id)
		if err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear)
		if err := tx.DeleteTeamKey(k.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, k.TeamID, "key.delete", id, auditedKey(&k), nil)
	}))
}

const devKeySetting = "dev_key"

// DevKey returns the token of the key that `serve --dev` shows; it is made at the
// first call and kept sealed, so that the line that shows it works each time.
func (s *Service) DevKey(ctx context.Context) (string, error) {
	token, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return s.SealedSetting(r, devKeySetting) })
	if err != nil && !errors.Is(err, db.ErrNotFound) && !errors.Is(err, seal.ErrSeal) {
		return "", base.Unavailable(err)
	}
	if err == nil {
		if _, err := s.Authenticate(ctx, string(token)); err == nil {
			return string(token), nil
		}
	}
	team, err := s.FindTeam(ctx, "")
	if err != nil {
		return "", err
	}
	made, _, err := s.CreateKey(ctx, team.ID, app.KeyInput{Name: "dev", Permission: app.FullAccess, Role: app.RoleOwner})
	if err != nil {
		return "", err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		return s.SetSealedSetting(tx, devKeySetting, []byte(made))
	})
	return made, base.Unavailable(err)
}

// ForgetKeys has every key read anew: what it may do was changed.
func (s *Service) ForgetKeys() { s.keys.Clear() }
