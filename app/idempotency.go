package app

import "unicode/utf8"

// MaxIdempotencyKey bounds an Idempotency-Key, in characters.
const MaxIdempotencyKey = 256

// CheckIdempotencyKey checks a key that a request brought. Errors:
// CodeInvalidIdempotencyKey.
func CheckIdempotencyKey(key string) error {
	if key == "" || utf8.RuneCountInString(key) > MaxIdempotencyKey {
		return Errorf(CodeInvalidIdempotencyKey, "`Idempotency-Key` must be 1 to %d characters long", MaxIdempotencyKey)
	}
	if !utf8.ValidString(key) { // two could become one where they are kept
		return Errorf(CodeInvalidIdempotencyKey, "`Idempotency-Key` must be ASCII or UTF-8")
	}
	return nil
}

// IdempotencyScope is whose the idempotency keys of an API key's calls are: those of
// a sending-only one its own, so that one that leaked takes none that another's send
// needs; those of all others the team's, empty.
func (k *Key) IdempotencyScope() string {
	if k.Permission == SendingAccess {
		return k.ID
	}
	return ""
}
