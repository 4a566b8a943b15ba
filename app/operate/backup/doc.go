// Package backup writes consistent copies of the database of a running server, and restores one so
// that no mail is sent twice without a decision.
//
// Failure policy: a copy that is not proven complete is removed and is an error. A database that
// is replaced by a restore is renamed, never deleted.
package backup
