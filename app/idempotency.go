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
	return nil
}
