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

// ingestSetting is the sealed setting with the secrets of ingestSecrets.
const ingestSetting = "ingest"

// MaxIngestOverlap is how long an old secret can work beside a new one.
const MaxIngestOverlap = 30 * 24 * time.Hour

// DefaultIngestOverlap is how long it does by itself.
const DefaultIngestOverlap = 72 * time.Hour

// ingestSecrets are the secrets in the paths that reports come to, by source, the
// newest first.
type ingestSecrets map[string][]ingestSecret

type ingestSecret struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until,omitzero"` // when it ends; zero: it is the newest
}

// renew makes a new secret for a source. The old ones end at until, or before where
// that was said earlier.
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

// open tells, in constant time, whether a secret is one of a source.
func (s ingestSecrets) open(source, secret string, now time.Time) bool {
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

// IngestEndpoint is an address that reports of a source come to.
type IngestEndpoint struct {
	Source string
	URL    string // a path alone where the server's address is not known
}

// IngestEndpoints returns the addresses of all sources. Those with a secret prove by it
// who reports: whoever has them can suppress addresses of every team. A source that
// has no secret yet gets one.
func (s *Service) IngestEndpoints(ctx context.Context) ([]IngestEndpoint, error) {
	secrets, err := db.Get(ctx, s.DB, s.ingestSecrets)
	if err == nil && len(lacking(secrets)) > 0 {
		err = s.DB.Write(ctx, func(tx *db.Tx) error {
			if secrets, err = s.ingestSecrets(&tx.Reader); err != nil {
				return err
			}
			for _, source := range lacking(secrets) {
				secrets.renew(source, tx.Now, tx.Now)
			}
			return s.storeIngestSecrets(tx, secrets)
		})
	}
	if err != nil {
		return nil, base.Unavailable(fmt.Errorf("read the secrets of providers: %w", err))
	}
	return s.doors(secrets), nil
}

func (s *Service) doors(secrets ingestSecrets) []IngestEndpoint {
	doors := []IngestEndpoint{{app.SourceSES, s.Settings.BaseURL + "/ingest/ses"}}
	for _, source := range app.FeedbackSources() {
		doors = append(doors, IngestEndpoint{source, s.Settings.BaseURL + "/ingest/" + source + "/" + secrets[source][0].Secret})
	}
	return doors
}

// lacking are the sources that have no secret yet.
func lacking(secrets ingestSecrets) []string {
	return slices.DeleteFunc(app.FeedbackSources(), func(source string) bool { return len(secrets[source]) > 0 })
}

// CheckIngestSecret tells, in constant time, whether a secret is that of a source. Errors:
// CodeServiceUnavailable.
func (s *Service) CheckIngestSecret(ctx context.Context, source, secret string) (bool, error) {
	secrets, err := db.Get(ctx, s.DB, s.ingestSecrets)
	if err != nil {
		return false, base.Unavailable(fmt.Errorf("read the secrets of providers: %w", err))
	}
	return secrets.open(source, secret, clock.Now()), nil
}

// IngestRotation says of which sources the secrets are to be replaced.
type IngestRotation struct {
	Source  string        // empty: all
	Overlap time.Duration // how long the old ones work, at most MaxIngestOverlap
}

// RotateIngest makes new secrets, and returns all addresses and when the old ones end.
// Errors: CodeValidation.
func (s *Service) RotateIngest(ctx context.Context, in IngestRotation) (doors []IngestEndpoint, until time.Time, err error) {
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
		for _, source := range append(lacking(secrets), sources...) {
			secrets.renew(source, tx.Now, until)
		}
		doors = s.doors(secrets)
		if err := s.storeIngestSecrets(tx, secrets); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "ingest.rotate", in.Source, nil, map[string]any{"sources": sources, "old_until": app.FormatTime(until)})
	})
	return doors, until, base.Unavailable(err)
}

// ingestSecrets reads the secrets; none yet is no error.
func (s *Service) ingestSecrets(r *db.Reader) (ingestSecrets, error) {
	plain, err := s.SealedSetting(r, ingestSetting)
	if errors.Is(err, db.ErrNotFound) {
		return ingestSecrets{}, nil
	}
	if err != nil {
		return nil, err
	}
	var secrets ingestSecrets
	if json.Unmarshal(plain, &secrets) != nil { // its error might repeat them
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
