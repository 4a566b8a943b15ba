// Package remote asks the APIs of other services, at their rate. Whoever reads another
// service for `mailer import` may import it.
//
// Failure policy: what fails for a while (no connection, a status of 5xx, 429) is tried
// again, with growing waits or the one that was asked for; every other error comes back.
// No error holds a credential, and none is sent anywhere but to the base URL's host.
package remote
