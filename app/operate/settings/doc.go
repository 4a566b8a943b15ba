// Package settings stores settings that an operator changes while the server runs. They are flags
// of mailer serve: a flag or variable wins, then the stored value, then the default. Stored values
// are validated like the flags, and all servers of a database use them.
//
// Failure policy: an invalid value changes nothing. A stored value that is not valid any more is
// logged and ignored, and never prevents a start.
package settings
