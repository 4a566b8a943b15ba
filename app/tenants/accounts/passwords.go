package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"mailer/app"
	"mailer/app/kit/fair"
)

// Parameters of argon2id (RFC 9106): the minimum that OWASP recommends.
const (
	hashMemory = 19 << 10 // KiB
	hashTime   = 2
	hashLanes  = 1
	saltBytes  = 16
	hashBytes  = 32
)

// Length limits of passwords, in characters.
const (
	MinPassword = 12
	MaxPassword = 1000
)

// CheckPassword checks a new password. Errors: CodeValidation, which names the field.
func CheckPassword(field, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return app.Invalid(field, "must have at least %d characters", MinPassword)
	case n > MaxPassword:
		return app.Invalid(field, "must have at most %d characters", MaxPassword)
	case isCommon(password):
		return app.Invalid(field, "is one that many people use, or close to one; take another")
	}
	return nil
}

// params are the parameters of a hash.
type params struct {
	memory, time uint32
	lanes        uint8
}

var currentParams = params{hashMemory, hashTime, hashLanes}

// passwordHash is the stored hash of a password.
type passwordHash struct {
	params
	salt, sum []byte
}

// String formats the hash as a PHC string, as the reference implementation does.
func (k *passwordHash) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, k.memory, k.time, k.lanes, b64(k.salt), b64(k.sum))
}

// parsePasswordHash parses a stored hash.
func parsePasswordHash(text string) (k passwordHash, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return k, fmt.Errorf("unknown format of a stored password hash")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &k.memory, &k.time, &k.lanes); err != nil {
		return k, fmt.Errorf("read the parameters of a stored password hash: %w", err)
	}
	if k.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err == nil {
		k.sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	if err != nil || len(k.sum) == 0 {
		return k, fmt.Errorf("damaged password hash: %w", err)
	}
	return k, nil
}

// sum hashes a password. Unicode spellings of the same text have the same hash.
func (p params) sum(password string, salt []byte, size int) []byte {
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, p.time, p.memory, p.lanes, uint32(size))
}

// hasher hashes passwords, few at the same time: a hash takes much memory and CPU time.
type hasher struct {
	slots *fair.Semaphore[bool] // by priority: browsers that were used before come first
	dummy passwordHash          // compared with if there is no account
}

const (
	// maxConcurrentHashes is how many passwords are hashed at the same time.
	maxConcurrentHashes = 2
	// maxHashQueue bounds the waiting callers of each priority, so that the last one waits about a
	// second.
	maxHashQueue = 40
)

func newHasher() *hasher {
	rank := func(priority bool) int {
		if priority {
			return 0
		}
		return 1
	}
	h := &hasher{slots: fair.New(fair.Config[bool]{Capacity: maxConcurrentHashes, MaxWaiting: maxHashQueue, Rank: rank})}
	h.dummy = passwordHash{params: currentParams, salt: make([]byte, saltBytes), sum: make([]byte, hashBytes)}
	_, _ = rand.Read(h.dummy.sum) // never fails
	return h
}

// hash hashes a new password. priority: it is hashed before those without. Errors:
// CodeRateLimitExceeded if too many wait, that of ctx.
func (h *hasher) hash(ctx context.Context, password string, priority bool) (string, error) {
	if err := h.acquire(ctx, priority); err != nil {
		return "", err
	}
	defer h.slots.Release(priority, 1)
	k := passwordHash{params: currentParams, salt: make([]byte, saltBytes)}
	_, _ = rand.Read(k.salt) // never fails
	k.sum = k.params.sum(password, k.salt, hashBytes)
	return k.String(), nil
}

// matches reports whether a password matches a stored hash. An empty hash never matches, after the
// same work. stale: the hash has other parameters than new ones. Errors: those of hash.
func (h *hasher) matches(ctx context.Context, stored, password string, priority bool) (ok, stale bool, err error) {
	k := h.dummy
	if stored != "" {
		if k, err = parsePasswordHash(stored); err != nil {
			return false, false, err
		}
	}
	if utf8.RuneCountInString(password) > MaxPassword {
		password = ""
	}
	if err := h.acquire(ctx, priority); err != nil {
		return false, false, err
	}
	defer h.slots.Release(priority, 1)
	same := subtle.ConstantTimeCompare(k.params.sum(password, k.salt, len(k.sum)), k.sum) == 1
	return same && stored != "" && password != "", k.params != currentParams, nil
}

// acquire waits for a slot. Errors: CodeRateLimitExceeded if too many wait, that of ctx.
func (h *hasher) acquire(ctx context.Context, priority bool) error {
	err := h.slots.Acquire(ctx, priority, 1)
	if errors.Is(err, fair.ErrTooManyWaiting) {
		return errTooManyTries(2 * time.Second)
	}
	return err
}
