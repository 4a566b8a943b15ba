// Package settings keeps the settings that an operator changes while the server runs. They are
// flags of mailer serve: one that is given by a flag or a variable wins, then the stored
// value counts, then the default. Stored values are checked by the functions that check the
// flags, and all servers of a database use them.
//
// Failure policy: a value that is refused changes nothing; a stored value that can't be used
// any more is logged and left out, and never ends a start.
package settings
