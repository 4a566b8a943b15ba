package providerevents

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// ingestSetting is the sealed setting that holds ingestSecrets.
const ingestSetting = "ingest"

// MaxIngestOverlap is how long an old secret may stay valid beside a new one.
const MaxIngestOverlap = 30 * 24 * time.Hour

// DefaultIngestOverlap is how long an old secret stays valid by default.
const DefaultIngestOverlap = 72 * time.Hour

// ingestSecrets are the secrets in the URL paths of endpoints, by source, newest first.
type ingestSecrets map[string][]ingestSecret

type ingestSecret struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until,omitzero"` // when it becomes invalid; zero: the newest
}

// renew adds a new secret for a source. Old ones end at until, or earlier if that was set before.
func (s ingestSecrets) renew(source string, now, until time.Time) {
	kept := []ingestSecret{{Secret: newIngestSecret()}}
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

// valid reports, in constant time, whether a secret is valid for a source.
func (s ingestSecrets) valid(source, secret string, now time.Time) bool {
	ok := 0
	for _, known := range s[source] {
		if same := subtle.ConstantTimeCompare([]byte(known.Secret), []byte(secret)); known.Until.IsZero() || now.Before(known.Until) {
			ok |= same
		}
	}
	return ok == 1
}

func newIngestSecret() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b)
}

// IngestEndpoint is the address of the endpoint of a source.
type IngestEndpoint struct {
	Source string
	URL    string // a path only if the server's URL is not configured
}

// IngestEndpoints returns the addresses of all endpoints. A secret in an address authenticates the
// provider: whoever has it can suppress addresses of every team. A source without a secret gets
// one.
func (s *Service) IngestEndpoints(ctx context.Context) ([]IngestEndpoint, error) {
	secrets, err := db.Get(ctx, s.DB, s.ingestSecrets)
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
	return s.endpoints(secrets), nil
}

func (s *Service) endpoints(secrets ingestSecrets) []IngestEndpoint {
	endpoints := []IngestEndpoint{{app.SourceSES, s.Settings.BaseURL + "/ingest/ses"}}
	for _, source := range app.FeedbackSources() {
		endpoints = append(endpoints, IngestEndpoint{source, s.Settings.BaseURL + "/ingest/" + source + "/" + secrets[source][0].Secret})
	}
	return endpoints
}

// withoutSecret returns the sources that have no secret yet.
func withoutSecret(secrets ingestSecrets) []string {
	return slices.DeleteFunc(app.FeedbackSources(), func(source string) bool { return len(secrets[source]) > 0 })
}

// CheckIngestSecret reports, in constant time, whether a secret is valid for a source. Errors:
// CodeServiceUnavailable.
func (s *Service) CheckIngestSecret(ctx context.Context, source, secret string) (bool, error) {
	secrets, err := db.Get(ctx, s.DB, s.ingestSecrets)
	if err != nil {
		return false, base.Unavailable(fmt.Errorf("read the secrets of providers: %w", err))
	}
	return secrets.valid(source, secret, clock.Now()), nil
}

// IngestRotation is the input of RotateIngest.
type IngestRotation struct {
	Source  string        // empty: all
	Overlap time.Duration // how long the old secrets stay valid, at most MaxIngestOverlap
}

// RotateIngest makes new secrets. It returns all addresses and when the old secrets end. Errors:
// CodeValidation.
func (s *Service) RotateIngest(ctx context.Context, in IngestRotation) (endpoints []IngestEndpoint, until time.Time, err error) {
	sources := app.FeedbackSources()
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
		until = tx.Now.Add(in.Overlap)
		for _, source := range append(withoutSecret(secrets), sources...) {
			secrets.renew(source, tx.Now, until)
		}
		endpoints = s.endpoints(secrets)
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
