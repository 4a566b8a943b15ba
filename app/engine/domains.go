package engine

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"mailer/app"
	"mailer/db"
)

const (
	dkimBits    = 2048 // RFC 8301 3.2
	dkimPurpose = "dkim"
	// defaultReturnPath is the label of a domain's return path.
	defaultReturnPath = "send"
)

// AddDomain registers a domain of a team with a DKIM key pair of its own. With
// trust it counts as verified at once: the operator vouches for it. Errors:
// CodeConflict, CodeValidation.
func (e *Engine) AddDomain(ctx context.Context, teamID, name, region string, trust bool) (app.Domain, error) {
	name, err := app.ParseDomain(name)
	if err != nil {
		return app.Domain{}, app.Invalid("name", "%s", err)
	}
	if region == "" {
		region = app.DefaultRegion
	}
	d := app.Domain{ID: app.NewID(), TeamID: teamID, Name: name, Status: app.DomainNotStarted, Region: region,
		ReturnPath: defaultReturnPath, Selector: app.DKIMSelector, CreatedAt: time.Now()}
	if trust {
		d.Status = app.DomainVerified
	}
	if d.DKIMPublic, d.DKIMSealed, err = e.newDKIMKey(d.ID); err != nil {
		return app.Domain{}, err
	}
	err = e.db.Write(ctx, func(tx *db.Tx) error { return tx.InsertDomain(d) })
	if errors.Is(err, db.ErrConflict) {
		return app.Domain{}, app.Errorf(app.CodeConflict, "The domain %s is registered already", name)
	}
	return d, unavailable(err)
}

func (e *Engine) newDKIMKey(domainID string) (public string, sealed []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, dkimBits)
	if err != nil {
		return "", nil, fmt.Errorf("make DKIM key: %w", err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", nil, fmt.Errorf("encode DKIM key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, fmt.Errorf("encode DKIM key: %w", err)
	}
	return base64.StdEncoding.EncodeToString(spki), e.cfg.Sealer.Seal(dkimPurpose, domainID, private), nil
}

// ListDomains gives the domains of a team, newest first.
func (e *Engine) ListDomains(ctx context.Context, teamID string) (domains []app.Domain, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		domains, err = r.ListDomains(teamID)
		return err
	})
	return domains, unavailable(err)
}

// DomainByName gives a team's domain. Errors: CodeNotFound.
func (e *Engine) DomainByName(ctx context.Context, teamID, name string) (d app.Domain, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		d, err = r.DomainByName(teamID, name)
		return err
	})
	return d, lookup("domain", err)
}

// dkimTTL is how long an opened key is used before the database is asked again.
const dkimTTL = 10 * time.Second

type cachedDKIM struct {
	key *app.DKIMKey // nil: the domain is unknown
	at  time.Time
}

// dkimCache holds opened private keys, so that a message costs no unsealing.
type dkimCache struct {
	mu        sync.Mutex
	keys      map[string]cachedDKIM
	throwaway *rsa.PrivateKey
}

// dkimKey gives the key that signs for a team's domain; nil for a domain that
// the team does not have.
func (e *Engine) dkimKey(ctx context.Context, teamID, name string) (*app.DKIMKey, error) {
	e.dkim.mu.Lock()
	defer e.dkim.mu.Unlock()
	cached, ok := e.dkim.keys[teamID+" "+name]
	if ok && time.Since(cached.at) < dkimTTL {
		return cached.key, nil
	}
	key, err := e.openDKIM(ctx, teamID, name)
	if err != nil {
		return nil, err
	}
	if e.dkim.keys == nil || len(e.dkim.keys) >= maxCachedKeys {
		e.dkim.keys = map[string]cachedDKIM{}
	}
	e.dkim.keys[teamID+" "+name] = cachedDKIM{key: key, at: time.Now()}
	return key, nil
}

func (e *Engine) openDKIM(ctx context.Context, teamID, name string) (*app.DKIMKey, error) {
	d, err := e.DomainByName(ctx, teamID, name)
	if app.CodeOf(err) == app.CodeNotFound {
		return e.throwawayKey(name)
	}
	if err != nil {
		return nil, err
	}
	der, err := e.cfg.Sealer.Open(dkimPurpose, d.ID, d.DKIMSealed)
	if err != nil {
		return nil, fmt.Errorf("open DKIM key of %s: %w", name, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("parse DKIM key of %s: %w", name, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("DKIM key of %s can't sign", name)
	}
	return &app.DKIMKey{Domain: d.Name, Selector: d.Selector, Signer: signer}, nil
}

// throwawayKey signs for a domain that nobody registered, which only the
// capture transport lets through: its messages should look like real ones.
func (e *Engine) throwawayKey(name string) (*app.DKIMKey, error) {
	if !e.cfg.Capture {
		return nil, nil
	}
	if e.dkim.throwaway == nil {
		key, err := rsa.GenerateKey(rand.Reader, dkimBits)
		if err != nil {
			return nil, fmt.Errorf("make throwaway DKIM key: %w", err)
		}
		e.dkim.throwaway = key
	}
	return &app.DKIMKey{Domain: name, Selector: app.DKIMSelector, Signer: e.dkim.throwaway}, nil
}
