// Package account implements the API's routes of people: sign-in, own account, members and
// invitations of teams, and the audit log. Only web imports it.
//
// Failure policy: that of web/rest. A failed sign-in has one answer for all reasons.
package account
