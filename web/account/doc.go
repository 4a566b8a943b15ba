// Package account is the API's routes of people: sign-in, what is theirs, members of
// teams and invitations, and what was changed by whom. web mounts them on web/rest;
// nothing else imports it.
//
// Failure policy: that of web/rest; whoever cannot prove who he is gets one answer for
// every reason.
package account
