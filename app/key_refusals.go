package app

// Why a request is refused for its key: these words stand nowhere else.

// MissingKey refuses a request without a key.
func MissingKey() *Error {
	return Errorf(CodeMissingAPIKey, "Missing API key in the authorization header")
}

// InvalidKey refuses a token that is no key, whatever is wrong with it.
func InvalidKey() *Error { return Errorf(CodeInvalidAPIKey, "API key is invalid") }

// RestrictedKey refuses a key that may only send.
func RestrictedKey() *Error {
	return Errorf(CodeRestrictedAPIKey, "This API key is restricted to only send emails.")
}

// RoleTooLow refuses a key whose role may only read what it asks to change.
func RoleTooLow() *Error {
	return Errorf(CodeForbidden, "The role of this API key does not allow this action")
}

// RoleAbove refuses a key that would manage one of a higher role.
func RoleAbove(role Role) *Error {
	return Errorf(CodeForbidden, "The role of this API key does not allow to manage a key of the role %s", role)
}
