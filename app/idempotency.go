package app

import "unicode/utf8"

// CheckIdempotencyKey checks the key of a request. Errors: CodeInvalidIdempotencyKey.
func CheckIdempotencyKey(key string) error {
	if key == "" || utf8.RuneCountInString(key) > MaxIdempotencyKey {
		return Errorf(CodeInvalidIdempotencyKey, "`Idempotency-Key` must be 1 to %d characters long", MaxIdempotencyKey)
	}
	if !utf8.ValidString(key) { // invalid UTF-8 could make two keys equal when stored
		return Errorf(CodeInvalidIdempotencyKey, "`Idempotency-Key` must be ASCII or UTF-8")
	}
	return nil
}

// IdempotencyScope returns the scope of the idempotency keys used with k: the id of a sending-only
// key, so that a leaked key can't take keys that other senders need, or "" for the team.
func (k *Key) IdempotencyScope() string {
	if k.Permission == SendingAccess {
		return k.ID
	}
	return ""
}
