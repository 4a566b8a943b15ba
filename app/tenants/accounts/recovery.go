package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

const (
	recoveryCodes = 10
	recoveryBytes = 10 // bytes of a code: too many to search for the hash
)

// newRecoveryCodes makes recovery codes, in groups of four characters, and their hashes.
func newRecoveryCodes() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		b := make([]byte, recoveryBytes)
		_, _ = rand.Read(b) // never fails
		plain := strings.ToLower(base32.StdEncoding.EncodeToString(b))
		codes = append(codes, plain[:4]+"-"+plain[4:8]+"-"+plain[8:12]+"-"+plain[12:])
		hashes = append(hashes, hashOf(plain))
	}
	return codes, hashes
}

// plainRecoveryCode normalizes a typed recovery code for hashing.
func plainRecoveryCode(code string) string {
	return strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(code))
}

// NewRecoveryCodes replaces all recovery codes of a user and returns the new ones, which are stored
// only hashed. Errors: CodeConflict without a second factor.
func (s *Service) NewRecoveryCodes(ctx context.Context, key *app.Key) (codes []string, err error) {
	codes, hashes := newRecoveryCodes()
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		factors, err := factorsOf(&tx.Reader, key.ID)
		if err != nil {
			return err
		}
		if len(factors) == 0 {
			return app.Errorf(app.CodeConflict, "Recovery codes replace a second factor; turn one on first")
		}
		if err := tx.SetRecoveryCodes(key.ID, hashes); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "recovery_codes.create", key.ID, nil, nil)
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return codes, nil
}
