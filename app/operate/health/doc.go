// Package health checks the server and its environment and reports findings with the command that
// fixes each.
//
// Failure policy: a check that can't be made is a failed check with the reason.
package health
