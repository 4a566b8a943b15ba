// Package people is who may sign in: accounts, sessions, second factors, invitations,
// and their ranks. Keys, which are for programs, are teams'.
//
// Failure policy: whoever cannot prove who he is gets one answer, after equal work,
// whatever is wrong; what ends a session ends it in the transaction that decides it.
package accounts
