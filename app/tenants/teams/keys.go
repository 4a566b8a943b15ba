package teams

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/seal"
	"mailer/db"
)

// keyTTL is how long a key is cached: half of the second within which a key that another process
// revokes must stop working.
const keyTTL = 500 * time.Millisecond

// KeysFlushEvery is how often the last uses of all keys are stored, so that the first use shows
// within 5 seconds, in commands too.
const KeysFlushEvery = 3 * time.Second

// maxCachedKeys bounds the cache of keys.
const maxCachedKeys = 10_000

// keyUses collects the last uses of keys that are not stored yet. The zero value is ready to use.
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

// Authenticate returns the key of an API token. It compares the secret in constant time. The caller
// checks the allowed addresses. Errors: CodeInvalidAPIKey, also for an expired key.
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

// CreateKey makes an API key for the command line and returns its token, which is stored nowhere.
// Errors: CodeValidation, also for a team with base.CapKeys keys; CodeNotFound for an unknown
// domain.
func (s *Service) CreateKey(ctx context.Context, teamID string, in app.KeyInput) (token string, k app.Key, err error) {
	return s.createKey(ctx, teamID, "", in)
}

// createKey makes an API key. maker is the person who makes it, or whose key does; empty: the
// command line.
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

// auditedKey returns what the audit log shows of a key.
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

// domainOfKey returns the domain that a new key is restricted to; the zero value for none.
func domainOfKey(tx *db.Tx, teamID string, in *app.KeyInput) (app.Domain, error) {
	switch {
	case in.DomainID != "":
		return tx.Domain(teamID, in.DomainID)
	case in.Domain != "":
		return tx.DomainByName(teamID, in.Domain)
	}
	return app.Domain{}, nil
}

// ListKeys returns all keys of a team, newest first, for the command line.
func (s *Service) ListKeys(ctx context.Context, teamID string) (keys []app.Key, err error) {
	keys, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Key, error) { return r.AllKeys(teamID) })
	return keys, base.Unavailable(err)
}

// RevokeKey ends a key of any team, for the command line. Servers obey within a second. Errors:
// CodeNotFound.
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

// DevKey returns the token of the key that `serve --dev` prints. The key is made at the first call
// and its token is stored sealed, so that the printed command keeps working.
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

// ForgetKeys drops all cached keys, after a change of what they may do.
func (s *Service) ForgetKeys() { s.keys.Clear() }

// CreateTeamKey makes an API key for the team of key and returns its token, which is stored
// nowhere. An empty permission is full_access, an empty role that of key. Errors: CodeValidation;
// CodeForbidden for members, for a role above that of key, and for a new key with a later expiry or
// more addresses than key has; CodeNotFound for an unknown domain.
func (s *Service) CreateTeamKey(ctx context.Context, key *app.Key, in app.KeyInput) (token string, k app.Key, err error) {
	if in.Permission == "" {
		in.Permission = app.FullAccess
	}
	if in.Role == "" {
		in.Role = key.Role
	}
	if err := in.Validate(); err != nil {
		return "", app.Key{}, err
	}
	if err := checkMayManage(key, in.Role); err != nil {
		return "", app.Key{}, err
	}
	allowed, err := parseKeyBounds(clock.Now(), in.ExpiresAt, in.AllowedIPs)
	if err == nil {
		err = checkWithinOwnBounds(key, true, in.ExpiresAt, true, allowed)
	}
	if err != nil {
		return "", app.Key{}, err
	}
	maker := key.CreatedBy
	if key.Session != nil {
		maker = key.ID
	}
	return s.createKey(ctx, key.TeamID, maker, in)
}

// checkMayManage returns nil if key may make or change keys of a role. Only owners and admins may,
// and not above their own role. Errors: CodeForbidden.
func checkMayManage(key *app.Key, role app.Role) error {
	switch {
	case !key.Role.Manages():
		return app.RoleTooLow()
	case role.Above(key.Role):
		return app.RoleAbove(role)
	}
	return nil
}

// ListTeamKeys returns a page of the keys of a team, newest first, and whether there are more.
// Errors: CodeValidation for an unknown cursor.
func (s *Service) ListTeamKeys(ctx context.Context, key *app.Key, page app.Page) (rows []app.Key, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Key, bool, error) { return r.ListKeys(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// UpdateTeamKey changes a key of the team and returns it. This server obeys immediately, others of
// the same database within a second. Errors: CodeValidation, CodeNotFound, CodeForbidden for a key
// with a higher role than key, and for a later expiry or more addresses than key has.
func (s *Service) UpdateTeamKey(ctx context.Context, key *app.Key, id string, change KeyChange) (k app.Key, err error) {
	allowed, err := change.check(clock.Now())
	if err == nil {
		err = checkWithinOwnBounds(key, change.ExpiresAt.Set, change.ExpiresAt.Value, change.AllowedIPs.Set, allowed)
	}
	if err != nil {
		return app.Key{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if k, err = managedKey(tx, key, id); err != nil {
			return err
		}
		before := auditedKey(&k)
		change.apply(&k, allowed)
		if err := tx.UpdateKey(&k); err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear)
		return base.Audit(ctx, tx, key.TeamID, "key.update", id, before, auditedKey(&k))
	})
	return k, base.Lookup("API key", err)
}

// DeleteTeamKey revokes a key of the team, which may be key itself. This server obeys immediately,
// also on open connections, others of the same database within a second. Errors: CodeNotFound,
// CodeForbidden for a key with a higher role than key.
func (s *Service) DeleteTeamKey(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		k, err := managedKey(tx, key, id)
		if err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear)
		if err := tx.DeleteTeamKey(key.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "key.delete", id, auditedKey(&k), nil)
	})
	return base.Lookup("API key", err)
}

// managedKey returns a key that another key may change.
func managedKey(tx *db.Tx, key *app.Key, id string) (app.Key, error) {
	k, err := tx.Key(key.TeamID, id)
	if err != nil {
		return k, err
	}
	return k, checkMayManage(key, k.Role)
}

// MaxAllowedIPs is how many address ranges the allow list of a key can have.
const MaxAllowedIPs = 20

// KeyChange is a change of an API key. Fields that are not set stay.
type KeyChange struct {
	Name       *string
	ExpiresAt  app.Change[time.Time] // null: never
	AllowedIPs app.Change[[]string]  // null or empty: any address
}

// check validates a change and parses its address ranges. Errors: CodeValidation.
func (c *KeyChange) check(now time.Time) ([]netip.Prefix, error) {
	if c.Name == nil && !c.ExpiresAt.Set && !c.AllowedIPs.Set {
		return nil, app.Errorf(app.CodeValidation, "Say what is to be changed: `name`, `expires_at` or `allowed_ips`")
	}
	if c.Name != nil {
		if err := app.CheckKeyName(*c.Name); err != nil {
			return nil, err
		}
	}
	return parseKeyBounds(now, c.ExpiresAt.Value, c.AllowedIPs.Value)
}

func (c *KeyChange) apply(k *app.Key, allowed []netip.Prefix) {
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.ExpiresAt.Set {
		k.ExpiresAt = c.ExpiresAt.Value
	}
	if c.AllowedIPs.Set {
		k.AllowedIPs = allowed
	}
}

// parseKeyBounds checks the expiry of a key and parses its address ranges. Errors: CodeValidation.
func parseKeyBounds(now, expires time.Time, ranges []string) (allowed []netip.Prefix, err error) {
	if !expires.IsZero() && !expires.After(now) {
		return nil, app.Invalid("expires_at", "must be in the future")
	}
	if len(ranges) > MaxAllowedIPs {
		return nil, app.Invalid("allowed_ips", "can hold at most %d ranges", MaxAllowedIPs)
	}
	for _, text := range ranges {
		// Parse each item alone: an empty item must not leave an empty list, which would allow any
		// address.
		one, err := app.ParseRanges([]string{text})
		if err != nil || len(one) != 1 {
			return nil, app.Invalid("allowed_ips", "must hold addresses like 192.0.2.7 and ranges like 10.0.0.0/8 or 2001:db8::/32")
		}
		allowed = append(allowed, one[0])
	}
	return allowed, nil
}

// checkWithinOwnBounds returns nil if key may give another key this expiry and these ranges:
// neither may exceed its own. Each is checked only if it is to be set. A signed-in person has no
// bounds. Errors: CodeForbidden.
func checkWithinOwnBounds(key *app.Key, setsEnd bool, end time.Time, setsRanges bool, allowed []netip.Prefix) error {
	if setsEnd && !key.ExpiresAt.IsZero() && (end.IsZero() || end.After(key.ExpiresAt)) {
		return app.Errorf(app.CodeForbidden, "This API key ends at %s and can't make or change a key that works longer; give an `expires_at` until then", app.FormatTime(key.ExpiresAt))
	}
	if setsRanges && len(key.AllowedIPs) > 0 && !rangesWithin(allowed, key.AllowedIPs) {
		return app.Errorf(app.CodeForbidden, "This API key works from some addresses only and can't make or change a key that works from others; give `allowed_ips` within its own")
	}
	return nil
}

// rangesWithin reports whether each range is contained in one of others. An empty list allows all
// addresses, so it is contained in none.
func rangesWithin(ranges, others []netip.Prefix) bool {
	for _, inner := range ranges {
		within := func(outer netip.Prefix) bool { return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr()) }
		if !slices.ContainsFunc(others, within) {
			return false
		}
	}
	return len(ranges) > 0
}

// expired reports whether a key has expired.
func expired(k *app.Key, now time.Time) bool {
	return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}
