// Package accounts implements who may sign in: users, sessions, second factors, invitations and
// roles in teams. API keys, which are for programs, are in package teams.
//
// Failure policy: a failed sign-in gets the same error after the same work, whatever was wrong. A
// change that ends sessions ends them in its own transaction.
package accounts
