package providerevents

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/feedback"
	"mailer/db"
)

const (
	// ingestSetting is the sealed setting that holds ingestSecrets.
	ingestSetting = "ingest"
	// keysSetting is the sealed setting that holds the keys of signatures by source, as
	// feedback.Provider.CheckKey returns them.
	keysSetting = "ingest.keys"
)

// MaxIngestOverlap is how long an old secret may stay valid beside a new one.
const MaxIngestOverlap = 30 * 24 * time.Hour

// DefaultIngestOverlap is how long an old secret stays valid by default.
const DefaultIngestOverlap = 72 * time.Hour

// ingestSecrets are the secrets in the URL paths of endpoints, by source, newest first.
type ingestSecrets map[string][]ingestSecret

type ingestSecret struct {
	Secret   string    `json:"secret"`
	Password string    `json:"password,omitempty"` // of feedback.ProofPassword
	Until    time.Time `json:"until,omitzero"`     // when both become invalid; zero: the newest
}

// renew adds a new secret for a source. Old ones end at until, or earlier if that was set before.
func (s ingestSecrets) renew(source string, now, until time.Time) {
	kept := []ingestSecret{{Secret: newIngestSecret()}}
	if feedback.ProviderBySource(source).Proof == feedback.ProofPassword {
		kept[0].Password = newIngestSecret()
	}
	for _, old := range s[source] {
		if old.Until.IsZero() || until.Before(old.Until) {
			old.Until = until
		}
		if old.Until.After(now) {
			kept = append(kept, old)
		}
	}
	s[source] = kept
}

// valid reports, in constant time, whether a secret is valid for a source, and whether the password
// is the one that was made with it.
func (s ingestSecrets) valid(source, secret, password string, now time.Time) (secretOK, passwordOK bool) {
	ok, both := 0, 0
	for _, known := range s[source] {
		same := subtle.ConstantTimeCompare([]byte(known.Secret), []byte(secret))
		samePassword := subtle.ConstantTimeCompare([]byte(known.Password), []byte(password))
		if known.Until.IsZero() || now.Before(known.Until) {
			ok |= same
			both |= same & samePassword
		}
	}
	return ok == 1, both == 1
}

func newIngestSecret() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b)
}

// IngestEndpoint is the address of the endpoint of a source, and what the provider needs besides.
type IngestEndpoint struct {
	Source   string
	URL      string         // a path only if the server's URL is not configured
	Proof    feedback.Proof // empty: the listener of bounces
	Password string         // of ProofPassword, if it is not part of the URL
	KeySet   bool           // of ProofSignature: the provider's key is stored
}

// IngestEndpoints returns the addresses of all endpoints. A secret in an address authenticates the
// provider: whoever has it can suppress addresses of every team. A source without a secret gets
// one.
func (s *Service) IngestEndpoints(ctx context.Context) ([]IngestEndpoint, error) {
	var keys map[string]string
	secrets, err := db.Get(ctx, s.DB, func(r *db.Reader) (secrets ingestSecrets, err error) {
		if keys, err = s.ingestKeys(r); err != nil {
			return nil, err
		}
		return s.ingestSecrets(r)
	})
	if err == nil && len(withoutSecret(secrets)) > 0 {
		err = s.DB.Write(ctx, func(tx *db.Tx) error {
			if secrets, err = s.ingestSecrets(&tx.Reader); err != nil {
				return err
			}
			for _, source := range withoutSecret(secrets) {
				secrets.renew(source, tx.Now, tx.Now)
			}
			return s.storeIngestSecrets(tx, secrets)
		})
	}
	if err != nil {
		return nil, base.Unavailable(fmt.Errorf("read the secrets of providers: %w", err))
	}
	return s.endpoints(secrets, keys), nil
}

func (s *Service) endpoints(secrets ingestSecrets, keys map[string]string) (endpoints []IngestEndpoint) {
	for _, p := range feedback.Providers() {
		e := IngestEndpoint{Source: p.Source, URL: s.Settings.BaseURL + "/ingest/" + p.Source, Proof: p.Proof}
		if p.Proof != feedback.ProofSNS {
			newest := secrets[p.Source][0]
			e.URL += "/" + newest.Secret
			e.Password, e.KeySet = newest.Password, keys[p.Source] != ""
		}
		if scheme, rest, found := strings.Cut(e.URL, "://"); found && p.CredentialsInURL {
			e.URL, e.Password = scheme+"://"+feedback.PasswordUser+":"+e.Password+"@"+rest, ""
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

// withoutSecret returns the sources that have no secret yet.
func withoutSecret(secrets ingestSecrets) []string {
	return slices.DeleteFunc(feedback.Sources(), func(source string) bool { return len(secrets[source]) > 0 })
}

// CheckIngestSecret reports, in constant time, whether a secret is valid for a source, and for a
// source with ProofPassword whether the password is that of the secret. Errors:
// CodeServiceUnavailable.
func (s *Service) CheckIngestSecret(ctx context.Context, source, secret, password string) (secretOK, passwordOK bool, err error) {
	secrets, err := db.Get(ctx, s.DB, s.ingestSecrets)
	if err != nil {
		return false, false, base.Unavailable(fmt.Errorf("read the secrets of providers: %w", err))
	}
	secretOK, passwordOK = secrets.valid(source, secret, password, clock.Now())
	return secretOK, passwordOK || feedback.ProviderBySource(source).Proof != feedback.ProofPassword, nil
}

// VerifyIngest checks the signature of a request of a source with ProofSignature; other sources
// have none. why is the reason of a refusal, for the log and the operator. Errors:
// CodeServiceUnavailable.
func (s *Service) VerifyIngest(ctx context.Context, source string, header http.Header, body []byte) (why, err error) {
	p := feedback.ProviderBySource(source)
	if p.Proof != feedback.ProofSignature {
		return nil, nil
	}
	keys, err := db.Get(ctx, s.DB, s.ingestKeys)
	if err != nil {
		return nil, base.Unavailable(fmt.Errorf("read the keys of providers: %w", err))
	}
	if keys[source] == "" {
		return fmt.Errorf("the key of the signatures is not known: run mailer ingest key --source %s", source), nil
	}
	return p.Verify(keys[source], header, body, clock.Now()), nil
}

// SetIngestKey stores the key that verifies a provider's signatures. Errors: CodeValidation.
func (s *Service) SetIngestKey(ctx context.Context, source, key string) (endpoints []IngestEndpoint, err error) {
	p := feedback.ProviderBySource(source)
	checked, err := p.CheckKey(key)
	if err != nil {
		return nil, err
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		keys, err := s.ingestKeys(&tx.Reader)
		if err != nil {
			return err
		}
		keys[source] = checked
		plain, err := json.Marshal(keys)
		if err != nil {
			return fmt.Errorf("encode the keys of providers: %w", err)
		}
		if err := s.SetSealedSetting(tx, keysSetting, plain); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "ingest.key", source, nil, map[string]any{"source": source})
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return s.IngestEndpoints(ctx)
}

// ingestKeys reads the keys of signatures by source.
func (s *Service) ingestKeys(r *db.Reader) (map[string]string, error) {
	keys := map[string]string{}
	plain, err := s.SealedSetting(r, keysSetting)
	if errors.Is(err, db.ErrNotFound) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(plain, &keys) != nil { // the error of json might contain keys
		return nil, errors.New("the keys of providers can't be read")
	}
	return keys, nil
}

// IngestRotation is the input of RotateIngest.
type IngestRotation struct {
	Source  string        // empty: all
	Overlap time.Duration // how long the old secrets stay valid, at most MaxIngestOverlap
}

// RotateIngest makes new secrets. It returns all addresses and when the old secrets end. Errors:
// CodeValidation.
func (s *Service) RotateIngest(ctx context.Context, in IngestRotation) (endpoints []IngestEndpoint, until time.Time, err error) {
	sources := feedback.Sources()
	if in.Source != "" {
		if !slices.Contains(sources, in.Source) {
			return nil, until, app.Errorf(app.CodeValidation, "%q has no secret; those that have are %s", in.Source, strings.Join(sources, ", "))
		}
		sources = []string{in.Source}
	}
	if in.Overlap < 0 || in.Overlap > MaxIngestOverlap {
		return nil, until, app.Errorf(app.CodeValidation, "The overlap must be between 0 and %.0f hours, is %s", MaxIngestOverlap.Hours(), in.Overlap)
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		secrets, err := s.ingestSecrets(&tx.Reader)
		if err != nil {
			return err
		}
		keys, err := s.ingestKeys(&tx.Reader)
		if err != nil {
			return err
		}
		until = tx.Now.Add(in.Overlap)
		for _, source := range append(withoutSecret(secrets), sources...) {
			secrets.renew(source, tx.Now, until)
		}
		endpoints = s.endpoints(secrets, keys)
		if err := s.storeIngestSecrets(tx, secrets); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "ingest.rotate", in.Source, nil, map[string]any{"sources": sources, "old_until": app.FormatTime(until)})
	})
	return endpoints, until, base.Unavailable(err)
}

// ingestSecrets reads the secrets; none are not an error.
func (s *Service) ingestSecrets(r *db.Reader) (ingestSecrets, error) {
	plain, err := s.SealedSetting(r, ingestSetting)
	if errors.Is(err, db.ErrNotFound) {
		return ingestSecrets{}, nil
	}
	if err != nil {
		return nil, err
	}
	var secrets ingestSecrets
	if json.Unmarshal(plain, &secrets) != nil { // the error of json might contain secrets
		return nil, errors.New("the secrets of providers can't be read")
	}
	return secrets, nil
}

func (s *Service) storeIngestSecrets(tx *db.Tx, secrets ingestSecrets) error {
	plain, err := json.Marshal(secrets)
	if err != nil {
		return fmt.Errorf("encode the secrets of providers: %w", err)
	}
	return s.SetSealedSetting(tx, ingestSetting, plain)
}
