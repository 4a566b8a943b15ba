// Package backup writes consistent copies of the database beside a running server, and
// puts one back so that nothing of the past is sent again unasked.
//
// Failure policy: a copy that is not proven whole is removed and is an error; what stood
// in the place of a restored database is set aside, never deleted.
package backup
